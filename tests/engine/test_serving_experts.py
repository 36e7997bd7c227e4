"""Whole experts spread over GPUs and attention split by requests: memory, times, verdicts and what is said of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpuplanner.engine.estimate import Estimate, Limit
from gpuplanner.engine.estimating import estimate, explain
from gpuplanner.engine.explaining import explanation
from gpuplanner.engine.machine import Host
from gpuplanner.engine.machines import bare
from gpuplanner.engine.search.serving import ServingSpace
from gpuplanner.engine.serving_inputs import WayNumbers, stack, take
from gpuplanner.engine.serving_machine import gpu_numbers, server_numbers
from gpuplanner.engine.serving_model import model_numbers
from gpuplanner.engine.serving_numbers import load_numbers, serving_numbers
from gpuplanner.messages import Language, Translator
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.serving import Server, Serving

H200 = "nvidia-h200-sxm-141gb"
DEEPSEEK, MIXTURE, DENSE = "deepseek-ai/DeepSeek-V3", "mistralai/Mixtral-8x7B-v0.1", "meta-llama/Llama-2-70b-hf"
NETWORK = Host(network_bytes_per_s=400e9)


@pytest.fixture
def serve(shipped_catalog, shipped_efficiencies):
    def run(model: str = DEEPSEEK, count: int = 8, nodes: int = 1, **asked: Any) -> Estimate:
        machine = replace(bare(shipped_catalog.gpus[H200], count, nodes), host=NETWORK)
        workload = Serving(model=ModelChoice(catalog_id=model), **asked)
        architecture = shipped_catalog.models[model].architecture
        return estimate(Plan(workload=workload), architecture, machine, shipped_efficiencies)

    return run


def weight_bytes(made: Estimate) -> float:
    return next(part.figure.value for part in made.memory.phases[0].parts if part.id == "weights")


def seconds(made: Estimate, part: str) -> float:
    return sum(p.figure.value for p in made.time if p.id == part)


def test_spread_experts_take_less_of_each_gpu_than_whole_copies_of_the_model(serve):
    """Eight groups that attend apart hold attention eight times, but the experts once."""
    split = serve(tensor_parallel=8, attention_ranks=8, expert_parallel=True, concurrency=64)
    sliced = serve(tensor_parallel=8, attention_ranks=1, expert_parallel=False, concurrency=64)
    copies = serve(tensor_parallel=1, pipeline_parallel=1, expert_parallel=False, concurrency=64)
    assert weight_bytes(sliced) < weight_bytes(split) < 0.2 * weight_bytes(copies)
    assert (split.way.expert_parallel, split.way.data_parallel, split.way.replicas) == (8, 8, 1)


def test_latent_cache_is_not_copied_where_groups_attend_apart(serve):
    """MLA's latent is copied to each tensor-parallel rank; a rank that attends for itself keeps only its requests'."""
    asked = {"tensor_parallel": 8, "expert_parallel": True, "concurrency": 64, "input_tokens": 8000}
    copied, apart = (serve(attention_ranks=groups, **asked) for groups in (1, 8))
    held = [next(p.figure.value for p in m.memory.phases[2].parts if p.id == "cache") for m in (copied, apart)]
    assert held[1] == pytest.approx(held[0] / 8)
    assert apart.metrics["kv_bytes_per_token"].value == copied.metrics["kv_bytes_per_token"].value
    assert "serving.cache_copied" in {m.id for m in copied.remarks} - {m.id for m in apart.remarks}


@pytest.mark.parametrize(
    ("groups", "spread", "travels"), [(1, False, False), (1, True, False), (8, False, False), (8, True, True)]
)
def test_tokens_travel_to_experts_only_where_ranks_have_other_tokens_and_whole_experts(serve, groups, spread, travels):
    made = serve(tensor_parallel=8, attention_ranks=groups, expert_parallel=spread, concurrency=64)
    assert (seconds(made, "dispatch") > 0) is travels
    assert sum(p.figure.value for p in made.time) == pytest.approx(made.metrics["tpot_s"].value)
    assert all(p.limit is Limit.LINK for p in made.time if p.id == "dispatch")


def test_one_gpu_has_no_all_to_all(serve):
    made = serve(MIXTURE, count=1, expert_parallel=True, concurrency=4)
    assert made.way.expert_parallel == 1
    assert seconds(made, "dispatch") == seconds(made, "exchange") == 0


def test_a_rank_with_whole_experts_reads_and_multiplies_more_than_the_mean(serve):
    """The busiest rank decides; the more requests, the less it differs."""
    sliced, whole = (
        serve(tensor_parallel=8, attention_ranks=1, expert_parallel=spread, concurrency=8) for spread in (False, True)
    )
    assert seconds(whole, "weights_read") > 1.05 * seconds(sliced, "weights_read")
    assert weight_bytes(whole) == weight_bytes(sliced)
    few, many = (serve(tensor_parallel=8, attention_ranks=1, expert_parallel=True, concurrency=n) for n in (2, 512))
    assert len([m for m in (*few.remarks, *many.remarks) if m.id == "serving.whole_experts"]) == 2


def test_experts_over_nodes_cross_the_network(serve):
    made = serve(nodes=2, tensor_parallel=16, attention_ranks=16, expert_parallel=True, concurrency=256)
    inside = serve(tensor_parallel=8, attention_ranks=8, expert_parallel=True, concurrency=128)
    assert (made.way.expert_parallel, made.way.replicas) == (16, 1)
    assert seconds(made, "dispatch") > seconds(inside, "dispatch")
    assert {p.limit for p in made.time if p.id == "dispatch"} == {Limit.NETWORK}
    assert weight_bytes(made) < weight_bytes(inside)


@pytest.mark.parametrize(
    ("server", "flags"),
    [
        (Server.VLLM, "--tensor-parallel-size 1 --data-parallel-size 8 --enable-expert-parallel"),
        (Server.SGLANG, "--tp-size 8 --enable-dp-attention --dp-size 8 --ep-size 8"),
        (Server.TENSORRT_LLM, "--tp_size 8 --ep_size 8 enable_attention_dp: true"),
    ],
)
def test_the_flags_of_the_server_are_told(serve, server, flags):
    made = serve(server=server, tensor_parallel=8, attention_ranks=8, expert_parallel=True)
    said = next(m for m in made.remarks if m.id == "serving.start_with")
    assert said.values["flags"] == flags


def test_groups_of_tensorrt_llm_wait_for_each_others_prompts(serve):
    """Two servers differ in more than that: the same one with groups and without decides."""
    waits = {}
    for server in (Server.VLLM, Server.TENSORRT_LLM):
        first = [
            serve(server=server, tensor_parallel=8, attention_ranks=groups, concurrency=64).metrics["ttft_s"].value
            for groups in (1, 8)
        ]
        waits[server] = first[1] - first[0]
    assert waits[Server.TENSORRT_LLM] > waits[Server.VLLM] + 0.2


def test_the_start_of_a_mixtures_prompt_keeps_prompts_waiting_and_no_answers(shipped_catalog, shipped_efficiencies):
    numbers = model_numbers(shipped_catalog.models[DEEPSEEK].architecture, "fp8", None, shipped_efficiencies)
    machine = bare(shipped_catalog.gpus[H200], 8)
    workload = Serving(model=ModelChoice(catalog_id=DEEPSEEK), server=Server.SGLANG, concurrency=32)
    gpu = gpu_numbers(machine, "fp8", "sglang", False, shipped_efficiencies).numbers
    server, load = server_numbers(workload, machine.gpu, shipped_efficiencies), load_numbers(workload)
    assert gpu.prompt_moe_layer_s > 0
    with_start, without = (
        serving_numbers(numbers, g, server, load, WayNumbers(8.0, 1.0, 1.0))
        for g in (gpu, replace(gpu, prompt_moe_layer_s=0.0))
    )
    assert with_start.ttft_s > without.ttft_s + 58 * gpu.prompt_moe_layer_s
    assert with_start.output_tokens_per_s == without.output_tokens_per_s
    assert with_start.tpot_s <= without.tpot_s


@pytest.mark.parametrize(
    ("model", "key", "value"), [(DEEPSEEK, 192, 128), ("deepseek-ai/DeepSeek-V3.2", 576, 512), (DENSE, 128, 128)]
)
def test_prompts_multiply_with_keys_of_all_heads_and_answers_with_the_latent(
    shipped_catalog, shipped_efficiencies, model, key, value
):
    """DeepSeek-V3's heads are 192 and 128 wide and its latent 576 and 512; a sparse attention keeps to the latent."""
    architecture = shipped_catalog.models[model].architecture
    (kind,) = model_numbers(architecture, None, None, shipped_efficiencies).cache
    assert kind.prefill_flops_per_pair == 2 * kind.heads * (key + value)
    wide = (576, 576) if key != 128 else (128, 128)
    assert kind.flops_per_pair == 2 * kind.heads * sum(wide)


