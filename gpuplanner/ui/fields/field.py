"""The frame of every form control: label above, box with its unit, a sentence below when something is wrong."""

from PySide6.QtCore import QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QSizePolicy, QVBoxLayout, QWidget

from gpuplanner.messages import Message, MessageValue
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import focus_ring, painter_for, rounded_box
from gpuplanner.ui.tokens import CONTROL_HEIGHT, RADIUS_FIELD, Verdict
from gpuplanner.ui.widgets.label import Ink, Label


class InputBox(QFrame):
    """A box around a line edit, with an icon before it or a muted word (a unit) after it."""

    def __init__(self, appearance: Appearance, *, icon: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._icon = icon
        self._wrong = False
        self.edit = QLineEdit(self)
        self.edit.setFrame(False)
        self.edit.setFont(font(TextRole.BODY))
        self.edit.setFixedHeight(CONTROL_HEIGHT - 6)
        self.edit.installEventFilter(self)
        self.suffix = Label(appearance, "", TextRole.BODY, Ink.MUTED)
        self.suffix.hide()
        self.setFocusProxy(self.edit)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setFixedHeight(CONTROL_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(30 if icon else 7, 0, 9, 0)
        layout.setSpacing(6)
        layout.addWidget(self.edit, 1)
        layout.addWidget(self.suffix)
        appearance.themeChanged.connect(self.update)

    def set_suffix(self, says: MessageValue) -> None:
        """The word after the input."""
        self.suffix.say(says)
        self.suffix.setVisible(bool(says))

    def set_wrong(self, wrong: bool) -> None:
        """Show whether what stands in the box cannot be used."""
        if wrong != self._wrong:
            self._wrong = wrong
            self.update()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in {QEvent.Type.FocusIn, QEvent.Type.FocusOut, QEvent.Type.EnabledChange}:
            self.update()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        area = QRectF(self.rect())
        border = tokens.tone(Verdict.FAIL).ink if self._wrong else tokens.line
        if not self._wrong and self.underMouse():
            border = tokens.line_strong
        rounded_box(painter, area, RADIUS_FIELD, tokens.field if self.isEnabled() else tokens.track, border)
        if self._icon:
            draw_icon(painter, self._icon, QRectF(10, (area.height() - 15) / 2, 15, 15), tokens.muted)
        if self.edit.hasFocus():
            focus_ring(painter, area, RADIUS_FIELD, tokens.tone(Verdict.FAIL).ink if self._wrong else tokens.primary)


class Field(QWidget):
    """A label, a control and a sentence below it. The sentence is a hint, or in red what is wrong and what to do."""

    def __init__(
        self,
        appearance: Appearance,
        label: MessageValue,
        control: QWidget,
        hint: Message | None = None,
        help_text: Message | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._hint = hint
        self._help = help_text
        self._problem: Message | None = None
        self.label = Label(appearance, label, TextRole.LABEL, Ink.MUTED)
        self.label.setBuddy(control)
        self.control = control
        self._below = Label(appearance, "", TextRole.LABEL, Ink.MUTED, wrap=True)
        self.setFocusProxy(control)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(5)
        if label:
            layout.addWidget(self.label)
        layout.addWidget(control)
        layout.addWidget(self._below)
        appearance.languageChanged.connect(self._render)
        self._render()

    @property
    def problem(self) -> Message | None:
        """What is wrong, or None."""
        return self._problem

    def set_problem(self, problem: Message | None) -> None:
        """Say what is wrong with the input, or that nothing is."""
        self._problem = problem
        if isinstance(self.control, InputBox):
            self.control.set_wrong(problem is not None)
        self._render()

    def set_hint(self, hint: Message | None) -> None:
        """Say something below that is no fault."""
        self._hint = hint
        self._render()

    def _render(self) -> None:
        below = self._problem or self._hint
        self._below.say(below or "")
        self._below.set_role(TextRole.LABEL, Ink.FAIL if self._problem else Ink.MUTED)
        self._below.setVisible(below is not None)
        target = self.control.focusProxy() or self.control
        if self.label.text():
            target.setAccessibleName(self.label.text())
        target.setAccessibleDescription(self._appearance.text(below) if below else "")
        tip = self._appearance.text(self._help) if self._help else ""
        self.label.setToolTip(tip)
        self.control.setToolTip(tip)
