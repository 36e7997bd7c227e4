"""Speculative decoding: what a step gives and takes, what drafts in memory, and where it stops to pay."""

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpuplanner.engine.drafters import drafter_of
from gpuplanner.engine.estimate import Estimate, Fit
from gpuplanner.engine.estimating import estimate, explain
from gpuplanner.engine.formulas.speculation import expected_tokens
from gpuplanner.engine.machines import bare
from gpuplanner.engine.search.searching import search
from gpuplanner.engine.serving_drafting import served_numbers
from gpuplanner.engine.serving_drafting_flags import drafting_flags
from gpuplanner.engine.serving_flags import DRAFTS
from gpuplanner.engine.serving_inputs import WayNumbers, stack, take
from gpuplanner.engine.serving_machine import gpu_numbers, server_numbers
from gpuplanner.engine.serving_memory import sequence_bytes
from gpuplanner.engine.serving_numbers import load_numbers, serving_numbers
from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.workload.drafted import drafted
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.serving import Server, Serving, Speculation

SMALL, LARGE, DRAFT = "meta-llama/Meta-Llama-3.1-8B", "meta-llama/Meta-Llama-3.1-70B", "meta-llama/Llama-3.2-1B"
EXPERTS = "deepseek-ai/DeepSeek-V3"
DRAFTING = [method for method in Speculation if method is not Speculation.NONE]
OF_DENSE = [method for method in DRAFTING if method is not Speculation.MTP]


@pytest.fixture
def serve(shipped_catalog, shipped_efficiencies):
    def run(model: str = SMALL, gpus: int = 1, make: Any = estimate, **fields: Any) -> Any:
        given: dict[str, Any] = {"model": ModelChoice(catalog_id=model), "concurrency": 1, "max_sequences": 512}
        workload = Serving(**{**given, **fields})
        machine = bare(shipped_catalog.gpus["nvidia-h200-sxm-141gb"], gpus)
        subject = shipped_catalog.models[model].architecture
        if workload.drafting_model:
            subject = drafted(subject, shipped_catalog.models[workload.drafting_model].architecture)
        return make(Plan(workload=workload), subject, machine, shipped_efficiencies)

    return run


def by(method: Speculation, **beside: Any) -> dict[str, Any]:
    return {"speculation": method, **({"draft_model": DRAFT} if method is Speculation.MODEL else {}), **beside}


def value(made: Estimate, metric: str) -> float:
    return made.metrics[metric].value


@example(1.0, 11)
@example(1.0 - 1e-8, 3)
@example(0.0, 3)
@given(st.floats(0, 1), st.integers(1, 64))
def test_a_step_gives_one_token_and_those_drafts_that_all_before_were_accepted_of(rate, drafts):
    found = expected_tokens(rate, float(drafts))
    assert found == pytest.approx(sum(rate**count for count in range(drafts + 1)), rel=1e-6)
    assert 1.0 <= found <= drafts + 1.0 + 1e-6
    assert np.asarray(expected_tokens(np.array([rate]), float(drafts)))[0] == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("method", OF_DENSE)
def test_more_that_is_accepted_is_quicker_and_nothing_that_is_accepted_is_slower_than_no_drafts(serve, method):
    plain = value(serve(), "tpot_s")
    times = [value(serve(**by(method, acceptance_rate=rate)), "tpot_s") for rate in (0.0, 0.2, 0.5, 0.8, 0.95, 1.0)]
    assert all(later < earlier for earlier, later in pairwise(times))
    assert times[0] > plain
    assert times[-1] < plain


@pytest.mark.parametrize("method", OF_DENSE)
def test_the_gain_fades_with_the_requests_at_work_and_turns_into_a_loss(serve, method):
    """While a step waits for memory drafts are verified for next to nothing; once it computes they cost their share.

    A draft of an eighth of the model's size has to be right more often to gain at all.
    """
    rate = 0.65 if method is Speculation.MODEL else 0.4

    def gain(concurrency: int) -> float:
        asked = {"concurrency": concurrency, "input_tokens": 200, "output_tokens": 200}
        return value(serve(**asked), "tpot_s") / value(serve(**by(method, acceptance_rate=rate), **asked), "tpot_s")

    gains = [gain(concurrency) for concurrency in (1, 32, 128, 512)]
    assert all(later < earlier for earlier, later in pairwise(gains))
    assert gains[0] > 1.1
    assert gains[-1] < 1.0


