"""The rail at the left: the name of the program, the places that exist, and the settings at the foot."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFontMetricsF, QKeyEvent, QKeySequence, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QVBoxLayout, QWidget

from gpuplanner.messages import Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text, focus_ring, painter_for, rounded_box
from gpuplanner.ui.tokens import RADIUS_FIELD
from gpuplanner.ui.widgets.focus import KeyboardFocus

WIDTH = 184
_ITEM = 34


class RailItem(KeyboardFocus, QAbstractButton):
    """One place in the rail."""

    def __init__(self, appearance: Appearance, title: Message, icon: str, shortcut: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._title = title
        self._icon = icon
        self._shortcut = shortcut
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        appearance.languageChanged.connect(self._render)
        self._render()

    def sizeHint(self) -> QSize:
        return QSize(WIDTH - 20, _ITEM)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        area = QRectF(self.rect())
        if self.isChecked():
            rounded_box(painter, area, RADIUS_FIELD, tokens.primary_wash)
        elif self.underMouse():
            rounded_box(painter, area, RADIUS_FIELD, tokens.hover)
        ink = tokens.primary_ink if self.isChecked() else tokens.muted
        draw_icon(painter, self._icon, QRectF(10, (_ITEM - 17) / 2, 17, 17), ink)
        painter.setFont(font(TextRole.STRONG if self.isChecked() else TextRole.BODY))
        draw_text(painter, area.adjusted(37, 0, -8, 0), self.text(), ink)
        if self.shows_focus:
            focus_ring(painter, area, RADIUS_FIELD, tokens.primary)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.click()
        elif event.key() == Qt.Key.Key_Down:
            self.focusNextChild()
        elif event.key() == Qt.Key.Key_Up:
            self.focusPreviousChild()
        else:
            super().keyPressEvent(event)

    def _render(self) -> None:
        text = self._appearance.text(self._title)
        self.setText(text)
        self.setAccessibleName(text)
        keys = QKeySequence(self._shortcut).toString(QKeySequence.SequenceFormat.NativeText)
        self.setToolTip(f"{text} ({keys})" if keys else text)
        self.update()


class Rail(QWidget):
    """The places, one of them current. `chosen` carries the id of the place that a person wants."""

    chosen = Signal(str)

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._items: dict[str, RailItem] = {}
        self.setFixedWidth(WIDTH)
        self._list = QVBoxLayout()
        self._list.setSpacing(2)
        self._foot = QVBoxLayout()
        self._foot.setSpacing(2)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 56, 10, 14)
        layout.addLayout(self._list)
        layout.addStretch(1)
        layout.addLayout(self._foot)
        appearance.themeChanged.connect(self.update)
        appearance.languageChanged.connect(self._render)
        self._render()

    def add(self, place_id: str, title: Message, icon: str, shortcut: str, *, foot: bool = False) -> None:
        """Add a place."""
        item = RailItem(self._appearance, title, icon, shortcut, self)
        item.clicked.connect(lambda: self.chosen.emit(place_id))
        self._items[place_id] = item
        (self._foot if foot else self._list).addWidget(item)

    def show_current(self, place_id: str) -> None:
        """Mark a place as the one that is shown."""
        for other, item in self._items.items():
            item.setChecked(other == place_id)

    def places(self) -> Sequence[str]:
        """The ids of the places, from top to bottom."""
        return tuple(self._items)

    def focus_current(self) -> None:
        """Put the keyboard on the current place."""
        item = next((i for i in self._items.values() if i.isChecked()), None)
        if item is not None:
            item.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        painter.fillRect(self.rect(), tokens.card)
        painter.fillRect(self.width() - 1, 0, 1, self.height(), tokens.line)
        painter.setFont(font(TextRole.TITLE))
        first, second = "gpu", "planner"
        width = QFontMetricsF(painter.font()).horizontalAdvance(first)
        draw_text(painter, QRectF(20, 11, width + 1, 30), first, tokens.text)
        draw_text(painter, QRectF(20 + width, 11, 120, 30), second, tokens.primary_ink)

    def _render(self) -> None:
        self.setAccessibleName(self._appearance.text(msg("ui.rail.name")))
