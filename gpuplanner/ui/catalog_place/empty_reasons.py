"""Finds out, beside the window, which filter leaves a table without rows, and shows it in the table's place."""

from collections.abc import Callable

from gpuplanner.ui.background import Jobs, Latest
from gpuplanner.ui.catalog_place.narrowing import rows_without_each
from gpuplanner.ui.catalog_place.presenter import CatalogPresenter
from gpuplanner.ui.catalog_place.query import Term
from gpuplanner.ui.catalog_place.table_view import TableView
from gpuplanner.units import Display


class EmptyExplainer:
    """`says` puts a filter into words."""

    def __init__(
        self, presenter: CatalogPresenter, table_view: TableView, jobs: Jobs, says: Callable[[Term], str]
    ) -> None:
        self._presenter = presenter
        self._table_view = table_view
        self._says = says
        self._why = Latest(jobs)

    def explain(self, display: Display) -> None:
        """Show how many rows there would be without each filter."""
        read, shown = self._presenter.read, self._presenter.table
        if read is None:
            return
        terms = self._presenter.terms()

        def show(found: object) -> None:
            table = self._table_view.tables.get(self._presenter.table)
            filled = table is None or table.rows.total
            if self._presenter.terms() != terms or self._table_view.shows_similar or filled:
                return
            says = {term: self._says(term) for term in terms}
            self._table_view.empty.show_reasons(shown.label, found, says)  # type: ignore[arg-type]  # a job gives what it was asked for
            self._table_view.show_empty()

        self._why.run(lambda _cancel: rows_without_each(read.index, shown, terms, display), show, urgent=True)
