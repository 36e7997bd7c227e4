"""The faces of the window: Inter, then a Simplified Chinese face by name, so that no system chooses a Japanese one."""

from collections.abc import MutableMapping
from enum import Enum
from functools import cache

from PySide6.QtGui import QFont, QFontDatabase

from gpuplanner.paths import shipped

FAMILIES = (
    "Inter",
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Microsoft YaHei UI",
    "Microsoft YaHei",
    "PingFang SC",
    "WenQuanYi Micro Hei",
)
MONOSPACED = ("JetBrains Mono", "Cascadia Mono", "SF Mono", "Menlo", "Consolas", "DejaVu Sans Mono", "Noto Sans Mono")


class TextRole(Enum):
    """What a text is for: its size in pixels, its weight, and whether its figures all have one width."""

    BODY = (13, QFont.Weight.Normal, False)
    STRONG = (13, QFont.Weight.DemiBold, False)
    NUMBER = (13, QFont.Weight.Normal, True)
    BUTTON = (13, QFont.Weight.Medium, False)
    LABEL = (12, QFont.Weight.Normal, False)
    LABEL_STRONG = (12, QFont.Weight.DemiBold, False)
    TAG = (11, QFont.Weight.DemiBold, True)
    TITLE = (15, QFont.Weight.DemiBold, False)
    HEADLINE = (20, QFont.Weight.DemiBold, False)
    FIGURE = (24, QFont.Weight.DemiBold, False)
    CODE = (12, QFont.Weight.Normal, True)


_PROPERTIES = "FREETYPE_PROPERTIES"
_STROKES = "cff:darkening-parameters=500,160,1000,110,1667,110,2333,0"
"""How much wider FreeType makes a stroke of so many thousandths of the size (its property "darkening-parameters"): two
fifths of its own amounts. Qt turns the widening on for CFF faces, which ours and Noto's are, and in full it makes
Chinese at 13 px as dark as a bold face; without any, black on white is thin, since Qt then blends in linear light.
"""


def lighten_strokes(environment: MutableMapping[str, str]) -> None:
    """Say how FreeType draws strokes; what a person said of it stays. Called before Qt draws its first text."""
    said = environment.get(_PROPERTIES, "")
    if "cff:darkening-parameters" not in said:
        environment[_PROPERTIES] = f"{said} {_STROKES}".strip()


def load_fonts() -> None:
    """Make the shipped faces known to Qt, and no others. Called after the style is made: Qlementine brings an Inter of
    its own, an older one with other widths, and which of two faces of one name Qt takes is anybody's guess.
    """
    QFontDatabase.removeAllApplicationFonts()
    for path in sorted((shipped("resources") / "fonts").glob("*.otf")):
        QFontDatabase.addApplicationFont(str(path))


def font(role: TextRole = TextRole.BODY) -> QFont:
    """The font for a role, the caller's own to change."""
    return QFont(_made(role))


@cache
def _made(role: TextRole) -> QFont:
    """Made once for each role: a table asks for it with every cell that it paints."""
    pixels, weight, tabular = role.value
    face = QFont()
    face.setFamilies([*MONOSPACED, *FAMILIES[1:]] if role is TextRole.CODE else list(FAMILIES))
    face.setPixelSize(pixels)
    face.setWeight(weight)
    # Strokes of Chinese are sharper when they lie on whole rows; columns are left alone, and so the spacing of Inter.
    face.setHintingPreference(QFont.HintingPreference.PreferVerticalHinting)
    if role is TextRole.FIGURE:
        # Inter's spacing is meant for small text.
        face.setLetterSpacing(QFont.SpacingType.PercentageSpacing, 98)
    # Inter draws an x between digits as ×, and "h100x8" has to be read as it is typed.
    face.setFeature(QFont.Tag("calt"), 0)
    if tabular:
        face.setFeature(QFont.Tag("tnum"), 1)
    return face
