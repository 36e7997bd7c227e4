"""`rates`: what was measured of a machine beside what it should reach, with the source of each expectation."""

import argparse
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from gpuplanner.cli.columns import columns, safe
from gpuplanner.cli.context import Context, print_json
from gpuplanner.cli.machine_evidence import is_file, machine_evidence
from gpuplanner.cli.machine_target import HERE
from gpuplanner.machines.evidence import of_run
from gpuplanner.machines.expecting import expected, plan_named, promise
from gpuplanner.machines.history import RunHistory
from gpuplanner.machines.rates.chart import Across, Line, Point, RateChart, Rates, Role, listed
from gpuplanner.machines.rates.reading import known_of, rates_of
from gpuplanner.messages import InputError, Message, MessageValue, msg, shortened
from gpuplanner.paths import is_there
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.merging import merged
from gpuplanner.store.store import FILE_NAME
from gpuplanner.workload.plan import Plan
from gpuplanner.workspace import Workspace

_MOST_ROWS = 16
"""Rows of a table; the JSON has all."""
TIERS = "abc"
_DIGITS = 18
_NAME = 60
"""Characters of a name in a sentence."""
_NOTHING = "–"


def rates_of_machine(options: argparse.Namespace, context: Context) -> int:
    """Show the rates of a machine. Exit code 0 where anything was measured, 3 where nothing was."""
    workspace = context.workspace
    wanted = expected(options.expect, workspace) if options.expect is not None else None
    plan = _plan(options, workspace)
    evidence = _evidence(options.targets, context)
    promised = promise(wanted, evidence, workspace)
    found = rates_of(evidence, known_of(workspace, evidence, promised, plan))
    if options.json:
        print_json(_data(found, promised.said_by, context))
    else:
        print("\n".join(_lines(found, promised.said_by, context)))
    return 0 if found.measured else 3


def _evidence(targets: Sequence[str], context: Context) -> Evidence:
    """What files say; of a machine or a run by its number, what is kept of it: to read a machine measures nothing."""
    target = targets[0]
    if len(targets) > 1 or is_file(target):
        return machine_evidence(targets, context).evidence
    if not is_there(context.workspace.home / FILE_NAME):
        return Evidence()
    history = RunHistory(context.workspace.store)
    numbers = [int(target[:_DIGITS])] if target.isdecimal() else _latest(history, target)
    if numbers:
        print(context.text("rates.cli.kept", runs=", ".join(map(str, numbers))), file=sys.stderr)
    return merged([of_run(history.read(number)).evidence for number in numbers])


def _latest(history: RunHistory, target: str) -> list[int]:
    """The numbers of the latest runs of a machine, one for each tier, each once."""
    runs = history.runs("localhost" if target in HERE else target)
    found = (next((run.id for run in runs if tier in run.tier), None) for tier in TIERS)
    return list(dict.fromkeys(number for number in found if number is not None))


def _plan(options: argparse.Namespace, workspace: Workspace) -> Plan | None:
    """The plan that was asked for, else the one whose machine is expected. Raises InputError where there is none."""
    if options.plan is None:
        return None if options.expect is None else plan_named(options.expect, workspace)
    plan = plan_named(options.plan, workspace)
    if plan is None:
        known = shortened(", ".join(workspace.presets))
        raise InputError(msg("cli.no_such_plan", name=shortened(options.plan, _NAME), known=known))
    return plan


def _data(found: Rates, said_by: Message | None, context: Context) -> dict[str, Any]:
    return {
        "expected": None if said_by is None else context.text(said_by),
        "charts": [_chart(chart, context) for chart in found.charts],
        "not_measured": [context.text(name) for name in found.lacking],
    }


def _chart(chart: RateChart, context: Context) -> dict[str, Any]:
    return {
        "id": chart.id,
        "title": context.text(chart.title),
        "across": chart.across.value,
        "unit": chart.unit,
        "check": chart.check or None,
        "labels": [_said(label, context) for label in chart.labels],
        "lines": [
            {
                "name": _said(line.name, context),
                "role": line.role.value,
                "source": _said(line.source, context) or None,
                "points": [_point(point, context) for point in line.points],
            }
            for line in chart.lines
        ],
        "absent": [context.text(message) for message in chart.absent],
    }


def _point(point: Point, context: Context) -> dict[str, Any]:
    return {
        "x": point.x,
        "y": point.y,
        "low": point.low,
        "high": point.high,
        "name": _said(point.name, context) or None,
    }


