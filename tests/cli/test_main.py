"""The command line as a stranger types it: help with examples, one sentence for a mistake, and the exit codes."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpuplanner.cli.commands import COMMANDS
from gpuplanner.cli.context import MOST_PROBLEMS
from gpuplanner.cli.main import main

NAMES = [command.name for command in COMMANDS]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_command_has_help_with_examples_in_both_languages(
    name: str, language: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*name.split(), "--help", "--lang", language]) == 0
    out = capsys.readouterr().out
    assert f"gpuplanner {name}" in out
    assert ("示例" if language == "zh" else "Example") in out
    assert "--json" in out


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["catalog"], ["catalog", "search"], ["estimate"], ["estimate", "a", "--gpus", "0"], ["--bad"]],
)
def test_a_bad_command_line_is_one_sentence_and_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "--help" in said.err


def test_an_error_with_json_is_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "no-such.gpuplan", "--json"]) == 2
    said = capsys.readouterr()
    assert json.loads(said.out)["error"]["id"] == "plan.no_such_file"
    assert "Traceback" not in said.err


def test_schema_is_a_json_schema_that_names_both_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert {"Serving", "Training"} <= set(schema["$defs"])


def test_a_fault_of_our_own_is_a_sentence_without_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> int:
        raise ZeroDivisionError("of all things")

    monkeypatch.delenv("GPUPLANNER_DEBUG", raising=False)
    monkeypatch.setattr("gpuplanner.cli.plan_commands.schema", broken)
    assert main(["schema"]) == 70
    said = capsys.readouterr().err
    assert "ZeroDivisionError: of all things" in said
    assert "Traceback" not in said


def test_help_reads_nothing_that_it_does_not_show() -> None:
    code = "import sys; from gpuplanner.__main__ import main; sys.argv[1:] = ['--help']; main(); print(*sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    loaded = set(printed.splitlines()[-1].split())
    assert "gpuplanner.cli.commands" in loaded
    assert not loaded & {"pydantic", "numpy", "sqlite_utils", "yaml", "PySide6", "gpuplanner.workspace"}


@pytest.mark.alone
def test_help_is_there_at_once() -> None:
    """Help may take 0.3 s. A start of Python alone is timed beside it, so that a busy machine does not matter."""

    def seconds(*command: str) -> float:
        begun = time.perf_counter()
        subprocess.run([sys.executable, *command], check=True, capture_output=True)
        return time.perf_counter() - begun

    bare = min(seconds("-c", "pass") for _ in range(3))
    told = min(seconds("-m", "gpuplanner", "--help") for _ in range(3))
    assert told < max(0.3, 10 * bare)


def test_a_reader_that_has_seen_enough_is_no_fault() -> None:
    command = f"{sys.executable} -m gpuplanner schema | head -1"
    done = subprocess.run(["sh", "-c", command], check=False, capture_output=True, text=True)
    assert done.stderr == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["estimate", "chat-70b", "--model", "x" * 100_000],
        ["estimate", "chat-70b", "--model", ""],
        ["estimate", "chat-70b", "--model", "no-such-folder/config.json"],
        ["estimate", "chat-70b", "--gpu", ""],
        ["estimate", "chat-70b", "--machine", ""],
        ["estimate", "chat-70b", "--gpu", "H100 SXM5 80GB", "--machine", "aws p5.48xlarge"],
        ["estimate", "chat-70b", "--machine", "aws p5.48xlarge", "--gpus", "4", "--set", "machine.gpus=4"],
        ["estimate", "chat-70b", "--set", "concurrency=" + "[" * 100_000],
        ["estimate", "chat-70b", "--set", "constraints.budget_usd_per_month=Infinity"],
        ["estimate", "chat-70b", "--set", "ttft_goal_s=NaN"],
        ["estimate", "chat-70b", "--set", "k" * 100_000 + "=1"],
        ["estimate", "x" * 100_000],
        ["estimate", "\x1b[31m\u202e"],
        ["explain", "chat-70b", "x" * 100_000],
        ["catalog", "resolve", "H100", "--memory", "9" * 400],
        ["catalog", "search", "H100", "--limit", "0"],
        ["catalog", "search", "H100", "--" + "y" * 100_000],
        ["validate", "a\nb\x1b[31m"],
    ],
    ids=lambda arguments: " ".join(arguments)[:60].encode("unicode_escape").decode(),
)
def test_hostile_arguments_are_one_short_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.removesuffix("\n").isprintable()
    assert len(said.err) < 600


def test_a_count_names_its_limits_and_not_our_function(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "chat-70b", "--gpus", "-1"]) == 2
    assert "whole number from 1 to" in capsys.readouterr().err


def test_gpus_of_a_rented_machine_are_not_counted_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["presets", "chat-70b"]) == 0
    plan = json.loads(capsys.readouterr().out) | {"machine": {"instance_id": "aws/p5.48xlarge"}}
    (tmp_path / "rented.gpuplan").write_text(json.dumps(plan), encoding="utf-8")
    assert main(["estimate", str(tmp_path / "rented.gpuplan"), "--gpus", "4"]) == 2
    assert "--gpus" in capsys.readouterr().err


def test_a_home_that_cannot_be_is_no_fault(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("GPUPLANNER_HOME", "x" * 5000)
    assert main(["estimate", "chat-70b", "--gpu", "H100 SXM5 80GB", "--gpus", "2"]) == 0
    assert "Traceback" not in capsys.readouterr().err


def test_of_very_many_problems_of_overlays_a_few_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "overlays").mkdir()
    for number in range(MOST_PROBLEMS + 7):
        (tmp_path / "overlays" / f"{number}.yaml").write_text("[", encoding="utf-8")
    monkeypatch.setenv("GPUPLANNER_HOME", str(tmp_path))
    assert main(["catalog", "resolve", "L40S"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert len(said) == MOST_PROBLEMS + 1
    assert said[-1].startswith("gpuplanner: 7 more")
