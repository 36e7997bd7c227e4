"""Workspaces with the real catalog for the tests of the Catalog and Compare places, and ways to reach into them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.search import CatalogIndex
from gpuplanner.catalog.table.contents import Prices, gpu_table, instance_table, model_table
from gpuplanner.catalog.table.paging import Tables
from gpuplanner.workload.plan import Plan

A100, H100, H200, L4 = (
    "nvidia-a100-sxm4-80gb",
    "nvidia-h100-sxm5-80gb",
    "nvidia-h200-sxm-141gb",
    "nvidia-l4",
)


@dataclass
class CatalogOnly:
    """What the two places use of a workspace."""

    catalog: Catalog
    index: Any
    presets: Mapping[str, Plan] = field(default_factory=dict)

    def rates(self):
        return self.catalog.currencies


def with_index(catalog: Catalog) -> CatalogOnly:
    """The catalog with everything that can be searched."""
    return CatalogOnly(catalog, CatalogIndex(catalog))


def with_many_instances(catalog: Catalog, rows: int) -> CatalogOnly:
    """A private price list of as many instances, those of the catalog under other names; tables without search."""
    models = list(catalog.instances.values())
    instances = {}
    for number in range(rows):
        like = models[number % len(models)]
        name = f"{like.name}-{number}"
        instances[name] = replace(like, id=name, name=name, provider=f"{like.provider} {number % 30}")
    large = replace(catalog, instances=instances)
    prices = Prices(large)
    return CatalogOnly(large, Tables((gpu_table(large, prices), instance_table(large, prices), model_table(large))))
