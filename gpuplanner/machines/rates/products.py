"""The chart of matrix products by number format. Measures and judges nothing."""

from collections.abc import Sequence
from statistics import median

from gpuplanner.acceptance.expected_rates import fastest_products, is_own_kernel, of_product
from gpuplanner.machines.rates.chart import Across, Line, Point, RateChart, Role, foreign
from gpuplanner.machines.rates.engine_rates import product
from gpuplanner.machines.rates.known import Known
from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import MatrixRate
from gpuplanner.units import percent

_MOST_FORMATS = 16
_ORDER = ("fp64", "fp32", "tf32", "fp16", "bf16", "int8", "fp8", "fp4")


def products(evidence: Evidence, known: Known) -> RateChart | None:
    """Matrix products by format: of all GPUs the middle one, with the slowest and the fastest."""
    fastest = list(fastest_products(evidence.matrix_rates).values())
    if not fastest:
        return None
    dtypes = sorted({rate.dtype or "?" for rate in fastest}, key=_place)[:_MOST_FORMATS]
    fastest = [rate for rate in fastest if (rate.dtype or "?") in dtypes]
    at = {dtype: float(place) for place, dtype in enumerate(dtypes)}
    libraries = [rate for rate in fastest if not is_own_kernel(rate)]
    own = [rate for rate in fastest if is_own_kernel(rate)]
    lines, absent = _expected(dtypes, libraries, at, known)
    lines += [
        Line(name, Role.MEASURED, _points(rates, at), _paths(rates))
        for name, rates in ((msg("rates.line.measured"), libraries), (msg("rates.line.own_kernel"), own))
        if rates
    ]
    if own and not libraries:
        absent.append(msg("rates.absent.no_fast_products"))
    return RateChart(
        "products",
        msg("rates.chart.products"),
        msg("rates.note.products"),
        Across.NAMES,
        "TFLOP/s",
        tuple(lines),
        tuple(_called(each) for each in dtypes),
        tuple(absent),
        "flops",
    )


def _expected(
    dtypes: Sequence[str], measured: Sequence[MatrixRate], at: dict[str, float], known: Known
) -> tuple[list[Line], list[Message]]:
    gpu = known.promised.gpu
    if gpu is None:
        return [], [msg("rates.absent.gpu")]
    peaks, wanted, by_engine = [], [], []
    absent: list[Message] = []
    sources: list[Message] = []
    why: Message | None = None
    rule = known.rules["flops"]
    for dtype in dtypes:
        peak = (gpu.flop_per_s or {}).get(dtype)
        found = of_product(known.promised, dtype)
        if found is not None:
            share = rule["reached_pass_share" if found.reached else "pass_share"]
            wanted.append(Point(at[dtype], found.rate, found.rate * share, found.rate, _called(dtype)))
            sources.append(msg("rates.passes", source=found.source, share=percent(share)))
        if peak is None:
            absent.append(msg("rates.absent.peak", dtype=_called(dtype), gpu=gpu.name))
            continue
        peaks.append(Point(at[dtype], peak / 1e12, name=_called(dtype)))
        if known.gpu is None:
            continue
        told = product(known.gpu, known.efficiencies, dtype, peak / 1e12, _sides(dtype, measured))
        if isinstance(told, Message):
            absent.append(told)
        else:
            by_engine.append(Point(at[dtype], told.rate, told.low, told.high, _called(dtype)))
            why = told.why
    lines = []
    if peaks:
        lines.append(Line(msg("rates.line.peak"), Role.PEAK, tuple(peaks), msg("rates.source.peak", gpu=gpu.name)))
    if wanted:
        source: MessageValue = sources[0] if len(set(sources)) == 1 else msg("rates.passes.mixed")
        lines.append(Line(msg("rates.line.expected"), Role.EXPECTED, tuple(wanted), source))
    if by_engine and why is not None:
        lines.append(Line(msg("rates.line.engine"), Role.EXPECTED, tuple(by_engine), why))
    return lines, absent


def _points(rates: Sequence[MatrixRate], at: dict[str, float]) -> tuple[Point, ...]:
    found = []
    for dtype, place in at.items():
        best: dict[int | None, float] = {}
        for rate in rates:
            if (rate.dtype or "?") == dtype:
                best[rate.gpu_index] = max(rate.tflop_per_s or 0.0, best.get(rate.gpu_index, 0.0))
        if best:
            values = list(best.values())
            low, high = (min(values), max(values)) if len(values) > 1 else (None, None)
            found.append(Point(place, median(values), low, high, _called(dtype)))
    return tuple(found)


def _sides(dtype: str, measured: Sequence[MatrixRate]) -> tuple[int, int, int] | None:
    """The shape of the fastest product of a format, where it is told."""
    told = [rate for rate in measured if rate.dtype == dtype and rate.m and rate.n and rate.k]
    if not told:
        return None
    best = max(told, key=lambda rate: rate.tflop_per_s or 0.0)
    return best.m or 0, best.n or 0, best.k or 0


def _paths(rates: Sequence[MatrixRate]) -> str:
    return foreign(", ".join(dict.fromkeys((rate.path or "").replace("_", " ") for rate in rates if rate.path)))


def _called(dtype: str) -> str:
    return foreign(dtype.upper())


def _place(dtype: str) -> tuple[int, str]:
    return (_ORDER.index(dtype) if dtype in _ORDER else len(_ORDER)), dtype
