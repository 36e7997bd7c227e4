"""The entries of the catalog: GPUs, cloud instances and models, each property a fact with its source."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.networks import Network
from gpuplanner.facts import Fact, Known, MissingFactError, Source


class GpuProperty(StrEnum):
    """What can be known of a GPU, in base units. Rates are dense, one way, for one GPU, unless the fact's basis tells.

    `*_FLOP_PER_S` with tensor cores where the GPU has them and FP32 accumulation; `FP16_ACC16` is the same with FP16
    accumulation; `LINK_BYTES_PER_S` is NVLink, Infinity Fabric or alike, one way, all links of one GPU together.
    """

    MEMORY_BYTES = "memory_bytes"
    MEMORY_REPORTED_BYTES = "memory_reported_bytes"
    MEMORY_USABLE_BYTES = "memory_usable_bytes"
    HBM_BYTES_PER_S = "hbm_bytes_per_s"
    FP64_FLOP_PER_S = "fp64_flop_per_s"
    FP64_TENSOR_FLOP_PER_S = "fp64_tensor_flop_per_s"
    FP32_FLOP_PER_S = "fp32_flop_per_s"
    TF32_FLOP_PER_S = "tf32_flop_per_s"
    BF16_FLOP_PER_S = "bf16_flop_per_s"
    FP16_FLOP_PER_S = "fp16_flop_per_s"
    FP16_ACC16_FLOP_PER_S = "fp16_acc16_flop_per_s"
    FP8_FLOP_PER_S = "fp8_flop_per_s"
    FP4_FLOP_PER_S = "fp4_flop_per_s"
    INT8_FLOP_PER_S = "int8_flop_per_s"
    SMS = "sms"
    L2_BYTES = "l2_bytes"
    POWER_W = "power_w"
    PCIE_GENERATION = "pcie_generation"
    PCIE_LANES = "pcie_lanes"
    PCIE_BYTES_PER_S = "pcie_bytes_per_s"
    LINK_BYTES_PER_S = "link_bytes_per_s"
    MIG_SLICES = "mig_slices"
    NVENC = "nvenc"
    NVDEC = "nvdec"


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to know about an entry, in the words of our catalog: a conflict of sources, a common wrong claim."""

    kind: str
    text_en: str
    text_zh: str
    source: Source


@dataclass(frozen=True, slots=True)
class Gpu:
    """One accelerator as it is sold. `link_kind` names the GPU-to-GPU link ("NVLink 4", "NVLink 3 bridge", …).

    `from_memory`: the words here ("ecc", "vgpu", …) that no document at hand confirms.
    """

    id: str
    name: str
    vendor: str
    properties: Mapping[GpuProperty, Known]
    aliases: tuple[str, ...] = ()
    architecture: str = ""
    chip: str = ""
    compute_capability: str = ""
    release_date: str = ""
    form_factor: str = ""
    memory_type: str = ""
    ecc: str = ""
    link_kind: str = ""
    link_is_bridge: bool = False
    sparsity: bool = False
    vgpu: str = ""
    remarks: tuple[Remark, ...] = ()
    user: bool = False
    from_memory: tuple[str, ...] = ()

    def __hash__(self) -> int:
        return hash(self.id)

    def known(self, name: GpuProperty) -> Known | None:
        """What is known of a property, or None."""
        return self.properties.get(name)

    def value(self, name: GpuProperty) -> float:
        """The value of a property in its base unit. Raises MissingFactError when the catalog has none."""
        known = self.properties.get(name)
        if known is None:
            raise MissingFactError(self.name, name.value)
        return known.value


class PriceKind(StrEnum):
    """The terms a price is for."""

    ON_DEMAND = "on demand"
    SPOT = "spot"
    MONTHLY = "monthly"
    QUOTED = "quoted"


@dataclass(frozen=True, slots=True)
class Price:
    """What an instance costs for one hour. A price that is not known is absent; it is never 0."""

    per_hour: float
    currency: str
    kind: PriceKind
    region: str
    date: str
    source: Source
    note: str = ""
    note_zh: str = ""


