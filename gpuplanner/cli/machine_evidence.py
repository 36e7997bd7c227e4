"""The evidence that a command works on: read from a machine now, or from files that somebody saved there."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuplanner.cli.context import Context
from gpuplanner.cli.machine_target import HERE, run_probe, transport_to
from gpuplanner.messages import InputError, msg, shortened
from gpuplanner.paths import is_there
from gpuplanner.probe.commands import READ_ONLY
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import System
from gpuplanner.probe.inspecting import inspect
from gpuplanner.probe.merging import merged
from gpuplanner.probe.recording import is_recording, read_recording
from gpuplanner.probe.results import Run
from gpuplanner.probe.running import read
from gpuplanner.probe.saved import outputs_of

_FILES = (
    ".txt", ".log", ".out", ".xml", ".csv", ".json", ".gpurun", ".zip", ".gz", ".tgz", ".tar", ".xz", ".md", ".html",
)  # fmt: skip
"""How the names of files end that somebody saves; no machine is called so."""


@dataclass(frozen=True, slots=True)
class MachineEvidence:
    """What is known of one machine. `root`: whether the commands ran as root, None where nobody knows."""

    evidence: Evidence
    root: bool | None = None


def machine_evidence(targets: Sequence[str], context: Context) -> MachineEvidence:
    """What a machine or files say; several files are of one machine.

    Raises InputError for a file that is not there, several machines, or files of which nothing is recognised.
    """
    first = targets[0]
    if len(targets) == 1 and not _is_file(first):
        return _of_run(run_probe(transport_to(first), READ_ONLY, context))
    machine = next((target for target in targets if not _is_file(target)), None)
    if machine is not None and len(targets) > 1 and machine in HERE:
        raise InputError(msg("cli.check.one_machine"))
    found = [_of_file(Path(target)) for target in targets]
    evidence = merged([each.evidence for each in found])
    if evidence.empty:
        raise InputError(msg("cli.check.nothing_recognised", files=shortened(", ".join(targets), 120)))
    return MachineEvidence(evidence, next((each.root for each in found if each.root is not None), None))


def _is_file(target: str) -> bool:
    return (is_there(Path(target)) and target not in HERE) or "/" in target or target.lower().endswith(_FILES)


def _of_file(path: Path) -> MachineEvidence:
    outputs = outputs_of(path)
    if path.is_file() and (run := _recording(path)) is not None:
        return _of_run(run)
    return MachineEvidence(merged([inspect(output).evidence for output in outputs]))


def _recording(path: Path) -> Run | None:
    """The run of a recording, with the faults of commands that did not answer; None of any other file."""
    with path.open("rb") as stream:
        if not is_recording(stream.read(60).decode("utf-8-sig", "replace")):
            return None
    return read_recording(path.read_text(encoding="utf-8-sig", errors="replace"), shortened(path.name, 80))


def _of_run(run: Run) -> MachineEvidence:
    evidence, _ = read(run)
    if run.clock_offset_s is not None:
        evidence = merged([evidence, Evidence(system=System(clock_offset_s=run.clock_offset_s))])
    return MachineEvidence(evidence, run.root)
