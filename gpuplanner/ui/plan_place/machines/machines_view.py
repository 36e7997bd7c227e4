"""The right column: the machines that carry the plan, ranked, and below them why the others do not."""

from collections.abc import Sequence

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from gpuplanner.engine.machine import Machine
from gpuplanner.engine.machines import choice_of
from gpuplanner.engine.search.result import Candidate, Rejection
from gpuplanner.messages import Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fields.choice_box import ChoiceBox
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.pins import candidate_id
from gpuplanner.ui.plan_place.machines.machine_rows import (
    broken_counts,
    broken_name,
    found_rejections,
    machine_columns,
    machine_row,
    objective_column,
    rejection_columns,
    rejection_row,
    row_id,
)
from gpuplanner.ui.plan_place.outcome import Searched
from gpuplanner.ui.settings import Settings
from gpuplanner.ui.table.source import ListSource
from gpuplanner.ui.table.view import DataTable
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.notice_box import NoticeBox
from gpuplanner.ui.widgets.search_field import SearchField
from gpuplanner.ui.widgets.segmented import Option
from gpuplanner.workload.plan import Workload
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Training

_TWO_LINES = 46
_LEAST_TABLE = 150
_LEAST_ROWS = 2
_SHARE = 0.6
"""Of the height that both lists have, what the ranking may take."""
_ALL = "all"
PATIENCE_MS = 300
"""A search that takes no longer says nothing of itself."""
_OF_JOB = ("job_s", "job_usd")


