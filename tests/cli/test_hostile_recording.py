"""A recording whose every text is hostile, through every command that prints what a machine said."""

import dataclasses
import json
import unicodedata
from pathlib import Path

import pytest

from gpuplanner.machines.history import RunHistory, tiers_of
from gpuplanner.machines.sample import sample_run
from gpuplanner.probe.recording import written
from gpuplanner.workspace import Workspace, home_folder

FORMULA = "=cmd|'/C calc'!A1"
ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\x00\u202e\u2066\u2028"
HTML = "<script>alert(1)</script>"
WICKED = f"{FORMULA} {ESCAPES} {HTML}"
IN_JSON = json.dumps(WICKED)[1:-1]
"""Escapes that are none until somebody decodes the text."""
IN_XML = f"{FORMULA} &#27;]0;owned&#7;&#27;[2J&#155;31m&#8238; &lt;script&gt;"


def hostile(result):
    """A result with hostile names wherever names stand, bytes that are no UTF-8, and a line without an end."""
    text = result.out.decode("utf-8")
    words = IN_XML if result.id == "smi.xml" else IN_JSON if text.lstrip().startswith("{") else WICKED
    for name in (
        "NVIDIA H100 80GB HBM3",
        "AMD EPYC 7R13 Processor",
        "Ubuntu 24.04.2 LTS",
        "Amazon",
        "nvme",
        "enp",
        "vm ",
    ):
        text = text.replace(name, f"{name} {words}")
    tail = b"\xff\xfe\xc3(" + b"y" * (100_000 if result.id in {"smi.list", "lscpu"} else 0)
    return dataclasses.replace(
        result, out=text.encode() + (tail if result.id != "measure" else b""), err=WICKED.encode() + b"\n"
    )


@pytest.fixture(scope="module")
def run_there():
    made = sample_run()
    return dataclasses.replace(
        made, target=WICKED, python=WICKED, recorded=False, results=tuple(hostile(each) for each in made.results),
        asked={id_: (*argv, WICKED) for id_, argv in made.asked.items()},
    )  # fmt: skip


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


def wicked_in(text):
    """Characters that speak to a terminal or turn a line around."""
    found = {char for char in text if unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"} and char != "\n"}
    return sorted(found)


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
