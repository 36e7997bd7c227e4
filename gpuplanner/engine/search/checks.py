"""Constraints over arrays of ways of running, in a fixed order: which ways are left, and which constraint left none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuplanner.engine.formulas.cost import usd_per_job, usd_per_month
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.search.result import Broken
from gpuplanner.units import HOURS_PER_MONTH, Unit
from gpuplanner.workload.plan import Constraints

Array = NDArray[Any]

LEAST_LIMIT = 1e-12
"""Limits below this are compared as this, so that a budget of next to nothing has a nearest way too."""


@dataclass(frozen=True, slots=True)
class Check:
    """One constraint: `value` must not exceed `limit` (a number, or one for each way), both in `unit`.

    `unit` TEXT marks a constraint that holds or not, where no amount says by how much.
    """

    broken: Broken
    value: Array | float
    limit: Array | float
    unit: Unit


@dataclass(frozen=True, slots=True)
class Failure:
    """The constraint that no way was left after, with the nearest way's value, limit and place among the ways."""

    broken: Broken
    value: float
    limit: float
    unit: Unit
    place: int


def passing(left: Array, checks: Sequence[Check]) -> Array | Failure:
    """Which of the ways that are `left` pass all checks; where none does, the first check that none came past.

    Of the ways that came that far the nearest is the one with the smallest ratio of value to limit.
    """
    for check in checks:
        still = left & (check.value <= check.limit)
        if not still.any():
            value = np.broadcast_to(check.value, left.shape)
            limit = np.broadcast_to(check.limit, left.shape)
            excess = np.where(left, value / np.maximum(limit, LEAST_LIMIT), np.inf)
            nearest = int(np.argmin(excess))
            return Failure(check.broken, float(value[nearest]), float(limit[nearest]), check.unit, nearest)
        left = still
    return left


def offer_checks(constraints: Constraints, machine: Machine, nodes: Array, job_s: Array | None) -> list[Check]:
    """The constraints that depend on the offer and not on its hardware: price, budgets, then the filters."""
    checks = []
    budgets = constraints.budget_usd_per_month, constraints.budget_usd_per_job
    hourly = None if machine.usd_per_hour is None else machine.usd_per_hour / machine.nodes * nodes
    if hourly is None:
        if constraints.price_known or any(budget is not None for budget in budgets):
            checks.append(_holds(Broken.PRICE, False))
    else:
        if budgets[0] is not None:
            monthly = usd_per_month(hourly, HOURS_PER_MONTH)
            checks.append(Check(Broken.BUDGET_MONTH, monthly, budgets[0], Unit.MONEY))
        if budgets[1] is not None and job_s is not None:
            checks.append(Check(Broken.BUDGET_JOB, usd_per_job(hourly, job_s), budgets[1], Unit.MONEY))
    provider = machine.instance.provider if machine.instance else ""
    region = machine.price.region if machine.price else ""
    filters = (
        (Broken.PROVIDER, constraints.providers, provider),
        (Broken.REGION, constraints.regions, region),
        (Broken.GPU, constraints.gpus, machine.gpu.id),
    )
    checks += [_holds(broken, value in wanted) for broken, wanted, value in filters if wanted]
    return checks


def _holds(broken: Broken, holds: bool) -> Check:
    return Check(broken, 0.0 if holds else 2.0, 1.0, Unit.TEXT)
