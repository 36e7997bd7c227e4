"""The icons of `resources/icons`, drawn in any colour at any size and density."""

from functools import lru_cache

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from gpuplanner.paths import shipped

_DENSITIES = (1.0, 1.5, 2.0, 3.0)


@lru_cache(maxsize=256)
def _renderer(name: str, colour: str) -> QSvgRenderer:
    drawing = (shipped("resources") / "icons" / f"{name}.svg").read_text(encoding="utf-8")
    return QSvgRenderer(QByteArray(drawing.replace("currentColor", colour).encode()))


def draw_icon(painter: QPainter, name: str, area: QRectF, colour: str) -> None:
    """Draw an icon into a square area."""
    _renderer(name, colour).render(painter, area)


def application_icon() -> QIcon:
    """The icon of the program, in its own colours."""
    return icon("gpuplanner", "", 64)


def icon(name: str, colour: str, size: int = 16) -> QIcon:
    """An icon for a menu or a control of Qt's, as pixmaps for the usual densities. It does not follow the theme."""
    result = QIcon()
    for density in _DENSITIES:
        pixmap = QPixmap(QSize(size, size) * density)
        pixmap.setDevicePixelRatio(density)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        draw_icon(painter, name, QRectF(0, 0, size, size), colour)
        painter.end()
        result.addPixmap(pixmap)
    return result
