"""What a person drops, opens or pastes: a plan, a model, a measurement, or a name. Reads files; knows no Qt.

Everything else is refused in one sentence that says what it is and what is wanted.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.families import architecture_from_config
from gpuplanner.catalog.parameters import total_parameters
from gpuplanner.engine.machines import named_choice
from gpuplanner.machines.measured_runs import is_probe, measured_runs
from gpuplanner.messages import InputError, Message, msg, shortened
from gpuplanner.store.plan_files import read_plan
from gpuplanner.units import Display, Unit, show
from gpuplanner.workload.measurement_log import (
    LARGEST_BYTES,
    MeasuredRun,
    UnusableMeasurementError,
    parse_measurement,
    read_measurement,
)
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workload.plan_text import LARGEST_PLAN_BYTES, plan_from_data
from gpuplanner.workload.reading import read_model_file

PLAN_SUFFIX = ".gpuplan"
ELSEWHERE = frozenset({".csv", ".tsv", ".xlsx"})
"""Files that other places read; this one leaves them alone."""
LOGS = frozenset({".log", ".out"})
"""What such a file holds is a measurement, or nothing that is known."""
PERHAPS_MEASURED = frozenset({".txt", ".json", ".jsonl"})
"""What may be a measurement, and may be something else: the content tells."""
_LOOK_AT_BYTES = 1 << 18
OURS = (PLAN_SUFFIX, ".safetensors", ".gguf")
_NAME_AT_MOST = 200
_PASTED = "pasted.txt"
"""What a pasted measurement is called in the list of them."""


class Names(Protocol):
    """What resolves names: the workspace."""

    def resolve(self, text: str) -> Any: ...


@dataclass(frozen=True, slots=True)
class Taken:
    """What something turned out to be: one of plan, model, machine and measured runs, which have their file's name.

    `says` tells the person; `doubts` warn.
    """

    says: Message
    plan: Plan | None = None
    model: ModelChoice | None = None
    machine: MachineChoice | None = None
    runs: tuple[MeasuredRun, ...] = ()
    name: str = ""
    doubts: tuple[Message, ...] = ()


def takes(path: str) -> bool:
    """Whether a file of this name belongs to this place for sure."""
    name = Path(path).name.lower()
    if name.endswith(OURS) or name == "config.json" or name.endswith(".safetensors.index.json"):
        return True
    suffix = Path(name).suffix
    return suffix in LOGS or (suffix in PERHAPS_MEASURED and _begins_measured(Path(path)))


def take_file(path: Path) -> Taken:
    """What a file is. Raises InputError for what cannot be used here."""
    if path.suffix.lower() == PLAN_SUFFIX:
        return _plan(read_plan(path), path.name)
    if is_probe(path):
        return _of_runs(measured_runs(path), shortened(path.name, 80))
    measured = _measured(path)
    if measured is not None:
        return measured
    try:
        read = read_model_file(path)
    except InputError as fault:
        if fault.message.id == "model.file.plan":
            return _plan(read_plan(path), path.name)
        raise
    return _model(read.architecture, read.read_from, read.read_from, read.problems)


def take_text(text: str, names: Names) -> Taken:
    """What a pasted text is. Raises InputError for what cannot be used here."""
    text = text.strip()
    if not text:
        raise InputError(msg("planui.paste.empty"))
    if len(text) <= LARGEST_BYTES and (run := _run_in(text, _PASTED)) is not None:
        return _of_runs((run,), _PASTED)
    if len(text) > LARGEST_PLAN_BYTES:
        raise InputError(msg("planui.paste.too_long"))
    if text[0] in "{[":
        return _json(text)
    if len(text) > _NAME_AT_MOST or "\n" in text:
        raise InputError(msg("planui.paste.unknown"))
    return _named(text, names)


def _measured(path: Path) -> Taken | None:
    """The measurement that a file holds; None for one that is something else.

    A log that says nothing is refused, and so is a measurement that cannot be used.
    """
    name = path.name.lower()
    if name.endswith(OURS) or name == "config.json":
        return None
    try:
        run = read_measurement(path)
    except UnusableMeasurementError:
        raise
    except InputError:
        if path.suffix.lower() in LOGS:
            raise
        return None
    return _of_runs((run,), shortened(path.name, 80))


def _begins_measured(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            text = file.read(_LOOK_AT_BYTES).decode("utf-8-sig", "replace")
    except OSError:
        return False
    try:
        return _run_in(text, path.name) is not None
    except UnusableMeasurementError:
        return True


def _run_in(text: str, name: str) -> MeasuredRun | None:
    """The measurement in a text, None without any. Raises InputError for one that cannot be used."""
    try:
        return parse_measurement(text, name)
    except UnusableMeasurementError:
        raise
    except InputError:
        return None


def _of_runs(runs: tuple[MeasuredRun, ...], name: str) -> Taken:
    return Taken(msg("own.window.taken", file=name), runs=runs, name=name)


def _json(text: str) -> Taken:
    pasted = msg("planui.paste.name")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError(msg("planui.paste.not_json")) from None
    if not isinstance(content, dict):
        raise InputError(msg("planui.paste.unknown"))
    if str(content.get("format", "")).startswith("gpuplan/"):
        return _plan(plan_from_data(content, "gpuplan"), pasted)
    if not {"model_type", "architectures", "num_hidden_layers"} & content.keys():
        raise InputError(msg("planui.paste.unknown"))
    name = content.get("_name_or_path")
    called = name[:_NAME_AT_MOST] if isinstance(name, str) else ""
    shape = architecture_from_config(content, called or str(content.get("model_type", ""))[:_NAME_AT_MOST])
    doubts = tuple(msg(note) for note in shape.notes)
    return _model(shape, "config.json", pasted, doubts)


def _named(text: str, names: Names) -> Taken:
    found = names.resolve(text)
    if found.id is not None and found.kind == "model":
        return Taken(msg("planui.taken.model_name", name=found.name or text), model=ModelChoice(catalog_id=found.id))
    machine = named_choice(found)
    part = f" MIG {machine.slice.profile}" if machine.slice is not None else ""
    many = machine.nodes if machine.instance_id is not None else machine.gpus
    name = f"{found.name or text}{part}"
    return Taken(msg("planui.taken.machine", name=f"{many:,} × {name}" if many > 1 else name), machine=machine)


def _plan(plan: Plan, name: str | Message) -> Taken:
    return Taken(msg("planui.taken.plan", name=name), plan=plan)


def _model(shape: ModelArchitecture, read_from: str, name: str | Message, doubts: tuple[Message, ...]) -> Taken:
    size = str(show(total_parameters(shape), Unit.PARAMETER, Display()))
    says = msg("planui.taken.model", name=name, family=shape.family, size=size)
    return Taken(says, model=ModelChoice(architecture=shape, read_from=read_from), doubts=doubts)
