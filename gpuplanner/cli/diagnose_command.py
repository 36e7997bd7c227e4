"""`diagnose`: why a machine is slow or ill, with the lines that show it and what to do. Changes nothing there."""

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gpuplanner.acceptance.checking import Acceptance
from gpuplanner.acceptance.diagnosis.finding import Certainty, Finding
from gpuplanner.acceptance.diagnosis.finding_causes import unexplained, would_tell
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.cli.columns import evidence_line, safe
from gpuplanner.cli.context import Context, print_json
from gpuplanner.cli.kept_runs import keep_run
from gpuplanner.cli.machine_evidence import machine_evidence
from gpuplanner.machines.causes import find
from gpuplanner.machines.evidence import MachineEvidence, of_text
from gpuplanner.machines.expecting import expected
from gpuplanner.machines.judging import judge
from gpuplanner.messages import InputError, msg
from gpuplanner.probe.output import LARGEST_BYTES

_STANDARD_INPUT = "-"
_CERTAINTIES = {
    Certainty.SHOWN: "diagnosis.certainty.shown",
    Certainty.LIKELY: "diagnosis.certainty.likely",
    Certainty.POSSIBLE: "diagnosis.certainty.possible",
}
_LINES = 4
"""Lines shown of a cause; the JSON has all."""


@dataclass(frozen=True, slots=True)
class _Diagnosis:
    machine: MachineEvidence
    acceptance: Acceptance
    findings: tuple[Finding, ...]

    @property
    def unexplained(self) -> tuple[str, ...]:
        return unexplained(self.acceptance, self.findings)

    @property
    def would_tell(self) -> tuple[str, ...]:
        return would_tell(self.machine.evidence)

    @property
    def exit_code(self) -> int:
        if self.findings:
            return 1
        # That a disk or a memory is well says nothing about GPUs that nothing was read of.
        unclear = not self.machine.evidence.gpus or self.acceptance.verdict in {Verdict.CANNOT_TELL, Verdict.SKIPPED}
        return 3 if unclear or self.unexplained else 0


def diagnose_machine(options: argparse.Namespace, context: Context) -> int:
    """Diagnose a machine. Exit code 0 where no cause is found, 1 where one is, 3 where nothing can be told."""
    wanted = expected(options.expect, context.workspace) if options.expect is not None else None
    machine = _machine(options.targets, context)
    acceptance = judge(context.workspace, machine, wanted)
    for run in machine.runs:
        keep_run(options, options.targets[0], run, context, acceptance.verdict.value, options.expect or "")
    found = _Diagnosis(machine, acceptance, find(machine.evidence, acceptance))
    context.code = found.exit_code
    if options.json:
        print_json(_data(found, context))
    else:
        print("\n".join(_lines(found, context)))
    return context.code


def _machine(targets: Sequence[str], context: Context) -> MachineEvidence:
    if _STANDARD_INPUT not in targets:
        return machine_evidence(targets, context)
    if len(targets) > 1:
        raise InputError(msg("cli.diagnose.input_alone"))
    if sys.stdin is None:
        raise InputError(msg("probe.saved.missing", file=_STANDARD_INPUT))
    given = sys.stdin.buffer.read(LARGEST_BYTES + 1)
    return of_text(given.decode("utf-8-sig", "replace"), context.text("cli.diagnose.standard_input"))


def _tools(machine: MachineEvidence) -> tuple[str, ...]:
    """The tools whose outputs were recognised, each once."""
    return tuple(dict.fromkeys(each.tool for each in machine.inspections if each.tool is not None))


def _data(found: _Diagnosis, context: Context) -> dict[str, Any]:
    return {
        "recognised": list(_tools(found.machine)),
        "causes": [_cause(finding, context) for finding in found.findings],
        "unexplained": list(found.unexplained),
        "would_tell": list(found.would_tell),
    }


def _cause(finding: Finding, context: Context) -> dict[str, Any]:
    return {
        "id": finding.id,
        "cause": context.text(finding.cause),
        "certainty": finding.certainty.name.lower(),
        "evidence": [seen.model_dump() for seen in finding.lines],
        "confirm": finding.confirm,
        "fix": context.text(finding.fix),
        "ask": None if finding.ask is None else context.text(finding.ask),
        "explains": list(finding.explains),
        "source": finding.source,
    }


def _lines(found: _Diagnosis, context: Context) -> Iterable[str]:
    """What was recognised, each cause with what shows and mends it, then what stays open."""
    yield context.text("cli.diagnose.recognised", tools=", ".join(_tools(found.machine)) or "–")
    if not found.findings:
        yield context.text("cli.diagnose.nothing_found" if found.exit_code == 0 else "cli.diagnose.cannot_tell")
    for finding in found.findings:
        yield ""
        yield from _said(finding, context)
    if found.unexplained:
        names = ", ".join(context.text(f"check.name.{check}") for check in found.unexplained)
        yield ""
        yield context.text("cli.diagnose.unexplained", names=names)
    if found.would_tell:
        yield ""
        yield context.text("cli.diagnose.would_tell")
        yield from (f"    $ {command}" for command in found.would_tell)


def _said(finding: Finding, context: Context) -> Iterable[str]:
    yield safe(context.text(finding.cause))
    yield f"    {context.text(_CERTAINTIES[finding.certainty])}"
    for seen in finding.lines[:_LINES]:
        yield evidence_line(seen)
    if len(finding.lines) > _LINES:
        yield f"    | {context.text('cli.diagnose.more_lines', count=len(finding.lines) - _LINES)}"
    yield f"    → {safe(context.text(finding.fix))}"
    if finding.ask is not None:
        yield f"    → {safe(context.text(finding.ask))}"
    yield f"    {context.text('cli.diagnose.confirm')}"
    yield f"    $ {finding.confirm}"
    if finding.explains:
        names = ", ".join(context.text(f"check.name.{check}") for check in finding.explains)
        yield f"    {context.text('cli.diagnose.explains', names=names)}"
