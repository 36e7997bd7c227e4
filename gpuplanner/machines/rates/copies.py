"""Charts of copies: between main memory and GPUs, between GPUs, within a GPU's memory. Measures and judges nothing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpuplanner.acceptance.expected_rates import (
    Expectation,
    fastest_copies,
    is_between_gpus,
    memory_gb_per_s,
    of_host_link,
    of_memory,
    of_pair,
)
from gpuplanner.machines.rates.chart import Across, Line, Point, RateChart, Role, alike, foreign
from gpuplanner.machines.rates.engine_rates import memory
from gpuplanner.machines.rates.known import Known
from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import Bandwidth
from gpuplanner.units import percent

_LEAST_SIZES = 3
"""Sizes from which on a curve says how the rate grows."""
_MOST_PLACES = 1024
"""GPUs or pairs that stand across: those of 32 GPUs."""
_MOST_EXPECTED = 3
"""Different expectations of one kind of copy that are drawn."""

_LEVEL_FROM_BYTES = 1e6
"""Sizes from which on the rate counts and not the latency, where the rule of the check has none: as other copies."""

Pair = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class _Copies:
    """Copies of one direction, what each pair is called, and what it should reach."""

    name: Message
    rows: Sequence[Bandwidth]
    called: Callable[[Pair], str]
    expected: Callable[[Pair], Expectation | None]
    rate: Callable[[Bandwidth], float | None]


def host_copies(evidence: Evidence, known: Known) -> RateChart | None:
    """Copies to and from main memory, of each GPU."""

    def way(path: str, at: int) -> _Copies:
        rows = [row for row in evidence.bandwidths if row.path == path]
        return _Copies(
            msg(f"rates.way.{path}"),
            rows,
            lambda pair: _gpu(pair[at]),
            lambda pair: of_host_link(evidence, known.promised, pair[at]),
            _as_printed,
        )

    return _chart("host_copies", [way("host_to_device", 1), way("device_to_host", 0)], known, "bw.h2d")


def peer_copies(evidence: Evidence, known: Known) -> tuple[RateChart, ...]:
    """Copies from one GPU to another, over the links that join them: of each pair the fastest, and by size."""
    rows = [row for row in evidence.bandwidths if is_between_gpus(row)]
    way = _Copies(
        msg("rates.way.device_to_device"),
        rows,
        lambda pair: f"{_number(pair[0])} → {_number(pair[1])}",
        lambda pair: of_pair(evidence, known.promised, *pair),
        _as_printed,
    )
    charts = (_by_pair("peer_copies", [way], known, "bw.p2p"), _by_sizes("peer_sizes", [way], known, "bw.p2p"))
    return tuple(chart for chart in charts if chart is not None)


def memory_copies(evidence: Evidence, known: Known) -> RateChart | None:
    """Copies within each GPU's memory, what is read and what is written added up."""
    rows = [row for row in evidence.bandwidths if row.path == "device_memory"]
    counted = [row for row in rows if row.counts_both is not None]
    expected = of_memory(known.promised) if counted else None
    way = _Copies(
        msg("rates.way.device_memory"),
        counted or rows,
        lambda pair: _gpu(pair[0] if pair[0] is not None else pair[1]),
        lambda _pair: expected,
        memory_gb_per_s if counted else _as_printed,
    )
    chart = _chart("memory_copies", [way], known, "bw.d2d")
    if chart is None:
        return None
    if not counted:
        return replace(chart, absent=(msg("rates.absent.counting"),))
    by_engine = memory(known.gpu, known.efficiencies) if known.gpu is not None else None
    if by_engine is None:
        return chart
    at = [point.x for line in chart.lines if line.role is Role.EXPECTED for point in line.points]
    points = tuple(Point(x, by_engine.rate, by_engine.low, by_engine.high) for x in at)
    engine = Line(msg("rates.line.engine"), Role.EXPECTED, points, by_engine.why)
    return replace(chart, lines=(*chart.lines, engine))


def _chart(chart_id: str, ways: Sequence[_Copies], known: Known, check: str) -> RateChart | None:
    """By size where there are sizes, else the fastest copy of each GPU."""
    return _by_sizes(chart_id, ways, known, check) or _by_pair(chart_id, ways, known, check)


def _by_sizes(chart_id: str, ways: Sequence[_Copies], known: Known, check: str) -> RateChart | None:
    """Curves; None where no GPU has enough sizes for one."""
    ways = _there(ways)
    if not any(len(points) >= _LEAST_SIZES for way in ways for points in _by_size(way).values()):
        return None
    share = known.rules["gpu.alike"]["warn_share"]
    measured = [line for way in ways for line in _curves(way, share, several=len(ways) > 1)]
    least = known.rules[check].thresholds.get("least_bytes", _LEVEL_FROM_BYTES)
    return _made(chart_id, Across.BYTES, measured, _flat(ways, measured, least), (), known, check)


def _by_pair(chart_id: str, ways: Sequence[_Copies], known: Known, check: str) -> RateChart | None:
    """The fastest copy of each GPU or pair; None where there is none of a size that shows the rate."""
    ways = _there(ways)
    least = known.rules[check].thresholds.get("least_bytes", 0.0)
    best = {id(way): fastest_copies((row for row in way.rows if _counts(row, way)), least) for way in ways}
    named = {way.called(pair): pair for way in ways for pair in sorted(best[id(way)], key=_order)}
    pairs = list(named)[:_MOST_PLACES]
    if not pairs:
        return None
    places = {label: float(at) for at, label in enumerate(pairs)}
    for way in ways:
        best[id(way)] = {pair: row for pair, row in best[id(way)].items() if way.called(pair) in places}
    measured = [_bars(way, best[id(way)], places, several=len(ways) > 1) for way in ways]
    return _made(chart_id, Across.NAMES, measured, _steps(ways, best, places), tuple(pairs), known, check)


