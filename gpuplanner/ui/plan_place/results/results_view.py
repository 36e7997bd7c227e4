"""The middle column: the verdict first, then memory, time, why, cost, host, remarks. Empty until something is known."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from PySide6.QtCore import QSize, QTimer, Signal
from PySide6.QtWidgets import QLayout, QVBoxLayout, QWidget

from gpuplanner.catalog.entries import Rule
from gpuplanner.engine.advice import advice_for
from gpuplanner.engine.estimate import Estimate, Fit
from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.plan_place.machines.machines_view import PATIENCE_MS
from gpuplanner.ui.plan_place.outcome import Worked
from gpuplanner.ui.plan_place.questions.card import QuestionsCard
from gpuplanner.ui.plan_place.results.changes_card import ChangesCard
from gpuplanner.ui.plan_place.results.cost_card import CostCard
from gpuplanner.ui.plan_place.results.figure_ids import NEEDED, figure_of
from gpuplanner.ui.plan_place.results.headlines import headlines
from gpuplanner.ui.plan_place.results.host_card import HostCard
from gpuplanner.ui.plan_place.results.memory_card import MemoryCard
from gpuplanner.ui.plan_place.results.nodes_row import NodesRow
from gpuplanner.ui.plan_place.results.remarks_card import RemarksCard, RulesCard
from gpuplanner.ui.plan_place.results.time_card import TimeCard
from gpuplanner.ui.plan_place.results.verdict_card import VerdictCard
from gpuplanner.ui.plan_place.results.verdict_line import VerdictLine
from gpuplanner.ui.plan_place.results.why_card import WhyCard
from gpuplanner.ui.tokens import GAP, Verdict
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.notice_box import NoticeBox

_BELOW_THE_MACHINE = 2
"""Where the nodes stand in the card of the verdict: after the name and the way of running."""


@contextmanager
def laid_out_once(layout: QLayout) -> Iterator[None]:
    """Lay out once, after all that happens inside: each widget that is shown would have Qt lay out all others first."""
    layout.setEnabled(False)
    try:
        yield
    finally:
        layout.setEnabled(True)


class ResultsView(QWidget):
    """`whyShown`: the explanation of another number is shown and should be in sight."""

    whyShown = Signal()
    explanationWanted = Signal()
    """A number is asked for whose derivation may still be on its way."""

    def __init__(
        self,
        appearance: Appearance,
        rules: Callable[[], Mapping[str, Rule]],
        copied: Callable[[], object],
        questions: QuestionsCard,
    ) -> None:
        super().__init__()
        self._appearance = appearance
        self._rules = rules
        self._asked = ""
        self._estimate: Estimate | None = None
        self._problem = NoticeBox(appearance, "", Verdict.WARN)
        self._waiting = Label(appearance, msg("planui.working"), ink=Ink.MUTED)
        self.verdict = VerdictCard(appearance)
        self.nodes = NodesRow(appearance)
        self.verdict.body.insertWidget(_BELOW_THE_MACHINE, self.nodes)
        self.line = VerdictLine(appearance)
        self.changes = ChangesCard(appearance)
        self.memory = MemoryCard(appearance)
        self.time = TimeCard(appearance)
        self.why = WhyCard(appearance, copied)
        self.cost = CostCard(appearance)
        self.host = HostCard(appearance, rules)
        self.questions = questions
        self.remarks = RemarksCard(appearance)
        self.advice = RulesCard(appearance)
        self._cards = (
            self.verdict,
            self.changes,
            self.memory,
            self.time,
            self.why,
            self.cost,
            self.host,
            self.questions,
            self.remarks,
            self.advice,
        )
        layout = self._column = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(GAP)
        layout.addWidget(self._problem)
        layout.addWidget(self._waiting)
        for card in self._cards:
            layout.addWidget(card)
            card.hide()
        layout.addStretch(1)
        for source in (self.verdict, self.memory, self.time, self.cost, self.host):
            source.asked.connect(self.explain)
        self._problem.hide()
        self._waiting.hide()
        self._patience = QTimer(self)
        self._patience.setSingleShot(True)
        self._patience.setInterval(PATIENCE_MS)
        self._patience.timeout.connect(self._waiting.show)

    def minimumSizeHint(self) -> QSize:
        # As narrow as the column is: each card lays itself out for the width that there is, and none forces another.
        return QSize(0, super().minimumSizeHint().height())

    def show_worked(self, worked: Worked) -> None:
        """Show another estimate, or why there is none. One of an earlier state of the plan stays in sight."""
        with laid_out_once(self._column):
            self._show_or_say(worked)

    def _show_or_say(self, worked: Worked) -> None:
        self._problem.setVisible(worked.problem is not None)
        if worked.problem is not None:
            self._problem.say(worked.problem, Verdict.WARN)
        estimate = worked.estimate
        waits = estimate is None and worked.problem is None
        self._waiting.setVisible(self._waiting.isVisible() and waits)
        if waits and not self._patience.isActive():
            self._patience.start()
        elif not waits:
            self._patience.stop()
        if estimate is None:
            self._estimate = None
            for card in self._cards:
                card.hide()
            return
        if estimate is self._estimate:
            return
        self._estimate = estimate
        self._show(estimate, found=worked.found, full=worked.explained)

    def explain(self, figure_id: str) -> None:
        """Explain a number of the estimate."""
        figure = figure_of(self._estimate, figure_id) if self._estimate is not None else None
        if figure is not None:
            self._asked = figure_id
            self.why.explain(figure_id, figure)
            self.whyShown.emit()
            if figure.derivation is None:
                self.explanationWanted.emit()

    def _show(self, estimate: Estimate, *, found: bool, full: bool) -> None:
        """The numbers at once; what comes with the full estimate stands as it was until then, so that nothing jumps."""
        for card in (self.verdict, self.memory, self.why, self.cost):
            card.show()
        self.verdict.show_estimate(estimate, found=found)
        self.nodes.show_machine(estimate.machine, found=found)
        self.line.show_estimate(estimate)
        if full or (estimate.fit is Fit.FITS and not estimate.unmet):
            self.changes.show_changes(estimate.changes, estimate.plan)
        self.memory.show_estimate(estimate)
        self.time.show_estimate(estimate)
        self._explain_again(estimate)
        self.cost.show_estimate(estimate)
        self.host.show_estimate(estimate)
        if full:
            self.questions.show()
            self.questions.show_estimate(estimate)
            self.remarks.show_estimate(estimate)
            self.advice.show_rules(advice_for(estimate, self._rules().values()))

    def _explain_again(self, estimate: Estimate) -> None:
        """The same number as before, of the new estimate; at first the one after memory, which is the speed."""
        asked = figure_of(estimate, self._asked) if self._asked else None
        if asked is None:
            first = next((h for h in headlines(estimate) if h.figure is not None and h.id != NEEDED), None)
            self._asked = first.id if first is not None else NEEDED
            asked = figure_of(estimate, self._asked)
        if asked is not None:
            self.why.explain(self._asked, asked)
