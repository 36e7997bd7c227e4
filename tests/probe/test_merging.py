import time

from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.host import Cpu, Mount
from gpuplanner.probe.evidence.measured import Bandwidth, Sample
from gpuplanner.probe.evidence.record import Absent, Lacking, Seen
from gpuplanner.probe.merging import merged

SEEN = Seen(source="smi", line=3, text="Power : N/A")


def test_one_gpu_out_of_several_outputs():
    table = Evidence(gpus=(Gpu(index=0, pci_bus_id="00000000:10:00.0", temperature_c=30), Gpu(index=1)))
    query = Evidence(gpus=(Gpu(uuid="GPU-a", pci_bus_id="00000000:10:00.0", temperature_c=31, name="A100"),))
    listed = Evidence(gpus=(Gpu(index=0, uuid="GPU-a"), Gpu(index=1, uuid="GPU-b")))
    gpus = merged([table, query, listed]).gpus
    assert [(gpu.index, gpu.uuid, gpu.name, gpu.temperature_c) for gpu in gpus] == [
        (0, "GPU-a", "A100", 30),
        (1, "GPU-b", None, None),
    ]


def test_two_gpus_that_contradict_each_other_stay_two():
    one = Evidence(gpus=(Gpu(index=0, uuid="GPU-a"),))
    other = Evidence(gpus=(Gpu(index=0, uuid="GPU-b"),))
    assert len(merged([one, other]).gpus) == 2


def test_a_value_ends_the_absence_that_another_output_gives():
    lacks = Evidence(gpus=(Gpu(index=0, absent={"power_limit_w": Absent(reason=Lacking.NOT_SUPPORTED, seen=SEEN)}),))
    has = Evidence(gpus=(Gpu(index=0, power_limit_w=300, seen={"power_limit_w": SEEN}),))
    gpu = merged([lacks, has]).gpus[0]
    assert gpu.power_limit_w == 300
    assert not gpu.absent
    assert gpu.seen["power_limit_w"] == SEEN


def test_single_things_are_filled_and_lists_keyed():
    one = Evidence(cpu=Cpu(cpus=8), mounts=(Mount(target="/", size_bytes=10),), looked_for=frozenset({"a"}))
    other = Evidence(cpu=Cpu(cpus=9, model="EPYC"), mounts=(Mount(target="/", kind="ext4"), Mount(target="/data")))
    both = merged([one, other])
    assert both.cpu is not None
    assert (both.cpu.cpus, both.cpu.model) == (8, "EPYC")
    assert [(m.target, m.size_bytes, m.kind) for m in both.mounts] == [("/", 10, "ext4"), ("/data", None, None)]
    assert both.looked_for == {"a"}


def test_the_same_file_twice_counts_once():
    part = Evidence(bandwidths=(Bandwidth(path="host_to_device", source=0, gb_per_s=25.0),))
    assert merged([part, part]) == part


def test_a_long_series_beside_another_output_is_joined_in_a_moment():
    series = Evidence(samples=tuple(Sample(gpu_index=0, at_s=float(at)) for at in range(20_000)))
    started = time.perf_counter()
    assert len(merged([series, series, Evidence(gpus=(Gpu(index=0),))]).samples) == 20_000
    assert time.perf_counter() - started < 10, "each sample is compared with all others"
