"""Constraints over arrays of ways of running, in a fixed order: which ways are left, and which constraint left none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.engine.formulas.cost import usd_per_job, usd_per_month
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.machines import Unplannable
from gpuplanner.engine.search.result import Broken
from gpuplanner.units import GB, GIB, HOURS_PER_MONTH, Unit
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
    """The constraints that depend on the offer, not on its hardware: price, budgets, then the choice among offers."""
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
    broken = broken_choice(constraints, machine)
    return checks if broken is None else [*checks, _holds(broken, False)]


def broken_choice(constraints: Constraints, offer: Machine | Unplannable) -> Broken | None:
    """Which of the constraints that choose among offers this one breaks first, None where a person wants it.

    An offer that does not say what it has is none of those that are chosen by it; its region is that of its price.
    """
    provider = offer.instance.provider if offer.instance else None
    if constraints.providers and provider not in constraints.providers:
        return Broken.PROVIDER
    price = offer.price if isinstance(offer, Machine) else None
    if constraints.regions and (price is None or price.region not in constraints.regions):
        return Broken.REGION
    if constraints.gpus and (offer.gpu is None or offer.gpu.id not in constraints.gpus):
        return Broken.GPU
    return None if _memory_wanted(constraints, offer) else Broken.GPU_MEMORY


def _memory_wanted(constraints: Constraints, offer: Machine | Unplannable) -> bool:
    """Whether one GPU has as much memory as is asked for. It is sold in units of 2³⁰ bytes that are written as GB."""
    least, most = constraints.gpu_memory_at_least_bytes, constraints.gpu_memory_at_most_bytes
    known = offer.gpu.known(GpuProperty.MEMORY_BYTES) if offer.gpu else None
    if known is None:
        return least is None and most is None
    fraction = float(offer.gpu_fraction) if isinstance(offer, Machine) else 1.0
    memory = known.value * fraction
    return (least is None or memory >= least) and (most is None or memory / GIB * GB <= most)


def _holds(broken: Broken, holds: bool) -> Check:
    return Check(broken, 0.0 if holds else 2.0, 1.0, Unit.TEXT)