def test_what_drafting_gains_or_costs_is_said(serve):
    many = {"concurrency": 512, "input_tokens": 200, "output_tokens": 200}
    quick = serve(**by(Speculation.NGRAM, acceptance_rate=0.6))
    slow = serve(**by(Speculation.NGRAM, acceptance_rate=0.1), **many)
    assert "serving.drafting_gains" in {m.id for m in quick.remarks}
    assert "serving.drafting_costs" in {m.id for m in slow.remarks}
    for language in Language:
        translator = Translator(language)
        # What is typed has braces of its own.
        said = (m for made in (quick, slow) for m in made.remarks if m.id != "serving.start_drafting")
        assert all("{" not in translator.text(message) for message in said)


@pytest.mark.parametrize("method", OF_DENSE)
def test_what_drafts_takes_memory_and_cache_of_its_own(serve, method):
    plain, made = serve(), serve(**by(method))
    held = {p.id: p.figure.value for p in made.memory.phases[0].parts}
    looked_up = method is Speculation.NGRAM
    assert ("drafter" in held) is not looked_up
    assert (made.memory.needed.value > plain.memory.needed.value) is not looked_up
    attends = method in {Speculation.MODEL, Speculation.EAGLE}
    assert (value(made, "kv_bytes_per_token") > value(plain, "kv_bytes_per_token")) is attends
    assert (value(made, "kv_pool_tokens") < value(plain, "kv_pool_tokens")) is not looked_up
    assert (value(made, "ttft_s") > value(plain, "ttft_s")) is attends


def test_a_smaller_model_adds_its_weights_and_its_cache(serve, shipped_catalog):
    made = serve(**by(Speculation.MODEL))
    plain = serve()
    draft = shipped_catalog.models[DRAFT]
    held = next(p.figure.value for p in made.memory.phases[0].parts if p.id == "drafter")
    assert held == pytest.approx(2 * draft.parameters.value, rel=0.01)
    more = value(made, "kv_bytes_per_token") - value(plain, "kv_bytes_per_token")
    assert more == pytest.approx(
        2 * sum(g.count * g.attention.cache_elements_per_token for g in draft.architecture.groups)
    )


def test_prediction_layers_are_held_only_where_they_draft(serve, shipped_catalog):
    """DeepSeek-V3 brings one layer of 11.6 B weights in FP8; a server loads it to draft with it."""
    plain, made = serve(EXPERTS, 8), serve(EXPERTS, 8, **by(Speculation.MTP))
    held = {p.id: p.figure.value for p in made.memory.phases[0].parts}
    assert "drafter" not in {p.id for p in plain.memory.phases[0].parts}
    extra = shipped_catalog.models[EXPERTS].architecture.extra_parameters
    assert held["drafter"] * 8 == pytest.approx(extra, rel=0.1)
    assert "serving.prediction_layers_idle" in {m.id for m in plain.remarks}
    assert "serving.prediction_layers_idle" not in {m.id for m in made.remarks}
    assert value(made, "tpot_s") < value(plain, "tpot_s")


def test_a_state_is_kept_for_each_draft_that_may_be_rejected(shipped_catalog, shipped_efficiencies):
    model = shipped_catalog.models["Qwen/Qwen3-Next-80B-A3B"].architecture
    asked = {"model": ModelChoice(catalog_id="m"), "speculation": Speculation.NGRAM}
    way = WayNumbers(1.0, 1.0, 1.0)

    def held(drafts: int) -> Any:
        numbers = served_numbers(model, Serving(draft_tokens=drafts, **asked), shipped_efficiencies)
        return sequence_bytes(numbers, way, numbers.layers, 0.0)

    assert held(3) == pytest.approx(held(1) * 2)


def test_a_model_without_prediction_layers_cannot_draft_with_them(serve):
    with pytest.raises(InputError) as fault:
        serve(**by(Speculation.MTP))
    assert fault.value.message.id == "serving.no_prediction_layers"


def test_drafting_by_a_model_asks_for_one(serve):
    with pytest.raises(InputError) as fault:
        serve(speculation=Speculation.MODEL)
    assert fault.value.message.id == "serving.no_draft_model"


def test_two_vocabularies_are_told(serve):
    made = serve(**by(Speculation.MODEL, draft_model="Qwen/Qwen3-0.6B"))
    assert "serving.draft_vocabulary" in {m.id for m in made.remarks}
    assert "serving.draft_vocabulary" not in {m.id for m in serve(**by(Speculation.MODEL)).remarks}


def test_a_draft_that_is_no_smaller_than_its_model_is_told(serve):
    larger = serve(gpus=2, **by(Speculation.MODEL, draft_model=LARGE))
    assert "serving.draft_larger" in {m.id for m in larger.remarks}
    assert "serving.draft_larger" not in {m.id for m in serve(**by(Speculation.MODEL)).remarks}


