"""A choice among a few, all of them in sight: one box, arrow keys move, the chosen one is washed."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFontMetricsF, QKeyEvent, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QHBoxLayout, QSizePolicy, QWidget

from gpuplanner.messages import Message, MessageValue
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.painting import draw_text, focus_ring, painter_for, rounded_box, rounded_clip
from gpuplanner.ui.tokens import CONTROL_HEIGHT, RADIUS_FIELD
from gpuplanner.ui.widgets.focus import KeyboardFocus

_PADDING = 11.0


@dataclass(frozen=True, slots=True)
class Option:
    """Something to choose: its id, what it says, and a muted note after it (a count)."""

    id: str
    says: MessageValue
    note: str = ""
    tip: Message | None = None
    enabled: bool = True


class Segmented(QWidget):
    """A segmented control. `chosen` tells what a person chose; `choose` from code tells nobody."""

    chosen = Signal(str)

    def __init__(
        self,
        appearance: Appearance,
        options: Sequence[Option] = (),
        current: str = "",
        name: Message | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._name = name
        self._buttons: dict[str, _Segment] = {}
        self._group = QButtonGroup(self)
        self._group.setExclusive(True)
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(0)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        appearance.themeChanged.connect(self.update)
        appearance.languageChanged.connect(self._render)
        self.set_options(options, current)
        self._render()

    def set_options(self, options: Sequence[Option], current: str = "") -> None:
        """Offer other options; the current one stays chosen when it is still there."""
        current = current or self.current()
        if list(options) != [button.option for button in self._buttons.values()]:
            for button in self._buttons.values():
                self._group.removeButton(button)
                self._layout.removeWidget(button)
                button.hide()
                button.deleteLater()
            self._buttons = {option.id: _Segment(self._appearance, option, self) for option in options}
            for button in self._buttons.values():
                self._group.addButton(button)
                self._layout.addWidget(button, button.stretch())
                button.clicked.connect(self._clicked)
            self._render()
        self.choose(current)

    def choose(self, option_id: str) -> None:
        """Show an option as chosen."""
        button = self._buttons.get(option_id)
        if button is not None:
            button.setChecked(True)
        reachable = button or next(iter(self._buttons.values()), None)
        if reachable is not None:
            self.setFocusProxy(reachable)
        # One stop for Tab; the arrows do the rest.
        for other in self._buttons.values():
            other.set_reachable(other is reachable)

    def current(self) -> str:
        """The id of the chosen option, empty when none is."""
        return next((i for i, button in self._buttons.items() if button.isChecked()), "")

    def step(self, by: int) -> None:
        """Choose the next option that can be chosen, as the arrow keys do."""
        buttons = [button for button in self._buttons.values() if button.isEnabled()]
        here = next((at for at, button in enumerate(buttons) if button.isChecked()), -1 if by > 0 else len(buttons))
        if 0 <= here + by < len(buttons):
            target = buttons[here + by]
            target.setFocus(Qt.FocusReason.TabFocusReason)
            target.click()

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        rounded_box(painter_for(self), QRectF(self.rect()), RADIUS_FIELD, tokens.field, tokens.line)

    def wanted_width(self) -> int:
        """How wide it has to be so that every label is whole, also before it has been laid out."""
        margins = self.contentsMargins()
        return sum(b.sizeHint().width() for b in self._buttons.values()) + margins.left() + margins.right() + 2

    def fit(self, segment: "_Segment") -> None:
        """A label is another: it gets its part of the width."""
        at = self._layout.indexOf(segment)
        if at >= 0:
            self._layout.setStretch(at, segment.stretch())

    def _clicked(self) -> None:
        self.choose(self.current())
        self.chosen.emit(self.current())

    def _render(self) -> None:
        self.setAccessibleName(self._appearance.text(self._name) if self._name else "")


class _Segment(KeyboardFocus, QAbstractButton):
    def __init__(self, appearance: Appearance, option: Option, parent: Segmented) -> None:
        super().__init__(parent)
        self.option = option
        self._appearance = appearance
        self._box = parent
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setEnabled(option.enabled)
        self._policy = Qt.FocusPolicy.StrongFocus
        self.setFont(font(TextRole.BODY))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        appearance.languageChanged.connect(self._render)
        self._render()

    def set_reachable(self, by_tab: bool) -> None:
        """Whether Tab stops here."""
        self._policy = Qt.FocusPolicy.StrongFocus if by_tab else Qt.FocusPolicy.ClickFocus
        self.setFocusPolicy(self._policy)

    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        if event.type() in {QEvent.Type.Polish, QEvent.Type.StyleChange} and self.focusPolicy() != self._policy:
            # The style makes every button a stop of its own.
            self.setFocusPolicy(self._policy)
        return handled

    def stretch(self) -> int:
        """Wider labels get more of the width."""
        return max(1, self.sizeHint().width())

    def sizeHint(self) -> QSize:
        # The chosen one is set bold: its width is kept for it, so that nothing moves when another is chosen.
        width = QFontMetricsF(font(TextRole.STRONG)).horizontalAdvance(self._shown()) + 2 * _PADDING
        return QSize(int(width + 1), CONTROL_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(self.sizeHint().width() - int(1.4 * _PADDING), CONTROL_HEIGHT)

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Right, Qt.Key.Key_Down}:
            self._box.step(1)
        elif event.key() in {Qt.Key.Key_Left, Qt.Key.Key_Up}:
            self._box.step(-1)
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        area = QRectF(self.rect())
        painter.save()
        whole = QRectF(self._box.rect()).translated(-self.pos().x(), -self.pos().y()).adjusted(1, 1, -1, -1)
        painter.setClipPath(rounded_clip(whole, RADIUS_FIELD - 1))
        if self.isChecked():
            painter.fillRect(area, tokens.primary_wash)
        elif self.underMouse() and self.isEnabled():
            painter.fillRect(area, tokens.hover)
        if self.x() > 0:
            painter.fillRect(QRectF(0, 0, 1, area.height()), tokens.line)
        painter.restore()
        ink = tokens.primary_ink if self.isChecked() else tokens.muted
        painter.setFont(font(TextRole.STRONG if self.isChecked() else TextRole.BODY))
        if not self.isEnabled():
            painter.setOpacity(0.55)
        draw_text(painter, area.adjusted(4, 0, -4, 0), self._shown(), ink, Qt.AlignmentFlag.AlignCenter)
        if self.shows_focus:
            focus_ring(painter, area, RADIUS_FIELD, tokens.primary)

    def _shown(self) -> str:
        return f"{self.text()} {self.option.note}".strip()

    def _render(self) -> None:
        self.setText(self._appearance.said(self.option.says))
        self.setAccessibleName(self._shown())
        self.setToolTip(self._appearance.text(self.option.tip) if self.option.tip else "")
        self._box.fit(self)
        self.updateGeometry()
        self.update()
