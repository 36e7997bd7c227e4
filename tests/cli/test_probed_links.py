"""`calibrate` with the recording of a probe: its all-reduce and the rates of its parts, for that machine alone."""

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
    kept, parts = json.loads(out)
    assert code == 0
    assert said(capsys, "calibrate", "off", parts["id"])[0] == 0
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


def test_the_rates_of_a_probe_are_used_on_its_machine_each_as_what_it_is_of(capsys, recorded, measured):
    code, out, _ = said(capsys, "calibrate", recorded(measured), "--json")
    links, parts = json.loads(out)
    assert (code, parts["kind"]) == (0, "parts")
    assert parts["measured"]["memory_bytes_per_s"] == pytest.approx(2999.3e9)
    assert parts["measured"]["host_link_bytes_per_s"] == pytest.approx(55.9e9)
    assert parts["measured"]["product_flop_per_s"] == pytest.approx(796.7e12)
    assert parts["measured"]["product_rows"] == 8192
    assert set(parts["factors"]) == {"memory_bytes_per_s", "host_link_bytes_per_s", "product_flop_per_s"}
    assert said(capsys, "calibrate", "off", links["id"])[0] == 0

    plan = ("pretrain-7b", *TWO_H100)
    with_it, without = (
        json.loads(said(capsys, "estimate", *plan, "--json", *more)[1]) for more in ((), ("--no-own-measurements",))
    )
    assert with_it["metrics"]["step_s"]["value"] < without["metrics"]["step_s"]["value"]
    told = said(capsys, "estimate", *plan)[1]
    assert "Matrix products in 16 bits" in told
    assert "Memory of a GPU" in told
    assert "Copies to a GPU" not in told
    assert "node7.gpurun" not in said(capsys, "estimate", "pretrain-7b", *TWO_H100[:2], "--gpus", "4")[1]
    listed = said(capsys, "calibrate", "list")[1]
    assert "797 TFLOPS" in listed
    assert said(capsys, "calibrate", "off", parts["id"])[0] == 0
    assert "node7.gpurun" not in said(capsys, "estimate", *plan)[1]


def test_without_an_all_reduce_the_rest_is_kept(capsys, recorded, measured):
    out = b"\n".join(line for line in measured.splitlines() if b"collective" not in line)
    code, out, _ = said(capsys, "calibrate", recorded(out), "--json")
    assert code == 0
    assert [kept["kind"] for kept in json.loads(out)] == ["parts"]


@pytest.mark.parametrize("damage", ["no all-reduce", "one GPU", "another collective"])
def test_a_probe_of_which_nothing_counts_says_what_would(capsys, recorded, measured, damage):
    counted = (b'"device_memory"', b'"host_to_device"', b'"matrix"', b'"disk"')
    measured = b"\n".join(line for line in measured.splitlines() if not any(name in line for name in counted))
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
