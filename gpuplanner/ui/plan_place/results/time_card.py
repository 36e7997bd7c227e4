"""Where the time of one step goes, operator by operator, and which part of the machine it goes to."""

from PySide6.QtCore import Signal

from gpuplanner.engine.estimate import Estimate
from gpuplanner.messages import Message, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.fonts import TextRole
from gpuplanner.ui.plan_place.captions import figure_tip, named
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.stacked_bar import BarPart, StackedBar
from gpuplanner.units import Unit, percent

_HEIGHT = 20
_LEAST_SHARE = 0.002
_COLOURED = 5


class TimeCard(Card):
    """`asked` carries the id of a figure."""

    asked = Signal(str)

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance, msg("planui.time"), " ")
        self._appearance = appearance
        self._estimate: Estimate | None = None
        self.bar = StackedBar(appearance, msg("planui.time"), height=_HEIGHT)
        self.bar.opened.connect(lambda part_id: self.asked.emit(f"time.{part_id}"))
        self._shares = Label(appearance, "", TextRole.LABEL, Ink.MUTED, wrap=True)
        self.body.addWidget(self.bar)
        self.body.addWidget(self._shares)
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._render)

    def show_estimate(self, estimate: Estimate) -> None:
        """Show another estimate."""
        self._estimate = estimate
        self._render()

    def _render(self) -> None:
        estimate, appearance = self._estimate, self._appearance
        self.setVisible(estimate is not None and bool(estimate.time))
        if estimate is None:
            return
        self.note.say(msg(f"planui.step_name.{estimate.step_name}"))
        whole = sum(part.figure.value for part in estimate.time)
        shown = [p for p in estimate.time if p.figure.value > _LEAST_SHARE * whole]
        shown.sort(key=lambda part: -part.figure.value)
        self.bar.set_parts(
            [
                BarPart(
                    part.id,
                    named("part", part.id, appearance),
                    part.figure.value,
                    str(appearance.show(part.figure.value, Unit.SECOND)),
                    tip=self._tip(part.id, figure_tip(named("part", part.id, appearance), part.figure, appearance)),
                    rest=at >= _COLOURED,
                )
                for at, part in enumerate(shown)
            ]
        )
        shares = [(named("limit", limit.value, appearance), share) for limit, share in estimate.limits if share > 0.005]
        shares.sort(key=lambda pair: -pair[1])
        said = " · ".join(f"{name} {percent(share)}" for name, share in shares)
        self._shares.say(msg("planui.time.limits", shares=said) if said else "")
        self._shares.setVisible(bool(said))

    def _tip(self, part_id: str, tip: str) -> Message | str:
        part = next((p for p in self._estimate.time if p.id == part_id), None) if self._estimate else None
        if part is None or part.limit is None:
            return tip
        limit = self._appearance.text("planui.time.goes_to", limit=named("limit", part.limit.value, self._appearance))
        return f"{tip}\n{limit}"
