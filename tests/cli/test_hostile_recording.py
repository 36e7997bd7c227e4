"""A recording whose every text is hostile, through every command that prints what a machine said."""

import dataclasses
import json
from pathlib import Path

import pytest

from gpuplanner.machines.history import RunHistory, tiers_of
from gpuplanner.probe.recording import written
from gpuplanner.workspace import Workspace, home_folder
from tests.probe.hostile import WICKED, hostile_run, wicked_in


@pytest.fixture(scope="module")
def run_there():
    return hostile_run()


@pytest.fixture
def recording(run_there, tmp_path):
    path = tmp_path / "hostile.gpurun"
    path.write_text(written(run_there), encoding="utf-8")
    return str(path)


@pytest.fixture
def history(run_there):
    """Two runs that were kept of it, the other one healthy where this one is ill."""
    workspace = Workspace(home_folder())
    kept = RunHistory(workspace.store)
    other = dataclasses.replace(run_there, results=run_there.results[:20])
    numbers = [kept.keep(WICKED, tiers_of(run), run, "fail", WICKED)[0] for run in (run_there, other)]
    workspace.store.close()
    return [str(number) for number in numbers]


def printed(run, *arguments):
    code, out, err = run(*arguments)
    assert code in {0, 1, 3}, (arguments, out, err)
    assert wicked_in(out + err) == [], arguments
    # A line that does not end has been cut somewhere before the terminal.
    if "--json" not in arguments:
        assert max((len(line) for line in (out + err).splitlines()), default=0) < 5_000, arguments
    return out


@pytest.mark.parametrize(("language", "shape"), [("en", ()), ("zh", ()), ("en", ("--json",))])
def test_no_command_lets_it_speak_to_the_terminal(run, recording, history, tmp_path, shape, language):
    first, second = history
    more = (*shape, "--lang", language)
    for words in (
        ("inspect", recording),
        ("check", recording),
        ("check", recording, "--expect", "8x H100 SXM5 80GB"),
        ("diagnose", recording),
        ("rates", recording),
        ("runs", "list"),
        ("runs", "show", first, "--expect", "8x H100 SXM5 80GB"),
        ("runs", "diff", first, second),
        ("runs", "diff", first),
    ):
        out = printed(run, *words, *more)
        assert out, words
        if shape:
            assert json.loads(out) is not None
    if not shape:
        printed(run, "check", recording, "--all", *more)
    assert "80GB HBM3" in run("inspect", recording, *more)[1]


def test_what_is_said_of_a_file_with_a_hostile_name(run, tmp_path):
    path = Path(tmp_path / "=cmd|x\x1b[2J.txt")
    path.write_text("nothing of a machine")
    for words in (
        ("inspect", str(path)),
        ("check", str(path)),
        ("diagnose", str(path)),
        ("probe", WICKED),
        ("watch", WICKED),
    ):
        _, out, err = run(*words)
        assert wicked_in(out + err) == [], words
