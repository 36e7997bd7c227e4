"""`inspect`: which tool printed a file, and what it says of the machine, without connecting to anything."""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from gpuplanner.cli.columns import columns, safe
from gpuplanner.cli.context import Context, print_json
from gpuplanner.machines.summary import summary
from gpuplanner.messages import InputError, Message, MessageValue, msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.inspecting import Inspection, inspect
from gpuplanner.probe.output import LARGEST_BYTES, Output
from gpuplanner.probe.saved import outputs_in, outputs_of


def inspect_files(options: argparse.Namespace, context: Context) -> int:
    """Inspect all files. Exit code 1 when not one was recognised."""
    found = [inspect(output) for path in options.files for output in _outputs(path)]
    if options.json:
        print_json([_data(inspection, context) for inspection in found])
    else:
        print("\n".join(line for inspection in found for line in _lines(inspection, context)))
    return 0 if any(inspection.tool for inspection in found) else 1


def _outputs(path: Path) -> list[Output]:
    if str(path) != "-":
        return outputs_of(path)
    if sys.stdin is None:
        raise InputError(msg("probe.saved.missing", file="-"))
    return outputs_in(sys.stdin.buffer.read(LARGEST_BYTES + 1), "-")


def _data(inspection: Inspection, context: Context) -> dict[str, object]:
    return {
        "file": inspection.output.name,
        "tool": inspection.tool,
        "evidence": inspection.evidence.as_data(),
        "problems": [{"line": each.line, "message": context.text(each.message)} for each in inspection.problems],
    }


def _lines(inspection: Inspection, context: Context) -> Iterable[str]:
    tool = inspection.tool or context.text("cli.inspect.unknown")
    yield f"{safe(inspection.output.name)}  {tool}"
    yield from evidence_lines(inspection.evidence, context)
    for problem in inspection.problems:
        yield f"  {context.text('cli.inspect.problem', line=problem.line, problem=context.text(problem.message))}"


def evidence_lines(evidence: Evidence, context: Context) -> Iterable[str]:
    """What an evidence has, a line a section."""
    rows = [
        (context.text(row.section), " · ".join(_part(name, value, context) for name, value in row.said))
        for row in summary(evidence, context.display)
    ]
    return (f"  {line}" for line in columns(rows))


def _part(name: Message | None, value: MessageValue, context: Context) -> str:
    said = safe(context.text(msg("check.text", text=value)))
    return said if name is None else f"{context.text(name)} {said}"
