"""Notices as they come, over the lower right corner of the window. They go by themselves and take no focus."""

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QTimer
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.background import Coalescer
from gpuplanner.ui.notices import Notice
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.notice_box import NoticeBox

SHOWN_MS = 6000
AT_MOST = 3
WIDTH = 380
MARGIN = 18


class Toasts(QWidget):
    """The toasts in sight. One that a person points at stays; a failure and a sticky notice stay until closed."""

    def __init__(self, appearance: Appearance, over: QWidget) -> None:
        super().__init__(over)
        self._appearance = appearance
        self._over = over
        self._boxes: list[NoticeBox] = []
        self._told: dict[NoticeBox, Notice] = {}
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(8)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        over.installEventFilter(self)
        # Later, when the boxes have said their sentences in the other language.
        self._replacing = Coalescer(self._place, self, 0)
        appearance.languageChanged.connect(self._replacing.call)
        self.hide()

    def show_notice(self, notice: Notice) -> None:
        """Show a notice above the others, unless it is quiet."""
        if notice.quiet:
            return
        if notice.action is None:
            # Said again it is the latest, and not there twice. What can be undone is each time another thing.
            for told in [box for box, other in self._told.items() if other.message == notice.message]:
                self._remove(told)
        box = NoticeBox(
            self._appearance, notice.message, notice.verdict, notice.action, closable=True, raised=True, parent=self
        )
        box.setFixedWidth(WIDTH)
        box.closed.connect(lambda: self._remove(box))
        self._boxes.append(box)
        self._told[box] = notice
        self._layout.addWidget(box)
        if not notice.sticky and notice.verdict is not Verdict.FAIL:
            timer = QTimer(box)
            timer.setInterval(SHOWN_MS)
            timer.timeout.connect(lambda: self._time_is_up(box))
            timer.start()
        while len(self._boxes) > AT_MOST:
            self._remove(self._boxes[0])
        self._place()

    def count(self) -> int:
        """How many are in sight."""
        return len(self._boxes)

    def close_latest(self) -> bool:
        """Close the latest one. Tells whether there was one."""
        if not self._boxes:
            return False
        self._remove(self._boxes[-1])
        return True

    def close_all(self) -> None:
        """Close all of them: the person looks at the list that has them."""
        for box in list(self._boxes):
            self._remove(box)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._over and event.type() == QEvent.Type.Resize and self._boxes:
            self._place()
        return super().eventFilter(watched, event)

    def _time_is_up(self, box: NoticeBox) -> None:
        pointed_at = box.rect().contains(box.mapFromGlobal(QCursor.pos()))
        if not pointed_at:
            self._remove(box)

    def _remove(self, box: NoticeBox) -> None:
        if box in self._boxes:
            self._boxes.remove(box)
            del self._told[box]
            self._layout.removeWidget(box)
            box.hide()
            box.deleteLater()
            self._place()

    def _place(self) -> None:
        self.setVisible(bool(self._boxes))
        for box in self._boxes:
            # Its size hint is that of a narrower box, which has more lines.
            box.setFixedHeight(box.heightForWidth(WIDTH))
        height = sum(box.height() for box in self._boxes)
        height += self._layout.spacing() * max(0, len(self._boxes) - 1)
        corner = QPoint(self._over.width() - WIDTH - MARGIN, self._over.height() - height - MARGIN - 30)
        self.setGeometry(corner.x(), corner.y(), WIDTH, height)
        self.raise_()
