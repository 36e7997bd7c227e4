import math
from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QStackedWidget, QVBoxLayout, QWidget

from gpuplanner.figures import Certainty, Figure, exact
from gpuplanner.messages import msg
from gpuplanner.store.settings import LANGUAGE, MEMORY, THEME
from gpuplanner.ui.tokens import LIGHT, Verdict
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.chart import Chart
from gpuplanner.ui.widgets.chart_axes import Axis, bytes_tick, log_ticks, number_tick
from gpuplanner.ui.widgets.chart_series import Series, SeriesKind
from gpuplanner.ui.widgets.chip import Chip
from gpuplanner.ui.widgets.empty_state import EmptyState
from gpuplanner.ui.widgets.figure_label import FigureLabel, certainty_text, range_text, range_with_unit
from gpuplanner.ui.widgets.flow import FlowLayout
from gpuplanner.ui.widgets.key_value import KeyValueList, Row
from gpuplanner.ui.widgets.label import Label
from gpuplanner.ui.widgets.scrolling import Scrolled, scrolling
from gpuplanner.ui.widgets.stacked_bar import BarPart, StackedBar
from gpuplanner.ui.widgets.verdict_tag import VerdictTag, tag_text
from gpuplanner.units import GIB, Unit
from tests.ui.screenshots import picture, settle


@pytest.fixture
def shown(qtbot):
    def show(widget, width=400, height=200):
        qtbot.addWidget(widget)
        widget.resize(width, height)
        widget.show()
        return widget

    return show


CALIBRATED = Figure(0.031, Unit.SECOND, Certainty.CALIBRATED, 0.027, 0.036, why=msg("ui.help.certainty.calibrated"))


# --- Figures --------------------------------------------------------------------------------------------------------


def test_a_figure_says_its_range_or_how_sure_it_is(appearance):
    assert range_text(appearance, CALIBRATED) == "27.0 – 36.0"
    wide = Figure(0.9, Unit.SECOND, Certainty.CALIBRATED, 0.6, 1.4)
    assert range_text(appearance, wide) == "600 – 1,400"
    assert range_with_unit(appearance, wide) == "600 – 1,400 ms"
    beside = Figure(3600.0, Unit.SECOND, Certainty.CALIBRATED, 120.0, 5400.0)
    assert range_text(appearance, beside) == "2.00 – 90.0 min"
    apart = Figure(1.0, Unit.SECOND, Certainty.CALIBRATED, 0.001, 2.0)
    assert range_text(appearance, apart) == "1.00 ms – 2.00 s"
    assert certainty_text(appearance, exact(1, Unit.COUNT)) == "exact"
    given = Figure(5, Unit.COUNT, Certainty.USER, 5, 5)
    assert certainty_text(appearance, given) == "given by you"


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [(0.027, 0.036, "27.0 – 36.0 ms"), (0.34, 1.17, "340 – 1,170 ms"), (1.2, 1.9, "1.20 – 1.90 s")],
)
def test_a_range_that_stands_alone_says_each_unit_once(appearance, low, high, says):
    assert range_with_unit(appearance, Figure(0.448, Unit.SECOND, Certainty.CALIBRATED, low, high)) == says


def test_an_exact_figure_has_no_range(appearance):
    assert range_with_unit(appearance, exact(1, Unit.COUNT)) == ""


def test_a_figure_follows_units_and_language(appearance, shown):
    label = shown(FigureLabel(appearance, msg("ui.term.vram"), exact(80 * GIB, Unit.BYTE)))
    assert (str(label.shown()), label.note()) == ("80.0 GiB", "exact")
    appearance.choose(MEMORY, "GB")
    assert label.accessibleName() == "GPU memory (VRAM) 85.9 GB"
    appearance.choose(LANGUAGE, "zh_CN")
    assert label.accessibleName() == "显存 85.9 GB"
    assert label.accessibleDescription() == "精确"


