"""A line with something at its left and something at its right, which goes to the next line where there is no room."""

from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

_GAP = 16
_LINE_GAP = 4


class SpreadRow(QWidget):
    """Two widgets, each as wide as it wants to be."""

    def __init__(self, left: QWidget, right: QWidget) -> None:
        super().__init__()
        self._left = left
        self._right = right
        self._placed: tuple[int, QSize, QSize] | None = None
        left.setParent(self)
        right.setParent(self)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        left, right = self._left.sizeHint(), self._right.sizeHint()
        if self._one_line(width):
            return max(left.height(), right.height())
        return left.height() + _LINE_GAP + right.height()

    def sizeHint(self) -> QSize:
        return QSize(self._left.sizeHint().width() + _GAP + self._right.sizeHint().width(), self.heightForWidth(10_000))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self.heightForWidth(max(120, self.width())))

    def arrange(self) -> None:
        """Place both again where one of them became wider or narrower."""
        sizes = self.width(), self._left.sizeHint(), self._right.sizeHint()
        if sizes == self._placed:
            return
        self._placed = sizes
        self.updateGeometry()
        self.setFixedHeight(self.heightForWidth(self.width()))
        left, right = self._left.sizeHint(), self._right.sizeHint()
        width = self.width()
        if self._one_line(width):
            height = self.height()
            self._left.setGeometry(QRect(0, 0, width - right.width() - _GAP, height))
            self._right.setGeometry(QRect(width - right.width(), 0, right.width(), height))
        else:
            self._left.setGeometry(QRect(0, 0, width, left.height()))
            self._right.setGeometry(QRect(0, left.height() + _LINE_GAP, min(width, right.width()), right.height()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.arrange()

    def _one_line(self, width: int) -> bool:
        return self._left.sizeHint().width() + _GAP + self._right.sizeHint().width() <= width
