"""The rows of the comparison: what is compared, in which unit, and which way is better. No Qt."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from gpuplanner.catalog.entries import Gpu, GpuProperty, InstanceProperty, Model, PriceKind
from gpuplanner.catalog.table.contents import kv_bytes_per_token, sixteen_bit_rate
from gpuplanner.facts import Known
from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.ui.catalog_place.catalog_words import TRANSLATED
from gpuplanner.ui.compare_place.subjects import Subject
from gpuplanner.units import Unit


class Better(Enum):
    """Which of several values is best; of many it depends on what one wants."""

    MORE = "more"
    LESS = "less"
    NEITHER = "neither"


Value = float | MessageValue | None


@dataclass(frozen=True, slots=True)
class Property:
    """One row. `known` gives the fact behind a value, where it is one.

    `in_catalog`: a text of the catalog, which may have words beside names. `spread` gives the ends of a value's range.
    `comparable` says of a subject with whom it shares what the value means: values of others are neither better nor
    worse. `estimate` is what its errors follow from: where it is the same they are too, and None is like no other.
    """

    id: str
    title: Message
    read: Callable[[Subject], Value]
    unit: Unit = Unit.TEXT
    better: Better = Better.NEITHER
    known: Callable[[Subject], Known | None] = lambda _subject: None
    in_catalog: bool = False
    spread: Callable[[Subject], tuple[float, float] | None] = lambda _subject: None
    comparable: Callable[[Subject], object] = lambda _subject: None
    estimate: Callable[[Subject], object] = lambda _subject: None


@dataclass(frozen=True, slots=True)
class PropertyGroup:
    """Rows under a title."""

    title: Message
    properties: tuple[Property, ...]


_MORE, _LESS = Better.MORE, Better.LESS
METRICS: Mapping[str, tuple[Unit, Better]] = {
    "ttft_s": (Unit.SECOND, _LESS),
    "tpot_s": (Unit.SECOND, _LESS),
    "request_s": (Unit.SECOND, _LESS),
    "output_tokens_per_s": (Unit.TOKEN_PER_S, _MORE),
    "step_s": (Unit.SECOND, _LESS),
    "tokens_per_s": (Unit.TOKEN_PER_S, _MORE),
    "mfu": (Unit.RATIO, _MORE),
    "job_s": (Unit.SECOND, _LESS),
    "job_usd": (Unit.MONEY, _LESS),
    "usd_per_mtoken": (Unit.MONEY_PER_MTOKEN, _LESS),
    "usd_per_hour": (Unit.MONEY_PER_HOUR, _LESS),
    "usd_per_month": (Unit.MONEY, _LESS),
    "image_batch_s": (Unit.SECOND, _LESS),
    "diffusion_step_s": (Unit.SECOND, _LESS),
    "vision_step_s": (Unit.SECOND, _LESS),
    "generated_per_s": (Unit.PER_S, _MORE),
    "images_per_s": (Unit.PER_S, _MORE),
    "usd_per_kgenerated": (Unit.MONEY, _LESS),
    "usd_per_kimage": (Unit.MONEY, _LESS),
    "recording_s": (Unit.SECOND, _LESS),
    "audio_s_per_s": (Unit.PER_S, _MORE),
    "usd_per_kaudio_s": (Unit.MONEY, _LESS),
    "frame_s": (Unit.SECOND, _LESS),
    "relative_speed": (Unit.COUNT, _MORE),
    "usd_per_kframe": (Unit.MONEY, _LESS),
    "science_step_s": (Unit.SECOND, _LESS),
    "science_steps_per_s": (Unit.PER_S, _MORE),
    "usd_per_kstep": (Unit.MONEY, _LESS),
    "live_streams": (Unit.COUNT, _MORE),
    "video_s_per_s": (Unit.PER_S, _MORE),
    "usd_per_kvideo_s": (Unit.MONEY, _LESS),
    "item_step_s": (Unit.SECOND, _LESS),
    "items_per_s": (Unit.PER_S, _MORE),
    "usd_per_kitem": (Unit.MONEY, _LESS),
    "power_w": (Unit.WATT, _LESS),
}
"""What a search gives for a machine, with its unit and which way is better."""
_OF_JOB = frozenset({"job_s", "job_usd"})
_RATES = (
    (GpuProperty.BF16_FLOP_PER_S, Unit.FLOP_PER_S),
    (GpuProperty.FP16_FLOP_PER_S, Unit.FLOP_PER_S),
    (GpuProperty.FP8_FLOP_PER_S, Unit.FLOP_PER_S),
    (GpuProperty.FP4_FLOP_PER_S, Unit.FLOP_PER_S),
    (GpuProperty.INT8_FLOP_PER_S, Unit.OP_PER_S),
    (GpuProperty.TF32_FLOP_PER_S, Unit.FLOP_PER_S),
    (GpuProperty.FP32_FLOP_PER_S, Unit.FLOP_PER_S),
    (GpuProperty.FP64_FLOP_PER_S, Unit.FLOP_PER_S),
)


def property_groups() -> tuple[PropertyGroup, ...]:
    """All rows. A row, or a group, in which nothing has a value is left out when it is shown."""
    return (
        PropertyGroup(msg("compareui.group.plan"), _plan()),
        PropertyGroup(msg("compareui.group.price"), _price()),
        PropertyGroup(msg("compareui.group.together"), _together()),
        PropertyGroup(msg("compareui.group.gpu"), _gpu()),
        PropertyGroup(msg("compareui.group.host"), _host()),
        PropertyGroup(msg("compareui.group.model"), _model()),
    )


def _plan() -> tuple[Property, ...]:
    def metric(name: str) -> Callable[[Subject], Value]:
        return lambda subject: subject.candidate.metrics.get(name) if subject.candidate else None

    def fit(subject: Subject) -> Value:
        return msg(f"fit.{subject.candidate.fit}") if subject.candidate and subject.candidate.fit else None

    def spread(name: str) -> Callable[[Subject], tuple[float, float] | None]:
        return lambda subject: subject.candidate.ranges.get(name) if subject.candidate else None

    def link(subject: Subject) -> Value:
        topology = subject.candidate.topology if subject.candidate is not None else ""
        if topology in {"", "single"}:
            return msg("compareui.link.single") if topology else None
        return (subject.gpu.link_kind if subject.gpu is not None and topology != "pcie" else "") or "PCIe"

    return (
        Property("plan", msg("compareui.plan"), lambda s: s.plan or None),
        Property("fit", msg("compareui.fit"), fit),
        Property("measured", msg("compareui.measured"), lambda s: s.candidate.own or None if s.candidate else None),
        *(
            Property(
                name,
                msg(f"metric.{name}"),
                metric(name),
                unit,
                better,
                spread=spread(name),
                comparable=_same_job if name in _OF_JOB else _same_kind,
                estimate=_estimate,
            )
            for name, (unit, better) in METRICS.items()
        ),
        Property("link_used", msg("compareui.link_used"), link, in_catalog=True),
        Property(
            "link_used_rate",
            msg("compareui.link_used_rate"),
            lambda s: s.candidate.link_bytes_per_s if s.candidate is not None and link(s) is not None else None,
            Unit.BYTE_PER_S,
            _MORE,
        ),
    )


def _estimate(subject: Subject) -> object:
    """The GPUs and the numbers that no price has a part in: machines that agree in them are estimated alike."""
    candidate = subject.candidate
    if candidate is None:
        return None
    numbers = sorted((name, f"{v:.6g}") for name, v in candidate.metrics.items() if not name.startswith("usd_"))
    times = tuple((name, number) for name, number in numbers if name != "job_usd")
    return (candidate.kind, candidate.gpu_id, candidate.gpus, candidate.nodes, times) if times else None


def _same_kind(subject: Subject) -> object:
    """Results mean the same for one kind of workload; nobody knows which where it was not kept."""
    kind = subject.candidate.kind if subject.candidate is not None else ""
    return kind or subject.pin.key


def _same_job(subject: Subject) -> object:
    """A job is as long as its plan says."""
    return _same_kind(subject), subject.candidate.plan if subject.candidate is not None else ""


def _price() -> tuple[Property, ...]:
    def spot(subject: Subject) -> Value:
        price = subject.instance.price(PriceKind.SPOT) if subject.instance and not subject.candidate else None
        return f"{price.per_hour:,.4g} {price.currency}/h" if price is not None else None

    def published(part: str) -> Callable[[Subject], Value]:
        def read(subject: Subject) -> Value:
            price = subject.offer.price() if subject.offer is not None else None
            return str(getattr(price, part)) or None if price is not None else None

        return read

    def offer(subject: Subject) -> Value:
        """Whose price of one GPU it is: that of an instance says so itself."""
        if subject.offer is None or subject.instance is not None:
            return None
        return f"{subject.offer.provider} {subject.offer.name}"

    money = Unit.MONEY_PER_HOUR
    return (
        Property("price", msg("compareui.price"), _alone(lambda s: s.usd_per_hour), money, _LESS),
        Property("gpu_price", msg("compareui.gpu_price"), lambda s: s.usd_per_gpu, money, _LESS),
        Property("offer", msg("compareui.offer"), offer),
        Property("spot", msg("compareui.spot"), spot),
        Property("region", msg("search.column.region"), published("region")),
        Property("price_date", msg("search.column.price_date"), published("date")),
        Property("price_per_gib", msg("search.column.price_per_gib"), _per_gib, money, _LESS),
        Property("price_per_tflops", msg("search.column.price_per_tflops"), _per_tflops, money, _LESS),
    )


def _alone(read: Callable[[Subject], Value]) -> Callable[[Subject], Value]:
    """Not for candidates, whose cost stands among the results of their plan."""
    return lambda subject: read(subject) if subject.candidate is None else None


def _per_gib(subject: Subject) -> Value:
    memory = _fact(subject.gpu, GpuProperty.MEMORY_BYTES)
    return subject.usd_per_gpu / (memory / 2.0**30) if subject.usd_per_gpu is not None and memory else None


def _per_tflops(subject: Subject) -> Value:
    rate = sixteen_bit_rate(subject.gpu) if subject.gpu is not None else None
    return subject.usd_per_gpu / (rate / 1e12) if subject.usd_per_gpu is not None and rate else None


def _together() -> tuple[Property, ...]:
    def total(name: GpuProperty) -> Callable[[Subject], Value]:
        def read(subject: Subject) -> Value:
            one, count = _fact(subject.gpu, name), subject.gpus
            return one * count if one is not None and count is not None else None

        return read

    memory, rate, bandwidth = GpuProperty.MEMORY_BYTES, GpuProperty.BF16_FLOP_PER_S, GpuProperty.HBM_BYTES_PER_S

    def nodes(subject: Subject) -> Value:
        return float(subject.candidate.nodes) if subject.candidate is not None else None

    return (
        Property("gpus", msg("compareui.gpus"), lambda s: s.gpus, Unit.COUNT),
        Property("nodes", msg("compareui.nodes"), nodes, Unit.COUNT),
        Property("memory_total", msg("compareui.memory_total"), total(memory), Unit.BYTE, _MORE),
        Property("bf16_total", msg("compareui.bf16_total"), total(rate), Unit.FLOP_PER_S, _MORE),
        Property("hbm_total", msg("compareui.hbm_total"), total(bandwidth), Unit.BYTE_PER_S, _MORE),
    )


def _gpu() -> tuple[Property, ...]:
    def word(name: str) -> Callable[[Subject], Value]:
        return lambda subject: getattr(subject.gpu, name) or None if subject.gpu is not None else None

    def name(subject: Subject) -> Value:
        return subject.gpu.name if subject.gpu is not None else None

    return (
        Property("gpu", msg("search.column.gpu"), name),
        _of_gpu(GpuProperty.MEMORY_BYTES, Unit.BYTE, _MORE),
        Property("memory_type", msg("search.column.memory_type"), word("memory_type")),
        _of_gpu(GpuProperty.HBM_BYTES_PER_S, Unit.BYTE_PER_S, _MORE),
        *(_of_gpu(rate, unit, _MORE) for rate, unit in _RATES),
        Property("link_kind", msg("search.column.link_kind"), word("link_kind"), in_catalog=True),
        _of_gpu(GpuProperty.LINK_BYTES_PER_S, Unit.BYTE_PER_S, _MORE),
        _of_gpu(GpuProperty.PCIE_GENERATION, Unit.COUNT, _MORE),
        _of_gpu(GpuProperty.L2_BYTES, Unit.BYTE, _MORE),
        _of_gpu(GpuProperty.POWER_W, Unit.WATT, _LESS),
        _of_gpu(GpuProperty.MIG_SLICES, Unit.COUNT, _MORE),
        Property("architecture", msg("search.column.architecture"), word("architecture")),
        Property("form_factor", msg("search.column.form_factor"), word("form_factor"), in_catalog=True),
        Property("compute_capability", msg("search.column.compute_capability"), word("compute_capability")),
        Property("release_date", msg("search.column.release_date"), word("release_date")),
    )


def _of_gpu(name: GpuProperty, unit: Unit, better: Better) -> Property:
    def known(subject: Subject) -> Known | None:
        return subject.gpu.known(name) if subject.gpu is not None else None

    return Property(name.value, msg(f"search.column.{name.value}"), lambda s: _fact(s.gpu, name), unit, better, known)


def _host() -> tuple[Property, ...]:
    names = (
        (InstanceProperty.VCPUS, Unit.COUNT),
        (InstanceProperty.RAM_BYTES, Unit.BYTE),
        (InstanceProperty.LOCAL_STORAGE_BYTES, Unit.BYTE),
        (InstanceProperty.NETWORK_BIT_PER_S, Unit.BIT_PER_S),
    )
    words = ("provider", "interconnect", "rdma", "virtualization", "cpu")

    def word(name: str) -> Callable[[Subject], Value]:
        return lambda subject: getattr(subject.instance, name) or None if subject.instance is not None else None

    return (
        *(_of_instance(name, unit) for name, unit in names),
        *(Property(name, msg(f"search.column.{name}"), word(name), in_catalog=name in TRANSLATED) for name in words),
    )


def _of_instance(name: InstanceProperty, unit: Unit) -> Property:
    def known(subject: Subject) -> Known | None:
        return subject.instance.properties.get(name) if subject.instance is not None else None

    def read(subject: Subject) -> Value:
        found = known(subject)
        return found.value if found is not None else None

    return Property(name.value, msg(f"search.column.{name.value}"), read, unit, _MORE, known)


def _model() -> tuple[Property, ...]:
    def of(read: Callable[[Model], Value]) -> Callable[[Subject], Value]:
        return lambda subject: read(subject.model) if subject.model is not None else None

    def kv(model: Model) -> Value:
        return kv_bytes_per_token(model.architecture, 2.0) if model.architecture is not None else None

    def layers(model: Model) -> Value:
        return float(model.architecture.layers) if model.architecture is not None else None

    def context(model: Model) -> Value:
        longest = model.architecture.max_positions if model.architecture is not None else None
        return float(longest) if longest is not None else None

    def active(model: Model) -> Value:
        return model.active_parameters.value if model.active_parameters is not None else None

    column = "search.column"
    return (
        Property(
            "parameters",
            msg(f"{column}.parameters"),
            of(lambda m: m.parameters.value),
            Unit.PARAMETER,
            known=lambda s: s.model.parameters if s.model is not None else None,
        ),
        Property("active_parameters", msg(f"{column}.active_parameters"), of(active), Unit.PARAMETER),
        Property("layers", msg(f"{column}.layers"), of(layers), Unit.COUNT),
        Property("kv", msg(f"{column}.kv_bytes_per_token"), of(kv), Unit.BYTE_PER_TOKEN, _LESS),
        Property("max_positions", msg(f"{column}.max_positions"), of(context), Unit.TOKEN, _MORE),
        Property("kind", msg(f"{column}.kind"), of(lambda m: msg(f"model.kind.{m.kind}"))),
        Property("licence", msg(f"{column}.licence"), of(lambda m: m.licence or None)),
    )


def _fact(gpu: Gpu | None, name: GpuProperty) -> float | None:
    known = gpu.known(name) if gpu is not None else None
    return known.value if known is not None else None
