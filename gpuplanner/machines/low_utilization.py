"""Names the likeliest cause of GPUs that do not work all the time, with the signs seen. Pure: no clock, no reading.

A cause is named where its signs were sampled and seen. Where what would show a cause was not sampled, that is said,
and none is guessed. `utilization_percent` is NVML's: the share of time in which any kernel ran, not how well it ran.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from gpuplanner.engine.estimate import Estimate, Limit
from gpuplanner.machines.utilization_signs import Signs, signs_of
from gpuplanner.messages import Message, msg
from gpuplanner.probe.telemetry import Telemetry
from gpuplanner.units import percent

WINDOW_S = 120.0
"""How far back one looks."""
LEAST_S = 10.0
"""What lasted shorter says nothing about a habit."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """From where on a sign counts. `source`: who says so, or "our own rule"."""

    value: float
    source: str


OWN = "our own rule"
THRESHOLDS = {
    "busy_percent": Threshold(90, "checks.csv, trace: at least 90 % busy in the user's window"),
    "idle_percent": Threshold(5, OWN),
    "cpu_percent": Threshold(85, OWN),
    "one_cpu_percent": Threshold(95, OWN),
    "cpu_limit_percent": Threshold(90, OWN),
    "cpu_wait_percent": Threshold(10, OWN),
    "disk_percent": Threshold(90, "iostat(1): a disk that serves one request at a time is saturated near 100 % busy"),
    "network_percent": Threshold(80, OWN),
    "throttled_share": Threshold(0.1, OWN),
    "uneven_points": Threshold(30, OWN),
    "waiting_power_ratio": Threshold(0.7, OWN),
    "small_power_share": Threshold(0.5, OWN),
    "small_memory_percent": Threshold(30, OWN),
    "quiet_pcie_ratio": Threshold(0.3, OWN),
}
"""What counts as a sign, by name; each with where it comes from."""


class Cause(StrEnum):
    """What keeps GPUs from working. Text: `live.cause.<value>`, and what to do: `live.advice.<value>`."""

    IDLE = "idle"
    THROTTLING = "throttling"
    CPU_LIMIT = "cpu_limit"
    DATA_LOADING = "data_loading"
    STORAGE = "storage"
    NETWORK = "network"
    SYNCHRONIZATION = "synchronization"
    ONE_THREAD = "one_thread"
    SMALL_BATCHES = "small_batches"
    NONE = "none"
    """They work: there is nothing to explain."""
    UNKNOWN = "unknown"
    """Low, and no sign of any cause was seen."""
    TOO_SHORT = "too_short"
    NO_GPU = "no_gpu"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the GPUs did, and why. `expected_percent`: lowest and highest that the plan expects.

    `signs`: what was seen of the cause. `others`: further causes whose signs were seen, less likely. `unseen`: what was
    not sampled and would have told more.
    """

    cause: Cause
    utilization_percent: float | None = None
    expected_percent: tuple[float, float] | None = None
    signs: tuple[Message, ...] = ()
    others: tuple[Cause, ...] = ()
    unseen: tuple[Message, ...] = field(default=())

    @property
    def low(self) -> bool:
        """Whether the GPUs do less than the plan expects, or than is usual where no plan says anything."""
        least = self.expected_percent[0] if self.expected_percent else THRESHOLDS["busy_percent"].value
        return self.utilization_percent is not None and self.utilization_percent < least


def expected_utilization(estimate: Estimate) -> tuple[float, float] | None:
    """Lowest and highest percentage of time in which a plan lets kernels run; None where it does not say.

    All of a step's time but what waits for processors and storage (highest), and but gaps of latency too (lowest):
    collectives are kernels and count as work. Our own rule.
    """
    shares = dict(estimate.limits)
    if not shares:
        return None
    waits = shares.get(Limit.CPU, 0.0) + shares.get(Limit.STORAGE, 0.0)
    highest = 100.0 * (1.0 - waits)
    return max(0.0, highest - 100.0 * shares.get(Limit.LATENCY, 0.0)), max(0.0, highest)


