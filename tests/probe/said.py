"""What an inspection says, in plain values, as the lists of expected ones have it (`tests/data/probe/*.yaml`)."""

from pathlib import Path
from typing import Any

import yaml

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.record import Record
from gpuplanner.probe.inspecting import Inspection, inspect
from gpuplanner.probe.output import Output

DATA = Path(__file__).resolve().parents[1] / "data" / "probe"


def expected(name: str) -> dict[str, dict[str, Any]]:
    """By recording, what it says."""
    listed: dict[str, dict[str, Any]] = yaml.safe_load((DATA / f"{name}.yaml").read_text(encoding="utf-8"))
    return listed


def read(text: str | bytes, **known: Any) -> Inspection:
    """A pasted text, inspected."""
    return inspect(Output.of(text, "pasted", **known))


def plain(value: Any) -> Any:
    """Records as mappings, with why a value is absent."""
    if isinstance(value, Record):
        reasons = {name: lack.reason.value for name, lack in value.absent.items()}
        return {**plain(value.read()), **({"absent": reasons} if reasons else {})}
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return {key: plain(each) for key, each in value.items()} if isinstance(value, dict) else value


def said(inspection: Inspection) -> dict[str, Any]:
    """All that an inspection says, as the lists have it."""
    shown: dict[str, Any] = {"tool": inspection.tool}
    if inspection.problems:
        shown["problems"] = [f"{problem.line}: {problem.message.id}" for problem in inspection.problems]
    for section in Evidence.model_fields:
        value = getattr(inspection.evidence, section)
        if section != "looked_for" and value:
            shown[section] = plain(value if isinstance(value, tuple) else (value,))
    return shown
