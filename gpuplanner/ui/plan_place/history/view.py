"""Earlier states of the open plan at the left; beside them how the chosen one differs from now, and the way back."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.plan_place.difference.comparing import Comparing
from gpuplanner.ui.plan_place.difference.table import DifferenceTable
from gpuplanner.ui.plan_place.history.entries import Entry, History
from gpuplanner.ui.plan_place.history.revision_list import RevisionList
from gpuplanner.ui.tokens import GAP
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.empty_state import EmptyState
from gpuplanner.ui.widgets.scrolling import scrolling
from gpuplanner.workload.plan import Plan

_LIST_WIDTHS = (240, 340)
_LIST_SHARE = 0.28
_GUTTER = 12


class HistoryView(QWidget):
    """`closed` asks to go back to the plan, `restored` carries the revision that is to be the plan again."""

    closed = Signal()
    restored = Signal(object)

    def __init__(
        self, appearance: Appearance, history: History, revisions: RevisionList, table: DifferenceTable, work: Comparing
    ) -> None:
        super().__init__()
        self._appearance = appearance
        self._history = history
        self._table = table
        self._comparing = work
        self._plan: Plan | None = None
        self.revisions = revisions
        self.close_button = Button(appearance, msg("planui.difference.close"), ButtonKind.QUIET, icon="x", small=True)
        self.restore_button = Button(appearance, msg("planui.history.restore"), ButtonKind.PRIMARY, small=True)
        self._list_card = Card(appearance, msg("planui.history"), " ")
        self._list_card.body.addWidget(revisions, 1)
        self._list_card.setFixedWidth(_LIST_WIDTHS[1])
        # Where the scroll bar stands.
        table.setContentsMargins(0, 0, _GUTTER, 0)
        self._then = Card(appearance, msg("planui.history.then"), " ")
        self._then.title_row.addWidget(self.restore_button)
        self._then.title_row.addWidget(self.close_button)
        self._then.body.addWidget(scrolling(table), 1)
        both = QWidget()
        sides = QHBoxLayout(both)
        sides.setContentsMargins(0, 0, 0, 0)
        sides.setSpacing(GAP)
        sides.addWidget(self._list_card)
        sides.addWidget(self._then, 1)
        self.empty = EmptyState(
            appearance,
            "rotate-ccw",
            msg("planui.history.empty"),
            msg("planui.history.empty.says"),
            (msg("planui.difference.close"), self.closed.emit),
        )
        self._stack = QStackedWidget()
        self._stack.addWidget(both)
        self._stack.addWidget(self.empty)
        self._stack.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(GAP + 2, GAP + 2, GAP + 2, GAP + 2)
        layout.addWidget(self._stack)
        revisions.chosen.connect(self._choose)
        self.restore_button.clicked.connect(self._restore)
        self.close_button.clicked.connect(self.closed)
        history.changed.connect(self._show_entries)
        work.done.connect(table.show_results)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        least, most = _LIST_WIDTHS
        self._list_card.setFixedWidth(max(least, min(most, int(self.width() * _LIST_SHARE))))

    def show_plan(self, plan: Plan, plan_id: str) -> None:
        """Show what is kept of the open plan."""
        self._plan = plan
        self._history.read(plan_id)

    def take_focus(self) -> None:
        """Put the keyboard where one begins."""
        wanted = self.revisions if self._stack.currentIndex() == 0 else self.empty.buttons[0]
        wanted.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter} and self.revisions.hasFocus():
            self._restore()
        else:
            super().keyPressEvent(event)

    def _earlier(self) -> list[Entry]:
        """The states that are not the plan as it is."""
        entries = list(self._history.entries)
        return entries[1:] if entries and _same(entries[0].revision.plan, self._plan) else entries

    def _show_entries(self) -> None:
        entries = self._earlier()
        had_focus = self.revisions.hasFocus() or self.empty.buttons[0].hasFocus()
        self._stack.setCurrentIndex(0 if entries or self._history.reading else 1)
        self._list_card.note.say(msg("planui.history.count", count=len(entries)) if entries else " ")
        self.revisions.show_entries(entries)
        if had_focus or self._stack.currentIndex() == 1:
            self.take_focus()

    def _choose(self, entry: Entry) -> None:
        if self._plan is None:
            return
        when = self._appearance.moment(entry.revision.made)
        self._then.note.say(when)
        self._table.show_plans(self._plan, entry.revision.plan, (msg("planui.history.now"), when))
        self._comparing.compare(self._plan, entry.revision.plan)

    def _restore(self) -> None:
        entry = self.revisions.current()
        if entry is not None:
            self.restored.emit(entry.revision)


def _same(kept: Plan, plan: Plan | None) -> bool:
    """Whether both ask for the same under the same name; with which catalog that was worked out does not count."""
    if plan is None:
        return False
    return (kept.name, kept.workload, kept.constraints, kept.machine, kept.notes) == (
        plan.name,
        plan.workload,
        plan.constraints,
        plan.machine,
        plan.notes,
    )
