"""Each check passes, objects, and says that it cannot tell, each by a machine that differs in what it is about."""

from dataclasses import replace
from datetime import date

import pytest

from gpuplanner.acceptance.check import Asked
from gpuplanner.acceptance.promised import NOTHING, Identity
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.events import KernelEvent, ToolFault
from gpuplanner.probe.evidence.gpu import NvLink, Process
from gpuplanner.probe.evidence.host import Cpu, Disk, HostMemory, KernelModule, Limits, Mount, Service, System
from gpuplanner.probe.evidence.measured import (
    Bandwidth,
    CollectiveRow,
    CollectiveRun,
    Diagnostic,
    DiskRate,
    MatrixRate,
    Sample,
)
from gpuplanner.probe.evidence.paths import IbPort, NetworkLink, PathMatrix, PciDevice
from gpuplanner.probe.evidence.record import Lacking
from gpuplanner.probe.evidence.software import Software
from tests.acceptance.judged import A6000, BY_ID, ENGLISH, H100, RULES, absent, gpus, judge, promising, seen

PASS, WARN, FAIL, CANNOT, SKIPPED = Verdict
GIB = 2.0**30
H100_ID = {"NVIDIA H100 80GB HBM3": Identity(("h100",))}
GEFORCE = "NVIDIA GeForce RTX 4090"


def bus(count, driver="nvidia", revision="a1", **more):
    return tuple(
        PciDevice(bus_id=f"0000:{at:02X}:00.0", class_code="0302", device_id="0x233010DE", revision=revision,
                  kernel_driver=driver, **more)
        for at in range(count)
    )  # fmt: skip


def links(up, down=0, count=2, **more):
    return tuple(
        NvLink(gpu_index=gpu, link=at, active=at < up, gb_per_s=26.562 if at < up else None, **more)
        for gpu in range(count)
        for at in range(up + down)
    )


def ports(count, gbit_per_s, layer="InfiniBand", state="Active"):
    """So many ports of an adapter each; `gbit_per_s` None where no tool says it."""
    rate = gbit_per_s * 1e9 if gbit_per_s else None
    return tuple(
        IbPort(adapter=f"mlx5_{at}", state=state, link_layer=layer, **seen({"bit_per_s": rate})) for at in range(count)
    )


TOTAL = promising(adapter_kind="InfiniBand", adapters_bit_per_s=3200e9)
EACH = promising(adapter_kind="InfiniBand", adapters=8, adapter_bit_per_s=400e9, adapters_bit_per_s=3200e9)
ETHERNET = promising(network_bit_per_s=100e9, network_is_ethernet=True)
ROCE = replace(EACH, adapter_kind="RoCE")


def matrix(path, count=2, kind="path", **more):
    names = tuple(f"GPU{at}" for at in range(count))
    paths = {one: {other: path for other in names if other != one} for one in names}
    return PathMatrix(kind=kind, devices=names, paths=paths, **more)


def collective(bus_gb_per_s, wrong=0, size=2**30, ranks=8, hosts=1):
    row = CollectiveRow(collective="AllReduce", bytes=size, bus_gb_per_s=bus_gb_per_s, wrong=wrong)
    return CollectiveRun(
        collective="AllReduce", ranks=ranks, hosts=hosts, gpu_names=("NVIDIA H100 80GB HBM3",), rows=(row,)
    )


def fm(state, version=None):
    return Service(name="nvidia-fabricmanager", state=state, version=version)


