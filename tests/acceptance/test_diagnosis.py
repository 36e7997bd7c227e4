"""The causes: their data and texts are whole, what is read shows them, and no text makes them fail."""

from pathlib import Path

import pytest

from gpuplanner.acceptance.checking import accept
from gpuplanner.acceptance.checks import checks
from gpuplanner.acceptance.diagnosis import Certainty
from gpuplanner.acceptance.diagnosis.causes import causes
from gpuplanner.acceptance.diagnosis.causes.tensor_parallel import islands
from gpuplanner.acceptance.diagnosis.finding_causes import unexplained, would_tell
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.host import Cpu, Mount
from gpuplanner.probe.evidence.measured import Bandwidth, Sample
from gpuplanner.probe.evidence.paths import IbPort
from gpuplanner.probe.evidence.serving_log import NcclLog
from gpuplanner.probe.inspecting import inspect
from gpuplanner.probe.output import Output
from tests.acceptance.diagnosed import cause_rules, diagnosed, of_texts, said
from tests.acceptance.judged import CHINESE, ENGLISH, RULES, seen

DATA = Path(__file__).parents[1] / "data" / "probe"


def samples(*shares: float, **more: float) -> tuple[Sample, ...]:
    return tuple(
        Sample(gpu_index=0, at_s=float(at), **seen({"utilization_percent": share, **more}))
        for at, share in enumerate(shares)
    )


BURSTS = samples(0, 0, 95, 96, 0, 0, 0, 97, 0, 0)


def test_every_cause_has_data_and_every_text_in_both_languages():
    known = {check.id for check in checks()}
    looked_for = {cause.id for cause in causes()}
    assert looked_for <= cause_rules().keys()
    for rule in cause_rules().values():
        assert bool(rule.judged) != (rule.id in looked_for), rule.id
        assert {*rule.judged, *rule.explains} <= known, rule.id
        assert rule.source
        assert rule.confirm
        for translator in (ENGLISH, CHINESE):
            assert translator.has(f"diagnosis.{rule.id}.cause"), rule.id
            for reason in (reason for reasons in rule.judged.values() for reason in reasons):
                assert translator.has(reason), reason


@pytest.mark.parametrize("path", sorted(path for path in DATA.rglob("*") if path.is_file()), ids=lambda path: path.name)
def test_no_recording_makes_a_cause_fail(path):
    evidence = inspect(Output.of(path.read_bytes(), path.name)).evidence
    for finding in diagnosed(evidence=evidence).values():
        assert finding.id in cause_rules()


def test_nothing_read_has_no_cause_and_names_what_would_tell():
    assert diagnosed(evidence=Evidence()) == {}
    assert "nvidia-smi -q" in would_tell(Evidence())
    assert "nvidia-smi topo -m" not in would_tell(Evidence())
    assert "nvidia-smi topo -m" in would_tell(Evidence(gpus=(Gpu(index=0), Gpu(index=1))))


def test_what_would_tell_is_of_the_gpus_maker_and_was_not_read_yet():
    two = Evidence(gpus=tuple(Gpu(index=at, vendor="amd", name="AMD Instinct MI300X") for at in range(2)))
    on_bus = of_texts("".join(
        f"0{bus}:00.0 Processing accelerators [1200]: Advanced Micro Devices, Inc. [AMD/ATI] Aqua Vanjaram "
        "[Instinct MI300X] [1002:74a1]\n" for bus in (3, 4)
    ))  # fmt: skip
    for evidence in (two, on_bus):
        told = would_tell(evidence)
        assert not [command for command in told if "nvidia" in command]
        assert "amd-smi monitor" in told
        assert "-g 2" in " ".join(told)
    assert "amd-smi static; amd-smi metric" in would_tell(on_bus)
    assert "cat /sys/fs/cgroup/cpu.max" in would_tell(two)
    assert "cat /sys/fs/cgroup/cpu.max" not in would_tell(of_texts("max 100000\n"))
    assert "cat /sys/fs/cgroup/cpu.max" not in would_tell(of_texts("400000 100000\n"))
    assert "sudo journalctl -k -b" in would_tell(Evidence(looked_for=frozenset({"kernel_log"})))


def test_the_surer_cause_stands_first_then_the_one_that_explains_more():
    gpu = Gpu(index=0, vendor="nvidia", **seen({"name": "A", "pcie_width_current": 4, "pcie_width_max": 16}))
    cpu = Cpu(cpus=2, **seen({"busy_share": 0.95}))
    found = list(diagnosed(evidence=Evidence(gpus=(gpu,), samples=BURSTS, cpu=cpu)).values())
    certainties = [finding.certainty for finding in found]
    assert certainties == sorted(certainties, reverse=True)
    assert found[0].id == "narrow_link"
    assert "waits_for_processors" in {finding.id for finding in found}