def test_a_figure_is_explained_by_mouse_and_keyboard(appearance, shown):
    label = shown(FigureLabel(appearance, "Time", CALIBRATED))
    asked = []
    label.explained.connect(lambda: asked.append(1))
    QTest.mouseClick(label, Qt.MouseButton.LeftButton)
    QTest.keyClick(label, Qt.Key.Key_Return)
    QTest.keyClick(label, Qt.Key.Key_Space)
    assert len(asked) == 3
    assert "efficiency" in label.toolTip()


def test_what_is_missing_is_a_dash_with_a_reason_and_never_nought(appearance, shown):
    label = shown(FigureLabel(appearance, "Price", None, msg("ui.table.missing")))
    asked = []
    label.explained.connect(lambda: asked.append(1))
    QTest.mouseClick(label, Qt.MouseButton.LeftButton)
    assert (str(label.shown()), label.note(), asked) == ("—", "Not known", [])
    label.set_figure(exact(0, Unit.MONEY))
    assert str(label.shown()) == "0.00 USD"


# --- Stacked bars ---------------------------------------------------------------------------------------------------

PARTS = [
    BarPart("weights", "Weights", 33.0, "33.0", tip="exact"),
    BarPart("kv", msg("ui.term.kv_cache"), 28.6, "28.6", note="needs 23.4"),
    BarPart("tiny", "Tiny", 0.001, "0.001"),
    BarPart("none", "None", 0, "0"),
    BarPart("rest", "Rest", 4, "4", rest=True),
]


@pytest.fixture
def bar(appearance, shown):
    bar = StackedBar(appearance, msg("ui.term.vram"))
    bar.set_parts(PARTS, 80, ("Free", "14.4 GiB"))
    return shown(bar, 800, 80)


def test_parts_are_as_wide_as_they_are_large_and_none_is_lost(bar):
    areas = {part.id: area for part, area in bar._strip.areas()}
    assert list(areas) == ["weights", "kv", "tiny", "rest"]
    assert areas["weights"].width() == pytest.approx(330)
    assert areas["kv"].left() == pytest.approx(330)
    assert areas["tiny"].width() >= 2


def test_a_part_opens_by_click_on_bar_or_legend_and_by_keyboard(bar):
    opened: list[object] = []
    bar.opened.connect(opened.append)
    QTest.mouseClick(bar._strip, Qt.MouseButton.LeftButton, pos=QPoint(400, 10))
    bar._keys[0].click()
    bar._keys[-1].click()
    bar._strip.setFocus()
    QTest.keyClick(bar._strip, Qt.Key.Key_Right)
    QTest.keyClick(bar._strip, Qt.Key.Key_Right)
    QTest.keyClick(bar._strip, Qt.Key.Key_Return)
    QTest.keyClick(bar._strip, Qt.Key.Key_Left)
    QTest.keyClick(bar._strip, Qt.Key.Key_Return)
    assert opened == ["kv", "weights", "kv", "weights"]


def test_the_legend_says_everything_in_words(bar, appearance):
    assert [key.text() for key in bar._keys] == [
        "Weights 33.0", "KV cache 28.6", "Tiny 0.001", "Rest 4", "Free 14.4 GiB",
    ]  # fmt: skip
    assert bar._strip.accessibleName() == "GPU memory (VRAM)"
    assert "KV cache 28.6" in bar._strip.accessibleDescription()
    appearance.choose(LANGUAGE, "zh_CN")
    assert bar._keys[1].text() == "KV 缓存 28.6"
    assert "KV 缓存" in bar._strip.accessibleDescription()


def test_the_bar_is_copied_as_a_table(bar):
    bar._copy()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[2] == "| Weights | 33.0 | 50.3% |"
    assert len(lines) == 6


def test_what_does_not_fit_is_marked_where_the_memory_ends(bar):
    bar.set_parts(PARTS, 40)
    image = picture(bar._strip)
    at = int(40 / 65.601 * image.width())
    reds = [x for x in range(image.width()) if image.pixelColor(x, 12).name() == LIGHT.tone(Verdict.FAIL).ink]
    assert reds
    assert min(reds) == pytest.approx(at, abs=3)


