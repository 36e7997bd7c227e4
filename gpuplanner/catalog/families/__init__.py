"""From a model's configuration to its architecture, one module for each kind of design. Pure: reads no files."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from gpuplanner.catalog.architecture import ModelArchitecture, Note
from gpuplanner.catalog.families.fields import Fields, shown
from gpuplanner.catalog.families.layer_lists import LANGUAGE_MODELS, check_layer_lists
from gpuplanner.catalog.families.registry import BUILDERS, OTHER_NAMES
from gpuplanner.catalog.families.storage import with_storage
from gpuplanner.messages import InputError, msg


def architecture_from_config(config: Mapping[str, Any], name: str = "") -> ModelArchitecture:
    """The architecture that a Hugging Face `config.json` describes; `config` is its content.

    Of a model that wraps a known language model in an unknown way (with an encoder for pictures or sound) the language
    model is counted, and a note says so; so does one where the class name alone is known, and the model type is not.

    Raises InputError: the family is not known (it is named), or a field is missing or cannot be (it is named).
    """
    family = _family(config)
    wrapped = None if family else _wrapped(config)
    if wrapped:
        shape = architecture_from_config(wrapped, name)
        return with_storage(shape.model_copy(update={"notes": (*shape.notes, Note.TOWER_UNKNOWN)}), config)
    if not family:
        raise _unknown(config)
    fields = Fields(config, family)
    try:
        check_layer_lists(fields)
        shape = BUILDERS[family](fields).model_copy(update={"name": name or family})
    except ValidationError as fault:
        raise _impossible(family, fault) from None
    if _is_by_class_alone(config):
        shape = shape.model_copy(update={"notes": (*shape.notes, Note.TYPE_UNKNOWN)})
    return with_storage(shape, config)


def _is_by_class_alone(config: Mapping[str, Any]) -> bool:
    """Whether a model type is stated that is not known, so that the class name alone told the family."""
    stated = config.get("model_type")
    return isinstance(stated, str) and bool(stated) and stated not in BUILDERS and stated not in OTHER_NAMES


def _names(config: Mapping[str, Any]) -> list[str]:
    """The model type, then the class names."""
    listed = config.get("architectures")
    classes = [entry for entry in listed if isinstance(entry, str)] if isinstance(listed, list) else []
    model_type = config.get("model_type")
    if model_type is not None and not isinstance(model_type, str):
        raise InputError(msg("model.family.not_text", value=shown(model_type)))
    return [model_type, *classes] if model_type else classes


def _family(config: Mapping[str, Any]) -> str:
    """The family by model type, then by class name, "" when it is not known; the original BERT files state neither."""
    names = _names(config)
    known = (name if name in BUILDERS else OTHER_NAMES.get(name, "") for name in names)
    plain_bert = not names and "type_vocab_size" in config and "num_hidden_layers" in config
    return next((family for family in known if family), "bert" if plain_bert else "")


def _wrapped(config: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The language model of a known family inside of an unknown one."""
    for name in LANGUAGE_MODELS:
        inner = config.get(name)
        if isinstance(inner, Mapping) and _family(inner):
            also = {key: config[key] for key in ("tie_word_embeddings", "torch_dtype", "dtype") if key in config}
            return {**also, **inner}
    return None


def _impossible(family: str, fault: ValidationError) -> InputError:
    """The refusal of sizes that are each possible and together make no model."""
    error = fault.errors(include_url=False)[0]
    contradiction = error.get("ctx", {}).get("error")
    if isinstance(contradiction, InputError):
        return contradiction
    place = str(error["loc"][-1]) if error["loc"] else ""
    return InputError(msg("model.family.impossible", family=family, field=place, value=shown(error.get("input"))))


def _unknown(config: Mapping[str, Any]) -> InputError:
    names = _names(config)
    if not names:
        return InputError(msg("model.family.missing"))
    return InputError(msg("model.family.unknown", name=", ".join(shown(name) for name in names[:3])))
