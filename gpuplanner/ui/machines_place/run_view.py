"""What runs on a machine: the steps of the connection test, the commands one by one, how far a measurement is."""

import time
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QRectF, QSize, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from gpuplanner.messages import MessageValue, msg, on_one_line, shortened
from gpuplanner.probe.commands import READ_ONLY
from gpuplanner.probe.connecting import STEPS, StepState
from gpuplanner.probe.installed.tools import PREFIX
from gpuplanner.probe.measuring import Measuring, step_name
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.machines_place.errands import Tier
from gpuplanner.ui.machines_place.session import CommandState, MachineSession
from gpuplanner.ui.painting import painter_for, rounded_box
from gpuplanner.ui.settings import Settings
from gpuplanner.ui.table.columns import NOTHING, Column, Look
from gpuplanner.ui.table.source import ListSource, PlainRow
from gpuplanner.ui.table.view import DataTable
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.button import Button
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.verdict_tag import VerdictTag
from gpuplanner.units import percent

_TICK_MS = 500
_LONGEST_SAID = 100
_STEPS = {
    "waiting": Verdict.UNKNOWN,
    "running": Verdict.INFO,
    "done": Verdict.PASS,
    "failed": Verdict.FAIL,
    "cannot tell": Verdict.UNKNOWN,
}
_BAD = frozenset({"timed_out", "stopped", "failed", "lost", "cut"})


class StepList(QWidget):
    """The connection test: a row a step, with its state, its time and what was found or is wrong."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 6)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(5)
        self._grid.setColumnStretch(3, 1)
        self._rows: dict[Any, tuple[VerdictTag, Label, Label]] = {}
        self._shown: tuple[tuple[StepState, ...], bool] = ((), False)
        for at, step in enumerate(STEPS):
            tag, seconds = VerdictTag(appearance), Label(appearance, "", TextRole.LABEL, Ink.MUTED)
            says = Label(appearance, "", TextRole.LABEL, Ink.MUTED, wrap=True)
            name = Label(appearance, msg(f"probe.step.{step.value}"))
            for column, widget in enumerate((name, tag, seconds, says)):
                self._grid.addWidget(widget, at, column)
            self._rows[step] = tag, seconds, says

    def show_steps(self, states: Sequence[StepState], *, testing: bool) -> None:
        """Show where the steps stand. What a test that has ended did not come to waits for nothing."""
        if (tuple(states), testing) == self._shown:
            return
        self._shown = tuple(states), testing
        for state in states:
            tag, seconds, says = self._rows[state.step]
            tag.setVisible(testing or state.state != "waiting")
            tag.set_verdict(_STEPS[state.state], msg(f"probe.state.{state.state}"))
            seconds.say(f"{state.seconds:.1f} s" if state.seconds else "")
            says.say(state.why or state.detail)


class _Bar(QWidget):
    """How far a measurement is."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self._share = 0.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        appearance.themeChanged.connect(self.update)

    def show_share(self, share: float) -> None:
        """0 to 1."""
        self._share = share
        self.setAccessibleName(percent(share))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(120, 8)

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter, area = painter_for(self), QRectF(self.rect())
        rounded_box(painter, area, 4, tokens.track)
        if self._share > 0:
            rounded_box(painter, QRectF(0, 0, max(8.0, area.width() * self._share), area.height()), 4, tokens.primary)