def test_a_bar_can_change_to_fewer_and_to_no_parts(bar):
    bar.set_parts(PARTS[:1])
    assert legend(bar) == ["Weights 33.0"]
    bar.set_parts([])
    assert legend(bar) == []
    assert bar.table() == []
    bar.set_parts(PARTS[:2])
    assert legend(bar) == ["Weights 33.0", "KV cache 28.6"]


def legend(bar):
    return [key.text() for key in bar._keys if key.isVisible()]


# --- Small ones -----------------------------------------------------------------------------------------------------


def test_a_chip_is_removed_by_mouse_and_keyboard(appearance, shown):
    chip = shown(Chip(appearance, "Memory ≥ 16 GB"))
    removed = []
    chip.removed.connect(lambda: removed.append(1))
    QTest.mouseClick(chip, Qt.MouseButton.LeftButton)
    QTest.keyClick(chip, Qt.Key.Key_Delete)
    assert len(removed) == 2
    assert chip.accessibleName() == "Remove Memory ≥ 16 GB"


def test_chips_go_on_to_the_next_line(qtbot, appearance):
    host = QWidget()
    qtbot.addWidget(host)
    flow = FlowLayout(host, across=8, down=6)
    for _ in range(6):
        box = QLabel("x")
        box.setFixedSize(100, 20)
        flow.addWidget(box)
    assert flow.heightForWidth(1000) == 20
    assert flow.heightForWidth(330) == 46
    assert flow.heightForWidth(50) == 6 * 20 + 5 * 6
    flow.setGeometry(QRect(0, 0, 330, 46))
    assert {item.geometry().y() for i in range(6) if (item := flow.itemAt(i))} == {0, 26}
    assert flow.itemAt(6) is None
    assert flow.takeAt(9) is None


def test_a_verdict_is_a_mark_a_word_and_a_colour(appearance, shown):
    tag = shown(VerdictTag(appearance, Verdict.FAIL, msg("fit.does_not_fit")), 200, 24)
    assert tag.accessibleName() == "Does not fit"
    failed = picture(tag)
    tag.set_verdict(Verdict.PASS, msg("fit.does_not_fit"))
    assert picture(tag) != failed
    assert tag.sizeHint().width() > 80


def test_an_empty_state_teaches_and_offers_one_thing(appearance, shown):
    done = []
    state = shown(
        EmptyState(
            appearance,
            "database",
            msg("ui.help.glossary"),
            msg("ui.notices.none"),
            (msg("ui.open.title"), lambda: done.append("open")),
            (msg("ui.help.title"), lambda: done.append("help")),
        )
    )
    for button in state.buttons:
        button.click()
    assert done == ["open", "help"]


def test_rows_of_a_list_change(appearance, shown):
    rows = shown(KeyValueList(appearance, [Row(msg("ui.term.vram"), "80 GB", "datasheet", "source")]))
    texts = [label.text() for label in rows.findChildren(QLabel) if label.isVisible()]
    assert texts == ["GPU memory (VRAM)", "80 GB", "datasheet"]
    rows.set_rows([Row("a", "1"), Row("b", "2")])
    settle()
    texts = [label.text() for label in rows.findChildren(QLabel) if label.isVisible()]
    assert texts == ["a", "1", "b", "2"]
    appearance.choose(LANGUAGE, "zh_CN")


def test_rows_of_a_list_are_as_high_as_their_text(appearance, shown):
    values = ("0.1.0", "155 GPUs · 546 instances · 434 models", "2026-11-30 · f20ed4b8ff47")
    rows = shown(KeyValueList(appearance, [Row("a", value) for value in values]), 700, 90)
    settle()
    heights = {label.height() for label in rows.findChildren(QLabel) if label.text() in values}
    assert len(heights) == 1
    assert rows.hasHeightForWidth()


@pytest.mark.parametrize(
    ("word", "says"), [("no layout", "✕ No layout"), ("vCPUs", "✕ vCPUs"), ("601 MiB short", "✕ 601 MiB short")]
)
def test_a_tag_begins_with_a_capital_but_for_names(word, says):
    assert tag_text(Verdict.FAIL, word) == says


