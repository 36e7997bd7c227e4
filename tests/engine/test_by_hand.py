"""Work described by hand: a roofline of the plain facts, properties over the catalog, and the search that it uses."""

from itertools import pairwise
from typing import Any

import pytest

from gpuplanner.engine.by_hand import estimate_by_hand
from gpuplanner.engine.estimate import Estimate, Fit, Limit
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.machines import bare
from gpuplanner.engine.search.result import Broken
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Certainty, Rung
from gpuplanner.messages import InputError
from gpuplanner.workload.arithmetic import Arithmetic
from gpuplanner.workload.by_hand import ByHand
from gpuplanner.workload.plan import WORKLOADS, Constraints, MachineChoice, Objective, Plan
from gpuplanner.workspace import Workspace

H100 = "nvidia-h100-sxm5-80gb"
RTX4090 = "nvidia-rtx-4090"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


def plan_of(gpu: str = H100, gpus: int = 1, **fields: Any) -> Plan:
    return Plan(workload=ByHand(**fields), machine=MachineChoice(gpu_id=gpu, gpus=gpus, per_node=min(gpus, 8)))


def value(made: Estimate, metric: str) -> float:
    return made.metrics[metric].value


def test_every_kind_of_the_plan_has_an_engine() -> None:
    assert set(KINDS) == {workload.model_fields["kind"].default for workload in WORKLOADS}


def test_compute_follows_the_peak_of_the_arithmetic(opened: Workspace) -> None:
    """FP64 of a GeForce is 1/64 of its FP32: the trap of scientists who buy one."""
    work: dict[str, Any] = {"flops": 1e15, "moved_bytes": 0.0}
    slow = value(opened.estimate(plan_of(RTX4090, arithmetic=Arithmetic.FP64, **work)), "item_step_s")
    fast = value(opened.estimate(plan_of(RTX4090, arithmetic=Arithmetic.FP32, **work)), "item_step_s")
    assert slow / fast == pytest.approx(64, rel=0.02)
    server = value(opened.estimate(plan_of(H100, arithmetic=Arithmetic.FP64, **work)), "item_step_s")
    assert slow / server > 20


def test_the_slower_of_compute_and_traffic_is_the_limit(opened: Workspace) -> None:
    streams = opened.estimate(plan_of(flops=1e9, moved_bytes=1e12))
    multiplies = opened.estimate(plan_of(flops=1e16, moved_bytes=1e9))
    assert [streams.limits[0][0], multiplies.limits[0][0]] == [Limit.HBM, Limit.COMPUTE]
    assert value(streams, "item_step_s") == pytest.approx(1e12 / (3.35e12 * 0.8), rel=0.02)


def test_gpus_share_out_the_items_and_pay_for_what_they_exchange(opened: Workspace) -> None:
    alone = value(opened.estimate(plan_of()), "items_per_s")
    eight = value(opened.estimate(plan_of(gpus=8)), "items_per_s")
    talking = opened.estimate(plan_of(gpus=8, exchanged_bytes=1e9))
    assert eight == pytest.approx(8 * alone)
    assert value(talking, "items_per_s") < eight
    assert Limit.LINK in dict(talking.limits)


def test_memory_counts_what_is_resident_and_each_item_in_work(opened: Workspace) -> None:
    few = opened.estimate(plan_of(resident_bytes=10e9, item_bytes=1e9, at_once=10))
    many = opened.estimate(plan_of(resident_bytes=10e9, item_bytes=1e9, at_once=100))
    assert many.memory.needed.value - few.memory.needed.value == pytest.approx(90e9)
    assert (few.fit, many.fit) == (Fit.FITS, Fit.DOES_NOT_FIT)
    change = opened.advised(many).changes[0]
    assert change.fit is Fit.FITS
    assert change.plan.workload.model_dump()["at_once"] == 50


def test_a_goal_that_is_missed_is_said(opened: Workspace) -> None:
    made = opened.estimate(plan_of(items=1e9, deadline_s=3600.0, rate_goal=1e6))
    assert {message.id for message in made.unmet} == {"items.goal_missed.deadline", "items.goal_missed.rate"}


def test_an_arithmetic_that_the_gpu_has_not_is_refused_not_guessed(opened: Workspace) -> None:
    gpu = opened.catalog.gpus["nvidia-a100-sxm4-80gb"]
    with pytest.raises(MissingFactError):
        estimate_by_hand(plan_of(arithmetic=Arithmetic.FP8), None, bare(gpu, 1), opened.efficiencies)


@pytest.mark.parametrize(
    "field", ["flops", "moved_bytes", "resident_bytes", "item_bytes", "exchanged_bytes", "kernels"]
)
def test_more_of_anything_is_never_better(opened: Workspace, field: str) -> None:
    """Over the whole catalog, on two GPUs of each."""
    compared = 0
    for gpu in opened.catalog.gpus.values():
        made = []
        for factor in (1, 10):
            base = {"flops": 1e12, "moved_bytes": 1e9, "resident_bytes": 1e9, "item_bytes": 1e6}
            base |= {"exchanged_bytes": 1e8, "kernels": 100}
            base[field] *= factor
            work = ByHand(**base, arithmetic=Arithmetic.FP16)
            try:
                made.append(estimate_by_hand(Plan(workload=work), None, bare(gpu, 2), opened.efficiencies))
            except (MissingFactError, InputError):
                break
        else:
            less, more = made
            compared += 1
            assert value(more, "item_step_s") >= value(less, "item_step_s") > 0
            assert more.memory.needed.value >= less.memory.needed.value > 0
    assert compared > 60


