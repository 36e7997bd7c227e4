"""Faults that other estimators have: V forgotten in the KV cache, and a board of several GPUs taken for one GPU."""

import pytest

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.catalog.families import architecture_from_config
from gpuplanner.engine.arithmetic import peak_flop_per_s
from gpuplanner.engine.estimate import Estimate, Fit
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.machines import bare, choice_of
from gpuplanner.facts import Per
from gpuplanner.units import GIB
from gpuplanner.workload.arithmetic import Arithmetic
from gpuplanner.workload.by_hand import ByHand
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.precision import KvPrecision
from gpuplanner.workload.serving import Serving

BF16_BYTES = 2


@pytest.fixture
def cache_bytes(shipped_catalog, shipped_efficiencies):
    """The KV cache of one token on one GPU that holds all layers, in BF16."""

    def run(model_id: str) -> float:
        machine = bare(shipped_catalog.gpus["nvidia-b300"], 1)
        asked = {"kv_precision": KvPrecision.BF16, "tensor_parallel": 1, "pipeline_parallel": 1, "concurrency": 1}
        workload = Serving(model=ModelChoice(catalog_id=model_id), **asked)
        plan = Plan(workload=workload, machine=choice_of(machine))
        made = estimate(plan, shipped_catalog.models[model_id].architecture, machine, shipped_efficiencies)
        return made.metrics["kv_bytes_per_token"].value

    return run


@pytest.mark.parametrize(
    ("model_id", "layers", "kv_heads", "head_dim"),
    [
        ("meta-llama/Meta-Llama-3.1-8B", 32, 8, 128),
        ("meta-llama/Meta-Llama-3.1-70B", 80, 8, 128),
        ("mistralai/Mixtral-8x7B-v0.1", 32, 8, 128),
        ("Qwen/Qwen3-32B", 64, 8, 128),
        ("EleutherAI/pythia-12b", 36, 40, 128),
        ("google/gemma-2-9b", 42, 8, 256),
    ],
)
def test_the_cache_holds_keys_and_values(cache_bytes, model_id, layers, kv_heads, head_dim):
    """Grouped heads, as many KV heads as heads, mixtures and windows alike: twice what the keys alone take."""
    keys = layers * kv_heads * head_dim * BF16_BYTES
    assert cache_bytes(model_id) == 2 * keys


def test_values_that_are_narrower_than_keys_are_counted_by_their_own_width(cache_bytes):
    heads = 9 * 4 + 39 * 8
    assert cache_bytes("XiaomiMiMo/MiMo-V2-Flash") == heads * (192 + 128) * BF16_BYTES


@pytest.mark.parametrize(
    ("model_id", "index_bytes"), [("deepseek-ai/DeepSeek-V3", 0), ("deepseek-ai/DeepSeek-V3.2", 132)]
)
def test_a_latent_is_kept_once_for_keys_and_values(cache_bytes, model_id, index_bytes):
    """512 numbers and 64 of the rotary part in 61 layers; an indexer's 128 keys in FP8 with a 4-byte scale beside."""
    assert cache_bytes(model_id) == 61 * ((512 + 64) * BF16_BYTES + index_bytes)


GEMMA_4 = {
    "model_type": "gemma4_text", "architectures": ["Gemma4ForCausalLM"], "hidden_size": 2048,
    "num_hidden_layers": 35, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 256,
    "intermediate_size": 16384, "vocab_size": 262400, "max_position_embeddings": 32768, "sliding_window": 512,
}  # fmt: skip


def test_layers_that_share_keys_and_values_keep_none_of_their_own():
    """Of 35 layers 15 share: 20 keep K and V."""
    alone, shared = (
        sum(group.count * group.attention.cache_elements_per_token for group in made.groups)
        for made in (
            architecture_from_config(GEMMA_4 | {"num_kv_shared_layers": layers}, "gemma-4") for layers in (0, 15)
        )
    )
    assert alone == 35 * 2 * 2 * 256
    assert shared == 20 * 2 * 2 * 256


BOARDS = {
    "nvidia-k80": (2, 12, 4.113e12, 150.0),
    "nvidia-m60": (2, 8, 4.825e12, 150.0),
    "nvidia-a16": (4, 16, 4.493e12, 62.5),
}
"""GPUs of a board, and of one of them GiB of memory, FP32 FLOP/s and W."""


def by_hand(gpu: Gpu, count: int, efficiencies: Efficiencies, resident_gib: float = 1) -> Estimate:
    machine = bare(gpu, count)
    workload = ByHand(flops=1e15, moved_bytes=0, arithmetic=Arithmetic.FP32, resident_bytes=resident_gib * GIB)
    return estimate(Plan(workload=workload, machine=choice_of(machine)), None, machine, efficiencies)


def test_every_board_of_several_gpus_is_among_these(shipped_catalog):
    marked = {gpu.id for gpu in shipped_catalog.gpus.values() if any(r.kind == "per-board" for r in gpu.remarks)}
    assert marked == BOARDS.keys()


@pytest.mark.parametrize("gpu_id", BOARDS)
def test_a_gpu_of_a_board_has_its_own_memory_rate_and_power(shipped_catalog, gpu_id):
    on_board, memory_gib, fp32_flop_per_s, power_w = BOARDS[gpu_id]
    gpu = shipped_catalog.gpus[gpu_id]
    assert gpu.value(GpuProperty.MEMORY_BYTES) == memory_gib * GIB
    assert peak_flop_per_s(gpu, Arithmetic.FP32)[0] == pytest.approx(fp32_flop_per_s)
    assert gpu.value(GpuProperty.POWER_W) == power_w
    known = gpu.known(GpuProperty.POWER_W)
    assert known is not None
    assert [fact.value for fact in known.others if Per.BOARD in set(fact.basis)] == [on_board * power_w]


@pytest.mark.parametrize("gpu_id", BOARDS)
def test_an_estimate_on_a_board_counts_its_gpus_one_by_one(shipped_catalog, shipped_efficiencies, gpu_id):
    """One GPU works as fast, holds as much and draws as much as one does; the board is so many GPUs."""
    on_board, memory_gib, fp32_flop_per_s, power_w = BOARDS[gpu_id]
    gpu = shipped_catalog.gpus[gpu_id]
    one, board = (by_hand(gpu, count, shipped_efficiencies) for count in (1, on_board))
    assert 0.8 * memory_gib * GIB < one.memory.usable.value <= memory_gib * GIB
    assert board.memory.usable.value == one.memory.usable.value
    assert one.metrics["item_step_s"].value > 1e15 / fp32_flop_per_s
    assert board.metrics["items_per_s"].value == pytest.approx(on_board * one.metrics["items_per_s"].value)
    assert 0.5 * power_w < one.metrics["power_w"].value <= power_w
    assert board.metrics["power_w"].value == pytest.approx(on_board * one.metrics["power_w"].value)


@pytest.mark.parametrize("gpu_id", BOARDS)
def test_what_the_memory_of_a_board_would_hold_does_not_fit_one_of_its_gpus(
    shipped_catalog, shipped_efficiencies, gpu_id
):
    """Nor all of them, where each needs it: no GPU reads its neighbour's memory as its own."""
    on_board, memory_gib, *_ = BOARDS[gpu_id]
    for count in (1, on_board):
        made = by_hand(shipped_catalog.gpus[gpu_id], count, shipped_efficiencies, resident_gib=1.25 * memory_gib)
        assert made.fit is Fit.DOES_NOT_FIT
        assert made.memory.needed.value < on_board * memory_gib * GIB
