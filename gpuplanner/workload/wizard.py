"""How a workload's fields are asked for: the wizard is drawn from these notes on the type. No Qt, no texts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gpuplanner.units import Unit

_KEY = "ask"
MODEL_KINDS: Mapping[str, frozenset[str]] = {
    "model": frozenset({"decoder", "encoder", "encoder-decoder", "vision-language"}),
    "diffusion-model": frozenset({"diffusion"}),
    "vision-model": frozenset({"vision", "detector", "segmentation"}),
    "speech-model": frozenset({"speech"}),
}
"""Controls that choose a model, and which kinds of the catalog's models each offers."""
DRAFTING_KINDS = frozenset({"decoder", "vision-language"})
"""Kinds of the catalog's models that can draft for another: those that continue a text."""


@dataclass(frozen=True, slots=True)
class Ask:
    """How one field is asked for.

    `step` groups fields ("model", "use", "way", "goals"); `unit` is the unit of the stored number; `advanced` fields
    stand behind "more"; `control` overrides the control that the field's type implies ("percent", "bytes", "file",
    "days", "ms", or one of `MODEL_KINDS`).
    Label: message `field.<kind>.<name>`; help: `field.<kind>.<name>.help`; a choice: `choice.<enum>.<value>`.
    """

    step: str
    unit: Unit | None = None
    advanced: bool = False
    control: str = ""


def models_of(workload: type[BaseModel]) -> frozenset[str]:
    """The kinds of the catalog's models that a workload type can run; empty where it names no model."""
    return next(
        (MODEL_KINDS[note.control] for _, _, note in asked(workload) if note.control in MODEL_KINDS), frozenset()
    )


def ask(step: str, unit: Unit | None = None, advanced: bool = False, control: str = "") -> dict[str, Any]:
    """The `json_schema_extra` of a field that the wizard shows."""
    return {_KEY: {"step": step, "unit": unit.value if unit else None, "advanced": advanced, "control": control}}


def asked(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo, Ask]]:
    """The fields of a workload type that the wizard shows, in order: its own before those that kinds have in common."""
    own = model.__annotations__
    for name, info in sorted(model.model_fields.items(), key=lambda field: field[0] not in own):
        extra = info.json_schema_extra
        note = extra.get(_KEY) if isinstance(extra, dict) else None
        if isinstance(note, dict):
            unit = Unit(str(note["unit"])) if note["unit"] else None
            yield name, info, Ask(str(note["step"]), unit, bool(note["advanced"]), str(note["control"]))
