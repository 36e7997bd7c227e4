"""The whole window in both themes, languages and densities, looked at as far as that goes without eyes."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QLineEdit, QTableView

from gpuplanner.messages import msg
from gpuplanner.store.settings import THEME
from gpuplanner.ui.places import Location
from gpuplanner.ui.tokens import DARK, LIGHT, Verdict
from tests.ui.checks import boxes_in, clipped, faces_of, has_chinese_face, missing_glyphs, nameless, tab_walk
from tests.ui.screenshots import each_look, picture, save_pictures

PLACES = ("gallery", "empty", "settings", "help", "help/diagnostics")


@pytest.fixture
def session(open_session, qtbot):
    session = open_session()
    session.begin()
    qtbot.waitUntil(lambda: session.jobs.busy == 0)
    return session


def colours(image):
    """How often each colour occurs, on a coarse grid."""
    points = ((x, y) for x in range(3, image.width(), 7) for y in range(3, image.height(), 7))
    counted: dict[str, int] = {}
    for x, y in points:
        name = image.pixelColor(x, y).name()
        counted[name] = counted.get(name, 0) + 1
    return counted


@pytest.mark.parametrize("place", PLACES)
def test_no_text_is_cut_and_none_is_a_box(session, place):
    if not has_chinese_face():
        pytest.skip("no font with Chinese is installed here")
    session.window.go(Location(*place.split("/")))
    for theme, language in each_look(session.appearance):
        assert clipped(session.window) == [], f"{theme} {language}"
        assert missing_glyphs(session.window) == [], f"{theme} {language}"


def test_nothing_is_cut_in_the_smallest_window(session):
    session.window.resize(session.window.minimumSize())
    for place in ("empty", "settings", "help", "help/diagnostics"):
        session.window.go(Location(*place.split("/")))
        for _ in each_look(session.appearance):
            assert clipped(session.window) == []


def test_chinese_is_drawn_with_a_simplified_face():
    if not has_chinese_face():
        pytest.skip("no font with Chinese is installed here")
    # Drawn by one of the faces that we name, never by what a system falls back on; under C that is Japanese.
    assert faces_of("显存 GB") <= {
        "Inter",
        "Noto Sans CJK SC",
        "Noto Sans SC",
        "Source Han Sans SC",
        "Microsoft YaHei UI",
    }
    assert "Inter" in faces_of("GPU memory 80 GB")
    assert boxes_in("a \U000f1234")


@pytest.mark.parametrize("place", PLACES)
def test_everything_that_takes_the_focus_has_a_name(session, place):
    session.window.go(Location(*place.split("/")))
    assert nameless(session.window) == []


@pytest.mark.parametrize("place", PLACES)
def test_tab_reaches_everything_and_comes_round(session, place):
    window = session.window
    window.go(Location(*place.split("/")))
    window.rail.focus_current()
    walked = tab_walk(window)
    assert QApplication.focusWidget() is walked[0]
    wanted = [
        widget
        for widget in window.findChildren(QAbstractButton)
        if widget.isVisible() and widget.isEnabled() and widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    ]
    assert [w.accessibleName() or w.text() for w in wanted if w not in walked] == []


def test_the_place_of_the_keyboard_is_seen(session):
    window = session.window
    window.rail.focus_current()
    for _ in range(12):
        focused = QApplication.focusWidget()
        assert focused is not None
        QTest.keyClick(focused, Qt.Key.Key_Tab)
        after = QApplication.focusWidget()
        assert after is not None
        with_ring = picture(after)
        after.clearFocus()
        without = picture(after)
        assert with_ring != without, after
        after.setFocus(Qt.FocusReason.TabFocusReason)


def test_a_click_leaves_no_ring(session):
    button = session.window.current_page().findChildren(type(session.window.top_bar.back))[0]
    before = picture(button)
    QTest.mouseClick(button, Qt.MouseButton.LeftButton, pos=button.rect().center())
    QTest.mouseMove(session.window.rail)
    QApplication.processEvents()
    assert not button.shows_focus
    assert before.size() == picture(button).size()


def test_the_shell_is_pictured_in_every_look(session, screenshots_dir):
    session.window.go(Location("settings"))
    written = save_pictures(session.window, session.appearance, screenshots_dir, "settings")
    assert len(written) == 8
    assert all(path.stat().st_size > 10_000 for path in written)


def test_each_theme_paints_in_its_own_colours(session):
    for theme, language in each_look(session.appearance):
        tokens, other = (DARK, LIGHT) if theme == "dark" else (LIGHT, DARK)
        seen = colours(picture(session.window))
        assert seen.get(tokens.card, 0) > 1000, f"{theme} {language}"
        assert seen.get(tokens.workspace, 0) > 100
        # Nothing of the other theme is left over. White is the light theme's card and may be text in the dark one.
        assert seen.get(other.workspace, 0) == 0
        assert seen.get(other.card, 0) < 20


def test_twice_the_density_is_the_same_picture(session):
    one, two = picture(session.window), picture(session.window, 2)
    assert two.size() == one.size() * 2
    small = two.scaled(one.size(), Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation)
    points = [(x, y) for x in range(5, one.width(), 31) for y in range(5, one.height(), 31)]
    off = sum(abs(one.pixelColor(x, y).lightness() - small.pixelColor(x, y).lightness()) > 60 for x, y in points)
    assert off < len(points) * 0.02


def test_hidden_widgets_follow_the_theme_too(session):
    check_palettes(session)


def test_hidden_widgets_follow_the_theme_with_fusion_too(fusion, session):
    check_palettes(session)


def check_palettes(session):
    for theme, _ in each_look(session.appearance):
        tokens = DARK if theme == "dark" else LIGHT
        # The rest paints itself with the tokens, or with what the style sheet says.
        for widget in (*session.window.findChildren(QLabel), *session.window.findChildren(QLineEdit)):
            shown, active = widget.palette(), QPalette.ColorGroup.Active
            assert shown.color(active, QPalette.ColorRole.WindowText).name() == tokens.text, widget
            assert shown.color(active, QPalette.ColorRole.Base).name() == tokens.field, widget


def test_fusion_looks_right_too(fusion, session):
    assert session.dresser.fallback
    for theme, language in each_look(session.appearance):
        tokens = DARK if theme == "dark" else LIGHT
        assert clipped(session.window) == [], f"{theme} {language}"
        seen = colours(picture(session.window))
        assert seen.get(tokens.card, 0) > 1000
        other = LIGHT if theme == "dark" else DARK
        assert seen.get(other.workspace, 0) == 0


def test_toasts_and_palette_fit_in_both_languages(session):
    session.notices.say(msg("settings.reset_layout.done"), Verdict.PASS)
    session.notices.say(msg("ui.paste.unknown"), Verdict.FAIL)
    for _ in each_look(session.appearance):
        session.window.toasts._place()
        QApplication.processEvents()
        assert clipped(session.window.toasts) == []
    session.window.palette_view.open("GPU")
    session.appearance.choose(THEME, "dark")
    assert clipped(session.window.palette_view) == []


def test_the_checks_find_what_they_are_for(appearance, qtbot):
    from gpuplanner.ui.widgets.label import Label

    label = Label(appearance, "A text that is far too long for this")
    qtbot.addWidget(label)
    label.resize(60, 20)
    label.show()
    assert len(clipped(label)) == 1
    label.resize(400, 20)
    assert clipped(label) == []
    label.say("box \U000f1234")
    assert len(missing_glyphs(label)) == 1
    table = QTableView()
    qtbot.addWidget(table)
    table.show()
    assert len(nameless(table)) == 1
    table.setAccessibleName("Results")
    assert nameless(table) == []
    wrapped = Label(appearance, "several words in several lines", wrap=True)
    qtbot.addWidget(wrapped)
    wrapped.resize(80, 16)
    wrapped.show()
    assert len(clipped(wrapped)) == 1
