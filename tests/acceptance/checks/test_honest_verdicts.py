"""What a check shows beside its verdict is what the verdict is about, and what nobody read is no verdict."""

from typing import Any

import pytest

from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.events import ToolFault
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.host import Cpu, Disk
from gpuplanner.probe.evidence.record import Seen
from tests.acceptance.diagnosed import diagnosed, of_texts
from tests.acceptance.judged import ENGLISH, H100, gpus, judge, promising, seen

PASS, WARN, FAIL, CANNOT, SKIPPED = Verdict


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"remap_failed": False, "remap_pending": False, "unrepairable_memory": True}, FAIL),
        ({"remap_failed": False, "remap_pending": False, "channel_repair_pending": True}, WARN),
        ({"remap_failed": False, "remap_pending": False, "tpc_repair_pending": True}, WARN),
        ({"unrepairable_memory": False, "channel_repair_pending": False}, CANNOT),
    ],
)
def test_every_flag_of_a_repair_counts(fields, verdict):
    judgement = judge("mem.remap", gpus=gpus(**fields))
    assert judgement is not None
    assert judgement.verdict is verdict


@pytest.mark.parametrize(
    ("check_id", "fields", "expected", "measured"),
    [
        ("mem.remap", {"remap_failed": True, "remapped_uncorrectable": 0},
         "Remapping Failure Occurred: No", "Remapping Failure Occurred: Yes"),
        ("mem.remap", {"remap_failed": False, "remap_pending": True, "remapped_uncorrectable": 0},
         "Remapped Rows Pending: No", "Remapped Rows Pending: Yes"),
        ("mem.remap", {"unrepairable_memory": True}, "Unrepairable Memory: No", "Unrepairable Memory: Yes"),
        ("mem.retired", {"retired_single_bit": 0, "retired_double_bit": 0, "retired_pending": True},
         "Pending Page Blacklist: No", "Pending Page Blacklist: Yes"),
        ("ecc.mode", {"ecc_mode": "Enabled", "ecc_mode_pending": "Disabled"}, "Enabled", "Enabled → Disabled"),
        ("mig", {"mig_mode": "Disabled", "mig_mode_pending": "Enabled"}, None, "Disabled → Enabled"),
    ],
)  # fmt: skip
def test_what_was_expected_is_not_what_was_objected_to(check_id, fields, expected, measured):
    judgement = judge(check_id, gpus=gpus(1, name="Tesla T4", **fields))
    assert judgement is not None
    assert judgement.verdict in {WARN, FAIL}
    shown = [ENGLISH.text(each) if each is not None else None for each in (judgement.expected, judgement.measured)]
    assert shown == [expected, measured]


HEAD = "==============NVSMI LOG==============\n\nTimestamp : Fri Jun 21 02:03:08 2024\nDriver Version : 550.54.15\n"
BLOCK = "GPU 00000000:{:02X}:00.0\n    Product Name : NVIDIA H100 80GB HBM3\n    Minor Number : {}\n"
XML = "<nvidia_smi_log><driver_version>550.54.15</driver_version><attached_gpus>8</attached_gpus>{}</nvidia_smi_log>"
XML_BLOCK = '<gpu id="00000000:06:00.0"><product_name>NVIDIA H100 80GB HBM3</product_name></gpu>'
BUS = "".join(f"{at:02x}:00.0 3D controller [0302]: NVIDIA Corporation GH100 [10de:2330] (rev a1)\n" for at in range(8))


def blocks(attached, shown):
    return HEAD + f"Attached GPUs : {attached}\n" + "".join(BLOCK.format(at, at) for at in range(shown))


@pytest.mark.parametrize(
    ("texts", "wanted", "counted", "state"),
    [
        ((blocks(8, 1),), 8, CANNOT, CANNOT),
        ((blocks(8, 7),), 8, CANNOT, CANNOT),
        ((XML.format(XML_BLOCK),), 8, CANNOT, CANNOT),
        ((blocks(8, 1), BUS), 8, CANNOT, CANNOT),
        ((blocks(8, 8),), 8, PASS, PASS),
        ((blocks(8, 1), blocks(8, 8)), 8, PASS, PASS),
        ((blocks(7, 7),), 8, FAIL, PASS),
        ((blocks(7, 7), BUS), 8, FAIL, PASS),
        ((blocks(4, 1),), 8, FAIL, CANNOT),
        ((blocks(8, 7) + "Unable to determine the device handle for GPU 0000:07:00.0: GPU is lost.\n",), 8, FAIL, FAIL),
    ],
)
def test_a_text_of_some_gpus_accuses_nobody(texts, wanted, counted, state):
    evidence = of_texts(*texts)
    sections: dict[str, Any] = {"gpus": evidence.gpus, "faults": evidence.faults, "pci": evidence.pci}
    found = [
        judge("gpu.count", promising(H100, gpu_count=wanted), **sections, looked_for=evidence.looked_for),
        judge("gpu.state", **sections),
    ]
    assert [judgement.verdict for judgement in found if judgement] == [counted, state]


