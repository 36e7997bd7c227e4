"""A MIG slice as a plan's machine: from its printed name to an estimate, alone and several of them."""

from fractions import Fraction

import pytest
from pydantic import ValidationError

from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.catalog.names import names_of, read_name_tables
from gpuplanner.engine.changes import advised
from gpuplanner.engine.estimate import Fit
from gpuplanner.engine.estimating import estimate, explain
from gpuplanner.engine.machine import Topology
from gpuplanner.engine.machines import choice_of, machine_of, named_choice
from gpuplanner.engine.slices import OF_MEMORY, slices_per_gpu
from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.paths import shipped
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import GpuSlice, MachineChoice, Plan
from gpuplanner.workload.serving import Serving

MODEL = "meta-llama/Meta-Llama-3.1-8B"
A100 = "nvidia-a100-sxm4-80gb"
HALF = GpuSlice(profile="3g.40gb", compute="3/7", memory="4/8")


@pytest.fixture(scope="module")
def names(shipped_catalog):
    return names_of(shipped_catalog)


@pytest.mark.parametrize(
    ("text", "gpu", "compute", "memory"),
    [
        ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", A100, Fraction(3, 7), Fraction(1, 2)),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "nvidia-h100-sxm5-80gb", Fraction(1, 7), Fraction(1, 8)),
        ("NVIDIA A30 MIG 2g.12gb", "nvidia-a30", Fraction(1, 2), Fraction(1, 2)),
    ],
)
def test_a_printed_slice_is_a_machine(text, gpu, compute, memory, names, shipped_catalog):
    choice = named_choice(names.resolve(text))
    assert (choice.gpu_id, choice.gpus) == (gpu, 1)
    made, whole = machine_of(choice, shipped_catalog, {}), shipped_catalog.gpus[gpu]
    assert (made.nodes, made.gpus_per_node, made.topology, made.gpu_fraction) == (1, 1, Topology.SINGLE, Fraction(1))
    for name, known in whole.properties.items():
        own = made.gpu.known(name)
        if name in {GpuProperty.LINK_BYTES_PER_S, GpuProperty.MIG_SLICES, GpuProperty.NVENC, GpuProperty.NVDEC}:
            assert own is None
        elif not name.value.startswith("pcie"):
            assert own is not None
            assert own.value == pytest.approx(known.value * (memory if name in OF_MEMORY else compute))
            assert own.fact.source == known.fact.source
            assert own.fact.note
    assert made.gpu.link_kind == ""
    assert choice_of(made) == choice


def test_every_profile_of_every_gpu_is_a_machine_and_no_more_of_them_than_a_gpu_has(names, shipped_catalog):
    tried = 0
    for gpu_id, profiles in read_name_tables(shipped("catalogs") / "names").mig.items():
        for profile in profiles.shares:
            choice = named_choice(names.resolve(f"{shipped_catalog.gpus[gpu_id].name} MIG {profile}"))
            made = machine_of(choice, shipped_catalog, {})
            assert made.slice is not None
            per_gpu = slices_per_gpu(made.slice)
            assert 1 <= per_gpu <= profiles.compute_slices
            assert per_gpu * made.slice.memory_share <= 1
            assert made.gpu.id == gpu_id
            tried += 1
    assert tried > 60


def planned(catalog, efficiencies, count, **fields):
    choice = MachineChoice(gpu_id=A100, gpus=count, slice=HALF)
    asked = {"input_tokens": 1000, "output_tokens": 200, "concurrency": 8} | fields
    plan = Plan(workload=Serving(model=ModelChoice(catalog_id=MODEL), **asked), machine=choice)
    machine = machine_of(choice, catalog, {})
    return plan, catalog.models[MODEL].architecture, machine, efficiencies


