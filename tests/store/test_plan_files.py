"""`.gpuplan` files: what is written is read back; what is wrong is said in one sentence with its place."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.store.plan_files import read_plan, write_plan
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Constraints, MachineChoice, Plan
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Method, Training

GOOD: dict[str, Any] = {"format": "gpuplan/1", "workload": {"kind": "serving", "model": {"catalog_id": "m"}}}


@pytest.mark.parametrize(
    "workload",
    [
        Serving(model=ModelChoice(catalog_id="m"), concurrency=None, request_rate=2.5, tpot_goal_s=0.04),
        Training(model=ModelChoice(catalog_id="m"), method=Method.QLORA, tokens=1e12, deadline_s=86400.0 * 30),
    ],
)
def test_a_written_plan_reads_back_equal(tmp_path: Path, workload: Serving | Training) -> None:
    plan = Plan(
        name="计划 №1",
        workload=workload,
        constraints=Constraints(providers=("AWS",), budget_usd_per_month=20_000),
        machine=MachineChoice(gpu_id="g", gpus=8),
    )
    write_plan(tmp_path / "a.gpuplan", plan)
    assert read_plan(tmp_path / "a.gpuplan") == plan


@pytest.mark.parametrize(
    ("content", "message_id", "says"),
    [
        ("{", "plan.not_json", "line 1"),
        ("[" * 200_000, "plan.too_deep", "deeply"),
        ("[1]", "plan.not_a_plan", "gpuplan/1"),
        (" \n", "plan.empty", "is empty"),
        ('{"format": "gpuplan/9"}', "plan.newer_format", "gpuplan/9"),
        ('{"format": "gpuplan/1", "format": "gpuplan/1"}', "plan.field_twice", "format"),
        ('{"format": NaN}', "plan.not_a_number", "NaN"),
        ('{"format": ' + "9" * 10_000 + "}", "plan.number_too_long", "digits"),
        (json.dumps({"format": "gpuplan/1"}), "plan.bad_field", "workload is missing"),
    ],
)
def test_what_is_not_a_plan_is_said_in_one_sentence(tmp_path: Path, content: str, message_id: str, says: str) -> None:
    path = tmp_path / "bad.gpuplan"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        read_plan(path)
    assert caught.value.message.id == message_id
    text = Translator(Language.ENGLISH).text(caught.value.message)
    assert "bad.gpuplan" in text
    assert says in text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"input_tokens": 0}, "workload → input_tokens must be at least 1 (it is 0)"),
        (
            {"input_tokens": "many"},
            'workload → input_tokens must be a number of tokens, without unit or quotes (it is "many")',
        ),
        ({"concurency": 3}, "workload → concurency is not a field"),
        ({"server": "ollama"}, "workload → server must be one of"),
        ({"kind": "baking"}, "workload must be one of"),
        ({"model": {}}, "workload → model"),
        ({"tpot_goal_s": -1}, "workload → tpot_goal_s must be at least 0.000001"),
        ({"eager": "perhaps"}, "workload → eager must be true or false"),
    ],
)
def test_a_bad_field_is_named_with_what_it_may_be(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    path = tmp_path / "p.gpuplan"
    path.write_text(json.dumps(GOOD | {"workload": GOOD["workload"] | change}))
    with pytest.raises(InputError) as caught:
        read_plan(path)
    assert says in Translator(Language.ENGLISH).text(caught.value.message)
    assert "p.gpuplan" in Translator(Language.CHINESE).text(caught.value.message)


def test_files_that_cannot_be_plans_are_refused_before_they_are_read(tmp_path: Path) -> None:
    sparse = tmp_path / "huge.gpuplan"
    with sparse.open("wb") as file:
        file.truncate(5_000_000_000)
    (tmp_path / "latin.gpuplan").write_bytes(b'{"name": "caf\xe9"}')
    expected = {
        sparse: "plan.too_large",
        tmp_path: "plan.not_a_file",
        tmp_path / "none.gpuplan": "plan.no_such_file",
        tmp_path / "latin.gpuplan": "plan.not_utf8",
        Path("nul\0byte.gpuplan"): "plan.cannot_read",
        tmp_path / ("x" * 5000): "plan.cannot_read",
    }
    if sys.platform != "win32":
        os.mkfifo(tmp_path / "pipe.gpuplan")
        expected[tmp_path / "pipe.gpuplan"] = "plan.not_a_file"
    for path, message_id in expected.items():
        with pytest.raises(InputError) as caught:
            read_plan(path)
        assert caught.value.message.id == message_id, path


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.gpuplan"
    plan = Plan(workload=Serving(model=ModelChoice(catalog_id="m")))
    write_plan(path, plan)
    before = path.read_bytes()

    def no_space(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(InputError) as caught:
        write_plan(path, plan.model_copy(update={"name": "new"}))
    assert caught.value.message.id == "plan.cannot_write"
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(os.name != "posix", reason="links and devices as POSIX has them")
def test_a_link_stays_a_link_and_its_file_is_written(tmp_path: Path) -> None:
    plan = read_plan(_good(tmp_path))
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "kept.gpuplan"
    link = tmp_path / "link.gpuplan"
    link.symlink_to(target)
    for _ in range(2):
        write_plan(link, plan)
        assert link.is_symlink()
        assert read_plan(target) == plan
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.skipif(os.name != "posix", reason="links and devices as POSIX has them")
@pytest.mark.parametrize("kind", ["device", "link to a device", "pipe", "folder", "loop"])
def test_what_is_no_file_is_not_replaced(tmp_path: Path, kind: str) -> None:
    plan = read_plan(_good(tmp_path))
    place = tmp_path / "place"
    if kind == "device":
        place = Path(os.devnull)
    elif kind == "link to a device":
        place.symlink_to(os.devnull)
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to(place)
    before = place.lstat()
    with pytest.raises(InputError):
        write_plan(place, plan)
    assert (place.lstat().st_mode, place.lstat().st_ino) == (before.st_mode, before.st_ino)


def _good(folder: Path) -> Path:
    path = folder / "good.gpuplan"
    path.write_text(json.dumps(GOOD))
    return path
