"""The painted body of the comparison: rows in groups, a column for each subject; the best and differences marked."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFontMetricsF,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QToolTip, QWidget

from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.compare_place.wording import DIFFERS, CellWords, copied
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.help_page.glossary import Term
from gpuplanner.ui.painting import draw_text, focus_ring, painter_for
from gpuplanner.ui.tokens import ROW_HEIGHT, Tokens, Verdict
from gpuplanner.ui.widgets.focus import KeyboardFocus
from gpuplanner.ui.widgets.verdict_tag import draw_tag, tag_width

NAME_WIDTH = 236
LEAST_WIDTH = 178
_GUTTER = 20.0
_SIDE = 8.0
_TITLE_HEIGHT = 38
_FIRST_TITLE_HEIGHT = 28
_NOTE_HEIGHT = 14


@dataclass(frozen=True, slots=True)
class GroupLine:
    """The title of a group."""

    title: str


@dataclass(frozen=True, slots=True)
class RowLine:
    """A row: its title, whether its values differ, the values, and the word of the glossary that says what it is."""

    title: str
    differs: bool
    cells: tuple[CellWords, ...]
    term: Term | None = None


class CompareTable(KeyboardFocus, QWidget):
    """Up and down walk the rows, Ctrl+C copies one. `walkedTo` carries the middle of the row to bring into sight."""

    walkedTo = Signal(int)
    termWanted = Signal(object)

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self._lines: tuple[GroupLine | RowLine, ...] = ()
        self._columns = 0
        self._current = -1
        self._hovered = -1
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        appearance.themeChanged.connect(self.update)

    def show_lines(self, lines: Sequence[GroupLine | RowLine], columns: int) -> None:
        """Show other rows."""
        self._lines = tuple(lines)
        self._columns = columns
        self._current = min(self._current, len(self._lines) - 1)
        self.setMinimumWidth(NAME_WIDTH + columns * LEAST_WIDTH)
        self.setFixedHeight(_heights(self._lines))
        self.setAccessibleName(self._appearance.text("compareui.title"))
        self.setAccessibleDescription("; ".join(map(self._spoken, self._lines)))
        self.update()

    @property
    def lines(self) -> tuple[GroupLine | RowLine, ...]:
        """What is shown."""
        return self._lines

    def column_width(self) -> float:
        """How wide one subject's column is."""
        return (self.width() - NAME_WIDTH) / max(1, self._columns)

    def sizeHint(self) -> QSize:
        return QSize(NAME_WIDTH + self._columns * 190, _heights(self._lines))

    # --- Painting -----------------------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = self._appearance.tokens
        painter = painter_for(self)
        for at, (line, area) in enumerate(self._placed()):
            if not area.intersects(QRectF(event.rect())):
                continue
            if isinstance(line, GroupLine):
                painter.setFont(font(TextRole.LABEL_STRONG))
                text = area.adjusted(0, area.height() - _FIRST_TITLE_HEIGHT + 4, 0, -4)
                draw_text(painter, text, line.title, tokens.text)
                painter.fillRect(QRectF(area.left(), area.bottom() - 1, area.width(), 1), tokens.line_strong)
            else:
                self._paint_row(painter, at, line, area, tokens)

    def _paint_row(self, painter: QPainter, at: int, line: RowLine, area: QRectF, tokens: Tokens) -> None:
        if at == self._hovered:
            painter.fillRect(area.adjusted(0, 0, 0, -1), tokens.hover)
        painter.fillRect(QRectF(area.left(), area.bottom() - 1, area.width(), 1), tokens.line)
        painter.setFont(font(TextRole.STRONG))
        if line.differs:
            draw_text(painter, QRectF(area.left(), area.top(), _GUTTER, area.height()), DIFFERS, tokens.primary_ink)
        painter.setFont(font(TextRole.LABEL))
        name = QRectF(area.left() + _GUTTER, area.top(), NAME_WIDTH - _GUTTER - _SIDE, area.height())
        draw_text(painter, name, line.title, tokens.text if line.differs else tokens.muted)
        for column, cell in enumerate(line.cells):
            self._paint_cell(painter, self._cell_area(area, column), cell, tokens, muted=not line.differs)
        if at == self._current and self.shows_focus:
            focus_ring(painter, area.adjusted(0, 0, 0, -1), 4, tokens.primary)

    def _paint_cell(self, painter: QPainter, area: QRectF, cell: CellWords, tokens: Tokens, *, muted: bool) -> None:
        inside = area.adjusted(_SIDE, 0, -_SIDE, 0)
        word = self._appearance.text("compareui.best")
        verdict = Verdict.UNKNOWN if cell.unsure else Verdict.PASS
        tag = tag_width(verdict, word) if cell.best else 0.0
        face = font(TextRole.STRONG if cell.best and not cell.unsure else TextRole.NUMBER)
        if cell.note:
            painter.setFont(font(TextRole.LABEL))
            middle = inside.center().y()
            draw_text(painter, QRectF(inside.left(), middle, inside.width(), 18), cell.note, tokens.muted)
            inside.setBottom(middle)
            inside.setTop(middle - 20)
        painter.setFont(face)
        room = inside.width() - (tag + 8 if tag else 0) - (16 if cell.mark else 0)
        width = min(QFontMetricsF(face).horizontalAdvance(cell.text) + 1, room)
        ink = tokens.muted if muted or cell.missing else tokens.text
        draw_text(painter, QRectF(inside.left(), inside.top(), width, inside.height()), cell.text, ink)
        left = inside.left() + width
        if cell.mark:
            painter.setFont(font(TextRole.LABEL))
            draw_text(painter, QRectF(left + 4, inside.top(), 14, inside.height()), cell.mark, tokens.muted)
            left += 18
        if tag:
            box = QRectF(left + 8, inside.top(), tag, inside.height())
            draw_tag(painter, box, verdict, word, tokens)

    # --- Geometry -----------------------------------------------------------------------------------------------------

    def _placed(self) -> list[tuple[GroupLine | RowLine, QRectF]]:
        top, placed = 0, []
        for line in self._lines:
            height = _height(line, first=not top)
            placed.append((line, QRectF(0, top, self.width(), height)))
            top += height
        return placed

    def _cell_area(self, row: QRectF, column: int) -> QRectF:
        width = self.column_width()
        return QRectF(NAME_WIDTH + column * width, row.top(), width, row.height())

    def _at(self, point: QPointF) -> tuple[int, int]:
        """Row and column at a point, -1 for none."""
        row = next((at for at, (_line, area) in enumerate(self._placed()) if area.contains(point)), -1)
        column = int((point.x() - NAME_WIDTH) // self.column_width()) if point.x() >= NAME_WIDTH else -1
        return row, min(column, self._columns - 1)

    # --- Events -------------------------------------------------------------------------------------------------------

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), self._tip(QPointF(event.pos())), self)
            return True
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        row, _column = self._at(event.position())
        if row != self._hovered:
            self._hovered = row
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        self._current = self._at(event.position())[0]

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hovered = -1
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        copies = event.key() == Qt.Key.Key_C and event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if event.key() in {Qt.Key.Key_Down, Qt.Key.Key_Up}:
            self._walk(1 if event.key() == Qt.Key.Key_Down else -1)
        elif copies and self._current >= 0:
            QGuiApplication.clipboard().setText(self._spoken(self._lines[self._current]))
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        row, column = self._at(QPointF(event.pos()))
        if row < 0:
            row = self._current
        line = self._lines[row] if row >= 0 else None
        if not isinstance(line, RowLine):
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        clipboard = QGuiApplication.clipboard()
        if column >= 0:
            text = line.cells[column].text
            menu.addAction(self._appearance.text(msg("ui.table.copy_cell")), lambda: clipboard.setText(text))
        spoken = self._spoken(line)
        menu.addAction(self._appearance.text(msg("compareui.copy.row")), lambda: clipboard.setText(spoken))
        if line.term is not None:
            term = line.term
            what = self._appearance.text(msg("ui.table.what", term=term.name))
            menu.addAction(what, lambda: self.termWanted.emit(term))
        menu.popup(event.globalPos())

    def _walk(self, by: int) -> None:
        rows = [at for at, line in enumerate(self._lines) if isinstance(line, RowLine)]
        if not rows:
            return
        place = rows.index(self._current) + by if self._current in rows else 0
        self._current = rows[max(0, min(len(rows) - 1, place))]
        self.walkedTo.emit(int(self._placed()[self._current][1].center().y()))
        self.update()

    def _tip(self, point: QPointF) -> str:
        row, column = self._at(point)
        line = self._lines[row] if row >= 0 else None
        if not isinstance(line, RowLine):
            return ""
        if column < 0:
            said = self._appearance.text("compareui.differs" if line.differs else "compareui.same")
            return _paragraphs(line.title, said, self._appearance.text(line.term.meaning) if line.term else "")
        cell = line.cells[column]
        return _paragraphs(cell.text, *cell.tip.split("\n"))

    def _spoken(self, line: GroupLine | RowLine) -> str:
        if isinstance(line, GroupLine):
            return line.title
        cells = (copied(cell, self._appearance) for cell in line.cells)
        return "\t".join((f"{DIFFERS} {line.title}" if line.differs else line.title, *cells))


def _paragraphs(*texts: str) -> str:
    """A tooltip that wraps: a plain one is one line, however long."""
    return "".join(f"<p>{escape(text)}</p>" for text in texts if text)


def _height(line: GroupLine | RowLine, *, first: bool) -> int:
    if isinstance(line, RowLine):
        return ROW_HEIGHT + (_NOTE_HEIGHT if any(cell.note for cell in line.cells) else 0)
    return _FIRST_TITLE_HEIGHT if first else _TITLE_HEIGHT


def _heights(lines: Sequence[GroupLine | RowLine]) -> int:
    return sum(_height(line, first=at == 0) for at, line in enumerate(lines))
