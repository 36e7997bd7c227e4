"""What a plan lets GPUs do beside what they were seen to do: busy, memory, links, power. Explains nothing."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from gpuplanner.acceptance.promised import PromisedGpu
from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.engine.estimate import Estimate, Limit
from gpuplanner.machines.low_utilization import expected_utilization
from gpuplanner.machines.rates.chart import Across, Line, Point, RateChart, Role
from gpuplanner.machines.rates.known import Known
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import Sample
from gpuplanner.probe.telemetry import Telemetry

_NAMES = ("busy", "compute", "memory", "link", "power")
_IDLE_PERCENT = 5.0
_MEGA = 1e6
_SEEN = (
    "utilization_percent", "memory_percent", "power_w", "power_limit_w", "nvlink_sent_mb_per_s",
    "nvlink_received_mb_per_s", "pcie_sent_mb_per_s", "pcie_received_mb_per_s",
)  # fmt: skip

Seen = Mapping[str, float]
"""Of one GPU the mean of each value over the time that was sampled, by the names of samples."""


def of_samples(evidence: Evidence) -> dict[int, Seen]:
    """What the samples among the evidence say of each GPU, with the limits of power that were read."""
    values: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for sample in evidence.samples:
        if sample.gpu_index is not None:
            for name, value in _values(sample).items():
                values[sample.gpu_index][name].append(value)
    limits = {gpu.index: gpu.power_limit_w for gpu in evidence.gpus if gpu.index is not None and gpu.power_limit_w}
    found: dict[int, Seen] = {}
    for gpu, of in values.items():
        seen = {name: fmean(each) for name, each in of.items()}
        limit = limits.get(gpu)
        found[gpu] = seen if limit is None else {"power_limit_w": limit, **seen}
    return found


def of_telemetry(telemetry: Telemetry) -> dict[int, Seen]:
    """The same of what was watched live, over all of its time."""
    found: dict[int, dict[str, float]] = defaultdict(dict)
    for (gpu, name), series in telemetry.series.items():
        if gpu is not None and name in _SEEN:
            mean = series.recent(telemetry.ended_s)[2]
            if len(mean):
                found[gpu][name] = float(mean.mean())
    return dict(found)


def _values(sample: Sample) -> dict[str, float]:
    return {name: value for name in _SEEN if (value := getattr(sample, name, None)) is not None}


@dataclass(frozen=True, slots=True)
class _Share:
    """What a plan expects of one thing, in percent; `low` and `high` where it has a range."""

    value: float
    low: float | None = None
    high: float | None = None


def utilization(seen: Mapping[int, Seen], known: Known) -> RateChart | None:
    """The shares that a plan expects beside those that were seen; None where either is not there."""
    if known.planned is None or not seen:
        return None
    expected, measured = _expected(known.planned), _measured(seen, known.promised.gpu)
    names = [name for name in _NAMES if name in expected or name in measured]
    at = {name: float(place) for place, name in enumerate(names)}
    absent: list[Message] = []
    if all(of.get("utilization_percent", 100.0) < _IDLE_PERCENT for of in seen.values()):
        absent.append(msg("rates.absent.idle"))
    if "compute" in expected:
        absent.append(msg("rates.absent.compute"))
    lines = []
    if expected:
        points = tuple(Point(at[name], of.value, of.low, of.high, _called(name)) for name, of in expected.items())
        lines.append(Line(msg("rates.line.expected"), Role.EXPECTED, points, msg("rates.source.shares")))
    if measured:
        points = tuple(_of_all(at[name], values, _called(name)) for name, values in measured.items())
        lines.append(Line(msg("rates.line.seen"), Role.MEASURED, points, msg("rates.source.samples")))
    return RateChart(
        "utilization",
        msg("rates.chart.utilization"),
        msg("rates.note.utilization"),
        Across.NAMES,
        "%",
        tuple(lines),
        tuple(_called(name) for name in names),
        tuple(absent),
    )


def _expected(planned: Estimate) -> dict[str, _Share]:
    found: dict[str, _Share] = {}
    busy = expected_utilization(planned)
    if busy is not None:
        found["busy"] = _Share((busy[0] + busy[1]) / 2, *busy)
    shares = dict(planned.limits)
    for name, limit in (("compute", Limit.COMPUTE), ("link", Limit.LINK)):
        if limit in shares:
            found[name] = _Share(100 * shares[limit])
    if Limit.HBM in shares:
        # Memory is at work while multiplications limit, too: how much then, nobody counts.
        alone = 100 * shares[Limit.HBM]
        found["memory"] = _Share(alone, alone, alone + 100 * shares.get(Limit.COMPUTE, 0.0))
    power, limit_w = planned.metrics.get("power_w"), _limit_w(planned)
    if power is not None and limit_w:
        found["power"] = _Share(*(100 * watts / limit_w for watts in (power.value, power.low, power.high)))
    return {name: found[name] for name in _NAMES if name in found}


def _limit_w(planned: Estimate) -> float | None:
    """The power limit of all GPUs of the plan's machine."""
    known = planned.machine.gpu.known(GpuProperty.POWER_W)
    return known.value * float(planned.machine.gpu_fraction) * planned.machine.gpus if known is not None else None


def _measured(seen: Mapping[int, Seen], gpu: PromisedGpu | None) -> dict[str, list[float]]:
    """By name, the percentages of the GPUs that were seen."""
    looks: dict[str, Callable[[Seen], float | None]] = {
        "busy": lambda of: of.get("utilization_percent"),
        "memory": lambda of: of.get("memory_percent"),
        "link": lambda of: _link(of, gpu),
        "power": lambda of: _power(of, gpu),
    }
    found: dict[str, list[float]] = {}
    for name, look in looks.items():
        values = [value for of in seen.values() if (value := look(of)) is not None]
        if values:
            found[name] = values
    return found


def _link(of: Seen, gpu: PromisedGpu | None) -> float | None:
    """What the busier direction of a GPU's links carried, of what they can."""
    for kind, rate in (
        ("nvlink", gpu.link_bytes_per_s if gpu else None),
        ("pcie", gpu.pcie_bytes_per_s if gpu and not gpu.link_bytes_per_s else None),
    ):
        told = [of[f"{kind}_{way}_mb_per_s"] for way in ("sent", "received") if f"{kind}_{way}_mb_per_s" in of]
        if rate and told:
            return 100 * max(told) * _MEGA / rate
    return None


def _power(of: Seen, gpu: PromisedGpu | None) -> float | None:
    limit = of.get("power_limit_w") or (gpu.power_w if gpu else None)
    drawn = of.get("power_w")
    return 100 * drawn / limit if drawn is not None and limit else None


def _of_all(x: float, values: Sequence[float], name: Message) -> Point:
    several = len(values) > 1
    return Point(x, median(values), min(values) if several else None, max(values) if several else None, name)


def _called(name: str) -> Message:
    return msg(f"rates.share.{name}")
