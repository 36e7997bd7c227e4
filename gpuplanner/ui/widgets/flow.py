"""A layout that puts widgets in lines, as words are: for chips, legends and tags."""

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class FlowLayout(QLayout):
    """Left to right, and on to the next line where there is no more room."""

    def __init__(self, parent: QWidget | None = None, across: int = 8, down: int = 6) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._across = across
        self._down = down
        self._heights: dict[int, int] = {}
        self._sizes: list[tuple[QLayoutItem, QSize, QSize]] | None = None
        self.setContentsMargins(0, 0, 0, 0)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        if not 0 <= index < len(self._items):
            return None
        item = self._items.pop(index)
        self.invalidate()
        return item

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        # Layouts around this one ask again and again for the same width.
        if width not in self._heights:
            self._heights[width] = self._arrange(QRect(0, 0, width, 0), move=False)
        return self._heights[width]

    def invalidate(self) -> None:
        self._heights.clear()
        self._sizes = None
        super().invalidate()

    def setGeometry(self, area: QRect) -> None:
        super().setGeometry(area)
        self._arrange(area, move=True)

    def sizeHint(self) -> QSize:
        sizes = [hint for _item, hint, _least in self._shown()]
        width = sum(size.width() + self._across for size in sizes) - self._across
        return QSize(max(0, width), max((s.height() for s in sizes), default=0)).grownBy(self.contentsMargins())

    def minimumSize(self) -> QSize:
        sizes = [least for _item, _hint, least in self._shown()]
        least = QSize(max((s.width() for s in sizes), default=0), max((s.height() for s in sizes), default=0))
        return least.grownBy(self.contentsMargins())

    def _shown(self) -> list[tuple[QLayoutItem, QSize, QSize]]:
        """What is in sight, with the size that it wants and the least: asked for once until something changes."""
        if self._sizes is None:
            shown = [item for item in self._items if not item.isEmpty()]
            self._sizes = [(item, item.sizeHint(), item.minimumSize()) for item in shown]
        return self._sizes

    def _arrange(self, whole: QRect, *, move: bool) -> int:
        margins = self.contentsMargins()
        area = whole.marginsRemoved(margins)
        x, y, line = area.x(), area.y(), 0
        for item, size, _least in self._shown():
            width = min(size.width(), area.width())
            if x > area.x() and x + width > area.x() + area.width():
                x, y, line = area.x(), y + line + self._down, 0
            if move:
                item.setGeometry(QRect(QPoint(x, y), QSize(width, size.height())))
            x += width + self._across
            line = max(line, size.height())
        return y + line - whole.y() + margins.bottom()
