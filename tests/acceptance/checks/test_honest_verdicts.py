"""What a check shows beside its verdict is what the verdict is about, and what nobody read is no verdict."""

from typing import Any

import pytest

from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.probe.evidence.events import ToolFault
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
