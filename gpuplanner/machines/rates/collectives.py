"""Charts of all-reduces: bus bandwidth by message size, with what the engine and the check expect. Judges nothing."""

from collections.abc import Sequence

from gpuplanner.acceptance.expected_rates import is_all_reduce, of_all_reduce
from gpuplanner.machines.rates.chart import Across, Line, Point, RateChart, Role, foreign
from gpuplanner.machines.rates.engine_rates import all_reduce
from gpuplanner.machines.rates.known import Known
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import CollectiveRun
from gpuplanner.units import percent

_MOST_CHARTS = 3
_MOST_RUNS = 4
_MOST_SIZES = 64
"""Sizes at which the engine is asked: a table of nccl-tests has at most some forty."""


def all_reduces(evidence: Evidence, known: Known) -> tuple[RateChart, ...]:
    """A chart for each number of GPUs and nodes, those of most GPUs first."""
    groups: dict[tuple[int | None, int], list[CollectiveRun]] = {}
    for run in evidence.collectives:
        if is_all_reduce(run) and _sizes(run):
            groups.setdefault((run.ranks, run.hosts or 1), []).append(run)
    ordered = sorted(groups.items(), key=lambda each: each[0][0] or 0, reverse=True)
    return tuple(_chart(ranks, nodes, runs, evidence, known) for (ranks, nodes), runs in ordered[:_MOST_CHARTS])


def _chart(ranks: int | None, nodes: int, runs: Sequence[CollectiveRun], evidence: Evidence, known: Known) -> RateChart:
    shown = sorted(runs, key=lambda run: max(_sizes(run)), reverse=True)[:_MOST_RUNS]
    measured = [_measured(run, at + 1 if len(shown) > 1 else 0) for at, run in enumerate(shown)]
    largest = max(point.x for line in measured for point in line.points)
    lines: list[Line] = []
    absent: list[Message] = []
    by_engine = _by_engine(ranks, nodes, measured, known)
    rule = known.rules["allreduce"]
    plateau = rule["plateau_bytes"]
    wanted = of_all_reduce(evidence, known.promised, rule.thresholds, shown[0])
    if wanted is not None:
        share, end = rule["pass_share"], max(largest, 2 * plateau)
        points = tuple(Point(x, wanted.rate, wanted.rate * share, wanted.rate) for x in (plateau, end))
        said = msg("rates.passes", source=wanted.source, share=percent(share))
        lines.append(Line(msg("rates.line.expected"), Role.EXPECTED, points, said))
    if not isinstance(by_engine, Message):
        lines.append(by_engine)
    else:
        absent += [by_engine] if wanted is not None else [by_engine, msg("rates.absent.nodes")]
    if largest < plateau:
        absent.append(msg("rates.absent.plateau", size=f"{plateau / 2**20:,.0f} MiB"))
    suffix = "" if ranks is None else f".{ranks}x{nodes}"
    title = msg("rates.chart.all_reduce")
    note = _note(ranks, nodes)
    drawn, lacks = (*lines, *measured), tuple(absent)
    return RateChart(f"all_reduce{suffix}", title, note, Across.BYTES, "GB/s", drawn, absent=lacks, check="allreduce")


def _note(ranks: int | None, nodes: int) -> Message:
    if ranks is None:
        return msg("rates.note.all_reduce")
    if nodes > 1:
        return msg("rates.note.all_reduce_of_nodes", count=ranks, nodes=nodes)
    return msg("rates.note.all_reduce_of", count=ranks)


def _by_engine(ranks: int | None, nodes: int, measured: Sequence[Line], known: Known) -> Line | Message:
    if ranks is None:
        return msg("rates.absent.ranks")
    if known.gpu is None:
        return msg("rates.absent.gpu")
    sizes = sorted({point.x for line in measured for point in line.points})
    step = -(-len(sizes) // _MOST_SIZES)
    sizes = sizes[::step] if step > 1 else sizes
    network = known.promised.between_nodes_bit_per_s if nodes > 1 else None
    told = all_reduce(known.gpu, known.efficiencies, ranks, nodes, network, sizes)
    if isinstance(told, Message):
        return told
    points = tuple(Point(size, each.rate, each.low, each.high) for size, each in zip(sizes, told, strict=True))
    return Line(msg("rates.line.engine"), Role.EXPECTED, points, told[0].why)


def _measured(run: CollectiveRun, number: int) -> Line:
    """`number`: of the run among several, from 1; 0 where it is the only one."""
    version = f"NCCL {foreign(run.nccl_version)}" if run.nccl_version else "nccl-tests"
    name = msg("rates.line.run", number=number) if number else msg("rates.line.measured")
    return Line(name, Role.MEASURED, tuple(Point(x, y) for x, y in sorted(_sizes(run).items())), version)


def _sizes(run: CollectiveRun) -> dict[float, float]:
    """By message size the bus bandwidth: of in place and out of place the better one."""
    found: dict[float, float] = {}
    for row in run.rows:
        if row.bytes and row.bytes > 0 and row.bus_gb_per_s is not None and row.bus_gb_per_s > 0:
            found[row.bytes] = max(row.bus_gb_per_s, found.get(row.bytes, 0.0))
    return found
