"""The roofline of a GPU: what its memory and its units allow, what was measured of both, where a plan's operators lie.

S. Williams, A. Waterman, D. Patterson, "Roofline", CACM 52 (2009) 65.
"""

from collections.abc import Sequence

from gpuplanner.acceptance.expected_rates import (
    fastest_products,
    is_own_kernel,
    memory_gb_per_s,
    of_memory,
)
from gpuplanner.machines.rates.chart import Across, Line, Point, RateChart, Role, is_possible, listed
from gpuplanner.machines.rates.engine_rates import memory, product
from gpuplanner.machines.rates.known import Known
from gpuplanner.machines.rates.operators import Operator, operators
from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.units import TERA

_MOST_FORMATS = 3
_MOST_NAMED = 4
_WIDER = 4.0
"""How far the roof goes on beyond the outermost operator or ridge."""
_USUAL = "bf16"


def roofline(evidence: Evidence, known: Known) -> RateChart | None:
    """The roof and what lies below it; None where neither anything was measured of it nor a plan is there."""
    gpu, memory_rate = known.promised.gpu, of_memory(known.promised)
    work = operators(known.planned) if known.planned is not None else ()
    measured = _measured_products(evidence)
    copied = _measured_memory(evidence)
    if gpu is None or (not work and not (measured and copied)):
        return None if known.no_plan is None else _drawn((), [known.no_plan])
    peaks = {name: rate / TERA for name, rate in (gpu.flop_per_s or {}).items()}
    formats = _formats(peaks, measured, work)
    if memory_rate is None or not formats:
        return _drawn((), [msg("rates.absent.roof", gpu=gpu.name)])
    per_byte = memory_rate.rate / 1e3
    """10¹² FLOP/s for each FLOP a byte."""
    ridges = [peaks[name] / per_byte for name in formats]
    places = [each.flop / each.moved_bytes for each in work if each.flop and each.moved_bytes]
    left, right = min([*places, *ridges]) / _WIDER, max([*places, *ridges]) * _WIDER
    sheet = msg("rates.source.peak", gpu=gpu.name)
    lines = [
        _slope(msg("rates.line.memory_peak"), Role.PEAK, per_byte, left, max(ridges), memory_rate.source),
        *(
            _level(msg("rates.line.format_peak", dtype=name.upper()), Role.PEAK, peaks[name], ridge, right, sheet)
            for name, ridge in zip(formats, ridges, strict=True)
        ),
        *_reached(known, formats, peaks, measured, copied, left, right),
    ]
    absent: list[Message] = []
    lines += _planned(work, per_byte, right)
    uncounted = [each for each in work if not each.flop]
    if known.planned is None:
        absent.append(known.no_plan or msg("rates.absent.plan"))
    elif uncounted:
        absent.append(msg("rates.absent.flop", names=_names(uncounted)))
    return _drawn(lines, absent)


def _drawn(lines: Sequence[Line], absent: Sequence[Message]) -> RateChart:
    title, note = msg("rates.chart.roofline"), msg("rates.note.roofline")
    return RateChart("roofline", title, note, Across.INTENSITY, "TFLOP/s", tuple(lines), absent=tuple(absent))


def _formats(peaks: dict[str, float], measured: dict[str, float], work: Sequence[Operator]) -> list[str]:
    """The formats that are drawn: what the plan multiplies in, what was measured, else 16 bits."""
    used = {each.peak_flop_per_s / TERA for each in work}
    # Formats with the same peak (16 bits of either kind) are one line.
    by_rate: dict[float, str] = {}
    for name in sorted(peaks, key=lambda name: (name != _USUAL, name)):
        by_rate.setdefault(peaks[name], name)
    wanted = [name for rate, name in by_rate.items() if rate in used]
    wanted += [name for name in sorted(measured, key=lambda each: -peaks.get(each, 0.0)) if name in by_rate.values()]
    chosen = list(dict.fromkeys(wanted))[:_MOST_FORMATS]
    return chosen or [name for name in by_rate.values() if name == _USUAL]


