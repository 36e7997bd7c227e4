"""The order in which Tab goes through widgets that were made later than those around them: Qt puts them at the end."""

from PySide6.QtWidgets import QWidget


def follow(widget: QWidget, *others: QWidget) -> None:
    """After `widget` Tab goes to these, one after the other."""
    for other in others:
        QWidget.setTabOrder(widget, other)
        widget = other
