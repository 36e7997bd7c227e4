"""The state and the commands of the Catalog place: table, filters, chosen entry, pins. Knows no widget."""

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any, Protocol

from PySide6.QtCore import QObject, Signal

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.search import CatalogIndex
from gpuplanner.catalog.table.columns import Column
from gpuplanner.catalog.table.filters import parse_filter
from gpuplanner.catalog.table.paging import ANYWHERE
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.background import Cancel, Coalescer, Jobs
from gpuplanner.ui.catalog_place.cells import CellReader
from gpuplanner.ui.catalog_place.columns import short_title
from gpuplanner.ui.catalog_place.details import Details, details_of
from gpuplanner.ui.catalog_place.offers import Offers
from gpuplanner.ui.catalog_place.query import Query, Term, filters_of, interpreted, read_query, written
from gpuplanner.ui.catalog_place.source import CatalogSource
from gpuplanner.ui.catalog_place.tables import CatalogTable, EntryRef, read_path
from gpuplanner.ui.notices import Notices
from gpuplanner.ui.pins import MOST_PINS, Pin, PinKind, Pins
from gpuplanner.ui.settings import WINDOW, Settings
from gpuplanner.ui.tokens import Verdict

_QUERY = WINDOW + "catalog.filters."
_LAST = WINDOW + "catalog.path"
_KEEP_MS = 400


class CatalogWorkspace(Protocol):
    """What of the workspace this place uses."""

    @property
    def catalog(self) -> Catalog: ...

    @property
    def index(self) -> CatalogIndex: ...


class Read:
    """The catalog as it was read: made once, in another thread."""

    def __init__(self, catalog: Catalog, index: CatalogIndex) -> None:
        self.catalog = catalog
        self.index = index
        self.offers = Offers(catalog)
        self.reader = CellReader(catalog, self.offers)

    def count(self, table: CatalogTable) -> int:
        """How many entries a table has."""
        entries = {
            CatalogTable.GPUS: self.catalog.gpus,
            CatalogTable.INSTANCES: self.catalog.instances,
            CatalogTable.MODELS: self.catalog.models,
        }
        return len(entries[table])


