"""Serving estimates: what must hold whatever the efficiencies are, and the faults that others have made."""

import time
from dataclasses import fields, replace
from itertools import pairwise
from math import inf
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpuplanner.catalog.architecture import Role
from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.engine.estimate import Estimate, Fit, Limit
from gpuplanner.engine.estimating import explain
from gpuplanner.engine.formulas.collectives import network_send_seconds, send_seconds
from gpuplanner.engine.formulas.serving_time import decode_rows
from gpuplanner.engine.links import Collective, reach
from gpuplanner.engine.machine import Host
from gpuplanner.engine.machines import bare, rented
from gpuplanner.engine.serving import estimate_serving
from gpuplanner.engine.serving_choice import ways_on
from gpuplanner.engine.serving_machine import arithmetic, usable_bytes
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Certainty, Rung
from gpuplanner.messages import InputError, Language, Message, Translator
from gpuplanner.units import GB, GIB, Display, show_bytes
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.precision import KvPrecision, WeightPrecision
from gpuplanner.workload.serving import Server, Serving

LLAMA_8B = "meta-llama/Meta-Llama-3.1-8B"
LLAMA_70B = "meta-llama/Meta-Llama-3.1-70B"
MIXTURE = "mistralai/Mixtral-8x7B-v0.1"
H100 = "nvidia-h100-sxm5-80gb"
NETWORK = Host(network_bytes_per_s=400 * GB)


@pytest.fixture
def serve(shipped_catalog, shipped_efficiencies):
    def run(model: str = LLAMA_8B, gpu: str = H100, count: int = 1, nodes: int = 1, **asked: Any) -> Estimate:
        machine = replace(bare(shipped_catalog.gpus[gpu], count, nodes), host=NETWORK)
        workload = Serving(model=ModelChoice(catalog_id=model), **asked)
        return estimate_serving(
            Plan(workload=workload), shipped_catalog.models[model].architecture, machine, shipped_efficiencies
        )

    return run


def value(made: Estimate, metric: str) -> float:
    return made.metrics[metric].value


def test_the_parts_of_a_step_are_the_time_per_token(serve):
    made = serve(LLAMA_70B, count=8, concurrency=64)
    assert sum(part.figure.value for part in made.time) == pytest.approx(value(made, "tpot_s"))
    assert sum(share for _, share in made.limits) == pytest.approx(1)
    assert {part.id for part in made.time} >= {
        "weights_read",
        "multiply",
        "cache_read",
        "exchange",
        "launch",
        "prompts",
    }


def test_phases_add_up_and_need_is_the_largest(serve):
    made = serve()
    for phase in made.memory.phases:
        assert sum(part.figure.value for part in phase.parts) == pytest.approx(phase.total.value)
    peak = max(made.memory.phases, key=lambda phase: phase.total.value)
    assert peak.id == made.memory.peak_phase
    assert made.memory.needed.value == pytest.approx(peak.total.value)
    assert made.memory.needed.value < made.memory.reserved.value <= made.memory.usable.value


def test_every_range_holds_its_value_and_says_why(serve):
    made = serve(LLAMA_70B, count=8, concurrency=200)
    for name, figure in made.metrics.items():
        assert figure.low <= figure.value <= figure.high, name
        assert figure.exact or (figure.why is not None and figure.rung is not None), name


def test_weights_left_in_host_memory_make_room_and_cost_time(serve):
    """5 GiB over PCIe 5 in every pass are 97 ms, whatever the batch is; each of two stages reads its own."""
    plain, moved = (serve(count=2, pipeline_parallel=2, cpu_offload_bytes=size) for size in (0, 5 * GIB))
    assert value(moved, "kv_pool_tokens") > value(plain, "kv_pool_tokens")
    fetch = next(part for part in moved.time if part.id == "fetch")
    assert fetch.figure.value == pytest.approx(2 * 5 * GIB / (63e9 * 0.88), rel=0.01)
    assert fetch.limit is Limit.LINK
    assert value(moved, "tpot_s") > value(plain, "tpot_s") + fetch.figure.value
    assert value(moved, "ttft_s") > value(plain, "ttft_s") + fetch.figure.value
    assert "fetch" not in {part.id for part in plain.time}


@pytest.mark.parametrize(("tensor", "pipeline"), [(3, 1), (5, None), (1, 33)])
def test_degrees_that_heads_or_layers_do_not_divide_into_are_refused(serve, tensor, pipeline):
    with pytest.raises(InputError) as raised:
        serve(count=64, tensor_parallel=tensor, pipeline_parallel=pipeline)
    assert raised.value.message.id == "serving.no_layout"


