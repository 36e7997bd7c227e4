"""The page of the Compare place: what is pinned, side by side."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from gpuplanner.messages import msg
from gpuplanner.ui.background import Cancel
from gpuplanner.ui.compare_place.compare_table import CompareTable, GroupLine, RowLine
from gpuplanner.ui.compare_place.comparison import ComparedGroup, ComparedRow, compare
from gpuplanner.ui.compare_place.export import CompareExport
from gpuplanner.ui.compare_place.heads import Heads
from gpuplanner.ui.compare_place.subjects import Subject, SubjectReader
from gpuplanner.ui.compare_place.wording import cell_words
from gpuplanner.ui.fields.text_field import Check
from gpuplanner.ui.help_page.glossary import term_of
from gpuplanner.ui.notices import NoticeAction
from gpuplanner.ui.pins import LEAST_PINS, MOST_PINS, Pin, PinKind, Pins
from gpuplanner.ui.places import Context, Heading, Location, Page, PageAction
from gpuplanner.ui.plan_titles import Titles
from gpuplanner.ui.settings import WINDOW
from gpuplanner.ui.tokens import GAP, Verdict
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.empty_state import EmptyState
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.scrolling import scrolling

_ONLY = WINDOW + "compare.only_differences"


class ComparePage(Page):
    """Follows the pins: whoever pins something elsewhere finds it here."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        appearance = self._appearance = context.appearance
        self.pins = Pins(context.settings)
        self._reader: SubjectReader | None = None
        self.subjects: tuple[Subject, ...] = ()
        self.groups: tuple[ComparedGroup, ...] = ()
        self.only = Check(appearance, msg("compareui.only"), msg("compareui.only.tip"))
        self.only.setChecked(context.settings.kept(_ONLY, False) is True)
        self.only.toggled.connect(self._toggle_only)
        self.count = Label(appearance, "", ink=Ink.MUTED)
        self.remark = Label(appearance, "", ink=Ink.MUTED, wrap=True)
        self._titles = Titles(appearance, ["sample", *context.workspace.presets])
        self.heads = Heads(appearance)
        self.table = CompareTable(appearance)
        self._head_area, self.area = scrolling(self.heads), scrolling(self.table)
        self.export = CompareExport(context, self)
        self._stack = QStackedWidget()
        self._stack.addWidget(self._filled())
        self.empty: EmptyState | None = None
        layout = QVBoxLayout(self)
        layout.setContentsMargins(GAP + 2, GAP + 2, GAP + 2, GAP + 2)
        layout.addWidget(self._stack)
        self.heads.opened.connect(self._open)
        self.heads.planned.connect(self._plan)
        self.heads.moved.connect(self._move)
        self.heads.removed.connect(self._remove)
        self.table.termWanted.connect(lambda term: context.go(Location("help", term.path)))
        self.table.walkedTo.connect(lambda y: self.area.ensureVisible(0, y, 0, 60))
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._show)
        context.jobs.run(self._read, self._was_read, urgent=True)

    # --- What the window asks -----------------------------------------------------------------------------------------

    def heading(self) -> Heading:
        pins = len(self.pins.all())
        full = self._is_filled
        return Heading(
            msg("compareui.title"),
            msg("compareui.count", count=pins, most=MOST_PINS) if pins else "",
            actions=(
                PageAction("add", msg("compareui.add"), self._to_catalog, icon="plus", enabled=pins < MOST_PINS),
                PageAction("export", msg("compareui.export"), self._export, shortcut="Ctrl+E", enabled=full),
                PageAction("csv", msg("compareui.copy.csv"), self.copy_csv, enabled=full, in_bar=False),
                PageAction("markdown", msg("compareui.copy.markdown"), self.copy_markdown, enabled=full),
                PageAction("clear", msg("compareui.clear"), self.clear, enabled=pins > 0),
                PageAction("only", msg("compareui.only"), self.only.toggle, enabled=full, in_bar=False),
            ),
        )

    def panes(self) -> Sequence[QWidget]:
        if not self._is_filled:
            return (self.empty.buttons[0],) if self.empty is not None else ()
        return (self.only, self.heads.heads[0].name, self.table)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_heads()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show()
        if not event.spontaneous():
            self.area.verticalScrollBar().setValue(0)

    # --- Acting -------------------------------------------------------------------------------------------------------

    def copy_markdown(self) -> None:
        """Put the comparison on the clipboard, as a Markdown table."""
        self._copy(self.export.text(self.subjects, self.groups, markdown=True))

    def copy_csv(self) -> None:
        """Put the comparison on the clipboard, as CSV."""
        self._copy(self.export.text(self.subjects, self.groups, markdown=False))

    def _export(self) -> None:
        self.export.ask(self.subjects, self.groups)

    def clear(self) -> None:
        """Take all pins away; a notice offers to undo it."""
        before = self.pins.all()
        self.pins.clear()
        self._offer_undo(before, len(before))
        self._show()

    def _remove(self, pin: Pin) -> None:
        before = self.pins.all()
        self.pins.remove(pin)
        self._offer_undo(before, 1)
        self._show()

    def _offer_undo(self, before: Sequence[Pin], count: int) -> None:
        def undo() -> None:
            self.pins.replace(before)
            self._show()

        self._context.notices.say(
            msg("compareui.removed", count=count), Verdict.INFO, NoticeAction(msg("compareui.undo"), undo)
        )

    def _move(self, pin: Pin, by: int) -> None:
        self.pins.move(pin, by)
        self._show()

    def _open(self, pin: Pin) -> None:
        if pin.kind is not PinKind.CANDIDATE:
            self._context.go(Location("catalog", f"{pin.kind.value}/{pin.id}"))
        elif pin.candidate is not None:
            kind, entry = (
                ("instance", pin.candidate.instance_id) if pin.candidate.instance_id else ("gpu", pin.candidate.gpu_id)
            )
            self._context.go(Location("catalog", f"{kind}/{entry}"))

    def _plan(self, subject: Subject) -> None:
        if subject.plan_path is not None:
            self._context.go(Location("plan", subject.plan_path))

    def _to_catalog(self) -> None:
        self._context.go(Location("catalog"))

    def _copy(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self._context.notices.say(msg("compareui.copied"), Verdict.PASS)

    def _toggle_only(self, on: bool) -> None:
        self._context.settings.keep(_ONLY, on)
        self._show()

    # --- Showing ------------------------------------------------------------------------------------------------------

    @property
    def _is_filled(self) -> bool:
        return self._reader is not None and len(self.subjects) >= LEAST_PINS

    def _show(self) -> None:
        if self._reader is None:
            return
        self.subjects = tuple(self._reader.subject(pin) for pin in self.pins.all())
        self.groups = compare(self.subjects, only_differences=self.only.isChecked())
        if self._is_filled:
            self._show_table()
        else:
            self._show_empty()
        self.headingChanged.emit()

    def _show_table(self) -> None:
        text = self._appearance.text
        lines: list[GroupLine | RowLine] = []
        for group in self.groups:
            lines.append(GroupLine(text(group.title)))
            for row in group.rows:
                cells = tuple(cell_words(row, cell, self._appearance, self.subjects) for cell in row.cells)
                lines.append(RowLine(text(row.property.title), row.differs, cells, term_of(row.property.id)))
        differing = sum(row.differs for group in compare(self.subjects) for row in group.rows)
        self.count.say(msg("compareui.differing", count=differing))
        self.heads.show_subjects(self.subjects)
        self._fit_heads()
        self._say_remark([row for group in self.groups for row in group.rows])
        self.table.show_lines(lines, len(self.subjects))
        self._stack.setCurrentIndex(0)

    def _say_remark(self, shown: Sequence[ComparedRow]) -> None:
        """Why something is not best, in one line above the table."""
        unsure = any(cell.within is not None for row in shown for cell in row.cells)
        remarks = [msg("compareui.mixed")] if any(row.mixed for row in shown) else []
        remarks += [msg("compareui.within.note")] if unsure else []
        self.remark.say(" · ".join(map(self._appearance.text, remarks)))
        self.remark.setVisible(bool(remarks))

    def _fit_heads(self) -> None:
        height = self.heads.height_at(self._head_area.viewport().width())
        self._head_area.setFixedHeight(height)
        # Else they stand as high as wrapped texts might need in narrow columns, and their buttons below the area's end.
        self.heads.setFixedHeight(height)

    def _show_empty(self) -> None:
        if self.empty is not None:
            self._stack.removeWidget(self.empty)
            self.empty.hide()
            self.empty.deleteLater()
        title, says = msg("compareui.empty.title"), msg("compareui.empty.says", most=MOST_PINS)
        if self.subjects:
            title = msg("compareui.one.title")
            says = msg("compareui.one.says", name=self.subjects[0].title)
        self.empty = EmptyState(
            self._appearance,
            "scale",
            title,
            says,
            (msg("compareui.empty.catalog"), self._to_catalog),
            (msg("compareui.empty.plan"), lambda: self._context.go(Location("plan"))),
        )
        self._stack.addWidget(self.empty)
        self._stack.setCurrentWidget(self.empty)

    def _read(self, _cancel: Cancel) -> SubjectReader:
        return SubjectReader(self._context.workspace.catalog, self._titles.of)

    def _was_read(self, reader: SubjectReader) -> None:
        self._reader = reader
        self._show()

    # --- Laying out ---------------------------------------------------------------------------------------------------

    def _filled(self) -> QWidget:
        card = Card(self._appearance)
        tools = QHBoxLayout()
        tools.setSpacing(12)
        tools.addWidget(self.only)
        tools.addWidget(self.count)
        tools.addStretch(1)
        card.body.addLayout(tools)
        card.body.addWidget(self.remark)
        card.body.addWidget(self._head_area)
        card.body.addWidget(self.area, 1)
        _scroll_together(self._head_area, self.area)
        return card


def _scroll_together(head: QScrollArea, body: QScrollArea) -> None:
    """The heads move sideways with the columns below, which have the bar."""
    head.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    body.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
    body.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)

    body.horizontalScrollBar().valueChanged.connect(head.horizontalScrollBar().setValue)
