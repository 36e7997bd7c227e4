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
from gpuplanner.engine.search.searching import BLOCK_ROWS, search
from gpuplanner.engine.search.serving import ServingSpace
from gpuplanner.engine.search.training import TrainingSpace
from gpuplanner.paths import shipped
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Framework, Method, Recomputation, Sharding, Training
from gpuplanner.workspace import Workspace
from tests.benchmarks.measuring import REFERENCE_PER_S, reference_per_s

pytestmark = pytest.mark.benchmark(timer=time.process_time)

MODEL_ID = "meta-llama/Llama-2-70b-hf"
LEAST_CONFIGURATIONS_PER_S = {"serving": 2e6, "training": 1.5e6}
LONGEST_ESTIMATE_S = 1e-3
LONGEST_EXPLANATION_S = 0.1
LONGEST_LARGE_LAYOUT_SEARCH_S = 0.02
LONGEST_SEARCH_S = 0.3
LONGEST_SEARCH_ONE_BY_ONE_S = 1.0
"""Of kinds whose every way is a full estimate."""
LONGEST_OPEN_ESTIMATE_S = {"serving": 2e-3, "training": 3.5e-3}
"""Of a plan that leaves its way open, so that all of them are tried on the machine; other kinds choose nothing."""

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


@pytest.fixture
def fastest(benchmark: BenchmarkFixture) -> Callable[..., float]:
    """Seconds that a call takes at its fastest, as they would be on the machine that the limits were set on."""

    def measure(run: Callable[[], Any], rounds: int = 7) -> float:
        slowness = max(1.0, REFERENCE_PER_S / reference_per_s())
        benchmark.pedantic(run, rounds=rounds, warmup_rounds=1)
        if benchmark.stats is None:
            pytest.skip("benchmarks are turned off")
        return float(benchmark.stats.stats.min) / slowness

    return measure


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


PRESETS = sorted(path.stem for path in (shipped("resources") / "presets").glob("*.gpuplan"))


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_searched_and_its_best_machine_estimated(name, fastest, opened):
    plan = opened.presets[name]
    best = opened.with_best_machine(plan)
    assert best is not None
    kind, subject = plan.workload.kind, opened.subject(plan.workload)
    on_it = plan.model_copy(update={"machine": best.machine})
    whole = reference_per_s() / REFERENCE_PER_S
    start = time.process_time()
    opened.search(plan)
    searched = (time.process_time() - start) * min(whole, 1.0)
    assert searched <= (LONGEST_SEARCH_S if kind in LONGEST_OPEN_ESTIMATE_S else LONGEST_SEARCH_ONE_BY_ONE_S)
    machine = opened.machine(best.machine)
    taken = fastest(lambda: estimate(on_it, subject, machine, opened.efficiencies), rounds=60)
    assert taken <= LONGEST_OPEN_ESTIMATE_S.get(kind, LONGEST_ESTIMATE_S)


@pytest.fixture(scope="module")
def model(shipped_catalog):
    return shipped_catalog.models[MODEL_ID].architecture


@pytest.fixture(scope="module")
def machine(shipped_catalog):
    return machine_of(MachineChoice(instance_id="aws/p5.48xlarge"), shipped_catalog, {})


@pytest.mark.parametrize(
    ("kind", "workload"), [(ServingSpace, SERVING), (TrainingSpace, TRAINING)], ids=["serving", "training"]
)
def test_configurations_a_second(kind, workload, fastest, model, machine, shipped_efficiencies):
    space = kind(Plan(workload=workload), workload, model, shipped_efficiencies)
    prepared = space.prepare(machine)
    block = [prepared] * (BLOCK_ROWS // prepared.rows)
    rows = sum(each.rows for each in block)
    assert rows / fastest(lambda: space.compute(block)) >= LEAST_CONFIGURATIONS_PER_S[workload.kind]


@pytest.mark.parametrize("workload", [SERVING, TRAINING], ids=["serving", "training"])
def test_a_search_over_the_whole_catalog(workload, fastest, model, shipped_catalog, shipped_efficiencies):
    plan = Plan(workload=workload)
    rates = shipped_catalog.currencies
    assert search(plan, model, shipped_catalog, shipped_efficiencies, rates).configurations > 50_000
    taken = fastest(lambda: search(plan, model, shipped_catalog, shipped_efficiencies, rates), rounds=3)
    assert taken <= LONGEST_SEARCH_S


def test_the_best_of_all_layouts_on_ten_thousand_gpus(fastest, model, shipped_catalog, shipped_efficiencies):
    machine = machine_of(MachineChoice(instance_id="aws/p5.48xlarge", nodes=1250), shipped_catalog, {})
    plan = Plan(workload=TRAINING.model_copy(update={"global_batch": 100_000}))
    taken = fastest(lambda: estimate(plan, model, machine, shipped_efficiencies), rounds=5)
    assert taken <= LONGEST_LARGE_LAYOUT_SEARCH_S


@pytest.mark.parametrize("kind", FIXED)
def test_one_estimate(kind, fastest, model, machine, shipped_efficiencies):
    plan = Plan(workload=FIXED[kind])
    assert fastest(lambda: estimate(plan, model, machine, shipped_efficiencies), rounds=100) <= LONGEST_ESTIMATE_S


@pytest.mark.parametrize("kind", FIXED)
def test_one_explanation(kind, fastest, model, machine, shipped_efficiencies):
    plan = Plan(workload=FIXED[kind])
    assert fastest(lambda: explain(plan, model, machine, shipped_efficiencies), rounds=5) <= LONGEST_EXPLANATION_S
