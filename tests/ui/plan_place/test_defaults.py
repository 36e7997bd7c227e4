"""What fields that are left open say: the rule of thumb of what drafts, the workers that were found."""

from typing import Any

import pytest

from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.machines import bare
from gpuplanner.ui.plan_place.wizard.defaults import automatic_values
from gpuplanner.workload.diffusion import Diffusion
from gpuplanner.workload.diffusion_training import DiffusionTraining
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.serving import Serving, Speculation
from gpuplanner.workload.vision import Vision

MODEL = "meta-llama/Meta-Llama-3.1-8B"


@pytest.fixture
def said(shipped_catalog, shipped_efficiencies, appearance):
    def run(**fields: Any) -> dict[str, str]:
        workload = Serving(model=ModelChoice(catalog_id=MODEL), **fields)
        model = shipped_catalog.models[MODEL].architecture
        machine = bare(shipped_catalog.gpus["nvidia-h100-sxm5-80gb"], 8)
        made = estimate(Plan(workload=workload), model, machine, shipped_efficiencies)
        return automatic_values(workload, made, model, shipped_efficiencies, appearance)

    return run


def test_what_drafts_says_its_rule_of_thumb(said):
    assert not {"draft_tokens", "acceptance_rate"} & set(said())
    found = said(speculation=Speculation.EAGLE)
    assert (found["draft_tokens"], found["acceptance_rate"]) == ("3", "70")


def test_workers_that_were_found_are_said(said):
    assert "prefill_workers" not in said()
    found = said(disaggregated=True, tensor_parallel=2, concurrency=64)
    assert 1 <= int(found["prefill_workers"]) <= 3
    assert found["prefill_tensor_parallel"] == "2"


@pytest.mark.parametrize("kind", [Diffusion, DiffusionTraining])
def test_an_image_says_the_sizes_that_count(kind, shipped_catalog, shipped_efficiencies, appearance):
    network = shipped_catalog.models["FLUX.1-dev"].network
    workload = kind(model=ModelChoice(catalog_id="FLUX.1-dev"))
    found = automatic_values(workload, None, None, shipped_efficiencies, appearance, network)
    assert (found["width"], found["height"], found["frames"]) == ("1,024", "1,024", "1")
    assert found["steps"] == f"{network.steps}"


def test_a_network_says_what_image_it_is_meant_for(shipped_catalog, shipped_efficiencies, appearance):
    network = shipped_catalog.models["torchvision/resnet50"].network
    workload = Vision(model=ModelChoice(catalog_id="torchvision/resnet50"))
    found = automatic_values(workload, None, None, shipped_efficiencies, appearance, network)
    assert found["image_px"] == "224"
