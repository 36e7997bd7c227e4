"""Kinds whose GPUs share out items: the search skips counts of nodes that cannot do and finds what all counts give."""

import pytest

from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.machines import MORE_NODES, with_nodes
from gpuplanner.engine.search.one_by_one import MOST_TRIED_GPUS
from gpuplanner.engine.search.result import Broken, Candidate
from gpuplanner.engine.search.searching import hardware_of
from gpuplanner.facts import MissingFactError
from gpuplanner.workload.plan import Objective
from gpuplanner.workspace import Workspace

PRESETS = ("animation", "diffusion-flux", "flow", "live-video", "vision-resnet50-training", "vision-yolo-inference")
OF_GOALS = {Broken.RATE, Broken.LATENCY, Broken.DEADLINE}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


def asking(opened, name, **asked):
    plan = opened.presets[name]
    return plan.model_copy(update={"constraints": plan.constraints.model_copy(update=asked)})


def tried(opened, plan, machine):
    """Nodes, whether they do, and the items a second of every count that may be tried on a machine."""
    kind, subject = KINDS[plan.workload.kind], opened.subject(plan.workload)
    for nodes in (1, *MORE_NODES):
        if nodes > 1 and nodes * machine.gpus_per_node > MOST_TRIED_GPUS:
            return
        try:
            made = kind.estimate(plan, subject, with_nodes(machine, nodes), opened.efficiencies)
        except MissingFactError:
            return
        room = made.memory.usable.value * (1.0 - plan.constraints.memory_free_share)
        goals = ((goal, made.metrics.get(goal.metric)) for goal in made.goals)
        met = all(figure is not None and goal.met(figure.value) for goal, figure in goals)
        yield nodes, met and made.memory.needed.value <= room, made.metrics[kind.headline].value


@pytest.mark.parametrize("objective", [Objective.COST, Objective.TIME])
@pytest.mark.parametrize("name", PRESETS)
def test_the_nodes_are_those_that_trying_every_count_gives(opened, name, objective):
    plan = asking(opened, name, objective=objective)
    found: dict[tuple[object, ...], Candidate] = {}
    for candidate in opened.search(plan).candidates:
        found.setdefault((*hardware_of(candidate.machine, plan.workload), candidate.machine.host.vcpus), candidate)
    assert found
    for candidate in list(found.values())[::12]:
        does = [(nodes, rate) for nodes, met, rate in tried(opened, plan, candidate.machine) if met]
        if objective is Objective.TIME and does[0][0] > 1:
            best = max(rate for _, rate in does)
            assert candidate.machine.nodes == min(nodes for nodes, rate in does if rate == best)
        else:
            assert candidate.machine.nodes == does[0][0]


@pytest.mark.parametrize("name", PRESETS)
def test_what_misses_a_goal_misses_it_with_every_count(opened, name):
    plan = opened.presets[name]
    missed = [r for r in opened.search(plan).rejections if r.machine is not None and r.broken in OF_GOALS]
    for rejection in missed[::12]:
        assert not any(met for _, met, _ in tried(opened, plan, rejection.machine))


def test_counts_that_cannot_be_enough_are_not_worked_out(opened):
    """A deadline that nothing meets is told from one node and from the most of them."""
    plan = opened.presets["animation"]
    hopeless = plan.model_copy(update={"workload": plan.workload.model_copy(update={"deadline_s": 1.0})})
    result = opened.search(hopeless)
    told = [r for r in result.rejections if r.broken is Broken.DEADLINE and r.machine is not None]
    assert told
    assert not result.candidates
    assert {r.machine.nodes for r in told if r.machine.gpus_per_node == 1} == {MORE_NODES[-1]}
    assert result.configurations <= 2 * len(result.rejections)
