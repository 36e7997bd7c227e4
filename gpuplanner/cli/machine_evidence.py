"""The evidence that a command works on: read from a machine now, or from files that somebody saved there."""

import sys
from collections.abc import Sequence
from pathlib import Path

from gpuplanner.cli.context import MOST_PROBLEMS, Context
from gpuplanner.cli.machine_target import HERE, run_probe, transport_to
from gpuplanner.machines.evidence import MachineEvidence, of_files, of_run
from gpuplanner.messages import InputError, msg
from gpuplanner.paths import is_there
from gpuplanner.probe.commands import READ_ONLY

_FILES = (
    ".txt", ".log", ".out", ".xml", ".csv", ".json", ".gpurun", ".zip", ".gz", ".tgz", ".tar", ".xz", ".md", ".html",
)  # fmt: skip
"""How the names of files end that somebody saves; no machine is called so."""


def machine_evidence(targets: Sequence[str], context: Context) -> MachineEvidence:
    """What a machine or files say; several files are of one machine. What cannot be read of a folder goes to stderr.

    Raises InputError for a file that is not there, several machines, or files of which nothing is recognised.
    """
    first = targets[0]
    if len(targets) == 1 and not is_file(first):
        return of_run(run_probe(transport_to(first), READ_ONLY, context))
    machine = next((target for target in targets if not is_file(target)), None)
    if machine is not None and len(targets) > 1 and machine in HERE:
        raise InputError(msg("cli.check.one_machine"))
    found = of_files([Path(target) for target in targets])
    unread = [inspection.output.unread for inspection in found.inspections if inspection.output.unread is not None]
    for why in unread[:MOST_PROBLEMS]:
        print(f"gpuplanner: {context.text(why)}", file=sys.stderr)
    if len(unread) > MOST_PROBLEMS:
        print(
            f"gpuplanner: {context.text('cli.check.more_unread', count=len(unread) - MOST_PROBLEMS)}", file=sys.stderr
        )
    return found


def is_file(target: str) -> bool:
    """Whether what a person names is a file or folder, and no machine."""
    return (is_there(Path(target)) and target not in HERE) or "/" in target or target.lower().endswith(_FILES)
