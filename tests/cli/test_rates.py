"""`rates`: expected beside measured as text and as JSON, the exit codes, and that no output speaks to the terminal."""

import json
from pathlib import Path

import pytest

from gpuplanner.cli.main import main
from gpuplanner.machines.history import RunHistory
from gpuplanner.probe.results import CommandResult, Run
from gpuplanner.store.store import FILE_NAME, open_store
from gpuplanner.workspace import home_folder

GPUS = [
    {"index": at, "name": "NVIDIA H100 80GB HBM3", "memory_bytes": 85520809984, "compute_capability": "9.0"}
    for at in range(2)
]


def measured(tmp_path, *results, gpus=GPUS):
    lines = [{"gpuplanner-measure": 1}, {"frame": "machine", "gpus": gpus}]
    lines += [{"frame": "result", "during": {}, **result} for result in results]
    path = tmp_path / "measure.txt"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    return str(path)


def to_gpu(gpu: int, rate: float) -> dict[str, object]:
    return {"kind": "bandwidth", "path": "host_to_device", "target": gpu, "bytes": 2**28, "gb_per_s": rate,
            "counts_both": False}  # fmt: skip


def pair(source: int, target: int, rate: float) -> dict[str, object]:
    return {"kind": "bandwidth", "path": "device_to_device", "source": source, "target": target, "bytes": 2**28,
            "gb_per_s": rate, "p2p_enabled": True, "counts_both": False}  # fmt: skip


@pytest.fixture
def rates(capsys):
    def call(*arguments):
        code = main(("rates", *arguments))
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_the_fixed_shape(rates, tmp_path):
    product = {"kind": "matrix", "gpu": 0, "dtype": "bf16", "path": "cublas", "m": 8192, "n": 8192, "k": 8192,
               "tflop_per_s": 780.0}  # fmt: skip
    code, out, _ = rates(measured(tmp_path, to_gpu(0, 55.0), to_gpu(1, 26.0), product), "--json")
    told = json.loads(out)
    assert code == 0
    assert list(told) == ["expected", "charts", "not_measured"]
    assert told["expected"] is None
    charts = {chart["id"]: chart for chart in told["charts"]}
    copies = charts["host_copies"]
    assert list(copies) == ["id", "title", "across", "unit", "check", "labels", "lines", "absent"]
    assert (copies["across"], copies["unit"], copies["check"]) == ("names", "GB/s", "bw.h2d")
    lines = {line["role"]: line for line in copies["lines"]}
    assert [point["y"] for point in lines["measured"]["points"]] == [55.0, 26.0]
    assert lines["expected"]["points"][1] == {"x": 1.0, "y": 63.0, "low": 49.14, "high": 63.0, "name": "GPU 1"}
    assert "PCIe of H100 SXM5 80GB" in lines["expected"]["source"]
    assert {line["role"] for line in charts["products"]["lines"]} == {"peak", "expected", "measured"}
    assert "all-reduce" in " ".join(told["not_measured"])


def test_a_person_reads_both_beside_each_other_with_the_source(rates, tmp_path):
    code, out, _ = rates(measured(tmp_path, to_gpu(0, 55.0), to_gpu(1, 26.0)), "--expect", "2x H100 SXM5 80GB")
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert ["GPU", "1", "63.0", "(49.1–63.0)", "26.0"] in rows
    assert "passes from 78%; PCIe of H100 SXM5 80GB by the catalog" in out
    assert "Not measured: " in out
    assert "2 × H100 SXM5 80GB" in out


def test_of_many_pairs_the_slowest_stand_first(rates, tmp_path):
    gpus = [{**GPUS[0], "index": at} for at in range(8)]
    pairs = [pair(a, b, 200.0 if (a, b) == (6, 7) else 390.0 + a) for a in range(8) for b in range(8) if a != b]
    code, out, _ = rates(measured(tmp_path, *pairs, gpus=gpus))
    assert code == 0
    shown = [line for line in out.splitlines() if "→" in line]
    assert len(shown) == 16
    assert shown[0].split()[:3] == ["6", "→", "7"]
    assert "The 16 slowest of 56" in out