SWITCHED = {"matrices": matrix("NV18", 8), "gpus": gpus(8, driver_version="550.54.15")}
LOG = frozenset({"kernel_log", "kernel_log_since_boot"})
EIGHT = promising(H100, gpu_count=8, gpu_fraction=1.0)
CASES = [
    ("gpu.count", EIGHT, {"gpus": gpus(8)}, PASS),
    ("gpu.count", EIGHT, {"gpus": gpus(7)}, FAIL),
    ("gpu.count", EIGHT, {"gpus": gpus(9)}, WARN),
    ("gpu.count", None, {"gpus": gpus(8), "pci": bus(8)}, PASS),
    ("gpu.count", None, {"gpus": gpus(7), "pci": bus(8)}, FAIL),
    ("gpu.count", None, {"gpus": gpus(1), "pci": bus(1, revision="ff")}, FAIL),
    ("gpu.count", None, {"faults": ToolFault(kind="no_driver"), "pci": bus(1, driver=None)}, FAIL),
    ("gpu.count", None, {"gpus": gpus(8)}, CANNOT),
    ("gpu.count", EIGHT, {"gpus": gpus(8)[6:7]}, CANNOT),
    ("gpu.count", EIGHT, {}, CANNOT),
    ("gpu.count", EIGHT, {"pci": bus(8)}, CANNOT),
    ("gpu.count", EIGHT, {"pci": bus(7)}, FAIL),
    ("gpu.count", None, {"pci": bus(8)}, CANNOT),
    ("gpu.model", promising(H100, identities=H100_ID), {"gpus": gpus(memory_total_mib=81559)}, PASS),
    ("gpu.model", promising(A6000, identities=H100_ID), {"gpus": gpus()}, FAIL),
    ("gpu.model", promising(H100, identities=H100_ID), {"gpus": gpus(memory_total_mib=40960)}, FAIL),
    ("gpu.model", promising(H100, identities={"NVIDIA H100 80GB HBM3": Identity(("h100",), part=True)}),
     {"gpus": gpus()}, FAIL),
    ("gpu.model", promising(H100, identities={"NVIDIA H100 80GB HBM3": Identity(("h100", "h100-pcie"))}),
     {"gpus": gpus()}, CANNOT),
    ("gpu.model", promising(H100), {"gpus": gpus()}, CANNOT),
    ("gpu.model", None, {"gpus": gpus()}, SKIPPED),
    ("gpu.state", None, {"gpus": gpus()}, PASS),
    ("gpu.state", None, {"faults": ToolFault(kind="gpu_lost", said="GPU is lost")}, FAIL),
    ("gpu.state", None, {"gpus": gpus(state="lost")}, FAIL),
    ("gpu.state", None, {"gpus": gpus(absent=absent("fan_percent", reason=Lacking.ERROR))}, WARN),
    ("gpu.state", None, {"faults": ToolFault(kind="absent", wanted="nvidia-smi")}, CANNOT),
    ("gpu.recovery", None, {"gpus": gpus(recovery_action="None")}, PASS),
    ("gpu.recovery", None, {"gpus": gpus(recovery_action="Drain P2P")}, WARN),
    ("gpu.recovery", None, {"gpus": gpus(recovery_action="Drain and Reset")}, FAIL),
    ("gpu.recovery", None, {"gpus": gpus()}, CANNOT),
    ("gpu.alike", None, {"gpus": gpus(vbios="1", driver_version="1")}, PASS),
    ("gpu.alike", None, {"gpus": (*gpus(2, vbios="1"), gpus(3, vbios="2")[2])}, WARN),
    ("gpu.alike", None, {"gpus": gpus(4, vbios="1"), "matrix_rates": tuple(
        MatrixRate(gpu_index=at, dtype="bf16", tflop_per_s=rate)
        for at, rate in enumerate((700, 700, 700, 610)))}, FAIL),
    ("gpu.alike", None, {"gpus": gpus(4, vbios="1"), "matrix_rates": tuple(
        MatrixRate(gpu_index=at, dtype="bf16", tflop_per_s=rate)
        for at, rate in enumerate((700, 700, 700, 655)))}, WARN),
    ("gpu.alike", None, {"gpus": gpus(2)}, CANNOT),
    ("gpu.alike", None, {"gpus": gpus(1)}, None),
    ("ecc.mode", None, {"gpus": gpus(ecc_mode="Enabled")}, PASS),
    ("ecc.mode", None, {"gpus": gpus(ecc_mode="Enabled", ecc_mode_pending="Disabled")}, WARN),
    ("ecc.mode", None, {"gpus": gpus(ecc_mode="Disabled")}, WARN),
    ("ecc.mode", None, {"gpus": gpus(name=GEFORCE, ecc_mode="Disabled")}, SKIPPED),
    ("ecc.mode", None, {"gpus": gpus(absent=absent("ecc_mode"))}, CANNOT),
    ("ecc.volatile", None, {"gpus": gpus(ecc_uncorrected_volatile=0)}, PASS),
    ("ecc.volatile", None, {"gpus": gpus(ecc_uncorrected_volatile=1)}, FAIL),
    ("ecc.volatile", None, {"gpus": gpus(absent=absent("ecc_uncorrected_volatile"))}, CANNOT),
    ("ecc.sram_agg", None, {"gpus": gpus(ecc_sram_uncorrected_aggregate=0)}, PASS),
    ("ecc.sram_agg", None, {"gpus": gpus(ecc_sram_uncorrected_aggregate=4)}, WARN),
    ("ecc.sram_agg", None, {"gpus": gpus(ecc_sram_uncorrected_aggregate=5)}, FAIL),
    ("ecc.sram_agg", None, {"gpus": gpus(ecc_sram_threshold_exceeded=True)}, FAIL),
    ("ecc.sram_agg", None, {"gpus": gpus()}, CANNOT),
    ("ecc.corr", None, {"gpus": gpus(ecc_corrected_volatile=9_999_999)}, PASS),
    ("ecc.corr", None, {"gpus": gpus(ecc_corrected_volatile=10_000_000)}, WARN),
    ("ecc.corr", None, {"gpus": gpus(ecc_corrected_volatile=50_000_000)}, FAIL),
    ("ecc.corr", None, {"gpus": gpus()}, CANNOT),
    ("mem.remap", None, {"gpus": gpus(remap_failed=False, remap_pending=False, remapped_uncorrectable=8)}, PASS),
    ("mem.remap", None, {"gpus": gpus(remap_failed=False, remap_pending=False, remapped_uncorrectable=12)}, WARN),
    ("mem.remap", None, {"gpus": gpus(remap_failed=False, remap_pending=True, remapped_uncorrectable=0)}, WARN),
    ("mem.remap", None, {"gpus": gpus(remap_failed=True, remap_pending=False)}, FAIL),
    ("mem.remap", None, {"gpus": gpus(remap_failed=False, remap_pending=False, remapped_uncorrectable=513)}, FAIL),
    ("mem.remap", None, {"gpus": gpus(remap_pending=False)}, CANNOT),
    ("mem.retired", None, {"gpus": gpus(name="Tesla T4", retired_single_bit=3, retired_double_bit=0)}, PASS),
    ("mem.retired", None, {"gpus": gpus(name="Tesla T4", retired_single_bit=11, retired_double_bit=0)}, WARN),
    ("mem.retired", None, {"gpus": gpus(name="Tesla T4", retired_single_bit=0, retired_double_bit=1)}, FAIL),
    ("mem.retired", None, {"gpus": gpus(name="Tesla T4", architecture="Turing")}, CANNOT),
    ("xid", None, {"looked_for": LOG}, PASS),
    ("xid", None, {"events": KernelEvent(kind="xid", code=13)}, WARN),
    ("xid", None, {"events": KernelEvent(kind="xid", code=63)}, WARN),
    ("xid", None, {"events": KernelEvent(kind="xid", code=79)}, FAIL),
    ("xid", None, {"events": KernelEvent(kind="xid", code=74)}, FAIL),
    ("xid", None, {"events": KernelEvent(kind="xid", code=171)}, FAIL),
    ("xid", None, {"events": KernelEvent(kind="xid", code=145, fatal=True)}, FAIL),
    ("xid", None, {"events": KernelEvent(kind="xid", code=145, fatal=False)}, WARN),
    ("xid", None, {"events": KernelEvent(kind="xid", code=154, said="changed from 0x0 (None) to 0x1 (Reset)")}, FAIL),
    ("xid", None, {"events": KernelEvent(kind="xid", code=154, said="changed from 0x1 (Reset) to 0x0 (None)")}, WARN),
    ("xid", None, {"events": KernelEvent(kind="xid", code=99999)}, WARN),
    ("xid", None, {}, CANNOT),
    ("xid", None, {"faults": ToolFault(kind="no_permission", wanted="dmesg")}, CANNOT),
    ("sxid", None, SWITCHED | {"looked_for": LOG}, PASS),
    ("sxid", None, {"events": KernelEvent(kind="sxid", code=12028, fatal=False)}, WARN),
    ("sxid", None, {"events": KernelEvent(kind="sxid", code=20034, fatal=True)}, FAIL),
    ("sxid", None, SWITCHED, CANNOT),
    ("sxid", None, {"gpus": gpus(2)}, None),
    ("throttle", None, {"gpus": gpus(throttle_reasons=0x4)}, PASS),
    ("throttle", None, {"gpus": gpus(throttle_reasons=0x20)}, WARN),
    ("throttle", None, {"gpus": gpus(throttle_reasons=0, throttle_microseconds={"hw_thermal_slowdown": 5})}, WARN),
    ("throttle", None, {"gpus": gpus(throttle_reasons=0x40)}, FAIL),
    ("throttle", None, {"gpus": gpus(throttle_reasons=0x88)}, FAIL),
    ("throttle", None, {"gpus": gpus()}, CANNOT),
    ("clocks", None, {"gpus": gpus(clock_application_graphics_mhz=1980, clock_default_graphics_mhz=1980)}, PASS),
    ("clocks", None, {"gpus": gpus(clock_application_graphics_mhz=1200, clock_default_graphics_mhz=1980)}, WARN),
    ("clocks", None, {"gpus": gpus()}, CANNOT),
    ("power.limit", None, {"gpus": gpus(power_limit_w=700, power_limit_default_w=700)}, PASS),
    ("power.limit", None, {"gpus": gpus(power_limit_w=600, power_limit_default_w=700)}, WARN),
    ("power.limit", None, {"gpus": gpus(power_limit_w=500, power_limit_default_w=700)}, FAIL),
    ("power.limit", None, {"gpus": gpus(power_limit_w=400, power_limit_default_w=400, power_draw_w=240,
                                        throttle_reasons=4, utilization_percent=100)}, FAIL),
    ("power.limit", promising(H100), {"gpus": gpus(power_limit_w=500)}, WARN),
    ("power.limit", None, {"gpus": gpus(power_limit_w=500)}, CANNOT),
    ("temp", None, {"gpus": gpus(temperature_c=83, temperature_slowdown_c=95, utilization_percent=100)}, PASS),
    ("temp", None, {"gpus": gpus(temperature_c=78, temperature_slowdown_c=95, utilization_percent=0)}, WARN),
    ("temp", None, {"gpus": gpus(temperature_c=90, temperature_slowdown_c=95)}, WARN),
    ("temp", None, {"gpus": gpus(temperature_c=87, temperature_margin_c=-2, temperature_slowdown_margin_c=-2)}, FAIL),
    ("temp", None, {"gpus": gpus(temperature_c=95)}, FAIL),
    ("temp", None, {"gpus": gpus()}, CANNOT),
    ("pstate", None, {"gpus": gpus(pstate="P8", utilization_percent=0)}, PASS),
    ("pstate", None, {"gpus": gpus(name=GEFORCE, pstate="P2", utilization_percent=100)}, PASS),
    ("pstate", None, {"gpus": gpus(pstate="P2", utilization_percent=100)}, WARN),
    ("pstate", None, {"gpus": gpus(pstate="P0")}, CANNOT),
    ("persist", None, {"gpus": gpus(persistence_mode="Enabled")}, PASS),
    ("persist", None, {"gpus": gpus(persistence_mode="Disabled")}, WARN),
    ("persist", None, {"gpus": gpus()}, CANNOT),
    ("pcie.width", None, {"gpus": gpus(pcie_width_current=16, pcie_width_max=16)}, PASS),
    ("pcie.width", None, {"gpus": gpus(pcie_width_current=8, pcie_width_max=16)}, FAIL),
    ("pcie.width", None, {"gpus": gpus(name="Tesla T4", pcie_width_current=8, pcie_width_max=16)}, WARN),
    ("pcie.width", promising(H100), {"gpus": gpus(pcie_width_current=8, pcie_width_max=8)}, WARN),
    ("pcie.width", None, {"pci": bus(2, link_width=8, link_width_max=16)}, FAIL),
    ("pcie.width", None, {"pci": (PciDevice(bus_id="b", link_width=4, link_width_max=16),
                                  *bus(1, parent="b", link_width=16, link_width_max=16))}, FAIL),
    ("pcie.width", None, {"gpus": gpus(pcie_width_current=16, pcie_width_max=16),
                          "pci": bus(2, link_width=8, link_width_max=16)}, FAIL),
    ("pcie.width", None, {"gpus": gpus(absent=absent("pcie_width_current"))}, CANNOT),
    ("pcie.gen", None, {"gpus": gpus(pcie_gen_current=1, pcie_gen_max=5)}, PASS),
    ("pcie.gen", None, {"gpus": gpus(pcie_gen_current=4, pcie_gen_max=4, pcie_gen_gpu_max=5)}, WARN),
    ("pcie.gen", None, {"gpus": gpus(pcie_gen_current=1, pcie_gen_max=5, pcie_received_kib_per_s=2e6)}, FAIL),
    ("pcie.gen", None, {"gpus": gpus(1, pcie_gen_current=1, pcie_gen_max=5),
                        "bandwidths": Bandwidth(path="host_to_device", target=0, pcie_gen=4)}, FAIL),
    ("pcie.gen", None, {"gpus": gpus(1, pcie_gen_current=1, pcie_gen_max=5),
                        "bandwidths": Bandwidth(path="host_to_device", target=0, pcie_gen=5)}, PASS),
    ("pcie.gen", None, {"gpus": gpus()}, CANNOT),
    ("pcie.replay", None, {"gpus": gpus(pcie_replays=80)}, PASS),
    ("pcie.replay", None, {"gpus": gpus(pcie_replays=81)}, WARN),
    ("pcie.replay", None, {"gpus": gpus(pcie_replays=0), "events": KernelEvent(kind="aer")}, WARN),
    ("pcie.replay", None, {"gpus": gpus()}, CANNOT),
    ("bar1", None, {"gpus": gpus(bar1_total_mib=131072, memory_total_mib=81559)}, PASS),
    ("bar1", None, {"gpus": gpus(name=GEFORCE, bar1_total_mib=256, memory_total_mib=24564)}, PASS),
    ("bar1", None, {"gpus": gpus()}, CANNOT),
    ("nvlink.lanes", promising(H100), {"gpus": gpus(), "nvlinks": links(18)}, PASS),
    ("nvlink.lanes", promising(H100), {"gpus": gpus(), "nvlinks": links(17, 1)}, FAIL),
    ("nvlink.lanes", promising(H100), {"gpus": gpus(), "nvlinks": links(12)}, FAIL),
    ("nvlink.lanes", None, {"gpus": gpus(), "nvlinks": links(8)}, PASS),
    ("nvlink.lanes", None, {"gpus": gpus(), "nvlinks": NvLink(gpu_index=0, active=False)}, FAIL),
    ("nvlink.lanes", None,
     {"nvlinks": (*links(12, count=1), *(NvLink(gpu_index=1, link=at, active=True) for at in range(11)))},
     FAIL),
    ("nvlink.lanes", promising(A6000), {"gpus": gpus(name="NVIDIA RTX A6000"), "nvlinks": links(0, 4)}, WARN),
    ("nvlink.lanes", promising(H100), {"gpus": gpus(mig_mode="Enabled")}, CANNOT),
    ("nvlink.lanes", promising(H100),
     {"gpus": gpus(1, mig_mode="Enabled"), "nvlinks": NvLink(gpu_index=0, active=False)}, CANNOT),
    ("nvlink.lanes", promising(H100), {"gpus": gpus()}, CANNOT),
    ("nvlink.lanes", promising(H100), {"gpus": gpus(8), "matrices": matrix("NV18", 8)}, PASS),
    ("nvlink.lanes", promising(H100), {"gpus": gpus(8), "matrices": matrix("NV17", 8)}, FAIL),
    ("nvlink.lanes", None, {"gpus": gpus(name="NVIDIA L40S")}, None),
    ("nvlink.speed", promising(H100), {"nvlinks": links(18)}, PASS),
    ("nvlink.speed", promising(H100), {"nvlinks": links(16)}, FAIL),
    ("nvlink.speed", None,
     {"nvlinks": (NvLink(gpu_index=0, link=0, gb_per_s=25), NvLink(gpu_index=0, link=1, gb_per_s=20))}, FAIL),
    ("nvlink.speed", promising(H100), {"gpus": gpus()}, CANNOT),
    ("nvlink.err", None, {"nvlinks": links(1, replay_errors=0, recovery_errors=0, crc_errors=4)}, PASS),
    ("nvlink.err", None, {"nvlinks": links(1, replay_errors=5, recovery_errors=0, crc_errors=0)}, WARN),
    ("nvlink.err", None, {"nvlinks": links(1, replay_errors=0, recovery_errors=1, crc_errors=0)}, FAIL),
    ("nvlink.err", None, {"nvlinks": links(1, replay_errors=0, recovery_errors=0, crc_errors=101)}, FAIL),
    ("nvlink.err", None, {"nvlinks": links(18)}, CANNOT),
    ("topo", promising(H100), {"gpus": gpus(8), "matrices": matrix("NV18", 8)}, PASS),
    ("topo", promising(H100), {"gpus": gpus(8), "matrices": matrix("SYS", 8)}, FAIL),
    ("topo", promising(A6000), {"gpus": gpus(2), "matrices": matrix("PHB")}, WARN),
    ("topo", None, {"gpus": gpus(8), "matrices": matrix("NV12", 8)}, PASS),
    ("topo", None, {"gpus": gpus(2), "matrices": matrix("SYS")}, CANNOT),
    ("topo", None, {"gpus": gpus(2)}, CANNOT),
    ("topo", None, {"gpus": gpus(1)}, None),
    ("p2p", None, {"gpus": gpus(), "matrices": matrix("OK", kind="p2p read")}, PASS),
    ("p2p", None, {"gpus": gpus(name=GEFORCE), "matrices": matrix("GNS", kind="p2p read")}, WARN),
    ("p2p", None, {"gpus": gpus(), "matrices": matrix("TNS", kind="p2p read")}, FAIL),
    ("p2p", None, {"gpus": gpus()}, CANNOT),
    ("p2p", None, {"gpus": gpus(), "matrices": matrix("U", kind="p2p read")}, CANNOT),
    ("p2p", None, {"gpus": gpus(mig_mode="Enabled")}, SKIPPED),
    ("fabric.fm", None, SWITCHED | {"services": fm("active", "550.54.15")}, PASS),
    ("fabric.fm", None, SWITCHED | {"services": fm("active")}, WARN),
    ("fabric.fm", None, SWITCHED | {"services": fm("active", "550.54.14")}, FAIL),
    ("fabric.fm", None, SWITCHED | {"services": fm("inactive")}, FAIL),
    ("fabric.fm", None, SWITCHED | {"services": fm("absent"), "system": System(virtualization="kvm")}, CANNOT),
    ("fabric.fm", None, SWITCHED, CANNOT),
    ("fabric.fm", None, {"gpus": gpus(1)}, None),
    ("fabric.state", None, {"gpus": gpus(fabric_state="Completed", fabric_status="Success")}, PASS),
    ("fabric.state", None, {"gpus": gpus(fabric_state="In Progress")}, WARN),
    ("fabric.state", None, {"gpus": gpus(fabric_state="In Progress"), "system": System(uptime_s=86400)}, FAIL),
    ("fabric.state", None, {"gpus": gpus(fabric_state="Not Started")}, FAIL),
    ("fabric.state", None, {"gpus": gpus(fabric_state="Completed", fabric_status="Success",
                                         fabric_health={"Degraded Bandwidth": "True"})}, FAIL),
    ("fabric.state", None, {"gpus": gpus(fabric_state="Completed")}, CANNOT),
    ("imex", None, {"gpus": gpus(name="NVIDIA GB200"), "services": Service(name="nvidia-imex", state="active")}, PASS),
    ("imex", promising(nodes=2), {"gpus": gpus(name="NVIDIA GB200"),
                                  "services": Service(name="nvidia-imex", state="inactive")}, FAIL),
    ("imex", None, {"gpus": gpus(name="NVIDIA GB200")}, CANNOT),
    ("mig", None, {"gpus": gpus(mig_mode="Disabled", mig_mode_pending="Disabled")}, PASS),
    ("mig", None, {"gpus": gpus(mig_mode="Disabled", mig_mode_pending="Enabled")}, WARN),
    ("mig", None, {"gpus": gpus(mig_mode="Enabled")}, WARN),
    ("mig", promising(H100, mig=False), {"gpus": gpus(mig_mode="Enabled")}, FAIL),
    ("mig", promising(H100, mig=True), {"gpus": gpus(mig_mode="Disabled")}, FAIL),
    ("mig", None, {"gpus": gpus()}, CANNOT),
    ("virt.mode", promising(virtualization="bare metal"),
     {"gpus": gpus(virtualization="None"), "cpu": Cpu(hypervisor_flag=False)}, PASS),
    ("virt.mode", promising(virtualization="pass-through"), {"gpus": gpus(virtualization="VGPU")}, FAIL),
    ("virt.mode", promising(virtualization="bare metal"),
     {"gpus": gpus(virtualization="Pass-Through"), "cpu": Cpu(hypervisor_flag=True)}, FAIL),
    ("virt.mode", promising(virtualization="pass-through"),
     {"gpus": gpus(virtualization="Pass-Through", driver_model="WDDM")}, CANNOT),
    ("virt.mode", promising(virtualization="bare metal"),
     {"gpus": gpus(virtualization="Pass-Through"), "cpu": Cpu(hypervisor_flag=False)}, CANNOT),
    ("virt.mode", None, {"gpus": gpus(name="GRID P4-1Q")}, WARN),
    ("virt.mode", None, {}, CANNOT),
    ("virt.licence", None, {"gpus": gpus(virtualization="VGPU", licence_status="Licensed")}, PASS),
    ("virt.licence", None, {"gpus": gpus(virtualization="VGPU", licence_status="Unlicensed (Restricted)")}, FAIL),
    ("virt.licence", None, {"gpus": gpus(virtualization="VGPU")}, CANNOT),
    ("virt.licence", None, {"gpus": gpus()}, None),
    ("virt.pci", None, {"pci": bus(2)}, PASS),
    ("virt.pci", None, {"pci": bus(2, driver="vfio-pci")}, FAIL),
    ("virt.pci", None, {"pci": (*bus(1, driver=None), PciDevice(bus_id="x", kernel_driver="nvme"))}, FAIL),
    ("virt.pci", None, {"pci": bus(1, driver=None)}, CANNOT),
    ("virt.host", promising(virtualization="bare metal"), {"cpu": Cpu(hypervisor_flag=False)}, PASS),
    ("virt.host", promising(virtualization="bare metal"), {"cpu": Cpu(hypervisor_vendor="KVM")}, FAIL),
    ("virt.host", promising(virtualization="bare metal"), {}, CANNOT),
    ("virt.container", None, {"system": System(container="docker")}, PASS),
    ("virt.container", None, {}, CANNOT),
    ("cpu.steal", None, {"cpu": Cpu(steal_share=0.0)}, PASS),
    ("cpu.steal", None, {"cpu": Cpu(steal_share=0.02)}, WARN),
    ("cpu.steal", None, {"cpu": Cpu(steal_share=0.06)}, FAIL),
    ("cpu.steal", None, {}, CANNOT),
    ("cpu.count", promising(cpus=96), {"cpu": Cpu(cpus=96)}, PASS),
    ("cpu.count", promising(cpus=96), {"cpu": Cpu(cpus=80)}, WARN),
    ("cpu.count", promising(cpus=96), {"cpu": Cpu(cpus=192, quota_cpus=48)}, FAIL),
    ("cpu.count", None, {"cpu": Cpu(cpus=96, quota_cpus=6), "gpus": gpus(2)}, WARN),
    ("cpu.count", promising(cpus=96), {"cpu": Cpu(cpus=96), "system": System(container="docker")}, CANNOT),
    ("cpu.count", None, {}, CANNOT),
    ("cpu.gov", None, {"cpu": Cpu(governors={"performance": 96})}, PASS),
    ("cpu.gov", None, {"cpu": Cpu(governors={"powersave": 96})}, WARN),
    ("cpu.gov", None, {}, CANNOT),
    ("numa", None,
     {"gpus": tuple(gpu.model_copy(update={"numa_node": gpu.index}) for gpu in gpus(2)), "cpu": Cpu(sockets=2)}, PASS),
    ("numa", None, {"gpus": gpus(2, numa_node=0), "cpu": Cpu(sockets=2)}, WARN),
    ("numa", None, {"gpus": gpus(2, numa_node=-1), "cpu": Cpu(sockets=2)}, CANNOT),
    ("ram", promising(ram_bytes=1000e9), {"memory": HostMemory(total_bytes=960e9)}, PASS),
    ("ram", promising(ram_bytes=1000e9), {"memory": HostMemory(total_bytes=910e9)}, WARN),
    ("ram", promising(ram_bytes=1000e9), {"memory": HostMemory(total_bytes=960e9, cgroup_limit_bytes=256e9)}, FAIL),
    ("ram", None, {"memory": HostMemory(total_bytes=64e9), "gpus": gpus(8, memory_total_mib=81559)}, WARN),
    ("ram", None, {"memory": HostMemory(total_bytes=64e9)}, CANNOT),
    ("swap", None, {"memory": HostMemory(swap_total_bytes=0)}, PASS),
    ("swap", None, {"memory": HostMemory(swap_total_bytes=8e9, swap_free_bytes=8e9)}, WARN),
    ("swap", None, {}, CANNOT),
    ("shm", None, {"limits": Limits(shm_bytes=16 * GIB, locked_bytes=-1, open_files=1048576)}, PASS),
    ("shm", None, {"limits": Limits(shm_bytes=64 * 2**20, locked_bytes=-1, open_files=1048576)}, WARN),
    ("shm", promising(training=True), {"limits": Limits(shm_bytes=64 * 2**20)}, FAIL),
    ("shm", None, {"limits": Limits(shm_bytes=16 * GIB, locked_bytes=65536, open_files=1048576)}, WARN),
    ("shm", None, {"limits": Limits(shm_bytes=16 * GIB, locked_bytes=-1, open_files=1024)}, WARN),
    ("shm", None, {"limits": Limits(locked_bytes=-1, open_files=1048576)}, CANNOT),
    ("disk.kind", None, {"disks": Disk(name="nvme0n1", kind="disk", transport="nvme")}, PASS),
    ("disk.kind", None, {"disks": Disk(name="zram0", kind="disk", rotational=False)}, CANNOT),
    ("disk.kind", None, {"disks": Disk(name="vda", kind="disk", rotational=True)}, WARN),
    ("disk.kind", None, {"disks": Disk(name="sda", kind="disk", transport="sata", rotational=True)}, FAIL),
    ("disk.kind", None, {"disks": Disk(name="sda", kind="disk")}, CANNOT),
    ("disk.free", None, {"mounts": Mount(target="/", kind="ext4", used_percent=40)}, PASS),
    ("disk.free", None, {"mounts": Mount(target="/data", kind="xfs", used_percent=85)}, WARN),
    ("disk.free", None, {"mounts": Mount(target="/data", kind="xfs", used_percent=95)}, FAIL),
    ("disk.free", None, {"mounts": Mount(target="/snap/x", kind="squashfs", used_percent=100)}, CANNOT),
    ("disk.speed", None, {"disk_rates": DiskRate(operation="read", gb_per_s=2.0, direct=True)}, PASS),
    ("disk.speed", promising(disk_bytes_per_s=2.5e9), {"disk_rates": DiskRate(operation="read", gb_per_s=2.0)}, WARN),
    ("disk.speed", None, {"disk_rates": DiskRate(operation="read", gb_per_s=0.1)}, FAIL),
    ("disk.speed", None, {"disk_rates": DiskRate(operation="read", gb_per_s=9.0, direct=False)}, CANNOT),
    ("disk.speed", None, {}, SKIPPED),
    ("disk.health", None, {"disks": Disk(name="nvme0n1", healthy=True, media_errors=0, used_percent=3)}, PASS),
    ("disk.health", None, {"disks": Disk(name="nvme0n1", healthy=True, media_errors=2)}, WARN),
    ("disk.health", None, {"disks": Disk(name="nvme0n1", critical_warning=4)}, FAIL),
    ("disk.health", None, {"disks": Disk(name="nvme0n1", transport="nvme")}, CANNOT),
    ("net.link", promising(network_bit_per_s=25e9),
     {"network": NetworkLink(name="eth0", state="up", bit_per_s=25e9)}, PASS),
    ("net.link", promising(network_bit_per_s=100e9),
     {"network": NetworkLink(name="eth0", state="up", bit_per_s=50e9)}, WARN),
    ("net.link", ETHERNET, {"network": NetworkLink(name="eth0", state="up", bit_per_s=40e9)}, FAIL),
    ("net.link", promising(network_bit_per_s=100e9),
     {"network": NetworkLink(name="eth0", state="up", bit_per_s=40e9)}, WARN),
    ("net.link", promising(network_bit_per_s=100e9),
     {"network": NetworkLink(name="eth0", state="up", bit_per_s=40e9), "looked_for": frozenset({"ib"})}, FAIL),
    *(("net.link", promising(network_bit_per_s=100e9),
       {"network": NetworkLink(name="eth0", state="up", bit_per_s=40e9), "pci": PciDevice(class_code=code)}, verdict)
      for code, verdict in (("0200", FAIL), ("0207", WARN), (None, WARN))),
    ("net.link", ETHERNET,
     {"network": NetworkLink(name="eth0", state="up", bit_per_s=40e9), "ib_ports": ports(8, 400)}, FAIL),
    ("net.link", ETHERNET,
     {"network": NetworkLink(name="eth0", state="up", bit_per_s=40e9),
      "ib_ports": ports(1, 100, layer="Ethernet")}, PASS),
    ("net.link", ETHERNET,
     {"network": (NetworkLink(name="eth0", state="up", bit_per_s=40e9), NetworkLink(name="eth1", state="up"))}, WARN),
    ("net.link", promising(network_bit_per_s=50e9),
     {"network": tuple(NetworkLink(name=name, state="up", bit_per_s=25e9) for name in ("eth0", "bond0"))}, WARN),
    ("net.link", promising(network_bit_per_s=200e9, interfaces=2, interface_bit_per_s=100e9),
     {"network": tuple(NetworkLink(name=f"eth{at}", state="up", bit_per_s=25e9) for at in range(8))}, WARN),
    ("net.link", promising(network_bit_per_s=3200e9), {"ib_ports": ports(8, 400)}, PASS),
    ("net.link", promising(network_bit_per_s=3200e9), {"ib_ports": ports(1, 400)}, CANNOT),
    ("net.link", None, {"network": NetworkLink(name="eth0", state="down")}, FAIL),
    ("net.link", None, {"network": NetworkLink(name="eth0", state="up")}, CANNOT),
    ("ib", None, {"ib_ports": IbPort(adapter="mlx5_0", state="4: ACTIVE", bit_per_s=400e9)}, PASS),
    ("ib", None, {"ib_ports": IbPort(adapter="mlx5_0", state="Active", counters={"link_downed": 3})}, WARN),
    ("ib", None, {"ib_ports": IbPort(adapter="mlx5_0", state="Down", link_layer="InfiniBand")}, FAIL),
    ("ib", promising(adapters=8, adapter_kind="InfiniBand"),
     {"ib_ports": IbPort(adapter="mlx5_0", state="Active")}, FAIL),
    ("ib", promising(adapters=8, adapter_kind="InfiniBand"), {}, CANNOT),
    ("ib", TOTAL, {}, CANNOT),
    ("ib", TOTAL, {"ib_ports": ports(1, 100)}, FAIL),
    ("ib", TOTAL, {"ib_ports": ports(8, 200)}, FAIL),
    ("ib", TOTAL, {"ib_ports": ports(8, 400)}, PASS),
    ("ib", TOTAL, {"ib_ports": ports(16, 200)}, PASS),
    ("ib", TOTAL, {"ib_ports": ports(8, 400, layer="Ethernet")}, FAIL),
    ("ib", TOTAL, {"ib_ports": ports(8, None)}, CANNOT),
    ("ib", EACH, {"ib_ports": ports(8, 400)}, PASS),
    ("ib", EACH, {"ib_ports": ports(8, 200)}, FAIL),
    ("ib", EACH, {"ib_ports": ports(16, 200)}, WARN),
    ("ib", EACH, {"ib_ports": (*ports(5, 400), *ports(4, 100, layer="Ethernet"))}, FAIL),
    ("ib", EACH, {"ib_ports": (*ports(8, 400), *ports(4, 100, layer="Ethernet", state="Down"))}, WARN),
    ("ib", EACH, {"ib_ports": (*ports(7, 400), *ports(1, None))}, CANNOT),
    ("ib", EACH, {"ib_ports": (*ports(6, 400), *ports(1, 100), *ports(1, None))}, FAIL),
    ("ib", ROCE, {"ib_ports": ports(8, 400, layer="Ethernet")}, PASS),
    ("ib", ROCE, {"ib_ports": ports(8, 400)}, FAIL),
    ("ib", None, {"faults": ToolFault(kind="device_error", said="ibpanic: stat of IB device 'mlx5_8' failed")}, FAIL),
    ("gpu.state", None, {"faults": ToolFault(kind="device_error", said="ibpanic: stat of IB device failed")}, CANNOT),
    ("efa", promising(adapters=1, adapter_kind="EFA"),
     {"pci": PciDevice(device_id="0xEFA21D0F", name="Elastic Fabric Adapter (EFA)")}, PASS),
    ("efa", promising(adapters=32, adapter_kind="EFA"),
     {"pci": PciDevice(device_id="0xEFA21D0F", name="Elastic Fabric Adapter (EFA)")}, FAIL),
    ("efa", promising(adapters=32, adapter_kind="EFA"), {}, CANNOT),
    ("gdr", promising(adapters=8), {"modules": KernelModule(name="nvidia_peermem")}, PASS),
    ("gdr", promising(adapters=8), {"modules": KernelModule(name="nvidia"), "system": System(kernel="5.4.0"), }, WARN),
    ("gdr", promising(adapters=8, nodes=2),
     {"modules": KernelModule(name="nvidia"), "system": System(kernel="5.4.0")}, FAIL),
    ("gdr", promising(adapters=8), {"modules": KernelModule(name="nvidia")}, CANNOT),
    ("acs", None, {"pci": PciDevice(bus_id="b", acs_source_validation=False)}, PASS),
    ("acs", None, {"pci": PciDevice(bus_id="b", acs_source_validation=True)}, WARN),
    ("acs", None, {"system": System(kernel_command_line="quiet intel_iommu=on")}, WARN),
    ("acs", None, {"system": System(virtualization="kvm")}, SKIPPED),
    ("acs", None, {}, CANNOT),
    ("drv.match", None, {"gpus": gpus(driver_version="580.178")}, PASS),
    ("drv.match", None, {"faults": ToolFault(kind="mismatch", library_version="580.178")}, FAIL),
    ("drv.match", None, {"software": Software(module_version="1", library_version="2")}, FAIL),
    ("drv.match", None, {}, CANNOT),
    ("drv.branch", None, {"software": Software(driver_version="550.54.15", torch_version="2.5.1+cu124")}, PASS),
    ("drv.branch", None, {"software": Software(driver_version="535.183.01", torch_version="2.5.1+cu124")}, WARN),
    ("drv.branch", None, {"software": Software(driver_version="450.80.02", torch_version="2.5.1+cu121")}, FAIL),
    ("drv.branch", None, {"gpus": gpus(compute_capability="12.0"),
                          "software": Software(driver_version="590.48.01", torch_version="2.5.1+cu121")}, FAIL),
    ("drv.branch", None, {"gpus": gpus(compute_capability="7.0"), "software": Software(
        driver_version="590.48.01", torch_version="2.9.0+cu130")}, FAIL),
    ("drv.branch", None, {"software": Software(driver_version="550.54.15")}, CANNOT),
    ("drv.kmod", None, {"gpus": gpus(architecture="Blackwell"), "software": Software(module_flavour="open")}, PASS),
    ("drv.kmod", None,
     {"gpus": gpus(architecture="Blackwell"), "software": Software(module_flavour="proprietary")}, FAIL),
    ("drv.kmod", None, {}, CANNOT),
    ("drv.nouveau", None, {"modules": KernelModule(name="nvidia")}, PASS),
    ("drv.nouveau", None, {"modules": KernelModule(name="nouveau")}, FAIL),
    ("drv.nouveau", None, {}, CANNOT),
    ("drv.secureboot", None, {"system": System(secure_boot=False)}, PASS),
    ("drv.secureboot", None, {"system": System(secure_boot=True)}, WARN),
    ("drv.secureboot", None, {}, CANNOT),
    ("procs", None, {"looked_for": frozenset({"processes"})}, PASS),
    ("procs", None, {"processes": Process(gpu_index=0, pid=1, kind="G", memory_used_mib=500)}, PASS),
    ("procs", None, {"processes": Process(gpu_index=0, pid=1, kind="C", memory_used_mib=500)}, WARN),
    ("procs", None, {"gpus": gpus()}, CANNOT),
    ("procs", None, {"looked_for": frozenset({"processes"}), "faults": ToolFault(kind="no_driver")}, CANNOT),
    ("clock.drift", None, {"system": System(clock_offset_s=-0.2)}, PASS),
    ("clock.drift", None, {"system": System(clock_offset_s=-0.5)}, WARN),
    ("clock.drift", None, {"system": System(clock_offset_s=5)}, FAIL),
    ("clock.drift", None, {}, CANNOT),
    ("uptime", None, {"system": System(uptime_s=86400)}, PASS),
    ("uptime", None, {"system": System(uptime_s=86400, reboot_required=True)}, WARN),
    ("uptime", None, {}, CANNOT),
    ("bw.h2d", promising(H100), {"bandwidths": Bandwidth(path="host_to_device", target=0, gb_per_s=55.4)}, PASS),
    ("bw.h2d", promising(H100), {"bandwidths": Bandwidth(path="host_to_device", target=0, gb_per_s=47)}, WARN),
    ("bw.h2d", promising(H100), {"bandwidths": Bandwidth(path="host_to_device", target=0, gb_per_s=25)}, FAIL),
    ("bw.h2d", None, {"gpus": gpus(pcie_gen_max=4, pcie_width_max=16),
                      "bandwidths": Bandwidth(path="device_to_host", source=0, gb_per_s=12)}, FAIL),
    ("bw.h2d", None, {"bandwidths": Bandwidth(path="host_to_device", target=0, gb_per_s=55)}, CANNOT),
    ("bw.d2d", promising(H100),
     {"bandwidths": Bandwidth(path="device_memory", source=0, gb_per_s=2900, counts_both=True)}, PASS),
    ("bw.d2d", promising(H100),
     {"bandwidths": Bandwidth(path="device_memory", source=0, gb_per_s=1250, counts_both=False)}, WARN),
    ("bw.d2d", promising(H100),
     {"bandwidths": Bandwidth(path="device_memory", source=0, gb_per_s=2000, counts_both=True)}, FAIL),
    ("bw.d2d", promising(H100), {"bandwidths": Bandwidth(path="device_memory", source=0, gb_per_s=2000)}, CANNOT),
    ("bw.p2p", promising(H100),
     {"matrices": matrix("NV18"),
      "bandwidths": Bandwidth(path="device_to_device", source=0, target=1, gb_per_s=396)}, PASS),
    ("bw.p2p", promising(H100),
     {"matrices": matrix("NV18"),
      "bandwidths": Bandwidth(path="device_to_device", source=0, target=1, gb_per_s=330)}, WARN),
    ("bw.p2p", promising(H100),
     {"matrices": matrix("NV18"),
      "bandwidths": Bandwidth(path="device_to_device", source=0, target=1, gb_per_s=40)}, FAIL),
    ("bw.p2p", promising(H100),
     {"bandwidths": Bandwidth(path="device_to_device", source=0, target=1, gb_per_s=40)}, CANNOT),
    ("bw.p2p", promising(H100),
     {"gpus": gpus(8), "bandwidths": Bandwidth(path="device_to_device", source=0, target=1, gb_per_s=40)}, FAIL),
    ("bw.p2p", None, {"bandwidths": Bandwidth(path="device_to_device", source=0, target=1, gb_per_s=40)}, CANNOT),
    ("flops", promising(H100),
     {"matrix_rates": MatrixRate(gpu_index=0, dtype="bf16", tflop_per_s=795, path="torch")}, PASS),
    ("flops", promising(H100),
     {"matrix_rates": MatrixRate(gpu_index=0, dtype="bf16", tflop_per_s=650, path="torch")}, WARN),
    ("flops", promising(H100),
     {"matrix_rates": MatrixRate(gpu_index=0, dtype="bf16", tflop_per_s=400, path="torch")}, FAIL),
    ("flops", promising(H100),
     {"matrix_rates": MatrixRate(gpu_index=0, dtype="bf16", tflop_per_s=400, path="ptx_mma")}, SKIPPED),
    *(("flops", promising(replace(H100, reached_flop_per_s={"bf16": 794.5e12})),
       {"matrix_rates": MatrixRate(gpu_index=0, dtype="bf16", tflop_per_s=rate, path="torch")}, verdict)
      for rate, verdict in ((720, PASS), (660, WARN), (620, FAIL))),
    ("flops", None, {"matrix_rates": MatrixRate(gpu_index=0, dtype="bf16", tflop_per_s=400)}, CANNOT),
    ("allreduce", promising(H100), {"collectives": collective(470)}, PASS),
    ("allreduce", promising(H100), {"collectives": collective(360)}, WARN),
    ("allreduce", promising(H100), {"collectives": collective(120)}, FAIL),
    ("allreduce", promising(H100), {"collectives": collective(470, wrong=3)}, FAIL),
    ("allreduce", promising(H100), {"collectives": collective(100, size=2**20)}, CANNOT),
    ("allreduce", None, {"collectives": collective(40, ranks=16, hosts=2)}, CANNOT),
    ("dcgm", None, {"diagnostics": Diagnostic(tool="dcgmi", test="PCIe", result="Pass")}, PASS),
    ("dcgm", None, {"diagnostics": Diagnostic(tool="dcgmi", test="PCIe", result="Warn")}, WARN),
    ("dcgm", None, {"diagnostics": Diagnostic(tool="dcgmi", test="PCIe", result="Fail")}, FAIL),
    ("dcgm", None, {"diagnostics": Diagnostic(tool="dcgmi", test="PCIe", result="Skip")}, CANNOT),
    ("trace", None, {"samples": tuple(Sample(gpu_index=0, utilization_percent=share) for share in (99, 95))}, PASS),
    ("trace", None, {"samples": tuple(Sample(gpu_index=0, utilization_percent=8, encoder_percent=share)
                                      for share in (99, 95))}, PASS),
    ("trace", None, {"samples": tuple(Sample(gpu_index=0, utilization_percent=share) for share in (99, 60))}, WARN),
    ("trace", None, {"samples": tuple(Sample(gpu_index=0, utilization_percent=share) for share in (99, 10))}, FAIL),
    ("trace", None, {"samples": tuple(Sample(gpu_index=0, utilization_percent=share) for share in (0, 0))}, SKIPPED),
]  # fmt: skip