class MachinesView(Card):
    """`chosen` carries the machine of the row that a person selected, `pinned` the candidate whose box was ticked."""

    chosen = Signal(object)
    pinned = Signal(object)
    copied = Signal(int)

    def __init__(self, appearance: Appearance, settings: Settings) -> None:
        super().__init__(appearance, msg("planui.machines"), " ")
        self._appearance = appearance
        self._settings = settings
        self._candidates: dict[str, Candidate] = {}
        self._rejections: tuple[Rejection, ...] = ()
        self._shown_rejections: list[Rejection] = []
        self._pinned: frozenset[str] = frozenset()
        self._selected = ""
        self._kind = ""
        self._showing = False
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(PATIENCE_MS)
        self._patience.timeout.connect(lambda: self.note.say(msg("planui.searching")))
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(0)
        self._rest.timeout.connect(self._show_rest)
        self._tables: dict[str, DataTable] = {}
        self._stack = QStackedWidget()
        self._none = Label(appearance, msg("planui.machines.none"), ink=Ink.MUTED, wrap=True)
        self._none.hide()
        self._no_job = Label(appearance, msg("planui.machines.no_job"), TextRole.LABEL, Ink.MUTED, wrap=True)
        self._no_job.hide()
        self.remarks: list[NoticeBox] = []
        self._remarks = QVBoxLayout()
        self._remarks.setSpacing(6)
        self.why_title = Label(appearance, msg("planui.why_not"), TextRole.STRONG)
        self._why_count = Label(appearance, "", TextRole.LABEL, Ink.MUTED)
        self.search = SearchField(appearance, msg("planui.why_not.search"))
        self.search.searched.connect(self._fill_rejections)
        self.filter = ChoiceBox(appearance)
        self.filter.chosen.connect(self._fill_rejections)
        appearance.languageChanged.connect(self._name_filter)
        self._name_filter()
        self.others = DataTable(
            appearance, settings, "plan.why_not", rejection_columns(), msg("planui.why_not"), row_height=_TWO_LINES
        )
        self.others.horizontalHeader().hide()
        self.others.rowChosen.connect(self._choose_other)
        self.others.copied.connect(self.copied)
        self.others.setMinimumHeight(_LEAST_TABLE)
        self.body.setSpacing(8)
        self.body.addLayout(self._remarks)
        self.body.addWidget(self._none)
        self.body.addWidget(self._stack)
        self.body.addWidget(self._no_job)
        self.body.addLayout(self._why_head())
        self.body.addWidget(self.others, 1)
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._fill_rejections)

    def table(self, kind: str) -> DataTable:
        """The table of the machines of a kind, made when it is first shown: there are many kinds."""
        if kind not in self._tables:
            self._tables[kind] = self._made(kind, self._settings)
            self._stack.addWidget(self._tables[kind])
        return self._tables[kind]

    def show_searched(self, searched: Searched | None, kind: str) -> None:
        """Show what another search found. The last one stays, muted by its count, until the next is there."""
        if kind != self._kind:
            self._kind = kind
            self._stack.setCurrentWidget(self.table(kind))
            self._candidates = {}
        if searched is None or not searched.current:
            self._patience.start()
            if searched is None:
                self._show_remarks(())
                self._show([], ())
                self.note.say("")
            return
        self._patience.stop()
        result = searched.result
        self._show_remarks(result.remarks if result else ())
        self.table(kind).columns.hold(
            objective_column(searched.plan, result.candidates if result else ()), measure=False
        )
        self._show(result.candidates if result else [], result.rejections if result else ())
        count, total = len(self._candidates), len(self._candidates) + len(self._rejections)
        self.note.say(msg("planui.machines.count", count=count, total=total) if result else "")
        self._none.say(searched.problem or msg("planui.machines.none"))
        self._none.setVisible(count == 0)
        # Without a machine the reasons get all of the height.
        self._stack.setVisible(count > 0)
        self._show_job(searched.plan.workload)
        self._fit_height()

    def _show_remarks(self, remarks: Sequence[Message]) -> None:
        """What holds of the whole search: it says why there are few machines, or what none of them can do."""
        while len(self.remarks) > len(remarks):
            box = self.remarks.pop()
            self._remarks.removeWidget(box)
            box.hide()
            box.deleteLater()
        while len(self.remarks) < len(remarks):
            box = NoticeBox(self._appearance, "")
            self._remarks.addWidget(box)
            self.remarks.append(box)
        for box, remark in zip(self.remarks, remarks, strict=True):
            box.say(remark, Verdict.WARN)

    def _show_job(self, workload: Workload) -> None:
        """Time and cost of the job stand in columns where somebody says how long the job is, else a line says so."""
        unsaid = not isinstance(workload, Serving) and not any("job_s" in c.metrics for c in self._candidates.values())
        of_tokens = isinstance(workload, Training)
        self._no_job.say(msg("planui.machines.no_job" if of_tokens else "planui.machines.no_length"))
        if not isinstance(workload, Serving):
            for column in _OF_JOB:
                self.table(workload.kind).columns.put_away(column, away=unsaid)
        self._no_job.setVisible(unsaid and bool(self._candidates))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_height()

    def _fit_height(self) -> None:
        """The ranking ends on a whole row and with its last one: what is left is for why the others do not do."""
        if not self._kind:
            return
        head = self.table(self._kind).horizontalHeader().sizeHint().height()
        fixed = self.sizeHint().height() - sum(map(_taken, (self._stack, self.others)))
        rows = min(len(self._candidates), int((self.height() - fixed) * _SHARE - head) // _TWO_LINES)
        self._stack.setFixedHeight(head + max(_LEAST_ROWS, rows) * _TWO_LINES)

    def show_selected(self, machine: Machine | None) -> None:
        """Mark the machine that the estimate is for."""
        self._selected = row_id(choice_of(machine)) if machine is not None else ""
        self._mark()

    def show_pins(self, pinned: frozenset[str]) -> None:
        """Tick the machines that are in the comparison, by the ids of their pins."""
        if pinned != self._pinned:
            self._pinned = pinned
            self._fill_candidates()

    def _made(self, kind: str, settings: Settings) -> DataTable:
        table = DataTable(
            self._appearance,
            settings,
            _table_key(kind),
            machine_columns(kind),
            msg("planui.machines"),
            row_height=_TWO_LINES,
        )
        table.rowChosen.connect(self._choose)
        table.checkClicked.connect(self._pin)
        table.copied.connect(self.copied)
        return table

    def _why_head(self) -> QVBoxLayout:
        title = QHBoxLayout()
        title.setSpacing(8)
        title.addWidget(self.why_title)
        title.addWidget(self._why_count, 1)
        tools = QHBoxLayout()
        tools.setSpacing(8)
        tools.addWidget(self.search, 1)
        tools.addWidget(self.filter, 1)
        head = QVBoxLayout()
        head.setContentsMargins(0, 8, 0, 0)
        head.setSpacing(8)
        head.addLayout(title)
        head.addLayout(tools)
        return head

    def _show(self, candidates: Sequence[Candidate], rejections: Sequence[Rejection]) -> None:
        self._candidates = {row_id(choice_of(c.machine)): c for c in candidates}
        self._rejections = tuple(rejections)
        # The others in the next turn of the event loop, so that keys come between; both are seen at the same time.
        self.setUpdatesEnabled(False)
        self._rest.start()
        self._fill_candidates()

    @property
    def is_filled(self) -> bool:
        """Whether everything of the last search is shown."""
        return not self._rest.isActive()

    def _show_rest(self) -> None:
        self._fill_filter()
        self._fill_rejections()
        self.setUpdatesEnabled(True)

    def _fill_candidates(self) -> None:
        if not self._kind:
            return
        table = self.table(self._kind)
        columns = table.rows.columns
        rows = [machine_row(at, c, columns, pinned=self._has_pin(c)) for at, c in self._candidates.items()]
        self._showing = True
        table.set_source(ListSource([c.id for c in columns], rows))
        self._showing = False
        self._mark()

    def _has_pin(self, candidate: Candidate) -> bool:
        return bool(self._pinned) and candidate_id(choice_of(candidate.machine), candidate.plan) in self._pinned

    def _fill_filter(self) -> None:
        everything = Option(_ALL, msg("planui.why_not.all"), str(len(self._rejections)))
        counts = broken_counts(self._rejections)
        options = [everything, *(Option(broken, broken_name(broken), str(count)) for broken, count in counts)]
        current = self.filter.current()
        self.filter.set_options(options, current if current in {o.id for o in options} else _ALL)

    def _name_filter(self) -> None:
        self.filter.setAccessibleName(self._appearance.text("planui.why_not"))

    def _fill_rejections(self) -> None:
        if self._rest.isActive():
            return
        broken = self.filter.current()
        wanted = "" if broken == _ALL else broken
        found = found_rejections(self._rejections, self.search.text(), wanted, self._appearance)
        self._shown_rejections = found
        if self._rejections:
            self._why_count.say(msg("planui.why_not.count", count=len(self._rejections)))
        rows = [rejection_row(rejection, at) for at, rejection in enumerate(found)]
        self._showing = True
        self.others.set_source(ListSource([c.id for c in self.others.rows.columns], rows))
        self.others.setCurrentIndex(self.others.rootIndex())
        self._showing = False

    def _mark(self) -> None:
        if not self._kind:
            return
        table = self.table(self._kind)
        self._showing = True
        if self._selected and table.choose(self._selected):
            table.show_current()
        else:
            table.clearSelection()
            table.setCurrentIndex(table.rootIndex())
        self._showing = False

    def _choose(self, chosen_id: str) -> None:
        candidate = self._candidates.get(chosen_id)
        if candidate is not None and not self._showing and chosen_id != self._selected:
            self.chosen.emit(candidate.machine)

    def _choose_other(self, position: str) -> None:
        if self._showing or not position:
            return
        machine = self._shown_rejections[int(position)].machine
        if machine is not None:
            self.chosen.emit(machine)

    def _pin(self, chosen_id: str, _column: str) -> None:
        candidate = self._candidates.get(chosen_id)
        if candidate is not None:
            self.pinned.emit(candidate)


def _taken(widget: QWidget) -> int:
    """How much of a layout's height its hint counts for a widget."""
    least, most = widget.minimumSize().height(), widget.maximumSize().height()
    return 0 if widget.isHidden() else max(least, min(most, widget.sizeHint().height()))


def _table_key(kind: str) -> str:
    return f"plan.machines.{kind}"