def test_requests_longer_than_the_limit_are_told(serve):
    said = [message.id for message in serve(max_length=100).unmet]
    assert said == ["serving.longer_than_limit"]
    assert serve(max_length=2500, input_tokens=2000, output_tokens=500).unmet == ()


@pytest.mark.parametrize(
    ("gpu", "precision", "told"), [("nvidia-t4", "bf16", True), ("nvidia-t4", "fp16", False), (H100, "bf16", False)]
)
def test_a_gpu_without_bf16_is_told_that_fp16_is_taken(serve, gpu, precision, told):
    made = serve(gpu=gpu, count=2, weight_precision=precision, concurrency=1)
    assert ("serving.no_bf16" in {message.id for message in made.remarks}) is told


@pytest.mark.parametrize(("model", "said"), [(MIXTURE, "serving.whole_experts"), (LLAMA_8B, "serving.no_experts")])
def test_expert_parallelism_says_what_it_changes(serve, model, said):
    plain, spread = (serve(model, count=4, tensor_parallel=4, expert_parallel=asked) for asked in (False, True))
    assert said in {message.id for message in spread.remarks} - {message.id for message in plain.remarks}
    assert (plain.way.expert_parallel, spread.way.expert_parallel) == (1, 4 if model == MIXTURE else 1)


def test_shapes_and_formats_alone_are_exact(serve):
    made = serve()
    assert made.metrics["kv_bytes_per_token"].exact
    weights = next(part for part in made.memory.phases[0].parts if part.id == "weights")
    assert weights.figure.certainty is Certainty.EXACT


@pytest.mark.parametrize("model", [LLAMA_8B, MIXTURE, "openai/gpt-oss-120b", "Qwen/Qwen3-32B"])
@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    concurrency=st.integers(1, 2000),
    more=st.integers(1, 2000),
    prompt=st.integers(16, 20_000),
    answer=st.integers(2, 4000),
)
def test_more_clients_never_make_a_request_quicker(serve, model, concurrency, more, prompt, answer):
    asked = {"input_tokens": prompt, "output_tokens": answer, "tensor_parallel": 4}
    few = serve(model, count=4, concurrency=concurrency, **asked)
    many = serve(model, count=4, concurrency=concurrency + more, **asked)
    if few.fit is Fit.DOES_NOT_FIT:
        assert many.fit is Fit.DOES_NOT_FIT
        return
    assert value(many, "request_s") >= value(few, "request_s") * (1 - 1e-9)
    assert value(many, "tpot_s") >= value(few, "tpot_s") * (1 - 1e-9)
    assert many.memory.needed.value >= few.memory.needed.value * (1 - 1e-9)


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(prompt=st.integers(16, 100_000), longer=st.integers(1, 20_000), answer=st.integers(2, 2000))
def test_longer_prompts_take_longer_and_more_memory(serve, prompt, longer, answer):
    short, long = (
        serve(gpu="nvidia-h200-sxm-141gb", input_tokens=tokens, output_tokens=answer, concurrency=8)
        for tokens in (prompt, prompt + longer)
    )
    assert value(long, "ttft_s") > value(short, "ttft_s")
    assert value(long, "tpot_s") >= value(short, "tpot_s")
    assert long.memory.needed.value >= short.memory.needed.value


def test_a_larger_model_takes_longer(serve):
    small, middle, large = (
        serve(model, count=4, tensor_parallel=4, concurrency=16) for model in (LLAMA_8B, "Qwen/Qwen3-32B", LLAMA_70B)
    )
    assert value(small, "tpot_s") < value(middle, "tpot_s") < value(large, "tpot_s")
    assert small.memory.needed.value < middle.memory.needed.value < large.memory.needed.value


def test_client_concurrency_is_not_the_resident_batch(serve):
    made = serve(LLAMA_70B, count=4, concurrency=5000, input_tokens=4000, output_tokens=1000, tensor_parallel=4)
    assert made.fit is Fit.TIGHT
    assert made.reason.id == "serving.waiting"
    assert value(made, "resident_sequences") == made.reason.values["resident"] < 300
    alone = serve(LLAMA_70B, count=4, concurrency=100, input_tokens=4000, output_tokens=1000, tensor_parallel=4)
    assert value(made, "ttft_s") > 10 * value(alone, "ttft_s")


