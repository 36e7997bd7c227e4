"""What the live card shows as a file: a picture, a drawing, numbers, or the session itself to open again."""

from collections.abc import Sequence

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, QSize
from PySide6.QtGui import QColor, QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgGenerator

from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.machines_place.live.strip_view import StripView
from gpuplanner.ui.painting import draw_text

SESSION = ".gplive"
FILTERS = {".png": "PNG (*.png)", ".svg": "SVG (*.svg)", ".csv": "CSV (*.csv)", SESSION: f"gpuplanner (*{SESSION})"}
_WIDTH, _MARGIN, _TITLE = 900, 16, 26


def picture(strips: Sequence[StripView], title: str, appearance: Appearance) -> bytes:
    """The strips as PNG, at twice the density of a plain screen."""
    size = _size(strips)
    image = QImage(size * 2, QImage.Format.Format_RGB32)
    image.fill(QColor(appearance.tokens.card))
    painter = QPainter(image)
    painter.scale(2, 2)
    _paint(painter, strips, title, appearance)
    painter.end()
    held = QByteArray()
    buffer = QBuffer(held)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"png")).write(image)
    return bytes(held.data())


def drawing(strips: Sequence[StripView], title: str, appearance: Appearance) -> bytes:
    """The strips as SVG."""
    held = QByteArray()
    buffer = QBuffer(held)
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    size = _size(strips)
    generator.setSize(size)
    generator.setViewBox(QRectF(0, 0, size.width(), size.height()))
    generator.setTitle(title)
    painter = QPainter(generator)
    painter.fillRect(0, 0, size.width(), size.height(), QColor(appearance.tokens.card))
    _paint(painter, strips, title, appearance)
    painter.end()
    return bytes(held.data())


def _size(strips: Sequence[StripView]) -> QSize:
    return QSize(_WIDTH, 2 * _MARGIN + _TITLE + sum(strip.sizeHint().height() + 8 for strip in strips))


def _paint(painter: QPainter, strips: Sequence[StripView], title: str, appearance: Appearance) -> None:
    tokens = appearance.tokens
    wide = _WIDTH - 2 * _MARGIN
    painter.setFont(font(TextRole.STRONG))
    draw_text(painter, QRectF(_MARGIN, _MARGIN - 4, wide, _TITLE), title, tokens.text)
    top = float(_MARGIN + _TITLE)
    for strip in strips:
        strip.paint(painter, QRectF(_MARGIN, top, wide, strip.sizeHint().height()), tokens)
        top += strip.sizeHint().height() + 8
