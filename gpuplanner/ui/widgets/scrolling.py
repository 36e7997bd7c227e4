"""A page or a pane that scrolls up and down, and never sideways."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from gpuplanner.ui.tokens import GAP

COLUMN = 760
"""The width of a page that is read rather than scanned."""


def column_page(inner: QWidget) -> QScrollArea:
    """A column of cards in the middle of a page, as wide as can be read with ease, that scrolls."""
    content = QWidget()
    inner.setMaximumWidth(COLUMN)
    layout = QHBoxLayout(content)
    layout.setContentsMargins(GAP + 2, GAP + 2, GAP + 2, GAP + 2)
    layout.addStretch(1)
    layout.addWidget(inner, COLUMN, Qt.AlignmentFlag.AlignTop)
    layout.addStretch(1)
    return scrolling(content)


def scrolling(content: QWidget) -> QScrollArea:
    """`content` in a frame that scrolls it vertically and lets the background show through."""
    area = QScrollArea()
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    holder = _Content(content)
    area.setWidget(holder)
    # The style would fill them with the colour of a window.
    for widget in (area.viewport(), holder, content):
        widget.setAutoFillBackground(False)
    return area


class _Content(QWidget):
    """Exactly as high as its content is at the width that there is.

    An area makes its content at least as high as its smallest size, and that of text that wraps is counted for a column
    much narrower than it is: a page would scroll on into nothing.
    """

    def __init__(self, content: QWidget) -> None:
        super().__init__()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(content)

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        return QSize(hint.width(), 0) if self.hasHeightForWidth() else hint
