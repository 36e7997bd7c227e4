"""What a chart draws: series, how each is drawn in the theme's colours, and its entry in the legend."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpuplanner.messages import MessageValue
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.painting import draw_text, painter_for
from gpuplanner.ui.tips import plain_tip
from gpuplanner.ui.tokens import Tokens

SYMBOLS = ("o", "s", "t", "d", "star")
DASHES = (
    Qt.PenStyle.SolidLine,
    Qt.PenStyle.DashLine,
    Qt.PenStyle.DotLine,
    Qt.PenStyle.DashDotLine,
    Qt.PenStyle.DashDotDotLine,
)
_EXPECTED = (Qt.PenStyle.DashLine, Qt.PenStyle.DotLine, Qt.PenStyle.DashDotLine, Qt.PenStyle.DashDotDotLine)
_MOST_SYMBOLS = 32
"""Points of a line from which on symbols would hide it."""
_SWATCH = 31
_BAR = 11.0


class SeriesKind(Enum):
    """How a series is drawn."""

    EXPECTED = "expected"
    MEASURED = "measured"
    POINTS = "points"
    BARS = "bars"
    """A bar at each place; of an axis with labels."""
    CEILING = "ceiling"
    """What nothing can exceed: a thin line, muted."""


@dataclass(frozen=True, slots=True)
class Series:
    """One series in the units of the axes. `low` and `high` make a band; `names` say what each point is.

    `note` says where it is from: muted behind the name in the legend, and in files. `colour`: which of the theme's
    series colours; None for the one of its place. A `bare` line has no symbols and its note is in files alone.
    """

    name: MessageValue
    x: Sequence[float]
    y: Sequence[float]
    kind: SeriesKind = SeriesKind.MEASURED
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    names: Sequence[str] = ()
    emphasised: bool = False
    note: MessageValue = ""
    colour: int | None = None
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Style:
    """How one series is drawn: a dash (none for points alone) and a symbol (none for what is expected)."""

    colour: QColor
    dash: Qt.PenStyle | None
    symbol: str | None
    bar: bool = False
    width: float = 2.0

    @classmethod
    def of(cls, series: Series, position: int, all_series: Sequence[Series], tokens: Tokens) -> "Style":
        """The first measured series is solid, further ones are dashed each in its own way; so are expected ones."""
        of_place = position if series.colour is None else series.colour
        colour = QColor(tokens.series[of_place % len(tokens.series)])
        symbol = SYMBOLS[position % len(SYMBOLS)]
        before = [s for s in all_series[:position] if s.kind is series.kind]
        if series.kind is SeriesKind.EXPECTED:
            return cls(colour, _EXPECTED[len(before) % len(_EXPECTED)], None)
        if series.kind is SeriesKind.CEILING:
            return cls(QColor(tokens.muted), DASHES[len(before) % len(DASHES)], None, width=1.0)
        if series.kind is SeriesKind.POINTS:
            return cls(colour, None, symbol)
        if series.kind is SeriesKind.BARS:
            return cls(colour, None, None, bar=True)
        bare = series.bare or len(series.x) > _MOST_SYMBOLS
        return cls(colour, DASHES[len(before) % len(DASHES)], None if bare else symbol)


class Key(QWidget):
    """An entry of the legend: a piece of the line with its symbol, the name, and muted what is said of it."""

    def __init__(self, appearance: Appearance, name: str, style: Style, note: str = "") -> None:
        super().__init__()
        self._appearance = appearance
        self._name = name
        self._note = note
        self._style = style
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        if note:
            self.setToolTip(plain_tip(f"{name}\n{note}"))

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(font(TextRole.LABEL))
        note = metrics.horizontalAdvance(self._note) + 10 if self._note else 0.0
        return QSize(int(metrics.horizontalAdvance(self._name) + note) + _SWATCH + 3, 20)

    def minimumSizeHint(self) -> QSize:
        return QSize(_SWATCH + 40, 20)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = painter_for(self)
        self._paint_swatch(painter)
        face = font(TextRole.LABEL)
        painter.setFont(face)
        tokens = self._appearance.tokens
        area = QRectF(_SWATCH, 0, self.width() - _SWATCH, self.height())
        draw_text(painter, area, self._name, tokens.text)
        left = area.left() + QFontMetricsF(face).horizontalAdvance(self._name) + 8
        if self._note and left + 20 < self.width():
            draw_text(painter, QRectF(left, 0, self.width() - left, self.height()), self._note, tokens.muted)

    def _paint_swatch(self, painter: QPainter) -> None:
        middle, style = self.height() / 2, self._style
        if style.bar:
            painter.fillRect(QRectF(12 - _BAR / 2, middle - _BAR / 2, _BAR, _BAR), style.colour)
        if style.dash:
            painter.setPen(QPen(style.colour, style.width, style.dash))
            painter.drawLine(QPointF(0, middle), QPointF(24, middle))
        if style.symbol:
            from pyqtgraph.graphicsItems.ScatterPlotItem import Symbols

            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(style.colour)
            painter.translate(12, middle)
            painter.scale(8, 8)
            painter.drawPath(Symbols[style.symbol])
            painter.resetTransform()
