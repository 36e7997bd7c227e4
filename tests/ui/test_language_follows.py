"""Whatever a widget says or is called follows the language: a window that switched says what one says that began so."""

import asyncio
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QWidget

from gpuplanner.probe.transports.askpass import Asked, Question
from gpuplanner.store.settings import LANGUAGE
from gpuplanner.ui.application import Session, places
from gpuplanner.ui.machines_place.asking import Pending
from gpuplanner.ui.machines_place.page import MachinesPage
from gpuplanner.ui.machines_place.question_card import QuestionCard
from gpuplanner.ui.places import Location
from gpuplanner.workspace import Workspace
from tests.ui.resting import rest
from tests.ui.screenshots import settle
from tests.ui.test_places import PLACES, SHOWN

_CLOCK = re.compile(r"\d+ (?=ms)")
"""How long something took is another each time."""
PRINTED = Path(__file__).parents[1] / "data" / "probe" / "nvidia-smi-q" / "two_gpus_535.txt"


def said(window: QWidget) -> Counter[tuple[str, str, str]]:
    """What every widget of a window says, in sight or not: what kind of widget, where it says it, and what."""
    found: Counter[tuple[str, str, str]] = Counter()
    for widget in (window, *window.findChildren(QWidget)):
        words = {
            "name": widget.accessibleName(),
            "description": widget.accessibleDescription(),
            "tooltip": widget.toolTip(),
            "help": widget.whatsThis(),
        }
        if isinstance(widget, QLabel):
            words["text"] = widget.text()
        if isinstance(widget, QLineEdit):
            words["placeholder"] = widget.placeholderText()
        if isinstance(widget, QComboBox):
            words["choices"] = "|".join(widget.itemText(at) for at in range(widget.count()))
        found.update((type(widget).__name__, where, _CLOCK.sub("", text)) for where, text in words.items() if text)
    return found


def shown(session: Session, place: str, qtbot) -> None:
    """Show a place with something in it."""
    session.window.go(Location(place, SHOWN.get(place, "")))
    rest(session, qtbot)
    if place == "machines":
        page = session.window.current_page()
        assert isinstance(page, MachinesPage)
        assert page.dropped([str(PRINTED)])
        qtbot.waitUntil(lambda: page.presenter.current.shown.acceptance is not None, timeout=15000)
        acceptance = page.presenter.current.shown.acceptance
        assert acceptance is not None
        result = acceptance.results[0]
        page.checks.table.choose(result.id)
        rest(session, qtbot)


@pytest.mark.parametrize("place", PLACES)
def test_a_window_that_switched_says_what_one_says_that_began_so(open_session, settings, qtbot, tmp_path, place):
    found = []
    for began in ("zh_CN", "en"):
        settings.values.clear()
        settings.values.update(language=began, theme="light")
        workspace = Workspace(tmp_path / "home")
        session = open_session(places(), workspace, start=False)
        session.begin()
        rest(session, qtbot)
        shown(session, place, qtbot)
        session.appearance.choose(LANGUAGE, "zh_CN")
        rest(session, qtbot)
        settle()
        found.append(said(session.window))
        session.window.close()
        workspace.store.close()
        # The other one begins as this one did, in the same place.
        shutil.rmtree(tmp_path / "home")
    in_chinese, switched = found
    left, lacking = sorted((switched - in_chinese).elements()), sorted((in_chinese - switched).elements())
    assert left == lacking == [], "\n".join(["", *map(str, left), "in place of", *map(str, lacking)])


@pytest.mark.parametrize("kind", Asked)
def test_a_question_that_waits_follows_the_language(appearance, qtbot, kind):
    def card() -> QuestionCard:
        loop = asyncio.new_event_loop()
        made = QuestionCard(appearance, Pending(Question(kind, "Enter it:", "node"), loop.create_future()))
        loop.close()
        qtbot.addWidget(made)
        return made

    switched = card()
    appearance.choose(LANGUAGE, "zh_CN")
    assert said(switched) == said(card())
