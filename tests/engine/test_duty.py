"""What a run asks of its host's CPU and disk, by numbers that can be added up by hand."""

from dataclasses import replace

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


@pytest.fixture
def trained(node, model, shipped_efficiencies):
    """The RAM that a fine-tuning of 8 billion parameters on eight GPUs needs, and its duty."""

    def ram(nodes=1, **wanted):
        machine = replace(node, nodes=nodes, host=replace(node.host, network_bytes_per_s=50e9))
        plan = Plan(workload=Training(model=CHOICE, micro_batch=1, recomputation="full", **wanted))
        made = estimate(plan, model, machine, shipped_efficiencies)
        return next(n.need.value for n in made.host if n.id == "ram"), training_duty(made, model, shipped_efficiencies)

    return ram


def test_one_process_of_fsdp_holds_all_weights_before_they_are_split(trained):
    """The seven other eighths of 16 GB; pre-training begins with weights that nobody loads."""
    fsdp, duty = trained(method="full", framework="fsdp", sharding="fsdp")
    zero, _ = trained(method="full", framework="fsdp", sharding="zero2")
    scratch, _ = trained(method="pretraining", framework="fsdp", sharding="fsdp")
    assert fsdp - zero == pytest.approx(duty.weight_file_bytes * 7 / 8)
    assert scratch == zero


@pytest.mark.parametrize(
    ("wanted", "copies"),
    [
        ({"method": "lora", "sharding": "fsdp"}, 1),
        ({"method": "qlora", "sharding": "fsdp"}, 1),
        ({"method": "lora", "sharding": "ddp"}, 8),
        ({"method": "full", "sharding": "fsdp"}, 0),
    ],
)
def test_a_frozen_base_that_is_offloaded_lies_in_host_memory(trained, wanted, copies):
    """Split over the ranks it is there once, else each rank keeps its own; what is trained has bytes of its own."""
    _, here = trained(framework="hugging-face", **wanted)
    _, away = trained(framework="hugging-face", offload="parameters-and-optimizer", **wanted)
    assert here.offload_bytes == 0
    assert away.offload_bytes == copies * away.weight_file_bytes


def test_nodes_share_an_offloaded_base_that_is_split(trained):
    asked = {"method": "lora", "framework": "hugging-face", "sharding": "fsdp", "offload": "parameters-and-optimizer"}
    one, duty = trained(nodes=1, **asked)
    two, _ = trained(nodes=2, **asked)
    assert one - two > duty.weight_file_bytes / 2 * 0.99
