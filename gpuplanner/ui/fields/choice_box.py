"""A choice among many: a box that opens a list. For a few, `widgets/segmented.py` shows all of them."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFontMetricsF, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QComboBox, QSizePolicy, QStyledItemDelegate, QWidget

from gpuplanner.messages import Message
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text, focus_ring, painter_for, rounded_box
from gpuplanner.ui.tokens import CONTROL_HEIGHT, RADIUS_FIELD
from gpuplanner.ui.widgets.focus import KeyboardFocus
from gpuplanner.ui.widgets.segmented import Option


class ChoiceBox(KeyboardFocus, QComboBox):
    """A combo box painted as the design has it. It does not change when a person scrolls past it."""

    chosen = Signal(str)

    def __init__(
        self,
        appearance: Appearance,
        options: Sequence[Option] = (),
        parent: QWidget | None = None,
        *,
        empty: Message | None = None,
    ) -> None:
        """`empty` stands muted in the box while none is chosen."""
        super().__init__(parent)
        self._appearance = appearance
        self._empty = empty
        self._options: tuple[Option, ...] = ()
        self._face = font(TextRole.BODY)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMaxVisibleItems(14)
        # The delegate that a combo box has by itself knows nothing of style sheets.
        self.setItemDelegate(QStyledItemDelegate(self))
        self.activated.connect(self._activated)
        appearance.languageChanged.connect(self._render)
        appearance.themeChanged.connect(self.update)
        self.set_options(options)

    def set_options(self, options: Sequence[Option], current: str = "") -> None:
        """Offer other options; the current one stays chosen when it is still there."""
        current = current or self.current()
        if tuple(options) != self._options:
            self._options = tuple(options)
            self.clear()
            for option in self._options:
                self.addItem("", option.id)
            self._render()
        self.choose(current)

    def choose(self, option_id: str) -> None:
        """Show an option as chosen; an unknown one chooses none."""
        self.setCurrentIndex(next((i for i, o in enumerate(self._options) if o.id == option_id), -1))

    def current(self) -> str:
        """The id of the chosen option, empty when none is."""
        return str(self.currentData() or "")

    def sizeHint(self) -> QSize:
        metrics = QFontMetricsF(self._face)
        width = max((metrics.horizontalAdvance(self.itemText(i)) for i in range(self.count())), default=60.0)
        return QSize(int(width) + 46, CONTROL_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(80, CONTROL_HEIGHT)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

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
        border = tokens.line_strong if self.underMouse() else tokens.line
        rounded_box(painter, area, RADIUS_FIELD, tokens.field if self.isEnabled() else tokens.track, border)
        draw_icon(painter, "chevron-down", QRectF(area.right() - 24, area.center().y() - 7, 14, 14), tokens.muted)
        painter.setFont(self._face)
        right = area.right() - 30
        metrics = QFontMetricsF(self._face)
        text, note, muted = self._shown(metrics, right - 11)
        if note:
            width = min(metrics.horizontalAdvance(note) + 1, right / 2)
            draw_text(painter, QRectF(right - width, 0, width, area.height()), note, tokens.muted)
            right -= width + 8
        draw_text(painter, QRectF(11, 0, right - 11, area.height()), text, tokens.muted if muted else tokens.text)
        if self.shows_focus:
            focus_ring(painter, area, RADIUS_FIELD, tokens.primary)

    def _shown(self, metrics: QFontMetricsF, room: float) -> tuple[str, str, bool]:
        """The text, the note after it, and whether the text is muted since it stands for nothing chosen.

        Where nothing is chosen and there is room for one, it is what that amounts to, as in an empty field of a number.
        """
        if self.currentIndex() < 0:
            return self._appearance.text(self._empty) if self._empty is not None else "", "", True
        text, note = self.currentText(), self._options[self.currentIndex()].note
        if note and not self.current() and metrics.horizontalAdvance(text) + metrics.horizontalAdvance(note) + 9 > room:
            return note, "", True
        return text, note, not self.isEnabled()

    def _activated(self, _index: int) -> None:
        self.chosen.emit(self.current())

    def _render(self) -> None:
        for at, option in enumerate(self._options):
            self.setItemText(at, self._appearance.said(option.says))
            tip = self._appearance.text(option.tip) if option.tip else None
            self.setItemData(at, tip, Qt.ItemDataRole.ToolTipRole)
        self.updateGeometry()
        self.update()
