"""`calibrate` with the recording of a probe: its all-reduce is the links' measurement, for that machine alone."""

import json

import pytest

from gpuplanner.cli.main import main
from gpuplanner.probe.recording import written
from gpuplanner.probe.results import CommandResult, Run

MEASURED = "tests/data/probe/gpuplanner-measure/two.txt"
TWO_H100 = ["--gpu", "H100 SXM5 80GB", "--gpus", "2"]


def said(capsys, *arguments):
    code = main(list(arguments))
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.fixture
def recorded(tmp_path):
    def made(out, name="node7.gpurun"):
        result = CommandResult("measure", ("python3", "-"), 0, "ended", out, b"", 9.0, 1.8e9)
        path = tmp_path / name
        path.write_text(written(Run("node7", 1.8e9, (result,))), encoding="utf-8")
        return str(path)

    return made


@pytest.fixture
def measured(project_root):
    return (project_root / MEASURED).read_bytes()


def test_the_all_reduce_of_a_probe_is_used_on_its_machine_and_can_be_left_out(capsys, recorded, measured):
    code, out, _ = said(capsys, "calibrate", recorded(measured), "--json")
    kept = json.loads(out)
    assert code == 0
    assert kept["kind"] == "collectives"
    assert kept["measured"]["bus_bytes_per_s"] == pytest.approx(268.4e9)

    plan = ("pretrain-7b", *TWO_H100)
    with_it, without = (
        json.loads(said(capsys, "estimate", *plan, "--json", *more)[1]) for more in ((), ("--no-own-measurements",))
    )
    assert with_it["metrics"]["step_s"]["value"] != without["metrics"]["step_s"]["value"]
    assert "node7.gpurun" in said(capsys, "estimate", *plan)[1]
    assert "node7.gpurun" not in said(capsys, "estimate", *plan, "--no-own-measurements")[1]
    assert "node7.gpurun" not in said(capsys, "estimate", "pretrain-7b", *TWO_H100[:2], "--gpus", "4")[1]
    assert said(capsys, "calibrate", "off", kept["id"])[0] == 0
    assert "node7.gpurun" not in said(capsys, "estimate", *plan)[1]


@pytest.mark.parametrize("damage", ["no all-reduce", "one GPU", "another collective"])
def test_a_probe_without_an_all_reduce_over_gpus_says_what_measures_one(capsys, recorded, measured, damage):
    out = {
        "no all-reduce": b"\n".join(line for line in measured.splitlines() if b"collective" not in line),
        "one GPU": measured.replace(b'"ranks": 2', b'"ranks": 1'),
        "another collective": measured.replace(b'"all_reduce"', b'"all_gather"'),
    }[damage]
    code, out, err = said(capsys, "calibrate", recorded(out))
    assert (code, out) == (2, "")
    assert "node7.gpurun" in err
    assert "probe --tier b" in err
    assert err.count("\n") == 1


def test_a_recording_that_is_damaged_names_its_line(capsys, recorded, tmp_path, measured):
    path = tmp_path / "cut.gpurun"
    path.write_text('{"format":"gpurun/1","target":5}\n', encoding="utf-8")
    code, out, err = said(capsys, "calibrate", str(path))
    assert (code, out) == (2, "")
    assert "cut.gpurun" in err
