"""Public cases of several GPUs that were slow together, by their ids: the texts with their numbers, and our cause."""

import pytest

from gpuplanner.acceptance.diagnosis import Certainty
from gpuplanner.acceptance.promising import of_gpus
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import Bandwidth
from tests.acceptance.diagnosed import diagnosed, said, vllm_begins
from tests.acceptance.judged import ENGLISH, seen

HEAD = (
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 "
    "validation: 1 graph: 0\n#\n# Using devices\n"
)
COLUMNS = (
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
    "(GB/s)\n"
)


def bridge(bus: str, control: str) -> str:
    """A bridge of `lspci -vvv` with its access control."""
    return (
        f"{bus} PCI bridge [0604]: Advanced Micro Devices, Inc. [AMD] Starship/Matisse GPP Bridge [1022:1483]\n"
        f"\tCapabilities: [2a0 v1] Access Control Services\n\t\tACSCtl:\t{control} EgressCtrl- DirectTrans-\n"
    )


def card(bus: str, name: str = "GA102GL [RTX A6000] [10de:2230]") -> str:
    return f"{bus} 3D controller [0302]: NVIDIA Corporation {name} (rev a1)\n"


def matrix(names: list[str], *rows: str, affinity: bool = False) -> str:
    """`nvidia-smi topo -m` of paths given row by row."""
    head = "\t" + "\t".join(names) + ("\tCPU Affinity\tNUMA Affinity" if affinity else "")
    return (
        "\n".join([head, *(f"{name}\t" + "\t".join(row.split()) for name, row in zip(names, rows, strict=False))])
        + "\n"
    )


def table(gpu: str, ranks: int, hosts: int, rows: dict[int, float], average: float = 0.0) -> str:
    """A table of all_reduce_perf: bus bandwidth by size."""
    each = ranks // hosts
    devices = "".join(
        f"#  Rank {rank:2} Group  0 Pid {100 + rank} on     node{rank // each} device {rank % each:2} [0x0f] {gpu}\n"
        for rank in range(ranks)
    )
    lines = "".join(
        f"{size:12} {size // 4:13}     float     sum      -1   1000.0  {bus / 2:6.2f}  {bus:6.2f}      0   1000.0  "
        f"{bus / 2:6.2f}  {bus:6.2f}      0\n"
        for size, bus in rows.items()
    )
    return (
        f"all_reduce_perf -b 8 -e 8G -f 2\n{HEAD}{devices}#\n{COLUMNS}{lines}"
        f"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {average}\n"
    )


def adapters(count: int, gbit: int) -> str:
    """`ibstat` of adapters that are up."""
    return "".join(
        f"CA 'mlx5_{at}'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Active\n"
        f"\t\tPhysical state: LinkUp\n\t\tRate: {gbit}\n\t\tLink layer: InfiniBand\n"
        for at in range(count)
    )


def log(*said_: str, host: str = "gpu-a") -> str:
    return "".join(f"{host}:100:110 [0] NCCL INFO {line}\n" for line in said_)


BETWEEN = (
    "ncclCommInitRank comm 0x55 rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId f000 commId 0xd8 - Init START",
    "comm 0x55 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL 0",
)


def test_com01_access_control_names_the_bridges():
    on = "SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+"
    found = diagnosed(bridge("40:01.1", on) + bridge("80:01.1", on) + card("41:00.0") + card("81:00.0"))
    assert next(iter(found)) == "acs"
    assert found["acs"].certainty is Certainty.SHOWN
    assert "40:01.1" in said(found["acs"])
    assert "80:01.1" in said(found["acs"])
    assert "setpci" in ENGLISH.text(found["acs"].fix)
    off = bridge("40:01.1", "SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd-")
    assert "acs" not in diagnosed(off + card("41:00.0") + card("81:00.0"))


def under(bus: str, above: str) -> str:
    """A bridge of `lspci -vvv` on whose secondary bus `bus` devices stand, with its access control."""
    first, control = above.split(" ", 1)
    head, *rest = bridge(first, control).splitlines(keepends=True)
    return f"{head}\tBus: primary=00, secondary={bus}, subordinate={bus}, sec-latency=0\n{''.join(rest)}"


