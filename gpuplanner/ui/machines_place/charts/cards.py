"""The cards of what was measured beside what should be reached, below one another; what failed stands first."""

from importlib import import_module
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuplanner.acceptance.verdicts import Verdict as Judged
from gpuplanner.messages import MessageValue, msg
from gpuplanner.ui.background import Cancel, Latest
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.machines_place.shown import Shown
from gpuplanner.ui.places import Context
from gpuplanner.ui.tokens import GAP
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.label import Ink, Label

if TYPE_CHECKING:
    from gpuplanner.machines.rates.chart import RateChart, Rates
    from gpuplanner.probe.evidence import Evidence
    from gpuplanner.probe.live_session import LiveSession
    from gpuplanner.ui.machines_place.charts.rate_card import RateCard

_FIRST = (Judged.FAIL, Judged.WARN)


class RateCards(QWidget):
    """Works the charts out in the background, and makes one card a turn, so that no turn takes long."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._shown: Shown | None = None
        self._working = Latest(context.jobs)
        self._waiting: list[tuple[RateChart, Judged | None]] = []
        self._session: LiveSession | None = None
        self._lacks = False
        self.cards: list[RateCard] = []
        self._undrawn: RateCard | None = None
        self._turn = QTimer(self)
        self._turn.setInterval(0)
        self._turn.timeout.connect(self._make_next)
        appearance = context.appearance
        self.teach = Card(appearance, msg("rates.title"))
        self.teach.body.addWidget(Label(appearance, msg("rates.teach"), TextRole.LABEL, Ink.MUTED, wrap=True))
        self.lacking = Label(appearance, "", TextRole.LABEL, Ink.MUTED, wrap=True)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(GAP)
        for widget in (self.teach, self.lacking):
            widget.hide()
            self._column.addWidget(widget)
        self.hide()

    def show_machine(self, shown: Shown) -> None:
        """Show the rates of this machine. Without any the cards go, or say how to measure where that can be done."""
        before, self._shown = self._shown, shown
        if before is not None and _is_same(before, shown):
            return
        if before is None or before.target != shown.target:
            self._session = None
        self._refresh(shown)

    def show_session(self, session: object) -> None:
        """What was watched of this machine: its shares stand beside those of the plan, where there is one."""
        from gpuplanner.probe.live_session import LiveSession

        if isinstance(session, LiveSession):
            self._session = session
            if self._shown is not None and self._shown.plan is not None:
                self._refresh(self._shown)

    def card_of(self, check: str) -> QWidget | None:
        """The first card that draws what a check judges; None where none does."""
        return next((card for card in self.cards if check and card.check == check), None)

    def _refresh(self, shown: Shown) -> None:
        from gpuplanner.machines.rates.presence import has_rates
        from gpuplanner.probe.evidence import Evidence

        self._working.cancel()
        self._clear()
        if shown.machine is None and self._session is None:
            self.hide()
            return
        evidence = shown.machine.evidence if shown.machine is not None else Evidence()
        there = has_rates(evidence, with_plan=shown.plan is not None)
        self.teach.setVisible(not there and shown.kind in {"here", "ssh"} and shown.machine is not None)
        self.setVisible(there or not self.teach.isHidden())
        if there:
            self._work_out(evidence, shown)

    def _work_out(self, evidence: "Evidence", shown: Shown) -> None:
        workspace, session = self._context.workspace, self._session
        given = shown.acceptance.promised if shown.acceptance is not None else shown.promised

        def work(_cancel: Cancel) -> "Rates":
            from gpuplanner.acceptance.promised import NOTHING
            from gpuplanner.machines.rates.reading import known_of, rates_of
            from gpuplanner.machines.rates.utilization import of_telemetry

            # To read it takes half a second, for which the window does not wait here.
            import_module("pyqtgraph")
            watched = of_telemetry(session.telemetry) if session is not None else None
            return rates_of(evidence, known_of(workspace, evidence, given or NOTHING, shown.plan), watched)

        self._working.run(work, lambda rates: self._show(rates, shown))

    def _show(self, rates: "Rates", shown: Shown) -> None:
        verdicts = {each.id: each.judgement.verdict for each in shown.acceptance.results} if shown.acceptance else {}
        judged = [(chart, verdicts.get(chart.check)) for chart in rates.charts]
        self._waiting = sorted(judged, key=lambda each: _FIRST.index(each[1]) if each[1] in _FIRST else len(_FIRST))
        self.setVisible(bool(judged))
        if rates.lacking:
            self.lacking.say(msg("rates.lacking", names=listed_names(rates)))
        self._lacks = bool(rates.lacking)
        self._turn.start()

    def _make_next(self) -> None:
        """Draw the last card, or make one more; after the last one what was not measured."""
        if self._undrawn is not None:
            self._undrawn.draw()
            self._undrawn = None
            return
        if not self._waiting:
            self._turn.stop()
            self.lacking.setVisible(self._lacks and bool(self.cards))
            return
        from gpuplanner.ui.machines_place.charts.rate_card import RateCard

        card = RateCard(self._context, *self._waiting.pop(0))
        self.cards.append(card)
        self._column.insertWidget(len(self.cards), card)
        card.show()
        self._undrawn = card

    def _clear(self) -> None:
        self._turn.stop()
        self._waiting = []
        self._undrawn = None
        self.lacking.hide()
        for card in self.cards:
            self._column.removeWidget(card)
            card.hide()
            card.deleteLater()
        self.cards = []


def _is_same(before: Shown, after: Shown) -> bool:
    """Whether the same is to be drawn. By what they are, since to compare all that was read takes long."""
    return (before.target, before.kind) == (after.target, after.kind) and (
        before.machine is after.machine and before.acceptance is after.acceptance and before.plan is after.plan
    )


def listed_names(rates: "Rates") -> MessageValue:
    """The names of what was not measured, in a row."""
    from gpuplanner.machines.rates.chart import listed

    return listed(rates.lacking)
