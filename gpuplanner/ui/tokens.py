"""The colours and measures of the design, light and dark, as data. No Qt: a token is a text such as "#1671d8".

The light muted and primary inks are a shade darker than drawn, so that text keeps a contrast of 4.5 on every wash.
"""

from dataclasses import dataclass
from enum import StrEnum

RADIUS_CARD = 10
RADIUS_FIELD = 6
RADIUS_TAG = 5
GAP = 14
PADDING = 16
CONTROL_HEIGHT = 32
ROW_HEIGHT = 30
FOCUS_WIDTH = 2


class Verdict(StrEnum):
    """What a tag, a banner or a toast says; each has a mark, a word and a colour, never a colour alone."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"
    UNKNOWN = "unknown"
    INFO = "info"


MARKS = {Verdict.PASS: "✓", Verdict.WARN: "!", Verdict.FAIL: "✕", Verdict.UNKNOWN: "?", Verdict.INFO: "i"}
"""The mark that stands for a verdict where colours cannot be told apart."""


@dataclass(frozen=True, slots=True)
class Tone:
    """An ink and the wash that it is written on."""

    ink: str
    wash: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """The colours of one theme.

    `workspace` lies behind the cards; `field` fills inputs; `line_strong` borders what can be pointed at; `primary_ink`
    is the primary colour as text; `rest` paints what a stacked bar leaves over, `track` the empty part of a bar.
    """

    dark: bool
    workspace: str
    card: str
    field: str
    line: str
    line_strong: str
    hover: str
    text: str
    muted: str
    primary: str
    primary_hover: str
    on_primary: str
    primary_ink: str
    primary_wash: str
    track: str
    rest: str
    tones: dict[Verdict, Tone]
    series: tuple[str, ...]

    def tone(self, verdict: Verdict) -> Tone:
        """The ink and wash of a verdict."""
        return self.tones[verdict]


LIGHT = Tokens(
    dark=False,
    workspace="#f3f4f6",
    card="#ffffff",
    field="#ffffff",
    line="#e3e5ea",
    line_strong="#c9cdd6",
    hover="#f3f4f6",
    text="#1c2430",
    muted="#5f6876",
    primary="#1671d8",
    primary_hover="#0f62c4",
    on_primary="#ffffff",
    primary_ink="#0f62c4",
    primary_wash="#e8f1fd",
    track="#eceef2",
    rest="#c4c9d4",
    tones={
        Verdict.PASS: Tone("#0a7d4f", "#e3f4ec"),
        Verdict.WARN: Tone("#9a6200", "#fdf1d8"),
        Verdict.FAIL: Tone("#b3261e", "#fbe6e4"),
        Verdict.UNKNOWN: Tone("#5b6472", "#eceef2"),
        Verdict.INFO: Tone("#0f62c4", "#e8f1fd"),
    },
    series=("#0072b2", "#009e73", "#e69f00", "#cc79a7", "#56b4e9"),
)

DARK = Tokens(
    dark=True,
    workspace="#15171c",
    card="#1e2127",
    field="#15171c",
    line="#2f333c",
    line_strong="#474d59",
    hover="#282c34",
    text="#e6e8ec",
    muted="#9aa2af",
    primary="#5aa5ff",
    primary_hover="#7ab7ff",
    on_primary="#0c1420",
    primary_ink="#5aa5ff",
    primary_wash="#1d2f47",
    track="#2a2e36",
    rest="#565d6b",
    tones={
        Verdict.PASS: Tone("#57c795", "#173528"),
        Verdict.WARN: Tone("#e8b04a", "#3a2f16"),
        Verdict.FAIL: Tone("#ff8a80", "#45211f"),
        Verdict.UNKNOWN: Tone("#aab1bd", "#2a2e36"),
        Verdict.INFO: Tone("#5aa5ff", "#1d2f47"),
    },
    series=("#56a9e8", "#35c59a", "#e6a93c", "#d892ba", "#8fd0f5"),
)


def luminance(colour: str) -> float:
    """Relative luminance of "#rrggbb", 0 to 1 (WCAG 2.2)."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2); text needs 4.5."""
    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)
