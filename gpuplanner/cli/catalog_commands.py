"""`catalog search`, `catalog show` and `catalog resolve`: the facts from the command line, each with its source."""

import argparse
from collections.abc import Iterator
from typing import Any

from gpuplanner.catalog.entries import Gpu, Instance, Model, Price, Rule
from gpuplanner.catalog.search import EntryKind, Hit
from gpuplanner.cli.columns import columns, safe
from gpuplanner.cli.context import Context, NothingFoundError, print_json
from gpuplanner.facts import Fact, Known, Source
from gpuplanner.messages import Language, on_one_line
from gpuplanner.units import MIB

Entry = Gpu | Instance | Model


def search(options: argparse.Namespace, context: Context) -> int:
    """Search everything as the palette does. Exit code 1 when nothing is found."""
    query = " ".join(options.text)
    hits = context.workspace.index.search(query, (options.kind,) if options.kind else None, options.limit)
    if options.json:
        print_json([{"kind": hit.kind, "id": hit.id, "name": hit.name} for hit in hits])
    elif not hits:
        print(context.text("cli.nothing_found", query=safe(query)))
        near = context.workspace.resolve(query, options.kind).candidates
        print("\n".join(columns([[f"  {context.text(f'cli.kind.{c.kind}')}", safe(c.name), safe(c.id)] for c in near])))
    else:
        print("\n".join(columns([_hit(hit, context) for hit in hits])))
    return 0 if hits else 1


def _hit(hit: Hit, context: Context) -> list[str]:
    """Kind, name and id; a statement of a guide comes with our verdict, since many of them are wrong."""
    name = safe(hit.title(context.translator.language))
    if hit.kind is EntryKind.RULE:
        name = f"{name} [{_verdict(hit.detail, context)}]"
    return [context.text(f"cli.kind.{hit.kind}"), name, safe(hit.id)]


def _verdict(verdict: str, context: Context) -> str:
    return context.text(f"catalog.verdict.{verdict.replace(' ', '_')}")


def resolve(options: argparse.Namespace, context: Context) -> int:
    """Resolve a name as tools and clouds print it. Exit code 1 when it is refused or ambiguous."""
    found = context.workspace.resolve(" ".join(options.text), options.kind, _memory_bytes(options))
    if options.json:
        print_json(found.as_data())
    else:
        print(f"{found.id}  {safe(found.name or '')}" if found.id else context.text(found.reason))
        if found.count and found.id:
            print(context.text("names.counted", count=found.count))
        if found.fraction:
            print(context.text(found.reason))
        if not found.id:
            print("\n".join(f"  {line}" for line in columns([[c.id, safe(c.name)] for c in found.candidates])))
    return 0 if found.id else 1


def show(options: argparse.Namespace, context: Context) -> int:
    """Show one entry with every fact, its basis, its source and its date, or a rule with our verdict and why.

    Exit code 1 when a name is refused or ambiguous, as `resolve` has it.
    """
    rule = next((rule for rule in context.workspace.catalog.rules if [rule.id] == options.text), None)
    if rule is not None:
        print_json(_rule_data(rule)) if options.json else print("\n".join(_rule_lines(rule, context)))
        return 0
    found = context.workspace.resolve(" ".join(options.text), options.kind, _memory_bytes(options))
    if found.id is None:
        raise NothingFoundError(found.reason)
    catalog = context.workspace.catalog
    tables: dict[str, Any] = {"gpu": catalog.gpus, "instance": catalog.instances, "model": catalog.models}
    entry: Entry = tables[found.kind or "gpu"][found.id]
    if options.json:
        print_json(_data(entry))
    else:
        print("\n".join(_lines(entry, context)))
    return 0


def _rule_lines(rule: Rule, context: Context) -> Iterator[str]:
    chinese = context.translator.language is Language.CHINESE
    yield safe(rule.claim_zh if chinese else rule.claim_en)
    yield f"  {_verdict(rule.verdict, context)}"
    yield f"  {on_one_line(rule.reason_zh if chinese else rule.reason_en)}"
    yield f"  {_cited(rule.source, context)}"


def _rule_data(rule: Rule) -> dict[str, Any]:
    claims = {"en": rule.claim_en, "zh": rule.claim_zh}
    reasons = {"en": rule.reason_en, "zh": rule.reason_zh}
    source = {"source": rule.source.citation, "date": rule.source.date or None, "from_memory": rule.source.from_memory}
    return {"id": rule.id, "claim": claims, "verdict": rule.verdict, "reason": reasons} | source


