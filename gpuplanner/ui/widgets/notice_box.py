"""A sentence with its mark in its colour: as a banner inside a page, as a toast over it, and in the list of notices."""

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QWidget

from gpuplanner.messages import MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.notices import NoticeAction
from gpuplanner.ui.painting import draw_text, painter_for, rounded_box
from gpuplanner.ui.tokens import MARKS, RADIUS_FIELD, Verdict
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.label import Label

_MARK = 20.0


class NoticeBox(QFrame):
    """The sentence, an action where there is one, and a cross where it can be closed."""

    closed = Signal()

    def __init__(
        self,
        appearance: Appearance,
        says: MessageValue,
        verdict: Verdict = Verdict.INFO,
        action: NoticeAction | None = None,
        *,
        closable: bool = False,
        raised: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        """A `raised` box is a card with a coloured mark (a toast); else the whole box is washed (a banner)."""
        super().__init__(parent)
        self._appearance = appearance
        self._verdict = verdict
        self._raised = raised
        self._label = Label(appearance, says, wrap=True, selectable=not raised)
        self._label.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        # The first line stands level with the mark and the buttons.
        self._label.keep_clear(0, 5, 0, 5)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(int(_MARK) + 20, 8, 8, 8)
        layout.setSpacing(8)
        layout.addWidget(self._label, 1)
        if action is not None:
            button = Button(appearance, action.label, small=True)
            button.clicked.connect(lambda _checked=False: action.run())
            button.clicked.connect(self.closed)
            layout.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        if closable:
            cross = Button(appearance, msg("ui.close"), ButtonKind.QUIET, icon="x", icon_only=True, small=True)
            cross.clicked.connect(self.closed)
            layout.addWidget(cross, 0, Qt.AlignmentFlag.AlignTop)
        appearance.themeChanged.connect(self.update)
        appearance.languageChanged.connect(self._name)
        self._name()

    def say(self, says: MessageValue, verdict: Verdict) -> None:
        """Say something else."""
        self._label.say(says)
        self._name()
        if verdict is not self._verdict:
            self._verdict = verdict
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        tone = tokens.tone(self._verdict)
        painter = painter_for(self)
        area = QRectF(self.rect())
        if self._raised:
            rounded_box(painter, area, RADIUS_FIELD + 2, tokens.card, tokens.line_strong)
        else:
            rounded_box(painter, area, RADIUS_FIELD, tone.wash)
        mark = QRectF(10, 11, _MARK, _MARK)
        rounded_box(painter, mark, 5, tone.wash)
        painter.setFont(font(TextRole.STRONG))
        draw_text(painter, mark, MARKS[self._verdict], tone.ink, Qt.AlignmentFlag.AlignCenter)

    def _name(self) -> None:
        self.setAccessibleName(self._label.text())
