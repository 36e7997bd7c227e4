"""Which columns a table shows, in which order, how wide, and what it is sorted by; kept in the settings. No widget."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpuplanner.ui.settings import WINDOW, Settings, is_pixels
from gpuplanner.ui.table.columns import Column, Order, SortKey


@dataclass(frozen=True, slots=True)
class Shape:
    """Columns by id: the order of all of them, those hidden, widths in pixels where a person set one, the sort keys."""

    order: tuple[str, ...]
    hidden: frozenset[str]
    widths: dict[str, int]
    sort: Order


def usual_shape(columns: Sequence[Column]) -> Shape:
    """The shape before anybody changed it."""
    hidden = frozenset(column.id for column in columns if not column.shown)
    return Shape(tuple(column.id for column in columns), hidden, {}, Order())


def load_shape(settings: Settings, key: str, columns: Sequence[Column]) -> Shape:
    """The kept shape. Columns that are new since come at the end as they are by default; unknown ones are forgotten."""
    kept = settings.kept(_key(key))
    usual = usual_shape(columns)
    if not isinstance(kept, dict):
        return usual
    known = [column.id for column in columns]
    order = [i for i in _texts(kept.get("order")) if i in known]
    hidden = {i for i in _texts(kept.get("hidden")) if i in known}
    new = [i for i in known if i not in order]
    hidden |= {i for i in new if i in usual.hidden}
    if hidden >= set(known):
        hidden = set(usual.hidden)
    widths = kept.get("widths")
    wide = {k: v for k, v in widths.items() if k in known and is_pixels(v, 1)} if isinstance(widths, dict) else {}
    return Shape((*order, *new), frozenset(hidden), wide, _order(kept.get("sort"), known))


def save_shape(settings: Settings, key: str, shape: Shape) -> None:
    """Keep the shape."""
    settings.keep(
        _key(key),
        {
            "order": list(shape.order),
            "hidden": sorted(shape.hidden),
            "widths": shape.widths,
            "sort": [[k.column, k.descending] for k in shape.sort.keys],
        },
    )


def _key(key: str) -> str:
    return f"{WINDOW}table.{key}"


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _order(value: Any, known: Sequence[str]) -> Order:
    pairs = value if isinstance(value, list) else []
    keys = (SortKey(p[0], bool(p[1])) for p in pairs if isinstance(p, list) and len(p) == 2 and p[0] in known)
    return Order(tuple(keys))
