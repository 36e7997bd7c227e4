"""`probe --tier c`: finds the tools that are installed on a machine, shows their commands, asks, and runs them."""

import argparse
import os
import secrets
import sys
from collections.abc import Iterable, Sequence

from gpuplanner.cli.columns import columns, safe
from gpuplanner.cli.context import Context, print_json
from gpuplanner.cli.kept_runs import keep_run
from gpuplanner.cli.machine_target import transport_to, until_interrupted
from gpuplanner.cli.measure_command import agreed, rate_lines
from gpuplanner.cli.run_files import refuse_existing, save
from gpuplanner.messages import InputError, msg, on_one_line, shortened
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.installed.running import Installed, look, run_installed
from gpuplanner.probe.installed.tools import (
    FIO,
    PREFIX,
    TOOLS,
    InstalledCommand,
    There,
    checked_folder,
    chosen,
    commands,
    own_command,
)
from gpuplanner.probe.measuring import Measuring, Progress
from gpuplanner.probe.output import Output
from gpuplanner.probe.results import Run
from gpuplanner.probe.running import read
from gpuplanner.probe.transports import Event, Lost
from gpuplanner.probe.transports.programs import Runner
from gpuplanner.probe.transports.ssh_client import Sockets
from gpuplanner.units import percent

_STEP_SHARE = 0.1
"""How much further a tool has to be before that is said again."""


def run_tools(options: argparse.Namespace, context: Context) -> int:
    """Run what is installed. Exit code 1 where it was refused there, stopped, or nothing came of a tool."""
    _check(options)
    if options.target is None:
        if not options.commands:
            raise InputError(msg("cli.probe.no_target"))
        print("\n".join(_known(context)))
        return 0
    refuse_existing(options.save)
    # One login for looking and for running. Where sockets of the client are files of Windows, it logs in twice.
    sockets = Sockets() if os.name == "posix" else None
    try:
        return _on(transport_to(options.target, sockets), options, context)
    finally:
        if sockets is not None:
            sockets.close()


def _check(options: argparse.Namespace) -> None:
    """Raises InputError for what can be said without asking the machine."""
    if options.test:
        raise InputError(msg("cli.measure.not_both"))
    if options.disk:
        raise InputError(msg("cli.measure.for_tier_b", option="--disk"))
    chosen(options.only)
    if options.fio is not None:
        checked_folder(options.fio)
    for at, text in enumerate(options.own):
        own_command(text, at)


def _known(context: Context) -> Iterable[str]:
    """What would be looked for, when no machine is named."""
    rows = [
        (tool.id, " ".join(tool.names), context.text(f"cli.installed.{'named' if tool.named else 'always'}"))
        for tool in (*TOOLS, FIO)
    ]
    yield context.text("cli.installed.known")
    yield from columns(rows)


def _on(runner: Runner, options: argparse.Namespace, context: Context) -> int:
    def told(event: Event) -> None:
        if isinstance(event, Lost):
            print(f"gpuplanner: {context.text(event.why)}", file=sys.stderr)

    there = until_interrupted(look(runner, told))
    if there is None:
        return 1
    made = commands(there, options.only, folder=options.fio, token=secrets.token_hex(6), own=options.own)
    out = sys.stdout if options.commands else sys.stderr
    for line in _shown(made, there, options, context):
        print(line, file=out)
    if options.commands:
        return 0
    if not made:
        return 1
    if not options.yes and not agreed(context, "cli.installed.ask"):
        return 1
    installed = Installed(runner.name, made)
    work = run_installed(runner, told, _progress(), installed, even_if_busy=options.even_if_busy)
    run = until_interrupted(work) or installed.run(whole=False)
    if options.save:
        save(run, options.save)
    keep_run(options, options.target, run, context)
    evidence, _ = read(run)
    if options.json:
        print_json({"note": context.text("cli.installed.will"), **_data(run, installed, evidence)})
    else:
        print("\n".join(_lines(run, installed, evidence, context)))
    good = all(result.outcome == "ended" and result.exit_code == 0 for result in run.results)
    return 0 if run.whole and good else 1


def _shown(
    made: Sequence[InstalledCommand], there: There, options: argparse.Namespace, context: Context
) -> Iterable[str]:  # fmt: skip
    """What will run, with its limit; what it takes and leaves; what is not there."""
    if made:
        yield context.text("cli.installed.will")
    for each in made:
        limit = context.text("cli.installed.limit", seconds=f"{each.command.limit_s:.0f}")
        # Whole, however long: nothing runs that was not shown.
        yield f"$ {on_one_line(each.command.shown)}  ({limit})"
        yield "  " + context.text(each.note)
    wanted = [*chosen(options.only)] if options.only or not (options.fio or options.own) else []
    missing = [tool.id for tool in wanted if tool.id not in there.paths]
    missing += [FIO.id] if options.fio is not None and FIO.id not in there.paths else []
    if missing:
        yield context.text("cli.installed.missing", tools=", ".join(missing))
    if not made:
        yield context.text("cli.installed.nothing")


def _progress() -> Progress:
    told = Measuring("", None, 0.0)

    def progress(step: Measuring) -> None:
        nonlocal told
        if step.what != told.what or step.share > told.share + _STEP_SHARE:
            told = step
            said = f" · {safe(step.said)}" if step.said else ""
            print(f"{percent(step.share):>4} {safe(step.what.removeprefix(PREFIX))}{said}", file=sys.stderr)

    return progress


def _data(run: Run, installed: Installed, evidence: Evidence) -> dict[str, object]:
    return {
        "target": run.target,
        "whole": run.whole,
        "refused": installed.refused or None,
        "commands": [
            {"id": result.id, "argv": result.argv, "exit_code": result.exit_code, "outcome": result.outcome,
             "seconds": round(result.seconds, 3)}
            for result in run.results
        ],
        "evidence": evidence.as_data(),
    }  # fmt: skip


def _lines(run: Run, installed: Installed, evidence: Evidence, context: Context) -> Iterable[str]:
    if installed.refused:
        yield context.text(f"cli.measure.{installed.refused}", target=run.target)
        return
    if not run.whole:
        yield context.text("cli.measure.not_whole", target=run.target)
    yield from rate_lines(evidence, context)
    tests = [
        (safe(test.test or "?"), safe(test.entity or ""), safe(test.result or "?")) for test in evidence.diagnostics
    ]
    yield from columns(tests)
    for result in run.results:
        if result.outcome != "ended" or result.exit_code != 0:
            last = Output.of(result.err or result.out, result.id).text.strip().splitlines()
            code = result.outcome if result.exit_code is None else str(result.exit_code)
            said = safe(shortened(last[-1], 200)) if last else "–"
            yield context.text("cli.installed.failed", tool=result.id.removeprefix(PREFIX), code=code, said=said)
