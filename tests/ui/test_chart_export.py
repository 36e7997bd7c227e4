import csv

import pytest
from PySide6.QtGui import QColor, QGuiApplication, QImage
from PySide6.QtWidgets import QFileDialog

from gpuplanner.messages import msg
from gpuplanner.ui.widgets.chart import Chart
from gpuplanner.ui.widgets.chart_axes import Axis
from gpuplanner.ui.widgets.chart_export import file_name
from gpuplanner.ui.widgets.chart_series import Series, SeriesKind

HOSTILE = '=HYPERLINK("http://x")\tA'


@pytest.fixture
def chart(appearance, qtbot):
    chart = Chart(appearance, msg("ui.term.busbw"), Axis("Size", log=True, is_bytes=True), Axis("Rate", "GB/s"))
    chart.set_series(
        [
            Series("Expected", [65536.0, 2.0**20], [1250.5, 2000], SeriesKind.EXPECTED, [1000, 1600], [1300, 2100]),
            Series("Measured", [65536.0], [900], names=[HOSTILE]),
        ]
    )
    qtbot.addWidget(chart)
    chart.resize(500, 320)
    chart.show()
    return chart


def test_numbers_for_spreadsheets_have_units_bands_and_no_formulas(chart, tmp_path):
    path = tmp_path / "rates.csv"
    chart.export(path)
    head, *rows = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    assert head == ["Series", "Point", "Size (B)", "Rate (GB/s)", "Lowest (GB/s)", "Highest (GB/s)"]
    assert rows[0] == ["Expected", "", "65536", "1250.5", "1000", "1300"]
    assert rows[2] == ["Measured", f"'{HOSTILE}", "65536", "900", "", ""]


def test_what_is_copied_holds_no_formula_and_no_torn_row(chart):
    chart._copy()
    rows = list(csv.reader(QGuiApplication.clipboard().text().splitlines(), delimiter="\t"))
    assert rows[3] == ["Measured", f"'{HOSTILE}", "65536", "900"]


def test_a_picture_shows_the_chart_on_the_colour_of_the_card(chart, appearance, tmp_path):
    path = tmp_path / "rates.png"
    chart.export(path)
    image = QImage(str(path))
    assert (image.width(), image.height()) == (chart.width() * 2, chart.height() * 2)
    corner = image.pixelColor(image.width() - 3, image.height() - 3)
    assert corner.name() == QColor(appearance.tokens.card).name()
    seen = {image.pixelColor(x, y).name() for x in range(0, image.width(), 2) for y in range(0, image.height(), 2)}
    assert QColor(appearance.tokens.card).name() in seen
    assert QColor(appearance.tokens.series[1]).name() in seen


def test_a_chart_of_a_narrow_card_is_saved_as_wide_as_a_page(appearance, qtbot, tmp_path):
    axes = Axis("Size", log=True, is_bytes=True, untitled=True), Axis("Rate", "GB/s", untitled=True)
    still = Chart(appearance, msg("ui.term.busbw"), *axes, still=True, plot_height=160)
    still.set_series([Series("Measured", [65536.0, 2.0**20], [900, 950], note="a source " * 12)])
    qtbot.addWidget(still)
    still.resize(300, 240)
    still.show()
    for suffix in (".png", ".svg"):
        still.export(tmp_path / f"rates{suffix}")
    image = QImage(str(tmp_path / "rates.png"))
    assert image.width() >= 2 * 800
    drawing = (tmp_path / "rates.svg").read_text(encoding="utf-8")
    assert "Rate GB/s" in drawing
    assert appearance.text(msg("ui.term.busbw")) in drawing
    assert ("a source " * 12).strip() in drawing
    assert still.findChildren(Chart) == []


def test_a_drawing_is_made_of_lines_and_not_of_a_picture(chart, tmp_path):
    path = tmp_path / "rates.svg"
    chart.export(path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<?xml")
    assert "<image" not in text
    assert "<path" in text or "<polyline" in text


def test_a_folder_that_is_not_there_is_told_below_the_chart(chart, tmp_path):
    chart.export(tmp_path / "none" / "rates.csv")
    assert chart.said.isVisible()
    assert "none" in chart.said.text()
    chart.export(tmp_path / "rates.csv")
    assert chart.said.text() == "Saved as rates.csv"


def test_the_menu_asks_where_to_and_adds_the_suffix(chart, tmp_path, monkeypatch):
    asked = []

    def answer(_owner, _title, name, kinds):
        asked.append((name, kinds))
        return str(tmp_path / "mine"), kinds

    monkeypatch.setattr(QFileDialog, "getSaveFileName", answer)
    chart._ask_where(".csv")
    assert (tmp_path / "mine.csv").exists()
    assert asked[0][0].startswith("gpuplanner-")
    assert asked[0][1] == "CSV (*.csv)"


def test_a_name_that_is_proposed_is_one_that_every_system_takes():
    assert file_name("All-reduce: bus/bandwidth?", ".svg") == "gpuplanner-all-reduce-bus-bandwidth.svg"
    assert file_name("总线带宽", ".png") == "gpuplanner-总线带宽.png"
    assert file_name("///", ".png") == "gpuplanner-chart.png"
