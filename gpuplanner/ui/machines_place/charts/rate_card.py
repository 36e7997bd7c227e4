"""One chart of rates in a card: its verdict, the chart or its table, what is not there, and how to take it along."""

from PySide6.QtWidgets import QHBoxLayout

from gpuplanner.acceptance.verdicts import Verdict as Judged
from gpuplanner.machines.rates.chart import Across, RateChart
from gpuplanner.messages import msg
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.machines_place.charts.drawing import axes, series
from gpuplanner.ui.machines_place.charts.rows import columns, rows
from gpuplanner.ui.machines_place.checks_view import LOOKS
from gpuplanner.ui.places import Context
from gpuplanner.ui.settings import WINDOW
from gpuplanner.ui.table.source import ListSource
from gpuplanner.ui.table.view import DataTable
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.chart import Chart
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.menus import pop_up
from gpuplanner.ui.widgets.verdict_tag import VerdictTag

_PLOT_HEIGHT = 188
_ROOF_HEIGHT = 220
_MOST_ROWS_HIGH = 9


class RateCard(Card):
    """Shows a chart; the table is made when it is first asked for."""

    def __init__(self, context: Context, chart: RateChart, judged: Judged | None) -> None:
        """`judged`: what the check says that judges it; None where none does."""
        appearance = context.appearance
        super().__init__(appearance, chart.title)
        self._context = context
        self.check = chart.check
        self._drawn = chart
        self._kept = f"{WINDOW}rates.table.{chart.id}"
        self.title_row.removeWidget(self.note)
        self.note.hide()
        self.tag: VerdictTag | None = None
        if judged is not None and judged is not Judged.SKIPPED:
            self.tag = VerdictTag(appearance, *LOOKS[judged])
            self.title_row.addWidget(self.tag)
        self.title_row.addStretch(1)
        self.as_table = Button(appearance, msg("rates.table"), ButtonKind.QUIET, small=True)
        self.as_table.setCheckable(True)
        self.as_table.toggled.connect(self._show_table)
        self.more = Button(appearance, msg("rates.more"), ButtonKind.QUIET, icon="ellipsis", icon_only=True, small=True)
        self.more.clicked.connect(self._offer)
        self.title_row.addWidget(self.as_table)
        self.title_row.addWidget(self.more)
        self.says = Label(appearance, chart.note, TextRole.LABEL, Ink.MUTED, wrap=True)
        roof = chart.across is Across.INTENSITY
        self.chart = Chart(
            appearance,
            chart.title,
            *axes(chart, appearance),
            still=True,
            plot_height=_ROOF_HEIGHT if roof else _PLOT_HEIGHT,
        )
        self.table: DataTable | None = None
        self.lacks = [Label(appearance, each, TextRole.LABEL, Ink.MUTED, wrap=True) for each in chart.absent]
        self._row = QHBoxLayout()
        self._row.addWidget(self.chart)
        self.body.setSpacing(6)
        self.body.addWidget(self.says)
        self.body.addLayout(self._row)
        for label in self.lacks:
            self.body.addWidget(label)
        self.chart.setVisible(bool(chart.lines))
        self.as_table.setVisible(bool(chart.lines))
        self.more.setVisible(bool(chart.lines))
        appearance.languageChanged.connect(self.draw)
        self.as_table.setChecked(context.settings.kept(self._kept, False) is True)

    def _offer(self) -> None:
        pop_up(self.chart.menu(), self.more)

    def draw(self) -> None:
        """Draw the lines: what takes as long as to make the card, and is done in a turn of its own."""
        appearance = self._context.appearance
        self.chart.set_axes(*axes(self._drawn, appearance))
        self.chart.set_series(series(self._drawn, appearance))
        if self.table is not None:
            self._fill(self.table)

    def _show_table(self, shown: bool) -> None:
        self._context.settings.keep(self._kept, shown)
        if shown and self.table is None:
            self.table = DataTable(
                self._context.appearance, self._context.settings, f"rates.{self._drawn.across}",
                columns(self._drawn), self._drawn.title,
            )  # fmt: skip
            self._fill(self.table)
            self._row.addWidget(self.table)
        if self.table is not None:
            self.table.setVisible(shown)
        self.chart.setVisible(not shown)
        # What it saves is the chart, and what it says of that stands below the chart; the table has a menu of its own.
        self.more.setVisible(not shown)

    def _fill(self, table: DataTable) -> None:
        found = rows(self._drawn, self._context.appearance)
        table.set_source(ListSource([column.id for column in table.rows.columns], found))
        high = min(len(found), _MOST_ROWS_HIGH) * table.verticalHeader().defaultSectionSize()
        bar = table.horizontalScrollBar().sizeHint().height()
        table.setFixedHeight(high + table.horizontalHeader().sizeHint().height() + 2 * table.frameWidth() + bar)
