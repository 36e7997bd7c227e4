"""What the pickers of the Plan place offer, and in which order."""

import pytest
from PySide6.QtWidgets import QPushButton, QWidget

from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.messages import msg
from gpuplanner.ui.plan_place.picker import Picker
from gpuplanner.ui.plan_place.pickers import limit_items, model_items
from gpuplanner.ui.plan_place.wizard.fields import limit_fields
from gpuplanner.units import GIB


@pytest.mark.parametrize("query", ["", "qwen3"])
def test_the_model_picker_sorts_sizes_as_numbers(shipped_catalog, appearance, workspace, query):
    models = [model for model in shipped_catalog.models.values() if model.id.startswith("Qwen/Qwen3-")]
    titles = [item.title for item in model_items(models, query, appearance, "", workspace.resolve)]
    wanted = ["Qwen3-0.6B", "Qwen3-1.7B", "Qwen3-4B", "Qwen3-8B", "Qwen3-14B", "Qwen3-32B"]
    assert [title for title in titles if title in wanted] == wanted


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Qwen/Qwen2.5-32B-Instruct", ["Qwen/Qwen2.5-32B"]),
        ("meta-llama/Llama-3.1-70B-Instruct", ["meta-llama/Meta-Llama-3.1-70B"]),
        ("no such model", []),
    ],
)
def test_a_model_is_found_by_the_name_under_which_it_is_published(shipped_catalog, appearance, workspace, query, found):
    models = list(shipped_catalog.models.values())
    assert [item.id for item in model_items(models, query, appearance, "", workspace.resolve)] == found


def test_gpus_say_their_memory_and_are_found_by_it(shipped_catalog, appearance):
    field = next(field for field in limit_fields() if field.name == "gpus")
    for query in ("24GB", "24 gb", "24GiB"):
        found = limit_items(field, shipped_catalog, query, appearance)
        assert "nvidia-rtx-4090" in {item.id for item in found}
        assert "nvidia-h100-sxm5-80gb" not in {item.id for item in found}
        sizes = {shipped_catalog.gpus[item.id].value(GpuProperty.MEMORY_BYTES) for item in found}
        assert all(round(size / GIB) == 24 or round(size / 1e9) == 24 for size in sizes)
    assert not {"nvidia-rtx-4090"} & {i.id for i in limit_items(field, shipped_catalog, "4GB", appearance)}
    every = limit_items(field, shipped_catalog, "", appearance)
    h100 = next(item for item in every if item.id == "nvidia-h100-sxm5-80gb")
    assert h100.detail.startswith("80")
    assert {i.id for i in limit_items(field, shipped_catalog, "h100 80GB", appearance)} <= {i.id for i in every}


@pytest.mark.qt_log_ignore("does not support grabbing the keyboard", extend=True)
def test_a_picker_stays_within_its_window(qtbot, appearance):
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(640, 400)
    owner = QPushButton("Change", window)
    owner.move(560, 40)
    window.show()
    qtbot.waitExposed(window)
    picker = Picker(appearance, lambda _query: (), msg("planui.search"), msg("planui.nothing_found"), parent=owner)
    picker.open_below(owner, 420)
    assert picker.width() == 420
    assert window.frameGeometry().left() <= picker.x()
    assert picker.geometry().right() <= window.frameGeometry().right()
    picker.close()
