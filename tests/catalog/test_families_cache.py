"""KV cache and recurrent state by family, against logged pools and against the published shapes."""

import csv
import json
from pathlib import Path

import pytest

from gpuplanner.catalog.architecture import AttentionKind, ModelArchitecture
from gpuplanner.catalog.families import architecture_from_config
from gpuplanner.catalog.models import read_models

LOGGED = {
    # model as the log prints it: (catalog id, bytes of a number, over how many ranks)
    "Llama-3.1-8B": ("meta-llama/Meta-Llama-3.1-8B", 2, 1),
    "Qwen3-30B-A3B FP8 (inferred)": ("Qwen/Qwen3-30B-A3B", 1, 1),
    "Qwen3-Coder-30B-A3B": ("Qwen/Qwen3-Coder-30B-A3B-Instruct", 2, 1),
    "Mistral-Small-4-119B": ("mistralai/Mistral-Small-4-119B-2603", 2, 1),
    "Qwen3-VL-30B-A3B": ("Qwen/Qwen3-VL-30B-A3B-Instruct", 2, 1),
    "Qwen2.5-14B-AWQ": ("Qwen/Qwen2.5-14B", 2, 1),
    "R1-Distill-Qwen-7B class": ("Qwen/Qwen2.5-7B", 2, 1),
    "Qwen2.5-1.5B": ("Qwen/Qwen2.5-1.5B", 2, 1),
    "Qwen1.5-7B-GPTQ-Int4": ("Qwen/Qwen1.5-7B", 2, 1),
    "Qwen1.5-7B": ("Qwen/Qwen1.5-7B", 2, 1),
    "Qwen1.5-72B": ("Qwen/Qwen1.5-72B", 2, 2),
    "7B MHA": ("meta-llama/Llama-2-7b-hf", 2, 1),
    "Llama-3-70B": ("meta-llama/Meta-Llama-3-70B", 2, 1),
}
APART = {
    "(not named)": "the log does not name the model",
    "Kimi-K3": "logged on one of four pipeline stages, see below",
    "cosmos-reason2-2b": "logged with one layer more than its configuration has, see below",
}


@pytest.fixture(scope="module")
def shapes(project_root: Path) -> dict[str, ModelArchitecture]:
    models = read_models(project_root / "catalogs" / "models")
    return {model.id: model.architecture for model in models.values() if model.architecture}


def elements(shape: ModelArchitecture) -> int:
    """Numbers that all layers keep for each token."""
    return sum(g.count * g.attention.cache_elements_per_token for g in shape.groups)


