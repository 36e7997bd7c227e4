"""The first card of the result: fits or not, on which machine, run how, limited by what, and the figures in front."""

from datetime import UTC, datetime

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from gpuplanner.engine.estimate import GOAL_UNKNOWN, MAY_NOT_RUN, Estimate, Fit
from gpuplanner.engine.goals import may_miss
from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.catalog_place.wording import age_mark
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.painting import with_capital
from gpuplanner.ui.plan_place.captions import limiting, machine_offer, machine_title, named, price_age, way_text
from gpuplanner.ui.plan_place.results.figure_flow import FigureFlow, Named
from gpuplanner.ui.plan_place.results.figure_ids import NEEDED, meaning_of, short_name_of
from gpuplanner.ui.plan_place.results.headlines import Headline, capacity, headlines
from gpuplanner.ui.plan_place.results.spread_row import SpreadRow
from gpuplanner.ui.plan_place.verdicts import verdict_of
from gpuplanner.ui.tokens import PADDING
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.figure_label import FigureLabel
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.verdict_tag import VerdictTag
from gpuplanner.units import percent

_LARGEST = frozenset({"metric.max_micro_batch", "metric.max_sequence", "metric.max_concurrency", "metric.max_length"})
"""What says how much fits; 0 of it is none."""


class VerdictCard(Card):
    """`asked` carries the id of a figure; `machineWanted`: another machine is to be chosen."""

    asked = Signal(str)
    machineWanted = Signal()
    foundWanted = Signal()

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance)
        self._appearance = appearance
        self._estimate: Estimate | None = None
        self._found = True
        self._tag = VerdictTag(appearance)
        self._machine = Label(appearance, "", TextRole.STRONG)
        self._way = Label(appearance, "", ink=Ink.MUTED, elide=True)
        self.machine_button = Button(appearance, msg("planui.machine.change"), ButtonKind.QUIET, small=True)
        self.machine_button.clicked.connect(self.machineWanted)
        self._limited = Label(appearance, msg("planui.limited_by"), ink=Ink.MUTED)
        self._limit = Label(appearance, "", TextRole.STRONG)
        self._row = SpreadRow(_beside(self._tag, self._machine), _beside(self._limited, self._limit, spacing=5))
        self._best = Button(appearance, msg("planui.machine.best"), ButtonKind.QUIET, small=True)
        self._best.clicked.connect(self.foundWanted)
        self._reasons = QVBoxLayout()
        self._reasons.setSpacing(4)
        self._lines: list[Label] = []
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(14)
        self._grid.setVerticalSpacing(8)
        self._figures = [FigureLabel(appearance, "") for _ in range(4)]
        self._shown: list[Headline] = []
        for position, label in enumerate(self._figures):
            label.explained.connect(lambda at=position: self._ask(at))
        self._columns = 0
        self._capacity = FigureFlow(appearance)
        self._capacity.asked.connect(self.asked)
        second = QHBoxLayout()
        second.setSpacing(6)
        second.addWidget(self._way)
        second.addStretch(1)
        second.addWidget(self._best)
        second.addWidget(self.machine_button)
        self.body.addWidget(self._row)
        self.body.addLayout(second)
        self.body.addLayout(self._reasons)
        self.body.addLayout(self._grid)
        self.body.addWidget(self._capacity)
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._render)
        self._place()

    def show_estimate(self, estimate: Estimate, *, found: bool) -> None:
        """Show another estimate. `found`: the search chose the machine."""
        self._estimate = estimate
        self._found = found
        self._render()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        needed = sum(label.sizeHint().width() for label in self._figures) + 3 * self._grid.horizontalSpacing()
        columns = 4 if needed <= self.width() - 2 * PADDING else 2
        if columns == self._columns:
            return
        self._columns = columns
        self._share_width()
        for position, label in enumerate(self._figures):
            self._grid.addWidget(label, position // columns, position % columns)

    def _share_width(self) -> None:
        """A number with a long range gets more of the width than its neighbours."""
        for column in range(4):
            wanted = [
                label.sizeHint().width() for at, label in enumerate(self._figures) if at % self._columns == column
            ]
            stretch = max(wanted, default=0)
            if stretch != self._grid.columnStretch(column):
                self._grid.setColumnStretch(column, stretch)

    def _render(self) -> None:
        estimate, appearance = self._estimate, self._appearance
        if estimate is None:
            return
        self._tag.set_verdict(*verdict_of(estimate.outcome))
        self._machine.say(machine_title(estimate.machine))
        way = way_text(estimate, appearance)
        offer = appearance.said(machine_offer(estimate.machine))
        # The name of an instance is as its provider writes it.
        offer = offer if estimate.machine.instance is not None else with_capital(offer)
        self._way.say(" · ".join(part for part in (offer, way) if part))
        limit = limiting(estimate)
        self._limited.setVisible(limit is not None)
        self._limit.setVisible(limit is not None)
        if limit is not None:
            self._limit.say(named("limit", limit[0].value, appearance))
            self._limit.setToolTip(appearance.text("planui.limited_by.share", share=percent(limit[1])))
        self._best.setVisible(not self._found)
        self._show_reasons(estimate)
        self._show_headlines(estimate)
        self._show_capacity(estimate)
        self._row.arrange()

    def _show_reasons(self, estimate: Estimate) -> None:
        said: list[tuple[Message, Ink]] = []
        if estimate.fit is not Fit.FITS:
            said.append((estimate.reason, Ink.TEXT))
        doubts = MAY_NOT_RUN | GOAL_UNKNOWN
        said += [(unmet, Ink.TEXT if unmet.id in doubts else Ink.FAIL) for unmet in estimate.unmet]
        said += [(near, Ink.TEXT) for near in may_miss(estimate.goals, estimate.metrics)]
        while len(self._lines) < len(said):
            line = Label(self._appearance, wrap=True, selectable=True)
            self._reasons.addWidget(line)
            self._lines.append(line)
        for at, line in enumerate(self._lines):
            line.setVisible(at < len(said))
            if at < len(said):
                message, ink = said[at]
                line.set_role(TextRole.BODY, ink)
                line.say(message)

    def _show_headlines(self, estimate: Estimate) -> None:
        self._shown = list(headlines(estimate))
        for label, headline in zip(self._figures, self._shown, strict=True):
            name = short_name_of(headline.id, self._appearance)
            label.set_figure(headline.figure, self._note(headline, estimate), name)
            if headline.id == "metric.mfu":
                label.setToolTip(f"{self._appearance.text('planui.column.mfu.tip')}\n{label.toolTip()}")
        self._place()
        self._share_width()

    def _note(self, headline: Headline, estimate: Estimate) -> MessageValue:
        if headline.figure is None:
            known = estimate.machine.usd_per_hour is not None or "usd" not in headline.id
            return msg("planui.not_known") if known else msg("planui.price_not_known")
        if headline.id == NEEDED:
            usable = self._appearance.show(estimate.memory.usable.value, estimate.memory.usable.unit)
            return msg("planui.of_usable", usable=str(usable))
        return ""

    def _show_capacity(self, estimate: Estimate) -> None:
        in_front = {headline.id for headline in self._shown}
        rest = [h for h in capacity(estimate) if h.id not in in_front]
        self._capacity.set_figures([*(self._named(h) for h in rest), *_old_price(estimate)])

    def _named(self, headline: Headline) -> Named:
        name, figure = short_name_of(headline.id, self._appearance), headline.figure
        means = meaning_of(headline.id, self._appearance)
        if figure is not None and figure.value == 0 and headline.id in _LARGEST:
            return Named(headline.id, name, None, msg("planui.nothing_fits"), means)
        return Named(headline.id, name, figure, means=means)

    def _ask(self, at: int) -> None:
        self.asked.emit(self._shown[at].id)


def _old_price(estimate: Estimate) -> list[Named]:
    """That the price may not hold any more: the cost stands in front, and its date further down."""
    price = estimate.machine.price
    if price is None or age_mark(price.date, datetime.now(UTC).date()) is None:
        return []
    age = price_age(price.date) if price.date else msg("catalogui.price.no_date")
    return [Named("metric.usd_per_hour", msg("planui.price"), None, age)]


def _beside(*widgets: QWidget, spacing: int = 10) -> QWidget:
    holder = QWidget()
    layout = QHBoxLayout(holder)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(spacing)
    for widget in widgets:
        layout.addWidget(widget, 0, Qt.AlignmentFlag.AlignVCenter)
    layout.addStretch(1)
    return holder
