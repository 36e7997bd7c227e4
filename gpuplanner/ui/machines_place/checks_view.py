"""The verdict of a machine, its checks as a table that tags narrow, and the chosen check in full."""

from typing import Any

from PySide6.QtCore import QRectF, QSize, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from gpuplanner.acceptance.checking import Acceptance, CheckResult
from gpuplanner.acceptance.verdicts import Verdict as Judged
from gpuplanner.messages import MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.machines_place.evidence_line import EvidenceLine
from gpuplanner.ui.machines_place.fitted import Fitted
from gpuplanner.ui.machines_place.headline import headline
from gpuplanner.ui.painting import painter_for, with_capital
from gpuplanner.ui.settings import Settings
from gpuplanner.ui.tab_order import follow
from gpuplanner.ui.table.columns import NOTHING, Column, Look
from gpuplanner.ui.table.source import ListSource, PlainRow
from gpuplanner.ui.table.view import DataTable
from gpuplanner.ui.tokens import RADIUS_TAG, Verdict
from gpuplanner.ui.widgets.clickable import Clickable
from gpuplanner.ui.widgets.flow import FlowLayout
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.scrolling import Scrolled
from gpuplanner.ui.widgets.verdict_tag import draw_tag, tag_width

ORDER = (Judged.FAIL, Judged.WARN, Judged.CANNOT_TELL, Judged.PASS, Judged.SKIPPED)
LOOKS = {
    Judged.FAIL: (Verdict.FAIL, msg("check.verdict.fail")),
    Judged.WARN: (Verdict.WARN, msg("check.verdict.warn")),
    Judged.CANNOT_TELL: (Verdict.UNKNOWN, msg("check.verdict.cannot_tell")),
    Judged.PASS: (Verdict.PASS, msg("check.verdict.pass")),
    Judged.SKIPPED: (Verdict.INFO, msg("check.verdict.skipped")),
}
_MOST_LINES = 6
_TAG_HEIGHT = 26
_SHARE = 0.45
"""Of the view's height, at most, for what stands below the table."""


