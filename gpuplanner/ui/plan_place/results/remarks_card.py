"""What is not known and what was assumed, a sentence each; and the rules of thumb that bear on the plan."""

from collections.abc import Sequence

from PySide6.QtWidgets import QVBoxLayout, QWidget

from gpuplanner.catalog.entries import Rule
from gpuplanner.engine.estimate import Estimate
from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.plan_place.results.host_card import rule_texts, rule_tip, rule_verdict
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.button import Button, ButtonKind
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.notice_box import NoticeBox

_RULES_IN_SIGHT = 3


class RemarksCard(Card):
    """Without anything to say there is no card."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance, msg("planui.remarks"))
        self._appearance = appearance
        self._boxes: list[NoticeBox] = []
        self.body.setSpacing(6)

    def show_estimate(self, estimate: Estimate) -> None:
        """Show another estimate."""
        said = [(message, Verdict.UNKNOWN) for message in estimate.unknown]
        said += [(message, Verdict.INFO) for message in estimate.remarks]
        wanted = list(dict.fromkeys(said))
        self.setVisible(bool(wanted))
        while len(self._boxes) < len(wanted):
            box = NoticeBox(self._appearance, "")
            self.body.addWidget(box)
            self._boxes.append(box)
        for at, box in enumerate(self._boxes):
            box.setVisible(at < len(wanted))
            if at < len(wanted):
                box.say(*wanted[at])


class RulesCard(Card):
    """What the rules of thumb say about a plan of this kind, and what holds."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance, msg("planui.rules"), msg("planui.rules.note"))
        self._appearance = appearance
        self._rules: tuple[Rule, ...] = ()
        self._entries: list[_RuleEntry] = []
        self._all = False
        self._more = Button(appearance, "", ButtonKind.QUIET, small=True)
        self._more.clicked.connect(self._toggle)
        self.title_row.addWidget(self._more)
        appearance.languageChanged.connect(self._render)

    def show_rules(self, rules: Sequence[Rule]) -> None:
        """Show other rules; without any there is no card."""
        self.setVisible(bool(rules))
        if tuple(rules) != self._rules:
            self._rules = tuple(rules)
            self._render()

    def _toggle(self) -> None:
        self._all = not self._all
        self._render()

    def _render(self) -> None:
        hidden = len(self._rules) - _RULES_IN_SIGHT
        self._more.setVisible(hidden > 0)
        if hidden > 0:
            self._more.say(msg("planui.rules.fewer") if self._all else msg("planui.rules.more", count=hidden))
        shown = self._rules if self._all else self._rules[:_RULES_IN_SIGHT]
        while len(self._entries) < len(shown):
            entry = _RuleEntry(self._appearance)
            self.body.addWidget(entry)
            self._entries.append(entry)
        for at, entry in enumerate(self._entries):
            entry.setVisible(at < len(shown))
            if at < len(shown):
                entry.show_rule(shown[at])


class _RuleEntry(QWidget):
    """The claim, and below it what holds."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__()
        self._appearance = appearance
        self._claim = Label(appearance, wrap=True)
        self._reason = Label(appearance, "", TextRole.LABEL, Ink.MUTED, wrap=True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(self._claim)
        layout.addWidget(self._reason)

    def show_rule(self, rule: Rule) -> None:
        """Show another rule."""
        claim, reason = rule_texts(rule, self._appearance)
        self._claim.say(claim)
        self._reason.say(f"{rule_verdict(rule, self._appearance)} · {reason}")
        self.setToolTip(rule_tip(rule, self._appearance))
