"""What the kernel's log, the matrices of paths and the list of the bus say, and what an excerpt of them leaves open."""

import re
from dataclasses import replace

import pytest

from gpuplanner.acceptance.check import Asked, Judgement
from gpuplanner.acceptance.promised import NOTHING, Promised
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import Message
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.paths import PciDevice
from tests.acceptance.diagnosed import diagnosed, of_texts, said
from tests.acceptance.judged import BY_ID, COMPATIBILITY, ENGLISH, H100, RULES, judge, promising, seen

OFF = "SrcValid- TransBlk- ReqRedir- CmpltRedir-"
ON = "SrcValid+ TransBlk- ReqRedir+ CmpltRedir+"


def bridge(bus: str, flags: str) -> PciDevice:
    return PciDevice(
        bus_id=bus, class_code="0604", acs_flags=flags, acs_source_validation=flags.startswith("SrcValid+")
    )


def test_access_control_of_bridges_without_a_gpu_below_warns_of_nothing():
    card = PciDevice(bus_id="0000:41:00.0", class_code="0302", device_id="0x233010DE", parent="0000:00:01.0")
    switch = PciDevice(bus_id="0000:83:00.0", class_code="0680", device_id="0x22A310DE", parent="0000:00:03.0")
    elsewhere = judge("acs", pci=(bridge("0000:00:01.0", OFF), card, bridge("0000:00:03.0", ON), switch))
    assert elsewhere is not None
    assert elsewhere.verdict is Verdict.PASS
    assert "1 bridge" in ENGLISH.text(elsewhere.reason)
    validates = judge("acs", pci=(bridge("0000:00:01.0", "SrcValid+ TransBlk- ReqRedir- CmpltRedir-"), card))
    assert validates is not None
    assert validates.verdict is Verdict.PASS
    over = judge("acs", pci=(bridge("0000:00:01.0", ON), card, bridge("0000:00:03.0", ON), switch))
    assert over is not None
    assert over.verdict is Verdict.WARN
    assert ENGLISH.text(over.reason).startswith("1 ")


BOOT = (
    "[    0.000000] Linux version 6.8.0-45-generic (builder@host) #45-Ubuntu SMP\n"
    "[    0.000000] Command line: BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro\n"
)
QUIET = "[  206.764307] nvidia-nvswitch2: open (major=510)\n[  206.764310] IPv6: ADDRCONF(NETDEV_CHANGE): eth0: up\n"
PANIC = (
    "<1>[  310.100001] BUG: unable to handle kernel NULL pointer dereference at 0000000000000010\n"
    "<4>[  310.100009] Oops: 0002 [#1] SMP\n"
    "<0>[  310.200001] Kernel panic - not syncing: Fatal exception\n"
)


def words(message: Message | None) -> str:
    assert message is not None
    return ENGLISH.text(message)


def judged_xid(text: str) -> Judgement:
    judgement = BY_ID["xid"].judge(Asked(of_texts(text), NOTHING, RULES["xid"]))
    assert judgement is not None
    return judgement


def test_no_xid_since_boot_is_said_only_of_a_log_that_begins_there():
    whole = judged_xid(BOOT + QUIET)
    assert (whole.verdict, whole.reason.id) == (Verdict.PASS, "check.xid.none")
    decoded = re.sub(
        r"^\[ *\d+\.\d+\]", "kern  :info  : 2026-03-01T10:00:00,000001+00:00", BOOT + QUIET, flags=re.MULTILINE
    )
    assert judged_xid(decoded).verdict is Verdict.PASS
    for part in (QUIET, BOOT.splitlines(keepends=True)[1] + QUIET, QUIET * 8 + BOOT):
        told = judged_xid(part)
        assert (told.verdict, told.reason.id) == (Verdict.CANNOT_TELL, "check.xid.none_in_part")
        assert "journalctl -k -b" in words(told.do)
    switched = of_texts(QUIET).model_copy(update={"pci": (PciDevice(name="GH100 [H100 NVSwitch]"),)})
    of_switch = BY_ID["sxid"].judge(Asked(switched, NOTHING, RULES["sxid"]))
    assert of_switch is not None
    assert of_switch.verdict is Verdict.CANNOT_TELL


