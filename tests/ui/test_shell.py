import dataclasses
import re
from functools import partial

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, QRect, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QGuiApplication, QScreen
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLineEdit, QMenu, QWidget

from gpuplanner.messages import msg
from gpuplanner.store.settings import CURRENCY, LANGUAGE, MEMORY, THEME
from gpuplanner.ui.notices import NoticeAction
from gpuplanner.ui.places import Heading, Location, Page, PageAction, Place, Segment
from gpuplanner.ui.shell.history import History
from gpuplanner.ui.shell.top_bar import TopBar
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.label import Label
from gpuplanner.ui.widgets.notice_box import NoticeBox

CONTROL, ALT, SHIFT = (
    Qt.KeyboardModifier.ControlModifier,
    Qt.KeyboardModifier.AltModifier,
    Qt.KeyboardModifier.ShiftModifier,
)


class Sheet(Page):
    """A page with two panes that remembers what was done to it."""

    made = 0

    def __init__(self, context):
        super().__init__()
        type(self).made += 1
        self.context = context
        self.here, self.view, self.open = "start", "a", False
        self.files, self.texts, self.ran, self.closed = [], [], [], False
        self.left, self.right = QLineEdit(), QLineEdit()
        layout = QHBoxLayout(self)
        layout.addWidget(self.left)
        layout.addWidget(self.right)

    def heading(self):
        return Heading(
            "My sheet",
            "saved",
            (Segment("a", msg("ui.help.title"), "3"), Segment("b", msg("settings.title"))),
            self.view,
            (PageAction("do", msg("ui.help.search"), lambda: self.ran.append("do"), shortcut="Ctrl+J"),),
        )

    def choose_segment(self, segment_id):
        self.view = segment_id
        self.headingChanged.emit()

    def path(self):
        return self.here

    def visit(self, path):
        self.here = path

    def walk(self, path):
        self.here = path
        self.moved.emit(path)

    def panes(self):
        return (self.left, self.right)

    def leave(self):
        was, self.open = self.open, False
        return was

    def dropped(self, paths):
        self.files += paths
        return all(path.endswith(".gpuplan") for path in paths)

    def pasted(self, text):
        self.texts.append(text)
        return text.startswith("{")

    def close_page(self):
        self.closed = True


class Other(Sheet):
    """Another class, so that each is counted by itself."""

    made = 0

    def dropped(self, paths):
        self.files += paths
        return True


@pytest.fixture
def session(open_session):
    Sheet.made = Other.made = 0
    return open_session(
        (
            Place("one", "database", msg("ui.help.glossary"), Sheet),
            Place("two", "scale", msg("ui.notices.title"), Other, takes=lambda name: name.endswith(".gguf")),
        )
    )


@pytest.fixture
def window(session):
    return session.window


def press(window, key, modifiers=Qt.KeyboardModifier.NoModifier):
    QTest.keyClick(QApplication.focusWidget() or window, key, modifiers)


# --- Back and forward -----------------------------------------------------------------------------------------------


def test_history_is_that_of_a_browser():
    history = History()
    assert history.back() is None
    for place in ("a", "b", "b", "c"):
        history.visit(Location(place))
    assert history.back() == Location("b")
    assert history.back() == Location("a")
    assert history.back() is None
    assert history.forward() == Location("b")
    history.visit(Location("d"))
    assert history.forward() is None
    assert history.back() == Location("b")


def test_history_does_not_grow_without_end():
    history = History()
    for number in range(1000):
        history.visit(Location("a", str(number)))
    steps = 0
    while history.back():
        steps += 1
    assert steps == 100


def test_pages_are_made_when_first_visited_and_once(window):
    assert (Sheet.made, Other.made) == (1, 0)
    for place in ("two", "one", "two"):
        window.go(Location(place))
    assert (Sheet.made, Other.made) == (1, 1)


def test_back_and_forward_go_through_places_and_what_is_in_them(window):
    page = window.current_page()
    page.walk("gpu/a100")
    window.go(Location("two", "x"))
    press(window, Qt.Key.Key_Left, ALT)
    assert (window.current_page(), page.here) == (page, "gpu/a100")
    press(window, Qt.Key.Key_Left, ALT)
    assert page.here == "start"
    assert not window.top_bar.back.isEnabled()
    press(window, Qt.Key.Key_Right, ALT)
    assert page.here == "gpu/a100"
    window.top_bar.forward.click()
    assert window.current_page().here == "x"


