"""Memory of the fullest GPU as a stacked bar, a phase at a time; what is needed, reserved and usable below it."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent

from gpuplanner.engine.estimate import Estimate, Fit, Phase
from gpuplanner.messages import msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.plan_place.captions import figure_tip, named
from gpuplanner.ui.plan_place.results.figure_flow import FigureFlow, Named
from gpuplanner.ui.plan_place.results.figure_ids import TOTALS
from gpuplanner.ui.tokens import PADDING
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.segmented import Option, Segmented
from gpuplanner.ui.widgets.stacked_bar import BarPart, StackedBar
from gpuplanner.units import Unit

_LEAST_SHARE = 0.002


class MemoryCard(Card):
    """`asked` carries the id of a figure."""

    asked = Signal(str)

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance, msg("planui.memory_each"), " ")
        self._appearance = appearance
        self._estimate: Estimate | None = None
        self._phase = ""
        self.phases = Segmented(appearance, name=msg("planui.memory.phases"))
        self.phases.chosen.connect(self._choose)
        self.bar = StackedBar(appearance, msg("planui.memory_each"))
        self.bar.opened.connect(self._open)
        self._totals = FigureFlow(appearance)
        self._totals.asked.connect(self.asked)
        self._beside = False
        self.body.addWidget(self.phases)
        self.body.addWidget(self.bar)
        self.body.addWidget(self._totals)
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._render)

    def show_estimate(self, estimate: Estimate) -> None:
        """Show another estimate, at its peak unless the person looks at another phase."""
        if self._estimate is None or self._phase not in {p.id for p in estimate.memory.phases}:
            self._phase = ""
        self._estimate = estimate
        self._render()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_phases()

    def _place_phases(self) -> None:
        """The phases stand beside the title where there is room for both, else below it."""
        title = self.title.sizeHint().width() + self.note.sizeHint().width() + 16
        beside = self.phases.wanted_width() + title + 2 * PADDING <= self.width()
        if beside != self._beside:
            self._beside = beside
            if beside:
                self.title_row.addWidget(self.phases)
            else:
                self.body.insertWidget(0, self.phases)

    def _shown_phase(self) -> Phase | None:
        if self._estimate is None:
            return None
        memory = self._estimate.memory
        wanted = self._phase or memory.peak_phase
        return next((p for p in memory.phases if p.id == wanted), memory.phases[0] if memory.phases else None)

    def _choose(self, phase_id: str) -> None:
        at_peak = self._estimate is not None and phase_id == self._estimate.memory.peak_phase
        self._phase = "" if at_peak else phase_id
        self._render()

    def _render(self) -> None:
        estimate, phase, appearance = self._estimate, self._shown_phase(), self._appearance
        if estimate is None or phase is None:
            return
        memory = estimate.memory
        at_peak = phase.id == memory.peak_phase
        self.note.say(msg("planui.memory.at_peak") if at_peak else "")
        self.phases.setVisible(len(memory.phases) > 1)
        self.phases.set_options([self._option(p) for p in memory.phases], phase.id)
        self.phases.choose(phase.id)
        self._place_phases()
        usable = memory.usable.value
        whole = max(usable, phase.total.value)
        parts = [
            BarPart(
                part.id,
                named("part", part.id, appearance),
                part.figure.value,
                self._bytes(part.figure.value),
                tip=figure_tip(named("part", part.id, appearance), part.figure, appearance),
            )
            for part in sorted(phase.parts, key=lambda part: -part.figure.value)
            if part.figure.value > _LEAST_SHARE * whole
        ]
        free = usable - phase.total.value
        # What the server leaves to others is no help where it has too little.
        shut = at_peak and estimate.fit is Fit.DOES_NOT_FIT
        left = msg("planui.memory.unused") if shut else msg("memory.free")
        rest = left if free >= 0 else msg("planui.memory.lacking")
        self.bar.set_parts(parts, usable, (rest, self._bytes(abs(free))))
        self._totals.set_figures(
            [Named(f"memory.{name}", msg(f"memory.{name}"), getattr(memory, name)) for name in TOTALS]
        )

    def _option(self, phase: Phase) -> Option:
        """A phase by its short name where it has one: five of them stand in one line."""
        short = msg(f"planui.phase.{phase.id}")
        if not self._appearance.translator.has(short.id):
            return Option(phase.id, named("phase", phase.id, self._appearance))
        return Option(phase.id, short, tip=msg(f"phase.{phase.id}"))

    def _open(self, part_id: str) -> None:
        phase = self._shown_phase()
        if phase is not None:
            self.asked.emit(f"memory.{phase.id}.{part_id}")

    def _bytes(self, value: float) -> str:
        return str(self._appearance.show(value, Unit.BYTE))