@pytest.mark.parametrize(("check_id", "promised", "sections", "verdict"), CASES)
def test_a_check(check_id, promised, sections, verdict):
    judgement = judge(check_id, promised, **sections) if promised else judge(check_id, **sections)
    assert (judgement.verdict if judgement else None) is verdict
    if judgement is not None and judgement.verdict is Verdict.CANNOT_TELL:
        assert judgement.do is not None, "nothing is said that would tell"


def test_each_check_is_shown_to_pass_to_object_and_not_to_know():
    by_id = {check_id: {verdict for one, _, _, verdict in CASES if one == check_id} for check_id in BY_ID}
    assert [check_id for check_id, verdicts in by_id.items() if PASS not in verdicts] == []
    told_only = {"bar1", "virt.container"}
    assert {check_id for check_id, verdicts in by_id.items() if not verdicts & {WARN, FAIL}} == told_only
    not_measured = {"trace"}
    assert {check_id for check_id, verdicts in by_id.items() if CANNOT not in verdicts} == not_measured


def test_ports_that_are_down_are_named_and_the_others_counted_by_what_they_speak():
    found = (*ports(5, 400), *ports(2, 100, layer="Ethernet"), *ports(1, 100, layer="Ethernet", state="Down"))
    judgement = judge("ib", EACH, ib_ports=found)
    assert judgement is not None
    assert judgement.expected is not None
    assert judgement.measured is not None
    assert ENGLISH.text(judgement.expected) == "8 × 400 Gbit/s InfiniBand"
    told = "mlx5_0 Down Ethernet, 5 × 400 Gbit/s InfiniBand, 2 × 100 Gbit/s Ethernet"
    assert ENGLISH.text(judgement.measured) == told
    assert ENGLISH.text(judgement.reason) == "Only 5 InfiniBand ports are up."
    several = judge("ib", EACH, ib_ports=(*ports(8, 400), *ports(3, 100, layer="Ethernet", state="Down")))
    assert several is not None
    assert several.measured is not None
    assert ENGLISH.text(several.measured) == "3 × Down Ethernet, 8 × 400 Gbit/s InfiniBand"
    slow = judge("ib", TOTAL, ib_ports=ports(2, 100))
    assert slow is not None
    assert any(line.text == "bit_per_s" for line in slow.lines)