def test_the_time_per_token_leaves_the_first_out(serve):
    made = serve(input_tokens=30_000, output_tokens=10, concurrency=1)
    assert value(made, "ttft_s") > 20 * value(made, "tpot_s")
    whole = value(made, "ttft_s") + 9 * value(made, "tpot_s")
    assert value(made, "request_s") == pytest.approx(whole)


def test_all_experts_are_resident_and_few_are_read_by_one_request(serve):
    one = serve(MIXTURE, gpu="nvidia-h200-sxm-141gb", count=1, concurrency=1)
    many = serve(MIXTURE, gpu="nvidia-h200-sxm-141gb", count=1, concurrency=64)
    weights = one.memory.phases[0].parts[0].figure.value
    assert weights == pytest.approx(46.7e9 * 2, rel=0.01)
    reading = {
        made.way.replicas: part.figure.value for made in (one,) for part in made.time if part.id == "weights_read"
    }
    all_read = next(part.figure.value for part in many.time if part.id == "weights_read")
    assert reading[1] < 0.4 * all_read


def test_an_encoder_keeps_no_cache(serve, shipped_catalog):
    encoder = next(
        key
        for key, model in shipped_catalog.models.items()
        if model.architecture is not None and model.architecture.role is Role.ENCODER
    )
    made = serve(encoder, input_tokens=400, output_tokens=1, concurrency=8)
    assert "kv_pool_tokens" not in made.metrics
    assert "serving.no_cache" in {message.id for message in made.remarks}
    assert "cache" not in {part.id for phase in made.memory.phases for part in phase.parts}


def test_an_unknown_gpu_has_no_default(serve, shipped_catalog, shipped_efficiencies):
    """Others plan a GPU that they do not know as an H200."""
    gpu = shipped_catalog.gpus["nvidia-a40"]
    bare_of_facts = replace(gpu, properties={GpuProperty.MEMORY_BYTES: gpu.properties[GpuProperty.MEMORY_BYTES]})
    model = shipped_catalog.models[LLAMA_8B].architecture
    with pytest.raises(MissingFactError) as raised:
        estimate_serving(
            Plan(workload=Serving(model=ModelChoice(catalog_id=LLAMA_8B))),
            model,
            bare(bare_of_facts, 1),
            shipped_efficiencies,
        )
    assert raised.value.subject == "A40"


def test_usable_memory_is_less_than_what_is_sold(shipped_catalog, shipped_efficiencies):
    for gpu in shipped_catalog.gpus.values():
        if gpu.known(GpuProperty.MEMORY_BYTES):
            assert usable_bytes(gpu, shipped_efficiencies) < 1.05 * gpu.value(GpuProperty.MEMORY_BYTES)
    assert usable_bytes(shipped_catalog.gpus["nvidia-rtx-3090"], shipped_efficiencies) / GIB == pytest.approx(
        23.58, 0.01
    )


@pytest.mark.parametrize(
    ("gpu", "precision", "variant"),
    [
        (H100, "fp8", "fp8"),
        ("nvidia-a100-sxm4-80gb", "fp8", "weight only"),
        ("nvidia-b200-180gb", "nvfp4", "fp4"),
        (H100, "nvfp4", "weight only"),
        (H100, "awq", "weight only"),
        ("nvidia-t4", "bf16", "bf16"),
        ("nvidia-a100-sxm4-80gb", "int8", "int8"),
    ],
)
def test_a_format_runs_in_the_arithmetic_that_the_gpu_has(shipped_catalog, gpu, precision, variant):
    assert arithmetic(shipped_catalog.gpus[gpu], precision, Server.VLLM.value).variant == variant


def test_formats_that_are_converted_are_told(serve):
    """Fewer bytes make a token quicker; prompts gain nothing."""
    asked = {"gpu": "nvidia-a100-sxm4-80gb", "concurrency": 1}
    made = serve(weight_precision=WeightPrecision.FP8, **asked)
    assert "serving.converted" in {message.id for message in made.remarks}
    assert value(made, "tpot_s") < value(serve(**asked), "tpot_s")
    assert value(made, "ttft_s") >= value(serve(**asked), "ttft_s")


def test_layers_over_several_cards_give_room_and_no_speed(serve):
    asked = {"server": Server.LLAMA_CPP, "weight_precision": WeightPrecision.Q4_K_M, "concurrency": 1}
    one, four = (serve(LLAMA_8B, "nvidia-rtx-3090", count, pipeline_parallel=count, **asked) for count in (1, 4))
    assert value(four, "tpot_s") == pytest.approx(value(one, "tpot_s"), rel=0.05)
    assert four.memory.needed.value < one.memory.needed.value
    assert "serving.layer_split" in {message.id for message in four.remarks}


