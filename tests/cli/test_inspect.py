import json

import pytest

LIST = "GPU 0: NVIDIA L40S (UUID: GPU-aaaa)\nGPU 1: NVIDIA L40S (UUID: GPU-bbbb)\n"


@pytest.fixture
def saved(tmp_path):
    (tmp_path / "list.txt").write_text(LIST)
    (tmp_path / "poem.txt").write_text("Roses are red\n")
    return tmp_path


def test_what_a_file_says(run, saved):
    code, out, _ = run("inspect", str(saved / "list.txt"))
    assert code == 0
    assert [line.split() for line in out.splitlines()] == [
        ["list.txt", "nvidia-smi-L"],
        ["GPUs", "2", "×", "NVIDIA", "L40S"],
    ]


def test_the_fixed_shape(run, saved):
    code, out, _ = run("inspect", str(saved), "--json")
    assert code == 0
    first, second = json.loads(out)
    assert (first["file"], first["tool"], first["problems"]) == ("list.txt", "nvidia-smi-L", [])
    assert [(gpu["index"], gpu["name"], gpu["uuid"]) for gpu in first["evidence"]["gpus"]] == [
        (0, "NVIDIA L40S", "GPU-aaaa"),
        (1, "NVIDIA L40S", "GPU-bbbb"),
    ]
    assert second == {"file": "poem.txt", "tool": None, "evidence": {}, "problems": []}


def test_nothing_recognised_is_nothing_found(run, saved):
    code, out, _ = run("inspect", str(saved / "poem.txt"))
    assert (code, out) == (1, "poem.txt  not recognised\n")


def test_a_file_that_is_not_there(run, saved):
    code, out, err = run("inspect", str(saved / "no.txt"))
    assert (code, out) == (2, "")
    assert err == "gpuplanner: There is no file no.txt. Check the path.\n"


def test_a_name_that_speaks_to_the_terminal_is_silenced(run, tmp_path):
    path = tmp_path / "\x1b[31mred.txt"
    path.write_text("GPU 0: \x1b]0;owned\x07NVIDIA L4 (UUID: GPU-1)\n")
    code, out, _ = run("inspect", str(path))
    assert code == 0
    assert "\x1b" not in out
    assert "1 × NVIDIA L4" in out
