"""Shapes and texts as our own widgets paint them: crisp boxes, the ring of the focus, an ellipsis, a capital first."""

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPainterPath, QPen
from PySide6.QtWidgets import QWidget

from gpuplanner.ui.tokens import FOCUS_WIDTH

Colour = str | QColor


def painter_for(widget: QWidget) -> QPainter:
    """An antialiasing painter on a widget."""
    painter = QPainter(widget)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    return painter


def rounded_box(
    painter: QPainter, area: QRectF, radius: float, fill: Colour | None = None, border: Colour | None = None
) -> None:
    """A box with round corners; a border of one pixel lies inside `area`."""
    painter.setPen(QPen(QColor(border), 1) if border else Qt.PenStyle.NoPen)
    painter.setBrush(QColor(fill) if fill else Qt.BrushStyle.NoBrush)
    inside = area.adjusted(0.5, 0.5, -0.5, -0.5) if border else area
    painter.drawRoundedRect(inside, radius, radius)


def focus_ring(painter: QPainter, area: QRectF, radius: float, colour: Colour) -> None:
    """The ring that shows where the keyboard is, inside `area`."""
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(colour), FOCUS_WIDTH))
    half = FOCUS_WIDTH / 2
    painter.drawRoundedRect(area.adjusted(half, half, -half, -half), radius - half, radius - half)


def rounded_clip(area: QRectF, radius: float) -> QPainterPath:
    """A path to clip by, so that what is painted has round corners."""
    path = QPainterPath()
    path.addRoundedRect(area, radius, radius)
    return path


def hatch(painter: QPainter, area: QRectF, colour: Colour, spacing: float = 6.0) -> None:
    """Oblique lines over an area, the same at every density (Qt's patterns count device pixels)."""
    painter.save()
    painter.setClipRect(area, Qt.ClipOperation.IntersectClip)
    painter.setPen(QPen(QColor(colour), 1.5))
    height = area.height()
    steps = int((area.width() + height) / spacing) + 1
    for step in range(steps):
        left = area.left() - height + step * spacing
        painter.drawLine(QPointF(left, area.bottom()), QPointF(left + height, area.top()))
    painter.restore()


def with_capital(text: str) -> str:
    """A text at the head of a line or a tag: "one step" as "One step", and "vCPU" and "p90" as they are."""
    return text[:1].upper() + text[1:] if text[:1].islower() and (text[1:2].islower() or text[1:2] == " ") else text


def draw_text(
    painter: QPainter,
    area: QRectF,
    text: str,
    colour: Colour,
    align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter,
) -> None:
    """One line of text in the painter's font, with an ellipsis where it does not fit."""
    metrics = QFontMetricsF(painter.font())
    # To measure costs a quarter of what looking for the place of the ellipsis does, and most texts fit.
    if metrics.horizontalAdvance(text) > area.width():
        text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, area.width())
    painter.setPen(QColor(colour))
    painter.drawText(area, align, text)
