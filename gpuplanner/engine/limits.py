"""What a plan must respect beside memory: budgets, and facts that cannot be done without. Says by how much it fails."""

from collections.abc import Iterator, Mapping

from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.engine.estimate import Goal
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Figure
from gpuplanner.messages import Message, msg
from gpuplanner.units import Unit
from gpuplanner.workload.plan import Plan

FACTS = frozenset({p.value for p in GpuProperty} | {"network_bytes_per_s"})
"""Facts that have a name for people: message `limits.fact.<name>`."""


def missing_fact(error: MissingFactError) -> Message:
    """That a fact is missing: which, and of what."""
    fact = msg(f"limits.fact.{error.fact}") if error.fact in FACTS else error.fact
    return msg("limits.missing_fact", subject=error.subject, fact=fact)


def budget_goals(plan: Plan) -> tuple[Goal, ...]:
    """The budgets as goals of the costs."""
    constraints = plan.constraints
    budgets = (
        ("budget_month", "usd_per_month", constraints.budget_usd_per_month),
        ("budget_job", "job_usd", constraints.budget_usd_per_job),
    )
    return tuple(Goal(name, metric, budget, Unit.MONEY) for name, metric, budget in budgets if budget is not None)


def unmet_budgets(plan: Plan, metrics: Mapping[str, Figure]) -> Iterator[Message]:
    """A message for each budget that the costs exceed. A cost that is not known breaks none."""
    for goal in budget_goals(plan):
        cost = metrics.get(goal.metric)
        if cost is not None and not goal.met(cost.value):
            values = {"cost": f"{cost.value:,.0f}", "budget": f"{goal.limit:,.0f}"}
            yield msg(f"limits.over_budget.{goal.metric}", **values)
