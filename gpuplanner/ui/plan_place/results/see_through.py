"""Lets the card show through widgets of Qt that would paint a background of their own."""

from PySide6.QtGui import QColor, QPalette


def see_through() -> QPalette:
    """A palette with nothing behind the text; all other colours go on following the theme."""
    palette = QPalette()
    palette.setColor(QPalette.ColorRole.Base, QColor(0, 0, 0, 0))
    return palette
