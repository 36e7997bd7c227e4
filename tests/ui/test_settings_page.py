from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtTest import QTest

from gpuplanner.facts import Source
from gpuplanner.store.settings import CURRENCY, LANGUAGE, MEMORY, OWN_MEASUREMENTS, RATES, THEME
from gpuplanner.ui.palette.providers import OwnFilesProvider
from gpuplanner.ui.places import Location
from gpuplanner.ui.settings_page.presenter import SettingsPresenter
from tests.ui.gallery import small_workspace

TODAY = date(2026, 11, 30)


@pytest.fixture
def session(open_session, qtbot):
    session = open_session()
    session.begin()
    qtbot.waitUntil(lambda: bool(session.appearance.rates()))
    session.window.go(Location("settings"))
    return session


@pytest.fixture
def page(session):
    return session.window.current_page()


def row(page, setting):
    return next(r for r in page._rows if r.setting is setting)


def test_every_setting_is_there_with_its_value(page):
    assert {r.setting for r in page._rows} == {LANGUAGE, THEME, MEMORY, CURRENCY, OWN_MEASUREMENTS}
    assert row(page, THEME).control.current() == "light"
    assert row(page, MEMORY).control.current() == "GiB"


def test_choosing_changes_it_at_once_and_offers_the_way_back(page, session):
    assert row(page, MEMORY)._reset.isHidden()
    row(page, MEMORY).control.chosen.emit("GB")
    assert session.appearance.display.memory == "GB"
    assert not row(page, MEMORY)._reset.isHidden()
    assert row(page, MEMORY)._reset.toolTip() == "Back to the default, GiB"
    row(page, MEMORY)._reset.click()
    assert session.appearance.display.memory == "GiB"
    assert row(page, MEMORY).control.current() == "GiB"


def test_it_is_searched_in_both_languages(page):
    page._search.set_text("nvidia-smi")
    assert [r.setting for r in page._rows if not r.isHidden()] == [MEMORY]
    page._search.set_text("深色")
    assert [r.setting for r in page._rows if not r.isHidden()] == [THEME]
    page._search.set_text("zzz")
    assert page._nothing.isVisible()
    assert page.leave()
    assert not page.leave()
    assert all(not r.isHidden() for r in page._rows)


def test_only_currencies_with_a_rate_can_be_chosen(page):
    assert list(row(page, CURRENCY).control._buttons) == ["USD", "CNY", "EUR"]


def test_a_rate_of_ones_own_is_dated_today(appearance, settings):
    appearance.learn_rates(small_workspace(settings).rates)
    presenter = SettingsPresenter(appearance, settings, lambda: TODAY)
    presenter.set_rate("CNY", 7.3)
    assert settings.get(RATES) == {"CNY": {"per_usd": 7.3, "date": "2026-11-30"}}
    assert [r.own for r in presenter.rates()] == [True, False]
    presenter.reset_rate("CNY")
    assert settings.get(RATES) == {}


def test_a_rate_says_where_it_is_from(appearance):
    sources = {
        "CNY": Source("memory", "", from_memory=True),
        "EUR": Source("bank", "Reference rates of a bank"),
        "GBP": Source("user", "", user=True),
    }
    rates = {code: SimpleNamespace(per_usd=2.0, date="2025", source=source) for code, source in sources.items()}
    appearance.learn_rates(lambda: rates)
    presenter = SettingsPresenter(appearance, appearance._settings, lambda: TODAY)
    assert [appearance.said(rate.origin) for rate in presenter.rates()] == [
        "from the catalog, 2025; from memory, no document",
        "from the catalog, 2025: Reference rates of a bank",
        "yours, 2025",
    ]


def test_controls_end_with_the_card_and_do_not_move(page, session):
    memory = row(page, MEMORY)
    before = memory.control.geometry()
    assert before.right() == memory.rect().right()
    memory.control.chosen.emit("GB")
    session.window.grab()
    assert memory.control.geometry() == before


def test_a_rate_is_typed_on_the_page(page, session, settings):
    field = page._rates._fields["CNY"]
    field.box.edit.setFocus()
    field.box.edit.selectAll()
    QTest.keyClicks(field.box.edit, "7.5")
    assert settings.get(RATES)["CNY"]["per_usd"] == 7.5
    assert field.box.edit.accessibleName() == "CNY for one US dollar"
    QTest.keyClicks(field.box.edit, "x")
    assert field.problem is not None
    assert settings.get(RATES)["CNY"]["per_usd"] == 7.5


def test_all_can_be_reset(page, session, settings):
    session.appearance.choose(MEMORY, "GB")
    session.appearance.choose(RATES, {"CNY": {"per_usd": 1.0, "date": "2026-01-01"}})
    settings.keep("window.table.x", {"order": []})
    next(a for a in page.heading().actions if a.id == "reset_all").run()
    assert session.appearance.display.memory == "GiB"
    assert settings.get(RATES) == {}
    assert "window.table.x" in settings.values
    session.notices.kept[-1].action.run()
    assert session.appearance.display.memory == "GB"
    assert settings.get(RATES)["CNY"]["per_usd"] == 1.0


def test_the_layout_is_reset_from_here(page, session, settings):
    settings.keep("window.table.x", {"order": []})
    settings.keep("window.catalog.filters.gpus", {"terms": []})
    next(a for a in page.heading().actions if a.id == "reset_layout").run()
    assert "window.table.x" not in settings.values
    assert "window.catalog.filters.gpus" in settings.values, "filters are no layout"
    assert session.notices.kept[-1].message.id == "settings.reset_layout.done"


def test_a_path_leads_to_one_setting(page, session):
    page._search.set_text("zzz")
    session.window.go(Location("settings", "currency"))
    assert page._search.text() == ""
    assert row(page, CURRENCY).control.isAncestorOf(session.window.focusWidget())


def test_the_folder_of_own_files_is_said_copied_and_opened(page, session, tmp_path, monkeypatch):
    own = page._own
    own.copy.click()
    assert QGuiApplication.clipboard().text() == str(own.folder) == str(Path("home") / "overlays")
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    own.folder = tmp_path / "new" / "overlays"
    own.open.click()
    assert own.folder.is_dir()
    assert opened == [own.folder.as_posix()]
    own.folder = tmp_path / "file" / "overlays"
    (tmp_path / "file").write_text("x")
    own.open.click()
    assert session.notices.kept[-1].message.id == "settings.own_files.not_opened"


@pytest.mark.parametrize("query", ["overlay", "own prices", "reload", "自有价格", "重新读取"])
def test_own_files_are_found_by_what_they_are_called(page, session, query):
    page._filter(query)
    assert not page._own.isHidden()
    provider = OwnFilesProvider(session.appearance, lambda _place: None, lambda: None)
    assert max(item.score for item in provider.find(query)) > 0
    assert provider.find("") == ()


def test_reading_again_shows_every_page_what_is_there_now(session, qtbot):
    before = session.window.current_page()
    session.read_again()
    qtbot.waitUntil(lambda: session.window.current_page() is not before)
    assert type(session.window.current_page()) is type(before)
    assert session.notices.kept[-1].message.id == "ui.own.read"