@pytest.mark.parametrize("server", Server)
def test_every_server_serves(serve, server):
    made = serve(server=server, concurrency=4)
    assert made.fit is not Fit.DOES_NOT_FIT
    assert value(made, "tpot_s") > 0
    assert made.memory.reserved.value <= made.memory.usable.value * 1.001


@pytest.mark.parametrize("precision", WeightPrecision)
def test_every_format_is_served(serve, precision):
    made = serve(weight_precision=precision, concurrency=2)
    assert value(made, "tpot_s") > 0


@pytest.mark.parametrize("precision", KvPrecision)
def test_every_cache_format_is_served(serve, precision):
    made = serve(kv_precision=precision, concurrency=2)
    assert 0 < value(made, "kv_bytes_per_token") <= 2 * 131_072


def test_graphs_are_worth_their_memory(serve):
    quick, eager = serve(concurrency=1), serve(concurrency=1, eager=True)
    assert value(eager, "tpot_s") > value(quick, "tpot_s")
    assert value(eager, "kv_pool_tokens") > value(quick, "kv_pool_tokens")


def test_copies_of_the_cache_are_told_when_ranks_exceed_its_heads(serve):
    made = serve("Qwen/Qwen3-30B-A3B", count=8, tensor_parallel=8)
    assert "serving.cache_copied" in {message.id for message in made.remarks}
    half = serve("Qwen/Qwen3-30B-A3B", count=8, tensor_parallel=4)
    assert value(made, "kv_bytes_per_token") == value(half, "kv_bytes_per_token")


def test_a_rate_is_served_until_it_cannot_be(serve):
    calm = serve(concurrency=None, request_rate=0.5)
    busy = serve(concurrency=None, request_rate=8.0)
    flooded = serve(concurrency=None, request_rate=1000.0)
    assert value(calm, "request_per_s") == pytest.approx(0.5)
    assert value(busy, "ttft_s") > value(calm, "ttft_s")
    assert value(busy, "resident_sequences") > value(calm, "resident_sequences")
    assert "tpot_s" not in flooded.metrics
    assert "serving.saturated" in {message.id for message in flooded.unmet}


def test_rate_and_clients_agree(serve):
    """A rate that so many clients lead to keeps as many requests at work."""
    closed = serve(concurrency=32)
    opened = serve(concurrency=None, request_rate=value(closed, "request_per_s"))
    assert value(opened, "resident_sequences") == pytest.approx(32, rel=0.15)


def test_missed_goals_are_told(serve):
    made = serve(ttft_goal_s=1e-4, tpot_goal_s=1e-4)
    assert {message.id for message in made.unmet} == {"serving.missed.ttft_s", "serving.missed.tpot_s"}


def test_goals_choose_the_way(serve):
    slack = serve(LLAMA_70B, count=8, concurrency=64)
    strict = serve(LLAMA_70B, count=8, concurrency=64, tpot_goal_s=value(slack, "tpot_s") * 0.7)
    assert strict.way.tensor_parallel >= slack.way.tensor_parallel


def test_a_model_that_needs_two_nodes_gets_them(serve):
    one = serve("meta-llama/Meta-Llama-3.1-405B", count=8, concurrency=4)
    two = serve("meta-llama/Meta-Llama-3.1-405B", count=8, nodes=2, concurrency=4)
    assert one.fit is Fit.DOES_NOT_FIT
    assert two.fit is not Fit.DOES_NOT_FIT
    assert two.way.tensor_parallel * two.way.pipeline_parallel == 16


def test_exchange_over_a_slow_link_is_what_limits(serve):
    made = serve(LLAMA_70B, "nvidia-rtx-3090", 8, tensor_parallel=8, concurrency=64)
    assert made.limits[0][0] is Limit.LINK


def test_replicas_share_the_clients(serve):
    made = serve(count=8, concurrency=256, tensor_parallel=1)
    assert made.way.replicas == 8
    assert value(made, "resident_sequences") == 256
    alone = serve(count=1, concurrency=32, tensor_parallel=1)
    assert value(made, "output_tokens_per_s") == pytest.approx(8 * value(alone, "output_tokens_per_s"))


