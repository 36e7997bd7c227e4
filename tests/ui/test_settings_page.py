from datetime import date
from pathlib import Path
from types import SimpleNamespace

import pytest
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtTest import QTest

from gpuplanner.engine.own_links import OwnLink
from gpuplanner.engine.own_measurements import OwnMeasurement
from gpuplanner.facts import Source
from gpuplanner.store.own_measurements import keep_own, read_own
from gpuplanner.store.settings import CURRENCY, LANGUAGE, MEMORY, OWN_MEASUREMENTS, RATES, THEME
from gpuplanner.ui.notices import Notices
from gpuplanner.ui.palette.providers import OwnFilesProvider
from gpuplanner.ui.places import Context, Location
from gpuplanner.ui.settings_page.own_measurements import OwnMeasurements
from gpuplanner.ui.settings_page.presenter import SettingsPresenter
from gpuplanner.ui.widgets.label import Label
from gpuplanner.workspace import Workspace
from tests.ui.catalog_workspaces import H100
from tests.ui.checks import clipped
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


# --- What the person measured -----------------------------------------------------------------------------------------


@pytest.fixture
def measured(tmp_path, qtbot, appearance, settings, jobs):
    """The settings of a person who keeps two measurements, and what was told."""
    home = tmp_path / "home"
    workspace = Workspace(home)
    plan = workspace.presets["chat-8b"]
    site = f"1 x 1 {H100} single"
    keep_own(home, OwnMeasurement("0000000a", "bench\u202e.json", "2026-05-01", plan, site, {"tpot_s": 0.0119}))
    keep_own(home, OwnLink("0000000b", "nccl.txt", "2026-05-02", f"1 x 8 {H100} switched", 330e9, 8e9, 8.0))
    notices = Notices()
    context = Context(appearance, settings, jobs, notices, lambda _location: None, workspace)
    card = OwnMeasurements(context)
    qtbot.addWidget(card)
    card.resize(720, 400)
    card.show()
    card.refresh()
    qtbot.waitUntil(lambda: len(card.rows) == 2)
    yield SimpleNamespace(card=card, home=home, notices=notices)
    card.stop()


def test_what_was_measured_is_listed_with_what_it_is_of(measured):
    texts = [[label.text() for label in row.findChildren(Label)] for row in measured.card.rows]
    assert [text[0] for text in texts] == ["nccl.txt", "bench.json"]
    assert "8 × H100 SXM5 80GB" in texts[0][1]
    assert "Llama 3.1 8B with vLLM" in texts[1][1]
    assert "11.9 ms" in texts[1][2]
    assert "2026-05-01" in texts[1][2]


def test_one_is_switched_off_and_stays_in_the_list(measured, qtbot):
    row = measured.card.rows[1]
    assert row.use.current() == "on"
    row.use.step(1)
    qtbot.waitUntil(lambda: [one.used for one in read_own(measured.home)[0]] == [False, True])
    qtbot.waitUntil(lambda: measured.card.rows[1].use.current() == "off")


def test_one_is_removed_and_put_back(measured, qtbot):
    before = read_own(measured.home)
    measured.card.rows[0].remove.click()
    qtbot.waitUntil(lambda: len(measured.card.rows) == 1)
    assert [one.id for one in read_own(measured.home)[0]] == ["0000000a"]
    notice = measured.notices.kept[-1]
    assert notice.message.id == "own.window.removed"
    notice.action.run()
    qtbot.waitUntil(lambda: len(measured.card.rows) == 2)
    assert read_own(measured.home) == before


def test_all_of_them_are_muted_where_none_is_used(measured, appearance, qtbot):
    appearance.choose(OWN_MEASUREMENTS, "off")
    qtbot.waitUntil(lambda: not any(row.use.isEnabled() for row in measured.card.rows))
    appearance.choose(OWN_MEASUREMENTS, "on")
    qtbot.waitUntil(lambda: all(row.use.isEnabled() for row in measured.card.rows))


def test_the_list_is_found_by_what_such_files_are_called(measured):
    assert measured.card.matches("nccl")
    assert measured.card.matches("实测")
    assert measured.card.matches("bench")
    assert not measured.card.matches("currency")


def test_a_choice_shares_its_width_anew_in_another_language(measured, appearance, qtbot):
    appearance.choose(LANGUAGE, "zh_CN")
    qtbot.waitUntil(lambda: clipped(measured.card) == [], timeout=3000)
    widths = [button.width() for button in measured.card.rows[0].use._buttons.values()]
    assert max(widths) - min(widths) <= 1, "two labels of two characters each"
