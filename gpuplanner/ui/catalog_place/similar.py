"""Entries that are like one another: the nearest by what people choose by, and where each lies on a chart. No Qt."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gpuplanner.catalog.search import CatalogIndex
from gpuplanner.ui.catalog_place.tables import CatalogTable, EntryRef

NEAREST = 40
"""As many are listed and drawn: more would be a cloud."""
_FACTORS = {
    CatalogTable.GPUS: ("memory_bytes", "hbm_bytes_per_s", "bf16_flop_per_s", "gpu_price"),
    CatalogTable.INSTANCES: ("gpu_memory_total", "gpu_count", "vcpus", "ram_bytes", "price"),
    CatalogTable.MODELS: ("parameters", "active_parameters", "kv_bytes_per_token", "max_positions"),
}
CHARTS = {
    CatalogTable.GPUS: (("hbm_bytes_per_s", "bf16_flop_per_s"), ("memory_bytes", "gpu_price")),
    CatalogTable.INSTANCES: (("gpu_memory_total", "price"), ("vcpus", "ram_bytes")),
    CatalogTable.MODELS: (("parameters", "kv_bytes_per_token"), ("parameters", "active_parameters")),
}
"""The two charts of each table, as pairs of columns: across and up."""
_UNKNOWN = 1.0
"""How far apart two entries count where a value of one is not known: a factor of about 2.7."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entry with its values (by column, in base units), and how far it is: 0 is the same in everything."""

    id: str
    name: str
    values: dict[str, float | None]
    distance: float


def factors(table: CatalogTable) -> tuple[str, ...]:
    """What entries of a table are compared by: columns."""
    return _FACTORS[table]


def neighbours(index: CatalogIndex, ref: EntryRef) -> tuple[Neighbour, ...]:
    """The entry itself, then those nearest to it: by the mean of the logarithms of ratios. Empty for an unknown one."""
    table = ref.table
    asked = list(dict.fromkeys(["name", *_FACTORS[table], *(c for pair in CHARTS[table] for c in pair)]))
    rows = index.page(table.value, limit=1 << 30, columns=asked).rows
    found = {row.id: dict(zip(asked, row.cells, strict=True)) for row in rows}
    own = found.get(ref.id)
    if own is None:
        return ()
    made = []
    for row_id, cells in found.items():
        values = {c: v if isinstance(v, float | int) else None for c, v in cells.items() if c != "name"}
        own_values = [_number(own[c]) for c in _FACTORS[table]]
        distance = _distance(own_values, [values[c] for c in _FACTORS[table]])
        made.append(Neighbour(row_id, str(cells["name"]), values, 0.0 if row_id == ref.id else distance))
    made.sort(key=lambda n: (n.id != ref.id, n.distance))
    return tuple(made[: NEAREST + 1])


def _distance(own: Sequence[float | None], other: Sequence[float | None]) -> float:
    """Mean of |ln ratio| over what is known of the first."""
    terms = []
    for mine, theirs in zip(own, other, strict=True):
        if mine is None or mine <= 0:
            continue
        terms.append(_UNKNOWN if theirs is None or theirs <= 0 else abs(math.log(theirs / mine)))
    return sum(terms) / len(terms) if terms else math.inf


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, float | int) else None