def test_an_unknown_place_changes_nothing(window):
    page = window.current_page()
    window.go(Location("nowhere"))
    assert window.current_page() is page


def test_the_last_place_is_shown_again(window, settings, open_session):
    window.go(Location("two"))
    again = open_session(
        (Place("one", "database", msg("ui.help.glossary"), Sheet), Place("two", "scale", msg("ui.back"), Other))
    )
    assert isinstance(again.window.current_page(), Other)


# --- Keyboard -------------------------------------------------------------------------------------------------------


def test_places_settings_and_help_have_keys(window):
    press(window, Qt.Key.Key_2, CONTROL)
    assert isinstance(window.current_page(), Other)
    press(window, Qt.Key.Key_Comma, CONTROL)
    assert window.current_page() is window.page("settings")
    press(window, Qt.Key.Key_F1)
    assert window.current_page() is window.page("help")
    press(window, Qt.Key.Key_1, CONTROL)
    assert isinstance(window.current_page(), Sheet)


def test_f6_goes_round_the_panes(window):
    page = window.current_page()
    page.left.setFocus()
    seen = []
    for _ in range(5):
        press(window, Qt.Key.Key_F6)
        focused = QApplication.focusWidget()
        parts = {
            "right": page.right,
            "left": page.left,
            "rail": window.rail,
            "top": window.top_bar,
            "status": window.status_bar,
        }
        seen.append(next(n for n, part in parts.items() if part is focused or part.isAncestorOf(focused)))
    assert seen == ["right", "status", "rail", "top", "left"]
    press(window, Qt.Key.Key_F6, SHIFT)
    focused = QApplication.focusWidget()
    assert window.top_bar.isAncestorOf(focused)


def test_escape_leaves_the_innermost(window, session):
    page = window.current_page()
    page.open = True
    session.notices.say(msg("ui.paste.unknown"), Verdict.FAIL)
    window.palette_view.open()
    press(window, Qt.Key.Key_Escape)
    assert not window.palette_view.isVisible()
    assert page.open
    press(window, Qt.Key.Key_Escape)
    assert not page.open
    assert window.toasts.count() == 1
    press(window, Qt.Key.Key_Escape)
    assert window.toasts.count() == 0
    window.rail.focus_current()
    press(window, Qt.Key.Key_Escape)
    assert page.left.hasFocus()


def test_the_actions_of_the_page_in_sight_have_their_keys(window):
    page = window.current_page()
    press(window, Qt.Key.Key_J, CONTROL)
    assert page.ran == ["do"]
    window.go(Location("settings"))
    press(window, Qt.Key.Key_J, CONTROL)
    assert page.ran == ["do"]
    window.go(Location("one"))
    press(window, Qt.Key.Key_J, CONTROL)
    assert page.ran == ["do", "do"]


def test_the_rail_is_walked_with_arrows(window):
    window.rail.focus_current()
    press(window, Qt.Key.Key_Down)
    press(window, Qt.Key.Key_Return)
    assert isinstance(window.current_page(), Other)


# --- Heading, status, notices ---------------------------------------------------------------------------------------


def test_the_top_bar_says_what_the_page_is(window, appearance):
    page = window.current_page()
    window.top_bar.segmentChosen.emit("b")
    assert page.view == "b"
    assert window.windowTitle() == "My sheet · gpuplanner"
    button = window.top_bar._buttons[0]
    assert button.text() == "Search the glossary"
    assert button.toolTip() == "Search the glossary (Ctrl+J)"
    button.click()
    assert page.ran == ["do"]


def test_a_button_keeps_the_focus_while_the_heading_changes(window):
    button = window.top_bar._buttons[0]
    button.setFocus()
    window.current_page().headingChanged.emit()
    assert window.top_bar._buttons[0] is button
    assert button.hasFocus()


def test_a_heading_that_says_the_same_is_not_shown_again(window, monkeypatch):
    """A page says that it changed with every entry that a person walks over."""
    page = window.current_page()
    shown: list[object] = []
    same = page.heading()
    page.heading = lambda: same
    page.headingChanged.emit()
    monkeypatch.setattr(window.top_bar, "show_heading", shown.append)
    page.headingChanged.emit()
    assert shown == []
    other = dataclasses.replace(same, note="changed")
    page.heading = lambda: other
    page.headingChanged.emit()
    assert shown == [other]
    window.top_bar.segmentChosen.emit("b")
    assert shown == [other, other], "a click is answered, whatever the page makes of it"


