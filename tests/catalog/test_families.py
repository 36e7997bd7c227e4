import json
from pathlib import Path

import pytest

from gpuplanner.catalog.architecture import Part
from gpuplanner.catalog.families import architecture_from_config, known_families
from gpuplanner.catalog.parameters import (
    active_parameters,
    language_parameters,
    parameters_by_part,
    total_parameters,
)
from gpuplanner.messages import InputError

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
    assert "perceiver9000" not in known_families()


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
