"""What stands where nothing is yet: what this place is for, and one thing to do."""

from collections.abc import Callable

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpuplanner.messages import Message, MessageValue
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.icons import draw_icon
from gpuplanner.ui.painting import painter_for, rounded_box
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.label import Ink, Label

WIDTH = 400


class EmptyState(QWidget):
    """An icon, a title, a sentence or two, one action, and perhaps a second quieter one (a sample)."""

    def __init__(
        self,
        appearance: Appearance,
        icon: str,
        title: Message,
        says: MessageValue,
        action: tuple[Message, Callable[[], object]] | None = None,
        second: tuple[Message, Callable[[], object]] | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.says = Label(appearance, says, ink=Ink.MUTED, wrap=True)
        self.says.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.says.setMaximumWidth(WIDTH)
        self.buttons: list[Button] = []
        layout = QVBoxLayout(self)
        layout.setSpacing(8)
        layout.addStretch(2)
        centred = Qt.AlignmentFlag.AlignHCenter
        layout.addWidget(_Picture(appearance, icon), 0, centred)
        layout.addSpacing(4)
        layout.addWidget(Label(appearance, title, TextRole.TITLE), 0, centred)
        # Aligned by itself it would be given the height of one line.
        words = QHBoxLayout()
        words.addStretch(1)
        words.addWidget(self.says, WIDTH)
        words.addStretch(1)
        layout.addLayout(words)
        layout.addSpacing(6)
        for kind, offer in ((ButtonKind.PRIMARY, action), (ButtonKind.QUIET, second)):
            if offer is not None:
                button = Button(appearance, offer[0], kind)
                button.clicked.connect(lambda _checked=False, run=offer[1]: run())
                layout.addWidget(button, 0, centred)
                self.buttons.append(button)
        layout.addStretch(3)


class _Picture(QWidget):
    def __init__(self, appearance: Appearance, icon: str) -> None:
        super().__init__()
        self._appearance = appearance
        self._icon = icon
        self.setFixedSize(QSize(52, 52))
        appearance.themeChanged.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        rounded_box(painter, QRectF(self.rect()), 26, tokens.primary_wash)
        draw_icon(painter, self._icon, QRectF(15, 15, 22, 22), tokens.primary_ink)
