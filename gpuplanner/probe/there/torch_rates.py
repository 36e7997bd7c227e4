"""Matrix products and attention through PyTorch, where this Python has it: a program of its own, a line a result.

Python 3.6 and later. It runs in a process of its own, because loading PyTorch takes seconds in which nothing can be
interrupted; whoever started it ends it. It takes at most `MOST_BYTES_HELD` of each GPU. Never run on a GPU.
"""

import json
import sys
import time
from functools import partial
from typing import Any, Callable, Dict

MOST_BYTES_HELD = 1 << 30
SIZE, SMALL_SIZE = 8192, 4096
HEADS, TOKENS, HEAD_SIZE, SEQUENCES = 32, 4096, 128, 2
ROUNDS, REPETITIONS, BUDGET_MS = 5, 10, 60.0


def tell(**values: Any) -> None:
    """A line of what came."""
    sys.stdout.write(json.dumps(values) + "\n")
    sys.stdout.flush()


def timed(torch: Any, work: Callable[[], Any]) -> Dict[str, Any]:
    """Seconds of one piece of work: the median of five rounds of up to ten, after one to warm up; and when that was.

    By the clock that all processes of a machine have in common, for who looks at the GPUs meanwhile.
    """
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def between(count: int) -> float:
        first.record()
        for _ in range(count):
            work()
        last.record()
        last.synchronize()
        return float(first.elapsed_time(last))

    between(1)
    once = between(1)
    count = REPETITIONS if once <= 0 else max(1, min(REPETITIONS, int(BUDGET_MS / once)))
    began_s = time.monotonic()
    seconds = sorted(between(count) / count for _ in range(ROUNDS))[ROUNDS // 2] / 1000.0
    return {"seconds": seconds, "count": count, "began_s": began_s, "ended_s": time.monotonic()}


def products(torch: Any, gpu: int) -> None:
    """Square matrices in the formats that PyTorch's own product takes."""
    kinds = [("fp32", torch.float32, SMALL_SIZE), ("fp16", torch.float16, SIZE)]
    if torch.cuda.get_device_capability(gpu) >= (8, 0):
        kinds += [("tf32", torch.float32, SMALL_SIZE), ("bf16", torch.bfloat16, SIZE)]
    for name, dtype, size in kinds:
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        try:
            one, other = (torch.randn(size, size, dtype=dtype, device="cuda") for _ in range(2))
            product = torch.empty(size, size, dtype=dtype, device="cuda")
            took = timed(torch, partial(torch.matmul, one, other, out=product))
            tell(gpu=gpu, dtype=name, path="torch", size=size, flop=2.0 * size**3, **took)
        except RuntimeError as fault:
            tell(gpu=gpu, what=name, said=str(fault)[:300])
        one = other = product = None
        torch.cuda.empty_cache()


def attention(torch: Any, gpu: int) -> None:
    """As a prompt is read: no mask, whole sequences. Only kernels that keep no square of the tokens in memory."""
    torch.backends.cuda.enable_math_sdp(False)
    shape = (SEQUENCES, HEADS, TOKENS, HEAD_SIZE)
    dtype, name = (torch.bfloat16, "bf16")
    if torch.cuda.get_device_capability(gpu) < (8, 0):
        dtype, name = torch.float16, "fp16"
    try:
        query, key, value = (torch.randn(*shape, dtype=dtype, device="cuda") for _ in range(3))
        attend = torch.nn.functional.scaled_dot_product_attention
        took = timed(torch, lambda: attend(query, key, value))
        flop = 4.0 * SEQUENCES * HEADS * TOKENS * TOKENS * HEAD_SIZE
        tell(gpu=gpu, dtype=name, path="torch_sdpa", size=None, flop=flop, **took)
    except (RuntimeError, AttributeError) as fault:
        tell(gpu=gpu, what="torch_sdpa", said=str(fault)[:300])
    query = key = value = None
    torch.cuda.empty_cache()


def main() -> None:
    """All GPUs, one after the other."""
    import torch  # type: ignore[import-not-found, unused-ignore]  # it is there where this runs, if anywhere

    tell(version=str(torch.__version__), gpus=torch.cuda.device_count())
    for gpu in range(torch.cuda.device_count()):
        torch.cuda.set_device(gpu)
        whole = torch.cuda.get_device_properties(gpu).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, MOST_BYTES_HELD / float(whole)), gpu)
        with torch.no_grad():
            products(torch, gpu)
            attention(torch, gpu)


if __name__ == "__main__":
    main()
