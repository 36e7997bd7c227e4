"""Scientific work: the metric that decides, properties over the catalog, and how GPUs share one problem."""

from typing import Any

import pytest

from gpuplanner.engine.estimate import Estimate, Fit, Limit
from gpuplanner.engine.machines import bare
from gpuplanner.engine.science import estimate_science
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung
from gpuplanner.messages import InputError
from gpuplanner.workload.arithmetic import Arithmetic
from gpuplanner.workload.plan import Constraints, MachineChoice, Plan
from gpuplanner.workload.science import Problem, Science
from gpuplanner.workspace import Workspace

A100 = "nvidia-a100-sxm4-80gb"
H100 = "nvidia-h100-sxm5-80gb"
L40 = "nvidia-l40"
RTX4090 = "nvidia-rtx-4090"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


def plan_of(gpu: str = H100, gpus: int = 1, **fields: Any) -> Plan:
    return Plan(workload=Science(**fields), machine=MachineChoice(gpu_id=gpu, gpus=gpus, per_node=min(gpus, 8)))


def step_s(made: Estimate) -> float:
    return made.metrics["science_step_s"].value


def remarks(made: Estimate) -> set[str]:
    return {message.id for message in made.remarks}


@pytest.mark.parametrize(
    ("problem", "values_each", "limit"),
    [
        (Problem.DENSE, 1, Limit.COMPUTE),
        (Problem.STENCIL, 8, Limit.HBM),
        (Problem.SPARSE, 30, Limit.HBM),
        (Problem.FFT, 1, Limit.HBM),
        (Problem.NETWORK, 1e9, Limit.COMPUTE),
    ],
)
def test_each_kind_of_problem_has_its_metric(
    opened: Workspace, problem: Problem, values_each: float, limit: Limit
) -> None:
    elements = 60_000 if problem is Problem.DENSE else 1e6 if problem is Problem.NETWORK else 1e8
    made = opened.estimate(plan_of(A100, problem=problem, elements=elements, values_each=values_each))
    assert made.limits[0][0] is limit
    named = "science.decides.bandwidth" if limit is Limit.HBM else "science.decides.compute"
    assert made.remarks[0].id == named


def test_a_factorisation_of_known_size_takes_what_its_operations_say(opened: Workspace) -> None:
    """HPL on one A100: 2/3 n³ operations at about 0.7 of 19.5 TFLOPS."""
    made = opened.estimate(plan_of(A100, problem=Problem.DENSE, elements=90_000))
    assert step_s(made) == pytest.approx(2 / 3 * 90_000**3 / (0.7 * 19.5e12), rel=0.02)
    assert made.memory.needed.value > 90_000**2 * 8


def test_a_grid_takes_the_rate_of_streams_that_were_measured(opened: Workspace) -> None:
    """Three passes over eight FP64 numbers a point; the H200 reaches less of its nominal rate than the H100."""
    rates = {}
    for gpu, nominal in ((H100, 3.35e12), ("nvidia-h200-sxm-141gb", 4.8e12)):
        made = opened.estimate(plan_of(gpu, elements=1e8, values_each=8))
        rates[gpu] = made.metrics["reached_bytes_per_s"].value / nominal
    assert rates["nvidia-h200-sxm-141gb"] < rates[H100] < 0.9


def test_a_geforce_is_told_to_be_slow_in_fp64_and_half_the_bytes_make_a_grid_twice_as_fast(opened: Workspace) -> None:
    double = opened.estimate(plan_of(RTX4090, problem=Problem.DENSE, elements=20_000))
    assert "science.reduced_fp64" in remarks(double)
    assert "science.reduced_fp64" not in remarks(opened.estimate(plan_of(H100, problem=Problem.DENSE, elements=20_000)))
    grid: dict[str, Any] = {"elements": 1e8, "values_each": 8}
    single = opened.estimate(plan_of(H100, arithmetic=Arithmetic.FP32, **grid))
    assert step_s(opened.estimate(plan_of(H100, **grid))) / step_s(single) == pytest.approx(2, rel=0.05)
    assert "science.reduced_precision" in remarks(single)


def test_gpus_that_share_a_problem_share_its_memory_and_pay_for_its_edges(opened: Workspace) -> None:
    work: dict[str, Any] = {"elements": 5e8, "values_each": 8}
    alone, eight = opened.estimate(plan_of(**work)), opened.estimate(plan_of(gpus=8, **work))
    assert step_s(alone) / 8 < step_s(eight) < step_s(alone)
    assert eight.memory.needed.value < alone.memory.needed.value / 4
    assert Limit.LINK in dict(eight.limits)
    apart = opened.estimate(plan_of(gpus=8, split=False, **work))
    assert step_s(apart) == pytest.approx(step_s(alone))
    assert apart.metrics["science_steps_per_s"].value == pytest.approx(8 * alone.metrics["science_steps_per_s"].value)


def test_the_search_finds_as_many_gpus_as_hold_the_problem(opened: Workspace) -> None:
    found = opened.search(Plan(workload=Science(elements=4e10, values_each=5), constraints=Constraints(max_gpus=512)))
    assert found.candidates
    assert all(c.free_bytes > 0 for c in found.candidates)
    assert any(c.machine.nodes > 1 for c in found.candidates)


def test_what_does_not_fit_is_helped_by_more_gpus(opened: Workspace) -> None:
    made = opened.estimate(plan_of(gpus=1, elements=2e9, values_each=5))
    assert made.fit is Fit.DOES_NOT_FIT
    assert any(change.fit is not Fit.DOES_NOT_FIT for change in opened.advised(made).changes)


@pytest.mark.parametrize("problem", Problem)
@pytest.mark.parametrize("field", ["elements", "values_each"])
def test_more_of_anything_is_never_better(opened: Workspace, problem: Problem, field: str) -> None:
    """Over the whole catalog, on two GPUs of each."""
    compared = 0
    for gpu in opened.catalog.gpus.values():
        made = []
        for factor in (1, 8):
            fields = {"elements": 1e4, "values_each": 10.0}
            fields[field] *= factor
            plan = Plan(workload=Science(problem=problem, arithmetic=Arithmetic.FP32, **fields))
            try:
                made.append(estimate_science(plan, None, bare(gpu, 2), opened.efficiencies))
            except (MissingFactError, InputError):
                break
        else:
            less, more = made
            compared += 1
            assert step_s(more) >= step_s(less) > 0
            assert more.memory.needed.value >= less.memory.needed.value > 0
    assert compared > 60


def test_every_number_is_a_roofline_with_a_wide_range(opened: Workspace) -> None:
    figure = opened.explained(plan_of(gpus=8)).metrics["science_step_s"]
    assert figure.rung is Rung.ROOFLINE
    assert figure.high / figure.low > 3
    assert figure.derivation is not None
