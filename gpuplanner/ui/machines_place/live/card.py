"""The machine live: strips of what its GPUs do, start and stop, who computes, and why they wait.

One process there samples for as long as somebody looks. What is shown pauses while the mouse is over a strip; the
samples go on. What was watched can be kept in a file and shown again.
"""

from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QHideEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QVBoxLayout, QWidget

from gpuplanner.machines.low_utilization import Explanation, expected_utilization, explain
from gpuplanner.machines.no_gpus import no_gpus
from gpuplanner.messages import MessageValue, msg
from gpuplanner.probe.live_session import LiveSession
from gpuplanner.probe.telemetry import Mark, reasons_of
from gpuplanner.ui.background import Coalescer, Latest
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.machines_place.asking import Pending
from gpuplanner.ui.machines_place.errands import Ways
from gpuplanner.ui.machines_place.live.curves import strip
from gpuplanner.ui.machines_place.live.metrics import SPANS_S, Metric, sampled, shown
from gpuplanner.ui.machines_place.live.saving import InSight, Saving
from gpuplanner.ui.machines_place.live.strip_view import StripView
from gpuplanner.ui.machines_place.live.tables import (
    process_columns,
    process_rows,
    value_columns,
    value_rows,
)
from gpuplanner.ui.machines_place.live.utilization_card import UtilizationCard
from gpuplanner.ui.machines_place.live.watching import Watching
from gpuplanner.ui.machines_place.shown import Shown
from gpuplanner.ui.places import Context
from gpuplanner.ui.probing import Probing
from gpuplanner.ui.settings import WINDOW
from gpuplanner.ui.table.source import ListSource, PlainRow
from gpuplanner.ui.table.view import DataTable
from gpuplanner.ui.tokens import GAP, Verdict
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.menus import pop_up
from gpuplanner.ui.widgets.segmented import Option, Segmented

DRAW_MS = 250
EXPLAIN_EVERY = 8
"""Drawings between two looks for a cause: two seconds."""
_SPAN, _CHARTS, _TABLE, _STARTED = (WINDOW + f"live.{name}" for name in ("span", "charts", "table", "started"))
_MOST_ROWS_HIGH = 9
_ACROSS = 240
"""Bins of a curve at most: a strip is about twice as many pixels wide."""


