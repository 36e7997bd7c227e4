"""What a catalog entry or a plan's machine promises, in the terms of the checks. Reads no file and resolves no name
itself: who calls brings the entries, and a function that resolves the names that a machine prints.

The catalog has no PCI identifiers, so GPUs are compared by name and memory.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from gpuplanner.acceptance.promised import Identity, Promised, PromisedGpu
from gpuplanner.acceptance.reached import Reached
from gpuplanner.catalog.entries import Gpu, GpuProperty, Instance, InstanceProperty
from gpuplanner.catalog.names.resolution import Resolution
from gpuplanner.engine.links import pcie_bytes_per_s
from gpuplanner.facts import MissingFactError
from gpuplanner.messages import msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.units import MIB
from gpuplanner.workload.plan import MachineChoice

Resolve = Callable[[str, float | None], Resolution]
"""From a name that a machine prints, and its memory in bytes where it says so, to what the catalog makes of it."""

_LANE_BYTES_PER_S = {1: 20e9, 2: 25e9, 3: 25e9, 4: 25e9, 5: 50e9}
"""One NVLink one way, by generation; a GPU's count follows from its rate (A100 300 / 25 = 12, A800 200 / 25 = 8)."""
_DTYPES = {
    "fp64": GpuProperty.FP64_FLOP_PER_S,
    "fp32": GpuProperty.FP32_FLOP_PER_S,
    "tf32": GpuProperty.TF32_FLOP_PER_S,
    "bf16": GpuProperty.BF16_FLOP_PER_S,
    "fp16": GpuProperty.FP16_FLOP_PER_S,
    "fp8": GpuProperty.FP8_FLOP_PER_S,
    "fp4": GpuProperty.FP4_FLOP_PER_S,
    "int8": GpuProperty.INT8_FLOP_PER_S,
}
_CUT_OFF = re.compile(r"\s\.\.\.$")
"""A name that the table cut off before a word: "RTX 2080 ..." may be a 2080 SUPER."""
_LINK = re.compile(r"NVLink (\d)")
_EFA = re.compile(r"\bEFA x(\d+)")
_PORTS = re.compile(r"\b(?P<count>\d+)x(?:(?P<each>\d+)x)?(?P<gbit_per_s>\d+)\b")
"""As many adapters, the ports of each where it has several, and what a port carries: "8x400", "8x2x100"."""


def promised_gpu(gpu: Gpu) -> PromisedGpu:
    """A GPU of the catalog as the checks take it."""
    values = {name: known.value for name, known in gpu.properties.items()}
    reported = gpu.known(GpuProperty.MEMORY_REPORTED_BYTES)
    # Of several reports the least: some tools print what others hold back for error correction.
    said = min((fact.value for fact in (reported.fact, *reported.others)), default=None) if reported else None
    memory = said if said is not None else values.get(GpuProperty.MEMORY_BYTES)
    link = values.get(GpuProperty.LINK_BYTES_PER_S) if _LINK.match(gpu.link_kind) else None
    generation, lanes = values.get(GpuProperty.PCIE_GENERATION), values.get(GpuProperty.PCIE_LANES)
    return PromisedGpu(
        id=gpu.id,
        name=gpu.name,
        memory_mib=memory / MIB if memory else None,
        memory_is_reported=said is not None,
        compute_capability=gpu.compute_capability,
        architecture=gpu.architecture,
        form_factor=gpu.form_factor,
        has_ecc={"yes": True, "no": False}.get(gpu.ecc),
        power_w=values.get(GpuProperty.POWER_W),
        pcie_generation=int(generation) if generation else None,
        pcie_lanes=int(lanes) if lanes else None,
        link_kind=gpu.link_kind,
        link_is_bridge=gpu.link_is_bridge or "bridge" in gpu.link_kind.lower(),
        nvlink_lanes=_lanes(gpu.link_kind, link),
        link_bytes_per_s=link,
        hbm_bytes_per_s=values.get(GpuProperty.HBM_BYTES_PER_S),
        pcie_bytes_per_s=_pcie(gpu),
        flop_per_s={dtype: values[name] for dtype, name in _DTYPES.items() if name in values},
    )


def _lanes(kind: str, link_bytes_per_s: float | None) -> int | None:
    match = _LINK.match(kind)
    if match is None or link_bytes_per_s is None or int(match[1]) not in _LANE_BYTES_PER_S:
        return None
    count = link_bytes_per_s / _LANE_BYTES_PER_S[int(match[1])]
    return round(count) if abs(count - round(count)) < 0.02 else None


def _pcie(gpu: Gpu) -> float | None:
    try:
        return pcie_bytes_per_s(gpu)
    except MissingFactError:
        return None


def of_gpus(gpu: Gpu, count: int | None = None) -> Promised:
    """So many whole GPUs of a kind, or any number of them; nothing of the machine around them."""
    said = msg("check.promise.gpus", count=count, name=gpu.name) if count else msg("check.promise.gpu", name=gpu.name)
    return Promised(said_by=said, gpu=promised_gpu(gpu), gpu_count=count, gpu_fraction=1.0, mig=False)