def test_slices_hold_a_model_each_and_share_nothing(shipped_catalog, shipped_efficiencies):
    one = estimate(*planned(shipped_catalog, shipped_efficiencies, 1))
    three = estimate(*planned(shipped_catalog, shipped_efficiencies, 3))
    assert one.fit is not Fit.DOES_NOT_FIT
    assert (three.way.replicas, three.way.tensor_parallel, three.way.pipeline_parallel) == (3, 1, 1)
    assert three.memory.needed.value <= one.memory.needed.value
    (said,) = [remark for remark in three.remarks if remark.id == "machines.slices"]
    assert (said.values["count"], said.values["gpus"]) == (3, 2)
    assert all("3g.40gb" in Translator(language).text(said) for language in Language)


def test_a_slice_is_slower_than_its_gpu_and_holds_less(shipped_catalog, shipped_efficiencies):
    plan, model, machine, _ = planned(shipped_catalog, shipped_efficiencies, 1)
    whole = machine_of(MachineChoice(gpu_id=A100), shipped_catalog, {})
    part, full = (estimate(plan, model, m, shipped_efficiencies) for m in (machine, whole))
    assert part.memory.usable.value == pytest.approx(full.memory.usable.value / 2)
    assert part.metrics["tpot_s"].value > 1.4 * full.metrics["tpot_s"].value


def test_a_model_over_several_slices_is_refused(shipped_catalog, shipped_efficiencies):
    with pytest.raises(InputError):
        estimate(*planned(shipped_catalog, shipped_efficiencies, 2, tensor_parallel=2))


def test_an_explanation_names_the_part(shipped_catalog, shipped_efficiencies):
    made = explain(*planned(shipped_catalog, shipped_efficiencies, 1))
    assert made.metrics["tpot_s"].derivation is not None


def test_what_is_proposed_for_a_slice_is_no_slice_beside_another(shipped_catalog, shipped_efficiencies):
    made = estimate(*planned(shipped_catalog, shipped_efficiencies, 1, input_tokens=100_000, concurrency=64))
    model = shipped_catalog.models[MODEL].architecture
    changes = advised(made, model, shipped_efficiencies, shipped_catalog.gpus).changes
    assert changes
    for change in changes:
        machine = change.plan.machine
        assert machine is not None
        assert machine.slice is None or machine.slice == HALF
        rebuilt = machine_of(machine, shipped_catalog, {})
        assert rebuilt.gpus_per_node == 1 or rebuilt.slice is None


@pytest.mark.parametrize("text", ["GRID A100-10C", "H20000", "A100", MODEL, "A100-SXM4-80GB MIG 3g.99gb"])
def test_names_that_are_no_machine_are_refused(text, names):
    with pytest.raises(InputError) as refused:
        named_choice(names.resolve(text))
    for language in Language:
        assert Translator(language).text(refused.value.message)


def test_a_gpu_that_cannot_be_divided_is_refused(shipped_catalog):
    with pytest.raises(InputError) as refused:
        machine_of(MachineChoice(gpu_id="nvidia-rtx-4090", slice=HALF), shipped_catalog, {})
    assert refused.value.message.id == "machines.no_slices"


def test_a_whole_gpu_and_an_instance_are_chosen_by_name_too(names, shipped_catalog):
    eight = named_choice(names.resolve("8x H100 SXM5 80GB"))
    assert (eight.gpu_id, eight.gpus, eight.per_node, eight.slice) == ("nvidia-h100-sxm5-80gb", 8, 8, None)
    assert named_choice(names.resolve("p4d.24xlarge"), 2) == MachineChoice(instance_id="aws/p4d.24xlarge", nodes=2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"compute": "0/7"},
        {"compute": "8/7"},
        {"memory": "1/0"},
        {"memory": "-1/2"},
        {"memory": "0.5"},
        {"profile": "../../etc"},
        {"compute": "1" * 400},
    ],
)
def test_an_impossible_slice_is_refused(wrong):
    with pytest.raises((ValidationError, InputError)):
        GpuSlice(**({"profile": "3g.40gb", "compute": "3/7", "memory": "4/8"} | wrong))


def test_a_slice_needs_its_gpu():
    with pytest.raises((ValidationError, InputError)):
        MachineChoice(slice=HALF)
