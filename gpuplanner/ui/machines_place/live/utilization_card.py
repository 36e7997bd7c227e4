"""How much the GPUs work, what the plan expects, and the likeliest cause where they work less, with the signs seen."""

from gpuplanner.machines.low_utilization import Cause, Explanation
from gpuplanner.messages import MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.painting import with_capital
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.units import percent


class UtilizationCard(Card):
    """Hidden until there is something to say."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance, msg("live.said.seen", percent="–"), " ")
        self._appearance = appearance
        self._explanation: Explanation | None = None
        self.cause = Label(appearance, "", TextRole.STRONG, wrap=True)
        self.signs = Label(appearance, "", wrap=True)
        self.advice = Label(appearance, "", TextRole.LABEL, Ink.MUTED, wrap=True)
        self.more = Label(appearance, "", TextRole.LABEL, Ink.MUTED, wrap=True)
        self.body.setSpacing(4)
        for label in (self.signs, self.cause, self.advice, self.more):
            self.body.addWidget(label)
        appearance.languageChanged.connect(self._render)
        self.hide()

    def show_explanation(self, explanation: Explanation | None) -> None:
        """Say this; nothing hides the card."""
        self._explanation = explanation
        self._render()

    def _render(self) -> None:
        told = self._explanation
        if told is None or told.utilization_percent is None:
            self.hide()
            for label in (self.signs, self.cause, self.advice, self.more):
                label.say("")
            return
        self.show()
        self.title.say(msg("live.said.seen", percent=percent(told.utilization_percent / 100)))
        self.note.say(_expected(told))
        text = self._appearance.text
        joint = text("live.said.and")
        self._say(self.signs, with_capital(joint.join(text(sign) for sign in told.signs)))
        self._say(self.cause, with_capital(text(f"live.cause.{told.cause}")))
        advised = told.cause not in {Cause.NONE, Cause.TOO_SHORT}
        self._say(self.advice, text(f"live.advice.{told.cause}") if advised else "")
        more = []
        if told.others:
            more.append(text("live.said.others", causes=joint.join(text(f"live.cause.{each}") for each in told.others)))
        if told.unseen and told.cause is not Cause.TOO_SHORT:
            more.append(text("live.said.unseen", what=joint.join(text(each) for each in told.unseen)))
        self._say(self.more, "\n".join(more))

    @staticmethod
    def _say(label: Label, text: str) -> None:
        label.say(text)
        label.setVisible(bool(text))


def _expected(told: Explanation) -> MessageValue:
    if told.expected_percent is None:
        return " "
    low, high = (percent(share / 100) for share in told.expected_percent)
    return msg("live.said.expected_one", low=low) if low == high else msg("live.said.expected", low=low, high=high)
