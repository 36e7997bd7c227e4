"""Why a number is what it is: its range and the reason for it, and the tree of its derivation, which can be copied."""

from collections.abc import Callable

from PySide6.QtGui import QGuiApplication

from gpuplanner.engine.explaining import explanation, explanation_lines
from gpuplanner.figures import Figure
from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.plan_place.captions import certainty_text
from gpuplanner.ui.plan_place.results.figure_ids import name_of
from gpuplanner.ui.plan_place.results.why_tree import WhyTree
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.figure_label import range_with_unit
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.menus import choose_from

TEXT, MARKDOWN = "text", "markdown"


class WhyCard(Card):
    """Shows one figure at a time."""

    def __init__(self, appearance: Appearance, copied: Callable[[], object]) -> None:
        """`copied` is called after something went to the clipboard."""
        super().__init__(appearance, msg("planui.why"), msg("planui.why.note"))
        self._appearance = appearance
        self._copied = copied
        self._figure_id = ""
        self._shown_id = ""
        self._figure: Figure | None = None
        self._copy = Button(appearance, msg("planui.copy"), ButtonKind.QUIET, icon="copy", small=True)
        self._copy.clicked.connect(self._choose_copy)
        self.title_row.addWidget(self._copy)
        self._spread = Label(appearance, "", TextRole.LABEL, Ink.MUTED, wrap=True, selectable=True)
        self.tree = WhyTree(appearance)
        self.body.addWidget(self._spread)
        self.body.addWidget(self.tree)
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._render)

    @property
    def figure(self) -> Figure | None:
        """What is explained."""
        return self._figure

    def explain(self, figure_id: str, figure: Figure) -> None:
        """Explain another figure."""
        self._figure_id = figure_id
        self._figure = figure
        self._render()

    def text(self) -> str:
        """The explanation as lines of text."""
        if self._figure is None:
            return ""
        lines = [f"{self._name()} {self._appearance.show(self._figure.value, self._figure.unit)}", self._spread.text()]
        lines += explanation_lines(self._figure, self._appearance.translator, self._appearance.display)
        return "\n".join(line for line in lines if line)

    def markdown(self) -> str:
        """The explanation as a Markdown list."""
        if self._figure is None:
            return ""
        shown = self._appearance.show(self._figure.value, self._figure.unit)
        lines = [f"**{self._name()} {shown}**", "", self._spread.text(), ""]
        for line in explanation_lines(self._figure, self._appearance.translator, self._appearance.display):
            bare = line.lstrip(" ")
            lines.append(f"{line[: len(line) - len(bare)]}- {bare}")
        return "\n".join(lines) + "\n"

    def _choose_copy(self) -> None:
        options = [(kind, self._appearance.text(f"planui.copy.{kind}")) for kind in (TEXT, MARKDOWN)]
        choose_from(self._copy, options, "", self.copy, above=False)

    def copy(self, kind: str) -> None:
        """Put the explanation on the clipboard."""
        QGuiApplication.clipboard().setText(self.markdown() if kind == MARKDOWN else self.text())
        self._copied()

    def _name(self) -> str:
        return name_of(self._figure_id, self._appearance)

    def _render(self) -> None:
        figure, appearance = self._figure, self._appearance
        if figure is None:
            return
        shown = appearance.show(figure.value, figure.unit)
        self.title.say(msg("planui.why.of", value=str(shown)))
        self.note.say(self._name())
        spread = range_with_unit(appearance, figure)
        parts = [certainty_text(figure, appearance)]
        if spread:
            parts.insert(0, appearance.text("planui.why.range", spread=spread))
        if figure.why is not None:
            parts.append(appearance.text(figure.why))
        self._spread.say(" · ".join(parts))
        waits = figure.derivation is None and self._figure_id == self._shown_id
        self.tree.set_stale(waits)
        if not waits:
            self._shown_id = self._figure_id
            self.tree.show_rows(explanation(figure))
            self.tree.setVisible(figure.derivation is not None)