def test_com01_access_control_counts_only_above_gpus_and_their_adapters():
    on, off = "SrcValid+ TransBlk- ReqRedir+ CmpltRedir+", "SrcValid- TransBlk- ReqRedir- CmpltRedir-"
    validates = "SrcValid+ TransBlk- ReqRedir- CmpltRedir-"
    switch = "83:00.0 Bridge [0680]: NVIDIA Corporation GH100 [H100 NVSwitch] [10de:22a3] (rev a1)\n"
    cards = card("41:00.0") + card("42:00.0")
    tree = under("41", f"00:01.0 {off}") + under("42", f"00:02.0 {off}") + cards
    assert "acs" not in diagnosed(tree + under("83", f"00:03.0 {on}") + switch)
    assert "acs" not in diagnosed(under("41", f"00:01.0 {validates}") + under("42", f"00:02.0 {validates}") + cards)
    adapter = "43:00.0 Infiniband controller [0207]: Mellanox Technologies MT2910 Family [ConnectX-7] [15b3:1021]\n"
    for device in (adapter, adapter.replace("Infiniband controller [0207]", "Ethernet controller [0200]")):
        found = diagnosed(tree + under("83", f"00:03.0 {on}") + switch + under("43", f"00:04.0 {on}") + device)
        assert "00:04.0" in said(found["acs"])
        assert "00:03.0" not in said(found["acs"])
    onboard = "44:00.0 Ethernet controller [0200]: Intel Corporation I350 [8086:1521]\n"
    assert "acs" not in diagnosed(tree + under("44", f"00:05.0 {on}") + onboard)


def test_com02_pairs_below_bridges_hang_where_the_iommu_is_on():
    paths = matrix(["GPU0", "GPU1", "GPU2"], "X PXB SYS", "PXB X SYS", "SYS SYS X")
    gpus = "".join(
        f"GPU {at}: Tesla V100-PCIE-16GB (UUID: GPU-{at:08d}-0000-0000-0000-000000000000)\n" for at in range(3)
    )
    found = diagnosed(paths, gpus, "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro intel_iommu=on\n")
    assert next(iter(found)) == "iommu"
    assert "iommu" not in diagnosed(paths, gpus, "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro intel_iommu=on iommu=pt\n")


@pytest.mark.parametrize(
    ("text", "certainty"),
    [
        ("[    0.000000] Command line: BOOT_IMAGE=/vmlinuz root=/dev/sda1 intel_iommu=on\n", Certainty.SHOWN),
        ("[    0.271828] DMAR: IOMMU enabled\n", Certainty.LIKELY),
        ("[    0.812000] iommu: Default domain type: Translated \n", Certainty.SHOWN),
    ],
)
def test_com04_the_iommu_is_told_by_the_kernels_log(text, certainty):
    assert diagnosed(text)["iommu"].certainty is certainty
    assert not diagnosed("[    0.812000] iommu: Default domain type: Passthrough \n")


def test_com05_a_pair_of_cards_that_reaches_a_third_of_its_bridge_is_told(shipped_catalog):
    promised = of_gpus(shipped_catalog.gpus["nvidia-h100-pcie-80gb"], 2)
    text = table("NVIDIA H100 PCIe", 2, 1, {2**30: 115.4, 2**31: 116.0, 2**32: 116.3})
    found = diagnosed(text, promised=promised)
    assert found["links_below_rate"].certainty is Certainty.LIKELY
    assert "116.0 GB/s" in said(found["links_below_rate"])
    assert "nvlink" in found["links_below_rate"].confirm
    whole = table("NVIDIA H100 PCIe", 2, 1, {2**30: 240.0, 2**31: 245.0})
    assert "links_below_rate" not in diagnosed(whole, promised=promised)


