"""Names stand as they are written: no glyph is exchanged for another one."""

import pytest
from PySide6.QtGui import QTextLayout

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
