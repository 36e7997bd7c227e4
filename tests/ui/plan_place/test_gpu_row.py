"""The row of a field that names one GPU of the catalog."""

from gpuplanner.ui.plan_place.pickers import limit_items
from gpuplanner.ui.plan_place.wizard.controls import make_row
from gpuplanner.ui.plan_place.wizard.fields import Control, fields_of
from gpuplanner.ui.plan_place.wizard.picked_rows import GpuRow

FIELD = next(field for field in fields_of("rendering") if field.name == "known_gpu")


def test_one_gpu_is_picked_and_stands_there_by_its_name(qtbot, appearance, shipped_catalog):
    assert FIELD.control is Control.GPU
    row = make_row(appearance, FIELD, lambda field, query: limit_items(field, shipped_catalog, query, appearance))
    assert isinstance(row, GpuRow)
    qtbot.addWidget(row)
    row.set_value("nvidia-rtx-4090")
    assert row._box.toolTip() == "GeForce RTX 4090"
    edited: list[str] = []
    row.edited.connect(edited.append)
    row._toggle("nvidia-l40s")
    assert edited == ["nvidia-l40s"]
    assert row._box.toolTip() == "L40S"


def test_all_gpus_of_the_catalog_are_offered(shipped_catalog, appearance):
    offered = {item.id for item in limit_items(FIELD, shipped_catalog, "", appearance)}
    assert offered == set(shipped_catalog.gpus)
    named = [item.id for item in limit_items(FIELD, shipped_catalog, "RTX 4090 D", appearance)]
    assert "nvidia-rtx-4090-d" in named
    assert "nvidia-l40s" not in named
