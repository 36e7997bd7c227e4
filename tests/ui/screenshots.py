"""Pictures of the window: each theme, language and scale. The README's are made by the same function.

Scale 2 is rendered by painting the window at twice the density, so one process makes all of them.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

from PySide6.QtCore import QPoint
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication, QWidget

from gpuplanner.store.settings import LANGUAGE, THEME
from gpuplanner.ui.appearance import Appearance

THEMES = ("light", "dark")
LANGUAGES = ("en", "zh_CN")
SCALES = (1, 2)


def settle() -> None:
    """Let layouts inside of layouts come to rest."""
    for _ in range(4):
        QApplication.processEvents()


def picture(widget: QWidget, scale: float = 1.0) -> QImage:
    """A widget as it looks on a screen of that density."""
    settle()
    image = QImage(widget.size() * scale, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    painter = QPainter(image)
    widget.render(painter, QPoint(0, 0))
    painter.end()
    return image


def each_look(appearance: Appearance) -> Iterator[tuple[str, str]]:
    """Switches through every theme and language, live."""
    for theme, language in product(THEMES, LANGUAGES):
        appearance.choose(THEME, theme)
        appearance.choose(LANGUAGE, language)
        settle()
        yield theme, language


def save_pictures(widget: QWidget, appearance: Appearance, folder: Path, name: str) -> list[Path]:
    """Pictures of a widget in every theme, language and scale: `name-light-en.png`, `name-dark-zh_CN@2x.png`."""
    written = []
    for theme, language in each_look(appearance):
        for scale in SCALES:
            path = folder / f"{name}-{theme}-{language}{f'@{scale}x' if scale > 1 else ''}.png"
            assert picture(widget, scale).save(str(path)), f"{path} could not be written"
            written.append(path)
    return written
