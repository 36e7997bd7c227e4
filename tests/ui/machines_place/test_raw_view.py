"""Raw output: a line is brought into sight from its beginning, a search finds it, and no more than fits is loaded."""

import pytest

from gpuplanner.probe.output import Output
from gpuplanner.ui.machines_place.raw_view import MOST_LINES, RawView

LONG = "x" * 400


@pytest.fixture
def view(appearance, qtbot):
    made = RawView(appearance)
    qtbot.addWidget(made)
    made.resize(500, 300)
    made.show()
    text = "\n".join([*(f"line {number} {LONG}" for number in range(1, 90)), "\t\tneedle " + LONG, *"abc"])
    made.show_outputs([Output.of(text, "long"), Output.of("one\ntwo\n", "short")], may_run=False)
    return made


def test_a_line_that_is_gone_to_is_marked_and_seen_from_its_beginning(view):
    view.go("long", 80)
    assert view.text.textCursor().selectedText().startswith("line 80 x")
    assert view.text.horizontalScrollBar().value() == 0
    assert view.text.horizontalScrollBar().maximum() > 0
    top = view.text.firstVisibleBlock().blockNumber() + 1
    assert top < 80 < top + 30


def test_a_search_goes_to_the_line_and_round_again(view):
    view.search.edit.setText("NEEDLE")
    assert view._at == 90
    view.search.edit.setText("line 8")
    assert view._at == 8
    view.search.edit.returnPressed.emit()
    assert view._at == 80
    view.search.edit.setText("nowhere at all")
    assert view.note.text() == view._appearance.text("machinesui.raw.not_found")


def test_of_a_flood_a_part_is_loaded_with_what_stands_before(view):
    flood = Output.of("\n".join(str(number) for number in range(1, 3 * MOST_LINES)), "flood")
    view.show_outputs([flood], may_run=True)
    view.go("flood", 2 * MOST_LINES)
    assert view.text.blockCount() <= MOST_LINES
    assert view.text.textCursor().selectedText() == str(2 * MOST_LINES)
    view.search.edit.setText("17")
    assert view.text.textCursor().selectedText() == "17"