def test_a_plan_without_a_machine_runs_on_this_one(rates, tmp_path):
    memory = {"kind": "bandwidth", "path": "device_memory", "source": 0, "bytes": 2**28, "gb_per_s": 2990.0,
              "counts_both": True}  # fmt: skip
    path = measured(tmp_path, memory)
    code, out, _ = rates(path, "--plan", "chat-8b", "--json")
    assert code == 0
    roof = next(chart for chart in json.loads(out)["charts"] if chart["id"] == "roofline")
    operators = next(line for line in roof["lines"] if line["role"] == "planned")
    assert {"Reading weights, Multiplying"} < {point["name"] for point in operators["points"]}
    _, text, _ = rates(path, "--plan", "chat-8b")
    assert "Reading weights, Multiplying" in text
    assert rates(path, "--plan", "no such plan.gpuplan")[0] == 2
    code, _, said = rates(path, "--plan", "chat-9b")
    assert code == 2
    assert "chat-8b" in said
    _, text, _ = rates(measured(tmp_path, memory, gpus=[]), "--plan", "chat-8b")
    assert "Not measured" in text


def test_nothing_measured_cannot_tell_and_what_no_tool_prints_is_bad_input(rates, tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("GPU 0: NVIDIA L40S (UUID: GPU-0)\n")
    code, out, _ = rates(str(path))
    assert code == 3
    assert "probe --tier b" in out
    assert json.loads(rates(str(path), "--json")[1])["charts"] == []
    path.write_text("Roses are red\n")
    assert rates(str(path))[0] == 2
    assert rates(str(path), "--expect", "Voodoo 2")[0] == 2


def test_of_a_machine_the_latest_kept_run_of_each_tier_counts(rates, tmp_path):
    assert rates("gpu-node-7")[0] == 3
    assert not (home_folder() / FILE_NAME).exists()
    store = open_store(home_folder())
    history = RunHistory(store)
    kept = [
        history.keep("gpu-node-7", "b", recorded(tmp_path, rate, 1.79e9 + at), "", "")[0]
        for at, rate in enumerate((20.0, 55.0))
    ]
    history.keep("another", "b", recorded(tmp_path, 1.0, 1.79e9), "", "")
    store.close()
    code, out, err = rates("gpu-node-7", "--json")
    assert code == 0
    [copies] = [chart for chart in json.loads(out)["charts"] if chart["id"] == "host_copies"]
    assert [point["y"] for point in copies["lines"][-1]["points"]] == [55.0]
    assert f"run {kept[1]}" in err
    first = json.loads(rates(str(kept[0]), "--json")[1])["charts"][0]
    assert [point["y"] for point in first["lines"][-1]["points"]] == [20.0]
    assert rates("999")[0] == 2


def recorded(tmp_path, rate: float, began: float) -> Run:
    output = Path(measured(tmp_path, to_gpu(0, rate))).read_bytes()
    result = CommandResult("measure", ("python3", "-"), 0, "ended", output, b"", 1.0, began)
    return Run("gpu-node-7", began, (result,))


def test_no_output_speaks_to_the_terminal(rates, tmp_path):
    hostile = {"kind": "matrix", "gpu": 0, "dtype": "bf16\x1b[2J", "path": "x\x1b]0;owned\x07", "tflop_per_s": 700.0}
    code, out, _ = rates(measured(tmp_path, hostile, to_gpu(0, 55.0)))
    assert code == 0
    assert "\x1b" not in out
    assert "\x07" not in out


def test_in_chinese(rates, tmp_path):
    code, out, _ = rates("--lang", "zh", measured(tmp_path, to_gpu(0, 55.0)))
    assert code == 0
    assert "主机与 GPU" in out
    assert "实测" in out
