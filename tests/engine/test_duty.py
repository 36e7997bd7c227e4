"""What a run asks of its host's CPU and disk, by numbers that can be added up by hand."""

import pytest

from gpuplanner.engine.duty import serving_duty, training_duty
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.host import Duty, host_needs
from gpuplanner.engine.machines import bare, choice_of
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Training

CHOICE = ModelChoice(catalog_id="meta-llama/Meta-Llama-3.1-8B")


@pytest.fixture
def node(shipped_catalog):
    return bare(shipped_catalog.gpus["nvidia-h100-sxm5-80gb"], 8)


@pytest.fixture
def model(shipped_catalog):
    return shipped_catalog.models[CHOICE.catalog_id].architecture


@pytest.fixture
def need(node, shipped_efficiencies):
    def of(name, **duty):
        needs = host_needs(Duty(**duty), node, (), shipped_efficiencies, ())
        return next(n.need.value for n in needs if n.id == name)

    return of


def test_a_server_reads_prompts_too(node, model, shipped_efficiencies):
    """3000 tokens in and 1000 out: four times the tokens that it writes pass its CPU."""
    workload = Serving(model=CHOICE, input_tokens=3000, output_tokens=1000, concurrency=16)
    made = estimate(Plan(workload=workload, machine=choice_of(node)), model, node, shipped_efficiencies)
    duty = serving_duty(made, model, shipped_efficiencies)
    assert duty.tokens_per_s == pytest.approx(4 * made.metrics["output_tokens_per_s"].value)


def test_training_reads_every_token_once(node, model, shipped_efficiencies):
    made = estimate(Plan(workload=Training(model=CHOICE)), model, node, shipped_efficiencies)
    duty = training_duty(made, model, shipped_efficiencies)
    assert duty.tokens_per_s == made.metrics["tokens_per_s"].value


def test_items_are_prepared_by_cores_of_their_own(need):
    """5000 images a second at 250 a core: 20 cores, two threads each, beside those of the processes."""
    idle = need("vcpus", serving=False, weight_file_bytes=0.0, items_per_core_s=250.0)
    busy = need("vcpus", serving=False, weight_file_bytes=0.0, items_per_core_s=250.0, items_per_s=5000.0)
    assert busy - idle == 40


def test_items_are_read_at_their_rate(need):
    idle = need("storage_rate", serving=False, weight_file_bytes=0.0, bytes_per_item=110_000.0)
    busy = need("storage_rate", serving=False, weight_file_bytes=0.0, bytes_per_item=110_000.0, items_per_s=5000.0)
    assert busy - idle == pytest.approx(5.5e8)
