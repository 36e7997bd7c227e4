"""The rows of a table as Qt's model: pages are fetched beside the window when they come into sight."""

from collections import OrderedDict
from collections.abc import Sequence
from html import escape
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.background import Cancel, Jobs, Latest
from gpuplanner.ui.table.columns import Column, Look, Order
from gpuplanner.ui.table.source import Row, Slice, Source

PAGE = 128
PAGES_KEPT = 64
Index = QModelIndex | QPersistentModelIndex
LOOK = Qt.ItemDataRole.UserRole
"""The role under which a delegate finds the Look of a cell; None while its page is on the way."""


class PagedModel(QAbstractTableModel):
    """Shows a source. What was shown stays until the first page of a new source or order is there: no flicker."""

    loaded = Signal()
    failed = Signal(object)
    """An exception that the source raised for the first page."""

    def __init__(
        self,
        appearance: Appearance,
        columns: Sequence[Column],
        jobs: Jobs | None = None,
        parent: QObject | None = None,
    ) -> None:
        """Without `jobs` the source is asked at once, in this thread: for rows that are in memory already."""
        super().__init__(parent)
        self._appearance = appearance
        self.columns = tuple(columns)
        self.order = Order()
        self.usual = Order()
        """How the source orders its rows where nobody sorted them: only shown."""
        self._jobs = jobs
        self._first = Latest(jobs) if jobs else None
        self._source: Source | None = None
        self._pages: OrderedDict[int, Sequence[Row]] = OrderedDict()
        self._looks: dict[int, dict[tuple[int, int], Look]] = {}
        self._wanted: set[int] = set()
        self._total = 0
        self._generation = 0
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._all_changed)

    # --- Rows ---------------------------------------------------------------------------------------------------------

    @property
    def total(self) -> int:
        """How many rows there are."""
        return self._total

    def set_source(self, source: Source) -> None:
        """Show the rows of another source."""
        self._source = source
        self._load()

    @property
    def seen_order(self) -> Order:
        """The order in which the rows stand."""
        return self.order if self.order.keys else self.usual

    def set_order(self, order: Order) -> None:
        """Sort by other keys."""
        if order != self.order:
            self.order = order
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(self.columns) - 1)
            self._load()

    def row(self, number: int) -> Row | None:
        """A row, if its page is here; else its page is asked for."""
        if not 0 <= number < self._total:
            return None
        page = self._pages.get(number // PAGE)
        if page is None:
            self._want(number // PAGE)
            return None
        at = number % PAGE
        return page[at] if at < len(page) else None

    def look(self, row: Row, column: Column) -> Look:
        """How a cell of a row looks."""
        value = row.cells[self.columns.index(column)]
        return column.look(value, self._appearance)

    def look_at(self, number: int, section: int) -> Look | None:
        """How a cell looks, None while its page is on the way. Worked out once, as a page is painted many times.

        A tick is looked at anew each time: it may change without its row.
        """
        row = self.row(number)
        if row is None:
            return None
        looks = self._looks.setdefault(number // PAGE, {})
        look = looks.get((number, section))
        if look is None:
            look = self.columns[section].look(row.cells[section], self._appearance)
            if look.check is None:
                looks[number, section] = look
        return look

    def everything(self) -> Sequence[Row]:
        """All rows in order, straight from the source: for copies. May take a while; can be called in any thread."""
        return self._source.fetch(self.order.keys, 0, max(1, self._total)).rows if self._source else ()

    # --- What Qt asks -------------------------------------------------------------------------------------------------

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 -- an invalid index never changes
        return 0 if parent.isValid() else self._total

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 -- an invalid index never changes
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        wanted = {LOOK, Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole}
        if role not in wanted:
            return None
        look = self.look_at(index.row(), index.column())
        if look is None or role == LOOK:
            return look
        if role == Qt.ItemDataRole.ToolTipRole:
            return (look.tip() if callable(look.tip) else look.tip) or None
        if role == Qt.ItemDataRole.AccessibleTextRole:
            column = self.columns[index.column()]
            unit = column.unit(self._appearance.display)
            said = f"{look.text} {unit} {look.note}".strip()
            return f"{self._appearance.text(column.title)} {said}"
        return look.text

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal or not 0 <= section < len(self.columns):
            return None
        column = self.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            unit = column.unit(self._appearance.display)
            title = self._appearance.text(column.title)
            return f"{title}\n{unit}" if unit else title
        if role == Qt.ItemDataRole.ToolTipRole:
            meaning = column.term.meaning if column.term is not None else None
            tips = (column.tip, meaning, msg("ui.table.sort_also") if column.sortable else None)
            said = (self._appearance.text(tip) for tip in tips if tip)
            # As paragraphs: a plain tooltip is one line, however long.
            return "".join(f"<p>{escape(text)}</p>" for text in said) or None
        return None

    # --- Fetching -----------------------------------------------------------------------------------------------------

    def _load(self) -> None:
        source, keys = self._source, self.order.keys
        if source is None:
            return
        if self._first is None:
            self._show(source.fetch(keys, 0, PAGE))
            return
        self._first.run(lambda _cancel: source.fetch(keys, 0, PAGE), self._show, self.failed.emit, urgent=True)

    def _show(self, first: Slice) -> None:
        self.beginResetModel()
        self._generation += 1
        self._pages = OrderedDict({0: first.rows})
        self._looks = {}
        self._wanted = set()
        self._total = first.total
        self.endResetModel()
        self.loaded.emit()

    def _want(self, page: int) -> None:
        source, keys, generation = self._source, self.order.keys, self._generation
        if source is None or page in self._wanted:
            return
        self._wanted.add(page)
        if self._jobs is None:
            self._keep(generation, page, source.fetch(keys, page * PAGE, PAGE))
            return

        def fetch(_cancel: Cancel) -> Slice:
            return source.fetch(keys, page * PAGE, PAGE)

        self._jobs.run(fetch, lambda found: self._keep(generation, page, found))

    def _keep(self, generation: int, page: int, found: Slice) -> None:
        if generation != self._generation:
            return
        self._wanted.discard(page)
        self._pages[page] = found.rows
        self._looks.pop(page, None)
        while len(self._pages) > PAGES_KEPT:
            gone, _rows = self._pages.popitem(last=False)
            self._looks.pop(gone, None)
        last = min((page + 1) * PAGE, self._total) - 1
        self.dataChanged.emit(self.index(page * PAGE, 0), self.index(last, len(self.columns) - 1))

    def _all_changed(self) -> None:
        self._looks = {}
        if self._total:
            self.dataChanged.emit(self.index(0, 0), self.index(self._total - 1, len(self.columns) - 1))
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(self.columns) - 1)