def test_a_line_never_ends_within_a_rate(appearance, shown):
    label = shown(Label(appearance, "An attached cloud disk should sustain at least 500 MB/s", wrap=True), 400, 60)
    without = shown(QLabel("An attached cloud disk should sustain at least 500 MB/s"), 400, 60)
    without.setWordWrap(True)
    without.setFont(label.font())
    # As narrow as just ends the first line at the stroke: the whole rate goes to the next one.
    narrow = label.fontMetrics().horizontalAdvance("An attached cloud disk should sustain at least 500 MB/") + 1
    without.resize(narrow, 60)
    label.resize(narrow, 60)
    assert picture(label) != picture(without)
    assert label.text().replace("\u2060", "") == without.text()


def test_a_card_without_a_title_has_no_title_row(appearance, shown):
    assert not shown(Card(appearance)).title.isVisible()
    assert shown(Card(appearance, "Title", "note")).note.text() == "note"


def test_buttons_tell_what_they_do(appearance, shown):
    button = shown(Button(appearance, msg("ui.close"), ButtonKind.QUIET, icon="x", icon_only=True, shortcut="Ctrl+W"))
    assert (button.text(), button.accessibleName(), button.toolTip()) == ("", "Close", "Close (Ctrl+W)")
    plain = shown(Button(appearance, msg("ui.close")))
    assert plain.toolTip() == ""
    plain.explain(msg("ui.status.offline.help"))
    assert plain.toolTip() == "Nothing leaves this computer"
    wide = plain.sizeHint().width()
    plain.say(msg("settings.reset_all"))
    assert plain.sizeHint().width() > wide
    plain.setEnabled(False)
    assert not picture(plain).isNull()


# --- Charts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "tick"),
    [(0, "0"), (512, "512 B"), (65536, "64K"), (2.0**20, "1M"), (2.0**24, "16M"), (2.0**32 * (1 - 1e-12), "4G")],
)
def test_sizes_on_an_axis_are_those_of_benchmarks(value, tick):
    assert bytes_tick(value) == tick


@pytest.mark.parametrize(("low", "high", "size"), [(2.9, 3.75, 460), (2.9, 3.75, 1500), (0, 6, 300), (2.3, 2.75, 400)])
def test_ticks_of_a_logarithmic_axis_leave_room_for_their_words(low, high, size):
    ticks = log_ticks(low, high, size, 44)
    assert all(low <= tick <= high for tick in ticks)
    pixels = [(tick - low) / (high - low) * size for tick in ticks]
    assert all(after - before > 43.9 for before, after in pairwise(pixels))
    assert len(ticks) >= 2


@pytest.mark.parametrize(
    ("value", "tick"),
    [
        (0, "0"),
        (0.05, "0.05"),
        (250, "250"),
        (9999, "9,999"),
        (10_000, "10k"),
        (2e6, "2M"),
        (1e9, "1G"),
        (3.5e12, "3.5T"),
    ],
)
def test_numbers_on_an_axis_have_no_exponent(value, tick):
    assert number_tick(value) == tick


@pytest.fixture
def chart(appearance, shown):
    chart = Chart(appearance, msg("ui.term.busbw"), Axis("Size", log=True, is_bytes=True), Axis("Rate", "GB/s"))
    sizes = [2.0**power for power in range(16, 33, 4)]
    chart.set_series(
        [
            Series("Expected", sizes, [10, 100, 300, 450, 480], SeriesKind.EXPECTED, [8] * 5, [500] * 5),
            Series(msg("ui.help.marks"), sizes, [9, 90, 250, 300, 320]),
            Series("One", [2.0**24], [200], SeriesKind.POINTS, names=["you are here"], emphasised=True),
        ]
    )
    return shown(chart, 500, 320)


def ticks(chart, side):
    axis = chart._plot.getPlotItem().getAxis(side)
    low, high = axis.range
    return [text for _, values in axis.tickValues(low, high, 400) for text in axis.tickStrings(values, 1, 1)]