def _said(value: MessageValue, context: Context) -> str:
    return context.text(value) if isinstance(value, Message) else str(value)


def _lines(found: Rates, said_by: Message | None, context: Context) -> Iterable[str]:
    yield context.text("rates.cli.head", expected=said_by or msg("check.promise.none"))
    for chart in found.charts:
        yield ""
        yield context.text("rates.cli.chart", title=chart.title, note=chart.note)
        rows = _roof(chart, context) if chart.across is Across.INTENSITY else _table(chart, context)
        yield from (f"  {line}" for line in columns(rows, right=range(1, len(rows[0]) if rows else 1)))
        yield from _sources(chart, context)
        yield from (f"  – {safe(context.text(message))}" for message in chart.absent)
    if found.lacking:
        yield ""
        yield context.text("rates.lacking", names=listed(found.lacking))
    if not found.measured:
        yield context.text("rates.cli.how")


def _table(chart: RateChart, context: Context) -> list[tuple[str, ...]]:
    """A row a place, a column a line."""
    rows: list[tuple[str, ...]] = [("", *(safe(_said(line.name, context)) for line in chart.lines))]
    rows += [
        (_place(chart, x, context), *(_cell(line, x) for line in chart.lines)) for x in _places(chart)[:_MOST_ROWS]
    ]
    return rows


def _places(chart: RateChart) -> list[float]:
    """What stands across, so that the first rows say most: some sizes up to the largest, of pairs the slowest first."""
    places = sorted({point.x for line in chart.lines for point in line.points})
    if len(places) <= _MOST_ROWS:
        return places
    if chart.across is Across.BYTES:
        step = -(-len(places) // _MOST_ROWS)
        return places[(len(places) - 1) % step :: step]
    rates = [(point.y, point.x) for line in chart.lines if line.role is Role.MEASURED for point in line.points]
    return list(dict.fromkeys(x for _, x in sorted(rates)))


def _place(chart: RateChart, x: float, context: Context) -> str:
    return _size(x) if chart.across is Across.BYTES else safe(_said(chart.labels[round(x)], context))


def _size(size: float) -> str:
    """A size of a message, in powers of 1024, as benchmarks print it."""
    step = min(4, max(0, int(math.log2(size) // 10))) if size >= 1 else 0
    return f"{size / 1024.0**step:,.0f}{' KMGT'[step]}".strip()


def _cell(line: Line, x: float) -> str:
    point = next((point for point in line.points if point.x == x), None) or _level(line, x)
    if point is None:
        return _NOTHING
    value = _number(point.y)
    if point.low is None or point.high is None or point.low == point.high:
        return value
    return f"{value} ({_number(point.low)}–{_number(point.high)})"


def _level(line: Line, x: float) -> Point | None:
    """Between the ends of an expectation that is the same at all sizes."""
    inside = line.role is Role.EXPECTED and line.points and line.points[0].x <= x <= line.points[-1].x
    return line.points[0] if inside and len({point.y for point in line.points}) == 1 else None


def _roof(chart: RateChart, context: Context) -> list[tuple[str, ...]]:
    """Ceilings by what they end at, operators by where they lie."""
    if not chart.lines:
        return []
    rows: list[tuple[str, ...]] = [("", context.text("rates.axis.intensity"), chart.unit)]
    for line in chart.lines:
        if line.role is Role.PLANNED and not line.is_span:
            rows += [(safe(_said(point.name, context)), _number(point.x), _number(point.y)) for point in line.points]
            continue
        first, last = line.points[0], line.points[-1]
        level = first.y == last.y
        across = f"≥ {_number(first.x)}" if level else f"≤ {_number(last.x)}"
        rows.append((safe(_said(line.name, context)), across, _number(last.y)))
    return rows


def _sources(chart: RateChart, context: Context) -> Iterable[str]:
    """How many places are shown, and where the lines are from, what several have in common once."""
    places = len({point.x for line in chart.lines for point in line.points})
    if chart.across is Across.NAMES and places > _MOST_ROWS:
        yield f"  {context.text('rates.cli.slowest', count=_MOST_ROWS, all=places)}"
    told: set[str] = set()
    for line in chart.lines:
        source = _said(line.source, context)
        if source and source not in told:
            told.add(source)
            yield f"  {safe(_said(line.name, context))}: {safe(source)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}" if abs(value) >= 10 else f"{value:,.2f}"
