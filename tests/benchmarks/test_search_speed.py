"""How fast a search computes: configurations a second on one core, one estimate, and whole searches.

Machines differ and are shared. So time is that of the processor, which does not count while others have the core, and
each limit is scaled by a reference loop measured in the same run: plain NumPy over blocks of the same size. On a core
that runs it at `REFERENCE_PER_S` the limits are those of the design.
"""

import time
from collections.abc import Callable
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from gpuplanner.engine.estimating import estimate, explain
from gpuplanner.engine.machines import machine_of
from gpuplanner.engine.search.searching import search
from gpuplanner.paths import shipped
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Framework, Method, Recomputation, Sharding, Training
from gpuplanner.workspace import Workspace
from tests.benchmarks.measuring import (
    NEW_FIELD,
    REFERENCE_PER_S,
    least_seconds,
    never_seen,
    reference_per_s,
    ways_per_s,
)

pytestmark = pytest.mark.benchmark(timer=time.process_time)

MODEL_ID = "meta-llama/Llama-2-70b-hf"
LEAST_WAYS_PER_S = {
    "apart-70b": 3e6,
    "chat-70b": 3.5e6,
    "desktop-32b": 3e6,
    "drafted-70b": 3e6,
    "finetune-8b": 2.7e6,
    "laptop-8b": 3e6,
    "lora-70b": 2.6e6,
    "moe-deepseek": 3e6,
    "pretrain-7b": 4.5e6,
    "qlora-8b": 2.7e6,
}
"""By preset: dense models and mixtures served, with drafts and with prompts read apart; each way of training."""
LONGEST_ESTIMATE_S = 1e-3
"""Of any plan, its way of running fixed or left open."""
LONGEST_NEW_ESTIMATE_S = {
    "apart-70b": 1.6e-3,
    "drafted-70b": 1.2e-3,
    "finetune-8b": 1.4e-3,
    "lora-70b": 1.3e-3,
    "moe-deepseek": 1.3e-3,
    "pretrain-7b": 1.5e-3,
    "qlora-8b": 1.2e-3,
}
"""By preset, of a plan that leaves its way open and of which nothing was worked out before; else `LONGEST_ESTIMATE_S`.
"""
LONGEST_EXPLANATION_S = 0.05
LONGEST_LARGE_LAYOUT_SEARCH_S = 0.01
LONGEST_SEARCH_S = {"apart-70b": 0.25, "serving": 0.11, "training": 0.11}
"""Of the catalog, by kind or preset."""
LONGEST_SEARCH_ONE_BY_ONE_S = 0.22
"""Of kinds whose every way is a full estimate."""

SERVING = Serving(model=ModelChoice(catalog_id=MODEL_ID), concurrency=64, tpot_goal_s=0.1)
TRAINING = Training(
    model=ModelChoice(catalog_id=MODEL_ID),
    framework=Framework.MEGATRON,
    method=Method.PRETRAINING,
    global_batch=1024,
    tokens=1e11,
)
FIXED = {
    "serving": SERVING.model_copy(update={"tensor_parallel": 8, "pipeline_parallel": 1}),
    "training": TRAINING.model_copy(
        update={
            "tensor_parallel": 4,
            "pipeline_parallel": 2,
            "context_parallel": 1,
            "expert_parallel": 1,
            "micro_batch": 1,
            "sharding": Sharding.ZERO1,
            "recomputation": Recomputation.FULL,
        }
    ),
}
"""Plans that name their way of running, as those do that were chosen from a search."""


def slowness() -> float:
    """How many times as long the reference loop takes as on the machine that the limits were set on, at least once."""
    return max(1.0, REFERENCE_PER_S / reference_per_s())


@pytest.fixture
def fastest(benchmark: BenchmarkFixture) -> Callable[..., float]:
    """Seconds that a call takes at its fastest, as they would be on the machine that the limits were set on."""

    def measure(run: Callable[[], Any], rounds: int = 7) -> float:
        slow = slowness()
        benchmark.pedantic(run, rounds=rounds, warmup_rounds=1)
        if benchmark.stats is None:
            pytest.skip("benchmarks are turned off")
        return float(benchmark.stats.stats.min) / slow

    return measure


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


