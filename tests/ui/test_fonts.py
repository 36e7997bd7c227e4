"""Names stand as they are written: no glyph is exchanged for another one."""

import pytest
from PySide6.QtGui import QColor, QFontDatabase, QImage, QPainter, QRawFont, QTextLayout

from gpuplanner.ui.fonts import TextRole, font, lighten_strokes
from gpuplanner.ui.tokens import DARK, LIGHT


def glyphs(text, role):
    layout = QTextLayout(text, font(role))
    layout.beginLayout()
    layout.createLine()
    layout.endLayout()
    return [glyph for run in layout.glyphRuns() for glyph in run.glyphIndexes()]


@pytest.mark.parametrize("role", list(TextRole))
def test_an_x_between_digits_stays_an_x(dressed, role):
    assert glyphs("h100x8", role)[4] == glyphs("x", role)[0]
    assert glyphs("100×8", role)[3] != glyphs("100x8", role)[3]


def test_our_own_inter_is_drawn_and_not_that_of_the_style(dressed):
    """The style brings an older one of the same name, as TrueType, whose body would stand beside our titles."""
    for tokens in (DARK, LIGHT):
        dressed.dress(tokens)
        for role in (TextRole.BODY, TextRole.STRONG, TextRole.NUMBER):
            assert QRawFont.fromFont(font(role)).fontTable("CFF ").size() > 0, role


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, "cff:darkening-parameters="),
        ({"FREETYPE_PROPERTIES": "truetype:interpreter-version=35"}, "truetype:interpreter-version=35 cff:dark"),
    ],
)
def test_strokes_are_lightened_beside_what_a_person_says(before, after):
    lighten_strokes(before)
    assert before["FREETYPE_PROPERTIES"].startswith(after)


def test_what_a_person_says_of_strokes_stays():
    said = {"FREETYPE_PROPERTIES": "cff:darkening-parameters=500,0,1000,0,1667,0,2333,0"}
    kept = dict(said)
    lighten_strokes(said)
    assert said == kept


def test_chinese_titles_are_heavier_than_what_stands_under_them(dressed):
    """The faces of Chinese have few weights: what falls together must be body and buttons, never body and titles."""

    def ink(role: TextRole) -> float:
        image = QImage(400, 40, QImage.Format.Format_Grayscale8)
        image.fill(QColor("white"))
        face = font(role)
        face.setPixelSize(13)
        painter = QPainter(image)
        painter.setFont(face)
        painter.drawText(10, 28, "推理部署撤销更多")
        painter.end()
        return float(sum(255 - QColor(image.pixel(x, y)).lightness() for x in range(400) for y in range(40)))

    if not any("CJK" in family for family in QFontDatabase.families()):
        pytest.skip("no Chinese face with a bold weight here")
    body = ink(TextRole.BODY)
    # With the strokes as FreeType widens them by itself it is 1.37, and body looks like titles.
    assert ink(TextRole.STRONG) > 1.45 * body
    assert ink(TextRole.BUTTON) < 1.1 * body
    assert ink(TextRole.LABEL) < 1.1 * body
