"""Constraints in their order: the first that leaves no way is named, with the nearest way's amount."""

from fractions import Fraction

import numpy as np
import pytest

from gpuplanner.catalog.entries import Gpu, GpuProperty, Instance, Price, PriceKind
from gpuplanner.engine.machine import Host, Machine, Topology
from gpuplanner.engine.search.checks import Check, Failure, offer_checks, passing
from gpuplanner.engine.search.result import Broken
from gpuplanner.facts import Fact, Known, Source
from gpuplanner.units import GIB, Unit
from gpuplanner.workload.plan import Constraints

SOURCE = Source("s", "A list of prices", "2026-01-01")


def all_ways(count=4):
    return np.ones(count, dtype=bool)


def test_the_first_constraint_that_leaves_nothing_is_named():
    memory = Check(Broken.MEMORY, np.array([10.0, 30.0, 20.0, 5.0]), 12.0, Unit.BYTE)
    speed = Check(Broken.TPOT, np.array([9.0, 1.0, 1.0, 6.0]), 2.0, Unit.SECOND)
    found = passing(all_ways(), [memory, speed])
    assert found == Failure(Broken.TPOT, 6.0, 2.0, Unit.SECOND, 3)


def test_the_nearest_way_tells_by_how_much():
    found = passing(all_ways(), [Check(Broken.MEMORY, np.array([40.0, 30.0, 20.0, 25.0]), 12.0, Unit.BYTE)])
    assert found == Failure(Broken.MEMORY, 20.0, 12.0, Unit.BYTE, 2)


def test_ways_that_pass_everything_are_left():
    memory = Check(Broken.MEMORY, np.array([10.0, 30.0, 12.0, 5.0]), 12.0, Unit.BYTE)
    load = Check(Broken.LOAD, 8.0, np.array([9.0, 9.0, 8.0, 7.0]), Unit.COUNT)
    left = passing(all_ways(), [memory, load])
    assert not isinstance(left, Failure)
    assert list(left) == [True, False, True, False]


def test_a_limit_of_nothing_does_not_divide():
    found = passing(all_ways(2), [Check(Broken.LOAD, 1.0, np.array([0.0, 0.0]), Unit.COUNT)])
    assert isinstance(found, Failure)
    assert found.limit == 0.0


def machine(usd, region="us-east-1"):
    memory = Known(Fact(24.0 * GIB, Unit.BYTE, SOURCE))
    gpu = Gpu("g", "Some GPU", "NVIDIA", {GpuProperty.MEMORY_BYTES: memory})
    price = Price(usd, "USD", PriceKind.ON_DEMAND, region, "2026-01-01", SOURCE) if usd else None
    instance = Instance("i", "Cloud", "big.1", "Some GPU", "g", 8, Fraction(1), {}, prices=(price,) if price else ())
    return Machine(gpu, 8, 1, Topology.PCIE, 1e9, Host(), instance=instance, price=price, usd_per_hour=usd)


NODES = np.array([1.0, 2.0, 4.0])
JOB_S = np.array([36_000.0, 20_000.0, 12_000.0])


@pytest.mark.parametrize(
    ("constraints", "usd", "expected"),
    [
        ({}, None, [True, True, True]),
        ({"price_known": True}, None, Broken.PRICE),
        ({"budget_usd_per_month": 1e9}, None, Broken.PRICE),
        ({"budget_usd_per_month": 2 * 730 * 10.0}, 10.0, [True, True, False]),
        ({"budget_usd_per_month": 7299.0}, 10.0, Broken.BUDGET_MONTH),
        ({"budget_usd_per_job": 105.0}, 10.0, [True, False, False]),
        ({"providers": ("Cloud",)}, 10.0, [True, True, True]),
        ({"providers": ("Other",)}, 10.0, Broken.PROVIDER),
        ({"regions": ("eu",)}, 10.0, Broken.REGION),
        ({"gpus": ("h",)}, 10.0, Broken.GPU),
        ({"gpu_memory_at_least_bytes": 24e9, "gpu_memory_at_most_bytes": 24e9}, 10.0, [True, True, True]),
        ({"gpu_memory_at_least_bytes": 24 * GIB, "gpu_memory_at_most_bytes": 24 * GIB}, 10.0, [True, True, True]),
        ({"gpu_memory_at_least_bytes": 25e9}, 10.0, [True, True, True]),
        ({"gpu_memory_at_least_bytes": 26e9}, 10.0, Broken.GPU_MEMORY),
        ({"gpu_memory_at_most_bytes": 23e9}, 10.0, Broken.GPU_MEMORY),
    ],
)
def test_offers_are_held_to_price_budget_and_filters(constraints, usd, expected):
    checks = offer_checks(Constraints(**constraints), machine(usd), NODES, JOB_S)
    found = passing(all_ways(3), checks)
    assert found.broken is expected if isinstance(found, Failure) else list(found) == expected


def test_the_budget_of_a_job_does_not_bind_work_that_never_ends():
    checks = offer_checks(Constraints(budget_usd_per_job=1.0), machine(10.0), NODES, None)
    assert checks == []
