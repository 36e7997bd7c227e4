"""What people drop and paste: plans and models are taken, anything else is told what it is and what to do."""

import json
from typing import Any

import pytest

from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.store.plan_files import write_plan
from gpuplanner.ui.plan_place.intake import take_file, take_text, takes
from gpuplanner.workload.plan import MachineChoice
from gpuplanner.workload.plan_text import plan_to_text

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}


def plan_of(workspace) -> Any:
    return workspace.presets["chat-8b"]


def test_a_plan_file_is_a_plan(tmp_path, workspace):
    path = tmp_path / "mine.gpuplan"
    write_plan(path, plan_of(workspace))
    assert take_file(path).plan == plan_of(workspace)


def test_a_plan_under_another_name_is_a_plan(tmp_path, workspace):
    path = tmp_path / "export.json"
    path.write_text(plan_to_text(plan_of(workspace)), encoding="utf-8")
    assert take_file(path).plan == plan_of(workspace)


def test_a_configuration_is_a_model(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG), encoding="utf-8")
    taken: Any = take_file(path)
    assert taken.model is not None
    assert taken.model.architecture.layers == 32
    assert taken.model.read_from == "config.json"
    assert taken.says.values["size"] == "8.03 B"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b"{"),
        ("config.json", b"[1, 2]"),
        ("picture.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 64),
        ("weights.safetensors", b"\xff" * 64),
        ("model.gguf", b"GGUF"),
        ("mine.gpuplan", b"no plan"),
        ("train.yaml", b"model_name_or_path: meta-llama/Llama-3.1-8B\nlearning_rate: 1e-5\n"),
        ("pytorch_model.bin", b"PK\x03\x04" + b"\0" * 64),
        ("notes.txt", b"remember the milk"),
        ("empty.json", b""),
    ],
)
def test_what_is_none_of_them_is_refused_in_a_sentence(tmp_path, appearance, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        take_file(path)
    sentence = appearance.text(refused.value.message)
    assert name in sentence
    assert "Traceback" not in sentence


def test_a_file_that_is_gone_is_refused(tmp_path):
    with pytest.raises(InputError):
        take_file(tmp_path / "gone.gguf")


def test_pasted_texts(workspace):
    assert take_text(plan_to_text(plan_of(workspace)), workspace).plan == plan_of(workspace)
    pasted: Any = take_text(json.dumps(CONFIG), workspace)
    assert pasted.model.architecture.layers == 32
    named: Any = take_text("Qwen/Qwen3-32B", workspace)
    assert named.model.catalog_id == "Qwen/Qwen3-32B"
    machine = take_text("8x NVIDIA H100 80GB HBM3", workspace).machine
    assert machine == MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=8, per_node=8)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("8x NVIDIA H100 80GB HBM3", "8 × H100 SXM5 80GB"),
        ("2 x p5.48xlarge", "2 × AWS p5.48xlarge"),
        ("p5.48xlarge", "on AWS p5.48xlarge"),
    ],
)
def test_a_pasted_machine_is_said_with_its_count(text, says, workspace):
    assert Translator(Language.ENGLISH).text(take_text(text, workspace).says).endswith(says)


@pytest.mark.parametrize(
    "text", ["", "   ", "{", "[1]", '{"a": 1}', "[" * 100_000, "Dear all,\nplease", "H20000", "x" * 6_000_000]
)
def test_a_text_that_is_none_of_them_is_refused(text, workspace, appearance):
    with pytest.raises(InputError) as refused:
        take_text(text, workspace)
    assert appearance.text(refused.value.message)


def test_which_names_belong_here():
    assert all(takes(name) for name in ("a.gpuplan", "/x/config.json", "m.safetensors", "m.gguf", "C:\\a\\B.GGUF"))
    assert not any(takes(name) for name in ("prices.csv", "config.yaml", "a.json"))


def test_a_dropped_configuration_changes_the_model_and_can_be_undone(qtbot, tmp_path, page, said):
    before = page.presenter.plan.workload.model
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG), encoding="utf-8")
    assert page.dropped([str(path)])
    qtbot.waitUntil(lambda: page.presenter.plan.workload.model != before)
    assert "planui.taken.model" in said(page)
    page.presenter.document.undo()
    assert page.presenter.plan.workload.model == before


def test_a_dropped_plan_is_opened_and_kept(qtbot, tmp_path, page, workspace):
    path = tmp_path / "mine.gpuplan"
    write_plan(path, plan_of(workspace).model_copy(update={"name": "Mine"}))
    assert page.dropped([str(path)])
    qtbot.waitUntil(lambda: page.presenter.plan.name == "Mine")
    assert [p.name for p in page.presenter.plans.listed()] == ["Mine"]


def test_a_dropped_picture_is_told_off_without_a_dialog(qtbot, tmp_path, page, said):
    path = tmp_path / "picture.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 64)
    before = page.presenter.plan
    assert page.dropped([str(path)])
    qtbot.waitUntil(lambda: len(said(page)) == 1)
    assert page.presenter.plan == before


def test_a_price_list_is_left_to_others(page):
    assert not page.dropped(["/somewhere/prices.csv"])


def test_pasting_a_name_on_the_start_page_begins_a_plan(qtbot, open_page):
    page = open_page("start")
    assert not page.presenter.is_open
    assert page.pasted("Qwen/Qwen3-32B")
    qtbot.waitUntil(lambda: page.presenter.is_open)
    assert page.presenter.plan.workload.model.catalog_id == "Qwen/Qwen3-32B"


def test_the_plan_is_written_to_a_file(qtbot, tmp_path, page, said):
    path = tmp_path / "out.gpuplan"
    page.presenter.save_as(path)
    qtbot.waitUntil(lambda: "planui.written" in said(page))
    written: Any = take_file(path)
    assert written.plan.workload == page.presenter.plan.workload


def test_a_file_that_cannot_be_written_says_so(qtbot, tmp_path, page, said):
    page.presenter.save_as(tmp_path / "no" / "such" / "folder.gpuplan")
    qtbot.waitUntil(lambda: "plan.cannot_write" in said(page))