def test_com06_the_plateau_counts_and_not_the_average(shipped_catalog):
    """21.9 GB/s at 128 MB where the mean over all sizes is 6.6: of a bridge of 50 GB/s 44 %, not 13 %."""
    promised = of_gpus(shipped_catalog.gpus["nvidia-rtx-2080-ti"], 2)
    small = {2**at: 0.01 * 2 ** (at - 10) for at in range(10, 20)}
    text = table("GeForce RTX 2080 Ti", 2, 1, {**small, 2**26: 21.4, 2**27: 21.9}, average=6.6)
    found = diagnosed(text, promised=promised)
    assert "21.6 GB/s" in said(found["links_below_rate"]) or "21.7 GB/s" in said(found["links_below_rate"])
    assert "6.6" not in said(found["links_below_rate"])


def test_com07_783_of_900_both_ways_is_what_links_carry(shipped_catalog):
    promised = of_gpus(shipped_catalog.gpus["nvidia-h100-sxm5-80gb"], 8)
    for rate, told in ((783.0, False), (380.0, True)):
        row = Bandwidth(path="device_to_device", source=0, target=1, both_ways=True, **seen({"gb_per_s": rate}))
        assert ("links_below_rate" in diagnosed(evidence=Evidence(bandwidths=(row,)), promised=promised)) is told


@pytest.mark.parametrize(
    ("case", "gpu", "ranks", "bus", "count", "gbit", "share"),
    [
        ("COM09", "NVIDIA H100 80GB HBM3", 16, 231.0, 8, 400, "58%"),
        ("COM12", "Tesla V100-SXM2-32GB", 32, 6.0, 1, 100, "48%"),
        ("COM11", "NVIDIA A100-SXM4-40GB", 8, 3.0, 1, 200, "12%"),
    ],
)
def test_rates_between_nodes_are_held_against_the_adapters(case, gpu, ranks, bus, count, gbit, share):
    text = table(gpu, ranks, 2, {2**28: bus * 0.98, 2**30: bus, 2**31: bus})
    found = diagnosed(text, adapters(count, gbit))
    assert share.rstrip("%") in said(found["network_below_line"]), case
    fast = table(gpu, ranks, 2, {2**30: count * gbit / 8 * 0.9, 2**31: count * gbit / 8 * 0.9})
    assert "network_below_line" not in diagnosed(fast, adapters(count, gbit))


def test_com10_one_adapter_of_four_and_access_control():
    on = "SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+"
    job = log(
        "NCCL_IB_HCA set to mlx5_0",
        "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>",
        "Using network IB",
        *BETWEEN,
        "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
    )
    measured = table("NVIDIA A100-SXM4-80GB", 16, 2, {2**30: 9.84, 2**31: 9.84})
    found = diagnosed(job, measured, adapters(4, 200), bridge("40:01.1", on) + card("41:00.0") + card("42:00.0"))
    assert {"one_adapter", "acs", "network_below_line"} <= set(found)
    assert found["one_adapter"].certainty is Certainty.SHOWN
    assert "mlx5_0" in said(found["one_adapter"])
    assert "4" in said(found["one_adapter"])
    assert "NCCL_IB_HCA=mlx5_0" in ENGLISH.text(found["one_adapter"].fix)
    assert list(found).index("one_adapter") < list(found).index("network_below_line")


@pytest.mark.parametrize("case", ["COM11", "COM12"])
def test_a_log_without_direct_access_to_gpu_memory_says_so(case):
    job = log(
        "NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>",
        "Using network IB",
        *BETWEEN,
        "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0",
    )
    found = diagnosed(job, adapters(1, 200 if case == "COM11" else 100))
    assert found["gdr"].certainty is Certainty.SHOWN
    assert "nvidia_peermem" in ENGLISH.text(found["gdr"].fix)
    assert "gdr" not in diagnosed(job.replace("NET/IB/0", "NET/IB/0/GDRDMA"), adapters(1, 200))