def test_the_status_bar_says_what_the_catalog_holds(session, window, qtbot):
    session.begin()
    assert window.status_bar._catalog.text() == "Reading the catalog…"
    qtbot.waitUntil(lambda: "151" in window.status_bar._catalog.text())
    assert window.status_bar._catalog.text() == "Catalog 2026-11-30 · 151 GPUs · 546 instances · 155 models"
    assert session.appearance.rates().keys() == {"CNY", "EUR"}


def test_the_status_bar_changes_what_it_says(session, window, qtbot):
    session.begin()
    qtbot.waitUntil(lambda: bool(session.appearance.rates()))
    bar = window.status_bar

    def pick(button, text):
        button.click()
        menu = button.findChildren(QMenu)[-1]
        next(a for a in menu.actions() if a.text().startswith(text)).trigger()
        menu.close()

    pick(bar.memory, "GB")
    assert session.appearance.chosen(MEMORY) == "GB"
    assert bar.memory.text() == "GB"
    pick(bar.currency, "CNY")
    assert session.appearance.chosen(CURRENCY) == "CNY"
    assert bar.currency.text() == "CNY"
    pick(bar.language, "简体中文")
    assert session.appearance.chosen(LANGUAGE) == "zh_CN"
    assert bar.language.text() == "简体中文"
    assert window.rail._items["settings"].text() == "设置"


def test_notices_are_shown_kept_and_acted_on(session, window, qtbot):
    ran = []
    undo = NoticeAction(msg("ui.back"), lambda: ran.append("undo"))
    session.notices.say(msg("settings.reset_all.done"), Verdict.PASS, undo)
    session.notices.say(msg("ui.paste.unknown"), Verdict.FAIL)
    assert window.toasts.count() == 2
    assert window.status_bar.notices.text() == "2"
    box = window.toasts._boxes[0]
    next(b for b in box.findChildren(type(window.top_bar.back)) if b.text() == "Back").click()
    assert ran == ["undo"]
    assert window.toasts.count() == 1
    window.status_bar.notices.click()
    page = window.current_page()
    assert page is window.page("help")
    assert page.path() == "notices"
    assert len(page.notices.boxes) == 2
    session.notices.clear()
    assert not window.status_bar.notices.isVisible()
    assert page.notices._none.isVisible()


def test_no_more_than_three_toasts_at_once(session, window):
    for number in range(9):
        session.notices.say(msg("ui.open.unknown", name=str(number)), Verdict.WARN)
    assert window.toasts.count() == 3
    assert len(session.notices.kept) == 9
    inside = window.rect()
    assert inside.contains(window.toasts.geometry())


def test_what_is_said_again_is_there_once_and_the_list_takes_the_place_of_toasts(session, window):
    for _ in range(3):
        session.notices.say(msg("ui.paste.unknown"), Verdict.FAIL)
    assert window.toasts.count() == 1
    assert len(session.notices.kept) == 3
    box = window.toasts._boxes[0]
    QApplication.processEvents()
    assert box.height() == box.heightForWidth(box.width()), "no empty line below the sentence"
    window.go(Location("help", "notices"))
    assert window.toasts.count() == 0


def test_a_toast_goes_by_itself_unless_it_tells_of_a_failure(session, window, qtbot, monkeypatch):
    monkeypatch.setattr("gpuplanner.ui.shell.toasts.SHOWN_MS", 30)
    session.notices.say(msg("settings.reset_all.done"), Verdict.PASS)
    session.notices.say(msg("ui.paste.unknown"), Verdict.FAIL)
    qtbot.waitUntil(lambda: window.toasts.count() == 1)
    assert window.toasts._boxes[0].accessibleName().startswith("What is in the clipboard")


def test_a_broken_file_of_the_catalog_is_told(session, window, qtbot):
    from types import SimpleNamespace

    session._workspace.catalog.problems = (SimpleNamespace(message=msg("ui.paste.unknown")),)
    session.begin()
    qtbot.waitUntil(lambda: bool(session.notices.kept))
    assert session.notices.kept[0].verdict is Verdict.WARN
    assert window.toasts.count() == 0, "the Catalog says it above its tables"


def test_a_measurement_that_cannot_be_used_is_told(session, qtbot):
    session._workspace.read_own_measurements = lambda: (msg("ui.paste.unknown"),)
    session.begin()
    qtbot.waitUntil(lambda: bool(session.notices.kept))
    assert [notice.verdict for notice in session.notices.kept] == [Verdict.WARN]


