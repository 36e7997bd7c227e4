"""The list of earlier states: what was changed, to what, when, and the verdict. Arrow keys go through it."""

from collections.abc import Callable, Sequence
from math import ceil

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QPainter, QResizeEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole, font
from gpuplanner.ui.painting import draw_text, focus_ring, rounded_box
from gpuplanner.ui.plan_place.captions import ago, value_text
from gpuplanner.ui.plan_place.history.entries import Entry
from gpuplanner.ui.plan_place.verdicts import verdict_of
from gpuplanner.ui.plan_place.wizard.fields import Control
from gpuplanner.ui.tokens import MARKS, RADIUS_FIELD
from gpuplanner.workload.model_choice import ModelChoice

_AROUND = 9
_ENTRY = Qt.ItemDataRole.UserRole


class RevisionList(QListView):
    """`chosen` carries the entry that is current now."""

    chosen = Signal(object)

    def __init__(self, appearance: Appearance, model_name: Callable[[ModelChoice], str]) -> None:
        super().__init__()
        self._appearance = appearance
        self._model_name = model_name
        self._entries: Sequence[Entry] = ()
        self._model = QStandardItemModel(self)
        self.setModel(self._model)
        self.setItemDelegate(_EntryDelegate(appearance, self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.viewport().setAutoFillBackground(False)
        self.selectionModel().currentChanged.connect(self._current_changed)
        appearance.languageChanged.connect(self._fill)
        appearance.displayChanged.connect(self._fill)
        self._fill()

    def resizeEvent(self, event: QResizeEvent) -> None:
        # It ends on a whole row.
        left = (self.height() - 2 * self.frameWidth()) % row_height()
        if self.viewportMargins().bottom() != left:
            self.setViewportMargins(0, 0, 0, left)
        super().resizeEvent(event)

    def show_entries(self, entries: Sequence[Entry]) -> None:
        """Show other entries; the one that was current stays so."""
        self._entries = tuple(entries)
        self._fill()

    def current(self) -> Entry | None:
        """The entry that is current."""
        index = self.currentIndex()
        entry: Entry | None = index.data(_ENTRY) if index.isValid() else None
        return entry

    def texts(self) -> list[str]:
        """The first lines, in order."""
        return [self._model.item(row).text() for row in range(self._model.rowCount())]

    def _fill(self) -> None:
        self.setAccessibleName(self._appearance.text("planui.history"))
        kept = self.current()
        self.selectionModel().blockSignals(True)
        self._model.clear()
        for entry in self._entries:
            row = QStandardItem(change_name(entry.revision.label, self._appearance))
            row.setData(entry, _ENTRY)
            row.setData(self._detail(entry), Qt.ItemDataRole.ToolTipRole)
            said = (row.text(), self._detail(entry), self._when(entry), self._verdict(entry))
            row.setData("; ".join(part for part in said if part), Qt.ItemDataRole.AccessibleTextRole)
            self._model.appendRow(row)
        ids = [entry.revision.id for entry in self._entries]
        at = ids.index(kept.revision.id) if kept is not None and kept.revision.id in ids else 0
        self.setCurrentIndex(self._model.index(at, 0))
        self.selectionModel().blockSignals(False)
        if ids and (kept is None or kept.revision.id != ids[at]):
            self.chosen.emit(self.current())

    def _current_changed(self, index: QModelIndex) -> None:
        if index.isValid():
            self.chosen.emit(index.data(_ENTRY))

    def _detail(self, entry: Entry) -> str:
        """What the change was: `64 → 128`, and how many other fields changed with it."""
        found = entry.changed
        if found is None:
            return self._appearance.text("planui.history.first")
        if not found.differences:
            return ""
        first = next((d for d in found.differences if d.field is not None), None)
        if first is None or first.field is None:
            return ""
        values = []
        for value in (first.first, first.second):
            model = self._model_name(value) if first.field.control is Control.MODEL else ""
            values.append(value_text(first.field, value, self._appearance, model))
        text = " → ".join(values)
        more = len(found.differences) - 1
        return f"{text} · {self._appearance.text('planui.history.more', count=more)}" if more else text

    def _when(self, entry: Entry) -> str:
        return self._appearance.text(ago(entry.revision.made))

    def _verdict(self, entry: Entry) -> str:
        return self._appearance.text(verdict_of(entry.outcome)[1]) if entry.outcome is not None else ""


def change_name(label: str, appearance: Appearance) -> str:
    """What a change is called, by the message id that was kept with it."""
    if not label:
        return appearance.text("planui.history.begun")
    if label.startswith("change."):
        return appearance.text("planui.history.suggested")
    return appearance.text(label) if appearance.translator.has(label) else appearance.text("planui.history.other")


def row_height() -> int:
    """The height of a row: a line of body text over one of small text, with room around them."""
    lines = (QFontMetricsF(font(role)).height() for role in (TextRole.BODY, TextRole.LABEL))
    return ceil(sum(lines)) + 2 * _AROUND


class _EntryDelegate(QStyledItemDelegate):
    def __init__(self, appearance: Appearance, parent: QWidget) -> None:
        super().__init__(parent)
        self._appearance = appearance

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(100, row_height())

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        tokens, appearance = self._appearance.tokens, self._appearance
        entry: Entry = index.data(_ENTRY)
        area = QRectF(option.rect).adjusted(0, 1, 0, -1)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if option.state & QStyle.StateFlag.State_Selected:
            rounded_box(painter, area, RADIUS_FIELD, tokens.primary_wash)
        elif option.state & QStyle.StateFlag.State_MouseOver:
            rounded_box(painter, area, RADIUS_FIELD, tokens.hover)
        inside = area.adjusted(10, 4, -10, -4)
        upper = QRectF(inside.left(), inside.top(), inside.width(), inside.height() / 2)
        lower = upper.translated(0, inside.height() / 2)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.setFont(font(TextRole.LABEL))
        metrics = QFontMetricsF(painter.font())
        when = appearance.text(ago(entry.revision.made))
        width = metrics.horizontalAdvance(when) + 1
        draw_text(painter, upper.adjusted(upper.width() - width, 0, 0, 0), when, tokens.muted, right)
        verdict_width = 0.0
        if entry.outcome is not None:
            verdict, word = verdict_of(entry.outcome)
            says = f"{MARKS[verdict]} {appearance.text(word)}"
            verdict_width = metrics.horizontalAdvance(says) + 1
            beside = lower.adjusted(lower.width() - verdict_width, 0, 0, 0)
            draw_text(painter, beside, says, tokens.tone(verdict).ink, right)
        detail = str(index.data(Qt.ItemDataRole.ToolTipRole) or "")
        draw_text(painter, lower.adjusted(0, 0, -verdict_width - 8, 0), detail, tokens.muted)
        painter.setFont(font(TextRole.BODY))
        draw_text(painter, upper.adjusted(0, 0, -width - 8, 0), str(index.data()), tokens.text)
        if option.state & QStyle.StateFlag.State_HasFocus:
            focus_ring(painter, area, RADIUS_FIELD, tokens.primary)
        painter.restore()
