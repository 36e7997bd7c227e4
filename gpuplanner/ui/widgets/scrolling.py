"""A page or a pane that scrolls up and down, and never sideways."""

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QApplication, QFrame, QHBoxLayout, QScrollArea, QWidget

from gpuplanner.ui.tokens import GAP

COLUMN = 760
"""The width of a page that is read rather than scanned."""


def column_page(inner: QWidget) -> QScrollArea:
    """A column of cards in the middle of a page, as wide as can be read with ease, that scrolls."""
    content = Scrolled()
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
    area.setWidget(content)
    # The style would fill both with the colour of a window.
    area.viewport().setAutoFillBackground(False)
    content.setAutoFillBackground(False)
    return area


class Scrolled(QWidget):
    """What an area scrolls: exactly as high as its text is at the width that there is.

    An area makes its content at least as high as its smallest size, and that of text that wraps is counted for a column
    much narrower than it is: a page would scroll on into nothing.
    """

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        return QSize(hint.width(), 0) if self.hasHeightForWidth() else hint

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        # What was filled while it was hidden told its area nothing: squeezed into it, it would be seen for a moment.
        viewport = self.parentWidget()
        if viewport is not None:
            QApplication.sendEvent(viewport, QEvent(QEvent.Type.LayoutRequest))