def _memory_bytes(options: argparse.Namespace) -> float | None:
    return options.memory * MIB if options.memory else None


def _knowns(entry: Entry) -> Iterator[tuple[str, Known]]:
    if isinstance(entry, Model):
        yield "parameters", entry.parameters
        if entry.active_parameters:
            yield "active_parameters", entry.active_parameters
    else:
        yield from ((name.value, known) for name, known in entry.properties.items())


def _words(entry: Entry) -> Iterator[tuple[str, str]]:
    names = {
        Gpu: ("vendor", "architecture", "chip", "compute_capability", "release_date", "form_factor", "memory_type"),
        Instance: (
            "provider",
            "gpu_text",
            "gpu_count",
            "gpu_fraction",
            "interconnect",
            "rdma",
            "virtualization",
            "cpu",
        ),
        Model: ("family", "kind", "licence"),
    }[type(entry)]
    yield from ((name, str(getattr(entry, name))) for name in names if getattr(entry, name) not in {"", None})


def _lines(entry: Entry, context: Context) -> Iterator[str]:
    yield f"{safe(entry.name)}  ({entry.id})"
    yield from columns([[f"  {context.text(f'fact.{name}')}", safe(value)] for name, value in _words(entry)])
    rows = []
    for name, known in _knowns(entry):
        for place, fact in enumerate((known.fact, *known.others)):
            label = context.text(f"fact.{name}") if place == 0 else f"  {context.text('cli.other_source')}"
            rows.append(
                [
                    f"  {label}",
                    context.number(fact.value, fact.unit),
                    _basis(fact, context),
                    _cited(fact.source, context),
                ]
            )
    yield from columns(rows, right=(1,))
    if isinstance(entry, Instance):
        yield from columns([_price(price, context) for price in entry.prices], right=(1,))
        if not entry.prices:
            yield f"  {context.text('cli.no_price')}"
    if isinstance(entry, Gpu):
        for remark in entry.remarks:
            chinese = context.translator.language is Language.CHINESE
            yield f"  ! {safe(remark.text_zh if chinese else remark.text_en)}"


def _price(price: Price, context: Context) -> list[str]:
    """A price with its terms, where and when it holds, and who says so."""
    return [
        f"  {context.text(f'price.{price.kind.name.lower()}')}",
        f"{price.per_hour:,.4g} {price.currency}/h",
        safe(price.region) or context.text("catalogui.price.no_region"),
        price.date or context.text("catalogui.price.no_date"),
        _cited(price.source, context),
    ]


def _basis(fact: Fact, context: Context) -> str:
    return context.translator.joined(context.text(f"basis.{part.name.lower()}") for part in fact.basis)


def _cited(source: Source, context: Context) -> str:
    cited = source.cited(chinese=context.translator.language is Language.CHINESE)
    where = context.text("cli.from_memory") if source.from_memory else safe(cited)
    read = context.text("catalogui.source.accessed", date=source.accessed) if source.accessed else ""
    date = source.date or read
    return f"{where} ({date})" if date else where


def _data(entry: Entry) -> dict[str, Any]:
    facts = {name: [_fact_data(f) for f in (known.fact, *known.others)] for name, known in _knowns(entry)}
    content: dict[str, Any] = {"id": entry.id, "name": entry.name} | dict(_words(entry)) | {"facts": facts}
    if isinstance(entry, Instance):
        content["gpu"] = entry.gpu_id
        content["prices"] = [
            {
                "per_hour": p.per_hour,
                "currency": p.currency,
                "kind": p.kind.value,
                "region": p.region or None,
                "date": p.date or None,
                "source": p.source.citation,
            }
            for p in entry.prices
        ]
    if isinstance(entry, Gpu):
        content["remarks"] = [{"kind": r.kind, "en": r.text_en, "zh": r.text_zh} for r in entry.remarks]
    return content


def _fact_data(fact: Fact) -> dict[str, Any]:
    return {
        "value": fact.value,
        "unit": fact.unit.value,
        "basis": [part.value for part in fact.basis],
        "source": fact.source.citation,
        "date": fact.source.date or None,
        "from_memory": fact.source.from_memory,
        "note": fact.note or None,
    }
