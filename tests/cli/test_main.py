"""The command line as a stranger types it: help with examples, one sentence for a mistake, and the exit codes."""

import json
import subprocess
import sys
import time

import pytest

from gpuplanner.cli.commands import COMMANDS
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
