"""Names stand as they are written: no glyph is exchanged for another one."""

import pytest
from PySide6.QtGui import QColor, QFontDatabase, QImage, QPainter, QTextLayout

from gpuplanner.ui.fonts import TextRole, font


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
    assert ink(TextRole.STRONG) > 1.2 * body
    assert ink(TextRole.BUTTON) < 1.1 * body
    assert ink(TextRole.LABEL) < 1.1 * body