@pytest.mark.parametrize("method", OF_DENSE)
def test_an_acceptance_that_is_not_stated_is_a_rule_with_a_wide_range(serve, method):
    open_, stated = serve(**by(method)), serve(**by(method, acceptance_rate=0.6))
    assert "serving.drafting_assumed" in {m.id for m in open_.remarks}
    assert "serving.drafting_assumed" not in {m.id for m in stated.remarks}

    def width(made: Estimate) -> float:
        figure = made.metrics["tpot_s"]
        return figure.high / figure.low

    assert width(open_) > width(stated) > width(serve())
    for end, rate in (("low", 1.0), ("high", 0.0)):
        # No further than if all or nothing were accepted, with the range of that.
        bound = getattr(serve(**by(method, acceptance_rate=rate)).metrics["tpot_s"], end)
        assert (getattr(open_.metrics["tpot_s"], end) - bound) * (1 if end == "low" else -1) >= 0


@pytest.mark.parametrize("server", Server)
@pytest.mark.parametrize("method", OF_DENSE)
def test_a_server_that_does_not_draft_so_says_it_and_its_figures_are_without(serve, server, method):
    plain = serve(server=server)
    made = serve(server=server, **by(method))
    said = {m.id for m in made.remarks}
    if method in DRAFTS.get(server, ()):
        assert value(made, "tpot_s") != value(plain, "tpot_s")
        assert "serving.drafting" in said
    else:
        assert value(made, "tpot_s") == value(plain, "tpot_s")
        assert said & {"serving.no_such_drafting", "serving.no_such_flag"}
        assert "serving.drafting" not in said


@pytest.mark.parametrize(
    ("server", "method", "expected"),
    [
        (Server.VLLM, Speculation.NGRAM, '--speculative-config \'{"method": "ngram", "num_speculative_tokens": 5}\''),
        (
            Server.SGLANG,
            Speculation.MTP,
            "--speculative-algorithm EAGLE --speculative-num-steps 5 --speculative-eagle-topk 1",
        ),
        (Server.TENSORRT_LLM, Speculation.MTP, "decoding_type: MTP, num_nextn_predict_layers: 5"),
        (Server.LLAMA_CPP, Speculation.MODEL, f"--model-draft {DRAFT} --draft-max 5"),
        (Server.EXLLAMA, Speculation.NGRAM, "draft_mode: ngram, draft_num_tokens: 5"),
    ],
)
def test_the_flags_that_make_a_server_draft(server, method, expected):
    workload = Serving(model=ModelChoice(catalog_id=SMALL), server=server, **by(method))
    assert expected in drafting_flags(workload, 5)


@pytest.mark.parametrize("server", Server)
def test_a_server_has_flags_for_just_what_it_drafts_with(server):
    for method in DRAFTING:
        workload = Serving(model=ModelChoice(catalog_id=SMALL), server=server, **by(method))
        if method in DRAFTS.get(server, ()):
            flags = drafting_flags(workload, 3)
            assert re.search(r"\b[34]\b", flags)
            assert (DRAFT in flags) is (method is Speculation.MODEL)
    assert drafting_flags(Serving(model=ModelChoice(catalog_id=SMALL), server=server), 3) == ""


def test_times_of_the_parts_add_up_to_a_token(serve):
    made = serve(**by(Speculation.MODEL), concurrency=16)
    assert "drafting" in {part.id for part in made.time}
    assert sum(part.figure.value for part in made.time) == pytest.approx(value(made, "tpot_s"))


def test_every_number_is_explained_down_to_what_is_known(serve):
    made = serve(**by(Speculation.EAGLE), make=explain)
    ids: set[str] = set()
    inputs: set[str] = set()
    open_: set[str] = set()

    def walk(step):
        ids.add(step.formula.id)
        for argument in step.arguments:
            if argument.step is not None:
                walk(argument.step)
            elif argument.origin is not None:
                inputs.add(argument.name)
            elif isinstance(argument.value, float) and argument.value:
                open_.add(argument.name)
        for inner in step.inner:
            walk(inner)

    walk(made.metrics["tpot_s"].derivation)
    assert {"expected_tokens", "drafting_seconds", "verified_rows", "speculative_step_seconds"} <= ids
    assert {"acceptance_rate", "draft_tokens"} <= inputs
    assert not {"drafter_passes", "drafter_s", "lookup_s", "drafter_layers"} & open_


