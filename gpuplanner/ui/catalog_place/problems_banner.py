"""Above the table: what is wrong with a person's own files, with file, line and field."""

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuplanner.catalog.problems import Problem, Severity
from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.notices import NoticeAction
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.notice_box import NoticeBox

SHOWN = 2


class ProblemsBanner(QWidget):
    """The first problems in full; one more line leads to the others. Good entries stay in the tables."""

    def __init__(self, appearance: Appearance, show_all: Callable[[], object]) -> None:
        super().__init__()
        self._appearance = appearance
        self._show_all = show_all
        self.boxes: list[NoticeBox] = []
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(8)
        self.hide()

    def show_problems(self, problems: Sequence[Problem]) -> None:
        """Show other problems."""
        for box in self.boxes:
            self._close(box)
        worst_first = sorted(problems, key=lambda problem: problem.severity is not Severity.ERROR)
        for problem in worst_first[:SHOWN]:
            verdict = Verdict.FAIL if problem.severity is Severity.ERROR else Verdict.WARN
            self._add(NoticeBox(self._appearance, problem.message, verdict, closable=True))
        others = len(problems) - SHOWN
        if others > 0:
            see = NoticeAction(msg("catalogui.problems.see"), self._show_all)
            self._add(NoticeBox(self._appearance, msg("catalogui.problems.more", count=others), Verdict.WARN, see))
        self.setVisible(bool(self.boxes))

    def _add(self, box: NoticeBox) -> None:
        box.closed.connect(lambda: self._close(box))
        self._layout.addWidget(box)
        self.boxes.append(box)

    def _close(self, box: NoticeBox) -> None:
        self.boxes = [other for other in self.boxes if other is not box]
        self._layout.removeWidget(box)
        box.hide()
        box.deleteLater()
        self.setVisible(bool(self.boxes))
