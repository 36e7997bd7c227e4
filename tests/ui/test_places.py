"""The window with its real places over the real catalog, which no place can check alone, and the README's pictures."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from gpuplanner.store.settings import LANGUAGE, THEME
from gpuplanner.ui.application import places
from gpuplanner.ui.places import Location
from gpuplanner.workspace import Workspace
from tests.ui.checks import Flashes, clipped, has_chinese_face, missing_glyphs, nameless
from tests.ui.resting import rest
from tests.ui.screenshots import each_look, picture, settle

SHOWN = {"plan": "preset/chat-70b", "catalog": "gpu/nvidia-h100-sxm5-80gb", "machines": "sample"}
"""Where in a place there is most to see."""
PICTURES = (
    ("plan-light", "plan", "light", "en"),
    ("plan-light-zh", "plan", "light", "zh_CN"),
    ("catalog-dark", "catalog", "dark", "en"),
    ("machines-dark", "machines", "dark", "en"),
)
PLACES = [place.id for place in places()]


@pytest.fixture
def session(open_session, qtbot, tmp_path):
    workspace = Workspace(tmp_path / "home")
    session = open_session(places(), workspace, start=False)
    session.begin()
    rest(session, qtbot)
    yield session
    session.window.close()
    workspace.store.close()


def go(session, qtbot, place):
    session.window.go(Location(place, SHOWN.get(place, "")))
    rest(session, qtbot)
    settle()


def test_it_begins_with_the_plan(session):
    assert session.window.current_page() is session.window.page("plan")


@pytest.mark.parametrize("place", PLACES)
def test_every_place_reads_well_in_every_look(session, qtbot, place):
    if not has_chinese_face():
        pytest.skip("no font with Chinese is installed here")
    go(session, qtbot, place)
    for theme, language in each_look(session.appearance):
        rest(session, qtbot)
        assert clipped(session.window) == [], f"{theme} {language}"
        assert missing_glyphs(session.window) == [], f"{theme} {language}"
        assert nameless(session.window) == [], f"{theme} {language}"


@pytest.mark.parametrize("place", PLACES)
def test_nothing_flashes_while_a_place_is_shown(session, qtbot, qapp, place):
    flashes = Flashes(qapp)
    go(session, qtbot, place)
    for _ in each_look(session.appearance):
        rest(session, qtbot)
    assert flashes.stop() == []


@pytest.mark.parametrize("place", PLACES)
def test_f6_reaches_every_pane_of_a_place(session, qtbot, place):
    go(session, qtbot, place)
    page = session.window.current_page()
    reached = set()
    for _ in range(len(page.panes()) + 3):
        session.window._cycle_panes(1)
        focused = QApplication.focusWidget()
        reached |= {at for at, pane in enumerate(page.panes()) if pane is focused or pane.isAncestorOf(focused)}
    assert reached == {at for at, pane in enumerate(page.panes()) if pane.isVisible()}


@pytest.mark.screenshots
@pytest.mark.parametrize(("name", "place", "theme", "language"), [p for p in PICTURES if p[1] in PLACES])
def test_the_readme_shows_what_is_there(session, qtbot, screenshots_dir, name, place, theme, language):
    session.appearance.choose(THEME, theme)
    session.appearance.choose(LANGUAGE, language)
    go(session, qtbot, place)
    image = picture(session.window, 1.5)
    assert image.width() == 2160
    shown = image.scaledToWidth(1440, Qt.TransformationMode.SmoothTransformation)
    assert shown.save(str(screenshots_dir / f"{name}.png"))
