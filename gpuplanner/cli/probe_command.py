"""`probe`: asks a machine everything that only reads, shows the commands, and keeps what came where that is wanted."""

import argparse

from gpuplanner.cli.context import Context, print_json
from gpuplanner.cli.inspect_command import evidence_lines
from gpuplanner.cli.installed_command import run_tools
from gpuplanner.cli.kept_runs import keep_run
from gpuplanner.cli.machine_target import HERE, run_probe, test_connection, transport_to
from gpuplanner.cli.measure_command import measure_machine
from gpuplanner.cli.run_files import refuse_existing, save
from gpuplanner.messages import InputError, msg
from gpuplanner.probe.commands import READ_ONLY
from gpuplanner.probe.connecting import StepState
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.results import Run
from gpuplanner.probe.running import read


def probe_machine(options: argparse.Namespace, context: Context) -> int:
    """Probe a machine. Exit code 1 where the way to it broke in between or it was stopped."""
    if options.tier == "c":
        return run_tools(options, context)
    for option, given in (("--fio", options.fio), ("--own", options.own)):
        if given:
            raise InputError(msg("cli.installed.for_tier_c", option=option))
    if options.tier == "b":
        return measure_machine(options, context)
    for option, given in (("--only", options.only), ("--disk", options.disk)):
        if given:
            raise InputError(msg("cli.measure.for_tier_b", option=option))
    if options.commands:
        print("\n".join(command.shown for command in READ_ONLY))
        return 0
    if options.target is None:
        raise InputError(msg("cli.probe.no_target"))
    if options.test:
        return _test(options, context)
    refuse_existing(options.save)
    run = run_probe(transport_to(options.target), READ_ONLY, context)
    if options.save:
        save(run, options.save)
    keep_run(options, options.target, run, context)
    evidence, _ = read(run)
    if options.json:
        print_json(_data(run, evidence))
    else:
        print("\n".join(_lines(run, evidence, context)))
    return 0 if run.whole else 1


def _test(options: argparse.Namespace, context: Context) -> int:
    """Print each step as it ends. Exit code 1 where the machine cannot be used."""
    if options.target in HERE:
        raise InputError(msg("cli.probe.test_here"))
    ended: list[StepState] = []

    def told(state: StepState) -> None:
        if state.state in {"waiting", "running"}:
            return
        ended.append(state)
        if not options.json:
            print("\n".join(_step_lines(state, context)), flush=True)

    usable = test_connection(options.target, told)
    if options.json:
        steps = [
            {"step": state.step.value, "state": state.state, "detail": state.detail, "seconds": round(state.seconds, 3),
             "reason": context.text(state.why) if state.why else None}
            for state in ended
        ]  # fmt: skip
        print_json({"target": options.target, "usable": usable, "steps": steps})
    return 0 if usable else 1


def _step_lines(state: StepState, context: Context) -> list[str]:
    name, word = context.text(f"probe.step.{state.step.value}"), context.text(f"probe.state.{state.state}")
    first = f"{name}: {word} · {state.seconds:.1f} s" + (f" · {state.detail}" if state.detail else "")
    return [first, *([f"  {context.text(state.why)}"] if state.why else [])]


def _data(run: Run, evidence: Evidence) -> dict[str, object]:
    return {
        "target": run.target,
        "whole": run.whole,
        "clock_offset_s": run.clock_offset_s,
        "root": run.root,
        "commands": [
            {"id": result.id, "argv": result.argv, "exit_code": result.exit_code, "outcome": result.outcome,
             "seconds": round(result.seconds, 3)}
            for result in run.results
        ],
        "evidence": evidence.as_data(),
    }  # fmt: skip


def _lines(run: Run, evidence: Evidence, context: Context) -> list[str]:
    answered = sum(result.outcome == "ended" and result.exit_code == 0 for result in run.results)
    lines = [context.text("cli.probe.answered", target=run.target, answered=answered, asked=len(run.asked))]
    lines += evidence_lines(evidence, context)
    absent = sorted({fault.wanted for fault in evidence.faults if fault.kind == "absent" and fault.wanted})
    if absent:
        lines.append(context.text("cli.probe.absent", tools=", ".join(absent)))
    if not run.root:
        lines.append(context.text("cli.probe.no_root"))
    return lines