def explain(
    telemetry: Telemetry, expected_percent: tuple[float, float] | None = None, window_s: float = WINDOW_S
) -> Explanation:
    """What the last `window_s` say."""
    signs = signs_of(telemetry, window_s)
    if not signs.gpus:
        return Explanation(Cause.NO_GPU)
    if signs.utilization is None:
        return Explanation(Cause.UNKNOWN, None, expected_percent, (), (), (msg("live.unseen.utilization"),))
    if signs.seconds < LEAST_S:
        return Explanation(Cause.TOO_SHORT, signs.utilization, expected_percent)
    found = [(cause, seen) for cause, look in _LOOKS if (seen := look(signs))]
    told = Explanation(Cause.NONE, signs.utilization, expected_percent)
    if not told.low:
        # What hides behind a utilisation that is high: kernels that run slowly, or that wait.
        found = [(cause, seen) for cause, seen in found if cause in _HIDDEN]
        if not found:
            return told
    if not found:
        return Explanation(Cause.UNKNOWN, signs.utilization, expected_percent, _dips(signs), (), _unseen(signs))
    cause, seen = found[0]
    shown = seen if cause in {Cause.IDLE, *_HIDDEN} else (*_dips(signs), *seen)
    others = tuple(other for other, _ in found[1:])
    return Explanation(cause, signs.utilization, expected_percent, shown, others, _unseen(signs))


def _percent(value: float | None) -> str:
    """As a person reads it; of a value that its caller has seen."""
    return percent((value or 0.0) / 100)


def _at_least(value: float | None, name: str) -> bool:
    return value is not None and value >= THRESHOLDS[name].value


def _below(value: float | None, name: str) -> bool:
    return value is not None and value < THRESHOLDS[name].value


def _idle(signs: Signs) -> tuple[Message, ...]:
    if not _below(signs.utilization, "idle_percent"):
        return ()
    if signs.processes is None:
        return (msg("live.sign.idle"),)
    return (msg("live.sign.idle"), msg("live.sign.processes", count=signs.processes))


def _throttling(signs: Signs) -> tuple[Message, ...]:
    share = signs.throttled_share
    if share is None or not _at_least(share, "throttled_share"):
        return ()
    seen = [msg("live.sign.throttled", percent=percent(share))]
    if signs.clock_share is not None and signs.clock_share < 0.95:
        seen.append(msg("live.sign.clock", percent=percent(signs.clock_share)))
    return tuple(seen)


def _cpu_limit(signs: Signs) -> tuple[Message, ...]:
    used = signs.cpu_limit_used
    if used is None or not _at_least(used, "cpu_limit_percent"):
        return ()
    return (
        msg("live.sign.cpu_limit", percent=_percent(used), limit=f"{signs.cpu_limit or 0:,.1f}".removesuffix(".0"),
            cpus=f"{signs.cpus or 0:.0f}"),
    )  # fmt: skip


def _data_loading(signs: Signs) -> tuple[Message, ...]:
    if not _at_least(signs.cpu, "cpu_percent"):
        return ()
    busy = msg("live.sign.cpus_busy", count=f"{signs.cpus:.0f}", percent=_percent(signs.cpu))
    if signs.cpus is None:
        busy = msg("live.sign.cpu_busy", percent=_percent(signs.cpu))
    return (*_quiet_pcie(signs), busy)


def _storage(signs: Signs) -> tuple[Message, ...]:
    waits, full = _at_least(signs.cpu_wait, "cpu_wait_percent"), _at_least(signs.disk_busy, "disk_percent")
    if not (waits or full):
        return ()
    seen = list(_quiet_pcie(signs))
    if waits:
        seen.append(msg("live.sign.cpu_wait", percent=_percent(signs.cpu_wait)))
    if full:
        seen.append(msg("live.sign.disk_busy", percent=_percent(signs.disk_busy)))
    if signs.disk_read_mb_per_s is not None:
        seen.append(msg("live.sign.disk_read", rate=f"{signs.disk_read_mb_per_s:,.0f}"))
    return tuple(seen)


def _network(signs: Signs) -> tuple[Message, ...]:
    if signs.received_mb_per_s is None or not signs.link_mb_per_s:
        return ()
    share = 100.0 * signs.received_mb_per_s / signs.link_mb_per_s
    if not _at_least(share, "network_percent"):
        return ()
    rate, link = f"{signs.received_mb_per_s:,.0f}", f"{signs.link_mb_per_s:,.0f}"
    return (msg("live.sign.network", rate=rate, link=link),)


