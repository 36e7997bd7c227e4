"""Room in memory and software that runs are two things: the verdict and the exit code say which one is missing."""

import json

import pytest

from gpuplanner.cli.main import main
from gpuplanner.engine.estimate import MAY_NOT_RUN, NEVER_RUNS
from gpuplanner.messages import Language, Translator

REFUSED = [
    ("chat-8b", "--gpu", "H100 SXM5 80GB", "--set", "weight_precision=exl2-4.0"),
    ("chat-8b", "--gpu", "Tesla P40", "--set", "server=vllm", "--set", "weight_precision=int8", "--gpus", "2"),
]
WITHOUT_GOALS = ("--set", "ttft_goal_s=null", "--set", "tpot_goal_s=null")
UNKNOWN = ("chat-8b", "--gpu", "MI300X", "--set", "server=lmdeploy", *WITHOUT_GOALS)


@pytest.mark.parametrize("asked", REFUSED)
def test_software_that_does_not_run_is_the_verdict(user_home, capsys, asked):
    assert main(["--lang", "en", "estimate", *asked]) == 1
    first, second, third, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith("✗ Does not run · ")
    assert "does not load weights" in second or "compute capability" in second
    assert third.startswith("  Its memory alone would do: ")
    assert second not in rest
    assert main(["estimate", *asked, "--json"]) == 1
    made = json.loads(capsys.readouterr().out)
    assert (made["runs"], made["fit"] in {"fits", "tight"}) == ("no", True)


def test_memory_that_does_not_do_stays_the_verdict(user_home, capsys):
    asked = (*REFUSED[0], "--model", "Llama-3.1-405B")
    assert main(["--lang", "en", "estimate", *asked]) == 1
    out = capsys.readouterr().out
    assert out.startswith("✗ Does not fit · ")
    assert "does not load weights" in out
    assert "Its memory alone would do" not in out


@pytest.mark.parametrize(("language", "word", "doubt"), [("en", "Fits", "is not known"), ("zh", "放得下", "尚不清楚")])
def test_what_nobody_knows_is_a_warning(user_home, capsys, language, word, doubt):
    assert main(["--lang", language, "estimate", *UNKNOWN]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"✓ {word} · ")
    said = [line for line in lines[:5] if doubt in line]
    assert said
    assert all(line.startswith("  ! ") for line in said)
    assert main(["estimate", *UNKNOWN, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == "unknown"


@pytest.mark.parametrize("language", Language)
def test_every_message_that_decides_is_one(language):
    translator = Translator(language)
    assert all(translator.has(said) for said in NEVER_RUNS | MAY_NOT_RUN)
    assert {m for m in NEVER_RUNS | MAY_NOT_RUN if not m.startswith("limits.support.")} == set()
