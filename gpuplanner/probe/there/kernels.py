"""Small kernels of our own as PTX text, which the driver compiles for the GPU at hand. Runs nothing.

`fma` and `copy` are for compute capability 5.0 and later, `mma` for 8.0 and later. They were assembled with ptxas for
sm_50 to sm_121 and never run on a GPU. Instructions and register layouts: PTX ISA, "fma", "ld", "mma.m16n8k16".
"""

from typing import List

THREADS = 256
"""Threads of a block, of all kernels."""
BLOCKS_PER_SM = 8
FMA_CHAINS = 8
"""Results that do not wait for each other, so that the latency of one instruction is covered."""
FMA_STEPS = 8
MMA_CHAINS = 4
MMA_STEPS = 4

FMA_FLOP = 2 * FMA_CHAINS * FMA_STEPS
"""Floating-point operations of one thread in one round of `fma`."""
MMA_FLOP = 2 * 16 * 8 * 16 * MMA_CHAINS * MMA_STEPS
"""Floating-point operations of one warp in one round of `mma`."""

_HEAD = ".version {version}\n.target {target}\n.address_size 64\n"
_THREAD = """  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
"""
"""%r4: the number of the thread among all."""


def fma_ptx() -> str:
    """`fma(out, rounds)`: FP32 multiply-adds in registers; each thread writes four bytes at the end."""
    chains = range(FMA_CHAINS)
    body = [f"  cvt.rn.f32.u32 %f{at}, %r4;\n  add.f32 %f{at}, %f{at}, 0f{at + 1:08X};" for at in chains]
    step = [f"  fma.rn.f32 %f{at}, %f{at}, %f20, %f21;" for at in chains]
    lines = [
        *body,
        "  mov.f32 %f20, 0f3F7FFF00;",
        "  mov.f32 %f21, 0f3A83126F;",
        "AGAIN:",
        *(step * FMA_STEPS),
        *_loop(),
    ]
    lines += [f"  add.f32 %f0, %f0, %f{at};" for at in chains[1:]]
    return _kernel("5.0", "sm_50", "fma", "  .reg .f32 %f<24>;\n", lines, "f32 %f0")


def mma_ptx() -> str:
    """`mma(out, rounds)`: BF16 matrix products of 16 × 8 × 16 with FP32 sums, operands in registers."""
    chains = range(MMA_CHAINS)
    body = [f"  mov.f32 %f{at}, 0f00000000;" for at in range(4 * MMA_CHAINS)]
    # 0x3C00 is a small BF16 value (2⁻⁷); two in each register.
    body += [f"  mov.b32 %r{20 + at}, 0x3C003C00;" for at in range(6)]
    step = [
        "  mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        f"{_quad(at)}, {{%r20, %r21, %r22, %r23}}, {{%r24, %r25}}, {_quad(at)};"
        for at in chains
    ]
    lines = [*body, "AGAIN:", *(step * MMA_STEPS), *_loop()]
    lines += [f"  add.f32 %f0, %f0, %f{at};" for at in range(1, 4 * MMA_CHAINS)]
    return _kernel("7.0", "sm_80", "mma", f"  .reg .f32 %f<{4 * MMA_CHAINS}>;\n", lines, "f32 %f0")


def copy_ptx() -> str:
    """`copy(target, source, pieces, stride)`: pieces of 16 bytes, each thread every `stride`-th one."""
    return (
        _HEAD.format(version="5.0", target="sm_50")
        + ".visible .entry copy(\n  .param .u64 target,\n  .param .u64 source,\n  .param .u32 pieces,\n"
        + "  .param .u32 stride\n)\n{\n  .reg .pred %p;\n  .reg .b32 %r<12>;\n  .reg .b64 %rd<8>;\n"
        + "  ld.param.u64 %rd1, [target];\n  ld.param.u64 %rd2, [source];\n"
        + "  cvta.to.global.u64 %rd1, %rd1;\n  cvta.to.global.u64 %rd2, %rd2;\n"
        + "  ld.param.u32 %r5, [pieces];\n  ld.param.u32 %r6, [stride];\n"
        + _THREAD
        + "NEXT:\n  setp.ge.u32 %p, %r4, %r5;\n  @%p bra DONE;\n  mul.wide.u32 %rd3, %r4, 16;\n"
        + "  add.s64 %rd4, %rd2, %rd3;\n  add.s64 %rd5, %rd1, %rd3;\n"
        + "  ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%rd4];\n  st.global.v4.u32 [%rd5], {%r7, %r8, %r9, %r10};\n"
        + "  add.u32 %r4, %r4, %r6;\n  bra NEXT;\nDONE:\n  ret;\n}\n"
    )


def _quad(chain: int) -> str:
    return "{" + ", ".join(f"%f{4 * chain + at}" for at in range(4)) + "}"


def _loop() -> List[str]:
    return ["  sub.u32 %r5, %r5, 1;", "  setp.ne.u32 %p, %r5, 0;", "  @%p bra AGAIN;"]


def _kernel(version: str, target: str, name: str, registers: str, lines: List[str], result: str) -> str:
    kind, register = result.split()
    return (
        _HEAD.format(version=version, target=target)
        + f".visible .entry {name}(\n  .param .u64 out,\n  .param .u32 rounds\n)\n{{\n"
        + "  .reg .pred %p;\n  .reg .b32 %r<28>;\n  .reg .b64 %rd<4>;\n"
        + registers
        + "  ld.param.u64 %rd1, [out];\n  cvta.to.global.u64 %rd1, %rd1;\n  ld.param.u32 %r5, [rounds];\n"
        + _THREAD
        + "\n".join(lines)
        + f"\n  mul.wide.u32 %rd2, %r4, 4;\n  add.s64 %rd3, %rd1, %rd2;\n  st.global.{kind} [%rd3], {register};\n"
        + "  ret;\n}\n"
    )
