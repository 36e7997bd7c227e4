"""The bar above a page: its title or segments, the field that opens the palette, and the page's actions."""

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeySequence, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QSizePolicy, QWidget

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
from gpuplanner.ui.widgets.menus import pop_up
from gpuplanner.ui.widgets.segmented import Option, Segmented

HEIGHT = 52
PALETTE_KEYS = "Ctrl+K"
_FIELD_WIDTH, _LEAST_FIELD, _COMPACT_WIDTH = 300, 200, 36
_TITLE_WIDTH = 240
"""Pixels that a title may claim before the field of the palette shrinks for it."""
_LEAST_TITLE = 110
"""Pixels of it that stay before actions go into a menu."""
_AROUND = 145
"""Back and forward, margins and gaps."""


class PaletteField(Clickable):
    """Looks like a search field; opens the palette."""

    def __init__(self, appearance: Appearance, parent: QWidget | None = None) -> None:
        super().__init__(appearance, parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._compact = False
        self.setMaximumWidth(_FIELD_WIDTH)
        appearance.languageChanged.connect(self._render)
        self._render()

    def set_compact(self, *, compact: bool) -> None:
        """As narrow as its icon, where titles and actions need the room."""
        if compact != self._compact:
            self._compact = compact
            self.setMaximumWidth(_COMPACT_WIDTH if compact else _FIELD_WIDTH)
            self.setToolTip(self.text() if compact else "")
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(_COMPACT_WIDTH if self._compact else _FIELD_WIDTH, CONTROL_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(_COMPACT_WIDTH if self._compact else _LEAST_FIELD, CONTROL_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        area = QRectF(self.rect())
        border = tokens.line_strong if self.underMouse() else tokens.line
        rounded_box(painter, area, RADIUS_FIELD, tokens.workspace, border)
        draw_icon(painter, "search", QRectF(10, (area.height() - 15) / 2, 15, 15), tokens.muted)
        if self._compact:
            self.paint_focus(painter)
            return
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
        self.setToolTip(self.text() if self._compact else "")
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
        self._note.keep_clear(12, 0, 0, 0)
        self.palette_field = PaletteField(appearance)
        self.palette_field.clicked.connect(self.paletteWanted)
        self._actions = QHBoxLayout()
        self._actions.setSpacing(8)
        self.more = Button(appearance, msg("ui.more"), ButtonKind.PLAIN, icon="ellipsis", icon_only=True)
        self.more.clicked.connect(self._open_more)
        self.more.hide()
        self._actions.addWidget(self.more)
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
        self._show_actions(tuple(action for action in heading.actions if action.in_bar))
        self._fit()

    def show_history(self, *, back: bool, forward: bool) -> None:
        """Whether there is anything behind and ahead."""
        self.back.setEnabled(back)
        self.forward.setEnabled(forward)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Where it is narrow the field of the palette shrinks first, then the note goes, and last the last actions."""
        hints = [w.sizeHint().width() for w in (self._segments, self._title) if not w.isHidden()]
        note = self._note.sizeHint().width() if self._note.text() else 0
        room = self.width() - _AROUND
        left = room - note - sum(min(hint, _TITLE_WIDTH) for hint in hints)
        wanted = [button.sizeHint().width() + self._actions.spacing() for button in self._buttons]
        self.palette_field.set_compact(compact=left < sum(wanted) + _LEAST_FIELD)
        left = room - _COMPACT_WIDTH - sum(min(hint, _LEAST_TITLE) for hint in hints[:1])
        fits = left >= sum(wanted)
        if not fits:
            left -= self.more.sizeHint().width() + 8
        full = False
        for button, action, width in zip(self._buttons, self._shown, wanted, strict=True):
            full = full or (not fits and left < width)
            kept = not full or action.kind is ButtonKind.PRIMARY
            left -= width if kept else 0
            button.setVisible(kept)
        self.more.setVisible(not fits)
        left -= sum(hints) - min(hints[0], _LEAST_TITLE) if hints else 0
        self._note.setVisible(0 < note <= left)

    def _open_more(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for button, action in zip(self._buttons, self._shown, strict=True):
            if button.isHidden():
                entry = menu.addAction(self._appearance.text(action.label), action.run)
                entry.setEnabled(action.enabled)
        pop_up(menu, self.more)

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
                self._actions.insertWidget(position, button)
                self._buttons.append(button)
        self._shown = actions
        for button, action in zip(self._buttons, actions, strict=True):
            button.say(action.label)
            button.set_kind(action.kind)
            button.setEnabled(action.enabled)
