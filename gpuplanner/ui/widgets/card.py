"""A card: the box with round corners that everything stands in, with a title row when there is something to say."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from gpuplanner.messages import MessageValue
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.painting import painter_for, rounded_box
from gpuplanner.ui.tokens import PADDING, RADIUS_CARD
from gpuplanner.ui.widgets.label import Ink, Label


class Card(QFrame):
    """A box with an optional title and muted note. Add to `body`; add to `title_row` what stands right of the title."""

    def __init__(
        self,
        appearance: Appearance,
        title: MessageValue = "",
        note: MessageValue = "",
        *,
        padding: int = PADDING,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self.title = Label(appearance, title, TextRole.STRONG)
        self.note = Label(appearance, note, TextRole.LABEL, Ink.MUTED, elide=True)
        self.note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.title_row = QHBoxLayout()
        self.title_row.setSpacing(8)
        self.title_row.addWidget(self.title)
        self.title_row.addWidget(self.note, 1)
        self.body = QVBoxLayout()
        self.body.setSpacing(10)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(padding, padding - 2, padding, padding)
        layout.setSpacing(10)
        if title:
            layout.addLayout(self.title_row)
        layout.addLayout(self.body, 1)
        appearance.themeChanged.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        rounded_box(painter_for(self), QRectF(self.rect()), RADIUS_CARD, tokens.card, tokens.line)


def line(appearance: Appearance, parent: QWidget | None = None) -> QWidget:
    """A hairline between rows of a card."""
    return _Line(appearance, parent)


class _Line(QWidget):
    def __init__(self, appearance: Appearance, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self.setFixedHeight(1)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        appearance.themeChanged.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter_for(self).fillRect(self.rect(), self._appearance.tokens.line)
