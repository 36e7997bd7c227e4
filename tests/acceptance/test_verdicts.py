import pytest

from gpuplanner.acceptance.check import CheckRule, Judgement, together
from gpuplanner.acceptance.checking import Acceptance, CheckResult
from gpuplanner.acceptance.promised import NOTHING, Promised
from gpuplanner.acceptance.verdicts import Verdict, overall, worst
from gpuplanner.messages import msg
from tests.acceptance.judged import H100

PASS, WARN, FAIL, CANNOT, SKIPPED = Verdict


@pytest.mark.parametrize(
    ("given", "one", "machine"),
    [
        ((PASS, PASS), PASS, PASS),
        ((PASS, CANNOT), CANNOT, PASS),
        ((CANNOT, WARN, PASS), WARN, WARN),
        ((WARN, FAIL), FAIL, FAIL),
        ((SKIPPED,), SKIPPED, CANNOT),
        ((), CANNOT, CANNOT),
    ],
)
def test_what_cannot_be_told_is_no_pass_of_a_check_and_hides_nothing_of_a_machine(given, one, machine):
    assert worst(given) is one
    assert overall(given) is machine


def test_of_several_things_the_worst_one_speaks():
    fine, bad = Judgement(PASS, msg("a")), Judgement(FAIL, msg("b"))
    assert together([fine, bad, fine]) is bad
    assert together([]) is None


@pytest.mark.parametrize(
    ("promised", "passed", "machine"),
    [
        (NOTHING, ("clock.drift",), CANNOT),
        (NOTHING, ("clock.drift", "gpu.state"), PASS),
        (NOTHING, ("allreduce",), PASS),
        (Promised(said_by=msg("a"), cpus=8), ("cpu.count",), PASS),
        (Promised(said_by=msg("a"), gpu=H100, cpus=8), ("cpu.count",), CANNOT),
        (Promised(said_by=msg("a"), gpu=H100, cpus=8), ("cpu.count", "allreduce"), PASS),
    ],
)
def test_a_host_that_is_well_is_no_gpu_machine_that_is(promised, passed, machine):
    rules = [CheckRule(each, 1, "A", "") for each in passed]
    results = [CheckResult(rule, Judgement(PASS, msg("a"))) for rule in rules]
    results.append(CheckResult(CheckRule("gpu.count", 1, "A", ""), Judgement(CANNOT, msg("a"))))
    assert Acceptance(promised, tuple(results)).verdict is machine
