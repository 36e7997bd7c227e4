"""A label that says a message and says it again when the language changes."""

import re
from enum import Enum

from PySide6.QtCore import QEvent, QMargins, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from gpuplanner.messages import MessageValue
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.painting import draw_text
from gpuplanner.ui.tips import plain_tip

_MOST_TOGETHER = 24
_WIDTHS_KEPT = 16
_LONG_WORD = re.compile(rf"\S{{{_MOST_TOGETHER + 1},}}")
_BREAK, _JOIN = "\u200b", "\u2060"
"""Zero width space: a line may end there; word joiner: none may."""
_RATE = re.compile(r"(?<=[A-Za-z])/(?=(?:s|h|d|kWh|M|GPU|token)\b)")
"""The stroke of "500 MB/s", after which Qt would end a line."""


class Ink(Enum):
    """The colour of a label, as a role of the palette, so that it follows the theme by itself."""

    TEXT = QPalette.ColorRole.WindowText
    MUTED = QPalette.ColorRole.PlaceholderText
    PRIMARY = QPalette.ColorRole.Link
    FAIL = QPalette.ColorRole.BrightText


class Label(QLabel):
    """Text in one of the roles and inks of the design. Give a Message for our words, a text for somebody's own."""

    def __init__(
        self,
        appearance: Appearance,
        says: MessageValue = "",
        role: TextRole = TextRole.BODY,
        ink: Ink = Ink.TEXT,
        *,
        wrap: bool = False,
        selectable: bool = False,
        elide: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        """With `elide` it may become narrower than its text; it ends in an ellipsis then, and its tooltip says all."""
        super().__init__(parent)
        self._appearance = appearance
        self._clear = QMargins()
        self._heights: dict[int, int] = {}
        self._told = ""
        self._face = role, ink
        self.elides = elide
        if elide:
            self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self._says: MessageValue = says
        # Not where it can be copied: the places to break would be copied too.
        self._breaks = wrap and not selectable
        self.setFont(font(role))
        self.setForegroundRole(ink.value)
        self.setTextFormat(Qt.TextFormat.PlainText)
        if wrap:
            self.setWordWrap(True)
            self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        if selectable:
            self.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
        appearance.languageChanged.connect(self._render)
        self._render()

    def say(self, says: MessageValue) -> None:
        """Say something else."""
        if says != self._says:
            self._says = says
            self._render()

    def set_role(self, role: TextRole, ink: Ink) -> None:
        """Change size, weight and colour."""
        if (role, ink) != self._face:
            self._face = role, ink
            self.setFont(font(role))
            self.setForegroundRole(ink.value)

    def keep_clear(self, left: int, top: int, right: int, bottom: int) -> None:
        """Pixels around the text. They stay when the theme changes: a QFrame forgets its margins then."""
        self._clear = QMargins(left, top, right, bottom)
        self._heights.clear()
        self.setContentsMargins(self._clear)

    def heightForWidth(self, width: int) -> int:
        # Layouts ask for the same widths again and again, and each time Qt would break the text into lines.
        height = self._heights.get(width)
        if height is None:
            if len(self._heights) >= _WIDTHS_KEPT:
                self._heights.clear()
            height = self._heights[width] = super().heightForWidth(width)
        return height

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is not QEvent.Type.PaletteChange:
            self._heights.clear()
        if event.type() is QEvent.Type.StyleChange and not self._clear.isNull():
            self.setContentsMargins(self._clear)

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        return QSize(min(hint.width(), 24), hint.height()) if self.elides else hint

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.elides:
            super().paintEvent(event)
            return
        painter = QPainter(self)
        painter.setFont(self.font())
        draw_text(painter, QRectF(self.contentsRect()), self.text(), self.palette().color(self.foregroundRole()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._say_all_when_cut()

    def _say_all_when_cut(self) -> None:
        if self.elides and self.toolTip() in {"", self._told}:  # What others say of it stays.
            cut = self.fontMetrics().horizontalAdvance(self.text()) > self.contentsRect().width()
            self._told = plain_tip(self.text()) if cut else ""
            self.setToolTip(self._told)

    def _render(self) -> None:
        text = self._appearance.said(self._says)
        self._heights.clear()
        self.setText(_breakable(text) if self._breaks else text)
        self._say_all_when_cut()


def _breakable(text: str) -> str:
    """The text with places to break in words that no line holds, such as the name of a file, and none in a rate."""
    whole = _RATE.sub(f"{_JOIN}/{_JOIN}", text)
    return _LONG_WORD.sub(lambda word: _BREAK.join(re.findall(f".{{1,{_MOST_TOGETHER}}}", word[0])), whole)
