"""The facts of a GPU in groups: arithmetic, memory, links, board. No Qt."""

from collections.abc import Iterable

from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.ui.catalog_place.rows import FactGroup, FactRow, Row, WordRow, groups

P = GpuProperty
COMPUTE = (
    P.BF16_FLOP_PER_S,
    P.FP16_FLOP_PER_S,
    P.FP16_ACC16_FLOP_PER_S,
    P.FP8_FLOP_PER_S,
    P.FP4_FLOP_PER_S,
    P.INT8_FLOP_PER_S,
    P.TF32_FLOP_PER_S,
    P.FP32_FLOP_PER_S,
    P.FP64_FLOP_PER_S,
    P.FP64_TENSOR_FLOP_PER_S,
)
MEMORY = (P.MEMORY_BYTES, P.MEMORY_REPORTED_BYTES, P.MEMORY_USABLE_BYTES, P.HBM_BYTES_PER_S, P.L2_BYTES)
BOARD = (P.POWER_W, P.SMS, P.MIG_SLICES, P.NVENC, P.NVDEC)


def property_name(name: GpuProperty) -> Message:
    """What a property of a GPU is called."""
    return msg(f"catalogui.property.{name.value}")


def gpu_groups(gpu: Gpu) -> tuple[FactGroup, ...]:
    """Everything that is known of a GPU."""
    return groups(
        FactGroup(msg("catalogui.group.compute"), tuple(_compute(gpu))),
        FactGroup(msg("catalogui.group.memory"), (*_facts(gpu, MEMORY), *_words(gpu, ("memory_type", "ecc")))),
        FactGroup(msg("catalogui.group.links"), tuple(_links(gpu))),
        FactGroup(
            msg("catalogui.group.board"),
            (*_facts(gpu, BOARD), *_words(gpu, ("form_factor", "chip", "compute_capability", "release_date", "vgpu"))),
        ),
    )


def _compute(gpu: Gpu) -> Iterable[Row]:
    """BF16 and FP16 are one row where they are one number, as on most GPUs, and nothing of BF16 would be lost."""
    bf16, fp16 = gpu.known(P.BF16_FLOP_PER_S), gpu.known(P.FP16_FLOP_PER_S)
    same = (
        bf16 is not None
        and fp16 is not None
        and bf16.fact == fp16.fact
        and all(other in fp16.others for other in bf16.others)
    )
    for name in COMPUTE:
        known = gpu.known(name)
        if known is None or (same and name is P.BF16_FLOP_PER_S):
            continue
        both = same and name is P.FP16_FLOP_PER_S
        yield FactRow(msg("catalogui.property.fp16_bf16") if both else property_name(name), known)


def _facts(gpu: Gpu, names: Iterable[GpuProperty]) -> Iterable[Row]:
    return [FactRow(property_name(name), known) for name in names if (known := gpu.known(name)) is not None]


def _links(gpu: Gpu) -> Iterable[Row]:
    link = gpu.known(P.LINK_BYTES_PER_S)
    if link is not None:
        name: MessageValue = gpu.link_kind or property_name(P.LINK_BYTES_PER_S)
        yield FactRow(name, link)
    elif gpu.link_kind:
        yield WordRow(property_name(P.LINK_BYTES_PER_S), gpu.link_kind)
    pcie = gpu.known(P.PCIE_BYTES_PER_S)
    generation, lanes = gpu.known(P.PCIE_GENERATION), gpu.known(P.PCIE_LANES)
    kind: MessageValue = property_name(P.PCIE_BYTES_PER_S)
    if generation is not None and lanes is not None:
        kind = msg("catalogui.property.pcie", generation=f"{generation.value:.0f}", lanes=f"{lanes.value:.0f}")
    if pcie is not None:
        yield FactRow(kind, pcie)
    elif generation is not None:
        yield FactRow(property_name(P.PCIE_GENERATION), generation)


def _words(gpu: Gpu, names: Iterable[str]) -> Iterable[Row]:
    for name in names:
        text = getattr(gpu, name)
        if text:
            said: MessageValue = msg(f"catalogui.word.{text}") if text in _YES_NO else text
            yield WordRow(msg(f"catalogui.word_name.{name}"), said, name in gpu.from_memory)


_YES_NO = {"yes", "no", "optional"}