def _there(ways: Sequence[_Copies]) -> list[_Copies]:
    return [way for way in ways if any(_counts(row, way) for row in way.rows)]


def _made(
    chart_id: str,
    across: Across,
    measured: Sequence[Line],
    expected: "Sequence[_Expected]",
    labels: tuple[str, ...],
    known: Known,
    check: str,
) -> RateChart:
    share = known.rules[check]["pass_share"]
    lines = (*(_passing(name, points, source, share) for name, points, source in expected), *measured)
    unknown = msg("rates.absent.gpu" if known.promised.gpu is None else "rates.absent.no_expectation")
    absent = () if expected else (unknown,)
    title, note = msg(f"rates.chart.{chart_id}"), msg(f"rates.note.by_{across}")
    return RateChart(chart_id, title, note, across, "GB/s", lines, labels, absent, check)


_Expected = tuple[MessageValue, tuple[Point, ...], Message]


def _passing(name: MessageValue, points: tuple[Point, ...], source: Message, share: float) -> Line:
    """What is expected, with the range in which the check passes."""
    said = msg("rates.passes", source=source, share=percent(share))
    return Line(name, Role.EXPECTED, tuple(Point(p.x, p.y, p.y * share, p.y, p.name) for p in points), said)


def _curves(way: _Copies, share: float, *, several: bool) -> list[Line]:
    lines = alike(_by_size(way), share)
    methods = _methods(way.rows)
    named = [msg("rates.line.way", way=way.name, of=line.name) if several else line.name for line in lines]
    return [replace(line, name=name, source=methods) for line, name in zip(lines, named, strict=True)]


def _flat(ways: Sequence[_Copies], measured: Sequence[Line], least_bytes: float) -> list[_Expected]:
    """One level for each different expectation, over the sizes that show the rate and not the latency."""
    sizes = [point.x for line in measured for point in line.points if point.x >= least_bytes]
    if not sizes:
        return []
    found: dict[float, Expectation] = {}
    for way in ways:
        for row in way.rows:
            wanted = way.expected((row.source, row.target))
            if wanted is not None:
                found.setdefault(wanted.rate, wanted)
    ends = (max(least_bytes, min(sizes)), max(sizes))
    return [
        (msg("rates.line.expected"), tuple(Point(x, wanted.rate) for x in ends), wanted.source)
        for wanted in list(found.values())[:_MOST_EXPECTED]
    ]


def _bars(way: _Copies, best: Mapping[Pair, Bandwidth], places: Mapping[str, float], *, several: bool) -> Line:
    points = [
        Point(places[way.called(pair)], rate, name=way.called(pair))
        for pair, row in best.items()
        if (rate := way.rate(row)) is not None
    ]
    name = way.name if several else msg("rates.line.measured")
    return Line(name, Role.MEASURED, tuple(sorted(points, key=lambda point: point.x)), _methods(best.values()))


def _steps(
    ways: Sequence[_Copies], best: Mapping[int, Mapping[Pair, Bandwidth]], places: Mapping[str, float]
) -> list[_Expected]:
    """What is expected at each place; a line for each source that says it."""
    found: dict[Message, dict[float, Point]] = {}
    for way in ways:
        for pair in best[id(way)]:
            wanted = way.expected(pair)
            if wanted is not None:
                name = way.called(pair)
                found.setdefault(wanted.source, {})[places[name]] = Point(places[name], wanted.rate, name=name)
    return [
        (msg("rates.line.expected"), tuple(points[x] for x in sorted(points)), source)
        for source, points in list(found.items())[:_MOST_EXPECTED]
    ]


def _by_size(way: _Copies) -> dict[str, list[tuple[float, float]]]:
    """Of each pair the fastest copy of each size."""
    best: dict[str, dict[float, float]] = {}
    for row in sorted(way.rows, key=lambda row: _order((row.source, row.target))):
        rate = way.rate(row)
        if row.bytes and row.bytes > 0 and rate is not None and _counts(row, way):
            sizes = best.setdefault(way.called((row.source, row.target)), {})
            sizes[row.bytes] = max(rate, sizes.get(row.bytes, 0.0))
    return {name: sorted(sizes.items()) for name, sizes in best.items()}


def _counts(row: Bandwidth, way: _Copies) -> bool:
    """Whether a row has a rate of one direction alone."""
    return not row.both_ways and row.method != "pageable" and bool(row.gb_per_s) and way.rate(row) is not None


def _methods(rows: Iterable[Bandwidth]) -> str:
    """Which tools measured it."""
    found = dict.fromkeys(row.tool or row.method or "" for row in rows)
    return foreign(", ".join(name.replace("_", " ") for name in found if name))


def _as_printed(row: Bandwidth) -> float | None:
    return row.gb_per_s


def _gpu(index: int | None) -> str:
    return "GPU" if index is None else f"GPU {index}"


def _number(index: int | None) -> str:
    return "?" if index is None else str(index)


def _order(pair: Pair) -> tuple[int, int]:
    source, target = (-1 if each is None else each for each in pair)
    return source, target