def test_every_logged_pool(shapes, shared_dir):
    with (shared_dir / "validation" / "kv_cache.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["kv_bytes_per_token_per_gpu"]]
    seen = 0
    for row in rows:
        if row["model"] in APART:
            continue
        model_id, size, ranks = LOGGED[row["model"]]
        assert elements(shapes[model_id]) * size / ranks == int(row["kv_bytes_per_token_per_gpu"]), row["id"]
        seen += 1
    assert seen == 20


def test_kimi_k3_keeps_a_latent_in_24_of_93_layers(shapes):
    """KV19 logs 8,079 B: seven of these layers in BF16 on the last of four stages, and a little recurrent state."""
    full, linear = (
        [g for g in shapes["moonshotai/Kimi-K3"].groups if g.attention.kind is kind]
        for kind in (AttentionKind.MLA, AttentionKind.LINEAR)
    )
    assert (sum(g.count for g in full), sum(g.count for g in linear)) == (24, 69)
    assert {g.attention.cache_elements_per_token for g in full} == {576}
    assert {g.attention.cache_elements_per_token for g in linear} == {0}
    assert 7 * full[0].attention.cache_elements_per_token * 2 == pytest.approx(8079, rel=0.002)


def test_cosmos_reason_is_a_qwen3_vl_of_2b(shapes):
    """KV26 logs 118,784 B, 29 layers' worth; the configuration of the model it is made from has 28."""
    assert elements(shapes["Qwen/Qwen3-VL-2B-Instruct"]) * 2 == 114_688 == 118_784 * 28 // 29


def by_window(shape: ModelArchitecture) -> dict[int | None, tuple[int, int]]:
    """Layers and numbers for each token by window."""
    return {
        g.attention.window: (
            sum(o.count for o in shape.groups if o.attention.window == g.attention.window),
            g.attention.cache_elements_per_token,
        )
        for g in shape.groups
    }


@pytest.mark.parametrize(
    ("model_id", "expected"),
    [
        ("openai/gpt-oss-120b", {None: (18, 1024), 128: (18, 1024)}),
        ("openai/gpt-oss-20b", {None: (12, 1024), 128: (12, 1024)}),
        ("google/gemma-4-31B", {None: (10, 2 * 4 * 512), 1024: (50, 2 * 16 * 256)}),
        ("google/gemma-4-26B-A4B", {None: (5, 2 * 2 * 512), 1024: (25, 2 * 8 * 256)}),
        ("google/gemma-3-27b-it", {None: (10, 2 * 16 * 128), 1024: (52, 2 * 16 * 128)}),
        ("google/gemma-2-9b", {None: (21, 4096), 4096: (21, 4096)}),
        ("mistralai/Mistral-7B-v0.1", {4096: (32, 2048)}),
        ("mistralai/Mistral-7B-v0.3", {None: (32, 2048)}),
        ("XiaomiMiMo/MiMo-V2-Flash", {None: (9, 4 * 320), 128: (39, 8 * 320)}),
        ("meta-llama/Llama-4-Scout-17B-16E", {None: (12, 2048), 8192: (36, 2048)}),
        ("stepfun-ai/Step-3.7-Flash", {None: (12, 2048), 512: (33, 2048)}),
    ],
)
def test_layers_with_and_without_a_window(shapes, model_id, expected):
    assert by_window(shapes[model_id]) == expected


def test_latent_attention_is_copied_to_every_rank(shapes):
    for model_id in ("deepseek-ai/DeepSeek-V3", "moonshotai/Kimi-K2-Instruct", "deepseek-ai/DeepSeek-V2-Lite"):
        assert {g.attention.cache_elements_per_token for g in shapes[model_id].groups} == {576}
        assert {g.attention.cache_shards for g in shapes[model_id].groups} == {1}


def test_an_indexer_keeps_a_key_of_its_own(shapes):
    (first, *_) = shapes["deepseek-ai/DeepSeek-V3.2"].groups
    assert (first.attention.cache_elements_per_token, first.attention.index_elements_per_token) == (704, 128)
    assert first.attention.top_k_tokens == 2048
    indexed = [g.count for g in shapes["zai-org/GLM-5.2"].groups if g.attention.index_elements_per_token]
    assert sum(indexed) == 21  # of 78: the others take over the choice of the layer before


def test_the_rule_of_glm_5_2_gives_the_list_in_its_file(shapes, shared_dir):
    file = shared_dir / "facts" / "hf_configs" / "zai-org__GLM-5.2.json"
    real = architecture_from_config(json.loads(file.read_text(encoding="utf-8")))
    assert real.groups == shapes["zai-org/GLM-5.2"].groups


def test_compressed_attention_keeps_a_window_and_a_share_of_the_past(shapes):
    attention = [g.attention for g in shapes["deepseek-ai/DeepSeek-V4-Flash"].groups]
    kept = {(a.window, a.cache_elements_per_token, a.state_elements) for a in attention}
    assert kept == {(128, 512, 0), (None, 512 // 4 + 128 // 4, 128 * 512), (None, 512 // 128, 128 * 512)}


def test_hybrids_keep_a_cache_in_some_layers_and_a_state_in_the_others(shapes):
    for model_id, full, linear in (
        ("Qwen/Qwen3.5-122B-A10B", 12, 36),
        ("Qwen/Qwen3-Next-80B-A3B", 12, 36),
        ("moonshotai/Kimi-Linear-48B-A3B", 7, 20),
        ("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B", 6, 23),
        ("ai21labs/Jamba-v0.1", 4, 28),
    ):
        groups = shapes[model_id].groups
        assert sum(g.count for g in groups if g.attention.cache_elements_per_token) == full, model_id
        assert sum(g.count for g in groups if g.attention.state_elements) == linear, model_id
    # KV14: 3.0 GiB for 262,144 tokens in FP8.
    assert elements(shapes["Qwen/Qwen3.5-122B-A10B"]) * 262_144 == 3 * 2**30


def test_recurrent_states_in_the_formats_that_the_models_ask_for(shapes):
    linear = next(g.attention for g in shapes["Qwen/Qwen3-Next-80B-A3B"].groups if g.attention.state_elements)
    matrices, window = 32 * 128 * 128, (2 * 16 * 128 + 32 * 128) * 3
    assert (linear.state_elements, linear.state_bytes) == (matrices + window, 4 * matrices + 2 * window)
    assert linear.state_shards == 16


@pytest.mark.parametrize("model_id", ["google-bert/bert-large-uncased", "state-spaces/mamba-2.8b"])
def test_encoders_and_state_space_models_keep_no_cache(shapes, model_id):
    assert elements(shapes[model_id]) == 0


def test_a_decoder_that_reads_an_encoder_caches_both(shapes):
    shape = shapes["google-t5/t5-small"]
    encoder, decoder = shape.groups
    assert (encoder.encoder, encoder.attention.cache_elements_per_token, encoder.cross_attention) == (True, 0, None)
    assert decoder.cross_attention is not None
    assert decoder.attention.cache_elements_per_token == decoder.cross_attention.cache_elements_per_token == 1024
