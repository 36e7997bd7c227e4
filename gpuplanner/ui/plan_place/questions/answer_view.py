"""An answer in the window: its sentence, figures and cases, what is unknown. A figure explains itself on a click."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from gpuplanner.engine.answers.answer import Answer, Cell, Line, Row, Table
from gpuplanner.engine.explaining import explanation
from gpuplanner.figures import Figure
from gpuplanner.messages import Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.plan_place.results.figure_link import FigureLink
from gpuplanner.ui.plan_place.results.why_tree import WhyTree
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.card import line
from gpuplanner.ui.widgets.figure_label import MISSING
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.notice_box import NoticeBox

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_BESIDE = 3
"""So many columns at most stand beside each other; of a case with more values these stand below its name."""


class AnswerView(QWidget):
    """Shows one answer at a time; each is built anew."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self._answer: Answer | None = None
        self._explained: Figure | None = None
        self.says = Label(appearance, "", wrap=True, selectable=True)
        self._content = QWidget()
        self._why = Label(appearance, "", TextRole.LABEL, Ink.MUTED, wrap=True)
        self.tree = WhyTree(appearance)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(8)
        for widget in (self.says, self._content, self._why, self.tree):
            self._layout.addWidget(widget)
        self._hide_why()
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._render)

    @property
    def answer(self) -> Answer | None:
        """What is shown."""
        return self._answer

    @property
    def explained(self) -> Figure | None:
        """The figure whose derivation is shown."""
        return self._explained

    def show_answer(self, answer: Answer) -> None:
        """Show another answer."""
        self._answer = answer
        self._hide_why()
        self._render()

    def links(self) -> Sequence[FigureLink]:
        """The figures that can be asked about, from above."""
        return self._content.findChildren(FigureLink)

    def _render(self) -> None:
        answer = self._answer
        if answer is None:
            return
        self.says.say(answer.says)
        content = QWidget()
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        if answer.lines:
            layout.addLayout(self._figures(answer.lines))
        if answer.table is not None and len(answer.table.columns) <= _BESIDE:
            layout.addLayout(self._columns(answer.table))
        elif answer.table is not None:
            for row in answer.table.rows:
                layout.addWidget(line(self._appearance))
                layout.addWidget(self._case(answer.table, row))
        said = [(message, Verdict.UNKNOWN) for message in answer.unknown]
        for message, verdict in (*said, *((message, Verdict.INFO) for message in answer.remarks)):
            box = NoticeBox(self._appearance, "")
            box.say(message, verdict)
            layout.addWidget(box)
        self._layout.replaceWidget(self._content, content)
        self._content.hide()
        self._content.deleteLater()
        self._content = content

    def _figures(self, lines: Sequence[Line]) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(3)
        grid.setColumnStretch(0, 1)
        for at, one in enumerate(lines):
            name: Message = one.name or msg(f"answers.line.{one.id}")
            grid.addWidget(Label(self._appearance, name, ink=Ink.MUTED, wrap=True), at, 0)
            link = FigureLink(self._appearance)
            link.set_figure(one.figure, lacking=msg("answers.not_known"))
            link.setAccessibleName(f"{self._appearance.text(name)} {link.value_text()}")
            link.asked.connect(lambda name=name, figure=one.figure: self._explain(name, figure))
            grid.addWidget(link, at, 1, _RIGHT)
        return grid

    def _columns(self, table: Table) -> QGridLayout:
        """A table of few columns as it is read: a case in each row, its values below one another."""
        grid = QGridLayout()
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(0, 1)
        across = len(table.columns)
        for column, name in enumerate(table.columns):
            head = Label(self._appearance, self._column(name), TextRole.LABEL, Ink.MUTED)
            grid.addWidget(head, 1, column, _RIGHT if column else _LEFT)
        grid.addWidget(line(self._appearance), 0, 0, 1, across)
        for at, row in enumerate(table.rows):
            grid.addWidget(line(self._appearance), 2 * at + 2, 0, 1, across)
            role = TextRole.STRONG if row.best else TextRole.BODY
            grid.addWidget(Label(self._appearance, self._name(row), role, wrap=True), 2 * at + 3, 0)
            for column, cell in enumerate(row.cells, 1):
                said = Label(self._appearance, self._cell(cell) or MISSING, TextRole.NUMBER)
                grid.addWidget(said, 2 * at + 3, column, _RIGHT)
        return grid

    def _name(self, row: Row) -> str:
        name = self._appearance.text(row.name)
        return f"→ {name}" if row.best else name

    def _case(self, table: Table, row: Row) -> QWidget:
        """A case of a table: its name, and below it what it comes to, since columns side by side have no room here."""
        case = QWidget()
        layout = QVBoxLayout(case)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(1)
        role = TextRole.STRONG if row.best else TextRole.BODY
        layout.addWidget(Label(self._appearance, self._name(row), role, wrap=True))
        parts = [
            f"{self._column(column)} {self._cell(cell)}"
            for column, cell in zip(table.columns[1:], row.cells, strict=True)
            if cell is not None
        ]
        layout.addWidget(Label(self._appearance, " · ".join(parts), TextRole.LABEL, Ink.MUTED, wrap=True))
        return case

    def _column(self, column: str) -> str:
        own = f"answers.column.{column}"
        return self._appearance.text(own if self._appearance.translator.has(own) else f"metric.{column}")

    def _cell(self, cell: Cell) -> str:
        if isinstance(cell, Figure):
            return str(self._appearance.show(cell.value, cell.unit))
        return self._appearance.text(cell) if cell is not None else ""

    def _explain(self, name: Message, figure: Figure | None) -> None:
        if figure is None:
            return
        self._explained = figure
        self._why.say(name)
        self.tree.show_rows(explanation(figure))
        self._why.setVisible(figure.derivation is not None)
        self.tree.setVisible(figure.derivation is not None)

    def _hide_why(self) -> None:
        self._explained = None
        self._why.hide()
        self.tree.hide()