def fault(kind, said="said"):
    return ToolFault(kind=kind, **seen({"said": said}))


@pytest.mark.parametrize(
    ("sections", "reason", "advice"),
    [
        ({"faults": fault("no_driver")}, "driver_away", "modprobe"),
        ({"faults": (fault("no_devices"), fault("no_library"))}, "driver_away", "modprobe"),
        ({"faults": fault("no_devices")}, "no_devices", "RmInitAdapter"),
        ({"faults": fault("no_devices"), "gpus": gpus(memory_total_mib=81559)}, "none_for_program", "VISIBLE_DEVICES"),
        ({"faults": fault("mismatch")}, "mismatch", "Reboot"),
        ({"faults": (fault("no_devices"), fault("gpu_lost"))}, "broken", "kernel log"),
    ],
)
def test_a_driver_that_finds_no_gpu_is_not_away(sections, reason, advice):
    judgement = judge("gpu.state", **sections)
    assert judgement is not None
    assert judgement.verdict is FAIL
    assert judgement.reason.id == f"check.gpu_state.{reason}"
    assert judgement.do is not None
    assert advice in ENGLISH.text(judgement.do)


@pytest.mark.parametrize(
    ("text", "causes"),
    [
        ("No devices were found\n", ["no_usable_gpu"]),
        ("Failed to initialize NVML: Driver Not Loaded\n", ["driver_away"]),
        ("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.10\n",
         ["driver_mismatch"]),
    ],
)  # fmt: skip
def test_what_a_tool_says_in_place_of_gpus_has_one_cause(text, causes):
    assert list(diagnosed(text)) == causes


def test_nobody_counts_gpus_that_the_driver_does_not_find():
    judgement = judge("gpu.count", faults=fault("no_devices"))
    assert judgement is not None
    assert (judgement.verdict, judgement.reason.id) == (CANNOT, "check.gpu_count.none_found")


@pytest.mark.parametrize(
    ("fields", "verdict", "reason", "shown", "cause"),
    [
        ({"healthy": False}, FAIL, "failing", ["healthy"], "failing_disk"),
        ({"healthy": True, "critical_warning": 4}, FAIL, "critical", ["critical_warning"], "failing_disk"),
        ({"healthy": True, "critical_warning": 0, "spare_percent": 0, "spare_threshold_percent": 11}, FAIL,
         "no_spares", ["spare_percent", "spare_threshold_percent"], "failing_disk"),
        ({"healthy": True, "spare_percent": 12}, WARN, "few_spares", ["spare_percent"], "worn_disk"),
        ({"healthy": True, "used_percent": 95}, WARN, "worn", ["used_percent"], "worn_disk"),
        ({"healthy": True, "used_percent": 1, "media_errors": 3}, WARN, "media_errors", ["media_errors"], "worn_disk"),
        ({"healthy": True, "spare_percent": 100, "spare_threshold_percent": 10}, PASS, "well", ["healthy"], None),
    ],
)  # fmt: skip
def test_a_disk_is_shown_by_the_line_that_complains(fields, verdict, reason, shown, cause):
    lines = {name: Seen(source="f", line=at, text=name) for at, name in enumerate(fields)}
    disk = Disk(name="nvme0n1", **fields, seen=lines)
    judgement = judge("disk.health", disks=disk)
    assert judgement is not None
    assert (judgement.verdict, judgement.reason.id) == (verdict, f"check.disk.{reason}")
    assert [line.text for line in judgement.lines] == shown
    assert list(diagnosed(evidence=Evidence(disks=(disk,)))) == ([cause] if cause else [])


FLAGS = (
    "GPU 00000000:06:00.0\n    Product Name : NVIDIA H100 80GB HBM3\n    Clocks Event Reasons\n"
    "        Idle : Not Active\n        SW Power Cap : Not Active\n        HW Slowdown : {slowdown}\n"
    "            HW Thermal Slowdown : {heat}\n            HW Power Brake Slowdown : Not Active\n"
    "        SW Thermal Slowdown : {soft}\n"
)


@pytest.mark.parametrize(
    ("said", "verdict", "line"),
    [
        (("Active", "Active", "Not Active"), FAIL, "HW Thermal Slowdown : Active"),
        (("Active", "Not Active", "Active"), FAIL, "HW Slowdown : Active"),
        (("Not Active", "Not Active", "Active"), WARN, "SW Thermal Slowdown : Active"),
    ],
)
def test_what_slows_a_gpu_down_is_shown_by_its_own_line(said, verdict, line):
    slowdown, heat, soft = said
    evidence = of_texts(HEAD + "Attached GPUs : 1\n" + FLAGS.format(slowdown=slowdown, heat=heat, soft=soft))
    judgement = judge("throttle", gpus=evidence.gpus)
    assert judgement is not None
    assert judgement.verdict is verdict
    assert [seen.text for seen in judgement.lines] == [line]