def test_a_layout_that_cannot_be_is_refused(serve):
    with pytest.raises(InputError) as refused:
        serve(count=4, tensor_parallel=16)
    assert refused.value.message.id == "serving.no_layout"


def test_every_model_of_the_catalog_is_estimated(shipped_catalog, shipped_efficiencies):
    machine = replace(bare(shipped_catalog.gpus["nvidia-h200-sxm-141gb"], 8, 4), host=NETWORK)
    for key, model in shipped_catalog.models.items():
        if model.architecture is None:
            continue
        plan = Plan(workload=Serving(model=ModelChoice(catalog_id=key), concurrency=4))
        made = estimate_serving(plan, model.architecture, machine, shipped_efficiencies)
        assert made.memory.needed.value > 0, key
        assert all(figure.low >= 0 and figure.value < inf for figure in made.metrics.values()), key


def test_every_gpu_of_the_catalog_is_estimated_or_says_what_it_lacks(shipped_catalog, shipped_efficiencies):
    plan = Plan(workload=Serving(model=ModelChoice(catalog_id="Qwen/Qwen3-0.6B"), concurrency=4))
    model = shipped_catalog.models["Qwen/Qwen3-0.6B"].architecture
    served, lacking = 0, []
    for gpu in shipped_catalog.gpus.values():
        try:
            made = estimate_serving(plan, model, bare(gpu, 1), shipped_efficiencies)
        except MissingFactError as error:
            lacking.append((error.subject, gpu.name))
            continue
        served += 1
        assert made.metrics["tpot_s"].value > 0, gpu.id
    assert all(subject == name for subject, name in lacking)
    assert served > 100


def test_rungs_follow_the_evidence(serve):
    assert serve().metrics["tpot_s"].rung is Rung.SAME_GPU
    assert serve(gpu="nvidia-h100-pcie-80gb").metrics["tpot_s"].rung is Rung.SAME_ARCHITECTURE
    assert serve(gpu="amd-mi300x").metrics["tpot_s"].rung is Rung.OTHER_ARCHITECTURE
    spreads = [
        figure.high / figure.low
        for figure in (serve(gpu=gpu).metrics["tpot_s"] for gpu in (H100, "nvidia-h100-pcie-80gb", "amd-mi300x"))
    ]
    assert all(wider >= nearer * (1 - 1e-9) for nearer, wider in pairwise(spreads))


def test_every_figure_is_explained_in_both_languages(shipped_catalog, shipped_efficiencies):
    machine = bare(shipped_catalog.gpus[H100], 8)
    plan = Plan(workload=Serving(model=ModelChoice(catalog_id=LLAMA_70B), concurrency=200))
    made = explain(plan, shipped_catalog.models[LLAMA_70B].architecture, machine, shipped_efficiencies)
    for name in ("ttft_s", "tpot_s", "output_tokens_per_s", "kv_pool_tokens", "kv_bytes_per_token", "max_concurrency"):
        step = made.metrics[name].derivation
        assert step is not None, name
        assert step.value == made.metrics[name].value
    for language in Language:
        translator = Translator(language)
        for step in (part.figure.derivation for part in made.time):
            assert step is not None
            assert translator.has(f"formula.{step.formula.id}")
            assert all(translator.has(f"term.{argument.name}") for argument in step.arguments)


@pytest.mark.alone
def test_an_estimate_takes_less_than_a_millisecond(shipped_catalog, shipped_efficiencies):
    """The fastest of many, since the machine that tests run on is shared."""
    machine = bare(shipped_catalog.gpus[H100], 1)
    plan = Plan(workload=Serving(model=ModelChoice(catalog_id=LLAMA_8B)))
    model = shipped_catalog.models[LLAMA_8B].architecture
    best = inf
    for _ in range(60):
        start = time.perf_counter()
        estimate_serving(plan, model, machine, shipped_efficiencies)
        best = min(best, time.perf_counter() - start)
    assert best < 1e-3


def test_ways_use_all_gpus(shipped_catalog):
    machine = replace(bare(shipped_catalog.gpus[H100], 8, 2), host=NETWORK)
    model = shipped_catalog.models[LLAMA_70B].architecture
    ways = ways_on(machine, model, Serving(model=ModelChoice(catalog_id=LLAMA_70B)))
    assert {way.tensor_parallel * way.pipeline_parallel * way.replicas for way in ways} == {16.0}
    assert all(f.name for way in ways for f in fields(way))


