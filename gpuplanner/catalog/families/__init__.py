"""From a model's configuration to its architecture, one module for each kind of design. Pure: reads no files."""

from collections.abc import Mapping
from typing import Any

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.families.fields import Fields, shown
from gpuplanner.catalog.families.registry import BUILDERS, OTHER_NAMES
from gpuplanner.catalog.families.storage import with_storage
from gpuplanner.messages import InputError, msg


def known_families() -> tuple[str, ...]:
    """The model types that can be read, sorted."""
    return tuple(sorted(BUILDERS))


def architecture_from_config(config: Mapping[str, Any], name: str = "") -> ModelArchitecture:
    """The architecture that a Hugging Face `config.json` describes; `config` is its content.

    Raises InputError: the family is not known (it is named), or a field is missing or cannot be (it is named).
    """
    family = _family(config)
    shape = BUILDERS[family](Fields(config, family)).model_copy(update={"name": name or family})
    return with_storage(shape, config)


def _family(config: Mapping[str, Any]) -> str:
    """The family by model type, then by class name; the original BERT files state neither."""
    listed = config.get("architectures")
    classes = [entry for entry in listed if isinstance(entry, str)] if isinstance(listed, list) else []
    model_type = config.get("model_type")
    if model_type is not None and not isinstance(model_type, str):
        raise InputError(msg("model.family.not_text", value=shown(model_type)))
    candidates = [model_type, *classes] if model_type else classes
    for candidate in candidates:
        family = candidate if candidate in BUILDERS else OTHER_NAMES.get(candidate)
        if family:
            return family
    if candidates:
        raise InputError(msg("model.family.unknown", name=", ".join(shown(c) for c in candidates[:3])))
    if "type_vocab_size" in config and "num_hidden_layers" in config:
        return "bert"
    raise InputError(msg("model.family.missing"))
