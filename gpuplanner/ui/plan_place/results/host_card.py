"""What the host must offer, beside what the machine has and what rules of thumb ask for, with our verdict on them."""

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout

from gpuplanner.catalog.entries import Rule
from gpuplanner.engine.estimate import Estimate, HostNeed
from gpuplanner.messages import Language, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.plan_place.captions import named
from gpuplanner.ui.plan_place.results.figure_link import FigureLink
from gpuplanner.ui.tokens import MARKS, Verdict
from gpuplanner.ui.widgets.card import Card, line
from gpuplanner.ui.widgets.label import Ink, Label

_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class HostCard(Card):
    """`asked` carries the id of a figure."""

    asked = Signal(str)

    def __init__(self, appearance: Appearance, rules: Callable[[], Mapping[str, Rule]]) -> None:
        """`rules` gives the rules of the catalog by id, as far as it has been read."""
        super().__init__(appearance, msg("planui.host"), msg("planui.host.note"))
        self._appearance = appearance
        self._rules = rules
        self._estimate: Estimate | None = None
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(14)
        self._grid.setVerticalSpacing(5)
        self._grid.setColumnStretch(0, 1)
        self._rows: list[_Need] = []
        self._shape: tuple[object, ...] = ()
        self.body.addLayout(self._grid)
        for column, says in ((1, msg("planui.host.needs")), (2, msg("planui.host.offers"))):
            self._grid.addWidget(Label(appearance, says, TextRole.LABEL, Ink.MUTED), 0, column, _RIGHT)
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._render)

    def show_estimate(self, estimate: Estimate) -> None:
        """Show another estimate."""
        if self._estimate is None or estimate.host != self._estimate.host:
            self._estimate = estimate
            self._render()

    def _render(self) -> None:
        estimate = self._estimate
        if estimate is None:
            return
        self.setVisible(bool(estimate.host))
        shape = tuple((need.id, *(rule for rule, _ in need.rules)) for need in estimate.host)
        if shape != self._shape:
            self._shape = shape
            self._build(estimate.host)
        for row, need in zip(self._rows, estimate.host, strict=True):
            row.show_need(need)

    def _build(self, needs: Sequence[HostNeed]) -> None:
        for row in self._rows:
            row.remove_from(self._grid)
        self._rows = []
        at = 1
        for need in needs:
            row = _Need(self._appearance, need, self._rules)
            row.link.asked.connect(lambda figure_id=f"host.{need.id}": self.asked.emit(figure_id))
            at = row.add_to(self._grid, at)
            self._rows.append(row)


class _Need:
    """The widgets of one need: its name, what is needed and had, and a line for each rule of thumb."""

    def __init__(self, appearance: Appearance, need: HostNeed, rules: Callable[[], Mapping[str, Rule]]) -> None:
        self._appearance = appearance
        self._rules = rules
        self._line = line(appearance)
        self._name = Label(appearance)
        self.link = FigureLink(appearance)
        self._offered = Label(appearance, "", TextRole.NUMBER)
        self._advice = [Label(appearance, "", TextRole.LABEL, Ink.MUTED, wrap=True) for _ in need.rules]

    def add_to(self, grid: QGridLayout, at: int) -> int:
        """Put the widgets into a grid from a row on; returns the next free row."""
        grid.addWidget(self._line, at, 0, 1, 3)
        grid.addWidget(self._name, at + 1, 0)
        grid.addWidget(self.link, at + 1, 1, _RIGHT)
        grid.addWidget(self._offered, at + 1, 2, _RIGHT)
        for place, label in enumerate(self._advice, at + 2):
            grid.addWidget(label, place, 0, 1, 3)
        return at + 2 + len(self._advice)

    def remove_from(self, grid: QGridLayout) -> None:
        """Take the widgets away."""
        for widget in (self._line, self._name, self.link, self._offered, *self._advice):
            grid.removeWidget(widget)
            widget.hide()
            widget.deleteLater()

    def show_need(self, need: HostNeed) -> None:
        """Show another amount of the same need."""
        name = named("host", need.id, self._appearance)
        self._name.say(name)
        self.link.set_figure(need.need)
        self.link.setAccessibleName(f"{name} {self.link.value_text()}")
        self._show_offered(need)
        for label, (rule_id, value) in zip(self._advice, need.rules, strict=True):
            rule = self._rules().get(rule_id)
            claim, _ = rule_texts(rule, self._appearance) if rule else (rule_id, "")
            # In brackets it is no sentence of its own.
            claim = claim.rstrip(".。")
            asks = str(self._appearance.show(value, need.need.unit))
            label.say(msg("planui.host.rule", asks=asks, claim=claim))
            label.setToolTip(rule_tip(rule, self._appearance) if rule else "")

    def _show_offered(self, need: HostNeed) -> None:
        if need.offered is None:
            verdict, ink, says = Verdict.UNKNOWN, Ink.MUTED, self._appearance.text("planui.host.unknown")
        else:
            enough = need.offered >= need.need.low
            verdict, ink = (Verdict.PASS, Ink.TEXT) if enough else (Verdict.WARN, Ink.FAIL)
            says = str(self._appearance.show(need.offered, need.need.unit))
        self._offered.set_role(TextRole.NUMBER, ink)
        self._offered.say(f"{MARKS[verdict]} {says}")
        self._offered.setToolTip(self._appearance.text(f"ui.verdict.{verdict.value}"))


def rule_texts(rule: Rule, appearance: Appearance) -> tuple[str, str]:
    """The claim of a rule and the reason of our verdict, in the language in use."""
    if appearance.language is Language.CHINESE:
        return rule.claim_zh, rule.reason_zh
    return rule.claim_en, rule.reason_en


def rule_tip(rule: Rule, appearance: Appearance) -> str:
    """The claim, our verdict on it with its reason, and who says so."""
    claim, reason = rule_texts(rule, appearance)
    cited = rule.source.cited(chinese=appearance.language is Language.CHINESE)
    source = " ".join(part for part in (cited, rule.source.date) if part)
    return "\n".join(part for part in (claim, f"{rule_verdict(rule, appearance)} · {reason}", source) if part)


def rule_verdict(rule: Rule, appearance: Appearance) -> str:
    """Our verdict on a rule in a word or two."""
    return appearance.text(f"catalog.verdict.{rule.verdict.replace(' ', '_')}")