class InstanceProperty(StrEnum):
    """What can be known of an instance, in base units, for the whole instance."""

    VCPUS = "vcpus"
    RAM_BYTES = "ram_bytes"
    LOCAL_STORAGE_BYTES = "local_storage_bytes"
    LOCAL_STORAGE_BYTES_PER_S = "local_storage_bytes_per_s"
    NETWORK_BIT_PER_S = "network_bit_per_s"
    GPU_MEMORY_BYTES_EACH = "gpu_memory_bytes_each"


@dataclass(frozen=True, slots=True)
class Instance:
    """A rentable machine. `gpu_fraction` below 1 is a slice of one GPU; None where the source does not say how much.

    `gpu_id` is None when the offer names no single GPU of the catalog (see `gpu_text`, as the provider prints it).
    `gpu_may_be` then lists the GPUs that the text fits, the slowest first. `gpu_count` is None when the source does not
    state it.
    """

    id: str
    provider: str
    name: str
    gpu_text: str
    gpu_id: str | None
    gpu_count: int | None
    gpu_fraction: Fraction | None
    properties: Mapping[InstanceProperty, Known]
    rdma: str = ""
    interconnect: str = ""
    virtualization: str = ""
    cpu: str = ""
    prices: tuple[Price, ...] = ()
    from_memory: tuple[str, ...] = ()
    note: str = ""
    source: Source | None = None
    user: bool = False
    gpu_may_be: tuple[str, ...] = ()
    note_zh: str = ""

    @property
    def planning_gpu_id(self) -> str | None:
        """The GPU to plan with: the one that is offered, else the slowest that it may be; None when none is known."""
        return self.gpu_id or next(iter(self.gpu_may_be), None)

    @property
    def is_attachable(self) -> bool:
        """Whether it is an accelerator for any host of a family, billed on top: "n1-* + 1x nvidia-tesla-t4"."""
        return "* + " in self.name

    def value(self, name: InstanceProperty) -> float:
        """The value of a property in its base unit. Raises MissingFactError when the catalog has none."""
        known = self.properties.get(name)
        if known is None:
            raise MissingFactError(f"{self.provider} {self.name}", name.value)
        return known.value

    def price(self, kind: PriceKind = PriceKind.ON_DEMAND) -> Price | None:
        """The price on these terms, or None when no source gives one."""
        return next((p for p in self.prices if p.kind is kind), None)


@dataclass(frozen=True, slots=True)
class Model:
    """A published model. `architecture` is None where no simple formula describes it or it is no
    language model; then `network` may say what is known. One without both can be shown, not planned.

    `parameters_exact`: whether the published count in use is a whole count and not a rounded one. `sources` are those
    of its sizes. `note_zh` is `note` in Chinese.
    """

    id: str
    name: str
    family: str
    kind: str
    architecture: ModelArchitecture | None
    parameters: Known
    active_parameters: Known | None = None
    aliases: tuple[str, ...] = ()
    licence: str = ""
    note: str = ""
    sources: tuple[Source, ...] = ()
    user: bool = False
    note_zh: str = ""
    parameters_exact: bool = True
    network: Network | None = None

    @property
    def plannable(self) -> bool:
        """Whether a plan can run it: enough is known of what it is made of."""
        return self.architecture is not None or self.network is not None


@dataclass(frozen=True, slots=True)
class CompatibilityTable:
    """A table of software compatibility as published, with the source of each row in its last column."""

    id: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of thumb, tier or answer of a source document, with our verdict on it.

    `bears_on`: the figures or inputs of a plan that it speaks about ("vcpus", "ram", "memory_headroom", "link", …).
    `factor`: the number in it, in the base unit of what it bears on, where it has one (2 vCPU per GB: 2.0).
    `applies_to`: ids of GPUs, and what the factor is for one of ("per GPU", "per GB of GPU memory", "per node").
    """

    id: str
    kind: str
    claim_en: str
    claim_zh: str
    verdict: str
    reason_en: str
    reason_zh: str
    bears_on: tuple[str, ...]
    source: Source
    applies_to: tuple[str, ...] = ()
    factor: float | None = None
    facts: tuple[Fact, ...] = field(default=())