def test_the_sign_of_a_virtual_machine_is_not_hidden_by_the_names_of_its_gpus():
    eight = tuple(
        Gpu(index=at, name="NVIDIA H100 80GB HBM3", seen={"name": Seen(source="smi", line=at, text="name")})
        for at in range(14)
    )
    cpu = Cpu(**seen({"hypervisor_vendor": "KVM"}))
    judgement = judge("virt.mode", promising(virtualization="bare metal"), gpus=eight, cpu=cpu)
    assert judgement is not None
    assert judgement.verdict is FAIL
    assert judgement.lines[0].text == "hypervisor_vendor"


@pytest.mark.parametrize(
    "text",
    [
        (
            '{"json_format_version": [1, 0],\n"smartctl": {"version": [7, 2]},\n"device": {"name": "/dev/nvme0"},\n'
            '"smart_status": {"passed": true},\n"nvme_smart_health_information_log": {\n"critical_warning": 0,\n'
            '"available_spare": 3,\n"available_spare_threshold": 10\n}}\n'
        ),
        (
            "smartctl 7.2 2020-12-30 r5155 [x86_64-linux-5.15.0] (local build)\n"
            "SMART overall-health self-assessment test result: PASSED\nCritical Warning:                   0x00\n"
            "Available Spare:                    3%\nAvailable Spare Threshold:          10%\n"
        ),
        (
            "Smart Log for NVME device:nvme0n1 namespace-id:ffffffff\ncritical_warning\t\t\t: 0\n"
            "available_spare\t\t\t\t: 3%\navailable_spare_threshold\t\t: 10%\npercentage_used\t\t\t\t: 1%\n"
        ),
    ],
)
def test_the_limit_of_spare_blocks_is_the_disks_own(text):
    judgement = judge("disk.health", disks=of_texts(text).disks)
    assert judgement is not None
    assert (judgement.verdict, judgement.reason.id) == (FAIL, "check.disk.no_spares")
    assert len(judgement.lines) == 2


def temperatures(*shown):
    return tuple(
        Gpu(
            index=at,
            name="A",
            utilization_percent=busy,
            **seen({"temperature_c": now, "temperature_slowdown_c": limit}),
        )
        for at, (now, limit, busy) in enumerate(shown)
    )


@pytest.mark.parametrize(
    ("shown", "verdict", "expected", "measured"),
    [
        ([(60.0, 85.0, 99), (76.0, 95.0, 99)], PASS, "≥ 10 °C below slowdown",
         "GPU 0: 60 °C, 25 °C below slowdown; GPU 1: 76 °C, 19 °C below slowdown"),
        ([(78.0, 95.0, 0)], WARN, "≤ 75 °C", "78 °C, 17 °C below slowdown"),
        ([(88.0, 95.0, 99)], WARN, "≥ 10 °C below slowdown", "88 °C, 7 °C below slowdown"),
        ([(0.0, None, None)], CANNOT, None, "0 °C"),
        ([(0.0, None, None), (50.0, 95.0, 0)], CANNOT, None, "GPU 0: 0 °C"),
    ],
)  # fmt: skip
def test_a_temperature_is_held_against_its_own_gpus_limit(shown, verdict, expected, measured):
    judgement = judge("temp", gpus=temperatures(*shown))
    assert judgement is not None
    assert judgement.verdict is verdict
    told = [ENGLISH.text(each) if each is not None else None for each in (judgement.expected, judgement.measured)]
    assert told == [expected, measured]


def test_hot_memory_is_shown_as_memory():
    gpu = Gpu(index=0, name="A", **seen({
        "temperature_c": 60.0, "temperature_slowdown_c": 90.0, "temperature_memory_c": 96.0,
        "temperature_memory_max_c": 95.0,
    }))  # fmt: skip
    judgement = judge("temp", gpus=gpu)
    assert judgement is not None
    assert judgement.expected is not None
    assert judgement.measured is not None
    assert (ENGLISH.text(judgement.expected), ENGLISH.text(judgement.measured)) == ("< 95 °C", "96 °C")


def test_what_is_expected_of_one_gpu_is_not_held_against_another():
    limits = tuple(
        Gpu(index=at, name="A", **seen({"power_limit_w": limit, "power_limit_default_w": usual}))
        for at, (limit, usual) in enumerate(((390.0, 400.0), (690.0, 700.0)))
    )
    judgement = judge("power.limit", gpus=limits)
    assert judgement is not None
    assert judgement.expected is not None
    assert ENGLISH.text(judgement.expected) == "GPU 0: 400 W; GPU 1: 700 W"


@pytest.mark.parametrize(
    ("kind", "verdict"), [("no_driver", CANNOT), ("no_library", CANNOT), ("mismatch", CANNOT), ("no_devices", FAIL)]
)
def test_only_a_driver_that_answers_has_counted_the_gpus(kind, verdict):
    judgement = judge("gpu.count", promising(H100, gpu_count=8), faults=fault(kind))
    assert judgement is not None
    assert judgement.verdict is verdict