def test_com14_cards_in_a_node_that_was_thought_to_have_modules(shipped_catalog):
    gpus = "".join(f"GPU {at}: NVIDIA H100 PCIe (UUID: GPU-{at:08d}-0000-0000-0000-000000000000)\n" for at in range(2))
    found = diagnosed(gpus, promised=of_gpus(shipped_catalog.gpus["nvidia-h100-sxm5-80gb"], 2))
    assert next(iter(found)) == "card_for_module"
    assert "H100 PCIe" in said(found["card_for_module"])
    assert found["card_for_module"].ask is not None
    as_sold = diagnosed(gpus, promised=of_gpus(shipped_catalog.gpus["nvidia-h100-pcie-80gb"], 2))
    assert "card_for_module" not in as_sold


def test_com16_a_card_in_four_lanes_holds_back_the_pair():
    csv = (
        "index, name, pcie.link.width.current, pcie.link.width.max\n"
        "0, NVIDIA GeForce RTX 3060, 16, 16\n1, NVIDIA GeForce RTX 3060, 4, 16\n"
    )
    found = diagnosed(csv)
    assert next(iter(found)) == "narrow_link"
    assert "GPU 1" in said(found["narrow_link"])
    assert "×4" in said(found["narrow_link"])


def test_com19_tensor_parallelism_over_more_gpus_than_links_join():
    names = [f"GPU{at}" for at in range(4)]
    paths = matrix(names, "X NV12 SYS SYS", "NV12 X SYS SYS", "SYS SYS X NV12", "SYS SYS NV12 X")
    found = diagnosed(paths, vllm_begins(4))
    assert "4 GPUs while NVLink joins 2" in said(found["tensor_parallel_too_wide"])
    assert "replicas" in ENGLISH.text(found["tensor_parallel_too_wide"].fix)
    assert "tensor_parallel_too_wide" not in diagnosed(paths, vllm_begins(2))


def test_com22_a_processor_in_four_numa_nodes():
    cpu = (
        "Architecture:                       x86_64\nCPU(s):                             128\n"
        "Thread(s) per core:                 1\nCore(s) per socket:                 64\n"
        "Socket(s):                          2\nNUMA node(s):                       {}\n"
    )
    names = [f"GPU{at}" for at in range(4)]
    paths = matrix(names, "X NODE SYS SYS", "NODE X SYS SYS", "SYS SYS X NODE", "SYS SYS NODE X")
    found = diagnosed(cpu.format(8), paths)
    assert "4 NUMA nodes" in said(found["nodes_per_socket"])
    assert "NPS1" in ENGLISH.text(found["nodes_per_socket"].fix)
    assert "nodes_per_socket" not in diagnosed(cpu.format(2), paths)


def test_com23_one_card_in_a_narrow_slot_is_named():
    csv = "index, name, pcie.link.width.current, pcie.link.width.max\n" + "".join(
        f"{at}, NVIDIA GeForce RTX 4090, {width}, {width}\n" for at, width in enumerate((16, 16, 8, 16, 16, 16, 16, 16))
    )
    found = diagnosed(csv)
    assert "GPU 2" in said(found["uneven_widths"])
    assert "×8" in said(found["uneven_widths"])


def test_com20_four_modules_of_which_one_is_reached_through_the_processors_only(shipped_catalog):
    """Links are tested before the model: one GPU has none to the three others, though all four are promised to."""
    names = [f"GPU{at}" for at in range(4)]
    paths = matrix(names, "X NV4 NV4 SYS", "NV4 X NV4 SYS", "NV4 NV4 X SYS", "SYS SYS SYS X")
    promised = of_gpus(shipped_catalog.gpus["nvidia-a100-sxm4-80gb"], 4)
    found = diagnosed(paths, promised=promised)
    assert next(iter(found)) == "links_missing"
    assert found["links_missing"].certainty is Certainty.SHOWN
    whole = matrix(names, "X NV4 NV4 NV4", "NV4 X NV4 NV4", "NV4 NV4 X NV4", "NV4 NV4 NV4 X")
    assert not diagnosed(whole, promised=promised)