def test_experts_of_a_prompt_fill_their_tiles_and_copy_its_tokens(shipped_catalog, shipped_efficiencies):
    """1,024 tokens are 32 for each expert of DeepSeek, which take as long as 96; answers have smaller tiles."""
    whole = model_numbers(shipped_catalog.models[DEEPSEEK].architecture, "fp8", None, shipped_efficiencies)
    assert whole.expert_tile_padding == 64
    assert whole.routed_traffic_bytes == 58 * 3 * 8 * 7168 * 2
    bare_of_both = replace(whole, expert_tile_padding=0.0, routed_traffic_bytes=0.0)
    machine = bare(shipped_catalog.gpus[H200], 8)
    workload = Serving(model=ModelChoice(catalog_id=DEEPSEEK), concurrency=1, input_tokens=1024)
    gpu = gpu_numbers(machine, "fp8", "vllm", False, shipped_efficiencies).numbers
    server, load = server_numbers(workload, machine.gpu, shipped_efficiencies), load_numbers(workload)
    with_both, without = (
        serving_numbers(n, gpu, server, load, WayNumbers(8.0, 1.0, 1.0)) for n in (whole, bare_of_both)
    )
    assert with_both.prefill.compute_s > 1.5 * without.prefill.compute_s
    assert with_both.prefill.between_s > without.prefill.between_s
    assert with_both.step.compute_s == without.step.compute_s