# --- Files ----------------------------------------------------------------------------------------------------------


def drop(window, *paths):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(path) for path in paths])
    event = QDropEvent(
        QPointF(5, 5), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    window.dropEvent(event)


def test_files_go_to_the_page_in_sight_or_to_the_place_that_takes_them(window, session, qtbot):
    page = window.current_page()
    drop(window, "/data/a.gpuplan")
    qtbot.waitUntil(lambda: bool(page.files))
    drop(window, "/data/b.gguf")
    qtbot.waitUntil(lambda: isinstance(window.current_page(), Other))
    assert window.current_page().files == ["/data/b.gguf"]


def test_a_file_that_nobody_takes_is_told_by_its_name(window, session):
    assert not window.open_files(["/data/holiday.jpg"])
    said = session.appearance.text(session.notices.kept[-1].message)
    assert "holiday.jpg" in said
    assert "/data" not in said


def test_pasting_outside_of_fields_reaches_the_page(window, session):
    page = window.current_page()
    window.rail.focus_current()
    QGuiApplication.clipboard().setText('{"a": 1}')
    press(window, Qt.Key.Key_V, CONTROL)
    assert page.texts == ['{"a": 1}']
    QGuiApplication.clipboard().setText("hello")
    press(window, Qt.Key.Key_V, CONTROL)
    assert session.notices.kept[-1].message == msg("ui.paste.unknown")


def test_pasting_into_a_field_stays_there(window):
    page = window.current_page()
    page.left.setFocus()
    QGuiApplication.clipboard().setText("words")
    press(window, Qt.Key.Key_V, CONTROL)
    assert page.left.text() == "words"
    assert page.texts == []


# --- Shape ----------------------------------------------------------------------------------------------------------


def test_geometry_is_kept_and_restored(window, settings, open_session):
    window.resize(1111, 777)
    window.close()
    assert settings.kept("window.geometry")[2:4] == [1111, 777]
    again = open_session()
    again.window.kept_geometry.restore()
    screen = QGuiApplication.primaryScreen().availableGeometry()
    assert again.window.width() == max(900, min(1111, screen.width()))
    assert again.window.height() == max(560, min(777, screen.height()))


@pytest.mark.parametrize(
    "kept",
    [
        None,
        "x",
        [1],
        [0, 0, 10, 10, 0],
        [9999999, 9999999, 1200, 700, 1, 20, 0],
        [-500, -300, 1200, 700, 1, 20, 0],
        ["a"] * 7,
    ],
)
def test_a_window_is_never_lost(session, settings, kept):
    settings.keep("window.geometry", kept)
    session.window.kept_geometry.restore()
    assert session.window.width() >= 900
    centre = session.window.geometry().topLeft() + QPoint(40, 20)
    assert any(s.geometry().contains(centre) for s in QGuiApplication.screens())


def test_the_frame_of_the_system_does_not_move_the_window_at_each_start(window, settings, monkeypatch):
    framed = QRect(120, 80, 1000, 640)
    monkeypatch.setattr(window, "frameGeometry", lambda: framed.adjusted(-1, -20, 1, 5))
    monkeypatch.setattr(window, "geometry", lambda: framed)
    moves = []
    monkeypatch.setattr(window, "move", lambda x, y: moves.append((x, y)))
    monkeypatch.setattr(QScreen, "availableGeometry", lambda _self: QRect(0, 0, 1600, 1000))
    for _start in range(3):
        window.kept_geometry.save()
        window.kept_geometry.restore()
    assert moves == [(119, 60)] * 3, "where the frame was, and there the frame comes again"


def test_what_is_dragged_over_the_window_can_be_dropped(window, tmp_path):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "a.gpuplan"))])
    args = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
    enter = QDragEnterEvent(QPoint(50, 50), *args)
    window.dragEnterEvent(enter)
    assert enter.isAccepted()
    assert window.drop_veil.isVisible()
    assert window.drop_veil.geometry() == window.rect()
    window.dragLeaveEvent(QDragLeaveEvent())
    assert not window.drop_veil.isVisible()
    window.dragEnterEvent(QDragEnterEvent(QPoint(50, 50), *args))
    window.dropEvent(QDropEvent(QPointF(50, 50), *args))
    assert not window.drop_veil.isVisible()
    nothing = QMimeData()
    nothing.setText("words")
    window.dragEnterEvent(QDragEnterEvent(QPoint(5, 5), args[0], nothing, *args[2:]))
    assert not window.drop_veil.isVisible()