class RunView(QWidget):
    """`opened` carries the id of a command whose output a person wants to read."""

    opened = Signal(str)
    stopWanted = Signal()

    def __init__(self, appearance: Appearance, settings: Settings) -> None:
        super().__init__()
        self._appearance = appearance
        self._session: MachineSession | None = None
        self._tiers: tuple[Tier, ...] = (Tier.A,)
        self.steps = StepList(appearance)
        self.note = Label(appearance, "", ink=Ink.MUTED, wrap=True)
        self.stop = Button(appearance, msg("machinesui.stop"), icon="x", small=True)
        self.copy = Button(appearance, msg("machinesui.commands.copy"), icon="copy", small=True)
        self._bar = _Bar(appearance)
        self.table = DataTable(appearance, settings, "machines.run", self._columns(), msg("machinesui.commands"))
        self._seen: tuple[object, ...] = ()
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.note, 1)
        head.addWidget(self.copy)
        head.addWidget(self.stop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self.steps)
        layout.addLayout(head)
        layout.addWidget(self._bar)
        layout.addWidget(self.table, 1)
        self.stop.clicked.connect(self.stopWanted)
        self.copy.clicked.connect(self._copy)
        self.table.rowOpened.connect(self.opened)
        self._timer = QTimer(self)
        self._timer.setInterval(_TICK_MS)
        self._timer.timeout.connect(self._say)

    def show_session(self, session: MachineSession) -> None:
        """Show what runs or ran."""
        self._session = session
        self.steps.setVisible(bool(session.steps))
        self.steps.show_steps(tuple(session.steps.values()), testing=session.testing)
        self.stop.setVisible(session.busy)
        self._bar.setVisible(session.measuring is not None)
        if session.measuring is not None:
            self._bar.show_share(session.measuring.share)
        if session.busy and not self._timer.isActive():
            self._timer.start()
        elif not session.busy:
            self._timer.stop()
        self._say()
        runs = session.busy and not session.testing
        seen = (session, runs, *((state.state, state.result) for state in session.commands))
        if seen != self._seen:
            self._seen = seen
            # Before a run, and after one that ended early, nothing is queued.
            states = [each if runs or each.result is not None else None for each in session.commands]
            rows = [
                PlainRow(each.command.id, (each.command.shown, state, _seconds(each)))
                for each, state in zip(session.commands, states, strict=True)
            ]
            self.table.set_source(ListSource(("command", "state", "seconds"), rows))

    def show_tiers(self, tiers: Sequence[Tier]) -> None:
        """Say what a run of these tiers would do."""
        self._tiers = tuple(tiers)
        self._say()

    def _say(self) -> None:
        session = self._session
        if session is None:
            return
        ended = sum(state.result is not None for state in session.commands)
        seconds = f"{time.monotonic() - session.began:.0f}"
        if session.testing:
            self.note.say(msg("machinesui.run.testing", seconds=seconds))
        elif session.busy and session.measuring is not None:
            share = percent(session.measuring.share)
            self.note.say(
                msg("machinesui.run.measuring", what=_what_runs(session.measuring), seconds=seconds, share=share)
            )
        elif session.busy and Tier.A not in session.tiers:
            self.note.say(msg("machinesui.run.begins", seconds=seconds))
        elif session.busy:
            self.note.say(msg("machinesui.run.now", ended=ended, count=len(session.commands), seconds=seconds))
        else:
            self.note.say(_what_would_run(self._tiers))

    def _copy(self) -> None:
        if self._session is not None:
            QGuiApplication.clipboard().setText("\n".join(each.command.shown for each in self._session.commands))

    def _columns(self) -> tuple[Column, ...]:
        def state(value: CommandState | None, appearance: Appearance) -> Look:
            if value is None:
                return NOTHING
            verdict, word = command_state(value)
            return Look(appearance.text(f"machinesui.command.{word}"), verdict=verdict)

        def seconds(value: float | None, _appearance: Appearance) -> Look:
            return NOTHING if value is None else Look(f"{value:.2f}")

        return (
            Column("command", msg("machinesui.column.command"), lambda text, _a: Look(text, tip=text), width=150),
            Column("state", msg("machinesui.column.state"), state, width=112, sortable=False, plain=_plain_state),
            Column(
                "seconds", msg("machinesui.column.time"), seconds, lambda _d: "s", right=True, width=64, yields=True
            ),
        )


def _what_runs(step: Measuring) -> MessageValue:
    """A step of the measurement by its name, or a tool with the line that it printed last."""
    name = step_name(step.what)
    if name is None:
        tool = on_one_line(step.what.removeprefix(PREFIX))
        return shortened(f"{tool}: {on_one_line(step.said)}", _LONGEST_SAID) if step.said else tool
    return name if step.gpu is None else msg("machinesui.run.measuring.gpu", gpu=step.gpu, what=name)


def _what_would_run(tiers: Sequence[Tier]) -> MessageValue:
    """In the order in which it would."""
    if not tiers:
        return msg("machinesui.run.would.nothing")
    said = msg(f"machinesui.run.would.{tiers[0].value}", count=len(READ_ONLY))
    for tier in tiers[1:]:
        said = msg(f"machinesui.run.would.then.{tier.value}", first=said)
    return said


def command_state(state: CommandState) -> tuple[Verdict, str]:
    """How a command stands: a verdict, and the end of its word's id. A tool that is not there is no fault."""
    if state.result is None:
        return (Verdict.INFO, "running") if state.state == "running" else (Verdict.UNKNOWN, "queued")
    outcome = state.result.outcome
    if outcome == "ended":
        return (Verdict.PASS, "done") if state.result.exit_code == 0 else (Verdict.WARN, "said_no")
    return (Verdict.WARN if outcome in _BAD else Verdict.UNKNOWN), outcome


def _plain_state(value: CommandState | None, _display: Any) -> str:
    return command_state(value)[1] if value is not None else ""


def _seconds(state: CommandState) -> float | None:
    return state.result.seconds if state.result is not None else None