def _synchronization(signs: Signs) -> tuple[Message, ...]:
    if len(signs.each) < 2:
        return ()
    lowest, highest = min(signs.each, key=signs.each.__getitem__), max(signs.each, key=signs.each.__getitem__)
    apart = signs.each[highest] - signs.each[lowest]
    if apart >= THRESHOLDS["uneven_points"].value:
        low, high = _percent(signs.each[lowest]), _percent(signs.each[highest])
        return (msg("live.sign.uneven", low_gpu=lowest, low=low, high_gpu=highest, high=high),)
    # Kernels of collectives spin while they wait: all seem busy, and those that wait take less power.
    powers = sorted(signs.power.values())
    if len(powers) == len(signs.each) and _at_least(signs.utilization, "busy_percent"):
        ratio = float(np.median(powers[:-1])) / powers[-1] if powers[-1] > 0 else 1.0
        if ratio < THRESHOLDS["waiting_power_ratio"].value:
            worker = max(signs.power, key=signs.power.__getitem__)
            others = f"{np.median(powers[:-1]):.0f}"
            return (msg("live.sign.one_works", gpu=worker, watts=f"{powers[-1]:.0f}", others=others),)
    return ()


def _one_thread(signs: Signs) -> tuple[Message, ...]:
    if not _at_least(signs.busiest_cpu, "one_cpu_percent") or _at_least(signs.cpu, "cpu_percent"):
        return ()
    return (msg("live.sign.one_cpu", percent=_percent(signs.busiest_cpu), all=_percent(signs.cpu)),)


def _small_batches(signs: Signs) -> tuple[Message, ...]:
    share = signs.power_share
    small = _below(share, "small_power_share") and _below(signs.memory_busy, "small_memory_percent")
    if share is None or not small or _below(signs.utilization, "idle_percent"):
        return ()
    return (
        msg("live.sign.low_power", percent=percent(share)),
        msg("live.sign.low_memory", percent=_percent(signs.memory_busy)),
    )


def _quiet_pcie(signs: Signs) -> tuple[Message, ...]:
    """That nothing came over PCIe while the GPUs waited."""
    if signs.pcie_in_dips is None or not signs.pcie_otherwise:
        return ()
    if signs.pcie_in_dips / signs.pcie_otherwise >= THRESHOLDS["quiet_pcie_ratio"].value:
        return ()
    rate, otherwise = f"{signs.pcie_in_dips / 1e3:.1f}", f"{signs.pcie_otherwise / 1e3:.1f}"
    return (msg("live.sign.quiet_pcie", rate=rate, otherwise=otherwise),)


def _dips(signs: Signs) -> tuple[Message, ...]:
    if signs.dips < 2 or signs.dip_every_s is None:
        return ()
    return (msg("live.sign.dips", every=f"{signs.dip_every_s:.1f}", length=f"{signs.dip_s:.1f}"),)


def _unseen(signs: Signs) -> tuple[Message, ...]:
    wanted: Sequence[tuple[str, object]] = (
        ("cpu", signs.cpu), ("disk", signs.disk_busy), ("power", signs.power_share), ("pcie", signs.pcie),
        ("throttling", signs.throttled_share), ("network", signs.link_mb_per_s),
    )  # fmt: skip
    return tuple(msg(f"live.unseen.{name}") for name, value in wanted if value is None)


_LOOKS: tuple[tuple[Cause, Callable[[Signs], tuple[Message, ...]]], ...] = (
    # Likeliest first: what explains the others stands before them.
    (Cause.IDLE, _idle),
    (Cause.CPU_LIMIT, _cpu_limit),
    (Cause.DATA_LOADING, _data_loading),
    (Cause.STORAGE, _storage),
    (Cause.NETWORK, _network),
    (Cause.SYNCHRONIZATION, _synchronization),
    (Cause.THROTTLING, _throttling),
    (Cause.ONE_THREAD, _one_thread),
    (Cause.SMALL_BATCHES, _small_batches),
)
_HIDDEN = frozenset({Cause.THROTTLING, Cause.SYNCHRONIZATION, Cause.SMALL_BATCHES})