def test_what_needs_less_than_there_is_and_does_not_fit_says_what_the_server_may_use(serve):
    made = serve(LLAMA_70B, weight_precision="fp8", concurrency=1, input_tokens=2000, output_tokens=500)
    assert made.fit is Fit.DOES_NOT_FIT
    assert made.memory.needed.value < made.memory.usable.value
    assert made.reason.id == "serving.may_start"  # the pool lacks less than its range
    reason = made.reason.values["reason"]
    assert isinstance(reason, Message)
    assert reason.id == "serving.share_too_small"
    share, least = (float(str(reason.values[name]).rstrip("% ")) for name in ("share", "least"))
    assert 50 < share < least <= 100
    assert reason.values["budget"] == str(show_bytes(share / 100 * made.memory.usable.value, Display()))
    for language in Language:
        text = Translator(language).text(made.reason)
        assert str(reason.values["budget"]) in text
        assert str(reason.values["share"]) in text


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"model": LLAMA_8B, "input_tokens": 460_000, "output_tokens": 100}, "serving.share_too_small"),
        ({"model": LLAMA_8B, "max_length": 900_000}, "serving.one_request_too_long"),
        ({"model": LLAMA_8B, "memory_utilisation": 0.15}, "serving.share_below_weights"),
    ],
)
def test_what_does_not_fit_with_bytes_to_spare_says_which_need_is_not_met(serve, asked, reason):
    """The weights fit: what is short is the pool, told in tokens of those that one request needs."""
    made = serve(**{"concurrency": 1, **asked})
    assert made.fit is Fit.DOES_NOT_FIT
    if made.memory.free <= 0:
        pytest.fail("the case is about bytes that stay free")
    assert made.reason.id == reason
    length = asked.get("max_length", asked.get("input_tokens", 2000) + asked.get("output_tokens", 500))
    held = made.reason.values.get("held", 0)
    assert 0 <= held < length
    if reason != "serving.share_below_weights":
        assert held == pytest.approx(value(made, "kv_pool_tokens"), rel=0.01)
    for language in Language:
        text = Translator(language).text(made.reason)
        assert f"{length:,}" in text
        assert f"{held:,}" in text


@pytest.mark.parametrize(("instance", "bytes_per_s"), [("aws/p5.4xlarge", 100e9 / 8), ("gcp/a3-highgpu-1g", 25e9 / 8)])
def test_stages_on_two_nodes_hand_over_through_the_network(
    shipped_catalog, shipped_efficiencies, instance, bytes_per_s
):
    """The difference to two GPUs of one node is what the network takes for the hidden states of all requests."""
    two = replace(rented(shipped_catalog.instances[instance], 1, shipped_catalog.gpus, {}), nodes=2)
    assert two.host.network_bytes_per_s == bytes_per_s
    one = bare(two.gpu, 2)
    workload = Serving(model=ModelChoice(catalog_id=LLAMA_8B), tensor_parallel=1, pipeline_parallel=2, concurrency=64)
    model = shipped_catalog.models[LLAMA_8B].architecture
    ran = [estimate_serving(Plan(workload=workload), model, m, shipped_efficiencies) for m in (two, one)]
    across, inside = (next(p.figure.value for p in made.time if p.id == "exchange") for made in ran)
    wide = reach(shipped_efficiencies, two.gpu, Collective.SEND, "network")
    link = reach(shipped_efficiencies, two.gpu, Collective.SEND, "switched")
    rows = decode_rows(float(value(ran[0], "resident_sequences")), 2.0, 1.0)
    payload = rows * model.hidden * 2
    network_s = float(network_send_seconds(payload, bytes_per_s, wide.efficiency, wide.latency_s))
    link_s = float(send_seconds(payload, one.link_bytes_per_s or inf, link.efficiency, link.latency_s))
    assert across == pytest.approx(network_s, rel=1e-6)
    assert inside == pytest.approx(link_s, rel=1e-6)


@pytest.mark.parametrize("server", Server)
@pytest.mark.parametrize("load", [{"concurrency": 32}, {"concurrency": 4000}, {"request_rate": 3.0}])
def test_no_range_passes_the_requests_that_there_can_be(serve, server, load):
    made = serve(server=server, **{"concurrency": None} | load)
    at_work = made.metrics.get("resident_sequences")
    if at_work is None:
        return
    assert at_work.high <= load.get("concurrency", at_work.high)
    assert 0 < at_work.low <= at_work.value <= at_work.high
    if at_work.value == load.get("concurrency"):
        assert at_work.exact
