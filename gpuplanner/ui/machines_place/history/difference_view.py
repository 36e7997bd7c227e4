"""What differs between two runs of a machine, and in what its GPUs differ from one another, as tables."""

from typing import Any

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpuplanner.machines.difference_words import Row, rows_between, rows_within
from gpuplanner.machines.evidence import of_run
from gpuplanner.machines.history import KeptRun
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.background import Cancel, Latest
from gpuplanner.ui.fields.choice_box import ChoiceBox
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.machines_place.history.keeping import MachineHistory
from gpuplanner.ui.machines_place.history.words import tip
from gpuplanner.ui.machines_place.shown import Shown
from gpuplanner.ui.places import Context
from gpuplanner.ui.table.columns import NOTHING, Column, Look
from gpuplanner.ui.table.source import ListSource, PlainRow
from gpuplanner.ui.table.view import DataTable
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.segmented import Option

Found = tuple[tuple[Row, ...], tuple[Row, ...]]


class DifferenceView(QWidget):
    """Two runs to choose, the newest two at first; of a machine without a second run only its GPUs are compared."""

    def __init__(self, context: Context, history: MachineHistory) -> None:
        super().__init__()
        self._context, self._history = context, history
        appearance = self._appearance = context.appearance
        self._shown: Shown | None = None
        self._runs: tuple[KeptRun, ...] = ()
        self._found: Found = ((), ())
        self._looking = Latest(context.jobs)
        self.before, self.after = ChoiceBox(appearance), ChoiceBox(appearance)
        self.between = DataTable(
            appearance, context.settings, "machines.between", _columns("before", "after"), msg("runsui.between")
        )
        self.within = DataTable(
            appearance, context.settings, "machines.within", _columns("usual", "value"), msg("runsui.within")
        )
        self._says_between = Label(appearance, "", TextRole.STRONG, wrap=True)
        self._says_within = Label(appearance, "", TextRole.STRONG, wrap=True)
        self._teach = Label(appearance, msg("runsui.teach"), ink=Ink.MUTED, wrap=True)
        self._pick = QWidget()
        self._lay_out()
        for box in (self.before, self.after):
            box.chosen.connect(self._look)
        history.changed.connect(self._render)
        appearance.languageChanged.connect(self._render)

    def show_machine(self, shown: Shown) -> None:
        """Show what differs in this machine."""
        if shown is not self._shown:
            self._shown = shown
            self._render()

    @property
    def first(self) -> QWidget:
        """Where the keyboard begins here."""
        return next((each for each in (self.before, self.between, self.within) if each.isVisibleTo(self)), self.before)

    def choose(self, before: int, after: int) -> None:
        """Compare these two runs."""
        self.before.choose(str(before))
        self.after.choose(str(after))
        self._look()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._look()

    # --- Looking ------------------------------------------------------------------------------------------------------

    def _render(self) -> None:
        """The runs to choose from; what was chosen stays, else the one in sight is compared with the one before it."""
        if self._shown is None:
            return
        text = self._appearance.text
        self.before.setAccessibleName(text("runsui.before"))
        self.after.setAccessibleName(text("runsui.after"))
        chosen = self.before.current(), self.after.current()
        same = {str(run.id) for run in self._runs} if self._runs else set()
        self._runs = self._history.runs(self._shown.target)
        ids = [str(run.id) for run in self._runs]
        options = [Option(str(run.id), tip(run, self._appearance)) for run in self._runs]
        keep = same == set(ids) and set(chosen) <= set(ids) and len(ids) > 1
        if not keep and len(ids) > 1:
            sight = str(self._shown.run_id)
            at = min(ids.index(sight) if sight in ids else 0, len(ids) - 2)
            chosen = ids[at + 1], ids[at]
        self._pick.setVisible(len(ids) > 1)
        for box, wanted in zip((self.before, self.after), chosen, strict=True):
            box.set_options(options, wanted if wanted in ids else "")
        self._look()

    def _look(self, _chosen: str = "") -> None:
        """Read both runs and compare them, beside the window; as long as nobody sees it, nothing."""
        shown = self._shown
        if shown is None or not self.isVisible():
            return
        before, after = (int(box.current() or 0) for box in (self.before, self.after))
        two = self._pick.isVisibleTo(self) and before and after
        history = self._history

        def work(_cancel: Cancel) -> Found:
            if two:
                earlier, later = of_run(history.read(before)).evidence, of_run(history.read(after)).evidence
                return rows_between(earlier, later), rows_within(later)
            return (), rows_within(shown.machine.evidence) if shown.machine is not None else ()

        self._looking.run(work, self._show, self._say_failed)

    def _show(self, found: Found) -> None:
        self._found = between, within = found
        two = self._pick.isVisibleTo(self)
        known = two or (self._shown is not None and self._shown.machine is not None)
        self._say(self._says_between, "between", len(between), shown=two)
        self._say(self._says_within, "within", len(within), shown=known)
        self._teach.setVisible(not two)
        for table, rows in ((self.between, between), (self.within, within)):
            table.setVisible(bool(rows))
            plain = [PlainRow(str(at), self._cells(row)) for at, row in enumerate(rows)]
            table.set_source(ListSource([column.id for column in table.rows.columns], plain))

    def _say_failed(self, fault: Exception) -> None:
        if not isinstance(fault, InputError):
            raise fault
        self._context.notices.say(fault.message, Verdict.WARN)
        self._show(((), ()))

    def _say(self, label: Label, which: str, count: int, *, shown: bool) -> None:
        label.setVisible(shown)
        label.say(msg(f"runsui.{which}.count", count=count) if count else msg(f"runsui.{which}.none"))

    def _cells(self, row: Row) -> tuple[Any, ...]:
        said = self._appearance.said
        change = said(row.change), Verdict.WARN if row.worse else Verdict.INFO
        return said(row.where), said(row.what), said(row.before), said(row.after), change

    def _lay_out(self) -> None:
        pick = QHBoxLayout(self._pick)
        pick.setContentsMargins(0, 0, 0, 0)
        pick.setSpacing(8)
        pick.addWidget(self.before, 1)
        pick.addWidget(Label(self._appearance, "→", ink=Ink.MUTED))
        pick.addWidget(self.after, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        for widget in (self._pick, self._teach, self._says_between):
            column.addWidget(widget)
        column.addWidget(self.between, 3)
        column.addWidget(self._says_within)
        column.addWidget(self.within, 2)
        column.addStretch(0)


def _columns(before: str, after: str) -> tuple[Column, ...]:
    def words(value: str | None, _appearance: Appearance) -> Look:
        return NOTHING if value is None else Look(value, tip=value)

    def change(value: tuple[str, Verdict], _appearance: Appearance) -> Look:
        return Look(value[0], verdict=value[1])

    def plain(value: tuple[str, Verdict] | None, _display: Any) -> str:
        return value[0] if value is not None else ""

    def title(name: str) -> Message:
        return msg(f"runsui.column.{name}")

    return (
        Column("where", title("where"), words, width=56),
        Column("what", title("what"), words, width=110),
        Column("before", title(before), words, width=82),
        Column("after", title(after), words, width=82),
        Column("change", title("change"), change, plain=plain, width=104, yields=True),
    )
