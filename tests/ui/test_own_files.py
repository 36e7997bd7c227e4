"""A price list that is dropped on the Catalog is checked, kept among the person's own files, and can be taken back."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gpuplanner.catalog.overlays import overlay_files
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.paths import shipped
from gpuplanner.ui.catalog_place.own_files import OwnFiles
from gpuplanner.ui.catalog_place.place import catalog_place
from gpuplanner.ui.notices import Notices
from gpuplanner.ui.own_folder import OVERLAYS
from gpuplanner.ui.places import Context

HEAD = "provider,name,gpu,gpu_count,price_per_hour,currency,region,price_date\n"
GOOD = "Acme,one,H100 SXM5 80GB,1,3,USD,eu,2026-09-01\n"
BAD = "Acme,two,H100 SXM5 80GB,1,cheap,USD,eu,2026-09-01\n"

GPU = """\
gpus:
  - name: Example 100
    vendor: Example
    memory_gb: 64
    memory_bandwidth_gb_per_s: 2000
    bf16_tflops: 400
    power_w: 500
"""


@dataclass
class Home:
    home: Path


@pytest.fixture
def told():
    return Notices()


@pytest.fixture
def drop(appearance, settings, jobs, told, tmp_path, qtbot) -> Any:
    """Drops a file of this name and content; gives what was told, by message id."""
    (tmp_path / "elsewhere").mkdir()

    def run(name, content):
        path = tmp_path / "elsewhere" / name
        path.write_text(content, "utf-8")
        context = Context(appearance, settings, jobs, told, lambda _wanted: None, Home(tmp_path / "home"))
        taken = OwnFiles(context).take([str(path)])
        qtbot.waitUntil(lambda: jobs.busy == 0, timeout=30_000)
        return taken, [notice.message.id for notice in told.kept]

    return run


def kept(tmp_path):
    return [path.name for path in overlay_files(tmp_path / "home" / OVERLAYS)]


def test_a_price_list_is_in_the_catalog_of_the_next_start_and_can_be_taken_back(drop, told, tmp_path):
    assert drop("acme.csv", HEAD + GOOD) == (True, ["catalogui.own.kept"])
    assert kept(tmp_path) == ["acme.csv"]
    catalog = load_catalog(shipped("catalogs"), overlay_files(tmp_path / "home" / OVERLAYS))
    assert any(instance.user and instance.provider == "Acme" for instance in catalog.instances.values())
    told.kept[-1].action.run()
    assert kept(tmp_path) == []


def test_what_is_wrong_with_it_is_told_and_what_is_right_is_kept(drop, told, tmp_path):
    _, says = drop("acme.csv", HEAD + GOOD + BAD)
    assert says[-1] == "catalogui.own.kept"
    assert len(says) == 2
    assert kept(tmp_path) == ["acme.csv"]


@pytest.mark.parametrize("content", ["", "a,b\n1,2\n", HEAD + BAD.replace("H100 SXM5 80GB", ""), "\0\0"])
def test_what_cannot_be_used_is_refused_and_not_kept(drop, tmp_path, content):
    taken, says = drop("acme.csv", content)
    assert taken
    assert len(says) == 1
    assert says != ["catalogui.own.kept"]
    assert kept(tmp_path) == []


def test_a_file_of_that_name_is_not_written_over(drop, tmp_path):
    drop("acme.csv", HEAD + GOOD)
    before = (tmp_path / "home" / OVERLAYS / "acme.csv").read_text("utf-8")
    _, says = drop("acme.csv", HEAD + GOOD.replace(",3,", ",4,"))
    assert says[-1] == "catalogui.own.there"
    assert (tmp_path / "home" / OVERLAYS / "acme.csv").read_text("utf-8") == before


def test_yaml_is_taken_where_it_has_entries(drop):
    assert drop("train.yaml", "model: llama\nbatch: 4\n") == (False, [])
    taken, says = drop("own.yaml", GPU)
    assert taken
    assert says[-1] == "catalogui.own.kept"


def test_other_files_are_left_to_others(drop, tmp_path):
    assert drop("picture.png", "x") == (False, [])
    takes = catalog_place().takes
    assert takes is not None
    assert takes("Prices.CSV")
    own, training = tmp_path / "own.yaml", tmp_path / "train.yaml"
    own.write_text("gpus:\n  - id: mine\n", encoding="utf-8")
    training.write_text("model_name_or_path: x\n", encoding="utf-8")
    assert takes(str(own))
    assert not takes(str(training))
