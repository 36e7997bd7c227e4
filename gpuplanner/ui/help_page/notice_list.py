"""What the window has told since it was opened, the latest first."""

from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuplanner.messages import msg
from gpuplanner.ui.notices import Notice
from gpuplanner.ui.places import Context
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.notice_box import NoticeBox


class NoticeList(QWidget):
    """Follows the notices as they are told and cleared."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(8)
        self._none = Label(context.appearance, msg("ui.notices.none"), ink=Ink.MUTED)
        self._layout.addWidget(self._none)
        self.boxes: list[NoticeBox] = []
        for notice in context.notices.kept:
            self._add(notice)
        context.notices.said.connect(self._add)
        context.notices.cleared.connect(self._clear)

    def _add(self, notice: Notice) -> None:
        says = msg("ui.notices.at", time=notice.at.strftime("%H:%M"), says=notice.message)
        box = NoticeBox(self._context.appearance, says, notice.verdict, notice.action)
        self.boxes.append(box)
        self._layout.insertWidget(0, box)
        self._none.hide()

    def _clear(self) -> None:
        for box in self.boxes:
            self._layout.removeWidget(box)
            box.deleteLater()
        self.boxes = []
        self._none.show()
