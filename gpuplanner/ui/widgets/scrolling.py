"""A page or a pane that scrolls up and down, and never sideways."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget


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
