"""The way that is chosen for a plan is the best of all there are, each worked out by itself and judged by the rule.

A choice is made on arrays, of which what all ways have in common, or what no key changes, is worked out once. None of
that may change it.
"""

from math import isclose
from typing import Any

import pytest

from gpuplanner.engine.serving_choice import chosen_way as chosen_serving_way
from gpuplanner.engine.serving_choice import ways_on as serving_ways_on
from gpuplanner.engine.serving_drafting import served_numbers
from gpuplanner.engine.serving_flags import heeded
from gpuplanner.engine.serving_machine import gpu_numbers, server_numbers
from gpuplanner.engine.serving_model import precision_of
from gpuplanner.engine.serving_numbers import load_numbers, serving_numbers
from gpuplanner.engine.training_choice import MUCH_FASTER, chosen_way, shape_of
from gpuplanner.engine.training_hardware import hardware_numbers
from gpuplanner.engine.training_layouts import layout_of
from gpuplanner.engine.training_model import model_numbers
from gpuplanner.engine.training_numbers import training_numbers
from gpuplanner.engine.training_ranges import memory_spread_of
from gpuplanner.engine.training_rollout import trainer_gpus
from gpuplanner.engine.training_software import software_numbers
from gpuplanner.engine.training_ways import layouts_on
from gpuplanner.engine.verdict import comfortable
from gpuplanner.messages import InputError
from gpuplanner.paths import shipped
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workspace import Workspace

FOLDER = shipped("resources") / "presets"
KINDS = {path.stem: Plan.model_validate_json(path.read_bytes()).workload.kind for path in FOLDER.glob("*.gpuplan")}
MACHINES = {
    "a node": MachineChoice(instance_id="aws/p5.48xlarge"),
    "two nodes": MachineChoice(instance_id="aws/p5.48xlarge", nodes=2),
    "a few small ones": MachineChoice(gpu_id="nvidia-rtx-4090", gpus=4, per_node=4),
    "one": MachineChoice(instance_id="hyperstack/n3-rtx-a6000x1"),
}
SERVED: tuple[dict[str, Any], ...] = (
    {},
    {"input_tokens": 977, "max_length": None},
    {"concurrency": 5},
    {"concurrency": None, "request_rate": 2.0},
    {"ttft_goal_s": 0.4, "tpot_goal_s": 0.02},
)
TRAINED: tuple[dict[str, Any], ...] = (
    {},
    {"sequence_length": 1111},
    {"sequence_length": 32_768},
    {"global_batch": 96},
    {"packed": False},
)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


@pytest.fixture(params=MACHINES)
def machine(request, opened):
    return opened.machine(MACHINES[request.param])


@pytest.mark.parametrize("name", sorted(name for name, kind in KINDS.items() if kind == "serving"))
def test_the_way_of_serving_is_the_best_of_all(name, machine, opened):
    preset = opened.presets[name].workload
    architecture = opened.subject(preset)
    for changed in SERVED:
        workload = preset.model_copy(update=changed)
        precision = precision_of(architecture, workload.weight_precision)
        load = load_numbers(workload)
        numbers = (
            served_numbers(architecture, workload, opened.efficiencies),
            gpu_numbers(machine, precision, workload.server, heeded(workload).eager, opened.efficiencies).numbers,
            server_numbers(workload, machine.gpu, opened.efficiencies),
            load,
        )
        try:
            ways = serving_ways_on(machine, architecture, workload)
        except InputError:
            continue
        merits = [_served(serving_numbers(*numbers, way), way, load, workload) for way in ways]
        found = merits[ways.index(chosen_serving_way(machine, architecture, workload, *numbers))]
        assert _no_worse(found, max(merits))


def _served(found, way, load, workload) -> tuple[float, ...]:
    """What ways of serving are judged by, first what counts most."""
    starts, rate = bool(found.memory.starts), float(found.output_tokens_per_s)
    waits = load.concurrency / float(way.replicas) > float(found.places)
    if found.apart is not None:
        waits = float(found.at_work) < load.concurrency * (1 - 1e-6)
    queues = bool(found.saturated) or (waits and load.request_per_s is None)
    goals = ((workload.ttft_goal_s, found.ttft_s), (workload.tpot_goal_s, found.tpot_s))
    missed = sum(goal is not None and float(time) > goal for goal, time in goals)
    pool = float(found.memory.pool_bytes - found.memory.shortfall_bytes)
    return float(starts), -float(queues), -float(missed), rate if starts else 0.0, pool


@pytest.mark.parametrize("name", sorted(name for name, kind in KINDS.items() if kind == "training"))
def test_the_way_of_training_is_the_best_of_all(name, machine, opened):
    preset = opened.presets[name].workload
    architecture, efficiencies = opened.subject(preset), opened.efficiencies
    for changed in TRAINED:
        workload = preset.model_copy(update=changed)
        numbers = (
            model_numbers(architecture, workload),
            software_numbers(workload, machine, efficiencies),
            hardware_numbers(machine, efficiencies),
        )
        highest = memory_spread_of(workload, efficiencies).high
        gpus = trainer_gpus(workload, machine.gpus_per_node, machine.nodes)
        ways = layouts_on(machine.gpus_per_node, machine.nodes, shape_of(architecture), workload, machine.nodes)
        if not ways:
            continue
        merits = [_trained(training_numbers(*numbers, layout_of(workload, w, gpus)), numbers[2], highest) for w in ways]
        found = merits[list(ways).index(chosen_way(machine, architecture, workload, *numbers, highest))]
        assert _no_worse(found, max(merits))


def _trained(found, hardware, highest_need: float) -> tuple[float, ...]:
    """What ways of training are judged by, first what counts most."""
    needed, usable = float(found.memory.needed), float(hardware.usable_bytes)
    if needed > usable:
        return 0.0, -needed
    easy = bool(comfortable(usable, needed, highest_need))
    return 1.0, float(found.tokens_per_s) / (1.0 if easy else MUCH_FASTER)


def _no_worse(found: tuple[float, ...], best: tuple[float, ...]) -> bool:
    """Whether merits are those of the best: floats and arrays may differ in the last digit."""
    return all(isclose(one, other, rel_tol=1e-9) for one, other in zip(found, best, strict=True))