@pytest.mark.parametrize("method", DRAFTING)
def test_arrays_give_what_floats_give(shipped_catalog, shipped_efficiencies, method):
    model = shipped_catalog.models[EXPERTS].architecture
    subject = drafted(model, shipped_catalog.models[DRAFT].architecture)
    workload = Serving(model=ModelChoice(catalog_id=EXPERTS), concurrency=40, **by(method))
    numbers = served_numbers(subject, workload, shipped_efficiencies)
    machines = [bare(shipped_catalog.gpus[gpu], 8) for gpu in ("nvidia-h200-sxm-141gb", "nvidia-b200-180gb")]
    gpus = [gpu_numbers(m, "fp8", "vllm", False, shipped_efficiencies).numbers for m in machines]
    flags = [server_numbers(workload, m.gpu, shipped_efficiencies) for m in machines]
    degrees = [(8, 1, 1, 1, 1), (8, 1, 1, 8, 8), (4, 2, 1, 1, 1), (4, 1, 2, 4, 4)]
    index = np.repeat(np.arange(2), len(degrees))
    columns = np.array(degrees * 2, dtype=float).T
    load = load_numbers(workload)
    many = serving_numbers(numbers, take(stack(gpus), index), take(stack(flags), index), load, WayNumbers(*columns))
    for row, machine in enumerate(index):
        way = WayNumbers(*(float(c[row]) for c in columns))
        one = serving_numbers(numbers, gpus[machine], flags[machine], load, way)
        for name in ("tpot_s", "ttft_s", "output_tokens_per_s", "places"):
            whole = np.broadcast_to(getattr(many, name), len(index))
            assert whole[row] == pytest.approx(getattr(one, name), rel=1e-12), name
        assert np.broadcast_to(many.memory.weight_bytes, len(index))[row] == pytest.approx(one.memory.weight_bytes)


@pytest.mark.parametrize(
    "name", [SMALL, EXPERTS, "Qwen/Qwen3-Next-80B-A3B", "google/gemma-3-27b-it", "openai/gpt-oss-120b"]
)
@pytest.mark.parametrize("method", [Speculation.EAGLE, Speculation.MEDUSA])
def test_heads_are_small_beside_their_model(shipped_catalog, shipped_efficiencies, name, method):
    model = shipped_catalog.models[name].architecture
    heads = shipped_efficiencies.constants("speculation", "heads").values
    found = drafter_of(model, method, "bf16", 3.0, heads)
    assert found is not None
    weights: int = sum(g.count * (g.attention.parameters + g.mlp.parameters) for g in found.holds.groups)
    weights += found.holds.head_parameters
    assert 0 < weights < 0.35 * shipped_catalog.models[name].parameters.value


def test_a_plan_without_drafts_is_as_it_was(shipped_catalog, shipped_efficiencies):
    """Drafts that are never accepted and cost nothing leave a token as it was but for the rows that are verified."""
    workload = Serving(model=ModelChoice(catalog_id=SMALL), concurrency=1, speculation=Speculation.NGRAM)
    numbers = served_numbers(shipped_catalog.models[SMALL].architecture, workload, shipped_efficiencies)
    machine = bare(shipped_catalog.gpus["nvidia-h200-sxm-141gb"], 1)
    gpu = gpu_numbers(machine, "bf16", "vllm", False, shipped_efficiencies).numbers
    server, load = server_numbers(workload, machine.gpu, shipped_efficiencies), load_numbers(workload)
    way = WayNumbers(1.0, 1.0, 1.0)
    plain = serving_numbers(replace(numbers, draft=None), gpu, server, load, way)
    assert numbers.draft is not None
    none = replace(numbers.draft, draft_tokens=0.0, lookup_s=0.0)
    same = serving_numbers(replace(numbers, draft=none), gpu, server, load, way)
    assert same.tpot_s == pytest.approx(plain.tpot_s, rel=1e-9)
    assert same.ttft_s == pytest.approx(plain.ttft_s, rel=1e-9)
    assert same.memory == plain.memory


def test_the_search_ranks_with_drafts_and_its_candidate_is_the_estimate(shipped_catalog, shipped_efficiencies):
    workload = Serving(model=ModelChoice(catalog_id=SMALL), concurrency=8, speculation=Speculation.EAGLE)
    plan = Plan(workload=workload)
    model = shipped_catalog.models[SMALL].architecture
    found = search(plan, model, shipped_catalog, shipped_efficiencies, {})
    best = found.candidates[0]
    made = estimate(best.plan, model, best.machine, shipped_efficiencies)
    assert made.fit is best.fit is Fit.FITS
    for metric in ("tpot_s", "ttft_s", "output_tokens_per_s"):
        assert made.metrics[metric].value == pytest.approx(best.metrics[metric], rel=1e-9)