def test_bursts_are_the_processors_the_storage_or_unknown():
    gpu = (Gpu(index=0, **seen({"name": "NVIDIA A100-SXM4-80GB"})),)
    full = diagnosed(evidence=Evidence(gpus=gpu, samples=BURSTS, cpu=Cpu(cpus=64, **seen({"busy_share": 0.97}))))
    assert full["waits_for_processors"].certainty is Certainty.LIKELY
    free = Cpu(cpus=64, **seen({"busy_share": 0.2}))
    far = Mount(**seen({"target": "/data", "kind": "nfs4", "source": "files:/data"}))
    stored = diagnosed(evidence=Evidence(gpus=gpu, samples=BURSTS, cpu=free, mounts=(far,)))
    assert "/data" in said(stored["waits_for_storage"])
    assert "waits_for_processors" not in stored
    unknown = diagnosed(evidence=Evidence(gpus=gpu, samples=BURSTS, cpu=free))
    assert unknown["works_in_bursts"].certainty is Certainty.POSSIBLE
    busy = Evidence(gpus=gpu, samples=samples(*[95.0] * 10), cpu=free, mounts=(far,))
    assert not {"waits_for_storage", "works_in_bursts"} & diagnosed(evidence=busy).keys()


def test_busy_with_little_power_and_little_memory_traffic_is_many_small_kernels():
    gpu = (Gpu(index=0, **seen({"name": "NVIDIA A100-SXM4-80GB", "power_limit_w": 400.0})),)
    low = Evidence(gpus=gpu, samples=samples(*[98.0] * 8, power_w=120.0, memory_percent=5.0))
    assert "small_kernels" in diagnosed(evidence=low)
    for power, memory in ((350.0, 5.0), (120.0, 80.0)):
        other = Evidence(gpus=gpu, samples=samples(*[98.0] * 8, power_w=power, memory_percent=memory))
        assert "small_kernels" not in diagnosed(evidence=other)


def test_a_containers_quota_below_what_programs_count():
    found = diagnosed("400000 100000\n", evidence=Evidence(cpu=Cpu(**seen({"cpus": 12, "quota_cpus": 4.0}))))
    assert "4 of the 12" in said(found["cgroup_quota"])
    assert "cgroup_quota" not in diagnosed(evidence=Evidence(cpu=Cpu(**seen({"cpus": 4, "quota_cpus": 4.0}))))


def test_what_the_data_loader_says_itself():
    workers = (
        "UserWarning: This DataLoader will create 24 worker processes in total. Our suggested max number of worker in "
        "current system is 4, which is smaller than what this DataLoader is going to create.\n"
    )
    assert "24 processes on 4" in said(diagnosed(workers)["too_many_workers"])
    killed = (
        "RuntimeError: DataLoader worker (pid 17) is killed by signal: Bus error. It is possible that dataloader's "
        "workers are out of shared memory. Please try to raise your shared memory limit.\n"
    )
    found = diagnosed(killed)
    assert found["shared_memory"].certainty is Certainty.SHOWN
    assert "shm-size" in ENGLISH.text(found["shared_memory"].fix)


def test_nccl_over_sockets_although_adapters_are_there():
    ports = tuple(IbPort(state="Active", **seen({"adapter": f"mlx5_{at}"})) for at in range(2))
    log = NcclLog(**seen({"network": "Socket", "nodes": 2, "transports": {"NET/Socket/0": 4}}))
    found = diagnosed(evidence=Evidence(nccl_logs=(log,), ib_ports=ports))
    assert found["sockets"].certainty is Certainty.SHOWN
    assert "gdr" not in found
    alone = NcclLog(**seen({"network": "Socket", "nodes": 1, "transports": {"P2P/CUMEM": 8}}))
    assert diagnosed(evidence=Evidence(nccl_logs=(alone,))) == {}