class CatalogPresenter(QObject):
    """Signals tell what changed; views read the properties."""

    ready = Signal()
    """The catalog has been read."""
    tableChanged = Signal()
    queryChanged = Signal()
    """Other filters are in force, or the typed text cannot be read (`problem`)."""
    entryChanged = Signal()
    pinsChanged = Signal()

    def __init__(
        self,
        workspace: CatalogWorkspace,
        jobs: Jobs,
        settings: Settings,
        notices: Notices,
        appearance: Appearance,
        today: Callable[[], date],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self._settings = settings
        self._notices = notices
        self._appearance = appearance
        self.today = today
        self.jobs = jobs
        self.pins = Pins(settings)
        self.read: Read | None = None
        self.table = CatalogTable.GPUS
        self.entry: EntryRef | None = None
        self.problem: Message | None = None
        self._pinned: set[tuple[PinKind, str]] = set()
        self._queries: dict[CatalogTable, Query] = {}
        self._wanted = ""
        self._changed: set[CatalogTable] = set()
        # Neither a keystroke nor an arrow key waits for the disk.
        self._keep = Coalescer(self._save, self, _KEEP_MS)
        jobs.run(self._read, self._was_read, urgent=True)

    # --- What is shown ------------------------------------------------------------------------------------------------

    @property
    def query(self) -> Query:
        """The filters of the table in sight."""
        return self._queries.get(self.table, Query())

    @property
    def path(self) -> str:
        """Where the person is: a table, or an entry of one."""
        return self.entry.path if self.entry is not None else self.table.value

    def columns(self, table: CatalogTable) -> Sequence[Column]:
        """The columns of a table."""
        return self.read.index.columns(table.value) if self.read is not None else ()

    def column(self, column_id: str) -> Column | None:
        """A column of the table in sight."""
        return next((column for column in self.columns(self.table) if column.id == column_id), None)

    def terms(self) -> tuple[Term, ...]:
        """Everything that filters: the filters in force, and what is being typed if it can be read."""
        typed = self.typed_term()
        query = self.query
        others = query.terms
        if typed is None or self.problem is not None:
            return others
        return (*(t for t in others if t.column != typed.column or typed.column == ANYWHERE), typed)

    def said_terms(self) -> tuple[Term, ...]:
        """What needs a chip: the filters in force, and what is being typed if its column was not said in words."""
        typed = self.typed_term()
        return self.query.terms if typed is None or typed.column == ANYWHERE else self.terms()

    def typed_term(self) -> Term | None:
        """What the text in the field asks."""
        return interpreted(self.query.typed, self.columns(self.table), self._names, self.table.main_number)

    def source(self, columns: Sequence[str]) -> CatalogSource | None:
        """The rows of the table in sight under its filters."""
        if self.read is None:
            return None
        filters = filters_of(self.terms())
        return CatalogSource(self.read.index, self.read.reader, self.table, columns, filters, self._appearance.display)

    def details(self) -> Details | None:
        """What is said of the chosen entry."""
        if self.read is None or self.entry is None:
            return None
        return details_of(self.read.catalog, self.read.offers, self.entry)

    # --- Going places -------------------------------------------------------------------------------------------------

    def visit(self, path: str) -> None:
        """Go to a table or an entry. Before the catalog has been read, it is remembered."""
        if self.read is None:
            self._wanted = path
            return
        wanted = read_path(path)
        if isinstance(wanted, EntryRef):
            self._show_table(wanted.table)
            self._choose(wanted if details_of(self.read.catalog, self.read.offers, wanted) else None)
        elif wanted is not None:
            self._show_table(wanted)

    def show_table(self, table: CatalogTable) -> None:
        """Show another table."""
        self._show_table(table)
        self._keep.call()

    def choose(self, entry_id: str) -> None:
        """Choose an entry of the table in sight; an empty id chooses none."""
        self._choose(EntryRef(self.table, entry_id) if entry_id else None)
        self._keep.call()

    # --- Filtering ----------------------------------------------------------------------------------------------------

    def type_text(self, text: str) -> None:
        """The text in the field is another."""
        if text == self.query.typed:
            return
        self._set_query(Query(self.query.terms, text))

    def commit(self) -> bool:
        """Make a filter of its own out of what is typed. Tells whether there was one that can be read."""
        term = self.typed_term()
        if term is None or self.problem is not None:
            return False
        self._set_query(Query(self.query.adding(term).terms))
        return True

    def add(self, term: Term) -> Message | None:
        """Filter by one more term, or another of its column; an empty one takes that away. Gives what is wrong."""
        if not term.text.strip():
            self._set_query(Query(tuple(t for t in self.query.terms if t.column != term.column), self.query.typed))
            return None
        problem = self.fault(term)
        if problem is None:
            self._set_query(self.query.adding(term))
        return problem

    def remove(self, term: Term) -> None:
        """Take a filter away: one in force, or the text in the field."""
        query = self.query
        typed = self.typed_term()
        self._set_query(Query(query.terms) if term == typed and term not in query.terms else query.without(term))

    def clear(self) -> None:
        """Take all filters away."""
        self._set_query(Query())

    def fault(self, term: Term) -> Message | None:
        """Why a filter cannot be read, None when it can."""
        column = self.column(term.column)
        if column is None:
            return None
        try:
            parse_filter(term.text, column, self._appearance.display)
        except InputError as error:
            return error.message
        return None

    # --- Pins ---------------------------------------------------------------------------------------------------------

    def is_pinned(self, entry_id: str) -> bool:
        """Whether an entry of the table in sight is pinned."""
        return (self.table.kind, entry_id) in self._pinned

    def toggle_pin(self, entry_id: str) -> None:
        """Pin an entry of the table in sight to compare it, or take the pin out."""
        if not self.pins.toggle(Pin(self.table.kind, entry_id)):
            self._notices.say(msg("catalogui.pins_full", most=MOST_PINS), Verdict.WARN)
            return
        self.look_at_pins()

    def look_at_pins(self) -> None:
        """Pins may have changed in another place."""
        self._pinned = {pin.key for pin in self.pins.all()}
        self.pinsChanged.emit()

    def close(self) -> None:
        """Keep what has not been kept yet."""
        self._keep.flush()

    # --- Inside -------------------------------------------------------------------------------------------------------

    def _names(self, column: Column) -> Iterable[str]:
        return (*self._appearance.texts(msg(column.label)), *self._appearance.texts(short_title(column)))

    def _set_query(self, query: Query) -> None:
        self._queries[self.table] = query
        self._changed.add(self.table)
        self._keep.call()
        term = self.typed_term()
        self.problem = self.fault(term) if term is not None else None
        self.queryChanged.emit()

    def _save(self) -> None:
        self._settings.keep(_LAST, self.path)
        for table in self._changed:
            self._settings.keep(_QUERY + table.value, written(self._queries[table]))
        self._changed = set()

    def _show_table(self, table: CatalogTable) -> None:
        if table is not self.table:
            self.table = table
            self.entry = None
            self.problem = None
            self.tableChanged.emit()
            self.entryChanged.emit()

    def _choose(self, entry: EntryRef | None) -> None:
        if entry != self.entry:
            self.entry = entry
            self.entryChanged.emit()

    def _read(self, _cancel: Cancel) -> Read:
        return Read(self._workspace.catalog, self._workspace.index)

    def _was_read(self, read: Read) -> None:
        self.read = read
        for table in CatalogTable:
            kept: Any = self._settings.kept(_QUERY + table.value)
            self._queries[table] = read_query(kept, self.columns(table))
        self._pinned = {pin.key for pin in self.pins.all()}
        term = self.typed_term()
        self.problem = self.fault(term) if term is not None else None
        wanted = self._wanted or self._settings.kept(_LAST, "")
        self.ready.emit()
        self.visit(wanted if isinstance(wanted, str) else "")