def test_ticks_are_powers_of_two_in_words(chart):
    picture(chart)
    assert "1M" in ticks(chart, "bottom")
    assert not any("e+" in text for text in ticks(chart, "bottom") + ticks(chart, "left"))


def test_ticks_are_not_scaled_by_prefixes_of_the_plot(chart, appearance):
    picture(chart)
    appearance.choose(THEME, "dark")  # drawn again, a titled axis has a scale for a prefix
    axis = chart._plot.getPlotItem().getAxis("bottom")
    assert axis.tickStrings([20 * math.log10(2)], axis.autoSIPrefixScale, 1) == ["1M"]


def test_a_chart_has_a_table_twin(chart, appearance):
    assert ("Expected", "", 2.0**16, 10) in chart.table()
    assert ("One", "you are here", 2.0**24, 200) in chart.table()
    assert len(chart.table()) == 11
    chart._copy()
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0] == "\t\tSize\tRate GB/s"
    assert lines[1] == "Expected\t\t65536\t10"
    assert "you are here" in chart.accessibleDescription()


def test_a_chart_follows_theme_and_language(chart, appearance):
    light = picture(chart)
    assert light.pixelColor(300, 4).name() == LIGHT.card
    appearance.choose(THEME, "dark")
    assert picture(chart).pixelColor(300, 4).name() == "#1e2127"
    appearance.choose(LANGUAGE, "zh_CN")
    assert [key._name for key in chart._keys] == ["Expected", "标记的含义", "One"]


def test_measured_is_solid_and_expected_is_dashed(chart):
    dashes = [key._style.dash for key in chart._keys]
    assert dashes == [Qt.PenStyle.DashLine, Qt.PenStyle.SolidLine, None]
    assert [key._style.symbol for key in chart._keys] == [None, "s", "t"]


def test_a_chart_can_become_empty(chart):
    chart.set_series([])
    assert chart.table() == []
    assert not picture(chart).isNull()


def test_without_a_figure_neither_tab_nor_the_cursor_stops(appearance, qtbot):
    label = FigureLabel(appearance, "TPOT")
    qtbot.addWidget(label)
    assert label.focusPolicy() is Qt.FocusPolicy.NoFocus
    assert label.cursor().shape() is Qt.CursorShape.ArrowCursor
    label.set_figure(exact(1.0, Unit.SECOND))
    assert label.focusPolicy() is Qt.FocusPolicy.StrongFocus
    assert label.cursor().shape() is Qt.CursorShape.PointingHandCursor


def test_what_a_label_keeps_clear_stays_when_the_theme_changes_while_it_is_hidden(fusion, qtbot, appearance):
    holder = QWidget()
    label = Label(appearance, "preset", parent=holder)
    label.keep_clear(12, 1, 2, 3)
    qtbot.addWidget(holder)
    holder.show()
    label.hide()
    for theme in ("dark", "light"):
        appearance.choose(THEME, theme)
        fusion.dress(appearance.tokens)
        label.show()
        margins = label.contentsMargins()
        assert (margins.left(), margins.top(), margins.right(), margins.bottom()) == (12, 1, 2, 3)


def test_what_is_filled_while_it_is_hidden_is_whole_when_it_is_shown(appearance, qtbot):
    """Not squeezed into the height of its area until an event later."""
    content, card = Scrolled(), QWidget()
    QVBoxLayout(content).addWidget(card)
    lines = QVBoxLayout(card)
    area = scrolling(content)
    window = QStackedWidget()
    qtbot.addWidget(window)
    window.addWidget(QWidget())
    window.addWidget(area)
    window.resize(240, 200)
    window.show()
    assert not content.hasHeightForWidth()
    for _ in range(30):
        lines.addWidget(Label(appearance, "A sentence that is longer than its column is wide, and wraps", wrap=True))
    window.setCurrentIndex(1)
    assert content.height() == content.heightForWidth(content.width()) > area.height()
