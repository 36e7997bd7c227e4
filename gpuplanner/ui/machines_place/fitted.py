"""A pane below a table: as high as what it shows, at most a share of the view, and from there on it scrolls."""

from PySide6.QtCore import QEvent, QObject, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gpuplanner.ui.widgets.scrolling import Scrolled, scrolling


class Fitted(QWidget):
    """`view`: the widget of whose height it takes a share at most."""

    def __init__(self, content: Scrolled, share: float, view: QWidget) -> None:
        super().__init__()
        self._content = content
        self._share = share
        self._view = view
        for watched in (content, view):
            watched.installEventFilter(self)
        # Placed by hand: of a widget with a layout it is the layout that is asked for the height.
        self._area = scrolling(content)
        self._area.setParent(self)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        inner = self._content.layout()
        wanted = inner.heightForWidth(width) if inner is not None and inner.hasHeightForWidth() else -1
        if wanted < 0:
            wanted = self._content.sizeHint().height()
        return min(wanted, int(self._view.height() * self._share))

    def sizeHint(self) -> QSize:
        return QSize(200, self.heightForWidth(max(200, self.width())))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, min(60, self.sizeHint().height()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._area.setGeometry(self.rect())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # A scroll area keeps to itself that its content wants more room, and layouts keep the heights that were told.
        wants = watched is self._content and event.type() is QEvent.Type.LayoutRequest
        if wants or (watched is self._view and event.type() is QEvent.Type.Resize):
            self.updateGeometry()
        return super().eventFilter(watched, event)
