"""What the host must offer, beside what the machine has and what rules of thumb ask for, with our verdict on them."""

from collections.abc import Callable, Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from gpuplanner.catalog.entries import Rule
from gpuplanner.engine.estimate import Estimate, HostNeed
from gpuplanner.messages import Language, Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.plan_place.captions import named
from gpuplanner.ui.plan_place.figure_link import FigureLink
from gpuplanner.ui.tokens import MARKS, Verdict
from gpuplanner.ui.widgets.card import Card, line
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.units import Unit


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
        self._widgets: list[QWidget] = []
        self.body.addLayout(self._grid)
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
        for widget in self._widgets:
            self._grid.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        self._widgets = []
        self.setVisible(bool(estimate.host))
        for column, says in ((1, msg("planui.host.needs")), (2, msg("planui.host.offers"))):
            self._put(Label(self._appearance, says, TextRole.LABEL, Ink.MUTED), 0, column, right=True)
        at = 1
        for need in estimate.host:
            self._put(line(self._appearance), at, 0, span=3)
            at = self._add_need(need, at + 1)

    def _add_need(self, need: HostNeed, at: int) -> int:
        appearance = self._appearance
        name = named("host", need.id, appearance)
        self._put(Label(appearance, name), at, 0)
        link = FigureLink(appearance)
        link.set_figure(need.need)
        link.setAccessibleName(f"{name} {link.value_text()}")
        link.asked.connect(lambda: self.asked.emit(f"host.{need.id}"))
        self._put(link, at, 1, right=True)
        self._put(self._offered(need), at, 2, right=True)
        at += 1
        for rule_id, value in need.rules:
            self._put(self._rule(rule_id, value, need.need.unit), at, 0, span=3)
            at += 1
        return at

    def _offered(self, need: HostNeed) -> Label:
        if need.offered is None:
            verdict, says = Verdict.UNKNOWN, self._appearance.text("planui.host.unknown")
        else:
            enough = need.offered >= need.need.low
            verdict = Verdict.PASS if enough else Verdict.WARN
            says = str(self._appearance.show(need.offered, need.need.unit))
        label = Label(self._appearance, f"{MARKS[verdict]} {says}", TextRole.NUMBER)
        if verdict is Verdict.WARN:
            label.set_role(TextRole.NUMBER, Ink.FAIL)
        elif verdict is Verdict.UNKNOWN:
            label.set_role(TextRole.NUMBER, Ink.MUTED)
        label.setToolTip(self._appearance.text(f"ui.verdict.{verdict.value}"))
        return label

    def _rule(self, rule_id: str, value: float, unit: Unit) -> Label:
        rule = self._rules().get(rule_id)
        claim, _ = rule_texts(rule, self._appearance) if rule else (rule_id, "")
        asks = str(self._appearance.show(value, unit))
        says: Message = msg("planui.host.rule", asks=asks, claim=claim)
        label = Label(self._appearance, says, TextRole.LABEL, Ink.MUTED, wrap=True)
        label.setToolTip(rule_tip(rule, self._appearance) if rule else "")
        return label

    def _put(self, widget: QWidget, at: int, column: int, *, span: int = 1, right: bool = False) -> None:
        align = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter if right else Qt.AlignmentFlag(0)
        self._grid.addWidget(widget, at, column, 1, span, align)
        self._widgets.append(widget)


def rule_texts(rule: Rule, appearance: Appearance) -> tuple[str, str]:
    """The claim of a rule and the reason of our verdict, in the language in use."""
    if appearance.language is Language.CHINESE:
        return rule.claim_zh, rule.reason_zh
    return rule.claim_en, rule.reason_en


def rule_tip(rule: Rule, appearance: Appearance) -> str:
    """The claim, our verdict on it with its reason, and who says so."""
    claim, reason = rule_texts(rule, appearance)
    source = " ".join(part for part in (rule.source.citation, rule.source.date) if part)
    return "\n".join(part for part in (claim, reason, source) if part)
