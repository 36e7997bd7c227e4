"""Language and theme switched live leave nothing behind: the window is then as one that was opened that way."""

import re
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel, QWidget

from gpuplanner.store.settings import LANGUAGE, MEMORY, THEME
from gpuplanner.ui.application import places
from gpuplanner.ui.pins import Pin, PinKind, Pins
from gpuplanner.ui.places import Location
from gpuplanner.workspace import Workspace
from tests.ui.catalog_workspaces import A100, H100
from tests.ui.checks import has_chinese_face, texts, visible
from tests.ui.resting import rest
from tests.ui.screenshots import picture, settle

VIEWS = (
    ("catalog", f"gpu/{H100}"),
    ("catalog", "instance/aws/p4d.24xlarge"),
    ("catalog", "model/Qwen/Qwen3-32B"),
    ("plan", "preset/chat-70b"),
    ("compare", ""),
    ("settings", ""),
    ("help", "guide"),
    ("help", "glossary"),
    ("help", "diagnostics"),
)
ENGLISH, CHINESE = ("en", "light"), ("zh_CN", "dark")
MAY_DIFFER = 0.001
"""The share of pixels that may be others: a text that is laid out a pixel further."""
SEGMENTS = 0.005
"""The same where switches stand, which share their width as they are and not as they were."""


@pytest.fixture
def opened(open_session, qtbot, tmp_path, settings):
    """A window over the real catalog, in the look of the settings, with two GPUs to compare."""
    made: list[Any] = []

    def make(language, theme):
        settings.values.clear()
        settings.values.update({"language": language, "theme": theme})
        for gpu in (A100, H100):
            Pins(settings).add(Pin(PinKind.GPU, gpu))
        workspace = Workspace(tmp_path / f"home{len(made)}")
        session = open_session(places(), workspace, start=False)
        session.begin()
        made.append((session, workspace))
        rest(session, qtbot)
        settle()
        return session

    yield make
    for session, workspace in made:
        session.window.close()
        workspace.store.close()


def said(window: QWidget) -> set[str]:
    """Everything that can be read or heard: texts, names for screen readers, tooltips, the titles of windows."""
    found = [f"title: {window.windowTitle()}"]
    found += [f"{type(widget).__name__}: {text}" for widget, text in texts(window) if text]
    for widget in visible(window):
        heard = (widget.accessibleName(), widget.accessibleDescription(), widget.toolTip())
        found += [f"{type(widget).__name__}: {text}" for text in heard if text]
    return set(found)


def differing(one: QImage, other: QImage) -> float:
    """The share of pixels that are not the same."""
    assert one.size() == other.size()
    pixels = [np.frombuffer(image.constBits(), np.uint32) for image in (one, other)]
    return float(np.mean(pixels[0] != pixels[1]))


@pytest.mark.parametrize(("before", "after"), [(ENGLISH, CHINESE), (CHINESE, ENGLISH)])
def test_a_switched_window_is_as_one_opened_that_way(opened, qtbot, before, after):
    if not has_chinese_face():
        pytest.skip("no font with Chinese is installed here")
    session = opened(*before)
    seen: dict[tuple[str, str], tuple[set[str], QImage]] = {}
    # Every page is made, and stands behind, before the look is switched.
    visit_all(session, qtbot)
    session.appearance.choose(LANGUAGE, after[0])
    session.appearance.choose(THEME, after[1])
    session.appearance.choose(MEMORY, "GB")
    for view in VIEWS:
        seen[view] = look_at(session, qtbot, view)
    session.window.close()
    fresh = opened(*after)
    fresh.appearance.choose(MEMORY, "GB")
    visit_all(fresh, qtbot)
    for view in VIEWS:
        texts_fresh, picture_fresh = look_at(fresh, qtbot, view)
        texts_switched, picture_switched = seen[view]
        texts_fresh, texts_switched = (
            {re.sub(r"home\d+", "home", text) for text in some} for some in (texts_fresh, texts_switched)
        )
        assert texts_switched - texts_fresh == set(), view
        if view[0] != "plan":
            # The results of a plan take the room that its texts leave, so that another number of cards is in sight.
            assert texts_fresh == texts_switched, view
            assert differing(picture_switched, picture_fresh) <= (SEGMENTS if view[0] == "settings" else MAY_DIFFER), (
                view
            )


def visit_all(session, qtbot):
    for place, path in VIEWS:
        session.window.go(Location(place, path))
        rest(session, qtbot)
        settle()


def look_at(session, qtbot, view):
    session.window.go(Location(*view))
    rest(session, qtbot)
    settle()
    # How long the search took is never the same.
    session.window.status_bar.show_job(None)
    settle()
    return said(session.window), picture(session.window)


def test_the_comparison_of_pictures_and_texts_sees_a_difference(appearance, qtbot):
    label = QLabel("before")
    qtbot.addWidget(label)
    label.resize(90, 30)
    label.show()
    texts_before, picture_before = said(label), picture(label)
    assert differing(picture_before, picture(label)) == 0
    label.setText("after")
    label.setAlignment(Qt.AlignmentFlag.AlignRight)
    assert said(label) != texts_before
    assert differing(picture_before, picture(label)) > MAY_DIFFER
