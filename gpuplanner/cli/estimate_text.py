"""An estimate as lines of text for a terminal: verdict first, then memory, time, figures, host and what to change."""

from collections.abc import Iterator
from math import inf, log

from gpuplanner.cli.columns import columns, safe
from gpuplanner.cli.context import Context
from gpuplanner.cli.price_dates import price_date
from gpuplanner.engine.estimate import (
    GOAL_UNKNOWN,
    MAY_NOT_RUN,
    NEVER_RUNS,
    Estimate,
    Fit,
    Outcome,
    Phase,
    Way,
    in_whole,
)
from gpuplanner.engine.goals import may_miss
from gpuplanner.engine.machine import Machine
from gpuplanner.figures import Figure
from gpuplanner.messages import Language, Message
from gpuplanner.units import Unit, percent

PASS, WARN, FAIL, CANNOT_TELL = "✓", "!", "✗", "?"
MARKS = {Fit.FITS: PASS, Fit.TIGHT: WARN, Fit.DOES_NOT_FIT: FAIL}
OUTCOME_MARKS = {
    Outcome.FITS: PASS,
    Outcome.TIGHT: WARN,
    Outcome.MAY_MISS: WARN,
    Outcome.UNKNOWN: CANNOT_TELL,
    Outcome.MISSES: FAIL,
    Outcome.DOES_NOT_RUN: FAIL,
    Outcome.DOES_NOT_FIT: FAIL,
}
_SMALLEST_SHARE = 0.001
NEAREST_RULES = 2
"""Rules of thumb that are shown beside one need."""


def estimate_lines(
    estimate: Estimate, context: Context, chosen_for_you: bool = False, all_rules: bool = False
) -> Iterator[str]:
    """The lines, without line ends, in the context's language. `all_rules`: not only the two nearest to a need."""
    text = context.text
    deciding = _deciding(estimate)
    yield f"{OUTCOME_MARKS[estimate.outcome]} {text(estimate.verdict)} · {machine_name(estimate, context)}"
    yield from (f"  {text(message)}" for message in deciding)
    yield f"  {text('cli.room_alone', reason=estimate.reason) if deciding else text(estimate.reason)}"
    if chosen_for_you:
        yield f"  {text('cli.machine_chosen')}"
    chosen = _chosen(estimate, context)
    if chosen:
        yield f"  {text('cli.chosen', what=chosen)}"
    for unmet in estimate.unmet:
        if unmet not in deciding:
            yield f"  {_mark_of(unmet)} {text(unmet)}"
    yield from (f"  {WARN} {text(near)}" for near in may_miss(estimate.goals, estimate.metrics))

    yield from _headed(text("cli.heading.memory"), _memory(estimate, context))
    yield from _headed(text(f"step.{estimate.step_name}"), _time(estimate, context))
    yield from _headed(text("cli.heading.figures"), _metrics(estimate, context))
    yield from _headed(text("cli.heading.host"), _host(estimate, context, all_rules))
    yield from _headed(text("cli.heading.changes"), _changes(estimate, context))
    yield from _headed(text("cli.heading.unknown"), _sentences(estimate.unknown, context))
    yield from _headed(text("cli.heading.remarks"), _sentences(estimate.remarks, context))
    yield ""
    yield text("cli.explain_hint")


def _deciding(estimate: Estimate) -> tuple[Message, ...]:
    """What decides the verdict where memory does not; what keeps a goal from being judged stands with it."""
    match estimate.outcome:
        case Outcome.DOES_NOT_RUN:
            return tuple(message for message in estimate.unmet if message.id in NEVER_RUNS)
        case Outcome.MISSES:
            return estimate.missed
        case Outcome.UNKNOWN:
            return tuple(message for message in estimate.unmet if message.id in GOAL_UNKNOWN)
        case _:
            return ()


