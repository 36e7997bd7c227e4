"""What `estimate` and `explain` say in text: whole ones, what was chosen, rules of thumb with their source, no ∞."""

import re

import pytest

from gpuplanner.cli.main import main

TWO_L4 = ("chat-8b", "--gpu", "L4", "--gpus", "2")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) in {0, 1}
    return capsys.readouterr().out


def test_requests_held_at_once_are_whole(capsys):
    line = next(line for line in said(capsys, "estimate", *TWO_L4).splitlines() if "full length" in line)
    assert re.search(r"  [\d,]+  [\d,]+–[\d,]+  ", line)


def test_two_rules_of_thumb_stand_beside_a_need_with_their_source(capsys):
    few = said(capsys, "estimate", *TWO_L4)
    many = said(capsys, "estimate", *TWO_L4, "--all-rules")
    rules = [re.findall(r"^    (\S.*?)  .*\[.*\] \(.+\)$", out, re.MULTILINE) for out in (few, many)]
    assert rules[0]
    assert all(rules[0].count(name) <= 2 for name in rules[0])
    left = re.search(r"(\d+) more; --all-rules", few)
    assert left
    assert len(rules[0]) + int(left[1]) == len(rules[1])
    assert "--all-rules" not in many


def test_the_nearest_rules_are_the_ones_that_are_shown(capsys):
    """Of 24, 32, 96 and 96 threads for a need of less than 24 the first two are nearest."""
    threads = [line for line in said(capsys, "estimate", *TWO_L4).splitlines() if line.startswith("    CPU threads")]
    assert [re.findall(r"  (\d+)  ", line)[0] for line in threads] == ["24", "32"]


def test_what_the_planner_chose_in_training_is_said(capsys):
    out = said(capsys, "estimate", "qlora-8b", "--gpu", "L4")
    assert re.search(r"chosen here: Micro batch \d+ · Sharding \w+ · Recomputation \w+", out)
    fixed = ("--set", "micro_batch=1", "--set", "sharding=ddp", "--set", "recomputation=full")
    assert "chosen here" not in said(capsys, "estimate", "qlora-8b", "--gpu", "L4", *fixed)


def test_bought_gpus_are_said_to_have_no_price_and_rented_ones_to_have(capsys):
    out = said(capsys, "estimate", *TWO_L4)
    assert "as it is bought has no price here; rented machines" in out


@pytest.mark.parametrize("gpus", ["1", "8"])
def test_one_gpu_is_not_spoken_of_as_several(capsys, gpus):
    out = said(capsys, "estimate", "qlora-8b", "--gpu", "A100 SXM4 80GB", "--gpus", gpus)
    assert "1 GPUs" not in out
    assert ("The GPU fails about every" in out) is (gpus == "1")


@pytest.mark.parametrize("figure", ["tpot_s", "time.exchange", "ttft_s"])
def test_a_derivation_leaves_out_what_is_no_limit(capsys, figure):
    out = said(capsys, "explain", *TWO_L4, figure, "--depth", "99")
    assert "∞" not in out
    assert "no limit" not in out