class LiveCard(QWidget):
    """`sessionEnded` carries what was watched, when it ended, for whoever keeps it."""

    sessionEnded = Signal(object)
    asked = Signal()
    """`pending` is another."""

    def __init__(self, context: Context, probing: Probing, ways: Ways | None = None) -> None:
        """`ways`: the ways to machines, with the connections that are kept."""
        super().__init__()
        self._context = context
        self._ways = ways or Ways()
        appearance = self._appearance = context.appearance
        self._shown: Shown | None = None
        self._paused = False
        self._drawn = 0
        self._expected: tuple[float, float] | None = None
        self._strips: dict[str, StripView] = {}
        self.watching = Watching(probing, self._more, self._ended, self.asked.emit)
        self.saving = Saving(context, self, self._in_sight, self.show_session)
        self._drawing = Coalescer(self._draw, self, DRAW_MS)
        self._explaining, self._estimating = Latest(context.jobs), Latest(context.jobs)
        self.card = Card(appearance, msg("liveui.title"), " ")
        self.utilization = UtilizationCard(appearance)
        self.start = Button(appearance, msg("liveui.start"), small=True, icon="play")
        self.start.clicked.connect(self._toggle)
        self.card.title_row.addWidget(self.start)
        self.spans = Segmented(
            appearance,
            [Option(each, msg(f"liveui.span.{each}")) for each in SPANS_S],
            self._kept(_SPAN, "2m", SPANS_S),
            msg("liveui.span"),
        )
        self.spans.chosen.connect(self._choose_span)
        self.as_table = Button(appearance, msg("liveui.table"), ButtonKind.QUIET, small=True)
        self.as_table.setCheckable(True)
        self.as_table.setChecked(context.settings.kept(_TABLE, False) is True)
        self.as_table.toggled.connect(self._choose_table)
        self.more = Button(
            appearance, msg("liveui.more"), ButtonKind.QUIET, icon="ellipsis", icon_only=True, small=True
        )
        self.more.clicked.connect(lambda: pop_up(self.menu(), self.more))
        self.teach = Label(appearance, msg("liveui.teach"), TextRole.LABEL, Ink.MUTED, wrap=True)
        self.says = Label(appearance, "", TextRole.LABEL, Ink.MUTED, wrap=True)
        self.values = DataTable(appearance, context.settings, "live.values", value_columns(), msg("liveui.values"))
        self.processes = DataTable(
            appearance, context.settings, "live.processes", process_columns(), msg("liveui.processes")
        )
        self._process_title = Label(appearance, msg("liveui.processes"), TextRole.LABEL_STRONG, Ink.MUTED)
        self._lay_out()
        for signal in (appearance.languageChanged, appearance.themeChanged):
            signal.connect(self._draw)
        self.hide()

    # --- What the page asks -------------------------------------------------------------------------------------------

    def show_machine(self, shown_machine: Shown) -> None:
        """Offer to watch this machine; another one's watching ends. One that cannot be watched hides the card."""
        before, self._shown = self._shown, shown_machine
        if before is None or (before.target, before.kind) != (shown_machine.target, shown_machine.kind):
            self.watching.forget()
            self._expected = None
            self.utilization.show_explanation(None)
            if self._can_watch and self._context.settings.kept(_STARTED) == shown_machine.target:
                self._start()
            self._draw()
        if before is None or before.plan is not shown_machine.plan:
            self._estimate()

    def show_session(self, session: LiveSession) -> None:
        """Show what was watched before; it is marked as a recording."""
        self.watching.show_again(session)
        self._estimate()
        self._draw()
        self._explain()

    def close_card(self) -> None:
        """The window closes: end what runs there."""
        self.watching.stop()

    @property
    def pending(self) -> tuple[Pending, ...]:
        """What is asked on the way to the machine that is watched."""
        return tuple(self.watching.pending)

    def answer(self, pending: Pending, text: str | None) -> None:
        """Answer such a question, with None give up."""
        self.watching.answer(pending, text)

    def menu(self) -> QMenu:
        """What else can be done: choose charts, copy, export, keep and open sessions."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        text = self._appearance.text
        charts = menu.addMenu(text("liveui.charts"))
        now = {metric.id for metric in self._metrics()}
        for metric in sampled(self.watching.telemetry):
            action = QAction(text(metric.title), charts)
            action.setCheckable(True)
            action.setChecked(metric.id in now)
            action.toggled.connect(lambda on, wanted=metric.id: self._choose_chart(wanted, on=on))
            charts.addAction(action)
        charts.setEnabled(not self.watching.is_empty)
        menu.addSeparator()
        self.saving.add_to(menu, anything=not self.watching.is_empty)
        return menu

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._paused = False

    # --- Doing --------------------------------------------------------------------------------------------------------

    @property
    def _can_watch(self) -> bool:
        return self._shown is not None and self._shown.kind in {"here", "ssh"}

    def _toggle(self) -> None:
        if self.watching.running:
            self._context.settings.keep(_STARTED, "")
            self.watching.stop()
        else:
            self._start()

    def _start(self) -> None:
        if self._shown is None:
            return
        self._context.settings.keep(_STARTED, self._shown.target)
        self._drawn = 0
        self.watching.start(self._shown.target, self._ways)
        self._draw()

    def _more(self) -> None:
        if not self._paused:
            self._drawing.call()

    def _ended(self) -> None:
        if not self.watching.is_empty and not self.watching.recorded:
            self.sessionEnded.emit(self.watching.session())
            self._explain()
        self._draw()

    def _hovered(self, over: bool) -> None:
        self._paused = over
        self._say_state()
        if not over:
            self._drawing.call()

    def _choose_span(self, span: str) -> None:
        self._context.settings.keep(_SPAN, span)
        self._draw()

    def _choose_table(self, on: bool) -> None:
        self._context.settings.keep(_TABLE, on)
        self._draw()

    def _choose_chart(self, metric_id: str, *, on: bool) -> None:
        now = [metric.id for metric in self._metrics()]
        chosen = [*now, metric_id] if on else [each for each in now if each != metric_id]
        if chosen:
            self._context.settings.keep(_CHARTS, chosen)
        self._draw()

    def _in_sight(self) -> InSight:
        strips = tuple(self._strips.values())
        return InSight(self.watching.session(), self._title(), strips, self._metrics(), self._span_s)

    def _estimate(self) -> None:
        plan = self._shown.plan if self._shown is not None else None
        if plan is None:
            self._expected = None
            return
        workspace = self._context.workspace

        def expected(found: Any) -> None:
            self._expected = expected_utilization(found)
            self._explain()

        # A plan that cannot be estimated expects nothing; the Plan page says why.
        self._estimating.run(lambda _cancel: workspace.estimate(plan), expected, lambda _error: None)

    def _explain(self) -> None:
        telemetry, expected_percent = self.watching.telemetry, self._expected
        self._take_explanation(explain(telemetry, expected_percent) if not self.watching.is_empty else None)

    def _take_explanation(self, explanation: Explanation | None) -> None:
        self.utilization.show_explanation(explanation)

    # --- Drawing ------------------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        tools = QHBoxLayout()
        tools.setSpacing(4)
        tools.addWidget(self.spans)
        tools.addStretch(1)
        tools.addWidget(self.as_table)
        tools.addWidget(self.more)
        self._tools = QWidget()
        self._tools.setLayout(tools)
        tools.setContentsMargins(0, 0, 0, 0)
        self._column = QVBoxLayout()
        self._column.setSpacing(8)
        body = self.card.body
        for each in (self.teach, self._tools, self.says):
            body.addWidget(each)
        body.addLayout(self._column)
        for table in (self.values, self._process_title, self.processes):
            body.addWidget(table)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP)
        layout.addWidget(self.card)
        layout.addWidget(self.utilization)

    @property
    def _span_s(self) -> float:
        return SPANS_S[self.spans.current() or "2m"]

    def _metrics(self) -> tuple[Metric, ...]:
        kept = self._context.settings.kept(_CHARTS, [])
        chosen = [each for each in kept if isinstance(each, str)] if isinstance(kept, list) else []
        return shown(self.watching.telemetry, chosen)

    def _kept(self, key: str, default: str, known: Any) -> str:
        value = self._context.settings.kept(key, default)
        return value if isinstance(value, str) and value in known else default

    def _draw(self) -> None:
        watching = self.watching
        empty = watching.is_empty
        self.setVisible(self._can_watch or not empty)
        self.start.setVisible(self._can_watch)
        self.start.say(msg("liveui.stop") if watching.running else msg("liveui.start"))
        self.start.set_icon("x" if watching.running else "play")
        self.teach.setVisible(empty and not watching.running and watching.trouble is None)
        self._tools.setVisible(not empty)
        self._say_state()
        table = self.as_table.isChecked() and not empty
        self._draw_strips(hidden=empty or table)
        self._fill(self.values, value_rows(watching.telemetry, self._metrics(), self._span_s, self._appearance)
                   if table else [])  # fmt: skip
        self._fill(self.processes, process_rows(watching.telemetry))
        self._process_title.setVisible(bool(watching.telemetry.processes) and not self.processes.isHidden())
        if watching.running and self._drawn % EXPLAIN_EVERY == 0:
            self._explain()
        self._drawn += 1

    def _draw_strips(self, *, hidden: bool) -> None:
        telemetry = self.watching.telemetry
        metrics = () if hidden else self._metrics()
        for gone in [each for each in self._strips if each not in {metric.id for metric in metrics}]:
            view = self._strips.pop(gone)
            self._column.removeWidget(view)
            view.hide()
            view.deleteLater()
        for at, metric in enumerate(metrics):
            if metric.id not in self._strips:
                view = self._strips[metric.id] = StripView(self._appearance, _COLOURS.get(metric.id, 3))
                view.hovered.connect(self._hovered)
            self._column.insertWidget(at, self._strips[metric.id])
            across = max(40, min(_ACROSS, self._strips[metric.id].width() // 2))
            marks = [] if metric.of_host else list(telemetry.marks)
            self._strips[metric.id].show_strip(
                strip(telemetry, metric, self._span_s, across), marks, self._tags(metric)
            )

    def _tags(self, metric: Metric) -> list[tuple[Verdict, str]]:
        """Words for what the marks of the time shown are: throttling beside power, Xids on top."""
        if metric.of_host:
            return []
        telemetry = self.watching.telemetry
        since = telemetry.ended_s - self._span_s
        recent = [mark for mark in telemetry.marks if mark.at_s >= since or mark in _last_of(telemetry.marks)]
        codes = sorted({mark.xid for mark in recent if mark.xid is not None and mark.at_s >= since})
        drawn = [each.id for each in self._metrics()]
        first = drawn[0] == metric.id
        tags = [(Verdict.FAIL, f"Xid {code}") for code in codes if first]
        if metric.id == "power" or (first and "power" not in drawn):
            reasons = {name for mark in recent if mark.xid is None for name in reasons_of(mark.reasons)}
            tags += [(Verdict.WARN, self._appearance.text(f"cli.watch.reason.{name}")) for name in sorted(reasons)]
        if metric.id == "utilization" and telemetry.lost:
            lost = ", ".join(str(gpu) for gpu in sorted(telemetry.lost))
            tags.insert(0, (Verdict.FAIL, self._appearance.text("liveui.lost", gpus=lost)))
        return tags

    def _fill(self, table: DataTable, rows: list[PlainRow]) -> None:
        table.setVisible(bool(rows))
        if rows:
            table.set_source(ListSource([column.id for column in table.rows.columns], rows))
            high = min(len(rows), _MOST_ROWS_HIGH) * table.verticalHeader().defaultSectionSize()
            table.setFixedHeight(high + table.horizontalHeader().sizeHint().height() + 2 * table.frameWidth() + 2)

    def _title(self) -> str:
        return f"{self.watching.target} · {self._appearance.said(self._note())}"

    def _note(self) -> MessageValue:
        watching = self.watching
        if watching.is_empty:
            return " "
        gpus = len({gpu for gpu, _ in watching.telemetry.series if gpu is not None})
        if watching.recorded:
            return msg("liveui.note.recording", began=self._appearance.moment(watching.began), gpus=gpus)
        return msg("liveui.note", span=msg(f"liveui.last.{self.spans.current() or '2m'}"), gpus=gpus)

    def _say_state(self) -> None:
        watching = self.watching
        self.card.note.say(msg("liveui.paused") if self._paused and watching.running else self._note())
        text = self._appearance.text
        said = [text(watching.trouble)] if watching.trouble is not None else []
        if "nvml" in watching.absent:
            said.append(text(no_gpus(watching.absent["nvml"])))
        if "xid" in watching.absent:
            said.append(text("liveui.no_xid"))
        if watching.running and watching.is_empty:
            said.append(text("liveui.waiting"))
        self.says.say("\n".join(said))
        self.says.setVisible(bool(said))


_COLOURS = {"utilization": 0, "power": 2, "pcie_received": 1, "memory": 3, "cpu": 0, "ram": 3}


def _last_of(marks: Any) -> set[Mark]:
    """The newest word of each GPU on throttling: what began before the time shown may still hold."""
    newest = {mark.gpu: mark for mark in marks if mark.xid is None}
    return set(newest.values())