def _mark_of(unmet: Message) -> str:
    return WARN if unmet.id in MAY_NOT_RUN else CANNOT_TELL if unmet.id in GOAL_UNKNOWN else FAIL


def machine_name(estimate: Estimate, context: Context) -> str:
    """The machine and the way of running in a few words: `2 × H100 SXM5 80GB · TP 2`."""
    machine, way = estimate.machine, estimate.way
    parts = [safe(gpus_name(machine, context))]
    if machine.instance:
        parts.append(safe(f"{machine.nodes} × {machine.instance.provider} {machine.instance.name}"))
    way_said = way_name(way, context)
    return " · ".join([*parts, way_said] if way_said else parts)


def _chosen(estimate: Estimate, context: Context) -> str:
    """What of the way of running the plan leaves open, with what was taken: `Micro batch 4 · Recomputation None`."""
    workload = estimate.plan.workload
    taken = (("micro_batch", str(estimate.way.micro_batch)), *(estimate.way.choices or {}).items())
    left_open = [
        (f"field.{workload.kind}.{name}", f"choice.{name}.{value}", value)
        for name, value in taken
        if name in type(workload).model_fields and getattr(workload, name) is None
    ]
    said = context.translator.has
    return " · ".join(
        f"{context.text(field)} {context.text(choice) if said(choice) else value}"
        for field, choice, value in left_open
        if said(field)
    )


def gpus_name(machine: Machine, context: Context) -> str:
    """The GPUs of a machine: `8 × L4`; those that are bought for several nodes by node: `2 nodes of 8 × L4`."""
    fraction = "" if machine.gpu_fraction == 1 else f"{machine.gpu_fraction} "
    if machine.instance is not None or machine.nodes == 1 or machine.slice is not None:
        return f"{machine.gpus} × {fraction}{machine.gpu.name}"
    each = f"{machine.gpus_per_node} × {fraction}{machine.gpu.name}"
    return context.text("cli.nodes_of", nodes=machine.nodes, gpus=each)


def way_name(way: Way, context: Context) -> str:
    """The parallel degrees above one: `TP 2 · PP 4 · 3 replicas`."""
    degrees = {
        "TP": way.tensor_parallel,
        "PP": way.pipeline_parallel,
        "CP": way.context_parallel,
        "EP": way.expert_parallel,
        "DP": way.data_parallel,
    }
    parts = [f"{name} {degree}" for name, degree in degrees.items() if degree > 1]
    if way.workers:
        parts.append(way.workers)
    elif way.replicas > 1:
        parts.append(context.text("cli.replicas", count=way.replicas))
    return " · ".join(parts)


def _headed(heading: str, lines: Iterator[str]) -> Iterator[str]:
    first = next(lines, None)
    if first is not None:
        yield ""
        yield heading
        yield f"  {first}"
        yield from (f"  {line}" for line in lines)


def _memory(estimate: Estimate, context: Context) -> Iterator[str]:
    memory = estimate.memory
    rows = [
        [context.text(f"memory.{name}"), context.number(figure.value, Unit.BYTE), context.range(figure)]
        for name, figure in (("needed", memory.needed), ("reserved", memory.reserved), ("usable", memory.usable))
    ]
    peak: Phase = next(p for p in memory.phases if p.id == memory.peak_phase)
    rows.append([context.text("memory.peak"), context.text(f"phase.{peak.id}"), ""])
    rows += [
        [f"  {context.text(f'part.{part.id}')}", context.number(part.figure.value, Unit.BYTE), ""]
        for part in peak.parts
        if part.figure.value > _SMALLEST_SHARE * peak.total.value
    ]
    yield from columns(rows, right=(1,))


