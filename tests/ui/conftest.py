"""What every test of the window gets: the shipped fonts, a style, and a maker of windows that are closed again."""

import gc
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gpuplanner.messages import Language
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.application import Session
from gpuplanner.ui.background import Jobs
from gpuplanner.ui.collecting import Collector
from gpuplanner.ui.fonts import lighten_strokes
from gpuplanner.ui.settings import MemorySettings
from gpuplanner.ui.theme import Dresser
from tests.ui.gallery import gallery_places, small_workspace

lighten_strokes(os.environ)


@pytest.fixture(scope="session")
def _style(qapp: QApplication) -> dict[str, Dresser]:
    """One style for all tests: a style cannot be changed while a widget of an earlier test is still going away."""
    return {"now": Dresser(qapp)}


@pytest.fixture
def dressed(_style: dict[str, Dresser]) -> Dresser:
    """The application with our fonts and style."""
    return _style["now"]


@pytest.fixture
def fusion(qapp, _style) -> Iterator[Dresser]:
    """The application as it is where Qlementine cannot be loaded. Ask for it before anything that makes widgets."""
    gone(qapp)
    _style["now"] = Dresser(qapp, native=True)
    yield _style["now"]
    gone(qapp)
    _style["now"] = Dresser(qapp)


def gone(application: QApplication) -> None:
    """Delete what is to be deleted, so that no widget outlives its style."""
    for _ in range(3):
        application.processEvents()
        application.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture(scope="module")
def _frozen() -> None:
    """What is there before the tests of a file (modules, catalogs) is large, and is not looked through each time.

    Not before each test: a page that is still to be deleted would stay for ever.
    """
    gc.freeze()


@pytest.fixture(autouse=True)
def _garbage_stays_in_this_thread(_frozen: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test leaves is collected here and now, and not by a thread of the tests that follow."""
    monkeypatch.setattr(Collector, "settle", lambda _collector: None)
    gc.disable()
    yield
    gc.enable()
    gc.collect()


@pytest.fixture
def settings() -> MemorySettings:
    """Settings that begin in English and light, whatever the system says."""
    return MemorySettings({"language": Language.ENGLISH.value, "theme": "light"})


@pytest.fixture
def appearance(dressed, settings) -> Iterator[Appearance]:
    """An appearance whose theme is on the application."""
    shown = Appearance(settings)
    dressed.dress(shown.tokens)

    def dress() -> None:
        dressed.dress(shown.tokens)

    shown.themeChanged.connect(dress)
    yield shown
    shown.deleteLater()


@pytest.fixture
def jobs(qapp) -> Iterator[Jobs]:
    """A thread pool that is empty again at the end."""
    pool = Jobs(threads=2)
    yield pool
    assert pool.close(5000), "a job did not end"


@pytest.fixture
def open_session(
    qtbot: QtBot, qapp: QApplication, dressed: Dresser, settings: MemorySettings
) -> Iterator[Callable[..., Session]]:
    """Makes a whole window, with the gallery in it unless other places are given."""
    made: list[Session] = []

    def make(
        places: Any = None, workspace: Any = None, size: tuple[int, int] = (1440, 900), *, start: bool = True
    ) -> Session:
        session = Session(dressed, workspace or small_workspace(settings), settings, places or gallery_places())
        made.append(session)
        window = session.window
        window.resize(*size)
        if start:
            window.start()
        window.show()
        qtbot.waitExposed(window)
        return session

    yield make
    for session in made:
        session.window.close()
        session.close()
        session.window.deleteLater()
    gone(qapp)
