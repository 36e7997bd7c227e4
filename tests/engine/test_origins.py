"""Where an input is said to come from: never a source that does not stand behind it."""

import pytest

from gpuplanner.catalog.efficiency import Efficiency
from gpuplanner.engine.estimate import Way
from gpuplanner.engine.machines import machine_of
from gpuplanner.engine.origins import finder
from gpuplanner.facts import Source
from gpuplanner.figures import Certainty, Rung
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workload.serving import Serving

MODEL_ID = "meta-llama/Meta-Llama-3.1-8B"


@pytest.fixture(scope="module")
def find(shipped_catalog):
    """Two GPUs on one node, and two calibrated tables that hold the numbers 2 and 8 too."""
    machine = machine_of(MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=2, per_node=2), shipped_catalog, {})
    model = shipped_catalog.models[MODEL_ID].architecture
    plan = Plan(workload=Serving(model=ModelChoice(catalog_id=MODEL_ID)))

    def entry(**values: float) -> Efficiency:
        return Efficiency(values, 3, Source("measured", "a measurement"), Rung.SAME_GPU)

    used = [
        ("host", entry(bytes_per_weight=2.0, cores_per_gpu=2.0, batched_tokens=512.0, share=0.8125)),
        ("number_formats", entry(attention=8.0)),
    ]
    return finder(plan, model, machine, Way(), used)


@pytest.mark.parametrize(
    ("name", "value"),
    [("members_per_node", 2.0), ("element_bytes", 2.0), ("cache_shards", 8.0), ("concurrency_of_all", 8.0)],
)
def test_sharing_a_value_and_a_common_word_is_no_source(find, name, value):
    assert find(name, value) is None


def test_what_was_chosen_is_not_taken_for_a_calibration_of_the_same_value(find):
    assert find("gpus_per_node", 2).certainty is Certainty.USER


@pytest.mark.parametrize(("name", "value"), [("bytes_per_weight", 2.0), ("tokens", 512.0), ("reached", 0.8125)])
def test_a_calibrated_number_is_known_by_name_or_by_a_value_of_its_own(find, name, value):
    assert find(name, value).certainty is Certainty.CALIBRATED


def test_the_bits_of_a_format_have_its_definition(find):
    assert find("bits_per_weight", 8.0).certainty is Certainty.EXACT