def _time(estimate: Estimate, context: Context) -> Iterator[str]:
    total = sum(part.figure.value for part in estimate.time) or 1.0
    rows = [
        [
            context.text(f"part.{part.id}"),
            context.number(part.figure.value, Unit.SECOND),
            percent(part.figure.value / total),
            context.text(f"limit.{part.limit.value}") if part.limit else "",
        ]
        for part in estimate.time
        if part.figure.value > _SMALLEST_SHARE * total
    ]
    yield from columns(rows, right=(1, 2))
    if estimate.limits:
        limit, share = max(estimate.limits, key=lambda pair: pair[1])
        yield context.text("cli.limited_by", limit=context.text(f"limit.{limit.value}"), share=percent(share))


def _metrics(estimate: Estimate, context: Context) -> Iterator[str]:
    metrics = ((name, in_whole(name, figure)) for name, figure in estimate.metrics.items())
    price = estimate.machine.price
    dated = {} if price is None else {"usd_per_hour": context.text("cli.price_of", age=price_date(price.date, context))}
    rows = [
        [
            context.text(f"metric.{name}"),
            context.number(f.value, f.unit),
            context.range(f),
            dated.get(name) or certainty(f, context),
        ]
        for name, f in metrics
    ]
    yield from columns(rows, right=(1,))


def certainty(figure: Figure, context: Context) -> str:
    """What kind of knowledge a figure is, and for a calibrated one how near the measurements are."""
    kind = context.text(f"certainty.{figure.certainty.name.lower()}")
    if figure.rung is None:
        return kind
    return context.translator.joined((kind, context.text(f"rung.{figure.rung.name.lower()}")))


def _host(estimate: Estimate, context: Context, all_rules: bool) -> Iterator[str]:
    rows = []
    rules = []
    left = 0
    for need in estimate.host:
        unit = need.need.unit
        if need.offered is None:
            offered = context.text("cli.offered_unknown")
        else:
            offered = context.text("cli.offered", amount=context.number(need.offered, unit))
        name = context.text(f"host.{need.id}")
        rows.append([name, context.number(need.need.value, unit), offered])
        nearest = sorted(need.rules, key=lambda said: _distance(said[1], need.need.value))
        shown = nearest if all_rules else nearest[:NEAREST_RULES]
        left += len(nearest) - len(shown)
        rules += [[f"  {name}", context.number(v, unit), _rule_name(rule, context)] for rule, v in shown]
    yield from columns(rows, right=(1,))
    if rules:
        yield context.text("cli.rules")
        yield from columns(rules, right=(1,))
    if left:
        yield f"  {context.text('cli.rules_more', count=left)}"


def _distance(said: float, needed: float) -> float:
    """How many times too much or too little a rule says."""
    return abs(log(said / needed)) if said > 0 and needed > 0 else inf


def _rule_name(rule_id: str, context: Context) -> str:
    """What a rule of thumb says, in the words of the catalog, our verdict on it, and who says so."""
    rule = next((r for r in context.workspace.catalog.rules if r.id == rule_id), None)
    if rule is None:
        return rule_id
    chinese = context.translator.language is Language.CHINESE
    claim = rule.claim_zh if chinese else rule.claim_en
    verdict = rule.verdict.replace(" ", "_")
    said = f"{claim} [{context.text(f'catalog.verdict.{verdict}')}]"
    source = context.text("cli.from_memory") if rule.source.from_memory else safe(rule.source.cited(chinese=chinese))
    return f"{said} ({source})" if source else said


def _changes(estimate: Estimate, context: Context) -> Iterator[str]:
    rows = []
    for change in estimate.changes:
        headline = ""
        if change.headline:
            number = context.number(change.headline.value, change.headline.unit)
            headline = f"{context.text(f'metric.{change.headline_id}')} {number}"
        free = context.text("cli.free", amount=context.number(change.free_bytes, Unit.BYTE))
        less = context.text("change.gives_up") if change.gives_up else ""
        rows.append([OUTCOME_MARKS[change.outcome], context.text(change.what), free, headline, less])
    yield from columns(rows)


def _sentences(messages: tuple[Message, ...], context: Context) -> Iterator[str]:
    yield from (context.text(message) for message in messages)
