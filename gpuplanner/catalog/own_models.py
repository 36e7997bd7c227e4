"""A person's own model out of an overlay: a name and the content of its `config.json` are enough."""

from typing import Any

from gpuplanner.catalog.entries import Model
from gpuplanner.catalog.families import architecture_from_config
from gpuplanner.catalog.files.records import Record
from gpuplanner.catalog.files.yaml_file import plain
from gpuplanner.catalog.gpus import slug
from gpuplanner.catalog.models import model_from_entry
from gpuplanner.catalog.parameters import total_parameters
from gpuplanner.facts import Source
from gpuplanner.messages import InputError, msg, without_controls


def own_model(record: Record, source: Source) -> Model:
    """The model of an entry: a name and the content of its `config.json`; all else is taken from these when absent.

    Raises InputError: a family that is not known, a field that is missing or cannot be.
    """
    entry: dict[str, Any] = plain(record.node) if record.node else dict(record.values)
    config = entry.get("config")
    entry = {key: value if key == "config" else _printable(value) for key, value in entry.items()}
    name = str(entry.get("name") or "")
    if not name or not isinstance(config, dict):
        raise InputError(msg("overlay.model.needed"))
    count = entry.get("parameters")
    architecture = architecture_from_config(config, name)
    stated = count if isinstance(count, dict) else {"count": count or total_parameters(architecture)}
    complete = {
        "id": slug(name),
        "kind": "encoder" if architecture.role.value == "encoder" else architecture.role.value,
        "family": architecture.family,
        "sources": [source.id],
        **entry,
        "parameters": {**stated, "source": source.id},
    }
    return model_from_entry(complete, {source.id: source}, user=True)


def _printable(value: Any) -> Any:
    """A value whose texts cannot speak to a terminal, nor turn a line around, wherever they are shown."""
    if isinstance(value, str):
        return without_controls(value)
    if isinstance(value, list):
        return [_printable(item) for item in value]
    if isinstance(value, dict):
        return {key: _printable(item) for key, item in value.items()}
    return value
