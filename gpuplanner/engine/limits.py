"""What a plan must respect beside memory: budgets, and facts that cannot be done without. Says by how much it fails."""

from collections.abc import Iterator, Mapping

from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Figure
from gpuplanner.messages import Message, msg
from gpuplanner.workload.plan import Plan

FACTS = frozenset({p.value for p in GpuProperty} | {"network_bytes_per_s"})
"""Facts that have a name for people: message `limits.fact.<name>`."""


def missing_fact(error: MissingFactError) -> Message:
    """That a fact is missing: which, and of what."""
    fact = msg(f"limits.fact.{error.fact}") if error.fact in FACTS else error.fact
    return msg("limits.missing_fact", subject=error.subject, fact=fact)


def unmet_budgets(plan: Plan, metrics: Mapping[str, Figure]) -> Iterator[Message]:
    """A message for each budget that the costs exceed. A cost that is not known breaks none."""
    constraints = plan.constraints
    budgets = (
        ("usd_per_month", constraints.budget_usd_per_month),
        ("job_usd", constraints.budget_usd_per_job),
    )
    for name, budget in budgets:
        cost = metrics.get(name)
        if budget is not None and cost is not None and cost.value > budget:
            yield msg(f"limits.over_budget.{name}", cost=f"{cost.value:,.0f}", budget=f"{budget:,.0f}")
