"""Pop-ups: no black corners where nothing can be translucent, Escape closes them, and one row needs no scroll bar."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFrame, QWidget

from gpuplanner.messages import msg
from gpuplanner.ui.fields.choice_box import ChoiceBox
from gpuplanner.ui.plan_place.picker import Picker, PickItem
from gpuplanner.ui.widgets import popup
from gpuplanner.ui.widgets.segmented import Option

pytestmark = pytest.mark.qt_log_ignore("does not support grabbing the keyboard", extend=True)


@pytest.fixture
def owner(qtbot):
    widget = QWidget()
    qtbot.addWidget(widget)
    widget.resize(200, 40)
    widget.show()
    return widget


@pytest.mark.parametrize("round_", [True, False])
def test_corners_are_square_where_there_is_no_compositor(appearance, owner, monkeypatch, round_):
    monkeypatch.setattr(popup, "composited", lambda _application: round_)
    shown = popup.Popup(appearance, owner)
    assert shown.testAttribute(Qt.WidgetAttribute.WA_TranslucentBackground) is round_
    assert shown.frameShape() is QFrame.Shape.NoFrame
    shown.resize(120, 60)
    shown.show()
    image = shown.grab().toImage()
    if not round_:
        assert image.pixelColor(0, 0).lightness() > 180, "no black corner"
    inside = [image.pixelColor(at, 30) for at in range(1, 119)]
    assert set(map(QColor.name, inside)) == {QColor(appearance.tokens.card).name()}, "one frame, and nothing inside"
    QTest.keyClick(shown, Qt.Key.Key_Escape)
    assert not shown.isVisible()


@pytest.mark.parametrize("count", [1, 2, 9])
def test_a_few_rows_need_no_scroll_bar(appearance, owner, qtbot, count):
    items = [PickItem(str(at), f"Row {at}") for at in range(count)]
    picker = Picker(appearance, lambda _query: items, msg("ui.help.search"), msg("settings.nothing"), parent=owner)
    picker.open_below(owner, 300)
    QTest.qWait(20)
    assert picker._list.verticalScrollBar().maximum() == 0
    picker.close()
    box = ChoiceBox(appearance, [Option(item.id, item.title) for item in items], owner)
    box.resize(160, 32)
    box.show()
    box.showPopup()
    QTest.qWait(20)
    assert box.view().verticalScrollBar().maximum() == 0
    box.hidePopup()
