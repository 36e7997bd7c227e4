"""A push button painted as the design has it: filled, outlined or quiet, with an icon and a visible focus."""

from enum import Enum

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QEnterEvent, QFontMetricsF, QKeySequence, QPainter, QPaintEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QWidget

from gpuplanner.messages import Message, MessageValue
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text, focus_ring, painter_for, rounded_box
from gpuplanner.ui.tokens import CONTROL_HEIGHT, RADIUS_FIELD, Tokens
from gpuplanner.ui.widgets.focus import KeyboardFocus

_ICON = 16.0
_SPACE = 7.0


class ButtonKind(Enum):
    """How much a button asks for attention; one primary at most is in sight."""

    PRIMARY = "primary"
    PLAIN = "plain"
    QUIET = "quiet"
    """Without a border, for what stands in a row with other things."""


class Button(KeyboardFocus, QPushButton):
    """A button with a message, an icon or both. A button with an icon alone says its message as tooltip and name."""

    def __init__(
        self,
        appearance: Appearance,
        says: MessageValue,
        kind: ButtonKind = ButtonKind.PLAIN,
        *,
        icon: str = "",
        icon_only: bool = False,
        shortcut: str = "",
        small: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._says = says
        self._tip: Message | None = None
        self._kind = kind
        self._icon = icon
        self._icon_only = icon_only
        self._shortcut = shortcut
        self._small = small
        self._hovered = False
        # Kept apart from the font of the widget, which the style replaces by its own.
        self._face = font(TextRole.LABEL if small else TextRole.BUTTON)
        self.setAutoDefault(False)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        appearance.languageChanged.connect(self._render)
        appearance.themeChanged.connect(self.update)
        self._render()

    def say(self, says: MessageValue) -> None:
        """Say something else."""
        if says != self._says:
            self._says = says
            self._render()

    def explain(self, tip: Message | None) -> None:
        """A tooltip that says more than the button itself."""
        self._tip = tip
        self._render()

    def set_kind(self, kind: ButtonKind) -> None:
        """Change how much the button asks for attention."""
        self._kind = kind
        self.update()

    def set_icon(self, icon: str) -> None:
        """Change the icon."""
        self._icon = icon
        self.updateGeometry()
        self.update()

    def _render(self) -> None:
        text = self._appearance.said(self._says)
        shortcut = QKeySequence(self._shortcut).toString(QKeySequence.SequenceFormat.NativeText)
        tip = self._appearance.text(self._tip) if self._tip else (text if self._icon_only or shortcut else "")
        self.setText("" if self._icon_only else text)
        self.setAccessibleName(text)
        self.setToolTip(f"{tip} ({shortcut})" if shortcut else tip)
        self.updateGeometry()
        self.update()

    # --- Geometry and painting ----------------------------------------------------------------------------------------

    def sizeHint(self) -> QSize:
        height = 26 if self._small else CONTROL_HEIGHT
        if self._icon_only:
            return QSize(height, height)
        padding = 9.0 if self._small else 14.0
        width = QFontMetricsF(self._face).horizontalAdvance(self.text()) + 2 * padding
        if self._icon:
            width += _ICON + _SPACE
        return QSize(int(width + 1), height)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def enterEvent(self, event: QEnterEvent) -> None:
        self._hovered = True
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self._hovered = False
        super().leaveEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        area = QRectF(self.rect())
        fill, border, ink = self._colours(tokens)
        rounded_box(painter, area, RADIUS_FIELD, fill, border)
        painter.setFont(self._face)
        text_width = QFontMetricsF(self._face).horizontalAdvance(self.text())
        icon_width = _ICON + (0 if self._icon_only else _SPACE) if self._icon else 0.0
        left = max(4.0, (area.width() - text_width - icon_width) / 2)
        if self._icon:
            draw_icon(painter, self._icon, QRectF(left, (area.height() - _ICON) / 2, _ICON, _ICON), ink)
        if self.text():
            draw_text(
                painter, QRectF(left + icon_width, 0, area.width() - left - icon_width, area.height()), self.text(), ink
            )
        if self.shows_focus:
            self._paint_focus(painter, area, tokens)

    def _paint_focus(self, painter: QPainter, area: QRectF, tokens: Tokens) -> None:
        if self._kind is ButtonKind.PRIMARY and self.isEnabled():
            # The primary colour does not show on itself.
            focus_ring(painter, area, RADIUS_FIELD, tokens.text)
            focus_ring(painter, area.adjusted(2, 2, -2, -2), RADIUS_FIELD - 2, tokens.card)
        else:
            focus_ring(painter, area, RADIUS_FIELD, tokens.primary)

    def _colours(self, tokens: Tokens) -> tuple[str | None, str | None, str]:
        active = self._hovered or self.isDown()
        if not self.isEnabled():
            return (None if self._kind is ButtonKind.QUIET else tokens.track), None, tokens.muted
        if self._kind is ButtonKind.PRIMARY:
            return (tokens.primary_hover if active else tokens.primary), None, tokens.on_primary
        if self.isChecked():
            return tokens.primary_wash, None, tokens.primary_ink
        if self._kind is ButtonKind.QUIET:
            return (tokens.hover if active else None), None, (tokens.text if active else tokens.muted)
        return (tokens.hover if active else tokens.card), tokens.line_strong if active else tokens.line, tokens.text
