from gpuplanner.acceptance.check import Judgement
from gpuplanner.acceptance.saying import each_gpu, named, text
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import Language, Translator
from tests.acceptance.judged import gpus

ENGLISH = Translator(Language.ENGLISH)


def test_neighbours_stand_together():
    assert named(["0", "1", "2", "5", "10", "11"]) == "0–2, 5, 10–11"
    assert named(["GPU-a", "0"]) == "GPU-a, 0"


def judged(*wrong):
    def judge(gpu):
        bad = gpu.index in wrong
        return Judgement(
            Verdict.FAIL if bad else Verdict.PASS, text("hot." if bad else "fine."), measured=text(gpu.index)
        )

    return each_gpu(gpus(4), judge, "nvidia-smi")


def test_the_gpus_that_have_the_worst_verdict_are_named():
    found = judged(1, 2)
    assert found.verdict is Verdict.FAIL
    assert ENGLISH.text(found.reason) == "GPU 1–2: hot."
    assert ENGLISH.text(found.measured) == "GPU 1: 1; GPU 2: 2"


def test_what_is_true_of_all_is_said_without_numbers():
    assert ENGLISH.text(judged().reason) == "fine."


def test_none_that_is_concerned_and_none_that_was_read_are_two_things():
    assert each_gpu(gpus(2), lambda _: None, "x") is None
    unread = each_gpu((), lambda _: None, "x")
    assert unread is not None
    assert unread.verdict is Verdict.CANNOT_TELL