def test_connections_through_main_memory_and_a_setting_that_forces_them():
    refused = NcclLog(**seen({"transports": {"SHM": 4}, "peer_access_off": True}))
    found = diagnosed(evidence=Evidence(nccl_logs=(refused,)))
    assert "may not copy" in said(found["shared_memory_only"])
    set_so = NcclLog(**seen({"transports": {"SHM": 4}, "settings": {"NCCL_P2P_DISABLE": "1"}}))
    both = list(diagnosed(evidence=Evidence(nccl_logs=(set_so,))))
    assert both[0] == "nccl_setting"
    direct = NcclLog(**seen({"transports": {"P2P/CUMEM": 4, "SHM": 2}}))
    assert "shared_memory_only" not in diagnosed(evidence=Evidence(nccl_logs=(direct,)))


def test_islands_of_links():
    pairs = {("a", "b"): "NV4", ("b", "c"): "NV4", ("a", "c"): "SYS", ("c", "d"): "PIX", ("a", "d"): "SYS"}
    assert islands(pairs) == [{"a", "b", "c"}, {"d"}]


def test_a_narrow_port_over_a_card_is_found_by_the_tree_alone():
    def device(bus: str, kind: str, width: str) -> str:
        can = "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L1\n"
        return f"{bus} {kind}\n{can}\t\tLnkSta:\tSpeed 16GT/s, Width {width}\n"

    port = "00:01.0 PCI bridge [0604]: Intel Corporation Device [8086:347a]\n"
    port += "\tBus: primary=00, secondary=01, subordinate=01\n"
    links = "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L1\n\t\tLnkSta:\tSpeed 16GT/s, Width x8 (downgraded)\n"
    card = device("01:00.0", "3D controller [0302]: NVIDIA Corporation GA100 [10de:20b5]", "x16")
    found = diagnosed(port + links + card)
    assert "0000:00:01.0" in said(found["narrow_link"])
    assert "×8" in said(found["narrow_link"])
    assert "00:01.0" in found["narrow_link"].confirm
    assert "narrow_link" not in diagnosed(port + links.replace("x8 (downgraded)", "x16") + card)


def test_what_no_finding_explains_is_said():
    cpu = Cpu(cpus=64)
    evidence = Evidence(cpu=cpu, samples=samples(*[30.0] * 8))
    accepted = accept(evidence, checks(), RULES)
    assert unexplained(accepted, ()) == ("trace",)
    assert diagnosed(evidence=evidence) == {}


def test_memory_that_counts_errors_without_a_line_in_the_log_names_no_xid():
    gpu = Gpu(index=3, vendor="nvidia", **seen({"name": "A", "ecc_uncorrected_volatile": 2}))
    found = diagnosed(evidence=Evidence(gpus=(gpu,)))["memory_fails"]
    assert "Xid" not in said(found)
    assert "3" in said(found)
    worn = Gpu(index=3, vendor="nvidia", **seen({"name": "A", "remap_failed": True}))
    assert "Xid" not in said(diagnosed(evidence=Evidence(gpus=(worn,)))["memory_fails"])


@pytest.mark.parametrize("flag", ["remap_pending", "channel_repair_pending", "tpc_repair_pending"])
def test_a_repair_that_waits_for_a_reset_is_a_cause(flag):
    ill, well = (
        Gpu(index=at, vendor="nvidia", **seen({"name": "A", "remap_failed": False, flag: set_}))
        for at, set_ in enumerate((True, False))
    )
    found = diagnosed(evidence=Evidence(gpus=(ill, well)))
    assert found["repair_waits"].explains == ("mem.remap",)
    assert [line.text for line in found["repair_waits"].lines] == [flag]
    worn = Gpu(index=0, vendor="nvidia", **seen({"name": "A", "remapped_uncorrectable": 12, flag: True}))
    assert {"repair_waits", "memory_fails"} & diagnosed(evidence=Evidence(gpus=(worn,))).keys() == {"memory_fails"}
    assert "repair_waits" not in diagnosed(evidence=Evidence(gpus=(well,)))


def test_memory_that_cannot_be_repaired_is_replaced():
    gpu = Gpu(index=3, vendor="nvidia", **seen({"name": "A", "remap_failed": False, "unrepairable_memory": True}))
    found = diagnosed(evidence=Evidence(gpus=(gpu,)))["memory_fails"]
    assert "no reset repairs" in ENGLISH.text(found.cause)
    assert found.lines[0].text == "unrepairable_memory"


