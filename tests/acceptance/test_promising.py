import pytest

from gpuplanner.acceptance.promising import (
    measured,
    of_choice,
    of_gpus,
    of_instance,
    of_itself,
    promised_gpu,
    recognised,
)
from gpuplanner.acceptance.reached import read_reached
from gpuplanner.paths import shipped
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.workload.plan import GpuSlice, MachineChoice
from gpuplanner.workspace import Workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return Workspace(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def resolve(workspace):
    return lambda name, memory: workspace.resolve(name, "gpu", memory)


@pytest.mark.parametrize(
    ("gpu", "lanes", "bridge"),
    [
        ("nvidia-h100-sxm5-80gb", 18, False),
        ("nvidia-a100-sxm4-80gb", 12, False),
        ("nvidia-v100-sxm2-32gb", 6, False),
        ("nvidia-b200-180gb", 18, False),
        ("nvidia-h100-pcie-80gb", 12, True),
        ("nvidia-l40s", None, False),
    ],
)
def test_links_follow_from_kind_and_rate(workspace, gpu, lanes, bridge):
    promised = promised_gpu(workspace.catalog.gpus[gpu])
    assert (promised.nvlink_lanes, promised.link_is_bridge) == (lanes, bridge)


def test_memory_is_that_which_drivers_report(workspace):
    h100 = promised_gpu(workspace.catalog.gpus["nvidia-h100-sxm5-80gb"])
    assert (h100.memory_mib, h100.memory_is_reported) == (81559, True)
    assert (h100.flop_per_s or {})["bf16"] == 989e12
    assert h100.pcie_bytes_per_s == 63e9


@pytest.mark.parametrize(
    ("instance", "kind", "ports", "each"),
    [
        ("Standard_ND96isr_H100_v5", "InfiniBand", 8, 400e9),
        ("BM.GPU4.8", "RoCE", 16, 100e9),
        ("gpu-h100-sxm_8gpu-128vcpu-1600gb", "InfiniBand", None, None),
        ("Standard_ND96is_H100_v5", "", None, None),
    ],
)
def test_an_instance_promises_how_many_ports_and_what_each_carries(workspace, instance, kind, ports, each):
    found = next(each for each in workspace.catalog.instances.values() if each.name == instance)
    promised = of_instance(found, workspace.catalog.gpus)
    assert (promised.adapter_kind, promised.adapters, promised.adapter_bit_per_s) == (kind, ports, each)
    assert promised.adapters_bit_per_s == (ports * each if ports else None)
    assert promised.network_is_ethernet is (not kind)


def test_an_instance_promises_its_whole_machine(workspace):
    instance = workspace.catalog.instances["aws/p5.48xlarge"]
    promised = of_instance(instance, workspace.catalog.gpus, 2)
    assert promised.gpu is not None
    assert (promised.gpu.id, promised.gpu_count, promised.nodes) == ("nvidia-h100-sxm5-80gb", 8, 2)
    assert (promised.adapter_kind, promised.adapters) == ("EFA", 32)
    assert (promised.cpus, promised.virtualization, promised.mig) == (192, "pass-through", False)


def test_a_single_gpu_of_an_instance_is_promised_no_links(workspace):
    instances = workspace.catalog.instances.values()
    single = next(each for each in instances if each.gpu_id == "nvidia-h100-sxm5-80gb" and each.gpu_count == 1)
    promised = of_instance(single, workspace.catalog.gpus).gpu
    assert promised is not None
    assert promised.nvlink_lanes is None


def test_the_machine_of_a_plan(workspace):
    catalog = workspace.catalog
    many = of_choice(MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=16), catalog.gpus, catalog.instances)
    assert many is not None
    assert (many.gpu_count, many.nodes) == (8, 2)
    part = GpuSlice(profile="1g.10gb", compute="1/7", memory="1/8")
    cut = of_choice(MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", slice=part), catalog.gpus, catalog.instances)
    assert cut is not None
    assert (cut.mig, cut.gpu_fraction) == (True, None)
    assert of_choice(MachineChoice(gpu_id="no-such"), catalog.gpus, catalog.instances) is None


@pytest.mark.parametrize(
    ("gpu", "tflop_per_s"),
    [("nvidia-h100-sxm5-80gb", 794.5), ("amd-mi300x", 668.4), ("nvidia-a100-sxm4-40gb", 271.2), ("nvidia-l4", None)],
)
def test_what_matrix_products_reached(workspace, resolve, gpu, tflop_per_s):
    points = read_reached(shipped("catalogs") / "measurements")
    promised = measured(of_gpus(workspace.catalog.gpus[gpu]), points, resolve).gpu
    assert promised is not None
    reached = (promised.reached_flop_per_s or {}).get("bf16")
    assert reached == (tflop_per_s * 1e12 if tflop_per_s else None)


def test_names_are_resolved_and_open_ones_stay_open(workspace, resolve):
    evidence = Evidence(gpus=(
        Gpu(index=0, name="NVIDIA H100 80GB HBM3", memory_total_mib=81559),
        Gpu(index=1, name="NVIDIA GeForce RTX 2080 ...", memory_total_mib=8192),
        Gpu(index=2, name="GRID P4-1Q"),
        Gpu(index=3, name="No such thing"),
    ))  # fmt: skip
    found = recognised(of_gpus(workspace.catalog.gpus["nvidia-h100-sxm5-80gb"], 8), evidence, resolve).identities
    assert found["NVIDIA H100 80GB HBM3"].ids == ("nvidia-h100-sxm5-80gb",)
    assert found["NVIDIA GeForce RTX 2080 ..."].ids == ()
    assert (found["GRID P4-1Q"].part, len(found["GRID P4-1Q"].ids)) == (True, 1)
    assert found["No such thing"].ids == ()


def test_without_a_promise_the_gpus_own_entry_says_what_is_usual(workspace, resolve):
    evidence = Evidence(gpus=(Gpu(index=0, name="NVIDIA H100 80GB HBM3", memory_total_mib=81559),))
    usual = of_itself(evidence, workspace.catalog.gpus, resolve)
    assert usual.gpu is not None
    assert (usual.said_by, usual.gpu_count, usual.gpu.nvlink_lanes) == (None, None, 18)
    mixed = Evidence(gpus=(*evidence.gpus, Gpu(index=1, name="NVIDIA L40S")))
    assert of_itself(mixed, workspace.catalog.gpus, resolve).gpu is None
