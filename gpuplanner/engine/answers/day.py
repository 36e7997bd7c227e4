"""A day with a load for each hour: replicas that each hour needs, fixed against elastic, and what elastic saves."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby

from gpuplanner.engine.answers.answer import Answer, Line, Row, Table
from gpuplanner.engine.answers.asking import Asking, plain
from gpuplanner.engine.answers.capacity import capacity, serving_of, why_none
from gpuplanner.engine.answers.loading import Loading, cold_start
from gpuplanner.engine.answers.working import total, worked
from gpuplanner.engine.formulas.answers_cost import (
    elastic_replica_hours,
    fixed_replica_hours,
    replicas_for,
    replicas_usd_per_day,
    saved_share,
    usd_per_month_of_days,
)
from gpuplanner.figures import Figure
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.units import HOURS_PER_MONTH, Unit, percent

HOURS = 24


class Shape(StrEnum):
    """Named courses of a day's load."""

    OFFICE = "office-hours"
    EVENING = "evening"
    FLAT = "flat"


SHARES: Mapping[Shape, tuple[float, ...]] = {
    Shape.OFFICE: (
        *(0.03, 0.02, 0.02, 0.02, 0.03, 0.05, 0.10, 0.30, 0.65, 0.95, 1.00, 0.95),
        *(0.70, 0.85, 1.00, 0.95, 0.85, 0.65, 0.35, 0.20, 0.15, 0.10, 0.07, 0.05),
    ),
    Shape.EVENING: (
        *(0.40, 0.25, 0.15, 0.10, 0.08, 0.08, 0.12, 0.20, 0.30, 0.38, 0.42, 0.48),
        *(0.55, 0.52, 0.50, 0.52, 0.56, 0.62, 0.72, 0.85, 0.95, 1.00, 0.90, 0.65),
    ),
    Shape.FLAT: (1.0,) * HOURS,
}
"""The load of each hour as a share of the busiest: assumed courses, to be replaced by a person's own counts."""


@dataclass(frozen=True, slots=True)
class Day:
    """What the question is asked with. `rates`: requests a second in each of 24 hours, else `peak` in a `shape`.

    A replica is the machine of the plan. `reserve_share`: of its capacity, what is kept free. `usd_per_hour`: of one
    replica, before the published price. `start_s`: until one is ready, else worked out with `loading`.
    """

    rates: tuple[float, ...] = ()
    peak: float | None = None
    shape: Shape = Shape.OFFICE
    reserve_share: float = 0.0
    least_replicas: int = 1
    usd_per_hour: float | None = None
    start_s: float | None = None
    loading: Loading = field(default_factory=Loading)

    def __call__(self, asking: Asking) -> Answer:
        """The answer: replicas by the hour, hours and money of a day and a month, both ways."""
        serving_of(asking)
        rates = self._rates()
        one = capacity(asking, asking.machine)
        if one is None:
            raise InputError(msg("answers.day.no_capacity", why=why_none(asking, asking.machine)))
        start = self._start(asking)
        needed = tuple(self._needed(asking, rate, one) for rate in rates)
        fixed = total(fixed_replica_hours, needed)
        elastic = _elastic(needed, start)
        saved = _saved(elastic, fixed)
        hourly = asking.hourly(self.usd_per_hour)
        most = max(figure.value for figure in needed)
        says = msg("answers.day.says", most=f"{most:,.0f}", saved=percent(max(saved.value, 0.0)))
        if saved.value <= 0:
            says = msg("answers.day.says_nothing", most=f"{most:,.0f}")
        return Answer(
            "day",
            says,
            (
                Line("day.capacity", one),
                Line("day.start", start),
                Line("day.fixed_hours", fixed),
                Line("day.elastic_hours", elastic),
                Line("day.saved", saved),
                *_costs(hourly, fixed, elastic),
            ),
            _table(rates, needed),
            unknown=() if hourly else (msg("answers.cost.unknown.machines"),),
            remarks=tuple(self._remarks(asking, start)),
        )

    def _rates(self) -> tuple[float, ...]:
        if self.rates:
            if len(self.rates) != HOURS:
                raise InputError(msg("answers.day.not_24", count=len(self.rates)))
            if min(self.rates) < 0 or max(self.rates) <= 0:
                raise InputError(msg("answers.day.no_load"))
            return self.rates
        if self.peak is None:
            raise InputError(msg("answers.day.no_rates"))
        return tuple(share * self.peak for share in SHARES[self.shape])

    def _start(self, asking: Asking) -> Figure:
        if self.start_s is not None:
            return asking.typed("start_s", self.start_s, Unit.SECOND)
        return cold_start(asking, self.loading)["cold_start"]

    def _needed(self, asking: Asking, rate: float, one: Figure) -> Figure:
        return worked(
            replicas_for,
            asking.typed("request_per_s", rate, Unit.REQUEST_PER_S),
            one,
            asking.typed("reserve_share", self.reserve_share, Unit.RATIO),
            asking.typed("least_replicas", float(self.least_replicas), Unit.COUNT),
        )

    def _remarks(self, asking: Asking, start: Figure) -> list[Message]:
        workload = serving_of(asking)
        said = [msg("answers.day.replica", gpus=asking.machine.gpus, gpu=asking.machine.gpu.name)]
        if not self.rates:
            said.append(msg("answers.day.assumed_shape", shape=msg(f"answers.shape.{self.shape.value}")))
        if workload.ttft_goal_s is None and workload.tpot_goal_s is None:
            said.append(msg("answers.day.no_goals"))
        if self.reserve_share == 0:
            said.append(msg("answers.day.no_reserve"))
        if start.value > 3600:
            said.append(msg("answers.day.slow_start"))
        return said


