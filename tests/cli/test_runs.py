"""`runs`: what probe and check keep is listed, checked again, compared, taken out and put back."""

import json
import os
from pathlib import Path

import pytest

from gpuplanner.cli import machine_evidence, probe_command
from gpuplanner.messages import msg
from gpuplanner.probe.commands import READ_ONLY
from gpuplanner.probe.recording import written
from gpuplanner.probe.results import CommandResult, Run
from gpuplanner.store.machine_shelf import MachineShelf
from gpuplanner.store.store import StoreError
from gpuplanner.workspace import home_folder


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """This machine with a tool of our own; gives the file of the tool, which may be written anew."""
    path = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    wanted = tuple(command for command in READ_ONLY if command.id == "smi.list")
    for module in (probe_command, machine_evidence):
        monkeypatch.setattr(module, "READ_ONLY", wanted)
    lists(path, "NVIDIA L40S", "NVIDIA L40S")
    return path


def lists(tool: Path, *names: str) -> None:
    lines = "\n".join(f"GPU {at}: {name} (UUID: GPU-aaa{at})" for at, name in enumerate(names))
    tool.write_text(f"#!/bin/sh\necho '{lines}'\n", encoding="utf-8")
    tool.chmod(0o755)


def test_what_probe_and_check_find_is_kept_and_it_is_said_where(run, tool):
    assert run("runs", "list")[0] == 1
    code, _, err = run("probe", "here")
    assert code == 0
    assert "Kept as run 1 in the history of " in err
    assert str(home_folder()) in err
    code, _, err = run("check", ".", "--expect", "2x L40S")
    assert "runs show 2" in err
    code, out, _ = run("runs", "list", "--json")
    told = json.loads(out)
    assert code == 0
    assert [(each["id"], each["host"], each["tier"], each["expected"]) for each in told] == [
        (2, "localhost", "a", "2x L40S"), (1, "localhost", "a", ""),
    ]  # fmt: skip
    assert told[0]["verdict"] in {"pass", "warn"}
    code, out, _ = run("runs", "list", "localhost")
    assert out.splitlines()[0].split() == ["Run", "Machine", "Date", "Tier", "Verdict", "Held", "against"]
    assert run("runs", "list", "elsewhere")[0] == 1


def test_nothing_is_kept_where_that_is_not_wanted(run, tool, tmp_path):
    assert "Kept" not in run("probe", "here", "--no-history")[2]
    assert "Kept" not in run("check", "here", "--no-history")[2]
    assert "Kept" not in run("diagnose", "here", "--no-history")[2]
    saved = tmp_path / "saved.txt"
    saved.write_text("GPU 0: NVIDIA L40S (UUID: GPU-0)\n", encoding="utf-8")
    assert "Kept" not in run("check", str(saved))[2]
    recording = tmp_path / "x.gpurun"
    result = CommandResult("smi.list", ("nvidia-smi", "-L"), 0, "ended", saved.read_bytes(), b"", 0.1, 1.0)
    recording.write_text(written(Run("x", 1.0, (result,))), encoding="utf-8")
    assert "Kept" not in run("check", str(recording))[2]
    assert run("runs", "list")[0] == 1


def test_a_history_that_takes_nothing_stops_no_command(run, tool, monkeypatch):
    def full(*_given: object) -> None:
        raise StoreError(msg("store.full"))

    monkeypatch.setattr(MachineShelf, "keep", full)
    code, out, err = run("probe", "here")
    assert code == 0
    assert "2 × NVIDIA L40S" in out
    assert "not kept in the history" in err


def test_a_run_is_checked_again(run, tool, tmp_path):
    run("check", "here", "--expect", "2x L40S")
    code, out, _ = run("runs", "show", "1", "--json")
    told = json.loads(out)
    assert told["run"]["id"] == 1
    assert told["expected"] == "2 × L40S, by the catalog"
    assert {check["id"]: check["verdict"] for check in told["checks"]}["gpu.count"] == "pass"
    code, out, _ = run("runs", "show", "1", "--expect", "8x H100 SXM5 80GB", "--save", str(tmp_path / "one.gpurun"))
    assert code == 1
    assert out.startswith("Run 1 of localhost, ")
    assert run("inspect", str(tmp_path / "one.gpurun"))[0] == 0


def test_what_differs_between_two_runs(run, tool, tmp_path):
    run("probe", "here", "--save", str(tmp_path / "before.gpurun"))
    run("probe", "here")
    assert run("runs", "diff", "1", "2") == (0, "Nothing differs from 1 to 2\n", "")
    lists(tool, "NVIDIA L40S", "NVIDIA L4")
    run("probe", "here")
    code, out, _ = run("runs", "diff", str(tmp_path / "before.gpurun"), "3")
    assert code == 1
    assert out.splitlines()[1].split() == ["GPU", "1", "Name", "NVIDIA", "L40S", "→", "NVIDIA", "L4", "Changed"]
    code, out, _ = run("runs", "diff", "1", "3", "--json")
    (between,) = json.loads(out)["between"]
    assert (between["where"], between["before"], between["after"], between["worse"]) == (
        "GPU 1", "NVIDIA L40S", "NVIDIA L4", False,
    )  # fmt: skip
    assert between["evidence"][0]["source"] == "nvidia-smi -L"


def test_what_differs_within_one_machine(run, tool):
    run("probe", "here")
    code, out, _ = run("runs", "diff", "1")
    assert (code, out) == (0, "The GPUs of 1 are alike in all that was read\n")
    lists(tool, "NVIDIA L40S", "NVIDIA L4", "NVIDIA L40S")
    run("probe", "here")
    code, out, _ = run("runs", "diff", "2", "--lang", "zh")
    assert code == 1
    assert "PCIe" not in out
    assert "不同" in out


def test_a_run_is_taken_out_and_put_back(run, tool):
    run("probe", "here")
    code, out, _ = run("runs", "remove", "1")
    assert code == 0
    assert "runs remove 1 --undo" in out
    assert run("runs", "list")[0] == 1
    assert run("runs", "show", "1")[0] == 2
    assert run("runs", "remove", "1", "--undo")[0] == 0
    assert run("runs", "list")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "7"), "nothing of the number 7"),
        (("show", "x"), "RUN"),
        (("diff", "7", "8"), "nothing of the number 7"),
        (("diff", "1", "2", "3"), "too many"),
        (("diff", "no.gpurun"), "no.gpurun"),
        (("remove", "7"), "nothing of the number 7"),
        (("remove", "7", "--undo"), "nothing of the number 7"),
    ],
)
def test_bad_input(run, arguments, said):
    code, _, err = run("runs", *arguments)
    assert code == 2
    assert said in err
