import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuplanner.catalog.architecture import Part
from gpuplanner.catalog.families import architecture_from_config
from gpuplanner.catalog.families.registry import BUILDERS
from gpuplanner.catalog.parameters import (
    active_parameters,
    language_parameters,
    parameters_by_part,
    total_parameters,
)
from gpuplanner.figures import recording
from gpuplanner.messages import InputError, Language, Translator

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
}


def test_a_llama_is_counted_to_the_last_weight():
    shape = architecture_from_config(LLAMA, "Llama 3.1 8B")
    assert shape.name == "Llama 3.1 8B"
    assert total_parameters(shape) == active_parameters(shape) == 8_030_261_248
    (group,) = shape.groups
    assert (group.count, group.attention.cache_elements_per_token, group.attention.cache_shards) == (32, 2048, 8)


def refusal(config: dict[str, object]) -> InputError:
    with pytest.raises(InputError) as caught:
        architecture_from_config(config)
    return caught.value


def test_a_family_that_is_not_known_is_refused_by_name():
    error = refusal({"model_type": "perceiver9000", "architectures": ["PerceiverLM"]})
    assert error.message.id == "model.family.unknown"
    assert "perceiver9000" in str(error.message.values["name"])


@pytest.mark.parametrize("field", sorted(set(LLAMA) - {"model_type", "max_position_embeddings", "num_key_value_heads"}))
def test_a_missing_field_is_named(field):
    error = refusal({name: value for name, value in LLAMA.items() if name != field})
    assert error.message.id == "model.field.missing"
    assert error.message.values["field"] == field


def test_every_real_configuration_is_read(shared_dir: Path):
    files = sorted((shared_dir / "facts" / "hf_configs").glob("*.json"))
    assert len(files) == 99
    for file in files:
        shape = architecture_from_config(json.loads(file.read_text(encoding="utf-8")), file.stem)
        assert sum(parameters_by_part(shape).values()) == total_parameters(shape) + shape.extra_parameters
        assert 0 < active_parameters(shape) <= language_parameters(shape)
        assert all(n >= 0 for n in parameters_by_part(shape).values()), file.stem
        assert parameters_by_part(shape)[Part.EMBEDDING] > 0


def test_a_model_without_any_family_is_refused():
    assert refusal({"hidden_size": 4}).message.id == "model.family.missing"
    assert refusal({"model_type": ["llama"]}).message.id == "model.family.not_text"


@pytest.mark.parametrize("part", ["text_config", "llm_config", "language_config"])
def test_a_known_language_model_in_an_unknown_one_is_counted_and_noted(part):
    shape = architecture_from_config({"model_type": "llava_of_mine", "vision_config": {}, part: LLAMA}, "Llava")
    assert (shape.family, shape.name, total_parameters(shape)) == ("llama", "Llava", 8_030_261_248)
    assert shape.notes == ("model.note.tower_unknown",)
    error = refusal({"model_type": "llava_of_mine", part: {"model_type": "perceiver9000"}})
    assert error.message.id == "model.family.unknown"


def test_a_family_is_also_found_by_its_class():
    shape = architecture_from_config({**LLAMA, "model_type": "my_own_name", "architectures": ["LlamaForCausalLM"]})
    assert shape.family == "llama"


@pytest.mark.parametrize(
    ("change", "message_id", "field"),
    [
        ({"num_hidden_layers": 10**9}, "model.field.range", "num_hidden_layers"),
        ({"num_hidden_layers": 0}, "model.field.range", "num_hidden_layers"),
        ({"num_hidden_layers": -3}, "model.field.range", "num_hidden_layers"),
        ({"num_hidden_layers": True}, "model.field.whole", "num_hidden_layers"),
        ({"num_hidden_layers": "32"}, "model.field.whole", "num_hidden_layers"),
        ({"num_hidden_layers": 32.0}, "model.field.whole", "num_hidden_layers"),
        ({"hidden_size": float("nan")}, "model.field.whole", "hidden_size"),
        ({"hidden_size": 4097}, "model.field.divisible", "hidden_size"),
        ({"vocab_size": 10**12}, "model.field.range", "vocab_size"),
        ({"vocab_size": 10**4000}, "model.field.range", "vocab_size"),
        ({"num_key_value_heads": 64}, "model.field.kv_heads", "num_key_value_heads"),
        ({"num_key_value_heads": 5}, "model.field.divisible", "num_attention_heads"),
        ({"tie_word_embeddings": "yes"}, "model.field.flag", "tie_word_embeddings"),
        ({"intermediate_size": [1]}, "model.field.whole", "intermediate_size"),
        ({"model_type": "mistral", "layer_types": ["full_attention"] * 3}, "model.field.short_list", "layer_types"),
        ({"model_type": "mistral", "layer_types": "full"}, "model.field.list", "layer_types"),
        ({"model_type": "mistral", "layer_types": ["x"] * 32}, "model.field.choice", "layer_types[0]"),
        ({"model_type": "mistral", "layer_types": ["sliding_attention"] * 32}, "model.field.missing", "sliding_window"),
        ({"model_type": "mixtral", "num_local_experts": 2, "num_experts_per_tok": 3}, "model.field.experts", ""),
        ({"model_type": "qwen3_vl"}, "model.field.missing", "text_config"),
        ({"model_type": "qwen3_vl", "text_config": 5}, "model.field.mapping", "text_config"),
        ({"model_type": "qwen3_vl", "text_config": {}}, "model.field.missing", "text_config.hidden_size"),
    ],
)
def test_an_impossible_value_is_refused_with_its_place(change, message_id, field):
    error = refusal({**LLAMA, **change})
    assert error.message.id == message_id
    assert error.message.values["field"] == (field or "num_experts_per_tok")
    for language in Language:
        sentence = Translator(language).text(error.message)
        assert len(sentence) < 250
        assert "\n" not in sentence