def test_a_crash_of_the_kernel_is_said_with_and_without_an_xid():
    dumped = "Panic#1 Part1\n"
    texts = {PANIC: "Kernel panic", BOOT + PANIC[: PANIC.index("<0>")]: "BUG: unable"}
    for text, said_ in (texts | {dumped + QUIET: "Panic#1", dumped + PANIC: "Kernel panic"}).items():
        told = judged_xid(text)
        assert told.verdict is Verdict.WARN
        assert said_ in ENGLISH.text(told.reason)
        assert said_ in told.lines[0].text
        found = diagnosed(text)
        assert said_ in said(found["kernel_crash"])
        assert found["kernel_crash"].explains == ("xid",)
    xid = "[  101.000001] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus.\n"
    both = judged_xid(BOOT + xid + PANIC)
    assert both.verdict is Verdict.FAIL
    assert "79" in words(both.measured)
    assert "crash" in words(both.measured)
    assert {"off_the_bus", "kernel_crash"} <= set(diagnosed(BOOT + xid + PANIC))
    user = "[  400.000001] traps: python3[77] general protection fault ip:7f00 sp:7f01 error:0 in libx.so[7f00+1000]\n"
    assert "kernel_crash" not in diagnosed(BOOT + QUIET + user)


@pytest.mark.parametrize("check", ["drv.match", "drv.branch", "drv.kmod", "drv.nouveau"])
def test_nothing_of_nvidias_driver_is_judged_of_amds_gpus(check):
    own = Gpu(index=0, vendor="amd", driver_version="6.10.5", **seen({"name": "AMD Instinct MI300X"}))
    assert judge(check, gpus=own) is None
    assert judge(check, pci=PciDevice(class_code="1200", device_id="0x74A11002")) is None
    beside = PciDevice(class_code="0302", device_id="0x233010DE")
    assert judge(check, gpus=own, pci=beside) is not None
    assert all(judge(matrix, gpus=(own, own.model_copy(update={"index": 1}))) is None for matrix in ("topo", "p2p"))
    in_processor = PciDevice(class_code="0300", device_id="0x164E1002")
    assert judge(check, pci=in_processor) is not None


def rows(path: str, shown: int, count: int = 8) -> str:
    """The first rows of `nvidia-smi topo -m` of so many GPUs."""
    names = [f"GPU{at}" for at in range(count)]
    lines = ["\t".join(["", *names, "CPU Affinity", "NUMA Affinity"])]
    lines += [
        "\t".join([names[at], *(" X " if at == other else path for other in range(count)), "0-55", "0"])
        for at in range(shown)
    ]
    return "\n".join(lines) + "\n"


def judged_paths(text: str, check: str, promised: Promised = NOTHING) -> Judgement:
    asked = Asked(of_texts(text), promised, RULES[check], compatibility=COMPATIBILITY)
    judgement = BY_ID[check].judge(asked)
    assert judgement is not None
    return judgement


def test_that_links_join_all_is_said_only_where_all_pairs_are_shown():
    assert judged_paths(rows("NV12", 8), "topo").verdict is Verdict.PASS
    part = judged_paths(rows("NV12", 2), "topo", promising(replace(H100, nvlink_lanes=12)))
    assert part.verdict is Verdict.CANNOT_TELL
    assert "13" in ENGLISH.text(part.reason)
    assert "28" in ENGLISH.text(part.reason)
    assert judged_paths(rows("NV12", 2), "topo").verdict is Verdict.CANNOT_TELL
    fault = judged_paths(rows("SYS", 2), "topo", promising(H100))
    assert fault.verdict is Verdict.FAIL
    assert "28" in ENGLISH.text(fault.reason)


def test_gpus_of_which_no_two_are_close_warn_without_a_promise_too():
    far = judged_paths(rows("SYS", 3), "topo")
    assert far.verdict is Verdict.WARN
    assert "all_far" in diagnosed(rows("SYS", 3))
    assert judged_paths(rows("SYS", 2, 2), "topo").verdict is Verdict.CANNOT_TELL


def peers(kind: str, *lines: str) -> str:
    names = [f"GPU{at}" for at in range(len(lines))]
    body = "".join(f" {name}\t" + "\t".join(line.split()) + "\n" for name, line in zip(names, lines, strict=True))
    return f"nvidia-smi topo -p2p {kind}\n\t" + "\t".join(names) + "\n" + body + "\n"


def test_a_pair_that_one_way_joins_is_not_refused_by_the_other():
    refused = peers("p", "X NS NS", "NS X NS", "NS NS X")
    mesh = judged_paths(peers("n", "X OK NS", "OK X OK", "NS OK X") + refused, "p2p")
    assert (mesh.verdict, mesh.reason.id) == (Verdict.CANNOT_TELL, "check.p2p.links_only")
    assert words(mesh.measured) == "OK × 2, NS × 1"
    assert "-p2p r" in words(mesh.do)
    whole = peers("n", "X OK OK", "OK X OK", "OK OK X")
    assert judged_paths(whole + refused, "p2p").verdict is Verdict.PASS
    reading = peers("r", "X OK OK", "OK X OK", "OK OK X")
    assert judged_paths(reading + refused, "p2p").verdict is Verdict.PASS
    chipset = judged_paths(peers("n", "X OK NS", "OK X OK", "NS OK X") + refused.replace("NS", "CNS"), "p2p")
    assert chipset.verdict is Verdict.WARN
    assert words(chipset.measured) == "OK × 2, CNS × 1"


