"""What a check shows beside its verdict is what the verdict is about, and what nobody read is no verdict."""

import pytest

from gpuplanner.acceptance.verdicts import Verdict
from tests.acceptance.judged import ENGLISH, gpus, judge

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
