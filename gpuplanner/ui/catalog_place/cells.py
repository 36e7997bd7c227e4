"""The cells of the catalog's tables: a value with what is known of it, read off an entry. No Qt."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.entries import Gpu, GpuProperty, Instance, InstanceProperty, Model, Price, PriceKind
from gpuplanner.catalog.table.values import Cell
from gpuplanner.facts import Known
from gpuplanner.ui.catalog_place.marks import Mark, entry_mark
from gpuplanner.ui.catalog_place.offers import Offers
from gpuplanner.ui.catalog_place.tables import CatalogTable

SOURCE = "source"
"""The column of source marks, which the index does not have."""


@dataclass(frozen=True, slots=True)
class NameCell:
    """The name of an entry; its box says whether it is pinned."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class FactCell:
    """A value in its base unit with the fact behind it."""

    value: Cell
    known: Known | None


@dataclass(frozen=True, slots=True)
class PriceCell:
    """A price in US dollars, as it was published, and whose it is."""

    usd_per_hour: float | None
    price: Price | None
    offered_by: Instance | None = None


@dataclass(frozen=True, slots=True)
class MarkCell:
    """How well a row is known."""

    mark: Mark


class CellReader:
    """Makes the cells of rows. Asked in other threads."""

    def __init__(self, catalog: Catalog, offers: Offers) -> None:
        self._offers = offers
        self._entries: Mapping[CatalogTable, Mapping[str, Any]] = {
            CatalogTable.GPUS: catalog.gpus,
            CatalogTable.INSTANCES: catalog.instances,
            CatalogTable.MODELS: catalog.models,
        }

    def cell(self, table: CatalogTable, entry_id: str, column: str, value: Cell) -> Any:
        """The cell of a column with what is known of its value."""
        entry = self._entries[table][entry_id]
        if column == SOURCE:
            return MarkCell(entry_mark(entry))
        if column == "name":
            return NameCell(entry_id, entry.name)
        if isinstance(entry, Gpu):
            return self._of_gpu(entry, column, value)
        if isinstance(entry, Instance):
            return _of_instance(entry, column, value)
        return _of_model(entry, column, value)

    def _of_gpu(self, gpu: Gpu, column: str, value: Cell) -> Any:
        if column in _GPU_PROPERTIES:
            return FactCell(value, gpu.known(GpuProperty(column)))
        if column == "gpu_price":
            cheapest = self._offers.cheapest(gpu.id)
            if cheapest is None:
                return PriceCell(_number(value), None)
            return PriceCell(_number(value), cheapest.price, cheapest.instance)
        return value


def _of_instance(instance: Instance, column: str, value: Cell) -> Any:
    if column in _INSTANCE_PROPERTIES:
        return FactCell(value, instance.properties.get(InstanceProperty(column)))
    kinds = {"price": PriceKind.ON_DEMAND, "gpu_price": PriceKind.ON_DEMAND, "spot_price": PriceKind.SPOT}
    if column in kinds:
        return PriceCell(_number(value), instance.price(kinds[column]))
    return value


def _of_model(model: Model, column: str, value: Cell) -> Any:
    known = {"parameters": model.parameters, "active_parameters": model.active_parameters}
    return FactCell(value, known[column]) if column in known else value


_GPU_PROPERTIES = {name.value for name in GpuProperty}
_INSTANCE_PROPERTIES = {name.value for name in InstanceProperty}


def _number(value: Cell) -> float | None:
    return value if isinstance(value, float | int) else None
