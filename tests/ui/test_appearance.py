import sys
from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette

from gpuplanner.messages import Language, msg
from gpuplanner.store.settings import CURRENCY, LANGUAGE, MEMORY, RATES, THEME
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.settings import MemorySettings
from gpuplanner.ui.theme import _qlementine_style, palette
from gpuplanner.ui.tokens import DARK, LIGHT
from gpuplanner.ui.widgets.label import Label
from gpuplanner.units import GIB, MemoryConvention, Unit


def told(signal):
    calls = []
    signal.connect(lambda *values: calls.append(values))
    return calls


def test_the_language_is_switched_live(appearance):
    label = Label(appearance, msg("settings.title"))
    changes = told(appearance.languageChanged)
    appearance.choose(LANGUAGE, "zh_CN")
    assert label.text() == "设置"
    assert appearance.language is Language.CHINESE
    appearance.choose(LANGUAGE, "zh_CN")
    assert len(changes) == 1
    label.deleteLater()


def test_a_label_that_has_gone_is_not_called_again(appearance, qapp, qtbot):
    label = Label(appearance, msg("settings.title"))
    label.deleteLater()
    qtbot.wait(20)
    appearance.choose(LANGUAGE, "zh_CN")
    appearance.choose(THEME, "dark")


def test_the_theme_is_switched_live_and_the_palette_with_it(appearance, qapp):
    assert qapp.palette().color(QPalette.ColorRole.Window).name() == LIGHT.workspace
    appearance.choose(THEME, "dark")
    assert appearance.tokens is DARK
    assert qapp.palette().color(QPalette.ColorRole.Window).name() == DARK.workspace
    assert qapp.palette().color(QPalette.ColorRole.WindowText).name() == DARK.text


def test_the_system_decides_when_nobody_else_does(dressed, qapp, monkeypatch):
    settings = MemorySettings()
    shown = Appearance(settings)
    scheme = {"is": Qt.ColorScheme.Dark}
    hints = SimpleNamespace(colorScheme=lambda: scheme["is"])
    monkeypatch.setattr("gpuplanner.ui.appearance.QGuiApplication.styleHints", lambda: hints)
    changes = told(shown.themeChanged)
    shown._take_tokens()
    assert shown.tokens is DARK
    assert len(changes) == 1
    shown.choose(THEME, "light")
    assert shown.tokens is LIGHT
    shown.deleteLater()


def test_units_are_switched_live(appearance):
    changes = told(appearance.displayChanged)
    assert str(appearance.show(80 * GIB, Unit.BYTE)) == "80.0 GiB"
    appearance.choose(MEMORY, "GB")
    assert appearance.display.memory is MemoryConvention.GB
    assert str(appearance.show(80 * GIB, Unit.BYTE)) == "85.9 GB"
    assert len(changes) == 1


def test_money_follows_the_dated_rate(appearance):
    appearance.choose(CURRENCY, "CNY")
    # Nothing is known of the rate yet, so nothing is converted with a guess.
    assert str(appearance.show(10, Unit.MONEY)) == "10.00 USD"
    rates = {"CNY": SimpleNamespace(per_usd=7.1, date="2026-11-20")}
    appearance.learn_rates(lambda: rates)
    assert str(appearance.show(10, Unit.MONEY)) == "71.00 CNY"
    assert appearance.display.rate_date == "2026-11-20"
    rates["CNY"] = SimpleNamespace(per_usd=8.0, date="2026-11-30")
    appearance.choose(RATES, {"CNY": {"per_usd": 8.0, "date": "2026-11-30"}})
    assert str(appearance.show(10, Unit.MONEY)) == "80.00 CNY"


def test_a_choice_is_kept_and_can_be_taken_back(appearance, settings):
    keys = told(appearance.settingChanged)
    appearance.choose(MEMORY, "GB")
    assert settings.values["memory"] == "GB"
    appearance.reset(MEMORY)
    assert "memory" not in settings.values
    assert appearance.display.memory is MemoryConvention.GIB
    assert keys == [("memory",), ("memory",)]


def test_a_setting_takes_only_what_it_can_mean(appearance):
    with pytest.raises(ValueError, match="does not take"):
        appearance.choose(THEME, "purple")


def test_texts_come_in_every_language_for_searching(appearance):
    assert appearance.texts(msg("settings.theme.dark")) == ("Dark", "深色")
    appearance.choose(LANGUAGE, "zh_CN")
    assert appearance.texts(msg("settings.theme.dark")) == ("深色", "Dark")


def test_qlementine_is_dressed(qapp, dressed):
    assert not dressed.fallback
    dressed.dress(DARK)
    assert qapp.palette().color(QPalette.ColorRole.Base).name() == DARK.field
    assert qapp.styleSheet() == ""


def test_fusion_stands_in_for_it(qapp, fusion):
    assert fusion.fallback
    fusion.dress(DARK)
    assert qapp.palette().color(QPalette.ColorRole.Base).name() == DARK.field
    assert "QScrollBar" in qapp.styleSheet()


def test_fusion_is_used_where_qlementine_has_no_wheel(monkeypatch):
    monkeypatch.setattr("gpuplanner.ui.theme.find_spec", lambda _name: None)
    assert _qlementine_style() is None
    monkeypatch.setattr("gpuplanner.ui.theme.find_spec", lambda _name: True)
    # None in sys.modules makes an import fail, as a wheel that was built against another Qt does.
    monkeypatch.setitem(sys.modules, "PySide6Qlementine", None)
    assert _qlementine_style() is None


def test_disabled_text_is_still_read(qapp):
    faded = palette(LIGHT).color(QPalette.ColorGroup.Disabled, QPalette.ColorRole.Text)
    assert faded.name() == LIGHT.muted
