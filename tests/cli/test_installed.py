"""`probe --tier c`: installed tools, shown first, run on this machine, which has such as the test puts there."""

import io
import json
import os

import pytest


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """Installs a tool that is a script."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))

    def put(name, body):
        path = folder / name
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    return put


def probe(run, *arguments):
    return run("probe", "localhost", "--tier", "c", "--no-history", *arguments)


DCGM = """Successfully ran diagnostic for group.
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Deployment  --------+------------------------------------------------|
| Denylist                  | Pass                                           |
| NVML Library              | Fail                                           |
+---------------------------+------------------------------------------------+"""


def test_the_commands_are_shown_and_nothing_runs(run, tool, tmp_path):
    path = tool("dcgmi", f"touch {tmp_path}/ran")
    code, out, err = probe(run, "--show")
    assert (code, err) == (0, "")
    assert f"$ {path} diag -r 1  (at most 120 s)" in out.splitlines()
    assert "never run on a GPU" in out
    assert "Not installed there, or not where it is usually found: nvbandwidth, nccl-tests" in out
    assert not (tmp_path / "ran").exists()


def test_without_a_machine_it_says_what_it_would_look_for(run):
    code, out, _ = run("probe", "--tier", "c", "--show")
    assert code == 0
    rows = [" ".join(line.split()) for line in out.splitlines()]
    assert "nccl-tests all_reduce_perf runs where it is installed" in rows
    assert "fio fio runs only when named" in rows


def test_what_a_tool_says_is_printed_and_told_as_data(run, tool):
    tool("dcgmi", f"cat <<'END'\n{DCGM}\nEND")
    code, out, err = probe(run, "--yes", "--even-if-busy")
    assert code == 0
    rows = [" ".join(line.split()) for line in out.splitlines()]
    assert "NVML Library Fail" in rows
    assert "diag -r 1" in err
    code, out, _ = probe(run, "--yes", "--even-if-busy", "--json")
    told = json.loads(out)
    assert (code, told["whole"], told["refused"]) == (0, True, None)
    assert [(each["id"], each["outcome"]) for each in told["commands"]] == [("installed.dcgm-1", "ended")]
    assert [(test["test"], test["result"]) for test in told["evidence"]["diagnostics"]] == [
        ("Denylist", "Pass"), ("NVML Library", "Fail")
    ]  # fmt: skip


def test_nothing_runs_without_a_yes(run, tool, tmp_path, monkeypatch):
    tool("dcgmi", f"touch {tmp_path}/ran")
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    code, _, err = probe(run)
    assert code == 2
    assert "--yes" in err.splitlines()[-1]
    assert not (tmp_path / "ran").exists()


def test_where_nobody_can_say_whether_somebody_computes_nothing_runs(run, tool, tmp_path):
    tool("dcgmi", f"touch {tmp_path}/ran")
    code, out, _ = probe(run, "--yes")
    assert code == 1
    assert "does not say whether programs compute" in out
    assert not (tmp_path / "ran").exists()


def test_a_tool_that_fails_says_its_last_line_without_signs_for_the_terminal(run, tool):
    tool("dcgmi", "printf 'Error: \\033[31mno hostengine\\n' >&2; exit 3")
    code, out, _ = probe(run, "--yes", "--even-if-busy")
    assert code == 1
    assert out.splitlines()[-1] == "dcgm-1 did not end well (3): Error: no hostengine"


def test_fio_says_first_what_it_writes(run, tool, tmp_path):
    tool("fio", 'echo \'{"fio version": "fio-3.36", "jobs": []}\'')
    code, _, err = probe(run, "--yes", "--fio", str(tmp_path))
    assert code == 0
    shown = next(line for line in err.splitlines() if line.startswith("$ "))
    assert "…" not in shown
    assert "--size=1073741824" in shown
    assert "--iodepth=32  (at most 180 s)" in shown
    assert f"Writes a file of 1 GiB, {tmp_path}/gpuplanner-fio-" in err
    assert [path.name for path in tmp_path.iterdir() if "fio-" in path.name] == []


def test_a_command_of_ones_own_gets_no_shell(run, tmp_path):
    code, _, err = probe(run, "--yes", "--even-if-busy", "--own", f"echo a ; touch {tmp_path}/ran")
    assert code == 0
    assert "what it writes, takes and leaves is its own" in err
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--tier", "c", "--only", "nvbandwith"), "There is no tool “nvbandwith”"),
        (("--tier", "c", "--fio", "data"), "has to begin with /"),
        (("--tier", "c", "--own", "echo 'open"), "Check its quotes"),
        (("--tier", "c", "--disk", "/data"), "belongs to --tier b"),
        (("--fio", "/data"), "belongs to --tier c"),
        (("--tier", "b", "--own", "true"), "belongs to --tier c"),
    ],
)
def test_what_does_not_fit_is_said(run, arguments, said):
    code, _, err = run("probe", "localhost", *arguments)
    assert code == 2
    assert said in err
