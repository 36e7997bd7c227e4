"""The left card: filters, the table or what stands in its place, and the legend of the marks."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget

from gpuplanner.catalog.table.columns import Column as IndexColumn
from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.background import Jobs
from gpuplanner.ui.catalog_place.columns import table_columns
from gpuplanner.ui.catalog_place.empty_view import EmptyView
from gpuplanner.ui.catalog_place.filter_bar import FilterBar
from gpuplanner.ui.catalog_place.legend import Legend
from gpuplanner.ui.catalog_place.similar_view import SimilarView
from gpuplanner.ui.catalog_place.tables import CatalogTable
from gpuplanner.ui.settings import Settings
from gpuplanner.ui.table.columns import Order
from gpuplanner.ui.table.view import DataTable
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.label import Ink, Label


class TableView(Card):
    """`filterWanted` carries the id of a column that a person wants to filter by."""

    filterWanted = Signal(str)

    def __init__(
        self,
        appearance: Appearance,
        settings: Settings,
        jobs: Jobs,
        pinned: Callable[[str], bool],
        today: Callable[[], date],
    ) -> None:
        super().__init__(appearance, padding=12)
        self._appearance = appearance
        self._settings = settings
        self._jobs = jobs
        self._pinned = pinned
        self._today = today
        self.bar = FilterBar(appearance)
        self.legend = Legend(appearance)
        self.empty = EmptyView(appearance)
        self.similar = SimilarView(appearance, settings)
        self.tables: dict[CatalogTable, DataTable] = {}
        self._reading = Label(appearance, msg("ui.status.catalog.reading"), ink=Ink.MUTED)
        self._stack = QStackedWidget()
        for widget in (self._reading, self.empty, self.similar):
            self._stack.addWidget(widget)
        self.body.setSpacing(8)
        self.body.addWidget(self.bar)
        self.body.addWidget(self._stack, 1)
        self.body.addWidget(self.legend)

    def make_tables(self, columns: Mapping[CatalogTable, Sequence[IndexColumn]]) -> None:
        """Lay out the tables, when the catalog has been read."""
        for table, index_columns in columns.items():
            made = DataTable(
                self._appearance,
                self._settings,
                f"catalog.{table.value}",
                table_columns(table, index_columns, self._pinned, self._today),
                table.label,
                self._jobs,
            )
            made.rows.usual = Order(table.first_order[:1])
            made.set_column_action(msg("catalogui.filter.column"), self.filterWanted.emit)
            self.tables[table] = made
            self._stack.addWidget(made)

    def show_table(self, table: CatalogTable) -> None:
        """Show the rows of a table."""
        self._stack.setCurrentWidget(self.tables[table])
        self.legend.show_priced(priced=table is not CatalogTable.MODELS)
        self._show_around(whole=True)

    def show_empty(self) -> None:
        """Show why there are no rows."""
        self._stack.setCurrentWidget(self.empty)

    def show_similar(self) -> None:
        """Show what is similar instead of the table."""
        self._stack.setCurrentWidget(self.similar)
        self._show_around(whole=False)

    @property
    def shows_similar(self) -> bool:
        """Whether the neighbours of an entry are shown."""
        return self._stack.currentWidget() is self.similar

    def _show_around(self, *, whole: bool) -> None:
        self.bar.setVisible(whole)
        self.legend.setVisible(whole)
