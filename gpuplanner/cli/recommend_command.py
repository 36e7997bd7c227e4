"""`recommend`: the machines of the catalog that carry a plan, ranked, and for the others the first limit they broke."""

import argparse
import time
from typing import Any

from gpuplanner.cli.columns import columns, safe
from gpuplanner.cli.context import Context, print_json
from gpuplanner.cli.estimate_text import MARKS, WARN, gpus_name, way_name
from gpuplanner.cli.figures_data import machine_data, message_data, own_data, way_data
from gpuplanner.cli.plan_arguments import plan_of
from gpuplanner.cli.price_dates import price_date
from gpuplanner.cli.why_not import about_lines, grouped_lines, narrowed, nearest_lines
from gpuplanner.engine.estimate import Fit
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.search.ordering import cost_metric, order_of
from gpuplanner.engine.search.result import Candidate, SearchResult
from gpuplanner.figures import Certainty, Figure
from gpuplanner.units import Unit
from gpuplanner.workload.plan import Plan

NEAREST = 5
"""Rejected machines that are shown when none carries the plan."""


def recommend(options: argparse.Namespace, context: Context) -> int:
    """Rank the machines. Exit code 1 when none carries the plan."""
    plan = plan_of(options, context)
    begun = time.perf_counter()
    result = context.workspace.search(plan, ranged=options.limit)
    seconds = time.perf_counter() - begun
    asked = narrowed(result, options.why_not, context) if isinstance(options.why_not, str) else None
    context.code = 0 if (asked or result).candidates else 1
    if options.json:
        print_json(_data(asked or result, options, context))
    elif asked:
        print("\n".join(about_lines(options.why_not, asked, result, context)))
    else:
        _print(plan, result, seconds, options, context)
    return context.code


def _print(plan: Plan, result: SearchResult, seconds: float, options: argparse.Namespace, context: Context) -> None:
    carried, rejected = len(result.candidates), len(result.rejections)
    ways = f"{result.configurations:,}"
    spent = context.number(seconds, Unit.SECOND)
    counted = "cli.recommend.counted_bare" if plan.constraints.bare_gpus else "cli.recommend.counted"
    print(context.text(counted, carried=carried, all=carried + rejected, ways=ways, time=spent))
    for remark in result.remarks:
        print(context.text(remark))
    print()
    if options.why_not:
        print("\n".join(grouped_lines(result.rejections, context)))
    elif result.candidates:
        shown_candidates = result.candidates[: options.limit]
        order = context.text(f"limits.order.{order_of(plan, result.candidates)}")
        print(context.text("cli.recommend.order", order=order, shown=len(shown_candidates)))
        print("\n".join(_table(plan, shown_candidates, context)))
        if any(candidate.fit is Fit.TIGHT for candidate in shown_candidates):
            print()
            print(context.text("cli.recommend.tight", mark=MARKS[Fit.TIGHT]))
        if any(candidate.may_miss for candidate in shown_candidates):
            print()
            print(context.text("cli.recommend.may_miss", mark=WARN))
    else:
        print(context.text("cli.recommend.none"))
        print()
        print("\n".join(nearest_lines(result.nearest, NEAREST, context)))


def _table(plan: Plan, candidates: tuple[Candidate, ...], context: Context) -> list[str]:
    kind = KINDS[plan.workload.kind]
    ranked_by = cost_metric(plan, candidates)
    named = (*(pair for pair in kind.aside if pair[0] == ranked_by), *kind.columns)
    shown = [(name, unit) for name, unit in named if any(name in _values(c) for c in candidates)]
    head = [context.text("cli.recommend.machine"), context.text("cli.recommend.way")]
    rows = [["", *head, *(context.text(f"metric.{name}") for name, _ in shown)]]
    dated = any(candidate.machine.price is not None for candidate in candidates)
    if dated:
        rows[0].append(context.text("cli.recommend.price_from"))
    for candidate in candidates:
        cells = [_cell(candidate, n, u, n in {kind.columns[0][0], "job_s"}, context) for n, u in shown]
        cells += [_price_date(candidate, context)] if dated else []
        name = safe(candidate_name(candidate, context))
        rows.append([_mark(candidate), name, _way(candidate, context), *cells])
    return columns(rows, right=range(3, 3 + len(shown)))


def _mark(candidate: Candidate) -> str:
    return WARN if candidate.may_miss else MARKS[candidate.fit]


def _cell(candidate: Candidate, name: str, unit: Unit, with_range: bool, context: Context) -> str:
    """A number, with its range where it is one of those that matter most."""
    value = _values(candidate).get(name)
    if value is None:
        return "–"
    shown, ends = context.number(value, unit), candidate.ranges.get(name)
    if ends is None or not with_range:
        return shown
    between = context.range(Figure(value, unit, Certainty.CALIBRATED, *ends))
    return f"{shown} ({between})" if between else shown


def _way(candidate: Candidate, context: Context) -> str:
    """The way of running, and whether the person measured this very run."""
    measured = context.text(candidate.own_mark) if candidate.own_mark is not None else ""
    return " · ".join(part for part in (way_name(candidate.way, context), measured) if part)


def _price_date(candidate: Candidate, context: Context) -> str:
    """Of when the price is, and how old where it may not hold any more."""
    price = candidate.machine.price
    return "–" if price is None else price_date(price.date, context)


def candidate_name(candidate: Candidate, context: Context) -> str:
    """The offer and its GPUs in a few words: `2 × AWS p5.48xlarge (16 × H100 SXM5 80GB)`."""
    machine = candidate.machine
    gpus = gpus_name(machine, context)
    if machine.instance is None:
        return gpus
    return f"{machine.nodes} × {machine.instance.provider} {machine.instance.name} ({gpus})"


def _values(candidate: Candidate) -> dict[str, float]:
    values = dict(candidate.metrics)
    if candidate.usd_per_hour is not None:
        values["usd_per_hour"] = candidate.usd_per_hour
    return values


def _data(result: SearchResult, options: argparse.Namespace, context: Context) -> dict[str, Any]:
    return {
        "configurations": result.configurations,
        "remarks": [message_data(remark, context.translator) for remark in result.remarks],
        "candidates": [
            {
                "fit": c.fit.value,
                "may_miss": c.may_miss,
                "machine": machine_data(c.machine),
                "way": way_data(c.way),
                "free_bytes": c.free_bytes,
                "metrics": dict(c.metrics),
                "ranges": {name: {"low": low, "high": high} for name, (low, high) in c.ranges.items()},
                "own_measurement": own_data(c.own),
            }
            for c in result.candidates[: options.limit]
        ],
        "rejections": [
            {
                "instance": r.instance.id if r.instance else None,
                "gpu": r.gpu.id if r.gpu else None,
                "broken": r.broken.value,
                "reason": message_data(r.reason, context.translator),
                "over": r.over,
                "unit": r.unit.value if r.unit else None,
            }
            for r in result.rejections
        ],
    }
