"""A keystroke's filter, a sort and a search among 100,000 instances show their first page within 50 ms.

What is measured is the time of this process, since other work on the machine is none of ours; where there is none, it
is the time that passes. The numbers are printed (`pytest -rP`).
"""

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from gpuplanner.catalog.reading import load_catalog
from gpuplanner.catalog.search import CatalogIndex
from gpuplanner.catalog.table.paging import Sort
from gpuplanner.paths import shipped

ROWS = 100_000
LIMIT_S = 0.050
REPEATS = 7


@pytest.fixture(scope="module")
def index():
    """A private price list of 100,000 instances: those of the catalog under other names and prices."""
    catalog = load_catalog(shipped("catalogs"))
    models = list(catalog.instances.values())
    instances = {}
    for number in range(ROWS):
        like = models[number % len(models)]
        prices = tuple(replace(p, per_hour=p.per_hour * (1 + number % 97 / 100)) for p in like.prices)
        name = f"{like.name}-{number}"
        instances[name] = replace(
            like, id=name, name=name, provider=f"{like.provider} {number % 30}", prices=prices, user=True
        )
    return CatalogIndex(replace(catalog, instances=instances))


def median(action: Callable[[], object]) -> float:
    taken = []
    for _ in range(REPEATS):
        started = time.process_time()
        action()
        taken.append(time.process_time() - started)
    return statistics.median(taken)


def check(what: str, action: Callable[[], object], limit_s: float = LIMIT_S) -> None:
    seconds = median(action)
    sys.stdout.write(f"{what}: {seconds * 1e3:.1f} ms\n")
    assert seconds < limit_s


def test_every_sort_shows_its_first_page_in_time(index):
    for number, column in enumerate(index.columns("instances")):
        sort = [Sort(column.id, descending=number % 2 == 0), Sort("name")]
        check(f"sort {column.id}", partial(index.page, "instances", sort=sort))


@pytest.mark.parametrize(
    "filters",
    [
        {"name": "xlarge-9"},
        {"name": "nothing has this"},
        {"gpu": "A100|H100"},
        {"gpu_memory_total": ">=80", "price": "0.5..20", "provider": "!aws"},
    ],
    ids=str,
)
def test_a_keystroke_in_a_filter_shows_its_first_page_in_time(index, filters):
    sort = [Sort("price_per_gib"), Sort("name")]
    check(f"filter {filters}", lambda: index.page("instances", filters, sort))


@pytest.mark.parametrize("typed", ["a", "a100", "xlarge-9", "显", "英伟达", "推理", "h100 sxm", "nothing", "9"])
def test_a_keystroke_in_the_search_shows_its_hits_in_time(index, typed):
    check(f"search {typed!r}", lambda: index.search(typed))


def test_the_shipped_catalog_is_indexed_quickly():
    catalog = load_catalog(shipped("catalogs"))
    check("index of the shipped catalog", lambda: CatalogIndex(catalog), limit_s=0.150)