FOLDER = shipped("resources") / "presets"
PRESETS = sorted(path.stem for path in FOLDER.glob("*.gpuplan"))


def _plan_in(name: str) -> Plan:
    return Plan.model_validate_json((FOLDER / f"{name}.gpuplan").read_bytes())


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_searched_and_its_best_machine_estimated(name, fastest, opened):
    plan = opened.presets[name]
    best = opened.with_best_machine(plan)
    assert best is not None
    kind, subject = plan.workload.kind, opened.subject(plan.workload)
    on_it = plan.model_copy(update={"machine": best.machine})
    searched = least_seconds(lambda: opened.search(plan), 3) / slowness()
    assert searched <= LONGEST_SEARCH_S.get(name, LONGEST_SEARCH_S.get(kind, LONGEST_SEARCH_ONE_BY_ONE_S))
    machine = opened.machine(best.machine)
    taken = fastest(lambda: estimate(on_it, subject, machine, opened.efficiencies), rounds=60)
    assert taken <= LONGEST_ESTIMATE_S


NEW = [name for name in PRESETS if _plan_in(name).workload.kind in NEW_FIELD]
"""Those of which much is kept from key to key."""


@pytest.mark.parametrize("name", NEW)
def test_a_plan_of_which_nothing_was_worked_out_before(name, fastest, opened):
    preset = opened.presets[name]
    plan = preset.model_copy(update={"machine": opened.with_best_machine(preset).machine})
    subject, machine = opened.subject(plan.workload), opened.machine(plan.machine)
    others = never_seen(plan)
    taken = fastest(lambda: estimate(next(others), subject, machine, opened.efficiencies), rounds=60)
    assert taken <= LONGEST_NEW_ESTIMATE_S.get(name, LONGEST_ESTIMATE_S)


@pytest.fixture(scope="module")
def model(shipped_catalog):
    return shipped_catalog.models[MODEL_ID].architecture


@pytest.fixture(scope="module")
def machine(shipped_catalog):
    return machine_of(MachineChoice(instance_id="aws/p5.48xlarge"), shipped_catalog, {})


@pytest.mark.parametrize("name", LEAST_WAYS_PER_S)
def test_ways_of_running_a_second(name, opened):
    assert ways_per_s(opened, opened.presets[name]) * slowness() >= LEAST_WAYS_PER_S[name]


@pytest.mark.parametrize("workload", [SERVING, TRAINING], ids=["serving", "training"])
def test_a_search_over_the_whole_catalog(workload, fastest, model, shipped_catalog, shipped_efficiencies):
    plan = Plan(workload=workload)
    rates = shipped_catalog.currencies
    assert search(plan, model, shipped_catalog, shipped_efficiencies, rates).configurations > 50_000
    taken = fastest(lambda: search(plan, model, shipped_catalog, shipped_efficiencies, rates), rounds=3)
    assert taken <= LONGEST_SEARCH_S[workload.kind]


def test_the_best_of_all_layouts_on_ten_thousand_gpus(fastest, model, shipped_catalog, shipped_efficiencies):
    machine = machine_of(MachineChoice(instance_id="aws/p5.48xlarge", nodes=1250), shipped_catalog, {})
    plans = never_seen(Plan(workload=TRAINING.model_copy(update={"global_batch": 100_000})))
    taken = fastest(lambda: estimate(next(plans), model, machine, shipped_efficiencies), rounds=5)
    assert taken <= LONGEST_LARGE_LAYOUT_SEARCH_S


@pytest.mark.parametrize("kind", FIXED)
def test_one_estimate(kind, fastest, model, machine, shipped_efficiencies):
    plan = Plan(workload=FIXED[kind])
    assert fastest(lambda: estimate(plan, model, machine, shipped_efficiencies), rounds=100) <= LONGEST_ESTIMATE_S


@pytest.mark.parametrize("kind", FIXED)
def test_one_explanation(kind, fastest, model, machine, shipped_efficiencies):
    plan = Plan(workload=FIXED[kind])
    assert fastest(lambda: explain(plan, model, machine, shipped_efficiencies), rounds=5) <= LONGEST_EXPLANATION_S
