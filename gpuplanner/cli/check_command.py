"""`check`: is a machine healthy, and is it what was promised; each check with its reason."""

import argparse
from collections.abc import Iterable
from typing import Any

from gpuplanner.acceptance.checking import Acceptance, CheckResult
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.cli.columns import columns, evidence_line, safe
from gpuplanner.cli.context import Context, print_json
from gpuplanner.cli.kept_runs import keep_run
from gpuplanner.cli.machine_evidence import machine_evidence
from gpuplanner.machines.expecting import expected
from gpuplanner.machines.judging import judge
from gpuplanner.messages import Message, msg, shortened

CODES = {Verdict.PASS: 0, Verdict.WARN: 1, Verdict.FAIL: 1, Verdict.CANNOT_TELL: 3, Verdict.SKIPPED: 3}
WORDS = {
    Verdict.PASS: "check.verdict.pass",
    Verdict.WARN: "check.verdict.warn",
    Verdict.FAIL: "check.verdict.fail",
    Verdict.CANNOT_TELL: "check.verdict.cannot_tell",
    Verdict.SKIPPED: "check.verdict.skipped",
}
_SHOWN_FIRST = (Verdict.FAIL, Verdict.WARN, Verdict.PASS)


def check_machine(options: argparse.Namespace, context: Context) -> int:
    """Check a machine. Exit code 0 pass, 1 warning or failure, 3 where nothing can be told."""
    wanted = expected(options.expect, context.workspace) if options.expect is not None else None
    machine = machine_evidence(options.targets, context)
    found = judge(context.workspace, machine, wanted)
    for run in machine.runs:
        keep_run(options, options.targets[0], run, context, found.verdict.value, options.expect or "")
    context.code = CODES[found.verdict]
    if options.json:
        print_json(check_data(found, context))
    else:
        print("\n".join(check_lines(found, context, everything=options.all)))
    return context.code


def check_data(found: Acceptance, context: Context) -> dict[str, Any]:
    """The fixed shape of what was found."""
    return {
        "verdict": found.verdict.value,
        "expected": _text(found.promised.said_by, context),
        "checks": [_check(result, context) for result in found.results],
    }


def _check(result: CheckResult, context: Context) -> dict[str, Any]:
    judgement, rule = result.judgement, result.rule
    return {
        "id": result.id,
        "verdict": judgement.verdict.value,
        "expected": _text(judgement.expected, context),
        "measured": _text(judgement.measured, context),
        "reason": _text(judgement.reason, context),
        "source": rule.source,
        "evidence": [seen.model_dump() for seen in judgement.lines],
        "name": context.text(f"check.name.{result.id}"),
        "do": _text(judgement.do, context),
        "ask": _text(judgement.ask, context),
        "version": rule.version,
        "tier": rule.tier,
        "thresholds": dict(rule.thresholds),
    }


def _text(message: Message | None, context: Context) -> str | None:
    return None if message is None else context.text(message)


def check_lines(found: Acceptance, context: Context, *, everything: bool) -> Iterable[str]:
    """Failures first, then warnings with what to do, then what passed; the rest in one line unless all is asked for."""
    said_by = found.promised.said_by or msg("check.promise.none")
    yield context.text("cli.check.head", verdict=msg(WORDS[found.verdict]), expected=said_by)
    order = (*_SHOWN_FIRST, Verdict.CANNOT_TELL, Verdict.SKIPPED) if everything else _SHOWN_FIRST
    rows: list[tuple[str, ...]] = []
    notes: dict[int, list[str]] = {}
    for verdict in order:
        for result in found.results:
            if result.judgement.verdict is verdict:
                notes[len(rows)] = list(_notes(result, context))
                rows.append(_row(result, context))
    for at, line in enumerate(columns(rows)):
        yield line
        yield from notes[at]
    for verdict in () if everything else (Verdict.CANNOT_TELL, Verdict.SKIPPED):
        left = [result.id for result in found.results if result.judgement.verdict is verdict]
        if left:
            yield context.text("cli.check.left", verdict=msg(WORDS[verdict]), count=len(left), names=", ".join(left))


def _row(result: CheckResult, context: Context) -> tuple[str, ...]:
    judgement = result.judgement
    words = (
        context.text(WORDS[judgement.verdict]),
        result.id,
        context.text(f"check.name.{result.id}"),
        _text(judgement.measured, context) or "–",
    )
    return tuple(safe(shortened(word, 60)) for word in words)


def _notes(result: CheckResult, context: Context) -> Iterable[str]:
    judgement = result.judgement
    if judgement.verdict in {Verdict.PASS, Verdict.SKIPPED}:
        return
    yield f"    {safe(context.text(judgement.reason))}"
    if judgement.expected is not None:
        yield f"    {context.text('cli.check.expected', expected=judgement.expected)}"
    for message in (judgement.do, judgement.ask):
        if message is not None:
            yield f"    → {safe(context.text(message))}"
    if judgement.verdict is not Verdict.CANNOT_TELL:
        for seen in judgement.lines[:2]:
            yield evidence_line(seen)
