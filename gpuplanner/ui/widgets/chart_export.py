"""A chart as a file: a picture, a drawing, or its numbers for other programs. Asks nobody where to."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, QRect, QRectF, QSaveFile, QSize
from PySide6.QtGui import QColor, QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QWidget

from gpuplanner.messages import InputError, for_spreadsheet, msg

Paint: TypeAlias = Callable[[QPainter], object]
FILTERS = {".png": "PNG (*.png)", ".svg": "SVG (*.svg)", ".csv": "CSV (*.csv)"}
DENSITY = 2
"""Pixels of a picture for one of the window, so that it is sharp in print."""
_NAME_LETTERS = 60
_INSIDE = QWidget.RenderFlag.DrawChildren
"""Without the window's background, which would lie over the paper."""


def file_name(title: str, suffix: str) -> str:
    """The name that is proposed: letters and digits of any language, so that every system takes it."""
    words = re.sub(r"[\W_]+", "-", title).strip("-").lower()[:_NAME_LETTERS].rstrip("-")
    return f"gpuplanner-{words or 'chart'}{suffix}"


def as_text(head: Sequence[str], rows: Iterable[Sequence[str | float | None]], delimiter: str = ",") -> str:
    """Rows for spreadsheets: a decimal point whatever the language, and no name that one takes for a formula."""
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter=delimiter, lineterminator="\n")
    writer.writerow([for_spreadsheet(cell) for cell in head])
    writer.writerows([[_cell(value) for value in row] for row in rows])
    return written.getvalue()


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    return for_spreadsheet(value) if isinstance(value, str) else f"{value:.10g}"


def picture(widget: QWidget, paper: QColor) -> bytes:
    """A widget as PNG, as it looks now."""
    return painted_picture(widget.size(), paper, _rendering(widget))


def drawing(widget: QWidget, title: str, paper: QColor) -> bytes:
    """A widget as SVG, as it looks now."""
    return painted_drawing(widget.size(), title, paper, _rendering(widget))


def _rendering(widget: QWidget) -> Paint:
    return lambda painter: widget.render(painter, QPoint(), renderFlags=_INSIDE)


def painted_picture(size: QSize, paper: QColor, paint: Paint) -> bytes:
    """What `paint` draws on paper of a size, in pixels of the window, as PNG."""
    image = QImage(size * DENSITY, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(DENSITY)
    image.fill(paper)
    painter = QPainter(image)
    paint(painter)
    painter.end()
    held = QByteArray()
    buffer = QBuffer(held)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"png")).write(image)
    return bytes(held.data())


def painted_drawing(size: QSize, title: str, paper: QColor, paint: Paint) -> bytes:
    """The same as SVG, under a title."""
    held = QByteArray()
    buffer = QBuffer(held)
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setSize(size)
    generator.setViewBox(QRectF(0, 0, size.width(), size.height()))
    generator.setTitle(title)
    painter = QPainter(generator)
    painter.fillRect(QRect(QPoint(), size), paper)
    paint(painter)
    painter.end()
    return bytes(held.data())


def write(path: Path, content: bytes) -> None:
    """Write a file, or leave the one that is there as it is. Raises InputError with one sentence when it cannot."""
    file = QSaveFile(str(path))
    opened = file.open(QIODevice.OpenModeFlag.WriteOnly)
    if not opened or file.write(content) != len(content) or not file.commit():
        raise InputError(msg("ui.chart.export_failed", file=str(path), why=file.errorString()))