@pytest.fixture(scope="module")
def catalog_configs(project_root: Path) -> dict[str, dict[str, Any]]:
    """One configuration of each model type in the catalog."""
    configs: dict[str, dict[str, Any]] = {}
    for file in sorted((project_root / "catalogs" / "models").glob("*.yaml")):
        for model in yaml.safe_load(file.read_text(encoding="utf-8")).get("models") or ():
            if "config" in model:
                configs.setdefault(model["config"]["model_type"], model["config"])
    return configs


def places(config: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, value in config.items():
        yield (*path, name)
        if isinstance(value, dict):
            yield from places(value, (*path, name))


HOSTILE = [10**9, -1, 0, True, "x", None, float("nan"), [], {}, 10**40, [[]], 3]


def test_no_family_lets_an_impossible_configuration_through(catalog_configs):
    """Each value of each configuration replaced by each hostile one: an answer that adds up, or a sentence."""
    translator = Translator(Language.ENGLISH)
    refused = tried = 0
    for config in catalog_configs.values():
        for place in places(config):
            for value in HOSTILE:
                changed = json.loads(json.dumps(config))
                inner = changed
                for name in place[:-1]:
                    inner = inner[name]
                inner[place[-1]] = value
                tried += 1
                try:
                    shape = architecture_from_config(changed)
                except InputError as error:
                    refused += bool(translator.text(error.message))
                else:
                    parts = parameters_by_part(shape)
                    assert min(parts.values()) >= 0, (place, value)
                    assert sum(parts.values()) == total_parameters(shape) + shape.extra_parameters, (place, value)
    assert tried > 8000
    assert refused > tried / 2


def test_counting_an_architecture_can_be_explained():
    with recording() as kept:
        architecture_from_config(LLAMA)
    formulas = {step.formula.id: step.value for step in kept.steps}
    assert formulas["attention_parameters"] == 4096 * (2 * 4096 + 2 * 1024)
    assert formulas["gated_mlp_parameters"] == 3 * 4096 * 14336
    assert all(step.formula.equation for step in kept.steps)


PER_LAYER = ("layer_types", "mlp_layer_types", "moe_layer_freq", "attn_type_list", "compress_ratios", "block_configs")


@pytest.mark.parametrize("wrong", [-1, 1, 2])
def test_no_family_takes_a_list_of_layers_of_another_length(catalog_configs, wrong):
    """Whether the family reads the list or not: one entry too few, or more than the layers and the predicted ones."""
    counts = ("num_hidden_layers", "n_layer", "num_layers", "n_layers")
    predicted = ("num_nextn_predict_layers", "mtp_num_hidden_layers")
    tried: set[str] = set()
    for family, config in catalog_configs.items():
        for place in ((), ("text_config",)):
            part = config.get(place[0]) if place else config
            layers = next((part[name] for name in counts if isinstance(part, dict) and part.get(name)), None)
            if layers is None or not isinstance(part, dict):
                continue
            beyond = max(part.get(name) or 0 for name in predicted) if wrong > 0 else 0
            for name in PER_LAYER:
                changed = json.loads(json.dumps(config))
                inner = changed[place[0]] if place else changed
                if isinstance(part.get(name), int):
                    continue
                inner[name] = [part.get(name, ["full_attention"])[0]] * (layers + beyond + wrong)
                message = refusal(changed).message
                assert message.id == f"model.field.{'short' if wrong < 0 else 'long'}_list", (family, name)
                assert str(message.values["field"]).endswith(name)
                assert message.values["family"] == family or message.values["family"] in BUILDERS
                tried.add(family)
    assert len(tried) >= 35


def test_a_list_of_layers_may_name_the_predicted_ones_too():
    listed = ["full_attention"] * 33
    assert refusal({**LLAMA, "layer_types": listed}).message.id == "model.field.long_list"
    assert architecture_from_config({**LLAMA, "layer_types": listed, "num_nextn_predict_layers": 1}).layers == 32


def test_a_model_type_that_is_not_known_is_said_where_the_class_tells_the_family():
    named = {"architectures": ["LlamaForCausalLM"]}
    assert architecture_from_config({**LLAMA, **named}).notes == ()
    shape = architecture_from_config({**LLAMA, **named, "model_type": "llama_of_mine"})
    assert (shape.family, shape.notes) == ("llama", ("model.note.type_unknown",))
