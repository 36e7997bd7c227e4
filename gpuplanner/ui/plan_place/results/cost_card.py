"""What the machine costs and draws, and whose price that is. What is not known says so and is never 0."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout

from gpuplanner.engine.estimate import Estimate
from gpuplanner.messages import MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.plan_place.captions import price_note
from gpuplanner.ui.plan_place.results.figure_flow import FigureFlow, Named
from gpuplanner.ui.plan_place.results.figure_ids import short_name_of
from gpuplanner.ui.plan_place.results.headlines import Headline, costs, others, power
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.figure_label import FigureLabel
from gpuplanner.ui.widgets.label import Ink, Label

_COLUMN = 118


class CostCard(Card):
    """`asked` carries the id of a figure."""

    asked = Signal(str)

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance, msg("planui.cost"), " ")
        self._appearance = appearance
        self._estimate: Estimate | None = None
        self._shown: Sequence[Headline] = ()
        self._labels: list[FigureLabel] = []
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(14)
        self._grid.setVerticalSpacing(8)
        self._columns = 0
        self._others_title = Label(appearance, msg("planui.other_figures"), TextRole.LABEL, Ink.MUTED)
        self._others = FigureFlow(appearance)
        self._others.asked.connect(self.asked)
        self.body.addLayout(self._grid)
        self.body.addWidget(self._others_title)
        self.body.addWidget(self._others)
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._render)

    def show_estimate(self, estimate: Estimate) -> None:
        """Show another estimate."""
        self._estimate = estimate
        self._render()

    def labels(self) -> Sequence[FigureLabel]:
        """The figures that are shown, in order."""
        return tuple(self._labels[: len(self._shown)])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _render(self) -> None:
        estimate, appearance = self._estimate, self._appearance
        if estimate is None:
            return
        self.note.say(price_note(estimate.machine, appearance))
        self.note.setToolTip(self.note.text())
        self._shown = [*costs(estimate), *power(estimate)]
        while len(self._labels) < len(self._shown):
            self._add_label(len(self._labels))
        for label, headline in zip(self._labels, self._shown, strict=False):
            label.set_figure(headline.figure, self._lacking(headline), short_name_of(headline.id, appearance))
        rest = [Named(h.id, short_name_of(h.id, appearance), h.figure) for h in others(estimate)]
        self._others.set_figures(rest)
        self._others_title.setVisible(bool(rest))
        self._place()
        # Those that are too many wait: to make one anew has Qt lay out the whole column once more.
        for at, label in enumerate(self._labels):
            label.setVisible(at < len(self._shown))

    def _lacking(self, headline: Headline) -> MessageValue:
        return "" if headline.figure is not None else msg("planui.price_not_known")

    def _add_label(self, position: int) -> None:
        label = FigureLabel(self._appearance, "", large=False)
        label.explained.connect(lambda: self._ask(position))
        self._labels.append(label)
        self._columns = 0

    def _ask(self, position: int) -> None:
        self.asked.emit(self._shown[position].id)

    def _place(self) -> None:
        columns = max(2, min(4, (self.width() - 32) // _COLUMN))
        if columns == 3 and len(self._shown) == 4:
            # One alone in the second line would look left over.
            columns = 2
        if columns == self._columns:
            return
        self._columns = columns
        for position, label in enumerate(self._labels):
            self._grid.addWidget(label, position // columns, position % columns)
        for column in range(4):
            self._grid.setColumnStretch(column, int(column < columns))
