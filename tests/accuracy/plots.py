"""Plots of predicted against measured as SVG: dots by source, the line where both are equal, a band. No library."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

SIZE, LEFT, TOP, BOTTOM, LEGEND = 340, 56, 30, 44, 210
BAND = math.log(1.25)
"""Between these lines a number is at most a quarter too large, or as much too small."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#6b4fa0", "#8c8c8c")
"""Okabe and Ito's palette, which people who see two primaries tell apart; grey for all further sources."""
LONGEST_NAME = 30


@dataclass(frozen=True, slots=True)
class Dot:
    """One measured number and what was predicted."""

    measured: float
    predicted: float
    source: str


@dataclass(frozen=True, slots=True)
class _Scale:
    """Logarithms of both axes onto pixels; whole ones, so that the last digit of a number moves nothing."""

    low: float
    high: float

    def x(self, log: float) -> int:
        return round(LEFT + (log - self.low) / (self.high - self.low) * SIZE)

    def y(self, log: float) -> int:
        return round(TOP + SIZE - (log - self.low) / (self.high - self.low) * SIZE)


def plot(title: str, column: str, dots: Sequence[Dot]) -> str:
    """The SVG of one family and column. Raises ValueError when there is nothing to show."""
    if not dots:
        raise ValueError(title)
    logs = [math.log10(number) for dot in dots for number in (dot.measured, dot.predicted)]
    scale = _Scale(math.floor(min(logs) * 2) / 2 - 0.05, math.ceil(max(logs) * 2) / 2 + 0.05)
    box = f"0 0 {LEFT + SIZE + LEGEND} {TOP + SIZE + BOTTOM}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" font-family="sans-serif" font-size="11" fill="#333">',
        f'<rect width="100%" height="100%" fill="#fff"/><text x="{LEFT}" y="18" font-size="13">{escape(title)}</text>',
        f'<rect x="{LEFT}" y="{TOP}" width="{SIZE}" height="{SIZE}" fill="none" stroke="#999"/>',
        *_ticks(scale),
        *_lines(scale),
        f'<text x="{LEFT + SIZE // 2}" y="{TOP + SIZE + 36}" text-anchor="middle">measured ({escape(column)})</text>',
        f'<text transform="translate(12 {TOP + SIZE // 2}) rotate(-90)" text-anchor="middle">predicted</text>',
    ]
    counted = Counter(dot.source for dot in dots)
    sources = sorted(counted, key=lambda source: (-counted[source], source))
    for place, source in reversed(list(enumerate(sources))):
        colour = COLOURS[min(place, len(COLOURS) - 1)]
        spots = sorted(
            {(scale.x(math.log10(d.measured)), scale.y(math.log10(d.predicted))) for d in dots if d.source == source}
        )
        path = "".join(f"M{x},{y}h1" for x, y in spots)
        parts.append(
            f'<path d="{path}" stroke="{colour}" stroke-width="3" stroke-linecap="round" stroke-opacity="0.55"/>'
        )
    parts += _legend(sources, counted)
    return "\n".join((*parts, "</svg>")) + "\n"


def _ticks(scale: _Scale) -> list[str]:
    found = []
    for power in range(math.ceil(scale.low), math.floor(scale.high) + 1):
        x, y = scale.x(power), scale.y(power)
        label = f"{10.0**power:g}"
        found.append(
            f'<path d="M{x},{TOP}V{TOP + SIZE}M{LEFT},{y}H{LEFT + SIZE}" stroke="#e4e4e4"/>'
            f'<text x="{x}" y="{TOP + SIZE + 16}" text-anchor="middle">{label}</text>'
            f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{label}</text>'
        )
    return found


def _lines(scale: _Scale) -> list[str]:
    shift = BAND / math.log(10)
    ends = scale.low, scale.high
    equal = f"M{scale.x(ends[0])},{scale.y(ends[0])}L{scale.x(ends[1])},{scale.y(ends[1])}"
    above = f"M{scale.x(ends[0])},{scale.y(ends[0] + shift)}L{scale.x(ends[1] - shift)},{scale.y(ends[1])}"
    below = f"M{scale.x(ends[0] + shift)},{scale.y(ends[0])}L{scale.x(ends[1])},{scale.y(ends[1] - shift)}"
    return [
        f'<path d="{equal}" stroke="#333" fill="none"/>',
        f'<path d="{above}{below}" stroke="#999" stroke-dasharray="4 3" fill="none"/>',
    ]


def _legend(sources: Sequence[str], counted: Counter[str]) -> list[str]:
    found = []
    shown = len(COLOURS) - 1 if len(sources) > len(COLOURS) else len(sources)
    rows = [(source or "not named", counted[source]) for source in sources[:shown]]
    if len(sources) > shown:
        rows.append((f"{len(sources) - shown} others", sum(counted[source] for source in sources[shown:])))
    for place, (name, dots) in enumerate(rows):
        y = TOP + 8 + 18 * place
        text = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
        found.append(
            f'<circle cx="{LEFT + SIZE + 14}" cy="{y}" r="4" fill="{COLOURS[min(place, len(COLOURS) - 1)]}"/>'
            f'<text x="{LEFT + SIZE + 24}" y="{y + 4}">{escape(text)} ({dots})</text>'
        )
    return found
