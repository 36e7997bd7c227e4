"""`calibrate` on the command line: keep, list, use, leave out, remove; and what it says to what it cannot use."""

import json

import pytest

from gpuplanner.cli.main import main
from gpuplanner.workspace import home_folder

H100 = ["--gpu", "H100 SXM5 80GB"]


@pytest.fixture
def own_dir(project_root):
    return project_root / "tests" / "data" / "own"


def said(capsys, *arguments):
    code = main(list(arguments))
    out = capsys.readouterr()
    return code, out.out, out.err


def test_a_benchmark_is_kept_used_left_out_and_removed(capsys, own_dir):
    code, out, _ = said(capsys, "calibrate", str(own_dir / "vllm_bench.json"), "chat-8b", *H100, "--json")
    kept = json.loads(out)
    assert code == 0
    assert kept["measured"]["tpot_s"] == pytest.approx(0.0119)
    assert set(kept["factors"]) == {"tpot_s", "ttft_s", "output_tokens_per_s"}

    assert kept["id"] in said(capsys, "calibrate", "list")[1]
    with_it = said(capsys, "estimate", "chat-8b", *H100)[1]
    without = said(capsys, "estimate", "chat-8b", *H100, "--no-own-measurements")[1]
    assert "vllm_bench.json" in with_it
    assert "vllm_bench.json" not in without
    assert "您自己的实测 vllm_bench.json" in said(capsys, "estimate", "chat-8b", *H100, "--lang", "zh")[1]

    assert said(capsys, "calibrate", "remove", kept["id"])[0] == 0
    assert "vllm_bench.json" not in said(capsys, "estimate", "chat-8b", *H100)[1]


def test_a_table_of_nccl_tests_needs_no_plan(capsys, own_dir):
    code, out, _ = said(capsys, "calibrate", str(own_dir / "nccl_all_reduce.txt"), "--json")
    assert code == 0
    assert json.loads(out)["kind"] == "collectives"
    assert "collectives" in said(capsys, "calibrate", "list")[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none.json", "chat-8b"], "none.json"),
        (["vllm_bench.json"], "--gpu GPU"),
        (["vllm_bench.json", "chat-8b"], "--machine"),
        (["vllm_bench.json", "finetune-8b", *H100], "“Train”"),
        (["torchtitan.log", "chat-8b", *H100], "training"),
        (["vllm_bench.json", "chat-8b", "--gpu", "L4"], "times the estimate"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_sentence(capsys, own_dir, monkeypatch, arguments, says):
    monkeypatch.chdir(own_dir)
    code, out, err = said(capsys, "calibrate", *arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_nothing_kept_says_how_to_keep_one(capsys):
    assert "gpuplanner calibrate FILE" in said(capsys, "calibrate", "list")[1]
    assert said(capsys, "calibrate", "remove")[0] == 2


def test_one_is_switched_off_and_on_again(capsys, own_dir):
    kept = json.loads(said(capsys, "calibrate", str(own_dir / "vllm_bench.json"), "chat-8b", *H100, "--json")[1])
    assert kept["used"] is True
    assert said(capsys, "calibrate", "off", kept["id"])[0] == 0
    assert "off" in said(capsys, "calibrate", "list")[1]
    assert json.loads(said(capsys, "calibrate", "list", "--json")[1])[0]["used"] is False
    assert "vllm_bench.json" not in said(capsys, "estimate", "chat-8b", *H100)[1]
    assert said(capsys, "calibrate", "on", kept["id"])[0] == 0
    assert "vllm_bench.json" in said(capsys, "estimate", "chat-8b", *H100)[1]
    assert said(capsys, "calibrate", "off", "00000000")[0] == 2


def test_every_change_is_json_for_who_asks_for_it(capsys, own_dir, user_home):
    kept = json.loads(said(capsys, "calibrate", str(own_dir / "vllm_bench.json"), "chat-8b", *H100, "--json")[1])
    for what, used in (("off", False), ("on", True)):
        changed = json.loads(said(capsys, "calibrate", what, kept["id"], "--json")[1])
        assert (changed["id"], changed["used"]) == (kept["id"], used)
    removed = json.loads(said(capsys, "calibrate", "remove", kept["id"], "--json")[1])
    assert removed == {"id": kept["id"], "removed": True}


def test_a_damaged_measurement_is_told_beside_the_list(capsys, user_home):
    folder = home_folder() / "measurements"
    folder.mkdir(parents=True)
    (folder / "0badf00d.json").write_text("{", encoding="utf-8")
    code, out, err = said(capsys, "calibrate", "list", "--json")
    assert (code, json.loads(out)) == (0, [])
    assert "0badf00d.json" in err
    code, out, err = said(capsys, "calibrate", "list")
    assert "0badf00d.json" in err
    assert "0badf00d.json" not in out


def test_an_estimate_says_once_which_measurements_it_leaves_out_where_they_are_and_what_to_do(capsys, user_home):
    folder = home_folder() / "measurements"
    folder.mkdir(parents=True)
    (folder / "0badf00d.json").write_text("{", encoding="utf-8")
    (folder / "bench results.json").write_text("{}", encoding="utf-8")
    (folder / ".DS_Store").write_text("", encoding="utf-8")
    code, _, err = said(capsys, "estimate", "chat-8b", *H100)
    assert code == 0
    assert [err.count(name) for name in ("0badf00d.json", "bench results.json", ".DS_Store")] == [1, 1, 0]
    assert err.count(str(folder)) == 2
    assert "gpuplanner calibrate" in err
    assert said(capsys, "estimate", "chat-8b", *H100, "--no-own-measurements")[2] == ""


def test_the_machine_of_a_measurement_is_named_as_a_person_does(capsys, own_dir):
    said(capsys, "calibrate", str(own_dir / "vllm_bench.json"), "chat-8b", *H100)
    assert "1 × H100 SXM5 80GB" in said(capsys, "calibrate", "list")[1]
