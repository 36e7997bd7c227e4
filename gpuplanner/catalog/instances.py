"""Instances and their prices out of files. A price is per hour, with currency, region and date; none is none, never 0.

Rows with the same id are one instance: the first says what it is, each may bring a price of another region or day.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from gpuplanner.catalog.entries import Instance, InstanceProperty, Price, PriceKind
from gpuplanner.catalog.files.records import Fields, Record
from gpuplanner.catalog.gpus import slug
from gpuplanner.catalog.guards import price_of_nothing, price_without_currency
from gpuplanner.catalog.problems import Problem, Severity
from gpuplanner.facts import Basis, Direction, Fact, Known, MemoryKind, Per, Source
from gpuplanner.units import GB, GIB, HOURS_PER_MONTH, Unit

SizesSeen = dict[tuple[str, str, int], Known]
"""Sizes by field, text and source: rows of a long list repeat a few of them."""
SourceOf = Callable[[str, str], Source]
"""From a reference and the date of the fact to a source. Raises KeyError when there is none."""


@dataclass(frozen=True, slots=True)
class SizeField:
    """A size of an instance in a file: its property, the base unit that `factor` leads to, its basis, its bounds."""

    property: InstanceProperty
    unit: Unit
    factor: float
    basis: Basis
    low: float
    high: float


_NODE = Basis(per=Per.NODE)
INSTANCE_NUMBERS = {
    "vcpus": SizeField(InstanceProperty.VCPUS, Unit.COUNT, 1, _NODE, 0.25, 10_000),
    "ram_gib": SizeField(
        InstanceProperty.RAM_BYTES, Unit.BYTE, GIB, Basis(per=Per.NODE, memory=MemoryKind.NOMINAL), 0.25, 100_000
    ),
    "local_storage_gb": SizeField(InstanceProperty.LOCAL_STORAGE_BYTES, Unit.BYTE, GB, _NODE, 1, 10_000_000),
    "local_storage_gb_per_s": SizeField(
        InstanceProperty.LOCAL_STORAGE_BYTES_PER_S, Unit.BYTE_PER_S, GB, _NODE, 0.01, 10_000
    ),
    "network_gbit_per_s": SizeField(
        InstanceProperty.NETWORK_BIT_PER_S,
        Unit.BIT_PER_S,
        1e9,
        Basis(per=Per.NODE, direction=Direction.ONE_WAY),
        0.01,
        100_000,
    ),
    "gpu_memory_gb": SizeField(
        InstanceProperty.GPU_MEMORY_BYTES_EACH,
        Unit.BYTE,
        GIB,
        Basis(per=Per.GPU, memory=MemoryKind.NOMINAL),
        0.1,
        2000,
    ),
}
_TEXTS = ("rdma", "interconnect", "virtualization", "cpu", "note", "note_zh")
_PRICES = {
    "price_per_hour": (PriceKind.ON_DEMAND, 1.0),
    "spot_per_hour": (PriceKind.SPOT, 1.0),
    "quoted_per_hour": (PriceKind.QUOTED, 1.0),
    "price_per_month": (PriceKind.MONTHLY, HOURS_PER_MONTH),
}
INSTANCE_FIELDS = (
    *("id", "provider", "name", "gpu", "gpu_id", "gpu_may_be", "gpu_count", "gpu_share", *INSTANCE_NUMBERS, *_TEXTS),
    *(*_PRICES, "currency", "region", "price_date", "checked", "source", "from_memory"),
)
UNKNOWN = "unknown"
_WHOLE = Fraction(1)
_HIGHEST_PRICE = 1_000_000.0


def read_instance(
    record: Record,
    source_of: SourceOf,
    memory: Source,
    problems: list[Problem],
    *,
    user: bool = False,
    seen: SizesSeen | None = None,
    gpu_called: Callable[[str], str | None] | None = None,
) -> Instance | None:
    """The instance of one row, or None when something in it is wrong. `memory`: the source of what is from memory.

    `seen`: what sizes were read as in other rows of the same file; it grows. `gpu_called`: the GPU of just that name.

    `gpu_id` is taken as it stands; who calls finds it from `gpu_text` where the row leaves it empty.
    """
    fields = Fields(record, problems)
    provider = fields.text("provider", required=True)
    name = fields.text("name", required=True)
    date = fields.date("price_date")
    reference = fields.text("source")
    try:
        source = source_of(reference, date)
    except KeyError:
        fields.problem("source", "overlay.value.unknown_source", name=reference)
        return None
    from_memory = fields.words("from_memory") if "from_memory" in record.values else ()
    # Most rows of a long price list leave most of these out.
    texts: dict[str, Any] = {name: fields.text(name) for name in _TEXTS if name in record.values}
    gpu_text, gpu_id = fields.text("gpu"), fields.text("gpu_id") or None
    may_be = fields.words("gpu_may_be", "|") if "gpu_may_be" in record.values else ()
    if gpu_called and gpu_text and not gpu_id and not may_be:
        gpu_id = gpu_called(gpu_text)
    instance = Instance(
        id=fields.text("id") or instance_id(provider, name),
        provider=provider,
        name=name,
        gpu_text=gpu_text,
        gpu_id=gpu_id,
        gpu_count=fields.count("gpu_count", high=4096),
        gpu_fraction=_share(fields),
        properties=_sizes(fields, source, memory, from_memory, {} if seen is None else seen),
        prices=_prices(fields, source, date),
        from_memory=from_memory,
        source=source,
        gpu_may_be=may_be,
        user=user,
        **texts,
    )
    return None if fields.failed else instance


def instance_id(provider: str, name: str) -> str:
    """The id of an instance that states none: "provider/name" in lower case."""
    return f"{slug(provider)}/{'-'.join(name.casefold().split())}"


def collect(rows: Iterable[Instance]) -> dict[str, Instance]:
    """Instances by id. A later row of the same id adds its prices; one that says something else gets an id of its own.

    Such an id ends in the region of its price ("lambda/h100@us-west-1"), or in a number.
    """
    found: dict[str, Instance] = {}
    for row in rows:
        before = found.get(row.id)
        if before is None:
            found[row.id] = row
        elif agrees(row, before):
            found[row.id] = replace(before, prices=(*before.prices, *row.prices))
        else:
            region = row.prices[0].region if row.prices else ""
            own = _free_id(f"{row.id}@{slug(region)}" if region else row.id, found)
            found[own] = replace(row, id=own)
    return found


def agrees(row: Instance, other: Instance) -> bool:
    """Whether all that a row says of the machine itself holds for another of the same name."""
    stated = {name: known.value for name, known in row.properties.items()}
    known = {name: known.value for name, known in other.properties.items()}
    return all(known.get(name) == value for name, value in stated.items()) and all(
        mine in {None, "", theirs}
        for mine, theirs in (
            (row.gpu_text, other.gpu_text),
            (row.gpu_id, other.gpu_id),
            (row.gpu_count, other.gpu_count),
            (row.interconnect, other.interconnect),
            (row.virtualization, other.virtualization),
        )
    )


def merged(own: Instance, shipped: Instance) -> Instance:
    """An instance of the catalog with what a person says of it first: own prices before published ones."""
    properties: dict[InstanceProperty, Known] = dict(shipped.properties)
    for name, known in own.properties.items():
        before = shipped.properties.get(name)
        others = (before.fact, *before.others) if before else ()
        properties[name] = Known(known.fact, (*known.others, *others))
    stated = own.gpu_id or own.gpu_may_be
    texts: dict[str, Any] = {text: getattr(own, text) or getattr(shipped, text) for text in _TEXTS}
    return replace(
        shipped,
        gpu_text=own.gpu_text or shipped.gpu_text,
        gpu_id=own.gpu_id if stated else shipped.gpu_id,
        gpu_may_be=own.gpu_may_be if stated else shipped.gpu_may_be,
        gpu_count=own.gpu_count or shipped.gpu_count,
        gpu_fraction=shipped.gpu_fraction if own.gpu_fraction in {None, 1} else own.gpu_fraction,
        properties=properties,
        prices=(*own.prices, *shipped.prices),
        user=True,
        **texts,
    )


def _free_id(wanted: str, taken: Mapping[str, Instance]) -> str:
    candidate, number = wanted, 1
    while candidate in taken:
        number += 1
        candidate = f"{wanted}-{number}"
    return candidate


def _share(fields: Fields) -> Fraction | None:
    """The share of one GPU: 1 unless a row says otherwise, None where it says that it is unknown."""
    text = fields.text("gpu_share")
    if not text:
        return _WHOLE
    if text == UNKNOWN:
        return None
    try:
        share = Fraction(text)
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share <= 1:
        fields.problem("gpu_share", "overlay.value.not_share", value=text)
        return None
    return share


def _sizes(
    fields: Fields, source: Source, memory: Source, from_memory: tuple[str, ...], seen: SizesSeen
) -> dict[InstanceProperty, Known]:
    sizes: dict[InstanceProperty, Known] = {}
    for name, field in INSTANCE_NUMBERS.items():
        text = fields.record.values.get(name, "")
        if text == "":
            continue
        said = memory if name in from_memory else source
        key = (name, text, id(said)) if isinstance(text, str) else None
        known = seen.get(key) if key else None
        if known is None:
            value = fields.number(name, low=field.low, high=field.high)
            if value is None:
                continue
            known = Known(Fact(value * field.factor, field.unit, said, field.basis))
            if key:
                seen[key] = known
        sizes[field.property] = known
    return sizes


def _prices(fields: Fields, source: Source, date: str) -> tuple[Price, ...]:
    """The prices of a row. One of nothing, or without a currency, is left out and said, and the row is still used."""
    stated = [name for name in _PRICES if name in fields.record.values]
    if not stated:
        return ()
    currency = fields.text("currency").upper()
    region = fields.text("region")
    prices: list[Price] = []
    for name in stated:
        kind, divisor = _PRICES[name]
        value = fields.number(name, low=0, high=_HIGHEST_PRICE)
        if value is None:
            continue
        if fault := price_of_nothing(value):
            fields.keep(name, fault, Severity.WARNING)
        elif fault := price_without_currency(currency):
            fields.keep("currency", fault, Severity.WARNING)
        else:
            prices.append(Price(value / divisor, currency, kind, region, date, source))
    return tuple(prices)
