"""What is known of one machine: read from a run, or from what somebody saved or pasted. Judges nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from gpuplanner.messages import InputError, msg, shortened
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.host import System
from gpuplanner.probe.inspecting import Inspection, inspect
from gpuplanner.probe.merging import merged
from gpuplanner.probe.output import Output
from gpuplanner.probe.recording import is_recording, read_recording
from gpuplanner.probe.results import Run
from gpuplanner.probe.running import read
from gpuplanner.probe.saved import outputs_of

_HEAD_BYTES = 60
_NAMES = 120
"""Characters of the files' names in a sentence."""


@dataclass(frozen=True, slots=True)
class MachineEvidence:
    """What a machine says, all of it joined. `root`: whether the commands ran as root, None where nobody knows.

    `runs`: those that it was read from, where they were runs; `inspections`: what each output was recognised as.
    """

    evidence: Evidence
    root: bool | None = None
    runs: tuple[Run, ...] = ()
    inspections: tuple[Inspection, ...] = ()

    @property
    def asked_on(self) -> date | None:
        """The day on which the machine was asked; None of saved texts, and of a time that no calendar has."""
        if not self.runs:
            return None
        try:
            return datetime.fromtimestamp(self.runs[0].began, UTC).date()
        except (OverflowError, ValueError, OSError):
            return None


def of_run(run: Run) -> MachineEvidence:
    """What a run says, with the faults of commands that did not answer."""
    evidence, inspections = read(run)
    if run.clock_offset_s is not None:
        evidence = merged([evidence, Evidence(system=System(clock_offset_s=run.clock_offset_s))])
    return MachineEvidence(evidence, run.root, (run,), inspections)


def of_files(paths: Sequence[Path]) -> MachineEvidence:
    """What files, folders and archives of one machine say together.

    Raises InputError for a file that cannot be read, or where nothing in them is recognised or says anything.
    """
    found = _together(_of_file(path) for path in paths)
    if found.evidence.empty:
        raise _says_nothing(", ".join(str(path) for path in paths), found.inspections)
    return found


def of_text(text: str, name: str) -> MachineEvidence:
    """What a text says that somebody pasted; `name` is what its lines are said to be from.

    Raises InputError where nothing in it is recognised or says anything.
    """
    if is_recording(text):
        return of_run(read_recording(text, name))
    inspection = inspect(Output.of(text.encode("utf-8", "replace"), name))
    if inspection.evidence.empty:
        raise _says_nothing(name, (inspection,))
    return MachineEvidence(inspection.evidence, inspections=(inspection,))


def _says_nothing(names: str, inspections: Sequence[Inspection]) -> InputError:
    """Why nothing is known: no tool's output, or one in which nothing stands that bears on a machine."""
    tools = dict.fromkeys(inspection.tool for inspection in inspections if inspection.tool)
    if tools:
        return InputError(msg("machine.nothing_said", files=shortened(names, _NAMES), tools=", ".join(tools)))
    return InputError(msg("machine.nothing_recognised", files=shortened(names, _NAMES)))


def _together(parts: Iterable[MachineEvidence]) -> MachineEvidence:
    found = tuple(parts)
    return MachineEvidence(
        merged([part.evidence for part in found]),
        next((part.root for part in found if part.root is not None), None),
        tuple(run for part in found for run in part.runs),
        tuple(inspection for part in found for inspection in part.inspections),
    )


def _of_file(path: Path) -> MachineEvidence:
    outputs = outputs_of(path)
    if path.is_file() and (run := _recording(path)) is not None:
        return of_run(run)
    inspections = tuple(inspect(output) for output in outputs)
    return MachineEvidence(merged([inspection.evidence for inspection in inspections]), inspections=inspections)


def _recording(path: Path) -> Run | None:
    """The run of a recording; None of any other file."""
    with path.open("rb") as stream:
        if not is_recording(stream.read(_HEAD_BYTES).decode("utf-8-sig", "replace")):
            return None
    return read_recording(path.read_text(encoding="utf-8-sig", errors="replace"), shortened(path.name, 80))