def _reached(
    known: Known,
    formats: Sequence[str],
    peaks: dict[str, float],
    measured: dict[str, float],
    copied: float | None,
    left: float,
    right: float,
) -> list[Line]:
    """What was measured of memory and formats; where nothing was, what the engine expects."""
    lines: list[Line] = []
    by_engine = memory(known.gpu, known.efficiencies) if known.gpu is not None else None
    slope = copied / 1e3 if copied is not None else by_engine.rate / 1e3 if by_engine is not None else None
    if slope is None:
        return lines
    levels: list[tuple[MessageValue, Role, float, MessageValue]] = []
    for name in formats:
        if name in measured:
            levels.append((msg("rates.line.format_measured", dtype=name.upper()), Role.MEASURED, measured[name], ""))
        elif known.gpu is not None:
            told = product(known.gpu, known.efficiencies, name, peaks[name], None)
            if not isinstance(told, Message):
                said = msg("rates.line.format_engine", dtype=name.upper())
                levels.append((said, Role.EXPECTED, told.rate, told.why))
    end = max((level for _, _, level, _ in levels), default=max(peaks[name] for name in formats)) / slope
    if copied is not None:
        lines.append(_slope(msg("rates.line.memory_measured"), Role.MEASURED, slope, left, end, ""))
    elif by_engine is not None:
        lines.append(_slope(msg("rates.line.memory_engine"), Role.EXPECTED, slope, left, end, by_engine.why))
    return [*lines, *(_level(name, role, level, level / slope, right, why) for name, role, level, why in levels)]


def _planned(work: Sequence[Operator], per_byte: float, right: float) -> list[Line]:
    """The operators: points, and for those whose bytes the engine does not count the span that they lie in."""
    points = [
        Point(each.flop / each.moved_bytes, each.flop_per_s / TERA, name=_name(each))
        for each in work
        if each.flop and each.moved_bytes
    ]
    lines = [Line(msg("rates.line.operators"), Role.PLANNED, tuple(points), msg("rates.source.plan"))] if points else []
    for each in work:
        if each.flop and not each.moved_bytes:
            level = each.flop_per_s / TERA
            ends = (Point(level / per_byte, level, name=_name(each)), Point(right, level, name=_name(each)))
            lines.append(Line(_name(each), Role.PLANNED, ends, msg("rates.source.span")))
    return lines


def _slope(name: MessageValue, role: Role, per_byte: float, left: float, right: float, source: MessageValue) -> Line:
    return Line(name, role, (Point(left, left * per_byte), Point(right, right * per_byte)), source)


def _level(name: MessageValue, role: Role, level: float, left: float, right: float, source: MessageValue) -> Line:
    return Line(name, role, (Point(left, level), Point(right, level)), source)


def _measured_products(evidence: Evidence) -> dict[str, float]:
    """By format, the fastest product of a library on any GPU, in 10¹² FLOP/s."""
    found: dict[str, float] = {}
    for rate in fastest_products(evidence.matrix_rates).values():
        if not is_own_kernel(rate) and rate.dtype and is_possible(rate.tflop_per_s):
            found[rate.dtype] = max(rate.tflop_per_s or 0.0, found.get(rate.dtype, 0.0))
    return found


def _measured_memory(evidence: Evidence) -> float | None:
    """The fastest copy within a GPU's memory, read and written added up, in 10⁹ bytes/s."""
    rows = (row for row in evidence.bandwidths if row.path == "device_memory" and not row.both_ways)
    rates = (memory_gb_per_s(row) for row in rows)
    return max((rate for rate in rates if rate is not None and is_possible(rate)), default=None)


def _name(work: Operator) -> MessageValue:
    return listed([msg(f"part.{part}") for part in work.ids])


def _names(work: Sequence[Operator]) -> MessageValue:
    return listed([_name(each) for each in work[:_MOST_NAMED]])
