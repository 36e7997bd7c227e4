import getpass
import platform

import pytest
from PySide6.QtGui import QGuiApplication

from gpuplanner import __version__
from gpuplanner.store.settings import LANGUAGE
from gpuplanner.ui.help_page.diagnostics import as_markdown, diagnostics
from gpuplanner.ui.help_page.glossary import GLOSSARY
from gpuplanner.ui.help_page.page import _Guide
from gpuplanner.ui.places import Location
from gpuplanner.ui.widgets.label import Label
from tests.ui.gallery import small_workspace


@pytest.fixture
def session(open_session, qtbot):
    session = open_session()
    session.begin()
    qtbot.waitUntil(lambda: session.jobs.busy == 0)
    session.window.go(Location("help"))
    return session


def test_the_glossary_explains_every_word_and_is_searched(session):
    guide = session.window.current_page()._guide
    assert len(guide._terms) == len(GLOSSARY) > 20
    guide.search.set_text("键和值")
    assert [term.id for term, shown in guide._terms if not shown.isHidden()] == ["kv_cache"]
    session.window.go(Location("help", "term/mfu"))
    assert "mfu" in [term.id for term, shown in guide._terms if not shown.isHidden()]
    assert session.window.current_page().leave()
    assert all(not card.isHidden() for card in guide._cards)


def test_diagnostics_are_copied_as_markdown(session):
    session.window.go(Location("help", "diagnostics"))
    page = session.window.current_page()
    assert page._facts.isVisible()
    page.heading().actions[0].run()
    text = QGuiApplication.clipboard().text()
    assert text.startswith("| gpuplanner | |\n| --- | --- |\n")
    assert f"| Version | {__version__} |" in text
    assert "139 GPUs" in text
    assert "Inter" in text
    assert session.notices.kept[-1].message.id == "ui.diagnostics.copied"


def test_diagnostics_name_nobody(appearance, settings, user_home):
    text = as_markdown(appearance, diagnostics(appearance, small_workspace(settings)))
    assert platform.node() not in text
    assert str(user_home) not in text
    assert f"/{getpass.getuser()}" not in text


def test_diagnostics_follow_the_language(session):
    session.appearance.choose(LANGUAGE, "zh_CN")
    session.window.go(Location("help", "diagnostics"))
    names = [session.appearance.said(row.name) for row in session.window.current_page()._facts.rows()]
    assert names[0] == "版本"


def test_the_views_are_part_of_back_and_forward(session):
    page = session.window.current_page()
    page.choose_segment("diagnostics")
    session.window.back()
    assert page.path() == "guide"
    session.window.forward()
    assert page.path() == "diagnostics"


def test_the_keys_of_places_are_as_many_as_there_are_places(qtbot, appearance):
    for places, keys in ((1, "Ctrl+1"), (3, "Ctrl+1, 2, 3")):
        guide = _Guide(appearance, places)
        qtbot.addWidget(guide)
        assert [label.text() for label in guide.findChildren(Label) if label.text().startswith("Ctrl+1")] == [keys]
