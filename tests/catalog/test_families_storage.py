"""How published weights are stored: precision by part, and sizes of files that are known to the last weight."""

from pathlib import Path
from typing import Any

import pytest

from gpuplanner.catalog.architecture import ModelArchitecture, Part
from gpuplanner.catalog.families import architecture_from_config
from gpuplanner.catalog.models import read_models
from gpuplanner.catalog.parameters import parameters_by_part, total_parameters

GIB = 2**30
BITS = {"bf16": 16, "fp16": 16, "fp8": 8, "mxfp4": 4.25, "nvfp4": 4.5, "int4": 4.5}
LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 96,
}


@pytest.fixture(scope="module")
def shapes(project_root: Path) -> dict[str, ModelArchitecture]:
    models = read_models(project_root / "catalogs" / "models")
    return {model.id: model.architecture for model in models.values() if model.architecture}


def stored(shape: ModelArchitecture) -> dict[Part, str]:
    wide = {entry.part: entry.precision for entry in shape.stored_parts}
    return {part: wide.get(part, shape.weight_quantisation) for part, n in parameters_by_part(shape).items() if n}


def file_bytes(shape: ModelArchitecture) -> float:
    counts = parameters_by_part(shape)
    return sum(counts[part] * BITS[precision] / 8 for part, precision in stored(shape).items())


@pytest.mark.parametrize(("model_id", "gib"), [("openai/gpt-oss-120b", 60.8), ("openai/gpt-oss-20b", 12.8)])
def test_published_sizes_of_gpt_oss(shapes, model_id, gib):
    assert file_bytes(shapes[model_id]) / GIB == pytest.approx(gib, abs=0.05)


def scales(*matrices: tuple[int, int]) -> int:
    """One scale for each block of 128 × 128."""
    return sum(-(-rows // 128) * -(-columns // 128) for rows, columns in matrices)


DEEPSEEK_ATTENTION = ((1536, 7168), (24576, 1536), (576, 7168), (32768, 512), (7168, 16384))
DEEPSEEK_INDEXER = ((8192, 1536), (128, 7168))
DEEPSEEK_DENSE = ((18432, 7168), (18432, 7168), (7168, 18432))
DEEPSEEK_EXPERT = ((2048, 7168), (2048, 7168), (7168, 2048))


@pytest.mark.parametrize(
    ("model_id", "indexer", "published"),
    [
        ("deepseek-ai/DeepSeek-V3", (), 684_531_386_000),
        ("deepseek-ai/DeepSeek-V3.2", DEEPSEEK_INDEXER, 685_396_921_376),
    ],
)
def test_all_numbers_in_the_files_of_deepseek(shapes, model_id, indexer, published):
    """Weights, the prediction layer with its copies of both tables, and the FP32 scales of all FP8 blocks."""
    shape = shapes[model_id]
    copies = shape.embedding_parameters + shape.head_parameters
    blocks = (
        62 * scales(*DEEPSEEK_ATTENTION, *indexer) + 3 * scales(*DEEPSEEK_DENSE) + 59 * 257 * scales(*DEEPSEEK_EXPERT)
    )
    assert total_parameters(shape) + shape.extra_parameters + copies + blocks == published


@pytest.mark.parametrize(
    ("config", "expected", "kv"),
    [
        ({"quant_method": "fp8"}, {Part.ATTENTION: "fp8", Part.MLP: "fp8", Part.HEAD: "bf16"}, ""),
        ({"quant_method": "awq", "bits": 4}, {Part.ATTENTION: "awq", Part.HEAD: "bf16"}, ""),
        ({"quant_method": "gptq", "bits": 4}, {Part.MLP: "gptq", Part.EMBEDDING: "bf16"}, ""),
        ({"quant_method": "gptq", "bits": 8}, {Part.MLP: "int8"}, ""),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, {Part.MLP: "nf4"}, ""),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, {Part.MLP: "int8"}, ""),
        (
            {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head", "*self_attn*"]},
            {Part.ATTENTION: "bf16", Part.MLP: "nvfp4", Part.HEAD: "bf16"},
            "fp8",
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 128}}},
                "ignore": ["lm_head", "re:.*mlp.*"],
                "kv_cache_scheme": {"num_bits": 8, "type": "float"},
            },
            {Part.ATTENTION: "int4", Part.MLP: "bf16"},
            "fp8",
        ),
        (
            {
                "quant_algo": "MIXED_PRECISION",
                "quantized_layers": {
                    "model.layers.0.self_attn.q_proj": {"quant_algo": "FP8"},
                    "model.layers.0.mlp.up_proj": {"quant_algo": "W4A16_NVFP4"},
                    "lm_head": {"quant_algo": "W4A16_NVFP4"},
                },
            },
            {Part.ATTENTION: "fp8", Part.MLP: "nvfp4", Part.HEAD: "nvfp4", Part.EMBEDDING: "bf16"},
            "",
        ),
    ],
)
def test_quantisations_as_tools_write_them(config, expected, kv):
    shape = architecture_from_config({**LLAMA, "quantization_config": config})
    found = stored(shape)
    assert {part: found[part] for part in expected} == expected
    assert found[Part.UNQUANTISED] == "bf16"
    assert shape.kv_quantisation == kv


@pytest.mark.parametrize(
    "config",
    [
        {"quant_method": "pixie-dust"},
        {},
        {"quant_method": ["fp8"]},
        "awq",
        ["fp8"],
        {"quant_method": "gptq", "bits": 3},
        {"quant_method": "gptq", "bits": "four"},
        {"quant_method": "awq", "bits": True},
        {"quant_method": "gptq", "bits": []},
        {"quant_method": "hqq", "nbits": 2},
    ],
)
def test_an_unknown_quantisation_is_noted(config: Any):
    shape = architecture_from_config({**LLAMA, "quantization_config": config})
    assert (shape.weight_quantisation, shape.notes) == ("bf16", ("model.note.quantisation_unknown",))


@pytest.mark.parametrize(("name", "precision"), [("float16", "fp16"), ("torch.float32", "fp32"), ("int7", "bf16")])
def test_the_type_of_plain_weights(name, precision):
    assert architecture_from_config({**LLAMA, "torch_dtype": name}).weight_quantisation == precision


@pytest.mark.parametrize("name", ["int7", "float8_e4m3fn", ["bfloat16"]])
def test_an_unknown_type_of_plain_weights_is_noted(name: Any):
    shape = architecture_from_config({**LLAMA, "torch_dtype": name})
    assert (shape.weight_quantisation, shape.notes) == ("bf16", ("model.note.quantisation_unknown",))
    assert architecture_from_config(LLAMA).notes == ()


def test_a_pattern_out_of_a_file_is_never_run():
    """A regular expression that would take for ever is only looked through for words."""
    evil = "re:" + "(a+)+" * 12 + "self_attn" + "(.*)*" * 12 + "$"
    config = {"quant_method": "fp8", "modules_to_not_convert": [evil] * 1000}
    shape = architecture_from_config({**LLAMA, "quantization_config": config})
    assert stored(shape)[Part.ATTENTION] == "bf16"


def test_experts_alone_may_be_quantised(shapes):
    kimi = stored(shapes["moonshotai/Kimi-K2.5"])
    assert {part for part, precision in kimi.items() if precision == "int4"} == {Part.EXPERTS}
    flash = stored(shapes["deepseek-ai/DeepSeek-V4-Flash"])
    assert (flash[Part.EXPERTS], flash[Part.ATTENTION], flash[Part.HEAD]) == ("mxfp4", "fp8", "bf16")
