"""`diagnose`: the cause with its lines, what would tell more, the exit codes, and what hostile outputs cannot do."""

import io
import json
import sys

import pytest

from gpuplanner.cli.main import main

XID = "[  812.3] NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python, GPU has fallen off the bus.\n"
MEMORY = "MemTotal:       131072000 kB\nMemFree:        1 kB\nMemAvailable:   131000000 kB\nSwapTotal:  1 kB\n"


@pytest.fixture
def diagnose(capsys, monkeypatch):
    def call(*arguments, given=None):
        if given is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        code = main(("diagnose", *arguments))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_the_fixed_shape(diagnose, tmp_path):
    path = tmp_path / "kernel.log"
    path.write_text(XID)
    code, out, _ = diagnose(str(path), "--json")
    told = json.loads(out)
    assert code == 1
    assert list(told) == ["recognised", "causes", "unexplained", "would_tell"]
    assert len(told["recognised"]) == 1
    cause = told["causes"][0]
    assert (cause["id"], cause["certainty"]) == ("off_the_bus", "shown")
    assert cause["evidence"][0] == {"source": "kernel.log", "line": 1, "text": XID.strip()}
    assert cause["confirm"]
    assert cause["fix"].startswith("Drain the node")
    assert "nvidia-smi -q" in told["would_tell"]


def test_standard_input_says_the_same_and_what_was_recognised_stands_first(diagnose):
    code, out, _ = diagnose("-", given=XID)
    lines = out.splitlines()
    assert code == 1
    assert lines[0].startswith("Recognised outputs of ")
    assert "no longer answers on its bus" in lines[2]
    assert lines[4].startswith("    | standard input:1: [")
    assert any(line.startswith("    $ ") for line in lines)
    assert main(("diagnose", "-", "kernel.log")) == 2


def test_what_is_not_enough_is_neither_well_nor_ill(diagnose):
    code, out, _ = diagnose("-", "--json", given=MEMORY)
    assert (code, json.loads(out)["causes"]) == (3, [])
    code, out, _ = diagnose("-", given=MEMORY)
    assert code == 3
    assert "not enough to tell" in out


def test_no_cause_is_found_where_gpus_are_well(diagnose):
    well = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-aaa0)\n" + "".join(
        f"\t Link {link}: 26.562 GB/s\n" for link in range(18)
    )
    code, out, _ = diagnose("-", given=well)
    assert code == 0
    assert "No cause of slowness" in out


def test_what_no_tool_prints_is_bad_input(diagnose):
    code, out, err = diagnose("-", given="Roses are red\n")
    assert (code, out) == (2, "")
    assert "standard input" in err
    assert "Traceback" not in err


def test_no_output_speaks_to_the_terminal_or_fills_it(diagnose):
    hostile = XID.strip() + "\x1b]0;owned\x07\x1b[31m" + "x" * 5000 + "\n"
    code, out, _ = diagnose("-", given=hostile)
    assert code == 1
    assert "\x1b" not in out
    assert "\x07" not in out
    assert max(map(len, out.splitlines())) < 400


def test_tabs_of_a_table_are_spaces(diagnose):
    _, out, _ = diagnose("-", given=XID.replace("name=python, ", "name=python,\t"))
    assert "name=python, GPU has fallen" in out


def test_in_chinese(diagnose):
    code, out, _ = diagnose("--lang", "zh", "-", given=XID)
    assert code == 1
    assert out.startswith("已识别的输出")