def test_every_number_is_explained_down_to_the_catalog(opened: Workspace) -> None:
    plan = plan_of(items=1e6, exchanged_bytes=1e8, gpus=8)
    made = opened.explained(plan)
    rate = made.metrics["items_per_s"]
    assert rate.derivation is not None
    assert rate.rung is Rung.ROOFLINE
    assert made.memory.needed.derivation is not None


def test_the_search_takes_more_nodes_only_for_a_goal(opened: Workspace) -> None:
    work = ByHand(flops=1e15, moved_bytes=1e9, items=1e6)
    easy = opened.search(Plan(workload=work))
    assert {c.machine.nodes for c in easy.candidates} == {1}
    hurried = opened.search(Plan(workload=work.model_copy(update={"deadline_s": 86400.0 * 3})))
    assert any(c.machine.nodes > 1 for c in hurried.candidates)
    assert all(c.metrics["job_s"] <= 86400.0 * 3 for c in hurried.candidates)
    broken = {r.broken for r in hurried.rejections}
    assert Broken.DEADLINE in broken
    assert Broken.FACTS in broken


def test_the_search_ranks_what_has_no_end_by_the_cost_of_an_item(opened: Workspace) -> None:
    found = opened.search(Plan(workload=ByHand(), constraints=Constraints(price_known=True))).candidates
    costs = [c.metrics["usd_per_kitem"] for c in found]
    assert len(costs) > 100
    # Costs that are as good as equal are told apart by the bill.
    assert all(later > earlier / 1.02 for earlier, later in pairwise(costs))
    assert costs[0] == min(costs)
    assert costs[-1] > 10 * costs[0]


def test_a_deadline_of_nothing_is_left_out_and_said(opened: Workspace) -> None:
    made = opened.estimate(plan_of(deadline_s=1.0))
    assert made.unmet == ()
    assert "items.deadline_of_what" in {message.id for message in made.remarks}
    assert opened.search(Plan(workload=ByHand(deadline_s=1.0))).candidates


def test_what_no_measurement_stands_behind_is_a_rule_of_thumb(opened: Workspace) -> None:
    made = opened.estimate(plan_of())
    assert made.metrics["item_step_s"].certainty is Certainty.RULE
    assert made.memory.phases[0].parts[0].figure.certainty is Certainty.EXACT


def test_the_range_of_a_phase_is_that_of_its_estimated_part(opened: Workspace) -> None:
    needed = opened.estimate(plan_of(resident_bytes=40e9)).memory.needed
    context = needed.value - 40e9
    assert needed.low == pytest.approx(40e9 + 0.6 * context)
    assert needed.high == pytest.approx(40e9 + 1.6 * context)


def test_the_search_keeps_to_headroom_and_gpus_and_takes_the_fastest_when_time_counts(opened: Workspace) -> None:
    work = ByHand(resident_bytes=70e9, flops=1e15, items=1e6, deadline_s=86400.0 * 30)
    tight = opened.search(Plan(workload=work, constraints=Constraints(memory_free_share=0.3)))
    assert all(c.free_bytes >= 0.3 * (c.free_bytes + 70e9) for c in tight.candidates)
    assert Broken.HEADROOM in {r.broken for r in tight.rejections}
    hurried = work.model_copy(update={"deadline_s": 86400.0})
    few = opened.search(Plan(workload=hurried, constraints=Constraints(max_gpus=16)))
    assert max(c.machine.gpus for c in few.candidates) <= 16
    for objective, better in ((Objective.TIME, True), (Objective.COST, False)):
        found = opened.search(Plan(workload=hurried, constraints=Constraints(objective=objective, max_gpus=64)))
        largest = max(c.machine.nodes for c in found.candidates if c.machine.instance is not None)
        assert (largest >= 6) is better or largest > 1


def test_a_rate_is_reached_from_below(opened: Workspace) -> None:
    found = opened.search(Plan(workload=ByHand(flops=1e15, rate_goal=10.0)))
    assert min(c.metrics["items_per_s"] for c in found.candidates) >= 10.0
    assert Broken.RATE in {r.broken for r in found.rejections}


def test_the_rate_of_storage_is_one_formula_with_its_inputs(opened: Workspace) -> None:
    made = opened.explained(plan_of(read_bytes=1e9))
    need = next(need for need in made.host if need.id == "storage_rate")
    assert need.need.derivation is not None
    assert need.need.derivation.formula.id == "item_storage_rate"
    assert need.need.value == pytest.approx(made.metrics["items_per_s"].value * 1e9)
