import json

import pytest

from gpuplanner.cli import machine_evidence
from gpuplanner.probe.commands import READ_ONLY
from gpuplanner.probe.recording import written
from gpuplanner.probe.results import CommandResult, Run

LIST = "".join(f"GPU {at}: NVIDIA H100 80GB HBM3 (UUID: GPU-aaa{at})\n" for at in range(2))
LINKS = "GPU {at}: NVIDIA H100 80GB HBM3 (UUID: GPU-aaa{at})\n" + "".join(
    f"\t Link {link}: 26.562 GB/s\n" for link in range(17)
)


@pytest.fixture
def saved(tmp_path):
    (tmp_path / "list.txt").write_text(LIST)
    (tmp_path / "links.txt").write_text("".join(LINKS.format(at=at) + "\t Link 17: <inactive>\n" for at in range(2)))
    (tmp_path / "whole.txt").write_text("".join(LINKS.format(at=at) + "\t Link 17: 26.562 GB/s\n" for at in range(2)))
    (tmp_path / "poem.txt").write_text("Roses are red\n")
    return tmp_path


def checks_of(out):
    return {check["id"]: check for check in json.loads(out)["checks"]}


def test_the_fixed_shape(run, saved):
    code, out, _ = run("check", str(saved / "list.txt"), str(saved / "links.txt"), "--json")
    told = json.loads(out)
    assert code == 1
    assert (told["verdict"], told["expected"]) == ("fail", None)
    lanes = checks_of(out)["nvlink.lanes"]
    assert (lanes["verdict"], lanes["expected"], lanes["measured"]) == ("fail", "18", "17")
    assert "1 link is inactive" in lanes["reason"]
    assert lanes["source"]
    assert lanes["evidence"][0] == {"source": "links.txt", "line": 19, "text": "Link 17: <inactive>"}


def test_what_was_promised_is_compared(run, saved):
    files = str(saved / "list.txt"), str(saved / "whole.txt")
    code, out, _ = run("check", *files, "--expect", "2x H100 SXM5 80GB", "--json")
    told = checks_of(out)
    assert code == 0
    assert json.loads(out)["expected"] == "2 × H100 SXM5 80GB, by the catalog"
    assert {id_: told[id_]["verdict"] for id_ in ("gpu.count", "gpu.model", "nvlink.lanes", "nvlink.speed")} == {
        "gpu.count": "pass", "gpu.model": "pass", "nvlink.lanes": "pass", "nvlink.speed": "pass",
    }  # fmt: skip
    code, out, _ = run("check", *files, "--expect", "8x H100 PCIe", "--json")
    told = checks_of(out)
    assert code == 1
    assert (told["gpu.count"]["verdict"], told["gpu.count"]["expected"]) == ("fail", "8")
    assert told["gpu.model"]["verdict"] == "fail"


def test_nothing_told_is_neither_a_pass_nor_a_failure(run, tmp_path):
    path = tmp_path / "memory.txt"
    path.write_text("MemTotal:       131072000 kB\nMemFree:        1 kB\nMemAvailable:   2 kB\nSwapTotal:  1 kB\n")
    code, out, _ = run("check", str(path), "--json")
    assert code in {1, 3}
    assert checks_of(out)["ram"]["verdict"] == "cannot tell"
    assert checks_of(out)["gpu.state"]["verdict"] == "cannot tell"


def test_as_a_person_reads_it(run, saved):
    code, out, _ = run("check", str(saved / "links.txt"))
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == "fail (held against: nothing in particular)"
    assert any(line.startswith("fail") and "nvlink.lanes" in line for line in lines)
    assert any(line.startswith("    → Check Fabric Manager") for line in lines)
    assert any(line.startswith("cannot tell (") for line in lines)
    _, out, _ = run("check", str(saved / "links.txt"), "--all", "--lang", "zh")
    assert "无法判断" in out


