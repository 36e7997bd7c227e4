"""In what the GPUs of one machine differ from most of them: how they are set, and what was measured. Judges little."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median

from gpuplanner.acceptance.differences import CONFIGURATION, COUNTERS
from gpuplanner.acceptance.saying import label
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.record import Record, Seen

UNLIKE_SHARE = 0.05
"""Rates of GPUs in one machine that differ by more are told (our own rule, where the checks on measurements warn)."""
_OF_ONE_GPU = frozenset({"host_to_device", "device_to_host", "device_memory"})
_OF_ONE = frozenset({"serial", "pci_bus_id"})
"""What no two GPUs share."""


@dataclass(frozen=True, slots=True)
class Unlike:
    """A value that some GPUs have and most do not. `section`, `field`: as in the evidence; `what`: of a rate.

    `usual`: the value of most, for a rate the median; `gpus`: those that have `value`; `lines`: where it was read.
    """

    section: str
    what: str
    field: str
    usual: object
    gpus: tuple[str, ...]
    value: object
    lines: tuple[Seen, ...] = dataclasses.field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class _Rate:
    """What one GPU reached, in the unit of its section."""

    section: str
    what: str
    gpu: int
    value: float
    lines: tuple[Seen, ...]


def unlike(evidence: Evidence) -> tuple[Unlike, ...]:
    """What differs, settings first. Nothing where there are fewer than two GPUs, or none is in the minority."""
    found = [
        odd for name in (*CONFIGURATION, *COUNTERS) if name not in _OF_ONE for odd in _of_field(evidence.gpus, name)
    ]
    return (*found, *_of_rates(_bandwidths(evidence)), *_of_rates(_products(evidence)))


def _of_field(gpus: Iterable[Gpu], name: str) -> list[Unlike]:
    """The values of one field that are not the commonest; where two are as common, that of the first GPU is usual."""
    known = [gpu for gpu in gpus if getattr(gpu, name) is not None]
    if name in COUNTERS:
        # What was counted differs by itself; that others counted nothing at all says something.
        if not any(getattr(gpu, name) == 0 for gpu in known):
            return []
        usual: object = 0
    else:
        counts = Counter(getattr(gpu, name) for gpu in known)
        if len(counts) < 2:
            return []
        usual = counts.most_common(1)[0][0]
    odd: dict[object, list[Gpu]] = {}
    for gpu in known:
        if getattr(gpu, name) != usual:
            odd.setdefault(getattr(gpu, name), []).append(gpu)
    return [
        Unlike("gpus", "", name, usual, tuple(label(gpu) for gpu in having), value, _seen(name, having))
        for value, having in odd.items()
    ]


def _bandwidths(evidence: Evidence) -> Iterator[_Rate]:
    """Copies of one GPU, at the largest size that was copied on their path: small ones measure the wait."""
    largest: dict[tuple[str, str | None], float] = {}
    for row in evidence.bandwidths:
        key = row.path, row.method
        largest[key] = max(largest.get(key, 0.0), row.bytes or 0.0)
    for row in evidence.bandwidths:
        ends = {end for end in (row.source, row.target) if end is not None}
        if row.path not in _OF_ONE_GPU or len(ends) != 1 or (row.bytes or 0.0) < largest[row.path, row.method]:
            continue
        ways = "both ways" if row.both_ways else ""
        what = " ".join(word for word in (row.path, row.method, ways) if word)
        yield _Rate("bandwidths", what, ends.pop(), row.gb_per_s or 0.0, _seen("gb_per_s", [row]))


def _products(evidence: Evidence) -> Iterator[_Rate]:
    for row in evidence.matrix_rates:
        if row.gpu_index is not None:
            what = " ".join(word for word in (row.dtype, row.path) if word)
            yield _Rate("matrix_rates", what, row.gpu_index, row.tflop_per_s or 0.0, _seen("tflop_per_s", [row]))


def _of_rates(rates: Iterable[_Rate]) -> Iterator[Unlike]:
    """GPUs whose best rate of one thing is further from the median of all than `UNLIKE_SHARE`."""
    best: dict[tuple[str, str], dict[int, _Rate]] = {}
    for rate in rates:
        of_gpu = best.setdefault((rate.section, rate.what), {})
        if rate.value > (of_gpu[rate.gpu].value if rate.gpu in of_gpu else 0.0):
            of_gpu[rate.gpu] = rate
    for (section, what), of_gpu in best.items():
        usual = median(rate.value for rate in of_gpu.values()) if len(of_gpu) > 1 else 0.0
        for gpu, rate in sorted(of_gpu.items()):
            if usual and abs(rate.value / usual - 1) > UNLIKE_SHARE:
                yield Unlike(section, what, "rate", usual, (str(gpu),), rate.value, rate.lines)


def _seen(name: str, records: Iterable[Record]) -> tuple[Seen, ...]:
    return tuple(record.seen[name] for record in records if name in record.seen)
