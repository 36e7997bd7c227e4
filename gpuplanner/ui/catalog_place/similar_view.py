"""What is similar to an entry: a chart where it stands among its neighbours, and the same as a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuplanner.catalog.table.columns import Column as IndexColumn
from gpuplanner.catalog.table.columns import header_unit
from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.catalog_place.columns import short_title, shown_number
from gpuplanner.ui.catalog_place.similar import CHARTS, Neighbour, factors
from gpuplanner.ui.catalog_place.tables import CatalogTable
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.settings import Settings
from gpuplanner.ui.table.columns import NOTHING, Column, Look
from gpuplanner.ui.table.source import ListSource, PlainRow
from gpuplanner.ui.table.view import DataTable
from gpuplanner.ui.tokens import CONTROL_HEIGHT
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.chart import Chart
from gpuplanner.ui.widgets.chart_axes import Axis
from gpuplanner.ui.widgets.chart_series import Series, SeriesKind
from gpuplanner.ui.widgets.flow import FlowLayout
from gpuplanner.ui.widgets.label import Label
from gpuplanner.ui.widgets.segmented import Option, Segmented
from gpuplanner.units import Display

_LEAST_ROWS = 150
"""Pixels for the head and three rows, also where a scroll bar lies over the last one."""


class SimilarView(QWidget):
    """`opened` carries the id of a neighbour, `closed` asks to go back to the whole table."""

    chosen = Signal(str)
    closed = Signal()

    def __init__(self, appearance: Appearance, settings: Settings) -> None:
        super().__init__()
        self._appearance = appearance
        self._settings = settings
        self._columns: dict[str, IndexColumn] = {}
        self._neighbours: tuple[Neighbour, ...] = ()
        self._table = CatalogTable.GPUS
        self.back = Button(appearance, msg("catalogui.similar.back"), ButtonKind.QUIET, icon="arrow-left")
        self.back.clicked.connect(self.closed)
        self.title = Label(appearance, "", TextRole.STRONG)
        self.title.setFixedHeight(CONTROL_HEIGHT)
        self.axes = Segmented(appearance, name=msg("catalogui.similar.axes"))
        self.axes.chosen.connect(self._draw)
        self.chart: Chart | None = None
        self.rows: DataTable | None = None
        head = FlowLayout(across=12, down=6)
        for widget in (self.back, self.title, self.axes):
            head.addWidget(widget)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(10)
        self._layout.addLayout(head)
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._render)

    def show_neighbours(
        self, table: CatalogTable, columns: Sequence[IndexColumn], neighbours: Sequence[Neighbour]
    ) -> None:
        """Show an entry (the first) among its neighbours."""
        if table is not self._table or self.rows is None:
            self._table = table
            self._columns = {column.id: column for column in columns}
            self._make_rows()
        self._neighbours = tuple(neighbours)
        self._render()

    def _make_rows(self) -> None:
        if self.rows is not None:
            self._layout.removeWidget(self.rows)
            self.rows.hide()
            self.rows.deleteLater()
        shown = [
            Column("name", msg("search.column.name"), _name_look, plain=_name_plain, width=180),
            *(_value_column(self._columns[c]) for c in factors(self._table)),
        ]
        self.rows = DataTable(
            self._appearance,
            self._settings,
            f"catalog.similar.{self._table.value}",
            shown,
            msg("catalogui.similar"),
        )
        self.rows.setMinimumHeight(_LEAST_ROWS)
        self.rows.rowChosen.connect(self._choose)
        self._layout.addWidget(self.rows, 4)

    def _render(self) -> None:
        if not self._neighbours:
            return
        self.title.say(msg("catalogui.similar.title", name=self._neighbours[0].name))
        options = [
            Option(f"{x}/{y}", msg("catalogui.similar.pair", across=self._name(x), up=self._name(y)))
            for x, y in CHARTS[self._table]
        ]
        self.axes.set_options(options, self.axes.current() or options[0].id)
        if not self.axes.current():
            self.axes.choose(options[0].id)
        rows = [self._row(neighbour, own=at == 0) for at, neighbour in enumerate(self._neighbours)]
        if self.rows is not None:
            self.rows.set_source(ListSource([c.id for c in self.rows.rows.columns], rows))
        self._draw()

    def _row(self, neighbour: Neighbour, *, own: bool) -> PlainRow:
        values = (neighbour.values.get(c) for c in factors(self._table))
        return PlainRow(neighbour.id, (_Name(neighbour.name, own), *values))

    def _draw(self, _chosen: str = "") -> None:
        across, _, up = self.axes.current().partition("/")
        if across not in self._columns or up not in self._columns:
            return
        x_column, y_column = self._columns[across], self._columns[up]
        display = self._appearance.display
        axes = tuple(Axis(short_title(c), header_unit(c, display).text, log=True) for c in (x_column, y_column))
        if self.chart is not None:
            self._layout.removeWidget(self.chart)
            self.chart.hide()
            self.chart.deleteLater()
        self.chart = Chart(self._appearance, msg("catalogui.similar.chart"), *axes, from_zero=False)
        self._layout.insertWidget(1, self.chart, 5)
        own, *others = self._neighbours
        series = [self._series(msg("catalogui.similar.others"), others, x_column, y_column, display)]
        here = self._series(msg("catalogui.similar.here", name=own.name), [own], x_column, y_column, display)
        series.append(Series(here.name, here.x, here.y, SeriesKind.POINTS, names=here.names, emphasised=True))
        self.chart.set_series([s for s in series if len(s.x)])

    def _series(
        self,
        name: Any,
        neighbours: Sequence[Neighbour],
        x_column: IndexColumn,
        y_column: IndexColumn,
        display: Display,
    ) -> Series:
        """Those of whom both values are known; the others stand in the table alone."""
        points = [
            (n.name, x / header_unit(x_column, display).factor, y / header_unit(y_column, display).factor)
            for n in neighbours
            if (x := n.values[x_column.id]) and (y := n.values[y_column.id])
        ]
        names, xs, ys = ([p[i] for p in points] for i in range(3))
        return Series(name, xs, ys, SeriesKind.POINTS, names=names)  # type: ignore[arg-type]  # columns of mixed rows

    def _name(self, column_id: str) -> str:
        return self._appearance.text(short_title(self._columns[column_id]))

    def _choose(self, entry_id: str) -> None:
        if entry_id and self._neighbours and entry_id != self._neighbours[0].id:
            self.chosen.emit(entry_id)


@dataclass(frozen=True, slots=True)
class _Name:
    """A name, and whether it is the entry that the others are compared with."""

    text: str
    own: bool

    @property
    def sort_by(self) -> str:
        return self.text


def _name_look(value: Any, appearance: Appearance) -> Look:
    if not isinstance(value, _Name):
        return NOTHING
    return Look(value.text, note=appearance.text("catalogui.similar.own") if value.own else "", strong=value.own)


def _name_plain(value: Any, _display: Display) -> str:
    return value.text if isinstance(value, _Name) else ""


def _value_column(column: IndexColumn) -> Column:
    def look(value: Any, appearance: Appearance) -> Look:
        return NOTHING if value is None else Look(shown_number(value, column, appearance.display))

    def unit(display: Display) -> str:
        return header_unit(column, display).text

    def plain(value: Any, display: Display) -> str:
        return "" if value is None else f"{value / header_unit(column, display).factor:.10g}"

    return Column(column.id, short_title(column), look, unit, plain, right=True, width=96)
