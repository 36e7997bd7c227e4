"""Works out two plans beside the window, so that what they come to can be compared. Knows no widget."""

from PySide6.QtCore import QObject, Signal

from gpuplanner.engine.estimate import Estimate
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.ui.background import Cancel, Jobs, Latest
from gpuplanner.ui.plan_place.outcome import Engine
from gpuplanner.ui.plan_place.subject import subject_of
from gpuplanner.workload.plan import Plan

Result = Estimate | Message
"""What a plan comes to, or why nothing can be said."""


class Comparing(QObject):
    """`done` carries the two results; of several comparisons only the latest counts."""

    done = Signal(object, object)

    def __init__(self, engine: Engine, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._latest = Latest(jobs)
        self._first: tuple[Plan, Result] | None = None

    def compare(self, first: Plan, second: Plan) -> None:
        """Work out both; the first is not worked out again while it is the same plan."""
        known = self._first[1] if self._first is not None and self._first[0] == first else None

        def work(cancel: Cancel) -> tuple[Result, Result]:
            mine = known if known is not None else worked_out(self._engine, first, cancel)
            return mine, worked_out(self._engine, second, cancel)

        def done(results: tuple[Result, Result]) -> None:
            self._first = (first, results[0])
            self.done.emit(*results)

        self._latest.run(work, done)

    def stop(self) -> None:
        """Nobody looks any more."""
        self._latest.cancel()


def worked_out(engine: Engine, plan: Plan, cancel: Cancel) -> Result:
    """The estimate of a plan on its own machine, or on the best that a search finds."""
    try:
        subject = subject_of(plan, None if plan.machine is not None else engine.search(plan, cancel))
        return engine.estimate(subject) if subject is not None else msg("planui.difference.no_machine")
    except InputError as fault:
        return fault.message
