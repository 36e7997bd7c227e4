"""The bar above a page: its title or segments, the field that opens the palette, and the page's actions."""

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeySequence, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import draw_text, painter_for, rounded_box
from gpuplanner.ui.places import Heading, PageAction
from gpuplanner.ui.tokens import CONTROL_HEIGHT, RADIUS_FIELD
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.clickable import Clickable
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.segmented import Option, Segmented

HEIGHT = 52
PALETTE_KEYS = "Ctrl+K"


class PaletteField(Clickable):
    """Looks like a search field; opens the palette."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(appearance, parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setMaximumWidth(300)
        appearance.languageChanged.connect(self._render)
        self._render()

    def sizeHint(self) -> QSize:
        return QSize(300, CONTROL_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(200, CONTROL_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        area = QRectF(self.rect())
        border = tokens.line_strong if self.underMouse() else tokens.line
        rounded_box(painter, area, RADIUS_FIELD, tokens.workspace, border)
        draw_icon(painter, "search", QRectF(10, (area.height() - 15) / 2, 15, 15), tokens.muted)
        keys = QKeySequence(PALETTE_KEYS).toString(QKeySequence.SequenceFormat.NativeText).replace("+", " ")
        painter.setFont(font(TextRole.TAG))
        width = QFontMetricsF(painter.font()).horizontalAdvance(keys) + 12
        cap = QRectF(area.right() - width - 8, (area.height() - 19) / 2, width, 19)
        rounded_box(painter, cap, 4, tokens.card, tokens.line_strong)
        draw_text(painter, cap, keys, tokens.muted, Qt.AlignmentFlag.AlignCenter)
        painter.setFont(font(TextRole.BODY))
        draw_text(painter, QRectF(33, 0, cap.left() - 41, area.height()), self.text(), tokens.muted)
        self.paint_focus(painter)

    def _render(self) -> None:
        self.setText(self._appearance.text(msg("ui.palette.hint")))
        self.setAccessibleName(self.text())
        self.update()


class TopBar(QWidget):
    """Shows the heading of the current page."""

    paletteWanted = Signal()
    segmentChosen = Signal(str)

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self.setFixedHeight(HEIGHT)
        self.back = Button(
            appearance, msg("ui.back"), ButtonKind.QUIET, icon="arrow-left", icon_only=True, shortcut="Alt+Left"
        )
        self.forward = Button(
            appearance, msg("ui.forward"), ButtonKind.QUIET, icon="arrow-right", icon_only=True, shortcut="Alt+Right"
        )
        self._segments = Segmented(appearance, name=msg("ui.segments.name"))
        self._segments.chosen.connect(self.segmentChosen)
        self._title = Label(appearance, "", TextRole.TITLE, elide=True)
        self._note = Label(appearance, "", TextRole.BODY, Ink.MUTED, elide=True)
        self.palette_field = PaletteField(appearance)
        self.palette_field.clicked.connect(self.paletteWanted)
        self._actions = QHBoxLayout()
        self._actions.setSpacing(8)
        self._shown: tuple[PageAction, ...] = ()
        self._buttons: list[Button] = []
        layout = QHBoxLayout(self)
        layout.setContentsMargins(10, 0, 18, 1)
        layout.setSpacing(0)
        layout.addWidget(self.back)
        layout.addWidget(self.forward)
        layout.addSpacing(8)
        layout.addWidget(self._segments)
        layout.addWidget(self._title)
        layout.addSpacing(12)
        layout.addWidget(self._note)
        layout.addStretch(1)
        layout.addWidget(self.palette_field, 3)
        layout.addSpacing(10)
        layout.addLayout(self._actions)
        appearance.themeChanged.connect(self.update)

    def show_heading(self, heading: Heading) -> None:
        """Show another heading."""
        self._segments.set_options([Option(s.id, s.label, s.note) for s in heading.segments], heading.segment)
        self._segments.setVisible(bool(heading.segments))
        self._title.say(heading.title)
        self._title.setVisible(bool(heading.title))
        self._note.say(heading.note)
        self._note.setVisible(bool(heading.note))
        self._show_actions(tuple(action for action in heading.actions if action.in_bar))

    def show_history(self, *, back: bool, forward: bool) -> None:
        """Whether there is anything behind and ahead."""
        self.back.setEnabled(back)
        self.forward.setEnabled(forward)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        painter.fillRect(self.rect(), tokens.card)
        painter.fillRect(0, self.height() - 1, self.width(), 1, tokens.line)

    def _show_actions(self, actions: tuple[PageAction, ...]) -> None:
        """Buttons stay when only what they say changes, so that the focus stays on them."""
        if [a.id for a in actions] != [a.id for a in self._shown]:
            for button in self._buttons:
                self._actions.removeWidget(button)
                button.hide()
                button.deleteLater()
            self._buttons = []
            for position, action in enumerate(actions):
                button = Button(
                    self._appearance, action.label, action.kind, icon=action.icon, shortcut=action.shortcut, parent=self
                )
                button.clicked.connect(lambda _=False, at=position: self._shown[at].run())
                self._actions.addWidget(button)
                self._buttons.append(button)
        self._shown = actions
        for button, action in zip(self._buttons, actions, strict=True):
            button.say(action.label)
            button.set_kind(action.kind)
            button.setEnabled(action.enabled)
