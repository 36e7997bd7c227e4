"""The page of the Machines place: machines and what to run, what came of it, and the cards beside it."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from gpuplanner.messages import msg
from gpuplanner.probe.commands import READ_ONLY
from gpuplanner.ui.fields.text_field import Check, TextField
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.machines_place.beside import BAR, Beside
from gpuplanner.ui.machines_place.cause.card import CauseCard
from gpuplanner.ui.machines_place.charts.cards import RateCards
from gpuplanner.ui.machines_place.checks_view import ChecksView
from gpuplanner.ui.machines_place.errands import Tier, Ways
from gpuplanner.ui.machines_place.history.parts import HistoryParts
from gpuplanner.ui.machines_place.live.card import LiveCard
from gpuplanner.ui.machines_place.machine_list import MachineList
from gpuplanner.ui.machines_place.place import MACHINES_PLACE
from gpuplanner.ui.machines_place.presenter import MachinesPresenter
from gpuplanner.ui.machines_place.question_card import QuestionCard
from gpuplanner.ui.machines_place.questions import Questions
from gpuplanner.ui.machines_place.raw_view import RawView
from gpuplanner.ui.machines_place.run_view import RunView
from gpuplanner.ui.machines_place.shown import Shown
from gpuplanner.ui.notices import NoticeAction
from gpuplanner.ui.places import Context, Heading, Location, Page, PageAction
from gpuplanner.ui.tokens import GAP, Verdict
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.notice_box import NoticeBox
from gpuplanner.ui.widgets.scrolling import Scrolled, scrolling
from gpuplanner.ui.widgets.segmented import Option, Segmented
from gpuplanner.ui.widgets.splitter import Splitter

_VIEWS = ("checks", "run", "raw", "difference")
_WIDTHS = (232, 650, 380)
_LEAST_WIDTH = 388
"""Pixels in which a check, what was measured and the verdict stand side by side."""
_LEAST_LEFT = 192
"""Pixels in which the names of machines and the dates of runs can be read."""


class MachinesPage(Page):
    """Three columns as in the design."""

    def __init__(self, context: Context, ways: Ways | None = None) -> None:
        super().__init__()
        self._context = context
        appearance = self._appearance = context.appearance
        self.presenter = MachinesPresenter(context, ways)
        self.list = MachineList(appearance)
        self.host = TextField(appearance, msg("machinesui.add"), empty=msg("machinesui.add.hint"))
        self.expected = TextField(appearance, msg("machinesui.expected"), empty=msg("machinesui.expected.hint"))
        self.tiers = {tier: Check(appearance, msg(f"machinesui.tier.{tier.value}")) for tier in Tier}
        self.tiers[Tier.A].setChecked(True)
        self.commands = Button(
            appearance, msg("machinesui.commands.first", count=len(READ_ONLY)), ButtonKind.QUIET, small=True
        )
        self.test = Button(appearance, msg("machinesui.test"), small=True)
        self.views = Segmented(
            appearance, [Option(each, msg(f"machinesui.view.{each}")) for each in _VIEWS], "run", msg("machinesui.view")
        )
        self.cause = CauseCard(context)
        self.checks = ChecksView(appearance, context.settings, self.cause)
        self.running = RunView(appearance, context.settings)
        self.raw = RawView(appearance)
        self.problem = NoticeBox(appearance, "", Verdict.WARN)
        self._asked = Questions(appearance)
        self._asking: set[str] = set()
        self._stack = QStackedWidget()
        self.kept = HistoryParts(context, self.presenter, self.host, self.expected)
        for widget in (self.checks, self.running, self.raw, self.kept.difference):
            self._stack.addWidget(widget)
        self.rates = RateCards(context)
        self.live = LiveCard(context, self.presenter.probing, self.presenter.ways)
        self.beside = Beside(self.rates, self.live)
        self._to_run = self._tiers()
        left = scrolling(self._left())
        left.setMinimumWidth(_LEAST_LEFT)
        layout = self._columns = QHBoxLayout(self)
        panes = (left, self._middle(), self.beside)
        layout.addWidget(Splitter(context.settings, "machines", panes, _WIDTHS, grows=1))
        self.cause.after = self.checks.table
        self._beside_shows: Shown | None = None
        self._wire()
        self._go("run")
        self._show()

    # --- What the window asks -----------------------------------------------------------------------------------------

    def heading(self) -> Heading:
        session = self.presenter.current
        kind = msg(f"machinesui.kind.{session.entry.kind}")
        note = self.kept.note(session)
        compare = PageAction(
            "compare",
            msg("runsui.compare"),
            self._compare,
            icon="git-compare",
            enabled=self.kept.panel.may_compare,
        )
        run = PageAction(
            "run",
            msg("machinesui.run_again" if session.run is not None else "machinesui.run"),
            self.run,
            ButtonKind.PRIMARY,
            "play",
            "Ctrl+R",
            enabled=not session.busy,
        )
        return Heading(session.entry.name or kind, note, actions=(compare, run) if session.may_run else ())

    @property
    def questions(self) -> list[QuestionCard]:
        """The questions in sight."""
        return self._asked.cards

    def path(self) -> str:
        return self.presenter.current.entry.target

    def visit(self, path: str) -> None:
        self.presenter.visit(path)

    def panes(self) -> Sequence[QWidget]:
        views: dict[str, QWidget] = {"checks": self.checks.table, "run": self.running.table, "raw": self.raw.text}
        views["difference"] = self.kept.difference.first
        kept = self.kept.panel.rows[:1] if self.kept.panel.isVisible() else []
        return (self.list.rows[0], self.host, *kept, views[self.views.current()])

    def leave(self) -> bool:
        return self.checks.close_detail()

    def dropped(self, paths: Sequence[str]) -> bool:
        self.presenter.take_files(paths)
        return True

    def pasted(self, text: str) -> bool:
        self.presenter.take_text(text)
        return True

    def close_page(self) -> None:
        self.kept.closing()
        self.live.close_card()
        self.presenter.close()

    # --- Acting -------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run the chosen tiers on the machine in sight."""
        self.presenter.current.start(self._wanted_tiers())
        self._go("run")

    def _wanted_tiers(self) -> list[Tier]:
        return [tier for tier, check in self.tiers.items() if check.isChecked()]

    def _go(self, view: str) -> None:
        self.views.choose(view)
        self._stack.setCurrentIndex(_VIEWS.index(view))

    def _compare(self) -> None:
        """What differs between this run and the one before it."""
        self._go("difference")

    def _stop(self) -> None:
        self.presenter.current.stop()

    def _test(self) -> None:
        self._go("run")
        self.presenter.current.test()

    def _run_again(self, name: str) -> None:
        session = self.presenter.current
        results = session.run.results if session.run is not None else ()
        again = next((each.id for each in results if each.output().name == name), "")
        session.again(again)

    def _add_host(self) -> None:
        problem = self.presenter.add_host(self.host.value())
        self.host.set_problem(problem)
        if problem is None:
            self.host.set_value("")
            self._go("run")
            self.moved.emit(self.path())

    def _choose(self, at: int) -> None:
        self.presenter.choose(self.presenter.sessions[at])
        self._judged()
        self.moved.emit(self.path())

    # --- Showing ------------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        session = self.presenter.current
        self.list.show_machines(self.presenter.sessions, session)
        if not self.expected.box.edit.hasFocus():
            self.expected.set_value(self.presenter.wanted(session))
        self.test.setVisible(session.entry.kind == "ssh")
        self._to_run.setVisible(session.may_run)
        self.problem.setVisible(session.problem is not None)
        if session.problem is not None:
            self.problem.say(session.problem, Verdict.FAIL if session.unreachable else Verdict.WARN)
        self.running.show_session(session)
        self.kept.show_machine(session.shown)
        self._ask()
        shown = session.shown
        if shown.acceptance is not None:
            self.checks.show_acceptance(shown.acceptance)
        elif self.views.current() != "run":
            self._go("run")
        self.views.setEnabled(shown.acceptance is not None)
        if shown is not self._beside_shows:
            self._beside_shows = shown
            self.beside.show_machine(shown)
            # The bar of the right column lies in the margin.
            right = GAP + 2 - (0 if self.beside.isHidden() else BAR)
            self._columns.setContentsMargins(GAP + 2, GAP + 2, right, GAP + 2)
            # In a turn of its own: with the checks it would take too long for one.
            QTimer.singleShot(0, self.cause, lambda: self.cause.show_machine(self.presenter.current.shown))
        self.headingChanged.emit()

    def _judged(self) -> None:
        shown = self.presenter.current.shown
        outputs = [each.output for each in shown.machine.inspections] if shown.machine is not None else []
        self.raw.show_outputs(outputs, may_run=self.presenter.current.may_run)
        if shown.acceptance is not None and self.views.current() == "run":
            self._go("checks")

    def _ask(self) -> None:
        session = self.presenter.current
        self._asked.show_questions(
            {
                **dict.fromkeys(session.pending, session.answer),
                **dict.fromkeys(self.live.pending, self.live.answer),
            }
        )
        asking = {each.entry.target: each for each in self.presenter.sessions if each.pending}
        new, self._asking = asking.keys() - self._asking, set(asking)
        for target in () if self.isVisible() else sorted(new):
            entry = asking[target].entry
            name = entry.name or msg(f"machinesui.kind.{entry.kind}")
            there = Location(MACHINES_PLACE, target)
            answer = NoticeAction(msg("machinesui.asks.answer"), partial(self._context.go, there))
            self._context.notices.say(msg("machinesui.asks", name=name), Verdict.WARN, answer, sticky=True)

    # --- Laying out ---------------------------------------------------------------------------------------------------

    def _wire(self) -> None:
        presenter = self.presenter
        presenter.changed.connect(self._show)
        presenter.history.changed.connect(self.headingChanged)
        self._appearance.languageChanged.connect(self._show)
        presenter.judged.connect(self._judged)
        presenter.wantedWrong.connect(self.expected.set_problem)
        self.list.chosen.connect(self._choose)
        self.host.box.edit.returnPressed.connect(self._add_host)
        self.expected.box.edit.editingFinished.connect(self._want)
        self.kept.hostChosen.connect(self._add_host)
        self.kept.expectedChosen.connect(self._want)
        self.kept.sessionRead.connect(self.live.show_session)
        self.kept.sampleRead.connect(self.live.show_session)
        self.kept.sessionRead.connect(lambda _session: self.beside.reveal(self.live))
        self.live.sessionEnded.connect(self.kept.keep_session)
        for session in (self.live.sessionEnded, self.kept.sessionRead, self.kept.sampleRead):
            session.connect(self.rates.show_session)
        self.checks.table.rowChosen.connect(self._show_rates)
        for check in self.tiers.values():
            check.toggled.connect(lambda _on: self.running.show_tiers(self._wanted_tiers()))
        self.test.clicked.connect(self._test)
        self.commands.clicked.connect(lambda: self._go("run"))
        self.views.chosen.connect(self._go)
        self.running.stopWanted.connect(self._stop)
        self.running.opened.connect(self._show_output)
        self.raw.againWanted.connect(self._run_again)
        self.checks.evidenceWanted.connect(self._show_line)
        self.cause.evidenceWanted.connect(self._show_line)
        self.live.asked.connect(self._ask)

    def _want(self) -> None:
        if self.expected.value() != self.presenter.wanted(self.presenter.current):
            self.presenter.want(self.expected.value())

    def _show_rates(self, check: str) -> None:
        """What a check judges is drawn beside it."""
        drawn = self.rates.card_of(check)
        if drawn is not None:
            self.beside.reveal(drawn)

    def _show_output(self, command_id: str) -> None:
        """What a command of the run printed, where there is something of it."""
        run = self.presenter.current.run
        result = next((each for each in run.results if each.id == command_id), None) if run is not None else None
        if result is not None and self.raw.holds(name := result.output().name):
            self._show_line(name, 1)

    def _show_line(self, source: str, line: int) -> None:
        self._go("raw")
        self.raw.go(source, line)
        self.raw.text.setFocus()

    def _tiers(self) -> QWidget:
        """What a run does; not there for files that somebody saved."""
        whole = QWidget()
        column = QVBoxLayout(whole)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        title = Label(self._appearance, msg("machinesui.run"), TextRole.LABEL_STRONG, Ink.MUTED)
        for widget in (title, *self.tiers.values(), self.commands):
            column.addWidget(widget)
        return whole

    def _left(self) -> QWidget:
        content = Scrolled()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        box = Card(self._appearance, msg("machinesui.machines"), padding=12)
        box.title_row.addWidget(self.kept.remove)
        for widget in (self.list, self.host, self.test, self.expected):
            box.body.addWidget(widget)
        box.body.addWidget(self._to_run)
        box.body.addWidget(self.kept.panel)
        box.body.addStretch(1)
        column.addWidget(box, 1)
        return content

    def _middle(self) -> QWidget:
        box = Card(self._appearance, padding=14)
        box.setMinimumWidth(_LEAST_WIDTH)
        row = QHBoxLayout()
        row.addWidget(self.views)
        row.addStretch(1)
        box.body.addLayout(row)
        box.body.addWidget(self._asked)
        box.body.addWidget(self.problem)
        box.body.addWidget(self._stack, 1)
        return box
