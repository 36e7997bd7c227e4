"""Models of the catalog, read from `catalogs/models/`. A model's sizes go through the same code as a `config.json`.

Raises InputError with file and entry where something cannot be used; holds nothing.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import yaml

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.entries import Model
from gpuplanner.catalog.families import architecture_from_config
from gpuplanner.catalog.families.fields import shown
from gpuplanner.catalog.networks import network_from_entry
from gpuplanner.catalog.parameters import active_parameters
from gpuplanner.facts import Fact, Known, Source
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.units import Unit

_SOURCES: Final = "sources.yaml"
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MOST_PARAMETERS = 10**15
_FIELDS = frozenset(
    (
        "id",
        "name",
        "family",
        "kind",
        "licence",
        "aliases",
        "parameters",
        "also",
        "sources",
        "note",
        "note_zh",
        "config",
        "network",
    )
)
KINDS: Final = (
    "decoder",
    "encoder",
    "encoder-decoder",
    "vision",
    "detector",
    "segmentation",
    "vision-language",
    "speech",
    "diffusion",
)
COMPUTED: Final = Source("computed", "counted from the configuration by our formulas")


def read_models(folder: Path) -> dict[str, Model]:
    """All models of a folder of YAML files by id, in the order of the files.

    Raises InputError: a file is not YAML of that form, an entry lacks or misspells something, or an id comes twice.
    """
    models: dict[str, Model] = {}
    sources = {id_: source_of(id_, entry) for id_, entry in _mapping(folder / _SOURCES, "sources").items()}
    for file in sorted(folder.glob("*.yaml")):
        if file.name == _SOURCES:
            continue
        entries = _load(file).get("models")
        if not isinstance(entries, list):
            raise _refuse(file, "models", msg("model.entry.no_list"))
        for place, entry in enumerate(entries):
            model = _checked(file, place, entry, sources)
            if model.id in models:
                raise _refuse(file, model.id, msg("model.entry.twice"))
            models[model.id] = model
    return models


def source_of(source_id: str, entry: object) -> Source:
    """A source by its key: `citation`, and where they are known `date`, `accessed` and `from_memory`."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("citation"), str):
        raise InputError(msg("model.entry.source", source=shown(source_id)))
    return Source(
        source_id,
        entry["citation"],
        str(entry.get("date") or ""),
        from_memory=entry.get("from_memory") is True,
        accessed=str(entry.get("accessed") or ""),
    )


def model_from_entry(entry: Mapping[str, Any], sources: Mapping[str, Source], *, user: bool = False) -> Model:
    """One model from its entry: its count, its sizes as a configuration, and where both come from.

    Raises InputError with a sentence on what is wrong; the caller knows the file and the line.
    """
    unknown = sorted(set(map(str, entry)) - _FIELDS)
    if unknown:
        raise InputError(msg("model.entry.unknown_field", field=shown(unknown[0])))
    id_, name, kind = (_text(entry, field) for field in ("id", "name", "kind"))
    if kind not in KINDS:
        raise InputError(msg("model.entry.kind", kind=shown(kind), known=", ".join(KINDS)))
    config = entry.get("config")
    if config is not None and not isinstance(config, Mapping):
        raise InputError(msg("model.entry.config", value=shown(config)))
    architecture = architecture_from_config(config, name) if config is not None else None
    network = entry.get("network")
    if network is not None and not isinstance(network, Mapping):
        raise InputError(msg("model.entry.network", field="", value=shown(network)))
    count = entry.get("parameters")
    others = tuple(_fact(also, sources) for also in _list(entry, "also"))
    return Model(
        id=id_,
        name=name,
        family=_text(entry, "family"),
        kind=kind,
        architecture=architecture,
        parameters=Known(_fact(count, sources), others),
        active_parameters=_active(architecture),
        aliases=tuple(str(alias) for alias in _list(entry, "aliases")),
        licence=str(entry.get("licence") or ""),
        note=str(entry.get("note") or ""),
        note_zh=str(entry.get("note_zh") or ""),
        sources=tuple(_source(source, sources) for source in _list(entry, "sources")),
        user=user,
        parameters_exact=not isinstance(count, Mapping) or count.get("exact") is not False,
        network=network_from_entry(kind, name, network) if network is not None else None,
    )


def _active(architecture: ModelArchitecture | None) -> Known | None:
    if architecture is None or not architecture.is_moe:
        return None
    return Known(Fact(float(active_parameters(architecture)), Unit.PARAMETER, COMPUTED))


def _fact(value: object, sources: Mapping[str, Source]) -> Fact:
    if not isinstance(value, Mapping):
        raise InputError(msg("model.entry.parameters", value=shown(value)))
    count = value.get("count")
    if isinstance(count, bool) or not isinstance(count, int) or not 0 < count <= _MOST_PARAMETERS:
        raise InputError(msg("model.entry.parameters", value=shown(count)))
    source = _source(value.get("source"), sources)
    note, note_zh = str(value.get("note") or ""), str(value.get("note_zh") or "")
    return Fact(float(count), Unit.PARAMETER, source, note=note, note_zh=note_zh)


def _source(name: object, sources: Mapping[str, Source]) -> Source:
    source = sources.get(name) if isinstance(name, str) else None
    if source is None:
        raise InputError(msg("model.entry.source", source=shown(name)))
    return source


def _text(entry: Mapping[str, Any], field: str) -> str:
    value = entry.get(field)
    if not isinstance(value, str) or not value.strip():
        raise InputError(msg("model.entry.missing", field=field))
    return value


def _list(entry: Mapping[str, Any], field: str) -> Sequence[Any]:
    value = entry.get(field)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InputError(msg("model.entry.list", field=field))
    return value


def _checked(file: Path, place: int, entry: object, sources: Mapping[str, Source]) -> Model:
    where = f"models[{place}]"
    if not isinstance(entry, Mapping):
        raise _refuse(file, where, msg("model.entry.mapping"))
    try:
        return model_from_entry(entry, sources)
    except InputError as error:
        raise _refuse(file, str(entry.get("id") or where), error.message) from error


def _mapping(file: Path, name: str) -> Mapping[str, Any]:
    value = _load(file).get(name)
    if not isinstance(value, Mapping):
        raise _refuse(file, name, msg("model.entry.mapping"))
    return cast("Mapping[str, Any]", value)


def _load(file: Path) -> Mapping[str, Any]:
    try:
        with file.open("rb") as stream:
            content = yaml.load(stream, Loader=_Loader)  # noqa: S506 (a safe loader in C where there is one)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise _refuse(file, f"{mark.line + 1}" if mark else "", msg("model.entry.not_yaml")) from error
    if not isinstance(content, Mapping):
        raise _refuse(file, "", msg("model.entry.mapping"))
    return cast("Mapping[str, Any]", content)


def _refuse(file: Path, place: str, why: Message) -> InputError:
    return InputError(msg("model.entry.refused", file=file.name, place=place, why=why))
