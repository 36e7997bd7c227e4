"""The statements of the guides stand beside the plans that they speak about, and beside no others."""

import pytest

from gpuplanner.engine.advice import ADVISING, advice_for
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.machines import bare, choice_of, machine_of
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Method, Training

MODEL = ModelChoice(catalog_id="meta-llama/Meta-Llama-3.1-8B")


@pytest.fixture
def advice(shipped_catalog, shipped_efficiencies):
    def run(workload, machine):
        model = shipped_catalog.models[MODEL.catalog_id].architecture
        plan = Plan(workload=workload, machine=choice_of(machine))
        made = estimate(plan, model, machine, shipped_efficiencies, shipped_catalog.rules)
        return made, [rule.id for rule in advice_for(made, shipped_catalog.rules)]

    return run


def test_what_is_said_of_a_gpu_stands_first_on_its_plans_only(advice, shipped_catalog):
    _, of_a100 = advice(Serving(model=MODEL), bare(shipped_catalog.gpus["nvidia-a100-sxm4-80gb"], 1))
    _, of_ascend = advice(Serving(model=MODEL), bare(shipped_catalog.gpus["huawei-ascend-910b2"], 1))
    assert "selection-a100-780" in of_a100[:12]
    assert "selection-rtx4090-330" not in of_a100
    assert not [name for name in of_ascend if "a100" in name or "4090" in name or "-t4" in name or "v100" in name]


def test_tiers_and_headroom_stand_on_every_plan(advice, shipped_catalog):
    _, found = advice(Serving(model=MODEL), bare(shipped_catalog.gpus["nvidia-l40s"], 1))
    assert {"tiers-middle-24gb", "tiers-headroom-30", "tiers-faq-2gb-per-billion", "tiers-faq-total-1.5"} <= set(found)


def test_links_networks_and_virtual_gpus_where_a_plan_has_them(advice, shipped_catalog):
    workload = Training(model=MODEL, method=Method.LORA)
    _, alone = advice(workload, bare(shipped_catalog.gpus["nvidia-h100-sxm5-80gb"], 1))
    cluster = machine_of(MachineChoice(instance_id="aws/p5.48xlarge", nodes=2), shipped_catalog, {})
    _, spread = advice(workload, cluster)
    assert {"selection-faq-nvlink-needed", "selection-rdma", "selection-virtual-driver-limits"} <= set(spread)
    assert not {"selection-faq-nvlink-needed", "selection-rdma", "selection-virtual-driver-limits"} & set(alone)


def test_every_statement_that_advises_stands_on_some_plan(advice, shipped_catalog):
    """Two nodes of a cloud for training have every topic; what is left speaks about GPUs that are named."""
    cluster = machine_of(MachineChoice(instance_id="aws/p5.48xlarge", nodes=2), shipped_catalog, {})
    shown = set()
    for workload in (Training(model=MODEL, tokens=1e9), Serving(model=MODEL)):
        made, found = advice(workload, cluster)
        shown |= {*found, *(rule_id for need in made.host for rule_id, _ in need.rules)}
    advising = [rule for rule in shipped_catalog.rules if rule.kind in ADVISING]
    named = {rule.id for rule in advising if any(name in shipped_catalog.gpus for name in rule.applies_to)}
    assert sorted({rule.id for rule in advising} - shown - named) == []


def test_nothing_stands_twice_and_errors_of_catalogs_do_not_advise(advice, shipped_catalog):
    made, found = advice(Serving(model=MODEL), bare(shipped_catalog.gpus["nvidia-a100-sxm4-80gb"], 8))
    beside = [rule_id for need in made.host for rule_id, _ in need.rules]
    assert beside
    assert not set(beside) & set(found)
    assert len(set(found)) == len(found)
    kinds = {rule.id: rule.kind for rule in shipped_catalog.rules}
    assert {kinds[name] for name in found} <= ADVISING