class CountTag(Clickable):
    """How many checks say so; pressed it shows these alone."""

    def __init__(self, appearance: Appearance, judged: Judged) -> None:
        super().__init__(appearance)
        self.judged = judged
        self._word = ""
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_count(self, count: int) -> None:
        """Show how many there are; none at all is not shown."""
        self._word = f"{count} {self._appearance.text(LOOKS[self.judged][1])}"
        self.setVisible(count > 0)
        self.setAccessibleName(self._word)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(int(tag_width(LOOKS[self.judged][0], self._word) + 5), _TAG_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, area = painter_for(self), QRectF(self.rect())
        draw_tag(painter, area.adjusted(2, 0, -2, 0), LOOKS[self.judged][0], self._word, self._appearance.tokens)
        if self.isChecked():
            tone = self._appearance.tokens.tone(LOOKS[self.judged][0])
            painter.setPen(tone.ink)
            painter.drawRoundedRect(area.adjusted(1, 2, -1, -2), RADIUS_TAG, RADIUS_TAG)
        self.paint_focus(painter)


class ChecksView(QWidget):
    """`evidenceWanted` carries a line that a check was read from: the name of its output, and its number."""

    evidenceWanted = Signal(str, int)

    def __init__(self, appearance: Appearance, settings: Settings, beneath: QWidget | None = None) -> None:
        """`beneath`: what stands below the table as long as no check is chosen."""
        super().__init__()
        self._appearance = appearance
        self._acceptance: Acceptance | None = None
        self.title = Label(appearance, "", TextRole.STRONG)
        self.against = Label(appearance, "", TextRole.LABEL, Ink.MUTED, elide=True)
        self.tags = {judged: CountTag(appearance, judged) for judged in ORDER}
        self.table = DataTable(appearance, settings, "machines.checks", _columns(), msg("machinesui.checks"))
        chosen = Scrolled()
        self._lines = QVBoxLayout(chosen)
        self._lines.setContentsMargins(0, 4, 8, 4)
        self._lines.setSpacing(5)
        self.detail = Fitted(chosen, _SHARE, self)
        self.detail.hide()
        self.evidence: list[EvidenceLine] = []
        """The lines of the chosen check."""
        self._beneath: Fitted | None = None
        self.title.setFixedHeight(_TAG_HEIGHT)
        head = FlowLayout(across=4, down=2)
        head.addWidget(self.title)
        for tag in self.tags.values():
            head.addWidget(tag)
            tag.toggled.connect(self._fill)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addLayout(head)
        layout.addWidget(self.against)
        layout.addWidget(self.table, 1)
        layout.addWidget(self.detail)
        if beneath is not None:
            content = Scrolled()
            column = QVBoxLayout(content)
            column.setContentsMargins(0, 0, 8, 0)
            column.addWidget(beneath)
            column.addStretch(1)
            self._beneath = Fitted(content, _SHARE, self)
            layout.addWidget(self._beneath)
        self.table.rowChosen.connect(self._show_detail)
        appearance.languageChanged.connect(self._render)

    def show_acceptance(self, acceptance: Acceptance) -> None:
        """Show the checks of a machine."""
        if acceptance is not self._acceptance:
            self._acceptance = acceptance
            self.close_detail()
            self._render()

    def close_detail(self) -> bool:
        """Close the chosen check. Tells whether one was open."""
        was = not self.detail.isHidden()
        self._put_detail(is_open=False)
        self.table.clearSelection()
        self.table.setCurrentIndex(self.table.rows.index(-1, -1))
        return was

    def _render(self) -> None:
        if self._acceptance is None:
            return
        self.title.say(headline(self._acceptance))
        said_by = self._acceptance.promised.said_by or msg("machinesui.against_itself")
        self.against.say(with_capital(self._appearance.said(said_by)))
        for judged, tag in self.tags.items():
            tag.show_count(sum(each.judgement.verdict is judged for each in self._acceptance.results))
        self._fill()
        if not self.detail.isHidden():
            self._show_detail(self.table.current_id())

    def _fill(self) -> None:
        if self._acceptance is None:
            return
        wanted = {judged for judged, tag in self.tags.items() if tag.isChecked()} or set(ORDER)
        results = [each for each in self._acceptance.results if each.judgement.verdict in wanted]
        results.sort(key=lambda each: ORDER.index(each.judgement.verdict))
        rows = [PlainRow(each.id, tuple(self._cells(each))) for each in results]
        self.table.set_source(ListSource([column.id for column in self.table.rows.columns], rows))

    def _cells(self, result: CheckResult) -> list[Any]:
        text, judgement = self._appearance.text, result.judgement
        said = [text(each) if each is not None else None for each in (judgement.expected, judgement.measured)]
        return [text(f"check.name.{result.id}"), *said, judgement.verdict]

    def _show_detail(self, check_id: str) -> None:
        while (item := self._lines.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.evidence = []
        results = self._acceptance.results if self._acceptance is not None else ()
        result = next((each for each in results if each.id == check_id), None)
        if result is not None:
            self._describe(result)
        self._put_detail(is_open=result is not None)

    def _put_detail(self, *, is_open: bool) -> None:
        self.detail.setVisible(is_open)
        if self._beneath is not None:
            self._beneath.setVisible(not is_open)

    def _describe(self, result: CheckResult) -> None:
        judgement, rule = result.judgement, result.rule
        self._say(msg(f"check.name.{result.id}"), TextRole.STRONG)
        self._say(judgement.reason)
        for label, says in (("do", judgement.do), ("ask", judgement.ask)):
            if says is not None:
                self._say(msg(f"machinesui.detail.{label}", says=says))
        limits = ", ".join(f"{name} {value:g}" for name, value in rule.thresholds.items())
        source = msg("machinesui.detail.rule", id=rule.id, version=rule.version, source=rule.source)
        self._say(source, TextRole.LABEL, Ink.MUTED)
        if limits:
            self._say(msg("machinesui.detail.limits", limits=limits), TextRole.LABEL, Ink.MUTED)
        for seen in judgement.lines[:_MOST_LINES]:
            line = EvidenceLine(self._appearance, seen)
            line.wanted.connect(self.evidenceWanted)
            self._lines.addWidget(line)
            self.evidence.append(line)
        follow(self.table, *self.evidence)
        self._lines.addStretch(1)

    def _say(self, says: MessageValue, role: TextRole = TextRole.BODY, ink: Ink = Ink.TEXT) -> Label:
        label = Label(self._appearance, says, role, ink, wrap=True)
        self._lines.addWidget(label)
        return label


def _columns() -> tuple[Column, ...]:
    def words(value: str | None, _appearance: Appearance) -> Look:
        return NOTHING if value is None else Look(value, tip=value)

    def verdict(value: Judged, appearance: Appearance) -> Look:
        return Look(appearance.text(LOOKS[value][1]), verdict=LOOKS[value][0])

    return (
        Column("check", msg("machinesui.column.check"), words, width=130),
        Column("expected", msg("machinesui.column.expected"), words, width=110, yields=True),
        Column("measured", msg("machinesui.column.measured"), words, width=90),
        Column("verdict", msg("machinesui.column.verdict"), verdict, width=110),
    )
