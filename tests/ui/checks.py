"""What can be checked of any widget without eyes: clipped text, boxes for missing glyphs, names, focus, contrast.

Each check takes a widget that is shown and gives a list of complaints, empty when all is well:

    assert clipped(window) == []
"""

from collections.abc import Iterator

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QFontMetricsF, QRawFont, QTextLayout
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QDialog,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QWidget,
)

from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.shell.window import Window
from gpuplanner.ui.table.header import DataHeader

SLACK = 1.5
"""Pixels by which widths may differ: they are rounded in other places than the text."""


def visible(window: QWidget) -> Iterator[QWidget]:
    """Every widget in sight that has a size."""
    for widget in (window, *window.findChildren(QWidget)):
        if widget.isVisible() and widget.width() > 0 and widget.height() > 0:
            yield widget


def where(widget: QWidget) -> str:
    """A widget as a complaint names it."""
    text = getattr(widget, "text", str)() if not isinstance(widget, QComboBox) else widget.currentText()
    place = widget.mapTo(widget.window(), QPoint(0, 0))
    return f"{type(widget).__name__} {text[:50]!r} at {place.x()},{place.y()} size {widget.width()}×{widget.height()}"


def clipped(window: QWidget) -> list[str]:
    """Labels, buttons and headers whose text does not fit into them."""
    found = []
    for widget in visible(window):
        if isinstance(widget, QLabel) and widget.text() and widget.pixmap().isNull():
            if not getattr(widget, "elides", False) and not _label_fits(widget):
                found.append(where(widget))
        elif isinstance(widget, QPushButton | QAbstractButton) and widget.text():
            hint = widget.minimumSizeHint()
            if hint.isValid() and (widget.width() < hint.width() - SLACK or widget.height() < hint.height() - SLACK):
                found.append(where(widget))
        elif isinstance(widget, DataHeader):
            found += _narrow_sections(widget)
    return found


def _label_fits(label: QLabel) -> bool:
    metrics = QFontMetricsF(label.font())
    inside = label.contentsRect()
    if label.wordWrap():
        # A line ends at a space, and where a long word says that it may be broken.
        words = label.text().replace("\u200b", " ").split() or [""]
        longest = max(metrics.horizontalAdvance(word) for word in words)
        # Chinese breaks between any two characters.
        breaks_anywhere = any(ord(character) > 0x2E7F for character in label.text())
        fits_wide = breaks_anywhere or longest <= inside.width() + SLACK
        return fits_wide and label.heightForWidth(label.width()) <= label.height() + SLACK
    lines = label.text().split("\n")
    wide = max(metrics.horizontalAdvance(line) for line in lines)
    return wide <= inside.width() + SLACK and metrics.height() * len(lines) <= label.height() + 3


def _narrow_sections(header: DataHeader) -> list[str]:
    sections = (s for s in range(header.count()) if not header.isSectionHidden(s))
    return [
        f"header {header.model().headerData(s, Qt.Orientation.Horizontal)!r}"
        for s in sections
        if header.sectionSize(s) < header.wanted_width(s) - 12 - SLACK
    ]


def texts(window: QWidget) -> Iterator[tuple[QWidget, str]]:
    """Every text in sight with the widget that shows it."""
    for widget in visible(window):
        if isinstance(widget, QLabel | QAbstractButton | QLineEdit):
            yield widget, widget.text()
        if isinstance(widget, QLineEdit):
            yield widget, widget.placeholderText()
        if isinstance(widget, QComboBox):
            yield widget, widget.currentText()
        if isinstance(widget, QHeaderView):
            for section in range(widget.count()):
                said = widget.model().headerData(section, widget.orientation())
                yield widget, str(said or "")
        elif isinstance(widget, QAbstractItemView) and widget.model() is not None:
            model = widget.model()
            for row in range(min(model.rowCount(), 60)):
                for column in range(model.columnCount()):
                    yield widget, str(model.index(row, column).data() or "")


def missing_glyphs(window: QWidget) -> list[str]:
    """Texts with characters that no font of ours draws: they would be boxes."""
    return [f"{text!r} in {where(widget)}" for widget, text in texts(window) if boxes_in(text)]


def boxes_in(text: str) -> bool:
    """Whether some character of a text has no glyph in the faces of the window."""
    for line in text.split("\n"):
        layout = QTextLayout(line, font(TextRole.BODY))
        layout.beginLayout()
        if not layout.createLine().isValid():
            layout.endLayout()
            continue
        layout.endLayout()
        if any(0 in run.glyphIndexes() for run in layout.glyphRuns()):
            return True
    return False


def faces_of(text: str) -> set[str]:
    """The families that draw a text."""
    layout = QTextLayout(text, font(TextRole.BODY))
    layout.beginLayout()
    layout.createLine()
    layout.endLayout()
    return {run.rawFont().familyName() for run in layout.glyphRuns()}


def has_chinese_face() -> bool:
    """Whether this machine has a face for Chinese at all."""
    return QRawFont.fromFont(font(TextRole.BODY)).isValid() and not boxes_in("显存")


def nameless(window: QWidget) -> list[str]:
    """What takes the focus and has neither an accessible name nor a text of its own."""
    return [
        where(widget)
        for widget in visible(window)
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and not widget.accessibleName()
        and not (isinstance(widget, QAbstractButton) and widget.text())
    ]


def tab_walk(window: QWidget, at_most: int = 400) -> list[QWidget]:
    """The widgets that Tab reaches, in order, from the first one round to it again."""
    walked: list[QWidget] = []
    for _ in range(at_most):
        focused = QApplication.focusWidget()
        if focused is None or focused in walked:
            break
        walked.append(focused)
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    return walked


class Flashes(QObject):
    """Windows that were shown besides those that are meant to be.

    A widget that is shown before it has a parent is a window for a moment: it flashes, and takes the keyboard away.
    """

    def __init__(self, application: QApplication) -> None:
        super().__init__()
        self.seen: list[str] = []
        self._application = application
        application.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        shown = event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow()
        if shown and isinstance(watched, QWidget) and not isinstance(watched, Window | QMenu | QDialog):
            self.seen.append(where(watched))
        return False

    def stop(self) -> list[str]:
        """What flashed."""
        self._application.removeEventFilter(self)
        return self.seen
