import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtTest import QTest

from gpuplanner import quantities
from gpuplanner.messages import msg
from gpuplanner.store.settings import LANGUAGE, MEMORY
from gpuplanner.ui.fields.choice_box import ChoiceBox
from gpuplanner.ui.fields.number_field import NumberField
from gpuplanner.ui.fields.text_field import CheckField, TextField
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.widgets.search_field import SearchField
from gpuplanner.ui.widgets.segmented import Option, Segmented
from gpuplanner.units import GIB


@pytest.fixture
def show(qtbot):
    """Shows a widget and gives it the keyboard."""

    def shown(widget):
        qtbot.addWidget(widget)
        widget.show()
        widget.setFocus()
        return widget

    return shown


@pytest.fixture
def users(appearance, show):
    return show(NumberField(appearance, msg("ui.term.concurrency"), quantities.count(1)))


def typed(field, text):
    field.box.edit.selectAll()
    QTest.keyClicks(field.box.edit, text)


def test_a_number_is_told_at_every_keystroke_that_makes_sense(users):
    told: list[object] = []
    users.changed.connect(told.append)
    typed(users, "2k")
    assert told == [2, 2000]
    assert users.value() == 2000
    users.box.edit.clearFocus()
    assert users.box.edit.text() == "2,000"
    assert told == [2, 2000]


def test_what_cannot_be_used_is_said_below_and_the_last_value_holds(users):
    users.set_value(64)
    typed(users, "6o")
    assert users.value() == 6
    assert users.problem is not None
    assert users.problem.id == "ui.field.unknown_suffix"
    users.box.edit.clearFocus()
    # What was typed stays, so that it can be mended.
    assert users.box.edit.text() == "6o"
    typed(users, "8")
    assert users.problem is None


def test_the_sentence_is_read_out_and_translated(appearance, users):
    typed(users, "x")
    assert users.box.edit.accessibleName() == "Concurrent requests"
    assert "not a number" in users.box.edit.accessibleDescription()
    appearance.choose(LANGUAGE, "zh_CN")
    assert users.box.edit.accessibleName() == "并发请求数"
    assert "不是数字" in users.box.edit.accessibleDescription()


def test_a_needed_number_says_so(users):
    users.set_value(3)
    typed(users, "4")
    QTest.keyClick(users.box.edit, Qt.Key.Key_Backspace)
    assert users.problem == msg("ui.field.needed")
    assert users.value() == 4


def test_an_optional_number_can_be_left_out(appearance, show):
    field = show(NumberField(appearance, "Budget", quantities.money(), empty=msg("ui.table.missing")))
    told: list[object] = []
    field.changed.connect(told.append)
    typed(field, "5")
    QTest.keyClick(field.box.edit, Qt.Key.Key_Backspace)
    assert told == [5, None]
    assert field.problem is None
    assert field.box.edit.placeholderText() == "Not known"


def test_setting_a_value_tells_nobody_and_leaves_typing_alone(users):
    told: list[object] = []
    users.changed.connect(told.append)
    typed(users, "2k")
    told.clear()
    users.set_value(2000)
    assert users.box.edit.text() == "2k"
    users.set_value(5)
    assert users.box.edit.text() == "5"
    assert told == []


def test_memory_is_shown_anew_when_the_convention_changes(appearance, show):
    field = show(NumberField(appearance, "Memory", quantities.memory()))
    field.set_value(80 * GIB)
    assert (field.box.edit.text(), field.box.suffix.text()) == ("80", "GiB")
    appearance.choose(MEMORY, "GB")
    assert (field.box.edit.text(), field.box.suffix.text()) == ("85.8993", "GB")
    assert field.value() == 80 * GIB


OPTIONS = [Option("a", msg("settings.theme.light")), Option("b", msg("settings.theme.dark")), Option("c", "C")]


