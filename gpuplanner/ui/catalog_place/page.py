"""The page of the Catalog place: lays out table and panel, and wires them to the presenter."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuplanner.catalog.catalog import Catalog, Rate
from gpuplanner.messages import msg
from gpuplanner.ui.background import Coalescer, Latest
from gpuplanner.ui.catalog_place.actions import CatalogActions, Doing
from gpuplanner.ui.catalog_place.adding_gpus import AddingGpus
from gpuplanner.ui.catalog_place.detail_view import DetailView
from gpuplanner.ui.catalog_place.empty_reasons import EmptyExplainer
from gpuplanner.ui.catalog_place.filter_chooser import FilterChooser
from gpuplanner.ui.catalog_place.filter_words import filter_text
from gpuplanner.ui.catalog_place.own_files import OwnFiles
from gpuplanner.ui.catalog_place.presenter import CatalogPresenter
from gpuplanner.ui.catalog_place.problems_banner import ProblemsBanner
from gpuplanner.ui.catalog_place.query import Term, exactly
from gpuplanner.ui.catalog_place.row_finder import RowFinder
from gpuplanner.ui.catalog_place.similar import Neighbour, neighbours
from gpuplanner.ui.catalog_place.table_export import TableExport
from gpuplanner.ui.catalog_place.table_view import TableView
from gpuplanner.ui.catalog_place.tables import CatalogTable, EntryRef
from gpuplanner.ui.places import Context, Heading, Location, Page, Segment
from gpuplanner.ui.table.view import DataTable
from gpuplanner.ui.tokens import GAP, Verdict
from gpuplanner.ui.widgets.splitter import Splitter

_SIZES = (894, 326)
_ROOMY = 960
"""From this width on the top bar has room for counts."""


class CatalogPage(Page):
    """The table at the left, the chosen entry at the right."""

    def __init__(self, context: Context, today: Callable[[], date] = date.today) -> None:
        super().__init__()
        self._context = context
        self._roomy = True
        self._narrowing = False
        """A person changed the filters, and the rows have not been asked for yet."""
        self._narrowed = False
        """The rows in sight are those of filters that a person just changed: an entry that they leave out goes."""
        appearance = self._appearance = context.appearance
        self.presenter = CatalogPresenter(
            context.workspace, context.jobs, context.settings, context.notices, appearance, today, self
        )
        self.table_view = TableView(appearance, context.settings, context.jobs, self.presenter.is_pinned, today)
        self.detail_view = DetailView(appearance, today, self._rates)
        self.problems = ProblemsBanner(appearance, lambda: context.go(Location("help", "notices")))
        self.splitter = Splitter(context.settings, "catalog", (self.table_view, self.detail_view), _SIZES, grows=0)
        self.table_view.setMinimumWidth(360)
        self.detail_view.setMinimumWidth(280)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(GAP + 2, GAP + 2, GAP + 2, GAP + 2)
        layout.setSpacing(GAP)
        layout.addWidget(self.problems)
        layout.addWidget(self.splitter, 1)
        # As soon as this key is done with: a newer search makes an older one void, and 33 ms are most of what there is.
        self._typing = Coalescer(self._search, self, 0)
        self._choosing = Coalescer(self._show_entry, self)
        self._likening = Latest(context.jobs)
        self._finder = RowFinder(self.presenter, self.current_table, context.jobs, self)
        self._explainer = EmptyExplainer(self.presenter, self.table_view, context.jobs, self._says)
        self.adding = AddingGpus(context, self, self._catalog)
        doing = Doing(
            columns=self._choose_columns,
            export=self._export,
            compare=lambda: context.go(Location("compare")),
            focus_filter=self._focus_filter,
            pin=self._pin_entry,
            similar=self._show_similar,
            plan=self._plan,
            add_gpu=self.adding.ask,
        )
        self._actions = CatalogActions(self.presenter, doing)
        self.table_export = TableExport(context, self)
        self._own_files = OwnFiles(context)
        self.filter_chooser = FilterChooser(
            appearance, context.jobs, self.presenter, self.table_view, self.current_table
        )
        self._wire()

    # --- What the window asks -----------------------------------------------------------------------------------------

    def heading(self) -> Heading:
        read = self.presenter.read
        counts = {table: f"{read.count(table):,}" for table in CatalogTable} if read and self._roomy else {}
        segments = tuple(Segment(table.value, table.label, counts.get(table, "")) for table in CatalogTable)
        return Heading(
            segments=segments, segment=self.presenter.table.value, actions=self._actions.now(roomy=self._roomy)
        )

    def choose_segment(self, segment_id: str) -> None:
        if self.presenter.read is not None:
            self.presenter.show_table(CatalogTable(segment_id))
            self.moved.emit(self.path())

    def path(self) -> str:
        return self.presenter.path

    def visit(self, path: str) -> None:
        # Who follows a link goes where it leads, whatever was being typed.
        self._narrowed = self._narrowing = False
        self.presenter.visit(path)
        self._finder.find()

    def panes(self) -> Sequence[QWidget]:
        table = self.current_table()
        return tuple(pane for pane in (self.table_view.bar, table, self.detail_view) if pane is not None)

    def leave(self) -> bool:
        if self.table_view.shows_similar:
            self._show_table()
            return True
        return False

    def dropped(self, paths: Sequence[str]) -> bool:
        return self._own_files.take(paths)

    def focus_first(self) -> None:
        table = self.current_table()
        (table if table is not None else self.table_view.bar).setFocus(Qt.FocusReason.OtherFocusReason)

    def close_page(self) -> None:
        self.presenter.close()

    def current_table(self) -> DataTable | None:
        """The table in sight, None before the catalog has been read."""
        return self.table_view.tables.get(self.presenter.table)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        roomy = self.width() >= _ROOMY
        if roomy != self._roomy:
            self._roomy = roomy
            self.headingChanged.emit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.presenter.read is not None:
            self.presenter.look_at_pins()

    # --- Actions ------------------------------------------------------------------------------------------------------

    def _choose_columns(self) -> None:
        table = self.current_table()
        if table is not None:
            menu = table.column_menu()
            menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            menu.popup(self.mapToGlobal(QPoint(self.table_view.x() + self.table_view.width() - 220, 4)))

    def _export(self) -> None:
        table = self.current_table()
        if table is not None:
            self.table_export.ask(table, f"gpuplanner-{self.presenter.table.value}.csv")

    def _focus_filter(self) -> None:
        if not self.table_view.shows_similar:
            self.table_view.bar.field.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _pin_entry(self) -> None:
        if self.presenter.entry is not None:
            self.presenter.toggle_pin(self.presenter.entry.id)

    def _plan(self) -> None:
        details = self.presenter.details()
        if details is not None and details.plannable:
            self._context.go(Location("plan", f"with/{details.ref.path}"))

    def _show_similar(self) -> None:
        read, ref = self.presenter.read, self.presenter.entry
        if read is None or ref is None:
            return
        self._likening.run(
            lambda _cancel: neighbours(read.index, ref),
            lambda found: self._similar_found(ref, found),
            urgent=True,
        )

    # --- Showing ------------------------------------------------------------------------------------------------------

    def _ready(self) -> None:
        self.table_view.make_tables({table: self.presenter.columns(table) for table in CatalogTable})
        for table in self.table_view.tables.values():
            table.rowChosen.connect(partial(self._row_chosen, table))
            table.rowOpened.connect(lambda _id: self._into_details())
            table.checkClicked.connect(lambda entry_id, _column: self.presenter.toggle_pin(entry_id))
            table.copied.connect(self._copied)
            table.termWanted.connect(lambda term: self._context.go(Location("help", term.path)))
            table.rows.loaded.connect(lambda loaded=table: self._loaded(loaded))
            table.set_note(self._filter_note)
        catalog = self.presenter.read.catalog if self.presenter.read else None
        if catalog is not None:
            self.problems.show_problems(catalog.problems)
            own = (e.user for table in (catalog.gpus, catalog.instances, catalog.models) for e in table.values())
            self.table_view.legend.show_own(own=any(own))
        self._show_table()
        if self.isVisible() and self.table_view.bar.field.edit.hasFocus():
            # The keyboard waited in the only thing that could take it.
            self.focus_first()

    def _show_table(self) -> None:
        if self.presenter.read is None:
            return
        self.table_view.show_table(self.presenter.table)
        self._show_query()
        self.headingChanged.emit()

    def _show_query(self) -> None:
        presenter, bar = self.presenter, self.table_view.bar
        bar.show_typed(presenter.query.typed)
        bar.show_problem(presenter.problem)
        bar.show_terms([(term, self._says(term)) for term in presenter.said_terms()])
        if presenter.problem is None:
            self._typing.call()

    def _search(self) -> None:
        table = self.current_table()
        if table is None:
            return
        # A search that is overtaken by one for another reason leaves its own to it.
        self._narrowed = self._narrowed or self._narrowing
        self._narrowing = False
        source = self.presenter.source([column.id for column in table.rows.columns])
        if source is not None:
            table.set_source(source)

    def _narrow(self) -> None:
        self._narrowing = True

    def _loaded(self, table: DataTable) -> None:
        read = self.presenter.read
        if read is None or table is not self.current_table():
            return
        total = read.count(self.presenter.table)
        self.table_view.bar.show_count(table.rows.total, total)
        if table.rows.total or self.table_view.shows_similar:
            if not self.table_view.shows_similar:
                self.table_view.show_table(self.presenter.table)
            if self.presenter.entry is None and table.rows.total:
                self._finder.choose_first(table)
            else:
                self._finder.find(else_first=self._narrowed)
            self._narrowed = False
            return
        if self._narrowed:
            self.presenter.choose("")
        self._explainer.explain(self._appearance.display)

    def _show_entry(self) -> None:
        details = self.presenter.details()
        self.detail_view.show_details(details)
        self._show_pinned()
        self.headingChanged.emit()

    def _show_pinned(self) -> None:
        entry = self.presenter.entry
        self.detail_view.show_pinned(pinned=entry is not None and self.presenter.is_pinned(entry.id))

    def _pins_changed(self) -> None:
        self._show_pinned()
        table = self.current_table()
        if table is not None:
            table.viewport().update()
        self.headingChanged.emit()

    def _row_chosen(self, table: DataTable, entry_id: str) -> None:
        # A page of a table that was left may come late and make a row current there: nobody chose that.
        if table is self.current_table():
            self.presenter.choose(entry_id)

    def _similar_found(self, ref: EntryRef, found: Sequence[Neighbour]) -> None:
        if found and self.presenter.entry == ref:
            columns = self.presenter.columns(ref.table)
            self.table_view.similar.show_neighbours(ref.table, columns, found)
            self.table_view.show_similar()
            self.table_view.similar.back.setFocus(Qt.FocusReason.OtherFocusReason)

    def _render(self) -> None:
        if self.presenter.read is not None:
            self._show_query()
        self.headingChanged.emit()

    # --- Acting -------------------------------------------------------------------------------------------------------

    def _go_to(self, ref: EntryRef) -> None:
        self.visit(ref.path)
        self.moved.emit(self.path())

    def _show_offers(self, gpu_id: str) -> None:
        read = self.presenter.read
        if read is None:
            return
        gpu = read.catalog.gpus[gpu_id]
        self.presenter.show_table(CatalogTable.INSTANCES)
        self.presenter.add(Term("gpu", exactly(gpu.name)))
        self.moved.emit(self.path())

    def _commit(self) -> None:
        if not self.presenter.commit() and self.presenter.query.typed == "":
            self.focus_first()

    def _into_details(self) -> None:
        self.detail_view.plan.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _copied(self, rows: int) -> None:
        self._context.notices.say(msg("catalogui.copied", rows=f"{rows:,}"), Verdict.PASS)

    def _says(self, term: Term) -> str:
        return filter_text(term, self.presenter.column(term.column), self._appearance)

    def _filter_note(self) -> str:
        terms = self.presenter.terms()
        if not terms:
            return ""
        said = "; ".join(self._says(term) for term in terms)
        return self._appearance.text("catalogui.export.filtered", filters=said)

    def _catalog(self) -> Catalog | None:
        return self.presenter.read.catalog if self.presenter.read is not None else None

    def _rates(self) -> Mapping[str, Rate]:
        read = self.presenter.read
        return read.catalog.currencies if read is not None else {}

    def _wire(self) -> None:
        presenter, bar, details = self.presenter, self.table_view.bar, self.detail_view
        presenter.ready.connect(self._ready)
        presenter.tableChanged.connect(self._show_table)
        presenter.queryChanged.connect(self._narrow)
        presenter.queryChanged.connect(self._show_query)
        presenter.queryChanged.connect(self.headingChanged)
        presenter.entryChanged.connect(self._choosing.call)
        presenter.entryChanged.connect(self._finder.find)
        presenter.pinsChanged.connect(self._pins_changed)
        bar.typed.connect(presenter.type_text)
        bar.committed.connect(self._commit)
        bar.removed.connect(presenter.remove)
        bar.cleared.connect(presenter.clear)
        bar.downWanted.connect(self.focus_first)
        bar.filterWanted.connect(self.filter_chooser.choose_column)
        self.table_view.filterWanted.connect(self.filter_chooser.filter_column)
        self.table_view.empty.removed.connect(presenter.remove)
        self.table_view.empty.cleared.connect(presenter.clear)
        self.table_view.similar.closed.connect(self._show_table)
        self.table_view.similar.chosen.connect(presenter.choose)
        details.entryWanted.connect(self._go_to)
        details.planWanted.connect(self._plan)
        details.pinWanted.connect(self._pin_entry)
        details.similarWanted.connect(self._show_similar)
        details.offersWanted.connect(self._show_offers)
        for signal in (self._appearance.languageChanged, self._appearance.displayChanged):
            signal.connect(self._render)
