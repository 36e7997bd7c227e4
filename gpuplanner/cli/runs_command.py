"""`runs`: what was kept of machines: the list, one run checked again, what differs between two or within one."""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.cli.check_command import CODES, WORDS, check_data, check_lines
from gpuplanner.cli.columns import columns, safe
from gpuplanner.cli.context import Context, NothingFoundError, print_json
from gpuplanner.cli.run_files import refuse_existing, save
from gpuplanner.machines.difference_words import Row, rows_between, rows_within
from gpuplanner.machines.evidence import MachineEvidence, of_files, of_run
from gpuplanner.machines.expecting import expected
from gpuplanner.machines.history import KeptRun, RunHistory
from gpuplanner.machines.judging import judge
from gpuplanner.messages import InputError, MessageValue, msg, shortened

_WORD = 60
_MOST_RUNS = 2


def list_runs(options: argparse.Namespace, context: Context) -> int:
    """List the runs, the latest first. Exit code 1 where there are none."""
    history = _history(context)
    found = history.runs(options.host)
    if options.json:
        print_json([asdict(run) for run in found])
        return 0 if found else 1
    if not found:
        raise NothingFoundError(msg("cli.runs.none"))
    words = ("id", "host", "began", "tier", "verdict", "expected")
    rows = [tuple(context.text(f"cli.runs.column.{word}") for word in words), *(_listed(run, context) for run in found)]
    print("\n".join(columns(rows, right=(0,))))
    return 0


def show_run(options: argparse.Namespace, context: Context) -> int:
    """Check a run again, against what it was held against or something else. Exit codes as `check` has them."""
    history = _history(context)
    kept = _kept(history, options.id)
    refuse_existing(options.save)
    run = history.read(kept.id)
    if options.save:
        save(run, options.save)
    wanted = options.expect if options.expect is not None else kept.expected
    promised = expected(wanted, context.workspace) if wanted else None
    found = judge(context.workspace, of_run(run), promised)
    context.code = CODES[found.verdict]
    if options.json:
        print_json({"run": asdict(kept), **check_data(found, context)})
    else:
        print(context.text("cli.runs.head", id=kept.id, host=safe(kept.host), began=_date(kept.began)))
        print("\n".join(check_lines(found, context, everything=options.all)))
    return context.code


def diff_runs(options: argparse.Namespace, context: Context) -> int:
    """What differs between two runs, or between the GPUs of one. Exit code 0 where nothing does, 1 where something."""
    if len(options.runs) > _MOST_RUNS:
        raise InputError(msg("cli.runs.two_at_most", count=len(options.runs)))
    machines = [_machine(given, context) for given in options.runs]
    earlier, later = machines[0].evidence, machines[-1].evidence
    between = rows_between(earlier, later) if len(machines) > 1 else ()
    within = rows_within(later)
    context.code = 1 if between or (len(machines) == 1 and within) else 0
    if options.json:
        print_json({"between": [_data(row, context) for row in between],
                    "within": [_data(row, context) for row in within]})  # fmt: skip
    else:
        print("\n".join(_lines(options.runs, between, within, context)))
    return context.code


def remove_run(options: argparse.Namespace, context: Context) -> int:
    """Take a run out of the history, or put it back."""
    history = _history(context)
    if options.undo:
        if not history.restore(options.id):
            raise InputError(msg("store.nothing_kept", id=options.id))
    else:
        history.remove(_kept(history, options.id).id)
    if options.json:
        print_json({"id": options.id, "removed": not options.undo})
    else:
        print(context.text("cli.runs.put_back" if options.undo else "cli.runs.removed", id=options.id))
    return 0


def _history(context: Context) -> RunHistory:
    return RunHistory(context.workspace.store)


def _kept(history: RunHistory, number: int) -> KeptRun:
    found = next((run for run in history.runs() if run.id == number), None)
    if found is None:
        raise InputError(msg("store.nothing_kept", id=number))
    return found


def _machine(given: str, context: Context) -> MachineEvidence:
    """A run by its number, or a file that holds one or a machine's outputs."""
    if given.isdecimal() and not Path(given).exists():
        return of_run(_history(context).read(int(given[:18])))
    return of_files([Path(given)])


def _listed(run: KeptRun, context: Context) -> tuple[str, ...]:
    verdict = _verdict(run.verdict, context) if run.whole else context.text("cli.runs.not_whole")
    held = safe(shortened(run.expected, _WORD)) or "–"
    return str(run.id), safe(shortened(run.host, _WORD)), _date(run.began), safe(run.tier.upper()), verdict, held


def _verdict(word: str, context: Context) -> str:
    known = next((verdict for verdict in Verdict if verdict.value == word), None)
    return "–" if known is None else context.text(WORDS[known])


def _date(iso: str) -> str:
    """A time as this machine's clock shows it, to the minute."""
    try:
        return datetime.fromisoformat(iso).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return safe(iso)


def _data(row: Row, context: Context) -> dict[str, Any]:
    words = {name: _text(getattr(row, name), context) for name in ("where", "what", "before", "after", "change")}
    return {**words, "worse": row.worse, "evidence": [seen.model_dump() for seen in row.lines]}


def _text(value: MessageValue, context: Context) -> str:
    return value if isinstance(value, str) else context.text("cli.runs.value", value=value)


def _lines(given: Sequence[str], between: Sequence[Row], within: Sequence[Row], context: Context) -> Iterable[str]:
    if len(given) > 1:
        before, after = (safe(shortened(name, _WORD)) for name in given)
        yield context.text("cli.runs.between" if between else "cli.runs.between.none", before=before, after=after)
        yield from _table(between, context)
    if within:
        yield context.text("cli.runs.within", run=safe(shortened(given[-1], _WORD)))
        yield from _table(within, context)
    elif len(given) == 1:
        yield context.text("cli.runs.within.none", run=safe(shortened(given[-1], _WORD)))


def _table(rows: Sequence[Row], context: Context) -> list[str]:
    cells = [
        tuple(
            safe(shortened(_text(each, context), _WORD))
            for each in ("!" if row.worse else " ", row.where, row.what, row.before, "→", row.after, row.change)
        )
        for row in rows
    ]
    return [f"  {line}" for line in columns(cells)]
