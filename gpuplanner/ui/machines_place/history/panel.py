"""The history of the machine in sight: its runs and live sessions, opened again, compared, taken out and put back."""

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gpuplanner.machines.history import KeptRun, KeptSession
from gpuplanner.messages import msg
from gpuplanner.ui.fields.text_field import Check
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.machines_place.history.item_row import ItemRow
from gpuplanner.ui.machines_place.history.keeping import MachineHistory
from gpuplanner.ui.machines_place.history.words import lasted, tiers, tip, verdict_of, when
from gpuplanner.ui.machines_place.shown import Shown
from gpuplanner.ui.places import Context
from gpuplanner.ui.tab_order import follow
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.label import Ink, Label

_FIRST = 6
"""Items in sight until all are asked for."""


class HistoryPanel(QWidget):
    """`runWanted` and `sessionWanted` carry the number of what is to be opened."""

    runWanted = Signal(int)
    sessionWanted = Signal(int)
    saveWanted = Signal(int)
    """The number of the run in sight, which is to be written to a file."""

    def __init__(self, context: Context, history: MachineHistory) -> None:
        super().__init__()
        self._history = history
        appearance = self._appearance = context.appearance
        self._shown: Shown | None = None
        self._session_in_sight: int | None = None
        self._all = False
        self.items: list[KeptRun | KeptSession] = []
        self.rows: list[ItemRow] = []
        self.title = Label(appearance, msg("runsui.title"), TextRole.LABEL_STRONG, Ink.MUTED)
        self.empty = Label(appearance, msg("runsui.empty"), TextRole.LABEL, Ink.MUTED, wrap=True)
        self.more = Button(appearance, "", ButtonKind.QUIET, small=True)
        self.remove = Button(
            appearance, msg("runsui.remove"), ButtonKind.QUIET, icon="trash-2", icon_only=True, small=True
        )
        self.save = Button(
            appearance, msg("runsui.save"), ButtonKind.QUIET, icon="download", icon_only=True, small=True
        )
        self.keeps = Check(appearance, msg("runsui.keeps"), msg("runsui.keeps.tip", folder=str(context.workspace.home)))
        self.keeps.setChecked(history.keeps)
        self._list = QVBoxLayout()
        self._lay_out()
        self.more.clicked.connect(self._show_all)
        self.remove.clicked.connect(self._remove_in_sight)
        self.save.clicked.connect(self._save_in_sight)
        self.keeps.clicked.connect(lambda: history.choose_keeps(self.keeps.isChecked()))
        history.changed.connect(self._render)
        appearance.languageChanged.connect(self._render)

    def show_machine(self, shown: Shown) -> None:
        """Show what is kept of this machine; looked up again only where it is another, or more is known of it."""
        if shown is self._shown:
            return
        if self._shown is None or self._shown.target != shown.target:
            self._all, self._session_in_sight = False, None
        self._shown = shown
        self._render()
        self._history.refresh()

    @property
    def runs(self) -> tuple[KeptRun, ...]:
        """The runs of the machine, the latest first."""
        return tuple(item for item in self.items if isinstance(item, KeptRun))

    @property
    def may_compare(self) -> bool:
        """Whether there are two runs."""
        return len(self.runs) > 1

    def _render(self) -> None:
        if self._shown is None:
            return
        target = self._shown.target
        runs, sessions = self._history.runs(target), self._history.sessions(target)
        self.items = sorted([*runs, *sessions], key=lambda item: item.began, reverse=True)
        in_sight = self.items if self._all else self.items[:_FIRST]
        self._make_rows(len(in_sight))
        for row, item in zip(self.rows, in_sight, strict=True):
            self._show_item(row, item)
        self.empty.setVisible(not self.items)
        self.more.setVisible(len(self.items) > len(in_sight))
        self.more.say(msg("runsui.show_all", count=len(self.items)))
        self.remove.setVisible(self._in_sight() is not None)
        self.save.setVisible(isinstance(self._in_sight(), KeptRun))
        self.setVisible(self._shown.kind in {"here", "ssh"})

    def _make_rows(self, count: int) -> None:
        while len(self.rows) > count:
            row = self.rows.pop()
            self._list.removeWidget(row)
            row.hide()
            row.deleteLater()
        while len(self.rows) < count:
            row = ItemRow(self._appearance, self)
            at = len(self.rows)
            row.clicked.connect(partial(self._open, at))
            row.removeWanted.connect(partial(self._remove, at))
            self._list.addWidget(row)
            follow(self.rows[-1] if self.rows else self.title, row)
            self.rows.append(row)

    def _show_item(self, row: ItemRow, item: KeptRun | KeptSession) -> None:
        name, text = when(item.began, self._appearance), self._appearance.text
        row.setChecked(item is self._in_sight())
        if isinstance(item, KeptRun):
            row.show_item(name, tiers(item), tip(item, self._appearance), verdict_of(item)[0])
        else:
            said = text(lasted(item))
            row.show_item(name, said, text("runsui.session", when=name, lasted=said), Verdict.INFO, "eye")

    def _in_sight(self) -> KeptRun | KeptSession | None:
        """What of the list is shown beside it: a live session that was opened last, else the run."""
        run_id = self._shown.run_id if self._shown is not None else None
        for item in self.items:
            if isinstance(item, KeptSession) and item.id == self._session_in_sight:
                return item
        return next((item for item in self.items if isinstance(item, KeptRun) and item.id == run_id), None)

    def _open(self, at: int) -> None:
        item = self.items[at]
        if isinstance(item, KeptRun):
            self._session_in_sight = None
            self.runWanted.emit(item.id)
        else:
            self._session_in_sight = item.id
            self.sessionWanted.emit(item.id)
        self._render()

    def _remove_in_sight(self) -> None:
        item = self._in_sight()
        if item is not None:
            self._remove(self.items.index(item))

    def _save_in_sight(self) -> None:
        item = self._in_sight()
        if isinstance(item, KeptRun):
            self.saveWanted.emit(item.id)

    def _remove(self, at: int) -> None:
        item = self.items[at]
        name = when(item.began, self._appearance)
        if isinstance(item, KeptRun):
            self._history.remove(item, name)
        else:
            self._history.remove_session(item, name)

    def _show_all(self) -> None:
        self._all = True
        self._render()
        self.rows[min(_FIRST, len(self.rows) - 1)].setFocus()

    def _lay_out(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 6, 0, 0)
        column.setSpacing(4)
        top = QHBoxLayout()
        top.addWidget(self.title, 1)
        top.setSpacing(2)
        top.addWidget(self.save)
        top.addWidget(self.remove)
        column.addLayout(top)
        column.addWidget(self.empty)
        self._list.setSpacing(2)
        column.addLayout(self._list)
        column.addWidget(self.more)
        column.addWidget(self.keeps)