def of_instance(instance: Instance, gpus: Mapping[str, Gpu], nodes: int = 1) -> Promised:
    """What a provider says of an instance. Where its offer leaves the GPU open, no GPU is promised."""
    values = {name: known.value for name, known in instance.properties.items()}
    gpu = gpus.get(instance.gpu_id or "")
    promised = promised_gpu(gpu) if gpu else None
    joined = instance.interconnect.lower()
    if promised and (instance.gpu_count == 1 or (joined and "nvlink" not in joined and "nvswitch" not in joined)):
        promised = replace(promised, nvlink_lanes=None, link_bytes_per_s=None)
    fraction = float(instance.gpu_fraction) if instance.gpu_fraction is not None else None
    kind, adapters, each = _adapters(instance.rdma)
    text = instance.virtualization.lower()
    return Promised(
        said_by=msg("check.promise.instance", name=f"{instance.provider} {instance.name}"),
        gpu=promised,
        gpu_count=instance.gpu_count,
        gpu_fraction=fraction,
        cpus=values.get(InstanceProperty.VCPUS),
        ram_bytes=values.get(InstanceProperty.RAM_BYTES),
        disk_bytes=values.get(InstanceProperty.LOCAL_STORAGE_BYTES),
        disk_bytes_per_s=values.get(InstanceProperty.LOCAL_STORAGE_BYTES_PER_S),
        network_bit_per_s=values.get(InstanceProperty.NETWORK_BIT_PER_S),
        network_is_ethernet=instance.rdma.startswith("none"),
        adapters=adapters,
        adapter_kind=kind,
        adapter_bit_per_s=each,
        adapters_bit_per_s=adapters * each if adapters and each else None,
        nodes=nodes,
        virtualization=(
            "bare metal"
            if text.startswith("bare")
            else "pass-through"
            if text.startswith("passthrough")
            else "vgpu"
            if text.startswith("vgpu")
            else None
        ),
        mig=False if fraction == 1.0 else None,
    )


def _adapters(rdma: str) -> tuple[str, int | None, float | None]:
    """The kind, how many ports the adapters have together, and what each port carries in bit/s."""
    if efa := _EFA.search(rdma):
        return "EFA", int(efa[1]), None
    kind = "InfiniBand" if "infiniband" in rdma.lower() else "RoCE" if "roce" in rdma.lower() else ""
    ports = _PORTS.search(rdma) if kind else None
    if ports is None:
        return kind, None, None
    return kind, int(ports["count"]) * int(ports["each"] or 1), float(ports["gbit_per_s"]) * 1e9


def of_choice(choice: MachineChoice, gpus: Mapping[str, Gpu], instances: Mapping[str, Instance]) -> Promised | None:
    """One node of the machine of a plan. None where the catalog no longer has it."""
    if choice.instance_id is not None:
        instance = instances.get(choice.instance_id)
        return of_instance(instance, gpus, choice.nodes) if instance else None
    gpu = gpus.get(choice.gpu_id or "")
    if gpu is None:
        return None
    count = min(choice.gpus, choice.per_node)
    if choice.slice is not None:
        return replace(of_gpus(gpu), gpu_fraction=None, mig=True)
    return replace(of_gpus(gpu, count), nodes=math.ceil(choice.gpus / count))


def recognised(promised: Promised, evidence: Evidence, resolve: Resolve) -> Promised:
    """The promise with what the catalog makes of the names that the machine prints."""
    identities: dict[str, Identity] = {}
    for gpu in evidence.gpus:
        if gpu.name and gpu.name not in identities:
            memory = gpu.memory_total_mib * MIB if gpu.memory_total_mib else None
            identities[gpu.name] = _identity(gpu.name, resolve(gpu.name, memory))
    return replace(promised, identities=identities)


def of_itself(evidence: Evidence, gpus: Mapping[str, Gpu], resolve: Resolve) -> Promised:
    """What is usual for the GPU that a machine says it has, where nobody promised anything and it has one kind.

    `said_by` stays None: it is no promise.
    """
    unsaid = recognised(Promised(), evidence, resolve)
    kinds = set(unsaid.identities.values())
    if len(kinds) != 1:
        return unsaid
    [identity] = kinds
    gpu = gpus.get(identity.ids[0]) if len(identity.ids) == 1 and not identity.part else None
    return replace(unsaid, gpu=promised_gpu(gpu)) if gpu else unsaid


def measured(promised: Promised, points: Iterable[Reached], resolve: Resolve) -> Promised:
    """The promise with what matrix products reached on its GPU; a point that leaves a memory size open is of each."""
    gpu = promised.gpu
    if gpu is None:
        return promised
    found: dict[str, float] = {}
    known: dict[str, tuple[str, ...]] = {}
    for point in points:
        if point.gpu not in known:
            known[point.gpu] = _identity(point.gpu, resolve(point.gpu, None)).ids
        if gpu.id in known[point.gpu]:
            found[point.dtype] = max(point.flop_per_s, found.get(point.dtype, 0.0))
    return replace(promised, gpu=replace(gpu, reached_flop_per_s=found)) if found else promised


def _identity(name: str, found: Resolution) -> Identity:
    if _CUT_OFF.search(name):
        return Identity()
    if found.id is not None:
        return Identity((found.id,), found.fraction is not None)
    # Names that are merely like it are no candidates.
    open_ = found.reason.id.startswith("names.ambiguous")
    return Identity(tuple(candidate.id for candidate in found.candidates) if open_ else ())
