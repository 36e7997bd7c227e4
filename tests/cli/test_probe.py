import json
import os

import pytest

from gpuplanner.cli import probe_command
from gpuplanner.probe.commands import READ_ONLY

ASKED = ("smi.list", "nproc", "ibstat")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """This machine, with a tool of our own on its search path, and only a few commands asked."""
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'GPU 0: NVIDIA L40S (UUID: GPU-aaaa)'\n", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    wanted = tuple(command for command in READ_ONLY if command.id in ASKED)
    monkeypatch.setattr(probe_command, "READ_ONLY", wanted)


def test_a_machine_is_asked_and_the_commands_are_shown(run, machine):
    code, out, err = run("probe", "localhost")
    assert code == 0
    assert "$ nvidia-smi -L" in err.splitlines()
    assert "1 × NVIDIA L40S" in out
    assert "of 3 commands answered" in out


def test_as_json(run, machine):
    code, out, _ = run("probe", "localhost", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["evidence"]["gpus"][0]["name"] == "NVIDIA L40S"
    assert {command["id"]: command["argv"] for command in told["commands"]}["smi.list"] == ["nvidia-smi", "-L"]


def test_what_would_run_is_printed_and_nothing_runs(run):
    code, out, err = run("probe", "--commands")
    assert (code, err) == (0, "")
    assert out.splitlines() == [command.shown for command in READ_ONLY]


def test_a_recording_says_the_same_as_the_machine(run, machine, tmp_path):
    path = tmp_path / "here.gpurun"
    assert run("probe", "localhost", "--save", str(path))[0] == 0
    code, out, _ = run("inspect", str(path), "--json")
    assert code == 0
    assert json.loads(out)[0]["evidence"]["gpus"][0]["uuid"] == "GPU-aaaa"
    code, _, err = run("probe", "localhost", "--save", str(path))
    assert code == 2
    assert "is there already" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Name a machine"),
        (("a;b",), "is no name of a machine"),
    ],
)
def test_no_machine(run, arguments, said):
    code, _, err = run("probe", *arguments)
    assert code == 2
    assert said in err


def test_a_place_that_cannot_be_written(run, machine, tmp_path):
    code, _, err = run("probe", "localhost", "--save", str(tmp_path / "no" / "x.gpurun"))
    assert code == 2
    assert "cannot be written" in err