def linked(card: tuple[float, float], bridge_most: float = 32.0) -> tuple[PciDevice, ...]:
    """A GPU of the bus and the port over it, by GT/s now and at most."""
    port = PciDevice(bus_id="0000:00:01.0", class_code="0604", **seen({"link_gt_per_s_max": bridge_most}))
    own = seen({"link_gt_per_s": card[0], "link_gt_per_s_max": card[1]})
    gpu = PciDevice(bus_id="0000:41:00.0", class_code="0302", device_id="0x233010DE", parent=port.bus_id, **own)
    return (port, gpu)


def test_the_bus_tells_the_generation_where_no_gpu_does():
    idle = judge("pcie.gen", pci=linked((2.5, 32.0)))
    assert idle is not None
    assert (idle.verdict, idle.reason.id) == (Verdict.PASS, "check.pcie.idle")
    assert (words(idle.measured), words(idle.expected)) == ("1", "5")
    slot = judge("pcie.gen", pci=linked((16.0, 32.0), bridge_most=16.0))
    assert slot is not None
    assert (slot.verdict, slot.reason.id) == (Verdict.WARN, "check.pcie.slow_slot")
    full = judge("pcie.gen", pci=linked((32.0, 32.0)))
    assert full is not None
    assert (full.verdict, full.reason.id) == (Verdict.PASS, "check.as_expected")
    slow = Gpu(index=0, vendor="nvidia", pcie_received_kib_per_s=2e7, pcie_sent_kib_per_s=2e7,
               **seen({"pcie_gen_current": 3, "pcie_gen_max": 5}))  # fmt: skip
    both = judge("pcie.gen", gpus=slow, pci=linked((32.0, 32.0)))
    assert both is not None
    assert both.verdict is Verdict.FAIL


def collected(
    cuda: str, sees: bool, gpu: str = "GPU 0: NVIDIA H100 80GB HBM3\nNvidia driver version: 550.54.15"
) -> str:
    return (
        f"PyTorch version: 2.5.1\nIs debug build: False\nCUDA used to build PyTorch: {cuda}\n"
        f"ROCM used to build PyTorch: N/A\n\nPython version: 3.11.9\nIs CUDA available: {sees}\n"
        f"CUDA runtime version: 12.4.131\nGPU models and configuration: {gpu}\n"
    )


def test_a_pytorch_that_sees_no_gpu_is_said():
    assert judged_paths(collected("12.4", True), "drv.branch").verdict is Verdict.PASS
    blind = judged_paths(collected("12.4", False), "drv.branch")
    assert (blind.verdict, blind.reason.id) == (Verdict.FAIL, "check.driver.torch_blind")
    assert "Is CUDA available: False" in blind.lines[0].text
    assert "sees no GPU" in said(diagnosed(collected("12.4", False))["torch_blind"])
    alone = judged_paths(collected("12.4", False, "No CUDA"), "drv.branch")
    assert alone.verdict is Verdict.WARN
    assert judged_paths(collected("Could not collect", False), "drv.branch").reason.id == "check.driver.torch_cpu"


def test_alarms_of_optics_warn_also_where_the_link_is_as_promised():
    optics = (
        "Identifier                                : 0x03 (SFP)\n"
        "Transceiver type                          : 10G Ethernet: 10G Base-LR\n"
        "Receiver signal average optical power     : 0.0001 mW / -40.00 dBm\n"
        "Laser output power low alarm              : Off\nLaser rx power low alarm                  : {}\n"
    )
    dark = judged_paths(optics.format("On"), "net.link")
    assert dark.verdict is Verdict.WARN
    assert "Laser rx power low alarm" in ENGLISH.text(dark.reason)
    assert len(dark.lines) == 1
    assert "rx power low" in said(diagnosed(optics.format("On"))["optics"])
    assert judged_paths(optics.format("Off"), "net.link").verdict is Verdict.CANNOT_TELL
    settings = "Settings for eth0:\n\tSpeed: 10000Mb/s\n\tDuplex: Full\n\tLink detected: yes\n"
    slow = promising(network_bit_per_s=100e9)
    both = BY_ID["net.link"].judge(Asked(of_texts(settings, optics.format("On")), slow, RULES["net.link"]))
    assert both is not None
    assert both.verdict in {Verdict.WARN, Verdict.FAIL}
    assert "slow_network" in diagnosed(settings, promised=slow)