def _elastic(needed: tuple[Figure, ...], start: Figure) -> Figure:
    least, middle, most = (
        elastic_replica_hours(tuple(getattr(one, end) for one in needed), getattr(start, end))
        for end in ("low", "value", "high")
    )
    like = max(needed, key=lambda one: one.high - one.low)
    return Figure(float(middle), Unit.COUNT, start.certainty, float(least), float(most), like.rung, like.why)


def _saved(elastic: Figure, fixed: Figure) -> Figure:
    """Both sides rest on the same capacity, so that their ends belong together."""
    value, *ends = (float(saved_share(getattr(elastic, end), getattr(fixed, end))) for end in ("value", "low", "high"))
    low, high = min(value, *ends), max(value, *ends)
    return Figure(value, Unit.RATIO, elastic.certainty, low, high, elastic.rung, elastic.why)


def _costs(hourly: Figure | None, fixed: Figure, elastic: Figure) -> tuple[Line, ...]:
    lines = []
    for name, hours in (("fixed", fixed), ("elastic", elastic)):
        day = None if hourly is None else worked(replicas_usd_per_day, hours, hourly)
        month = None if day is None else worked(usd_per_month_of_days, day, plain(HOURS_PER_MONTH, Unit.HOUR))
        lines += [Line(f"day.{name}_usd_day", day), Line(f"day.{name}_usd_month", month)]
    return tuple(lines)


def _table(rates: tuple[float, ...], needed: tuple[Figure, ...]) -> Table:
    """Hours that need as many replicas stand in one row, with the highest rate among them."""
    rows = []
    for _, run in groupby(range(HOURS), key=lambda hour: needed[hour].value):
        hours = tuple(run)
        busiest = max(hours, key=lambda hour: rates[hour])
        name = msg("answers.day.hours", first=f"{hours[0]:02d}:00", last=f"{hours[-1] + 1:02d}:00")
        rows.append(Row(name, (plain(rates[busiest], Unit.REQUEST_PER_S), needed[busiest])))
    return Table(("hours", "rate", "replicas"), tuple(rows))