def test_closing_tells_every_page(window):
    page = window.current_page()
    window.close()
    assert page.closed


def test_switching_the_theme_repaints_everything(session, window):
    before = window.grab().toImage().pixelColor(window.width() - 30, 300).name()
    session.appearance.choose(THEME, "dark")
    after = window.grab().toImage().pixelColor(window.width() - 30, 300).name()
    assert (before, after) == ("#f3f4f6", "#15171c")


def test_a_splitter_is_kept(settings, qtbot, appearance):
    from gpuplanner.ui.widgets.splitter import Splitter

    def make():
        splitter = Splitter(settings, "test", [QWidget(), QWidget()], [300, 500], grows=1)
        qtbot.addWidget(splitter)
        splitter.resize(814, 100)
        splitter.show()
        return splitter

    first = make()
    assert first.sizes() == [300, 500]
    first.setSizes([400, 400])
    first.splitterMoved.emit(400, 1)
    qtbot.waitUntil(lambda: "window.splitter.test" in settings.values)
    assert make().sizes() == [400, 400]
    settings.keep("window.splitter.test", ["wide", -1])
    assert make().sizes() == [300, 500]


def test_going_somewhere_closes_the_palette(window):
    window.palette_view.open()
    press(window, Qt.Key.Key_2, CONTROL)
    assert not window.palette_view.isVisible()
    assert isinstance(window.current_page(), Other)
    window.palette_view.open()
    press(window, Qt.Key.Key_F6)
    assert window.palette_view.isVisible()


def test_keys_of_a_page_do_not_take_those_of_the_window(window):
    page = window.current_page()
    page.heading = lambda: Heading(
        "x", actions=(PageAction("open", msg("ui.open.title"), lambda: page.ran.append("page"), shortcut="Ctrl+K"),)
    )
    page.headingChanged.emit()
    press(window, Qt.Key.Key_K, CONTROL)
    assert window.palette_view.isVisible()
    assert page.ran == []


class _Busy(Page):
    """A page with more actions than a narrow bar has room for."""

    def __init__(self, context):
        super().__init__()
        self.ran = []

    def heading(self):
        ids = ("catalog", "export", "columns", "clear")
        names = ("ui.help.title", "settings.title", "ui.palette.results", "ui.back")
        return Heading(
            msg("settings.title"),
            "3 of at most 6",
            actions=tuple(
                PageAction(at, msg(name), partial(self.ran.append, at)) for at, name in zip(ids, names, strict=True)
            ),
        )


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("width", [900, 700, 560, 430])
def test_a_narrow_bar_keeps_its_title_and_every_action(appearance, qtbot, language, width):
    appearance.choose(LANGUAGE, language)
    bar = TopBar(appearance)
    qtbot.addWidget(bar)
    page = _Busy(None)
    qtbot.addWidget(page)
    bar.resize(width, bar.height())
    bar.show()
    bar.show_heading(page.heading())
    QTest.qWait(20)
    assert bar._title.width() >= bar._title.sizeHint().width()
    seen = [button for button in bar._buttons if button.isVisible()]
    assert all(button.geometry().right() <= bar.width() for button in seen)
    for button in seen:
        button.click()
    if not bar.more.isHidden():
        assert bar.more.geometry().right() <= bar.width()
        bar.more.click()
        menu = bar.findChild(QMenu)
        assert menu is not None
        for action in menu.actions():
            action.trigger()
        menu.close()
    assert page.ran == ["catalog", "export", "columns", "clear"]


def test_what_is_dropped_and_is_no_file_gets_an_answer(window, session):
    data = QMimeData()
    data.setUrls([QUrl("https://example.org/config.json")])
    event = QDropEvent(
        QPointF(5, 5), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    window.dropEvent(event)
    assert [notice.message.id for notice in session.notices.kept] == ["ui.drop.no_file"]


def test_a_name_that_no_line_holds_is_broken_inside_its_toast(window, session, qtbot):
    session.notices.say(msg("ui.open.unknown", name="x" * 250), Verdict.WARN)
    box = window.toasts.findChild(NoticeBox)
    label = box.findChild(Label)
    assert label.text().replace("\u200b", "") == session.appearance.text(msg("ui.open.unknown", name="x" * 250))
    widest = max(label.fontMetrics().horizontalAdvance(part) for part in re.split(r"[\s\u200b]", label.text()))
    assert widest <= label.width()
