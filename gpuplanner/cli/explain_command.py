"""`explain`: how a figure of a plan came about, with the source of every input. Without a figure it lists them."""

import argparse
import difflib
from collections.abc import Iterator
from math import isfinite, isnan
from typing import Any

from gpuplanner.cli.columns import columns
from gpuplanner.cli.context import Context, print_json
from gpuplanner.cli.estimate_text import certainty, machine_name
from gpuplanner.cli.figures_data import figure_data
from gpuplanner.cli.plan_arguments import plan_of, with_machine
from gpuplanner.engine.estimate import Estimate
from gpuplanner.engine.explaining import ExplanationRow, explanation, explanation_lines
from gpuplanner.figures import Figure
from gpuplanner.messages import InputError, msg, shortened


def explain(options: argparse.Namespace, context: Context) -> int:
    """Print the derivation of one figure, or the names of all."""
    estimate = context.workspace.explained(with_machine(plan_of(options, context), context))
    figures = dict(named_figures(estimate))
    if options.figure is None:
        if options.json:
            print_json({name: figure_data(figure) for name, figure in figures.items()})
        else:
            print(context.text("cli.explain.figures"))
            print(
                "\n".join(
                    columns([[f"  {n}", context.number(f.value, f.unit)] for n, f in figures.items()], right=(1,))
                )
            )
        return 0
    figure = figures.get(options.figure)
    if figure is None:
        name = shortened(options.figure, 60)
        if near := difflib.get_close_matches(options.figure, figures, n=3, cutoff=0.5):
            raise InputError(msg("cli.explain.no_such_figure_near", name=name, near=", ".join(near)))
        raise InputError(msg("cli.explain.no_such_figure", name=name, known=", ".join(list(figures)[:12])))
    if options.json:
        print_json(figure_data(figure) | {"name": options.figure, "derivation": derivation_data(figure, context)})
    else:
        print("\n".join(_lines(options.figure, figure, options.depth, estimate, context)))
    return 0


def named_figures(estimate: Estimate) -> Iterator[tuple[str, Figure]]:
    """Every figure of an estimate under the name that the command line gives it."""
    yield from estimate.metrics.items()
    memory = estimate.memory
    yield from (
        ("memory.needed", memory.needed),
        ("memory.reserved", memory.reserved),
        ("memory.usable", memory.usable),
    )
    for phase in memory.phases:
        yield f"memory.{phase.id}", phase.total
        yield from ((f"memory.{phase.id}.{part.id}", part.figure) for part in phase.parts)
    yield from ((f"time.{part.id}", part.figure) for part in estimate.time)
    yield from ((f"host.{need.id}", need.need) for need in estimate.host)


def _lines(name: str, figure: Figure, depth: int, estimate: Estimate, context: Context) -> Iterator[str]:
    yield f"{name} = {context.number(figure.value, figure.unit)}   {machine_name(estimate, context)}"
    extent = context.range(figure)
    known = [certainty(figure, context), *([context.text("cli.explain.range", extent=extent)] if extent else [])]
    yield f"  {context.translator.joined(known)}"
    if figure.why:
        yield f"  {context.text(figure.why)}"
    yield ""
    derivation = explanation_lines(figure, context.translator, context.display, depth)
    yield from derivation or [context.text("cli.explain.given")]
    hidden = len(explanation(figure)) - len(derivation)
    if hidden:
        yield ""
        yield context.text("cli.explain.deeper", hidden=hidden, depth=depth + 2)


def derivation_data(figure: Figure, context: Context) -> list[dict[str, Any]]:
    """The rows of a figure's derivation; empty when none was recorded."""
    return [_row(row, context) for row in explanation(figure)]


def _row(row: ExplanationRow, context: Context) -> dict[str, Any]:
    return {
        "depth": row.depth,
        "term": row.term or None,
        "formula": row.formula.id if row.formula else None,
        "equation": row.formula.equation if row.formula else None,
        "reference": row.formula.reference or None if row.formula else None,
        "value": _value(row.value),
        "unit": row.unit.value if row.unit else None,
        "certainty": row.certainty.value if row.certainty else None,
        "source": row.source or None,
        "date": row.date or None,
        "note": context.text(row.note) if row.note else None,
    }


def _value(value: Any) -> int | float | str | None:
    """A number as JSON has it: one without limit ("as much as you like") as text, since JSON knows no infinity."""
    if isinstance(value, float) and not isfinite(value):
        return None if isnan(value) else str(value)
    return value if isinstance(value, int | float | str) else str(value)
