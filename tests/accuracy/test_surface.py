"""The difference between predictions that are kept and new ones, and that those that are kept are today's."""

import random

import pytest

from gpuplanner.workspace import Workspace
from tests.accuracy import surface
from tests.accuracy.surface import Change, changes, kept, numbers, plans, sampled, shown

SAMPLE = 60
ONE = ("chat-8b", "", "nvidia-l4", "1", "tpot_s")
OTHER = ("chat-8b", "", "nvidia-l4", "1", "fit")


def test_only_what_differs_is_a_change():
    before, after = {ONE: "0.02", OTHER: "fits"}, {ONE: "0.03", OTHER: "fits"}
    assert changes(before, after) == [Change(ONE, "0.02", "0.03")]
    assert changes(before, {ONE: "0.02000001", OTHER: "fits"}) == []


def test_a_number_that_became_a_word_is_a_change_without_a_ratio():
    (change,) = changes({OTHER: "fits"}, {OTHER: "does not fit"})
    assert change.log is None


def test_the_difference_says_how_many_how_much_and_which():
    text = "\n".join(shown(changes({ONE: "0.02", OTHER: "fits"}, {ONE: "0.03", OTHER: "tight"}), 2))
    assert text.startswith("2 of 2 predictions differ")
    assert "median +50.0%" in text
    assert "chat-8b  nvidia-l4 1 tpot_s: 0.02 → 0.03" in text


def test_what_is_kept_is_read_as_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(surface, "KEPT", tmp_path / "surface.csv")
    new = {ONE: "0.02", OTHER: "does not fit"}
    surface.keep(new)
    assert kept() == new


def test_what_is_kept_is_what_is_predicted_today(tmp_path):
    """On a sample that is another one each time; `make accuracy-diff` shows all that differs."""
    workspace = Workspace(tmp_path)
    all_plans, gpus, then = list(plans(workspace)), sampled(workspace), kept()
    differ = []
    for _ in range(SAMPLE):
        (name, model, plan), gpu = random.choice(all_plans), random.choice(gpus)
        count = random.choice(surface.COUNTS)
        now = {(name, model, gpu.id, str(count), k): v for k, v in numbers(workspace, plan, gpu.id, count).items()}
        before = {key: value for key, value in then.items() if key[:4] == (name, model, gpu.id, str(count))}
        differ += changes(before, now)
    if differ:
        pytest.fail("\n".join(("run `make accuracy-diff ARGS=--keep` and `make accuracy`", *shown(differ, SAMPLE))))