@pytest.mark.parametrize(
    ("sections", "shown"),
    [
        ({"matrix_rates": tuple(
            MatrixRate(gpu_index=at, dtype="bf16", tflop_per_s=rate) for at, rate in enumerate((700, 700, 700, 610))
        )}, ("700.0 TFLOP/s", "610.0 TFLOP/s")),
        ({"gpus": (*gpus(2, memory_total_mib=81559.0), *gpus(3, memory_total_mib=40960.0)[2:])},
         ("81,559 MiB", "40,960 MiB")),
        ({"gpus": (*gpus(2, power_limit_w=700.0), *gpus(3, power_limit_w=500.0)[2:])}, ("700 W", "500 W")),
        ({"gpus": (*gpus(2, pcie_width_max=16), *gpus(3, pcie_width_max=8)[2:])}, ("×16", "×8")),
    ],
)  # fmt: skip
def test_the_odd_one_is_shown_with_units(sections, shown):
    judgement = judge("gpu.alike", **({"gpus": gpus(4, vbios="1")} | sections))
    assert judgement is not None
    assert judgement.expected is not None
    assert judgement.measured is not None
    assert (ENGLISH.text(judgement.expected), ENGLISH.text(judgement.measured)) == shown


@pytest.mark.parametrize(
    ("told_on", "asked_on", "verdict"),
    [
        ("2024-03-01", None, PASS),
        ("2024-03-28", date(2031, 1, 1), WARN),
        ("2024-04-02", None, FAIL),
        (None, date(2024, 4, 2), FAIL),
        (None, date(2024, 3, 1), PASS),
        (None, None, CANNOT),
    ],
)
def test_a_licence_is_judged_by_the_day_of_its_text(told_on, asked_on, verdict):
    fields = {"licence_status": "Licensed", "licence_expiry": "2024-4-1 0:0:0 GMT", "licence_told_on": told_on}
    evidence = Evidence(gpus=gpus(1, virtualization="VGPU", **{name: each for name, each in fields.items() if each}))
    judgement = BY_ID["virt.licence"].judge(Asked(evidence, NOTHING, RULES["virt.licence"], today=asked_on))
    assert judgement is not None
    assert judgement.verdict is verdict