@pytest.mark.parametrize("model", [DEEPSEEK, MIXTURE, "Qwen/Qwen3-Next-80B-A3B", "openai/gpt-oss-120b", DENSE])
@pytest.mark.parametrize("asked", [{"concurrency": 300}, {"concurrency": None, "request_rate": 4.0}])
def test_arrays_give_what_floats_give(shipped_catalog, shipped_efficiencies, model, asked):
    workload = Serving(model=ModelChoice(catalog_id=model), **asked)
    machines = [
        replace(bare(shipped_catalog.gpus[gpu], 8, nodes), host=NETWORK)
        for gpu in (H200, "nvidia-a100-pcie-80gb", "nvidia-b200-sxm-180gb")
        for nodes in (1, 2)
        if gpu in shipped_catalog.gpus
    ]
    numbers = model_numbers(shipped_catalog.models[model].architecture, None, None, shipped_efficiencies)
    found = [gpu_numbers(m, "bf16", "vllm", False, shipped_efficiencies).numbers for m in machines]
    flags = [server_numbers(workload, m.gpu, shipped_efficiencies) for m in machines]
    degrees = [(1, 1, 8, 1, 1), (8, 1, 1, 1, 1), (8, 1, 1, 1, 8), (8, 1, 1, 8, 8), (8, 1, 1, 8, 1), (16, 1, 1, 16, 16)]
    index = np.repeat(np.arange(len(machines)), len(degrees))
    columns = np.array(degrees * len(machines), dtype=float).T
    load = load_numbers(workload)
    many = serving_numbers(numbers, take(stack(found), index), take(stack(flags), index), load, WayNumbers(*columns))
    for row, machine in enumerate(index):
        way = WayNumbers(*(float(c[row]) for c in columns))
        one = serving_numbers(numbers, found[machine], flags[machine], load, way)
        for name in ("tpot_s", "ttft_s", "output_tokens_per_s", "resident"):
            whole = np.broadcast_to(getattr(many, name), len(index))
            assert whole[row] == pytest.approx(getattr(one, name), rel=1e-12), (name, degrees[row % len(degrees)])
        assert np.broadcast_to(many.memory.weight_bytes, len(index))[row] == pytest.approx(one.memory.weight_bytes)
        assert np.broadcast_to(many.step.dispatch_s, len(index))[row] == pytest.approx(one.step.dispatch_s)


def test_the_search_tries_spread_experts_and_its_candidate_says_so(shipped_catalog, shipped_efficiencies):
    machine = replace(bare(shipped_catalog.gpus[H200], 8), host=NETWORK)
    workload = Serving(model=ModelChoice(catalog_id=DEEPSEEK), concurrency=512, input_tokens=8000)
    plan = Plan(workload=workload)
    space = ServingSpace(plan, workload, shipped_catalog.models[DEEPSEEK].architecture, shipped_efficiencies)
    prepared = space.prepare(machine)
    assert prepared is not None
    (computed,) = space.compute([prepared])
    passing = np.logical_and.reduce([np.broadcast_to(c.value <= c.limit, prepared.rows) for c in computed.checks])
    best = space.candidate(machine, computed, space.best(computed, passing))
    stated = best.plan.workload
    assert isinstance(stated, Serving)
    assert stated.attention_ranks == best.way.data_parallel
    assert stated.expert_parallel is (best.way.expert_parallel > 1)
    again = estimate(best.plan, shipped_catalog.models[DEEPSEEK].architecture, best.machine, shipped_efficiencies)
    assert again.way.expert_parallel == best.way.expert_parallel
    assert again.metrics["tpot_s"].value == pytest.approx(best.metrics["tpot_s"])


def test_an_explanation_shows_the_way_of_the_tokens(shipped_catalog, shipped_efficiencies):
    machine = bare(shipped_catalog.gpus[H200], 8)
    workload = Serving(
        model=ModelChoice(catalog_id=DEEPSEEK), tensor_parallel=8, attention_ranks=8, expert_parallel=True
    )
    model = shipped_catalog.models[DEEPSEEK].architecture
    made = explain(Plan(workload=workload), model, machine, shipped_efficiencies)
    dispatch = next(part for part in made.time if part.id == "dispatch").figure
    rows = list(explanation(dispatch))
    assert {r.formula.id for r in rows if r.formula} >= {
        "dispatch_seconds", "spanning_all_to_all_seconds", "dispatch_bytes", "busiest_rank_tokens",
    }  # fmt: skip
    numbers = [r for r in rows if r.formula is None and isinstance(r.value, int | float) and r.value not in {0, 1}]
    assert sorted({r.term for r in numbers if r.origin is None}) == []
    for language in Language:
        assert Translator(language).has("part.dispatch")
