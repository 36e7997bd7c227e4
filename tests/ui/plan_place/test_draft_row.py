"""The row of the model that drafts: one of the catalog, small ones first, or none."""

from gpuplanner.ui.plan_place.pickers import limit_items
from gpuplanner.ui.plan_place.wizard.controls import make_row
from gpuplanner.ui.plan_place.wizard.fields import Control, fields_of
from gpuplanner.ui.plan_place.wizard.picked_rows import DraftRow

FIELD = next(field for field in fields_of("serving") if field.name == "draft_model")
SMALL = "meta-llama/Llama-3.2-1B"


def test_a_model_that_drafts_is_picked_and_stands_there_by_its_name(qtbot, appearance, shipped_catalog):
    assert FIELD.control is Control.DRAFT
    row = make_row(appearance, FIELD, lambda field, query: limit_items(field, shipped_catalog, query, appearance))
    assert isinstance(row, DraftRow)
    qtbot.addWidget(row)
    assert row._box.text() == appearance.text("planui.not_chosen")
    row.set_value(SMALL)
    assert row._box.text() == shipped_catalog.models[SMALL].name
    edited: list[str] = []
    row.edited.connect(edited.append)
    row._toggle("meta-llama/Llama-3.2-3B")
    assert edited == ["meta-llama/Llama-3.2-3B"]
    row.set_value(None)
    assert row._box.text() == appearance.text("planui.not_chosen")


def test_small_models_are_offered_first(shipped_catalog, appearance):
    offered = limit_items(FIELD, shipped_catalog, "", appearance)
    sizes = [shipped_catalog.models[item.id].parameters.value for item in offered]
    assert sizes == sorted(sizes)
    assert SMALL in {item.id for item in offered}
    assert {shipped_catalog.models[item.id].kind for item in offered} <= {
        "decoder",
        "encoder",
        "encoder-decoder",
        "vision-language",
    }
    assert all("llama" in item.title.lower() for item in limit_items(FIELD, shipped_catalog, "Llama 3.2", appearance))