def test_tabs_of_a_line_are_spaces(run, saved):
    (saved / "bus.txt").write_text(
        "01:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)\n"
        "\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n"
        "\tLnkSta:\tSpeed 16GT/s (downgraded), Width x8 (downgraded)\n",
        encoding="utf-8",
    )
    for command in ("check", "diagnose"):
        _, out, _ = run(command, str(saved / "bus.txt"))
        assert "    | bus.txt:3: LnkSta: Speed 16GT/s (downgraded), Width x8 (downgraded)" in out.splitlines()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("poem.txt",), "is the output of a tool that is known here"),
        (("no.txt",), "There is no file no.txt"),
        (("list.txt", "localhost"), "one machine"),
        (("list.txt", "--expect", "no such machine"), "no such machine"),
        (("list.txt", "--expect", "no.gpuplan"), "no.gpuplan"),
    ],
)
def test_bad_input(run, saved, arguments, said, monkeypatch):
    monkeypatch.chdir(saved)
    code, _, err = run("check", *arguments)
    assert code == 2
    assert said in err


def test_a_machine_is_asked(run, tmp_path, monkeypatch):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'GPU 0: NVIDIA L40S (UUID: GPU-aaaa)'\n", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    wanted = tuple(command for command in READ_ONLY if command.id == "smi.list")
    monkeypatch.setattr(machine_evidence, "READ_ONLY", wanted)
    code, out, err = run("check", "localhost", "--expect", "L40S", "--json")
    assert "$ nvidia-smi -L" in err
    told = checks_of(out)
    assert code == 0
    assert told["gpu.model"]["verdict"] == "pass"


def test_a_recording_says_as_whom_it_ran_and_how_the_clock_went(run, tmp_path):
    log = CommandResult("kernel_log", ("dmesg",), 1, "no_permission", b"", b"dmesg: Operation not permitted", 0.1, 0.0)
    listed = CommandResult("smi.list", ("nvidia-smi", "-L"), 0, "ended", LIST.encode(), b"", 0.1, 0.0)
    path = tmp_path / "node.gpurun"
    path.write_text(written(Run("node", 0.0, (log, listed), clock_offset_s=-7.0, root=False)), encoding="utf-8")
    code, out, _ = run("check", str(path), "--json")
    told = checks_of(out)
    assert code == 1
    assert (told["clock.drift"]["verdict"], told["clock.drift"]["measured"]) == ("fail", "-7.0 s")
    assert told["xid"]["verdict"] == "cannot tell"
    assert told["xid"]["do"] == "This would tell: sudo journalctl -k -b"


def test_a_plan_promises_its_machine(run, saved, tmp_path):
    files = str(saved / "list.txt"), str(saved / "whole.txt")
    machine = {"gpu_id": "nvidia-h100-sxm5-80gb", "gpus": 4, "per_node": 4}
    _, preset, _ = run("presets", "chat-70b")
    plan = tmp_path / "my.gpuplan"
    plan.write_text(json.dumps(json.loads(preset) | {"machine": machine}))
    code, out, _ = run("check", *files, "--expect", str(plan), "--json")
    assert code == 1
    assert checks_of(out)["gpu.count"]["expected"] == "4"
    code, _, err = run("check", *files, "--expect", "chat-70b")
    assert code == 2
    assert "names no machine" in err


def test_a_quote_typed_in_is_compared(run, saved):
    code, out, _ = run("check", str(saved / "list.txt"), "--expect", "8x H100 SXM 80GB, 192 vCPU", "--json")
    told = json.loads(out)
    assert code == 1
    assert told["verdict"] == "fail"
    assert "192 vCPU" in told["expected"]
    code, out, _ = run("check", str(saved / "list.txt"), "--expect", "8x H100 SXM 80GB, 5 pears, 1 vCPU", "--json")
    assert (code, json.loads(out)["error"]["id"]) == (2, "machine.quote_part")


def test_what_cannot_be_read_of_a_folder_is_said_and_the_rest_judged(run, saved):
    (saved / "cut.gpurun").write_text('{"format":"gpurun/1"\n')
    for command, section in (("check", "checks"), ("diagnose", "recognised")):
        _, out, err = run(command, str(saved), "--json")
        assert json.loads(out)[section]
        assert err.startswith("gpuplanner: ")
        assert "cut.gpurun" in err
