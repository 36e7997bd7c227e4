"""What is kept between keys (a choice of a way, how far a run can grow, trials) changes no figure and no reason."""

import pytest

from gpuplanner.engine.estimating import estimate, explain
from gpuplanner.engine.serving_choice import best_way as best_serving_way
from gpuplanner.engine.serving_choice import chosen_way as chosen_serving_way
from gpuplanner.engine.serving_choice import ways_on as serving_ways_on
from gpuplanner.engine.serving_drafting import served_numbers
from gpuplanner.engine.serving_flags import heeded
from gpuplanner.engine.serving_machine import gpu_numbers, server_numbers
from gpuplanner.engine.serving_model import precision_of
from gpuplanner.engine.serving_numbers import load_numbers
from gpuplanner.engine.serving_trials import tried_numbers
from gpuplanner.engine.training_choice import best_way, chosen_way, ways_on
from gpuplanner.engine.training_growth import growth
from gpuplanner.engine.training_hardware import hardware_numbers
from gpuplanner.engine.training_model import model_numbers
from gpuplanner.engine.training_ranges import memory_spread_of
from gpuplanner.engine.training_rollout import trainer_gpus
from gpuplanner.engine.training_software import software_numbers
from gpuplanner.workload.plan import MachineChoice
from gpuplanner.workspace import Workspace

SERVED = ("chat-70b", "moe-deepseek", "drafted-70b", "apart-70b")
TRAINED = ("finetune-8b", "lora-70b", "pretrain-7b")
MACHINES = ("aws/p5.48xlarge", "gcp/a2-ultragpu-4g")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


@pytest.fixture(params=MACHINES)
def machine(request, opened):
    return opened.machine(MachineChoice(instance_id=request.param, nodes=2))


@pytest.mark.parametrize("name", [*SERVED, *TRAINED])
def test_an_explanation_is_the_same_whether_or_not_the_plan_was_estimated_before(name, machine, opened):
    growth.cache_clear()
    tried_numbers.cache_clear()
    plan, subject = opened.presets[name], opened.subject(opened.presets[name].workload)
    first = explain(plan, subject, machine, opened.efficiencies)
    estimate(plan, subject, machine, opened.efficiencies)
    assert explain(plan, subject, machine, opened.efficiencies) == first
    assert any(figure.derivation is not None for figure in first.metrics.values())


@pytest.mark.parametrize("name", TRAINED)
def test_the_kept_way_of_training_is_the_best_of_all(name, machine, opened):
    workload = opened.presets[name].workload
    architecture, efficiencies = opened.subject(workload), opened.efficiencies
    highest = memory_spread_of(workload, efficiencies).high
    for batch in (workload.global_batch, workload.global_batch * 2, workload.global_batch):
        changed = workload.model_copy(update={"global_batch": batch})
        numbers = (
            model_numbers(architecture, changed),
            software_numbers(changed, machine, efficiencies),
            hardware_numbers(machine, efficiencies),
        )
        gpus = trainer_gpus(changed, machine.gpus_per_node, machine.nodes)
        ways = ways_on(machine, architecture, changed)
        kept = chosen_way(machine, architecture, changed, *numbers, highest)
        assert kept == best_way(ways, changed, *numbers, gpus, highest)


@pytest.mark.parametrize("name", SERVED)
def test_the_kept_way_of_serving_is_the_best_of_all(name, machine, opened):
    workload = opened.presets[name].workload
    architecture, efficiencies = opened.subject(workload), opened.efficiencies
    precision = precision_of(architecture, workload.weight_precision)
    for goal in (None, 0.02, None):
        changed = workload.model_copy(update={"tpot_goal_s": goal})
        numbers = (
            served_numbers(architecture, changed, efficiencies),
            gpu_numbers(machine, precision, changed.server, heeded(changed).eager, efficiencies).numbers,
            server_numbers(changed, machine.gpu, efficiencies),
            load_numbers(changed),
        )
        ways = serving_ways_on(machine, architecture, changed)
        kept = chosen_serving_way(machine, architecture, changed, *numbers)
        assert kept == best_serving_way(ways, changed, *numbers)


def test_how_much_there_is_to_do_changes_no_way(opened):
    """No choice depends on it, so that the way is kept from key to key while it is typed."""
    plan = opened.presets["pretrain-7b"].model_copy(
        update={"machine": MachineChoice(instance_id="aws/p5.48xlarge", nodes=4)}
    )
    ways = [
        opened.estimate(plan.model_copy(update={"workload": plan.workload.model_copy(update=changed)})).way
        for changed in ({"tokens": 1e9}, {"tokens": 1e12}, {"tokens": None, "samples": 1e6}, {"deadline_s": 1e5})
    ]
    assert ways == ways[:1] * len(ways)
