"""A person's measurements on the disk: kept whole, read back as they were, what is broken passed over and said."""

import json

import pytest

from gpuplanner.engine.own_measurements import OwnMeasurement
from gpuplanner.messages import InputError
from gpuplanner.store.own_measurements import FOLDER, keep_own, new_id, read_own, remove_own
from gpuplanner.workspace import Workspace


@pytest.fixture
def measurement(tmp_path):
    plan = Workspace(tmp_path).presets["chat-8b"]
    return OwnMeasurement("0123abcd", "bench.json", "2026-05-01", plan, "1 x 1 gpu single", {"tpot_s": 0.01})


def test_what_is_kept_is_read_back(tmp_path, measurement):
    keep_own(tmp_path, measurement)
    assert read_own(tmp_path) == ((measurement,), ())


def test_nothing_is_kept_at_first_and_again_after_removal(tmp_path, measurement):
    assert read_own(tmp_path) == ((), ())
    keep_own(tmp_path, measurement)
    remove_own(tmp_path, measurement.id)
    assert read_own(tmp_path) == ((), ())


@pytest.mark.parametrize("given", ["0123abcd", "../settings", "", "x" * 5000])
def test_what_is_not_kept_cannot_be_removed(tmp_path, given):
    with pytest.raises(InputError):
        remove_own(tmp_path, given)


@pytest.mark.parametrize("content", ["", "{}", "[]", "null", '{"format": "other"}', "{" * 9000, "\xff"])
def test_a_broken_file_is_passed_over_and_said(tmp_path, measurement, content):
    keep_own(tmp_path, measurement)
    (tmp_path / FOLDER / "deadbeef.json").write_text(content, encoding="latin-1")
    found, wrong = read_own(tmp_path)
    assert found == (measurement,)
    assert [message.values["file"] for message in wrong] == ["deadbeef.json"]


@pytest.mark.parametrize(
    "changed",
    [
        {"measured": ["tpot_s"]},
        {"measured": {"tpot_s": 10**400}},
        {"measured": {"tpot_s": 0.0}},
        {"name": "\ud83d"},
        {"used": "yes"},
        {"plan": {}},
    ],
)
def test_a_file_with_a_damaged_field_is_passed_over_and_said(tmp_path, measurement, changed):
    keep_own(tmp_path, measurement)
    path = tmp_path / FOLDER / f"{measurement.id}.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changed}), encoding="utf-8")
    found, wrong = read_own(tmp_path)
    assert found == ()
    assert [message.values["file"] for message in wrong] == [path.name]


def test_the_same_content_has_the_same_id(measurement):
    same = new_id("a", measurement.plan, {"tpot_s": 1.0, "ttft_s": 2.0})
    assert same == new_id("a", measurement.plan, {"ttft_s": 2.0, "tpot_s": 1.0})
    assert same != new_id("b", measurement.plan, {"tpot_s": 1.0, "ttft_s": 2.0})
