import getpass
import platform

import pytest
from PySide6.QtGui import QGuiApplication

from gpuplanner import __version__
from gpuplanner.catalog.search import CatalogIndex
from gpuplanner.catalog.table.columns import ColumnKind
from gpuplanner.messages import msg
from gpuplanner.store.settings import LANGUAGE
from gpuplanner.ui.catalog_place.tables import CatalogTable
from gpuplanner.ui.compare_place.properties import METRICS
from gpuplanner.ui.help_page.diagnostics import as_markdown, diagnostics
from gpuplanner.ui.help_page.glossary import GLOSSARY, term_of
from gpuplanner.ui.help_page.guide import Guide
from gpuplanner.ui.places import Location
from gpuplanner.ui.tokens import GAP, Verdict
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.label import Label
from tests.ui.gallery import small_workspace


@pytest.fixture
def session(open_session, qtbot):
    session = open_session()
    session.begin()
    qtbot.waitUntil(lambda: session.jobs.busy == 0)
    session.window.go(Location("help"))
    return session


def shown(glossary):
    return [term.id for term, row in glossary.terms if not row.isHidden()]


def test_the_glossary_explains_every_word_and_is_searched_in_both_languages(session):
    session.window.go(Location("help", "glossary"))
    page = session.window.current_page()
    assert page.glossary.isVisible()
    assert len(shown(page.glossary)) == len(GLOSSARY) > 35
    page.glossary.search.set_text("键和值")
    assert shown(page.glossary) == ["kv_cache"]
    page.glossary.search.set_text("no such word")
    assert shown(page.glossary) == []
    assert page.glossary._nothing.isVisible()
    assert page.leave()
    assert len(shown(page.glossary)) == len(GLOSSARY)


def test_a_path_leads_to_a_word_and_an_unknown_one_nowhere(session):
    session.window.go(Location("help", "term/mfu"))
    page = session.window.current_page()
    assert page.path() == "glossary"
    assert "mfu" in shown(page.glossary)
    session.window.go(Location("help", "guide"))
    session.window.go(Location("help", "term/nothing"))
    assert page.path() == "guide"


@pytest.mark.parametrize("table", list(CatalogTable))
def test_each_number_of_the_catalog_has_its_word(shipped_catalog, table):
    plain = {"layers", "gpu_count", "gpu_fraction", "hidden", "sms", "l2_bytes", "nvenc", "nvdec", "vcpus", "ram_bytes"}
    plain |= {"pcie_generation", "pcie_lanes", "local_storage_bytes"}
    columns = CatalogIndex(shipped_catalog).columns(table.value)
    numbers = {column.id for column in columns if column.kind is ColumnKind.NUMBER}
    assert {number for number in numbers - plain if term_of(number) is None} == set()


def test_each_metric_has_its_word():
    assert {metric for metric in METRICS if term_of(metric) is None} == set()


def test_diagnostics_are_copied_as_markdown(session):
    session.window.go(Location("help", "diagnostics"))
    page = session.window.current_page()
    assert page._facts.isVisible()
    page.heading().actions[0].run()
    text = QGuiApplication.clipboard().text()
    assert text.startswith("| gpuplanner | |\n| --- | --- |\n")
    assert f"| Version | {__version__} |" in text
    assert "151 GPUs" in text
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
        guide = Guide(appearance, places)
        qtbot.addWidget(guide)
        assert [label.text() for label in guide.findChildren(Label) if label.text().startswith("Ctrl+1")] == [keys]


def test_help_does_not_come_back_to_an_empty_list_of_notices(session):
    notices = session.window.context.notices
    notices.say(msg("ui.diagnostics.copied"), Verdict.PASS)
    session.window.go(Location("help", "notices"))
    page = session.window.current_page()
    session.window.go(Location("settings"))
    session.window.go(Location("help"))
    assert page.path() == "notices", "there is something to read"
    notices.clear()
    session.window.go(Location("settings"))
    session.window.go(Location("help"))
    assert page.path() == "guide"
    session.window.go(Location("help", "notices"))
    assert page.path() == "notices"


def test_the_guide_ends_where_its_text_does(session, qtbot):
    session.window.resize(1280, 620)
    session.window.go(Location("help", "guide"))
    area = session.window.current_page()._areas["guide"]
    guide = area.findChild(Guide)
    bar = area.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    qtbot.wait(50)
    last = max(guide.findChildren(Card), key=Card.y)
    end = last.mapTo(area.widget(), last.rect().bottomLeft()).y()
    assert area.widget().height() - end <= 2 * GAP + 6
