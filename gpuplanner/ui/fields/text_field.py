"""A field for a few words, and a switch for yes or no."""

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFontMetricsF, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from gpuplanner.messages import Message, MessageValue
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fields.field import Field, InputBox
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text, focus_ring, painter_for, rounded_box
from gpuplanner.ui.tokens import RADIUS_FIELD
from gpuplanner.ui.widgets.focus import KeyboardFocus


class TextField(Field):
    """`changed` carries what was typed, at every keystroke."""

    changed = Signal(object)

    def __init__(
        self,
        appearance: Appearance,
        label: MessageValue,
        *,
        empty: Message | None = None,
        hint: Message | None = None,
        help_text: Message | None = None,
        longest: int = 200,
        parent: QWidget | None = None,
    ) -> None:
        """`empty` is said muted where nothing has been typed."""
        self.box = InputBox(appearance)
        self._empty = empty
        super().__init__(appearance, label, self.box, hint, help_text, parent)
        self.box.edit.setMaxLength(longest)
        self.box.edit.textEdited.connect(self.changed.emit)

    def value(self) -> str:
        """What was typed."""
        return self.box.edit.text()

    def set_value(self, value: str) -> None:
        """Show a text. Nobody is told."""
        if value != self.box.edit.text():
            self.box.edit.setText(value)

    def _render(self) -> None:
        super()._render()
        self.box.edit.setPlaceholderText(self._appearance.text(self._empty) if self._empty else "")


class Check(KeyboardFocus, QAbstractButton):
    """A box that is ticked or not, with its words. `toggled` tells of every change, `clicked` of a person's."""

    def __init__(
        self, appearance: Appearance, says: MessageValue, tip: Message | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._says = says
        self._tip = tip
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        appearance.languageChanged.connect(self._render)
        appearance.themeChanged.connect(self.update)
        self._render()

    def sizeHint(self) -> QSize:
        return QSize(int(QFontMetricsF(font(TextRole.BODY)).horizontalAdvance(self.text()) + 32), 26)

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
        box = QRectF(3, area.center().y() - 8, 16, 16)
        if self.isChecked():
            rounded_box(painter, box, 4, tokens.primary if self.isEnabled() else tokens.rest)
            draw_icon(painter, "check", box.adjusted(2, 2, -2, -2), tokens.on_primary)
        else:
            rounded_box(painter, box, 4, tokens.field, tokens.muted if self.underMouse() else tokens.line_strong)
        painter.setFont(font(TextRole.BODY))
        draw_text(painter, area.adjusted(27, 0, -3, 0), self.text(), tokens.text if self.isEnabled() else tokens.muted)
        if self.shows_focus:
            focus_ring(painter, area, RADIUS_FIELD, tokens.primary)

    def _render(self) -> None:
        self.setText(self._appearance.said(self._says))
        self.setAccessibleName(self.text())
        self.setToolTip(self._appearance.text(self._tip) if self._tip else "")
        self.updateGeometry()
        self.update()


class CheckField(Field):
    """Yes or no. `changed` carries what a person chose."""

    changed = Signal(object)

    def __init__(
        self,
        appearance: Appearance,
        says: MessageValue,
        *,
        hint: Message | None = None,
        help_text: Message | None = None,
        parent: QWidget | None = None,
    ) -> None:
        self.check = Check(appearance, says, help_text)
        super().__init__(appearance, "", self.check, hint, None, parent)
        self.check.clicked.connect(self._clicked)
        self.check.setAccessibleName(appearance.said(says))

    def value(self) -> bool:
        """Whether it is ticked."""
        return self.check.isChecked()

    def set_value(self, value: bool) -> None:
        """Tick it or not. Nobody is told."""
        self.check.setChecked(value)

    def _clicked(self) -> None:
        self.changed.emit(self.check.isChecked())
