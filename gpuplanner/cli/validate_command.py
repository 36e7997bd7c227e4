"""`validate`: predictions beside measurements for every row of measurement files, and how far off they are."""

import argparse
import csv
from contextlib import suppress

from gpuplanner.cli.columns import columns, safe
from gpuplanner.cli.context import Context, print_json
from gpuplanner.cli.measurement_files import file_outcomes
from gpuplanner.engine.validation.baselines import with_baselines
from gpuplanner.engine.validation.families import FAMILIES, recognise
from gpuplanner.engine.validation.summary import Summary, summarise
from gpuplanner.messages import InputError, msg
from gpuplanner.paths import shipped
from gpuplanner.units import percent


def validate(options: argparse.Namespace, context: Context) -> int:
    """Validate all files. Exit code 1 when not one row could be placed."""
    if options.columns:
        return _columns(options, context)
    if not options.files:
        raise InputError(msg("cli.validate.no_files"))
    placing = context.workspace.validation_context()
    outcomes = with_baselines([outcome for path in options.files for outcome in file_outcomes(path, placing)])
    summary = summarise(outcomes)
    if options.json:
        print_json(
            {
                "rows": [outcome.as_data(context.translator) for outcome in outcomes],
                "summary": [line.as_data() for line in summary],
            }
        )
    else:
        print("\n".join(_table(summary, context)))
    return 0 if any(outcome.refused is None for outcome in outcomes) else 1


def _columns(options: argparse.Namespace, context: Context) -> int:
    """Print what a file needs to be of each family, what is measured in it, and a public file of it."""
    examples = _examples()
    known = [
        {
            "family": family.name,
            "needed": sorted(family.columns),
            "measured": list(family.metrics),
            "examples": examples.get(family.name, []),
        }
        for family in FAMILIES
    ]
    if options.json:
        print_json(known)
        return 0
    print(context.text("cli.validate.columns_are"))
    for one in known:
        print()
        print(one["family"])
        for part in ("needed", "measured", "examples"):
            if one[part]:
                print(f"  {context.text(f'cli.validate.{part}')}  {', '.join(one[part])}")
    return 0


def _examples() -> dict[str, list[str]]:
    """The public files of measurements by the family that they are of."""
    found: dict[str, list[str]] = {}
    for path in sorted((shipped("catalogs") / "measurements").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as lines:
            header = next(csv.reader(lines), [])
        with suppress(InputError):  # a table of sources beside them
            found.setdefault(recognise(path.name, header).name, []).append(f"catalogs/measurements/{path.name}")
    return found


def _table(summary: list[Summary], context: Context) -> list[str]:
    names = ("family", "metric", "source", "rows", "refused", "median", "p90", "bias", "inside", "right", "baseline")
    rows = [[context.text(f"cli.validate.{name}") for name in names]]
    rows += [
        [
            line.family,
            line.metric,
            safe(line.source) or context.text("cli.validate.all_sources"),
            str(line.rows),
            str(line.refused),
            _number(line.median_abs_log),
            _number(line.p90_abs_log),
            _number(line.bias_log, "+.3f"),
            _share(line.inside),
            _share(line.right),
            _number(line.baseline_median_abs_log),
        ]
        for line in summary
    ]
    return [*columns(rows, right=range(3, len(names))), "", context.text("cli.validate.legend")]


def _number(value: float | None, form: str = ".3f") -> str:
    return "–" if value is None else format(value, form)


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value)
