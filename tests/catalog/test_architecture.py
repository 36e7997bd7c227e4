"""An architecture kept in a plan may be edited: sizes that no model has, and parts above the whole, are refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.families import architecture_from_config
from gpuplanner.messages import InputError, Language, Translator

CONFIG: dict[str, Any] = {
    "model_type": "mixtral", "hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 2,
    "num_hidden_layers": 4, "intermediate_size": 128, "vocab_size": 1000, "num_local_experts": 4,
    "num_experts_per_tok": 2, "max_position_embeddings": 1024,
}  # fmt: skip
HUGE = {
    "hidden_size": 2**24, "intermediate_size": 2**24, "num_local_experts": 2**16, "num_attention_heads": 2**16,
    "num_key_value_heads": 1,
}  # fmt: skip
CHANGES: dict[str, dict[str, Any]] = {
    "count": {"count": 10**9},
    "heads": {"heads": 10**400},
    "parameters": {"parameters": 10**16},
    "window": {"window": 0},
    "cache_elements_per_token": {"cache_elements_per_token": -1},
}


def content(**changes: Any) -> dict[str, Any]:
    found = architecture_from_config(CONFIG).model_dump(mode="json")
    return {**found, **changes}


def group(**changes: Any) -> dict[str, Any]:
    """The architecture with its one group's fields changed, wherever in the group they stand."""
    found = content()
    for part in (found["groups"][0], found["groups"][0]["attention"], found["groups"][0]["mlp"]):
        part.update({name: value for name, value in changes.items() if name in part})
    return found


def test_an_architecture_reads_back() -> None:
    assert ModelArchitecture.model_validate(content()) == architecture_from_config(CONFIG)


@pytest.mark.parametrize("name", ["hidden", "vocabulary", "embedding_parameters", "head_parameters", "max_positions"])
@pytest.mark.parametrize("value", [10**400, 2**63, -1])
def test_sizes_have_limits(name: str, value: int) -> None:
    with pytest.raises(ValidationError):
        ModelArchitecture.model_validate(content(**{name: value}))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_sizes_of_a_layer_have_limits(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ModelArchitecture.model_validate(group(**change))


@pytest.mark.parametrize(
    "change",
    [
        {"experts_per_token": 5},
        {"active_parameters": 10**9},
        {"shared_parameters": 10**9},
        {"index_elements_per_token": 10**6},
        {"unquantised_parameters": 10**12},
    ],
    ids=lambda change: next(iter(change)),
)
def test_no_part_is_above_its_whole(change: dict[str, Any]) -> None:
    """What is left of a whole would be negative, and with it bytes and seconds."""
    with pytest.raises(ValidationError):
        ModelArchitecture.model_validate(group(**change))


def test_layers_without_weights_are_no_model() -> None:
    nothing = {"parameters": 0, "unquantised_parameters": 0, "active_parameters": 0, "expert_parameters": 0}
    with pytest.raises(ValidationError):
        ModelArchitecture.model_validate(group(**nothing))


def test_too_many_layers_in_all_are_refused() -> None:
    found = content()
    with pytest.raises(ValidationError):
        ModelArchitecture.model_validate({**found, "groups": [{**found["groups"][0], "count": 4096}] * 2})


@pytest.mark.parametrize("name", ["name", "family", "weight_quantisation", "kv_quantisation"])
def test_names_are_not_books(name: str) -> None:
    with pytest.raises(ValidationError):
        ModelArchitecture.model_validate(content(**{name: "x" * 10_000}))


def test_a_note_is_one_that_has_a_text() -> None:
    with pytest.raises(ValidationError):
        ModelArchitecture.model_validate(content(notes=["model.note.of_nothing"]))


def test_sizes_that_are_possible_alone_and_not_together_are_refused_in_a_sentence() -> None:
    with pytest.raises(InputError) as caught:
        architecture_from_config({**CONFIG, **HUGE})
    for language in Language:
        said = Translator(language).text(caught.value.message)
        assert "mixtral" in said
        assert "parameters" in said
