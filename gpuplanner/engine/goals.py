"""What a person asks of the speed of work in items, and whether an estimate meets it."""

from collections.abc import Iterable, Iterator, Mapping

from gpuplanner.engine.estimate import Goal
from gpuplanner.figures import Figure
from gpuplanner.messages import Message, msg
from gpuplanner.units import Display, Unit, show


def goals_of(
    rate_goal: float | None,
    rate: str,
    deadline_s: float | None,
    each_goal_s: float | None = None,
    each: str = "",
) -> tuple[Goal, ...]:
    """The goals that are set: so many items a second (`rate`), each within a time (`each`), all by a deadline."""
    found = []
    if each_goal_s is not None:
        found.append(Goal("latency", each, each_goal_s, Unit.SECOND))
    if rate_goal is not None:
        found.append(Goal("rate", rate, rate_goal, Unit.PER_S, at_least=True))
    if deadline_s is not None:
        found.append(Goal("deadline", "job_s", deadline_s, Unit.SECOND))
    return tuple(found)


def missed(goals: Iterable[Goal], metrics: Mapping[str, Figure]) -> Iterator[Message]:
    """A sentence for each goal that is not met, or of which nobody can tell."""
    for goal in goals:
        figure = metrics.get(goal.metric)
        if figure is None:
            yield msg("items.goal_unknown", metric=msg(f"metric.{goal.metric}"))
            continue
        if goal.met(figure.value):
            continue
        yield msg(
            f"items.goal_missed.{goal.constraint}",
            metric=msg(f"metric.{goal.metric}"),
            value=str(show(figure.value, goal.unit, Display())),
            limit=str(show(goal.limit, goal.unit, Display())),
        )


def may_miss(goals: Iterable[Goal], metrics: Mapping[str, Figure]) -> Iterator[Message]:
    """A sentence for each goal that is met and that the range of the estimate passes."""
    for goal in goals:
        figure = metrics.get(goal.metric)
        if figure is None or not goal.may_miss(figure):
            continue
        yield msg(
            f"items.goal_may_miss.{'least' if goal.at_least else 'most'}",
            metric=msg(f"metric.{goal.metric}"),
            value=str(show(figure.value, goal.unit, Display())),
            limit=str(show(goal.limit, goal.unit, Display())),
            end=str(show(figure.low if goal.at_least else figure.high, goal.unit, Display())),
        )
