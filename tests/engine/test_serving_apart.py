"""Prefill and decode on workers of their own: rates that balance, a cache that crosses, and nothing that interferes."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from gpuplanner.engine.estimate import Estimate, Fit
from gpuplanner.engine.estimating import estimate, explain
from gpuplanner.engine.machine import Host, Machine, Topology
from gpuplanner.engine.machines import bare
from gpuplanner.engine.search.searching import search
from gpuplanner.engine.serving_inputs import WayNumbers, stack, take
from gpuplanner.engine.serving_machine import gpu_numbers, server_numbers
from gpuplanner.engine.serving_model import model_numbers
from gpuplanner.engine.serving_numbers import load_numbers, serving_numbers
from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Constraints, Plan
from gpuplanner.workload.serving import Server, Serving

MODEL, H100 = "meta-llama/Meta-Llama-3.1-8B", "nvidia-h100-sxm5-80gb"
NETWORK = Host(network_bytes_per_s=50e9)


@pytest.fixture
def gpu(shipped_catalog):
    return shipped_catalog.gpus[H100]


@pytest.fixture
def serve(shipped_catalog, shipped_efficiencies, gpu):
    def run(machine: Machine | None = None, make: Any = estimate, **fields: Any) -> Any:
        given: dict[str, Any] = {
            "model": ModelChoice(catalog_id=MODEL), "tensor_parallel": 1, "pipeline_parallel": 1, "concurrency": 128,
            "disaggregated": True,
        }  # fmt: skip
        workload = Serving(**{**given, **fields})
        subject = shipped_catalog.models[MODEL].architecture
        return make(Plan(workload=workload), subject, machine or bare(gpu, 8), shipped_efficiencies)

    return run


def value(made: Estimate, metric: str) -> float:
    return made.metrics[metric].value


def said(made: Estimate, name: str) -> dict[str, Any]:
    return dict(next(m for m in made.remarks if m.id == name).values)


def test_answers_are_given_without_prompts_in_between(serve):
    together, apart = serve(disaggregated=False), serve(prefill_workers=2)
    assert "prompts" in {part.id for part in together.time}
    assert "prompts" not in {part.id for part in apart.time}
    assert sum(part.figure.value for part in apart.time) == pytest.approx(value(apart, "tpot_s"))
    assert value(apart, "tpot_s") < value(together, "tpot_s")
    assert apart.way.prefill_workers == 2
    assert apart.way.workers == "2P6D"


def test_more_workers_that_read_shorten_the_first_token_until_those_that_answer_hold_it_up(serve):
    made = [serve(prefill_workers=readers) for readers in range(1, 8)]
    first = [value(each, "ttft_s") for each in made]
    assert all(later <= earlier * (1 + 1e-6) for earlier, later in pairwise(first[:4]))
    tokens = [value(each, "tpot_s") for each in made]
    assert all(later >= earlier * (1 - 1e-3) for earlier, later in pairwise(tokens[2:]))
    rates = [value(each, "output_tokens_per_s") for each in made]
    best = rates.index(max(rates))
    assert 0 < best < 6
    open_ = serve()
    assert value(open_, "output_tokens_per_s") == pytest.approx(max(rates))
    assert open_.way.prefill_workers == best + 1


def test_long_prompts_want_more_workers_that_read_and_long_answers_more_that_answer(serve):
    long_prompts = serve(input_tokens=8000, output_tokens=100)
    long_answers = serve(input_tokens=200, output_tokens=4000)
    assert long_prompts.way.prefill_workers > long_answers.way.prefill_workers
    assert long_answers.way.prefill_workers == 1


@pytest.mark.parametrize("readers", [1, 3, 6])
@pytest.mark.parametrize("concurrency", [1, 16, 128, 1024])
def test_the_rate_is_no_more_than_either_kind_of_worker_can_do(serve, readers, concurrency):
    made = serve(prefill_workers=readers, concurrency=concurrency)
    rate, tokens = value(made, "request_per_s"), 500
    resident = rate * tokens * value(made, "tpot_s")
    assert resident <= concurrency * 1.01
    assert value(made, "output_tokens_per_s") == pytest.approx(rate * tokens)
    # Little's law over the whole request: all clients are somewhere.
    whole = value(made, "ttft_s") + tokens * value(made, "tpot_s")
    assert rate * whole == pytest.approx(concurrency, rel=0.15)


def test_a_rate_that_workers_keep_up_with_is_served_and_one_above_is_told(serve):
    slow = serve(concurrency=None, request_rate=5.0, prefill_workers=2)
    quick = serve(concurrency=None, request_rate=20.0, prefill_workers=2)
    assert value(slow, "request_per_s") == 5.0
    assert value(slow, "ttft_s") < value(quick, "ttft_s")
    assert value(slow, "tpot_s") < value(quick, "tpot_s")
    behind = serve(concurrency=None, request_rate=1e4, prefill_workers=2)
    assert "serving.saturated" in {m.id for m in behind.unmet}
    assert "ttft_s" not in behind.metrics


def test_the_cache_that_crosses_is_that_of_the_prompt_and_a_slower_link_shows_in_the_first_token(serve, gpu):
    made = serve(prefill_workers=2, input_tokens=4000)
    per_token = value(made, "kv_bytes_per_token")
    recorded = serve(prefill_workers=2, input_tokens=4000, make=explain).metrics["ttft_s"].derivation
    sent: set[float] = set()

    def walk(step):
        if step.formula.id == "send_seconds":
            sent.add(next(a.value for a in step.arguments if a.name == "payload_bytes"))
        for below in (*(a.step for a in step.arguments if a.step is not None), *step.inner):
            walk(below)

    walk(recorded)
    assert list(sent) == pytest.approx([4000 * per_token])
    # Of one client: of many the rate of those that read decides how long one waits, whatever the link.
    slow = replace(bare(gpu, 8), topology=Topology.PCIE, link_bytes_per_s=32e9)
    asked = {"prefill_workers": 2, "input_tokens": 4000, "concurrency": 1}
    assert value(serve(slow, **asked), "ttft_s") > value(serve(**asked), "ttft_s") + 0.005


def test_between_nodes_the_cache_crosses_the_network(serve, gpu):
    one = serve(prefill_workers=4)
    two = serve(replace(bare(gpu, 4, 2), host=NETWORK), prefill_workers=4)
    assert "serving.transfer_link" in {m.id for m in one.remarks}
    assert "serving.transfer_network" in {m.id for m in two.remarks}
    assert value(two, "ttft_s") > value(one, "ttft_s")
    assert value(two, "tpot_s") == pytest.approx(value(one, "tpot_s"), rel=0.02)
    with pytest.raises(InputError) as fault:
        serve(bare(gpu, 4, 2), prefill_workers=4)
    assert fault.value.message.id == "serving.transfer_unknown"


@pytest.mark.parametrize(
    ("gpus", "fields", "advice"),
    [
        (1, {}, "serving.too_few_workers_one_gpu"),
        (8, {"tensor_parallel": 8}, "serving.too_few_workers"),
        (8, {"prefill_workers": 8}, "serving.too_few_workers_smallest"),
    ],
)
def test_it_takes_a_worker_of_each_kind(serve, gpu, gpus, fields, advice):
    """What is advised can be done: no smaller degree than one, no second worker on one GPU."""
    with pytest.raises(InputError) as fault:
        serve(bare(gpu, gpus), **fields)
    assert fault.value.message.id == advice


def test_each_kind_of_worker_has_its_memory(serve):
    made = serve(prefill_workers=2)
    phases = {phase.id: {p.id: p.figure.value for p in phase.parts} for phase in made.memory.phases}
    assert phases["prefill"]["weights"] == phases["decode"]["weights"]
    assert 0 < phases["prefill"]["cache"] < phases["decode"]["cache"]
    assert made.memory.peak_phase == "decode"
    assert sum(phases["decode"].values()) == pytest.approx(made.memory.needed.value)


def test_prompts_that_wait_to_be_read_are_no_lack_of_memory(serve):
    made = serve(prefill_workers=1, input_tokens=8000, output_tokens=50)
    assert "serving.short_of_readers" in {m.id for m in made.remarks}
    assert made.fit is Fit.FITS
    short = serve(prefill_workers=4, input_tokens=200, output_tokens=4000, concurrency=4000, max_sequences=50)
    assert short.fit is Fit.TIGHT
    assert short.reason.id == "serving.waiting"


def test_servers_without_it_say_so(serve):
    for server in (Server.LLAMA_CPP, Server.EXLLAMA, Server.TRANSFORMERS, Server.LMDEPLOY):
        made = serve(server=server)
        assert made.way.prefill_workers == 0
        assert "serving.no_such_flag" in {m.id for m in made.remarks}


def test_what_is_said_reads_in_both_languages(serve):
    found = [serve(prefill_workers=readers) for readers in (1, 7)]
    assert "serving.short_of_readers" in {m.id for m in found[0].remarks}
    assert "serving.short_of_prompts" in {m.id for m in found[1].remarks}
    for language in Language:
        for message in (m for made in found for m in made.remarks):
            assert "{" not in Translator(language).text(message)


@pytest.mark.parametrize("asked", [{"concurrency": 96}, {"concurrency": 3}, {"concurrency": None, "request_rate": 8.0}])
def test_arrays_give_what_floats_give(shipped_catalog, shipped_efficiencies, asked):
    workload = Serving(model=ModelChoice(catalog_id=MODEL), disaggregated=True, **asked)
    numbers = model_numbers(shipped_catalog.models[MODEL].architecture, None, None, shipped_efficiencies)
    machines = [
        replace(bare(shipped_catalog.gpus[name], 8, nodes), host=NETWORK)
        for name in (H100, "nvidia-l40s")
        for nodes in (1, 2)
    ]
    gpus = [gpu_numbers(m, "bf16", "vllm", False, shipped_efficiencies).numbers for m in machines]
    flags = [server_numbers(workload, m.gpu, shipped_efficiencies) for m in machines]
    degrees = [(1, 1, 8, 1, 1, 1), (1, 1, 8, 1, 1, 5), (2, 1, 4, 1, 1, 2), (2, 2, 2, 1, 1, 1), (1, 1, 16, 1, 1, 4)]
    index = np.repeat(np.arange(len(machines)), len(degrees))
    columns = np.array(degrees * len(machines), dtype=float).T
    load = load_numbers(workload)
    many = serving_numbers(numbers, take(stack(gpus), index), take(stack(flags), index), load, WayNumbers(*columns))
    for row, machine in enumerate(index):
        way = WayNumbers(*(float(c[row]) for c in columns))
        one = serving_numbers(numbers, gpus[machine], flags[machine], load, way)
        for name in ("tpot_s", "ttft_s", "output_tokens_per_s", "resident", "at_work", "saturated"):
            whole = np.broadcast_to(getattr(many, name), len(index))
            assert whole[row] == pytest.approx(getattr(one, name), rel=1e-12), (name, degrees[row % len(degrees)])


def test_the_search_tries_ratios_and_its_candidate_is_the_estimate(shipped_catalog, shipped_efficiencies):
    workload = Serving(model=ModelChoice(catalog_id=MODEL), disaggregated=True, concurrency=64, tpot_goal_s=0.02)
    plan = Plan(workload=workload, constraints=Constraints(gpus=(H100,)))
    model = shipped_catalog.models[MODEL].architecture
    found = search(plan, model, shipped_catalog, shipped_efficiencies, {})
    assert found.candidates
    for candidate in found.candidates[:8]:
        assert 0 < candidate.way.prefill_workers < candidate.way.replicas
        made = estimate(candidate.plan, model, candidate.machine, shipped_efficiencies)
        assert made.way.workers == candidate.way.workers
        assert made.fit is candidate.fit
        for metric in ("tpot_s", "ttft_s", "output_tokens_per_s", "resident_sequences"):
            assert made.metrics[metric].value == pytest.approx(candidate.metrics[metric], rel=1e-3), metric


def test_the_search_without_it_does_not_divide_replicas(shipped_catalog, shipped_efficiencies):
    plan = Plan(workload=Serving(model=ModelChoice(catalog_id=MODEL), concurrency=64))
    found = search(plan, shipped_catalog.models[MODEL].architecture, shipped_catalog, shipped_efficiencies, {})
    assert all(candidate.way.prefill_workers == 0 for candidate in found.candidates)


def test_workers_of_unlike_degrees_share_out_the_gpus(serve):
    prompts = {"input_tokens": 6000, "output_tokens": 100}
    made = serve(tensor_parallel=4, prefill_tensor_parallel=1, prefill_workers=4, **prompts)
    assert (made.way.prefill_workers, made.way.replicas, made.way.prefill_tensor_parallel) == (4, 5, 1)
    assert made.way.workers == "4P1D (P: TP 1)"
    alike = serve(tensor_parallel=4, prefill_workers=1, **prompts)
    # Four GPUs read four prompts side by side without exchange, each of them slower than four GPUs together.
    assert value(made, "prefill_tokens_per_s") < value(alike, "prefill_tokens_per_s")
    assert value(made, "request_per_s") > value(alike, "request_per_s")
    phases = {phase.id: {p.id: p.figure.value for p in phase.parts} for phase in made.memory.phases}
    assert phases["prefill"]["weights"] > 3.5 * phases["decode"]["weights"]
    assert made.memory.peak_phase == "prefill"
    assert sum(phases["prefill"].values()) == pytest.approx(made.memory.needed.value)


def test_the_same_degree_said_or_not_is_the_same(serve):
    said_so, silent = serve(prefill_workers=2, prefill_tensor_parallel=1), serve(prefill_workers=2)
    for metric in ("ttft_s", "tpot_s", "output_tokens_per_s", "max_concurrency"):
        assert value(said_so, metric) == pytest.approx(value(silent, metric))


def test_a_worker_that_cannot_hold_the_model_does_not_fit(serve, shipped_catalog, shipped_efficiencies, gpu):
    name = "meta-llama/Meta-Llama-3.1-70B"
    workload = Serving(
        model=ModelChoice(catalog_id=name), disaggregated=True, tensor_parallel=4, prefill_tensor_parallel=1,
        pipeline_parallel=1, weight_precision="bf16",
    )  # fmt: skip
    model = shipped_catalog.models[name].architecture
    made = estimate(Plan(workload=workload), model, bare(gpu, 8), shipped_efficiencies)
    assert made.fit is Fit.DOES_NOT_FIT
    found = search(Plan(workload=workload), model, shipped_catalog, shipped_efficiencies, {})
    assert all(candidate.machine.gpu.id != H100 for candidate in found.candidates)


def test_the_search_of_unlike_workers_gives_what_the_estimate_gives(shipped_catalog, shipped_efficiencies):
    workload = Serving(
        model=ModelChoice(catalog_id=MODEL), disaggregated=True, concurrency=64, tensor_parallel=4,
        prefill_tensor_parallel=1,
    )  # fmt: skip
    plan = Plan(workload=workload, constraints=Constraints(gpus=(H100,)))
    model = shipped_catalog.models[MODEL].architecture
    found = search(plan, model, shipped_catalog, shipped_efficiencies, {})
    assert found.candidates
    for candidate in found.candidates[:6]:
        made = estimate(candidate.plan, model, candidate.machine, shipped_efficiencies)
        assert made.way.workers == candidate.way.workers
        assert made.fit is candidate.fit
        for metric in ("tpot_s", "ttft_s", "output_tokens_per_s"):
            assert made.metrics[metric].value == pytest.approx(candidate.metrics[metric], rel=1e-3), metric