def test_few_choices_stand_side_by_side_and_arrows_move(appearance, show):
    control = show(Segmented(appearance, OPTIONS, "a"))
    told: list[object] = []
    control.chosen.connect(told.append)
    QTest.keyClick(control.focusWidget(), Qt.Key.Key_Right)
    assert told == ["b"]
    assert control.current() == "b"
    QTest.keyClick(control.focusWidget(), Qt.Key.Key_Left)
    QTest.keyClick(control.focusWidget(), Qt.Key.Key_Left)
    assert told == ["b", "a"]
    control.choose("c")
    assert (control.current(), told) == ("c", ["b", "a"])


def test_one_tab_stop_for_all_segments(appearance, show):
    control = show(Segmented(appearance, OPTIONS, "b"))
    stops = [b for b in control._buttons.values() if b.focusPolicy() & Qt.FocusPolicy.TabFocus]
    assert [b.option.id for b in stops] == ["b"]


def test_many_choices_stand_in_a_box(appearance, show):
    box = show(ChoiceBox(appearance, [Option(str(n), f"Choice {n}") for n in range(8)]))
    told: list[object] = []
    box.chosen.connect(told.append)
    box.choose("3")
    assert box.current() == "3"
    QTest.keyClick(box, Qt.Key.Key_Down)
    assert told == ["4"]


def test_a_narrow_choice_left_open_says_what_that_amounts_to(appearance, show):
    box = show(ChoiceBox(appearance, [Option("", "Auto", "BF16"), Option("fp8", "FP8", "eight")]))
    metrics = QFontMetricsF(font(TextRole.BODY))
    room = metrics.horizontalAdvance("Auto") + metrics.horizontalAdvance("BF16") + 9
    assert box._shown(metrics, room) == ("Auto", "BF16", False)
    assert box._shown(metrics, room - 1) == ("BF16", "", True)
    box.choose("fp8")
    assert box._shown(metrics, 1) == ("FP8", "eight", False)


def test_a_choice_survives_other_options_and_another_language(appearance, show):
    box = show(ChoiceBox(appearance, OPTIONS))
    box.choose("b")
    appearance.choose(LANGUAGE, "zh_CN")
    assert box.currentText() == "深色"
    box.set_options([OPTIONS[1], Option("z", "Z")])
    assert box.current() == "b"
    box.set_options([Option("z", "Z")])
    assert box.current() == ""


def test_scrolling_past_a_box_does_not_change_it(appearance, show, qtbot):
    from PySide6.QtCore import QPoint, QPointF
    from PySide6.QtGui import QWheelEvent
    from PySide6.QtWidgets import QApplication

    box = show(ChoiceBox(appearance, OPTIONS))
    box.choose("b")
    wheel = QWheelEvent(
        QPointF(5, 5), QPointF(5, 5), QPoint(0, 0), QPoint(0, -120), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(box, wheel)
    assert box.current() == "b"


def test_words_and_ticks(appearance, show):
    name = show(TextField(appearance, "Name", empty=msg("ui.palette.hint")))
    told: list[object] = []
    name.changed.connect(told.append)
    QTest.keyClicks(name.box.edit, "ab")
    name.set_value("other")
    assert (told, name.value()) == (["a", "ab"], "other")
    tick = show(CheckField(appearance, msg("ui.help.marks")))
    tick.changed.connect(told.append)
    QTest.keyClick(tick.check, Qt.Key.Key_Space)
    tick.set_value(False)
    assert told[2:] == [True]
    assert tick.check.accessibleName() == "What the marks mean"


def test_escape_empties_a_search_first(appearance, show, qtbot):
    field = show(SearchField(appearance, msg("settings.search")))
    qtbot.waitExposed(field)
    told: list[object] = []
    field.searched.connect(told.append)
    QTest.keyClicks(field.edit, "ab")
    QTest.keyClick(field.edit, Qt.Key.Key_Escape)
    assert told == ["a", "ab", ""]
    assert field.edit.accessibleName() == "Search settings"
