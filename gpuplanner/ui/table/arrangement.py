"""How the columns of a table are arranged: shown or hidden, moved, made wider; and keeping that in the settings."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from PySide6.QtCore import QObject
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QTableView

from gpuplanner.ui.background import Coalescer
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.settings import Settings
from gpuplanner.ui.table.columns import Column, Look
from gpuplanner.ui.table.header import PADDING, DataHeader
from gpuplanner.ui.table.model import PAGE, PagedModel
from gpuplanner.ui.table.shape import Shape, load_shape, save_shape, usual_shape
from gpuplanner.ui.tokens import ROW_HEIGHT

TICK_WIDTH = 24
"""The box before a text that can be ticked, with its gap."""
_WIDEST_WORDS = 320
"""Pixels that words may claim for themselves: longer ones are cut, and their tooltip says them."""
_READABLE_WORDS = 150
"""Pixels that words get before a column yields to them: an "A100 SXM4 80GB", not the longest name there is."""
_WHOLE_WORDS = 176
"""Pixels that the words of a column get that is to be whole, such as "8 × H100 SXM5 80GB" with its tick."""
_TEXTS_KEPT = 20_000
_FIRST_SHARE = 1.25
"""How much wider than its words the first column becomes before all columns share what is left."""


class Arrangement(QObject):
    """Arranges the sections of a header. Words get the room they need, then all columns share what is left."""

    def __init__(self, table: QTableView, header: DataHeader, model: PagedModel, settings: Settings, key: str) -> None:
        super().__init__(table)
        self._table = table
        self._header = header
        self._model = model
        self._settings = settings
        self._key = key
        self._moving = False
        self._texts = _Widths(TextRole.NUMBER)
        self._notes = _Widths(TextRole.LABEL)
        self._numbers: dict[str, int] = {}
        self._words: dict[str, int] = {}
        self._without_room: set[str] = set()
        self._put_away: set[str] = set()
        self._asked_for: set[str] = set()
        self._held = ""
        self._shape = load_shape(settings, key, model.columns)
        model.order = self._shape.sort
        self._keep = Coalescer(self._save, self, 300)
        header.sectionResized.connect(self._resized)
        header.sectionMoved.connect(self._moved)
        self.arrange()

    def section(self, column_id: str) -> int:
        """The section of a column."""
        return next(i for i, column in enumerate(self._model.columns) if column.id == column_id)

    def shown(self) -> tuple[Column, ...]:
        """The columns in sight, from left to right."""
        header = self._header
        sections = (header.logicalIndex(place) for place in range(header.count()))
        return tuple(self._model.columns[s] for s in sections if not header.isSectionHidden(s))

    def is_shown(self, column_id: str) -> bool:
        """Whether a column is in sight."""
        return not self._header.isSectionHidden(self.section(column_id))

    def show(self, column_id: str, *, shown: bool) -> None:
        """Show or hide a column; the last one stays."""
        if shown or len(self.shown()) > 1:
            self._without_room.discard(column_id)
            self._put_away.discard(column_id)
            (self._asked_for.add if shown else self._asked_for.discard)(column_id)
            if column_id == self._held:
                self._let_go(keep_hidden=False)
            self._header.setSectionHidden(self.section(column_id), not shown)
            self.fill_width()
            self.changed()

    def hold(self, column_id: str, *, measure: bool = True) -> None:
        """Show a column for as long as no other is held, whether there is room or not. This is not kept.

        Without `measure` it is as wide as its title: for who shows other rows next, which are measured then.
        """
        if column_id == self._held:
            return
        before = self._held
        self._let_go(keep_hidden=True)
        self._held = column_id
        self._without_room.discard(column_id)
        self._put_away.discard(column_id)
        with self._arranging():
            self._header.setSectionHidden(self.section(column_id), False)
            if before in self._shape.hidden:
                self._header.setSectionHidden(self.section(before), True)
        if measure:
            self.fit_contents()
        self.fill_width()

    def _let_go(self, *, keep_hidden: bool) -> None:
        if not keep_hidden:
            self._shape = replace(self._shape, hidden=self._shape.hidden - {self._held})
        self._held = ""

    def put_away(self, column_id: str, *, away: bool) -> None:
        """Hide a column as long as it has nothing to say. What a person hid stays so, and this is not kept."""
        if away == (column_id in self._put_away) or column_id == self._held:
            return
        self._put_away ^= {column_id}
        with self._arranging():
            self._header.setSectionHidden(self.section(column_id), away or column_id in self._shape.hidden)
        self.fill_width()

    def reset(self) -> None:
        """Columns and widths as they were at first."""
        self._shape = usual_shape(self._model.columns)
        self._asked_for = set()
        self.arrange()
        self.changed()

    def shape(self) -> Shape:
        """The columns as a person has them now."""
        self._save()
        return replace(self._shape, widths=dict(self._shape.widths))

    def take(self, shape: Shape) -> None:
        """The columns as they were once."""
        self._shape = shape
        self.arrange()
        self.changed()

    def arrange(self) -> None:
        """Give the sections the kept order, visibility and widths."""
        with self._arranging():
            for place, column_id in enumerate(self._shape.order):
                section = self.section(column_id)
                self._header.moveSection(self._header.visualIndex(section), place)
                hidden = column_id in self._shape.hidden and column_id != self._held
                self._header.setSectionHidden(section, hidden)
                self._header.resizeSection(section, self._wanted_width(section))
        self.fill_width()

    def fit_titles(self) -> None:
        """Titles in another language may need more room, or less."""
        with self._arranging():
            for section in range(self._header.count()):
                self._header.resizeSection(section, self._wanted_width(section))
        self.fill_width()
        self._header.updateGeometry()

    def fit_anew(self) -> None:
        """Words and numbers are said in another way: what was measured of the old ones counts no more."""
        self._texts, self._notes = _Widths(TextRole.NUMBER), _Widths(TextRole.LABEL)
        self._numbers, self._words = {}, {}
        self.fit_titles()
        self.fit_contents()

    def fit_contents(self, rows: range | None = None) -> None:
        """Columns become as wide as what stands in these rows, or the first page: half a number is a wrong one.

        Words get as much as there is room for. Columns grow only, so that nothing jumps while a person filters.
        """
        below = self._table.verticalHeader().defaultSectionSize() > ROW_HEIGHT + 6
        grown = False
        rows = range(min(PAGE, self._model.total)) if rows is None else rows
        for section, column in enumerate(self._model.columns):
            if self._header.isSectionHidden(section):
                continue
            looks = (self._model.look_at(row, section) for row in rows)
            widths = (self._content_width(look, below=below) for look in looks if look is not None)
            width = int(max(widths, default=0) + 2 * PADDING + 3)
            widest, most = (self._numbers, width) if column.right else (self._words, min(width, _WIDEST_WORDS))
            if most > widest.get(column.id, 0):
                widest[column.id] = most
                grown = True
        if grown:
            self.fit_titles()

    def fill_width(self) -> None:
        """Give away what is left of the width; where there is too little, columns that yield go, the last first."""
        if self._moving or not self.shown():
            return
        self._yield_room()
        columns = self.shown()
        widths = {column.id: self._wanted_width(self.section(column.id)) for column in columns}
        free = [column for column in columns if column.id not in self._shape.widths]
        left = self._table.viewport().width() - sum(widths.values())
        first = columns[0]
        # The first column last: it begins wide, and one long name in it must not cut the words of all others.
        for column in sorted(free, key=lambda column: column is first):
            needs = self._words.get(column.id, 0)
            if column is first:
                needs = int(max(needs, widths[column.id]) * _FIRST_SHARE)
            more = max(0, min(left, needs - widths[column.id]))
            widths[column.id] += more
            left -= more
        left = max(0, left)
        whole = sum(widths[column.id] for column in free)
        shares = {column.id: left * widths[column.id] // whole for column in free}
        for column_id, share in shares.items():
            widths[column_id] += share
        # What division leaves, or all of it where a person set every width.
        widths[first.id] += left - sum(shares.values())
        with self._arranging():
            for column in columns:
                self._header.resizeSection(self.section(column.id), widths[column.id])

    def changed(self) -> None:
        """A person changed something: keep it soon."""
        self._keep.call()

    def _yield_room(self) -> None:
        """Hide the columns that yield as far as there is no room, and show them again where there is.

        What a person hid or asked for stays so.
        """
        chosen = self._asked_for | self._shape.hidden | self._put_away | {self._held}
        out = {c.id for c in self._model.columns if self._header.isSectionHidden(self.section(c.id))}
        out -= self._without_room
        yielding = [c.id for c in self._model.columns if c.yields and c.id not in chosen and c.id not in out]
        others = {column.id for column in self.shown()} - set(yielding)
        left = self._table.viewport().width() - sum(map(self._readable_width, others))
        with self._arranging():
            for column_id in yielding:
                left -= self._readable_width(column_id)
                self._header.setSectionHidden(self.section(column_id), left < 0)
                self._without_room = self._without_room - {column_id} | ({column_id} if left < 0 else set())

    def _readable_width(self, column_id: str) -> int:
        """How wide a column has to be so that its words are whole: names that differ at their end must not be cut."""
        wanted = self._wanted_width(self.section(column_id))
        most = _WHOLE_WORDS if self._model.columns[self.section(column_id)].whole else _READABLE_WORDS
        words = min(self._words.get(column_id, 0), most)
        return wanted if column_id in self._shape.widths else max(wanted, words)

    def _wanted_width(self, section: int) -> int:
        column = self._model.columns[section]
        usual = max(column.width, self._header.wanted_width(section), self._numbers.get(column.id, 0))
        return self._shape.widths.get(column.id, usual)

    def _resized(self, section: int, _before: int, width: int) -> None:
        # Hiding a section makes it as narrow as nothing; that is no width to keep.
        if not self._moving and width > 0:
            self._shape.widths[self._model.columns[section].id] = width
            self.changed()

    def _moved(self) -> None:
        if not self._moving:
            self.changed()

    def _save(self) -> None:
        header = self._header
        order = (self._model.columns[header.logicalIndex(p)].id for p in range(header.count()))
        out_of_sight = {c.id for s, c in enumerate(self._model.columns) if header.isSectionHidden(s)}
        hidden = out_of_sight - self._without_room - self._put_away | ({self._held} & self._shape.hidden)
        self._shape = Shape(tuple(order), frozenset(hidden), self._shape.widths, self._model.order)
        save_shape(self._settings, self._key, self._shape)

    def _content_width(self, look: Look, *, below: bool) -> float:
        """How wide a cell is. `below`: its note stands in a second line and not beside it."""
        text = self._texts.width(f"{look.text} {look.mark}".rstrip())
        note = self._notes.width(look.note)
        beside = max(text, note) if below else text + (note + 6 if note else 0)
        return beside + (TICK_WIDTH if look.check is not None else 0)

    @contextmanager
    def _arranging(self) -> Iterator[None]:
        """What happens inside is ours and not a person's."""
        before, self._moving = self._moving, True
        try:
            yield
        finally:
            self._moving = before


class _Widths:
    """How wide texts are in a font. The same texts come again with every sort, and to measure one costs as much as to
    read twenty: they are remembered, up to a number that bounds the memory.
    """

    def __init__(self, role: TextRole) -> None:
        self._metrics = QFontMetricsF(font(role))
        self._known: dict[str, float] = {"": 0.0}

    def width(self, text: str) -> float:
        """Pixels that a text takes in one line."""
        known = self._known.get(text)
        if known is None:
            if len(self._known) > _TEXTS_KEPT:
                self._known = {"": 0.0}
            known = self._known[text] = self._metrics.horizontalAdvance(text)
        return known
