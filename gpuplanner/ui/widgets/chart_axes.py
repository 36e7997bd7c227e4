"""Axes of charts: what their ticks say and where they stand. Never "(x1e+09)", and sizes in powers of two."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF

from gpuplanner.messages import MessageValue

_TICK_DIGITS = ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 3, 4, 6, 8), (1, 2, 5), (1,))
_APART = {"bottom": 44.0, "left": 18.0}
"""Pixels from tick to tick, so that their words do not touch."""
_BEYOND = 12.0
"""Pixels by which words stand out over the ends of an axis."""
_LEAST_WIDTH, _BESIDE = 24.0, 10.0
_BETWEEN, _SHORTENED_FROM = 8.0, 60.0
"""Pixels between two labels, and from how far apart on long ones end in an ellipsis."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: what it says, its unit, whether it is logarithmic, and whether it counts bytes.

    `labels`: names of the places 0, 1, 2…, where it has names and no numbers. With `untitled` its title stands in
    tables and files alone, where the chart has little room and says elsewhere what is drawn.
    """

    title: MessageValue
    unit: str = ""
    log: bool = False
    is_bytes: bool = False
    labels: tuple[str, ...] = ()
    untitled: bool = False

    def said(self, value: float) -> str:
        """A value of the axis as a person reads it, without its unit."""
        if self.labels:
            return self.labels[round(value)] if 0 <= round(value) < len(self.labels) else ""
        return bytes_tick(value) if self.is_bytes else number_tick(value)


def bytes_tick(value: float) -> str:
    """A size of a message as benchmarks print it: 64K, 1M, 16M, 4G, in powers of 1024."""
    if value <= 0:
        return "0"
    step = min(4, max(0, int(math.log2(value) // 10)))
    number = round(value / 1024.0**step)
    if number == 1024 and step < 4:
        number, step = 1, step + 1
    return f"{number}{'BKMGT'[step] if step else ' B'}"


def number_tick(value: float) -> str:
    """A number of an axis in words that need no exponent: 0.05, 1, 2,500, 10k, 2M."""
    magnitude = abs(value)
    for factor, suffix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "")):
        if suffix and magnitude >= factor:
            return f"{value / factor:g}{suffix}"
    return f"{value / 1e3:g}k" if magnitude >= 1e4 else f"{value:,.4g}"


def log_ticks(low: float, high: float, size: float, apart: float) -> list[float]:
    """Where the ticks of a logarithmic axis stand, from 10**low to 10**high over `size` pixels, as powers of ten.

    As many as stand `apart` pixels from each other: all digits, fewer of them, or the powers of ten alone.
    """
    per_decade = size / max(high - low, 1e-9)
    for digits in _TICK_DIGITS:
        places = [math.log10(digit) for digit in digits]
        closest = min(after - before for before, after in pairwise((*places, 1.0)))
        if closest * per_decade >= apart or len(digits) == 1:
            decades = range(math.floor(low), math.ceil(high) + 1)
            return [p for decade in decades for place in places if low <= (p := decade + place) <= high]
    return []


def tick_axis(pg: Any, side: str, now: Callable[[], Axis]) -> Any:
    """The axis as pyqtgraph draws it. `now`: what it is; whether it is logarithmic does not change."""

    class TickAxis(pg.AxisItem):  # type: ignore[misc]  # pyqtgraph has no types
        def boundingRect(self) -> QRectF:
            # With a grid the words at the ends would be left out; in the corner those of both axes would touch.
            inside: QRectF = super().boundingRect()
            return inside.adjusted(0, -_BEYOND, 0, _BEYOND) if side == "left" else inside.adjusted(0, 0, _BEYOND, 0)

        def make_room(self) -> None:
            """Be as wide as the longest word: one that does not fit is left out and never makes the axis wider."""
            low, high = self.range
            levels = self.tickValues(low, high, max(1.0, self.geometry().height()))
            words = [word for step, places in levels for word in self.tickStrings(places, 1.0, step)]
            metrics = self._metrics()
            wide = max((metrics.horizontalAdvance(word) for word in words), default=0.0)
            title = self.label.boundingRect().height() if self.label.isVisible() else 0.0
            self.setWidth(int(max(_LEAST_WIDTH, wide + title) + _BESIDE))

        def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
            if self.logMode:
                return self.logTickStrings(values, scale, spacing)
            # Not by the scale of the axis: that is of prefixes that pyqtgraph would put before units.
            words = [now().said(value) for value in values]
            if not now().labels:
                return words
            low, high = self.range
            apart = spacing * self.geometry().width() / max(high - low, 1e-9)
            if apart < _SHORTENED_FROM:
                return words
            room, metrics = apart - _BETWEEN, self._metrics()
            return [metrics.elidedText(word, Qt.TextElideMode.ElideRight, room) for word in words]

        def _metrics(self) -> QFontMetricsF:
            return QFontMetricsF(self.style["tickFont"] or QFont())

        def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
            labels = now().labels
            if not labels:
                return list(super().tickValues(low, high, size))
            metrics = self._metrics()
            step = label_step([metrics.horizontalAdvance(label) for label in labels], size / max(high - low, 1e-9))
            return [(float(step), [float(at) for at in range(0, len(labels), step) if low <= at <= high])]

        def logTickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
            return [now().said(10.0**value) for value in values]

        def logTickValues(self, low: float, high: float, size: float, levels: Any) -> list[tuple[float, list[float]]]:
            if not now().is_bytes:
                ticks = log_ticks(low, high, size, _APART[side])
                # Within one decade there may be none: then as on an even axis.
                return [(1.0, ticks)] if len(ticks) > 1 else list(super().logTickValues(low, high, size, levels))
            first, last = math.ceil(low / math.log10(2)), math.floor(high / math.log10(2))
            step = next(s for s in (1, 2, 4, 5, 10, 20) if (last - first) / s <= max(2, size / 60) or s == 20)
            powers = range(first + (-first) % step, last + 1, step)
            return [(step * math.log10(2), [power * math.log10(2) for power in powers])]

    return TickAxis(side)


def label_step(widths: Sequence[float], pixels_apart: float) -> int:
    """Each how manyth label is written, so that they do not touch. Few that have some room are shortened instead."""
    if pixels_apart >= _SHORTENED_FROM:
        return 1
    return max(1, math.ceil((max(widths, default=1.0) + _BETWEEN) / max(pixels_apart, 1e-9)))
