"""`validate`: predictions beside measurements for every row of measurement files, and how far off they are."""

import argparse
from typing import Any

from gpuplanner.cli.columns import columns, safe
from gpuplanner.cli.context import Context, print_json
from gpuplanner.cli.measurement_files import file_outcomes
from gpuplanner.engine.validation.baselines import with_baselines
from gpuplanner.engine.validation.rows import Outcome
from gpuplanner.engine.validation.summary import SummaryLine, summarise


def validate(options: argparse.Namespace, context: Context) -> int:
    """Validate all files. Exit code 1 when not one row could be placed."""
    placing = context.workspace.validation_context()
    outcomes = with_baselines([outcome for path in options.files for outcome in file_outcomes(path, placing)])
    summary = summarise(outcomes)
    if options.json:
        print_json({"rows": [_row_data(o, context) for o in outcomes], "summary": [_line_data(s) for s in summary]})
    else:
        print("\n".join(_table(summary, context)))
    return 0 if any(outcome.refused is None for outcome in outcomes) else 1


def _row_data(outcome: Outcome, context: Context) -> dict[str, Any]:
    return {
        "file": outcome.file,
        "id": outcome.id,
        "metric": outcome.metric,
        "measured": outcome.measured,
        "predicted": outcome.predicted,
        "low": outcome.low,
        "high": outcome.high,
        "rung": outcome.rung.value if outcome.rung else None,
        "refused": context.text(outcome.refused) if outcome.refused else None,
        "family": outcome.family,
        "source": outcome.source,
        "baseline": outcome.baseline,
    }


def _line_data(line: SummaryLine) -> dict[str, Any]:
    return {name: getattr(line, name) for name in SummaryLine.__dataclass_fields__}


def _table(summary: list[SummaryLine], context: Context) -> list[str]:
    names = ("family", "metric", "source", "rows", "refused", "median", "p90", "bias", "inside", "right", "baseline")
    rows = [[context.text(f"cli.validate.{name}") for name in names]]
    rows += [
        [
            line.family,
            line.metric,
            safe(line.source) or context.text("cli.validate.all_sources"),
            str(line.rows),
            str(line.refused),
            _number(line.median),
            _number(line.p90),
            _number(line.bias, "+.3f"),
            _share(line.inside),
            _share(line.right),
            _number(line.baseline_median),
        ]
        for line in summary
    ]
    return [*columns(rows, right=range(3, len(names))), "", context.text("cli.validate.legend")]


def _number(value: float | None, form: str = ".3f") -> str:
    return "–" if value is None else format(value, form)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
