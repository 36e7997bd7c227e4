"""A preset keeps what its name promises: the amounts in it, and that it runs on so few GPUs as it says."""

import re

import pytest

from gpuplanner.messages import Language, Translator
from gpuplanner.paths import shipped
from gpuplanner.workspace import Workspace

NAMES = sorted(path.stem for path in (shipped("resources") / "presets").glob("*.gpuplan"))
DAY = 86_400.0
PROMISES: dict[str, dict[str, object]] = {
    "chat-8b": {"concurrency": 32},
    "chat-70b": {"concurrency": 64, "weight_precision": "fp8"},
    "moe-deepseek": {"concurrency": 64},
    "drafted-70b": {"concurrency": 4, "speculation": "eagle"},
    "apart-70b": {"concurrency": 128, "disaggregated": True},
    "desktop-32b": {"concurrency": 1, "weight_precision": "exl2-4.0"},
    "laptop-8b": {"concurrency": 1, "weight_precision": "q4_k_m"},
    "finetune-8b": {"method": "full", "tokens": 1e9},
    "pretrain-7b": {"method": "pretraining", "tokens": 1e12, "deadline_s": 30 * DAY},
    "lora-70b": {"method": "lora", "tokens": 1e8},
    "qlora-8b": {"method": "qlora"},
    "live-video": {"streams": 400, "renditions": 2, "frame_size": "1080p"},
    "stencil": {"items": 1_000_000, "deadline_s": 10 * DAY, "arithmetic": "fp64"},
    "flow": {"elements": 2_000_000_000, "steps": 1_000_000},
    "transcribe": {"audio_hours": 10_000, "deadline_s": 7 * DAY},
    "vision-resnet50-training": {"epochs": 90, "deadline_s": DAY},
    "vision-vit-training": {"images": 10_000_000},
    "vision-yolo-inference": {"rate_goal": 2_000},
}
"""The amounts that the names say, by the field that holds them."""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


def english(preset: str) -> str:
    return Translator(Language.ENGLISH).text(f"preset.{preset}")


@pytest.mark.parametrize("preset", PROMISES)
def test_a_preset_holds_the_amounts_of_its_name(preset, workspace):
    workload = workspace.presets[preset].workload
    assert {field: getattr(workload, field) for field in PROMISES[preset]} == PROMISES[preset]


ONE_CARD = [name for name in NAMES if re.search(r"\bone card\b", english(name))]


@pytest.mark.parametrize("preset", ONE_CARD)
def test_what_is_for_one_card_is_ranked_on_one_card(preset, workspace):
    chosen = workspace.with_best_machine(workspace.presets[preset])
    assert chosen is not None
    assert workspace.machine(chosen.machine).gpus == 1


def test_there_are_presets_for_one_card():
    assert {"laptop-8b", "qlora-8b"} <= set(ONE_CARD)
