"""GPUs out of files: every statement of every source becomes a fact; the first plain one is the one in use.

A statement is a field of the entry itself, or of one of the groups under `also`, each with its source and basis.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gpuplanner.catalog.entries import Gpu, GpuProperty, Remark
from gpuplanner.catalog.files.records import Fields, Record
from gpuplanner.catalog.gpu_fields import (
    BASIS_WORDS,
    GPU_NUMBERS,
    GPU_TEXTS,
    PCIE_X16_BYTES_PER_S,
    NumberField,
    is_plain,
    with_words,
)
from gpuplanner.catalog.problems import Problem
from gpuplanner.facts import Basis, Direction, Fact, Known, Source
from gpuplanner.units import Unit

SourceOf = Callable[[str], Source]
"""From a reference of an entry to its source. Raises KeyError when there is none."""
_ENTRY = (
    *("id", "name", "vendor", "aliases", *GPU_TEXTS, "link_is_bridge", "sparsity", "from_memory"),
    *("source", "also", "remarks", "note", "note_zh", *GPU_NUMBERS),
)
_STATEMENT = ("source", "basis", "note", "note_zh", *GPU_NUMBERS)
_PCIE = GPU_NUMBERS["pcie_gb_per_s"]


@dataclass(frozen=True, slots=True)
class _Statement:
    field: NumberField
    fact: Fact


def read_gpu(record: Record, source_of: SourceOf, pcie: Source, problems: list[Problem]) -> Gpu | None:
    """The GPU of one entry, or None when something in it is wrong. `pcie`: the source of rates computed for PCIe."""
    fields = Fields(record, problems)
    fields.only(_ENTRY)
    name = fields.text("name", required=True)
    vendor = fields.text("vendor", required=True)
    main = fields.text("source")
    statements = [*_statements(fields, source_of, main, _no_basis)]
    remarks: list[Remark] = []
    failed = False
    for group in fields.records("also"):
        inner = Fields(group, problems)
        inner.only(_STATEMENT)
        statements += _statements(inner, source_of, main, _basis_words(inner))
        failed |= inner.failed
    for item in fields.records("remarks"):
        inner = Fields(item, problems)
        remark = _remark(inner, source_of, main)
        failed |= inner.failed
        if remark:
            remarks.append(remark)
    texts: dict[str, Any] = {attribute: fields.text(field) for field, attribute in GPU_TEXTS.items()}
    gpu = Gpu(
        id=fields.text("id") or slug(f"{vendor} {name}"),
        name=name,
        vendor=vendor,
        properties=dict(_properties(statements, pcie)),
        aliases=fields.words("aliases"),
        link_is_bridge=fields.flag("link_is_bridge"),
        sparsity=fields.flag("sparsity"),
        remarks=tuple(remarks),
        from_memory=fields.words("from_memory"),
        **texts,
    )
    return None if failed or fields.failed else gpu


def merged(own: Gpu, shipped: Gpu) -> Gpu:
    """A GPU of the catalog with what a person says of it before what the catalog says. Nothing of either is lost."""
    properties = dict(shipped.properties)
    for name, known in own.properties.items():
        before = shipped.properties.get(name)
        others = (before.fact, *before.others) if before else ()
        properties[name] = Known(known.fact, (*known.others, *others))
    texts: dict[str, Any] = {a: getattr(own, a) or getattr(shipped, a) for a in GPU_TEXTS.values()}
    return replace(
        shipped,
        properties=properties,
        aliases=tuple(dict.fromkeys((*shipped.aliases, own.name, *own.aliases))),
        link_is_bridge=own.link_is_bridge or shipped.link_is_bridge,
        remarks=(*own.remarks, *shipped.remarks),
        user=True,
        **texts,
    )


def slug(text: str) -> str:
    """A name as an id: lower case, with hyphens for everything that is neither letter nor digit."""
    return re.sub(r"[^\w]+", "-", text.casefold()).strip("-")


def _no_basis(field: NumberField) -> Basis:
    return field.basis


def _basis_words(fields: Fields) -> Callable[[NumberField], Basis]:
    words = fields.words("basis")
    unknown = [word for word in words if word.casefold() not in BASIS_WORDS]
    if unknown:
        fields.problem("basis", "overlay.value.unknown_basis", word=unknown[0], words=", ".join(BASIS_WORDS))
        return _no_basis
    return lambda field: with_words(field.basis, words)


def _statements(
    fields: Fields, source_of: SourceOf, main: str, basis_of: Callable[[NumberField], Basis]
) -> Iterator[_Statement]:
    present = [name for name in fields.record.values if name in GPU_NUMBERS]
    source = source_named(fields, source_of, main)
    if source is None:
        return
    note, note_zh = fields.text("note"), fields.text("note_zh")
    for name in present:
        field = GPU_NUMBERS[name]
        value = fields.number(name, low=field.low, high=field.high)
        if value is not None:
            fact = Fact(value * field.factor, field.unit, source, basis_of(field), note, note_zh)
            yield _Statement(field, fact)


def source_named(fields: Fields, source_of: SourceOf, otherwise: str = "") -> Source | None:
    """The source that an entry names, or that of `otherwise`. One that does not exist is kept as a problem."""
    reference = fields.text("source") or otherwise
    try:
        return source_of(reference)
    except KeyError:
        fields.problem("source", "overlay.value.unknown_source", name=reference)
        return None


def _properties(statements: Iterable[_Statement], pcie: Source) -> Iterator[tuple[GpuProperty, Known]]:
    by_property: dict[GpuProperty, list[_Statement]] = {}
    for statement in statements:
        by_property.setdefault(statement.field.property, []).append(statement)
    for stated in by_property.values():
        stated += [halved for statement in stated if (halved := _one_way(statement))]
    if computed := _pcie_rate(by_property, pcie):
        by_property.setdefault(GpuProperty.PCIE_BYTES_PER_S, []).append(computed)
    for name, stated in by_property.items():
        plain = [s for s in stated if is_plain(s.fact.basis, s.field)]
        if not plain:
            continue
        first = next((s for s in plain if s.fact.basis.pipe is s.field.basis.pipe), plain[0])
        yield name, Known(first.fact, tuple(s.fact for s in stated if s is not first))


def _one_way(statement: _Statement) -> _Statement | None:
    """What a link carries one way, where a source adds both."""
    fact = statement.fact
    if fact.basis.direction is not Direction.BOTH_WAYS:
        return None
    field = replace(statement.field, basis=replace(statement.field.basis, direction=Direction.ONE_WAY))
    basis = replace(fact.basis, direction=Direction.ONE_WAY)
    return _Statement(field, replace(fact, value=fact.value / 2.0, basis=basis))


def _pcie_rate(stated: Mapping[GpuProperty, list[_Statement]], source: Source) -> _Statement | None:
    """What the PCIe slot carries one way, from its generation and lanes."""
    generations = stated.get(GpuProperty.PCIE_GENERATION)
    lanes = stated.get(GpuProperty.PCIE_LANES)
    if not generations or not lanes:
        return None
    rate = PCIE_X16_BYTES_PER_S.get(int(generations[0].fact.value))
    if rate is None:
        return None
    return _Statement(_PCIE, Fact(rate * lanes[0].fact.value / 16.0, Unit.BYTE_PER_S, source, _PCIE.basis))


def _remark(fields: Fields, source_of: SourceOf, main: str) -> Remark | None:
    fields.only(("kind", "en", "zh", "source"))
    source = source_named(fields, source_of, main)
    english = fields.text("en")
    chinese = fields.text("zh")
    if not english and not chinese:
        fields.problem("en", "overlay.value.required")
    if source is None or fields.failed:
        return None
    return Remark(fields.text("kind") or "note", english or chinese, chinese or english, source)
