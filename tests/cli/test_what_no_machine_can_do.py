"""What `estimate` says of every machine, `recommend` says once above its ranking: they never tell two stories."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gpuplanner.cli.main import main

BEYOND = ("--set", "input_tokens=2000", "--set", "output_tokens=16384")
MODEL = ("--model", "facebook/opt-13b")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    main([*words, "--json"])
    content: dict[str, Any] = json.loads(capsys.readouterr().out)
    return content


def test_a_length_that_the_model_was_not_made_for_is_said_above_the_ranking(
    user_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ranked = printed(capsys, "recommend", "chat-8b", *MODEL, *BEYOND, "--limit", "1")
    made = printed(capsys, "estimate", "chat-8b", *MODEL, *BEYOND, "--gpu", "H100 SXM")
    wanted = "serving.beyond_positions"
    assert wanted in [remark["id"] for remark in ranked["remarks"]]
    assert wanted in [message["id"] for message in made["unmet"]]
    main(["recommend", "chat-8b", *MODEL, *BEYOND, "--limit", "1"])
    assert capsys.readouterr().out.count("18,384 tokens") == 1


def test_a_length_that_it_was_made_for_is_not_mentioned(user_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "recommend", "chat-8b", "--limit", "1")["remarks"] == []


@pytest.mark.skipif(os.name != "posix", reason="names that are no text are a matter of POSIX")
def test_a_model_in_a_folder_whose_name_is_no_text_can_be_planned(
    user_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.workload.model_samples import LLAMA

    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/m\xff\xfe"))
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    for path in (folder / "config.json", folder):
        made = printed(capsys, "estimate", "chat-8b", "--model", str(path), "--gpu", "H100 SXM")
        assert made["fit"]


@pytest.mark.parametrize("command", [("estimate",), ("explain",), ("ask", "energy")])
def test_a_plan_that_no_machine_carries_is_nothing_found_and_no_bad_input(user_home, capsys, command):
    limits = ("--set", "constraints.max_gpus=1", "--set", "constraints.gpus=nvidia-t4")
    assert main([*command, "pretrain-7b", *limits, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["id"] == "cli.no_machine_found"
