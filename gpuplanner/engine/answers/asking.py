"""What a question works with: the plan on its machine, rules of thumb, what a person typed in. Answers nothing.

Everything that is estimated, looked up or typed in goes through here, so that an explanation can name its origin.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from gpuplanner.catalog.efficiency import Efficiencies, Efficiency
from gpuplanner.catalog.entries import Rule
from gpuplanner.engine.estimate import Estimate
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.host import Duty
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.own_measurements import Own
from gpuplanner.figures import Certainty, Figure, Origin, exact, unrecorded
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.units import HOURS_PER_MONTH, Unit
from gpuplanner.workload.plan import Plan

TABLE = "answers"


class Asking:
    """One question being answered."""

    def __init__(
        self,
        plan: Plan,
        subject: Any,
        machine: Machine,
        efficiencies: Efficiencies,
        rules: Iterable[Rule] = (),
        own: Sequence[Own] = (),
    ) -> None:
        self.plan = plan
        self.subject = subject
        self.machine = machine
        self.efficiencies = efficiencies
        self.made: list[Estimate] = []
        self._rules = tuple(rules)
        self._own = tuple(own)
        self._base: Estimate | None = None
        self._compares = False
        self._origins: dict[str, list[tuple[float, Origin]]] = {}

    @property
    def base(self) -> Estimate:
        """The plan's estimate as it stands, with what the person measured of it.

        Raises InputError when it cannot be run on its machine.
        """
        if self._base is None:
            self._base = self._estimated(self.plan, self.machine, self._own)
        return self._base

    def estimate(self, machine: Machine | None = None, **changed: Any) -> Estimate:
        """The plan's estimate, on another machine or with fields of its workload changed, to be compared with others.

        A measurement of one of them would make it differ from the rest, so that none counts.
        Raises InputError when the plan cannot be run so.
        """
        plan = self.plan
        self._compares = True
        if changed:
            plan = plan.model_copy(update={"workload": plan.workload.model_copy(update=changed)})
        return self._estimated(plan, machine or self.machine)

    def left_out(self) -> Message | None:
        """That what the person measured of this plan does not count, where estimates were compared; else None."""
        if not self._own or not self._compares:
            return None
        try:
            with unrecorded():
                own = self.base.own
        except InputError:
            return None
        return None if own is None or own.fact is None else msg("answers.own_left_out", file=own.fact.source.citation)

    def trial(self, machine: Machine, **changed: Any) -> Estimate:
        """An estimate of which nothing but its verdict and its numbers is used: no explanation leads to it."""
        kept = len(self.made)
        with unrecorded():
            made = self.estimate(machine, **changed)
        del self.made[kept:]
        return made

    def tried(self, term: str, figure: Figure) -> Figure:
        """A figure that was found by trying, under the term that formulas take it as."""
        self._keep(term, figure.value, Certainty.CALIBRATED, "tried")
        return figure

    def billing_month(self, term: str) -> Figure:
        """A month as a time, where a person says no other one."""
        seconds = HOURS_PER_MONTH * 3600.0
        self._origins.setdefault(term, []).append((seconds, Origin(Certainty.RULE, note=msg("explain.billing_month"))))
        return exact(seconds, Unit.SECOND)

    def of_profile(self, term: str, value: float) -> Figure:
        """A share of a GPU that the profile of a slice has."""
        self._keep(term, value, Certainty.EXACT, "profile")
        return exact(value, Unit.RATIO)

    def duty(self, made: Estimate) -> Duty:
        """What the run asks of its host: bytes of weights, checkpoints and data."""
        return KINDS[self.plan.workload.kind].duty(made, self.subject, self.efficiencies)

    def typed(self, term: str, value: float, unit: Unit) -> Figure:
        """A number that the person typed in, under the term that formulas take it as."""
        self._keep(term, value, Certainty.USER, "typed")
        return Figure(value, unit, Certainty.USER, value, value)

    def rule(self, variant: str, term: str, unit: Unit) -> Figure:
        """A rule of thumb of the table of answers, with its low and high end."""
        found: Efficiency = self.efficiencies.constants(TABLE, variant)
        return Figure(found[term], unit, Certainty.RULE, found["low"], found["high"], why=msg("host.why_rule_of_thumb"))

    def typed_or_rule(self, value: float | None, variant: str, term: str, unit: Unit) -> Figure:
        """What was typed in, else the rule of thumb."""
        return self.rule(variant, term, unit) if value is None else self.typed(term, value, unit)

    def origin_of(self, name: str, value: Any) -> Origin | None:
        """Where a number that was typed in, found by trying or set by a profile comes from; None for any other."""
        if not isinstance(value, int | float) or isinstance(value, bool):
            return None
        known = self._origins.get(name, ())
        return next((origin for kept, origin in known if math.isclose(value, kept, rel_tol=1e-12)), None)

    def _estimated(self, plan: Plan, machine: Machine, own: Sequence[Own] = ()) -> Estimate:
        made = estimate(plan, self.subject, machine, self.efficiencies, self._rules, own)
        self.made.append(made)
        return made

    def _keep(self, term: str, value: float, certainty: Certainty, how: str) -> None:
        self._origins.setdefault(term, []).append((value, Origin(certainty, note=msg(f"answers.origin.{how}"))))

    def hourly(self, typed: float | None) -> Figure | None:
        """What all machines of the plan cost for an hour: typed in, or the published price; None when not known."""
        if typed is not None:
            return self.typed("usd_per_hour", typed, Unit.MONEY_PER_HOUR)
        return self.base.metrics.get("usd_per_hour")


def plain(value: float, unit: Unit) -> Figure:
    """A number that follows from formats and counts alone."""
    return exact(value, unit)
