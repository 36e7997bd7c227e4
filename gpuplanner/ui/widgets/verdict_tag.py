"""A verdict as a mark, a word and a colour: never a colour alone."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpuplanner.messages import MessageValue
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.painting import draw_text, painter_for, rounded_box, with_capital
from gpuplanner.ui.tokens import MARKS, RADIUS_TAG, Tokens, Verdict

_PADDING = 8.0
_HEIGHT = 20


def tag_text(verdict: Verdict, word: str) -> str:
    """What stands on a tag: the mark, and the word with a capital."""
    return f"{MARKS[verdict]} {with_capital(word)}"


def tag_width(verdict: Verdict, word: str) -> float:
    """How wide a tag is, mark included."""
    return QFontMetricsF(font(TextRole.TAG)).horizontalAdvance(tag_text(verdict, word)) + 2 * _PADDING


def draw_tag(painter: QPainter, area: QRectF, verdict: Verdict, word: str, tokens: Tokens) -> None:
    """Draw a tag at the left of `area`, centred in its height: for delegates of tables, and for the widget below."""
    tone = tokens.tone(verdict)
    width = min(tag_width(verdict, word), area.width())
    box = QRectF(area.left(), area.center().y() - _HEIGHT / 2, width, _HEIGHT)
    rounded_box(painter, box, RADIUS_TAG, tone.wash)
    painter.setFont(font(TextRole.TAG))
    draw_text(painter, box.adjusted(_PADDING, 0, 1 - _PADDING, 0), tag_text(verdict, word), tone.ink)


class VerdictTag(QWidget):
    """A verdict with its word. A screen reader hears the word."""

    def __init__(
        self,
        appearance: Appearance,
        verdict: Verdict = Verdict.UNKNOWN,
        word: MessageValue = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._verdict = verdict
        self._word = word
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        appearance.languageChanged.connect(self._render)
        appearance.themeChanged.connect(self.update)
        self._render()

    def set_verdict(self, verdict: Verdict, word: MessageValue) -> None:
        """Say another verdict."""
        if (verdict, word) == (self._verdict, self._word):
            return
        self._verdict = verdict
        self._word = word
        self._render()

    def text(self) -> str:
        """The word as it is shown."""
        return self._appearance.said(self._word)

    def sizeHint(self) -> QSize:
        return QSize(int(tag_width(self._verdict, self.text()) + 1), _HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(min(40, self.sizeHint().width()), _HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        draw_tag(painter_for(self), QRectF(self.rect()), self._verdict, self.text(), self._appearance.tokens)

    def _render(self) -> None:
        self.setAccessibleName(self.text())
        self.setToolTip(self.text() if self.width() < self.sizeHint().width() and self.isVisible() else "")
        self.updateGeometry()
        self.update()


DOT = 7.0


def draw_dot(painter: QPainter, centre_x: float, centre_y: float, colour: str) -> None:
    """The dot before a state."""
    box = QRectF(centre_x - DOT / 2, centre_y - DOT / 2, DOT, DOT)
    painter.setPen(Qt.PenStyle.NoPen)
    rounded_box(painter, box, DOT / 2, colour)