@pytest.mark.parametrize("kind", ["3D controller", "3D controller [0302]"])
def test_lspci_alone_shows_a_card_on_half_a_link_with_and_without_numbers_of_devices(kind):
    name = "NVIDIA Corporation GA100 [A100 SXM4 80GB]" + (" [10de:20b2]" if "[" in kind else "")
    printed = (
        f"01:00.0 {kind}: {name} (rev a1)\n"
        "\tCapabilities: [78] Express (v2) Endpoint, MSI 00\n"
        "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"
        "\t\tLnkSta:\tSpeed 16GT/s, Width x8 (downgraded)\n"
        "\tKernel driver in use: nvidia\n"
    )
    found = diagnosed(printed)["narrow_link"]
    assert {line.line for line in found.lines} >= {3, 4}
    assert "×8" in said(found)


@pytest.mark.parametrize("name", ["Intel Corporation Device", "ASPEED Technology, Inc. ASPEED Graphics Family"])
def test_a_narrow_link_of_another_maker_is_not_a_gpu_s(name):
    printed = (
        f"01:00.0 VGA compatible controller: {name}\n"
        "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"
        "\t\tLnkSta:\tSpeed 16GT/s, Width x8 (downgraded)\n"
    )
    assert "narrow_link" not in diagnosed(printed)


def test_peers_that_may_not_read_each_other_are_shown_by_their_rows():
    printed = "$ nvidia-smi topo -p2p r\n \tGPU0\tGPU1\tGPU2\n GPU0\tX\tOK\tCNS\n GPU1\tOK\tX\tOK\n GPU2\tCNS\tOK\tX\n"
    gpus = "".join(f"GPU {at}: NVIDIA A100-SXM4-80GB (UUID: GPU-{at})\n" for at in range(3))
    found = next(finding for finding in diagnosed(printed, gpus).values() if "p2p" in finding.explains)
    # The header and the two rows in which a pair is refused, not the one in which all is well.
    assert [line.line for line in found.lines] == [2, 3, 5]


def test_ports_that_are_down_are_counted_in_the_headline_and_named_by_their_lines():
    ports = "".join(
        f"CA 'mlx5_{at}'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: {state}\n"
        f"\t\tPhysical state: {'LinkUp' if state == 'Active' else 'Disabled'}\n\t\tRate: 400\n"
        "\t\tLink layer: InfiniBand\n"
        for at, state in enumerate(["Active"] * 9 + ["Down"] * 2)
    )
    found = diagnosed(ports)["ports_down"]
    assert "2 ports are down" in said(found)
    assert "Gbit/s" not in said(found)
    assert any("mlx5_9" in line.text for line in found.lines)
    assert not any("mlx5_0'" in line.text for line in found.lines)


HOT = 0x40  # NVML: hardware thermal slowdown


def test_a_copy_from_the_host_names_the_gpu_that_it_reaches():
    copy = Bandwidth(path="host_to_device", target=3, **seen({"gb_per_s": 20.0, "throttle_reasons": HOT}))
    back = Bandwidth(path="device_to_host", source=2, **seen({"gb_per_s": 20.0, "throttle_reasons": HOT}))
    assert "GPU 2–3" in said(diagnosed(evidence=Evidence(bandwidths=(copy, back)))["heat"])


def test_one_gpu_that_heat_slows_has_one_name():
    buses = ("00000000:3B:00.0", "00000000:19:00.0")
    gpus = tuple(
        Gpu(vendor="nvidia", pci_bus_id=bus, **seen({"name": "A", "throttle_reasons": HOT if "19" in bus else 0}))
        for bus in buses
    )
    taken = tuple(Sample(gpu_index=at, **seen({"throttle_reasons": 0 if at else HOT})) for at in range(2))
    heat = said(diagnosed(evidence=Evidence(gpus=gpus, samples=taken))["heat"])
    assert "00000000:19:00.0" in heat
    assert "0, " not in heat
    assert "3B" not in heat
    # Of one GPU of more, as with `-i 3`, an index may be of another one.
    other = said(diagnosed(evidence=Evidence(gpus=gpus[1:], samples=taken))["heat"])
    assert "0, " in other or ", 0" in other


def test_memory_that_lies_reserved_in_pieces_is_named_where_it_would_have_been_enough():
    sentence = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
        "79.10 GiB of which 1.10 GiB is free. Including non-PyTorch memory, this process has 78.00 GiB memory in use. "
        "Of the allocated memory 70.00 GiB is allocated by PyTorch, and {} is reserved by PyTorch but unallocated.\n"
    )
    found = diagnosed(sentence.format("6.50 GiB"))["memory_fragmented"]
    assert "2.00 GiB" in said(found)
    assert "6.50 GiB" in said(found)
    assert "expandable_segments" in ENGLISH.text(found.fix)
    assert "memory_fragmented" not in diagnosed(sentence.format("900.00 MiB"))
