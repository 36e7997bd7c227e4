"""Keeps a run of a machine in the history, and says where on stderr. A history that takes nothing stops no command."""

import argparse
import sys

from gpuplanner.cli.context import Context
from gpuplanner.cli.machine_target import HERE
from gpuplanner.messages import InputError
from gpuplanner.probe.results import Run


def keep_run(
    options: argparse.Namespace, target: str, run: Run, context: Context, verdict: str = "", expected: str = ""
) -> None:
    """Keep what came of a machine, unless the person wants it otherwise, nothing came, or it was a recording."""
    if options.no_history or run.recorded or not run.results:
        return
    from gpuplanner.machines.history import RunHistory, tiers_of

    host = "localhost" if target in HERE else target
    try:
        store = context.workspace.store
        for note in store.notes:
            _trouble(context.text(note))
        number, left = RunHistory(store).keep(host, tiers_of(run), run, verdict, expected)
    except InputError as fault:
        _trouble(context.text("cli.runs.not_kept", reason=fault.message))
        return
    print(context.text("cli.runs.kept", id=number, folder=str(context.workspace.home)), file=sys.stderr)
    if left.count:
        _trouble(context.text("cli.runs.left", count=left.count))


def _trouble(text: str) -> None:
    print(f"gpuplanner: {text}", file=sys.stderr)
