"""What machines, ways of running, figures and values are called. Knows no widget, and computes nothing."""

from datetime import UTC, datetime
from datetime import date as date_type
from typing import Any

from gpuplanner.catalog.entries import PriceKind
from gpuplanner.catalog.price_age import age_days, whole_months, whole_years
from gpuplanner.engine.estimate import Estimate, Limit, Way
from gpuplanner.engine.explaining import equation_text, reference_text
from gpuplanner.engine.machine import Machine, Topology
from gpuplanner.figures import Figure
from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.quantities import Quantity
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.catalog_place.catalog_words import in_words
from gpuplanner.ui.plan_place.wizard.fields import Control, Field, choice_text
from gpuplanner.ui.widgets.figure_label import range_with_unit
from gpuplanner.workload.model_choice import ModelChoice


def machine_title(machine: Machine) -> str:
    """`2 × H100 SXM5 80GB`, with the share where it is a slice of a GPU."""
    share = "" if machine.gpu_fraction == 1 else f"{machine.gpu_fraction} "
    return f"{machine.gpus} × {share}{machine.gpu.name}"


def machine_offer(machine: Machine) -> MessageValue:
    """The instance and its provider, with how many of them; GPUs that are bought have neither."""
    if machine.instance is None:
        if machine.nodes == 1:
            return msg("planui.machine.bought")
        return msg("planui.machine.bought_nodes", nodes=machine.nodes, gpus=machine.gpus_per_node)
    name = f"{machine.instance.provider} {machine.instance.name}"
    return name if machine.nodes == 1 else f"{machine.nodes} × {name}"


def way_parts(way: Way) -> list[MessageValue]:
    """The parallel degrees above one, as the field abbreviates them."""
    degrees = {
        "TP": way.tensor_parallel,
        "PP": way.pipeline_parallel,
        "CP": way.context_parallel,
        "EP": way.expert_parallel,
        "DP": way.data_parallel,
    }
    parts: list[MessageValue] = [f"{name} {degree}" for name, degree in degrees.items() if degree > 1]
    if way.workers:
        parts.append(way.workers)
    elif way.replicas > 1:
        parts.append(msg("planui.way.replicas", count=way.replicas))
    if way.micro_batch > 1:
        parts.append(msg("planui.way.micro_batch", count=way.micro_batch))
    return parts


def link_text(machine: Machine) -> str | None:
    """How the GPUs of a node reach each other, None for one GPU."""
    match machine.topology:
        case Topology.SINGLE:
            return None
        case Topology.PCIE:
            return "PCIe"
        case _:
            return machine.gpu.link_kind or "PCIe"


def way_text(estimate: Estimate, appearance: Appearance) -> str:
    """`TP 2 · NVLink 4`."""
    parts = [appearance.said(part) for part in way_parts(estimate.way)]
    link = link_text(estimate.machine)
    if link is not None:
        parts.append(in_words(link, appearance))
    return " · ".join(parts)


def limiting(estimate: Estimate) -> tuple[Limit, float] | None:
    """What takes the largest share of the time, and that share."""
    return max(estimate.limits, key=lambda pair: pair[1], default=None)


def certainty_text(figure: Figure, appearance: Appearance) -> str:
    """What kind of knowledge a figure is, and how near the measurements behind a calibrated one are."""
    kind = appearance.text(f"certainty.{figure.certainty.name.lower()}")
    if figure.rung is None:
        return kind
    rung = appearance.text(f"rung.{figure.rung.name.lower()}")
    return appearance.text("planui.certainty.with_rung", kind=kind, rung=rung)


def figure_tip(name: str, figure: Figure, appearance: Appearance) -> str:
    """Everything short that is known of a figure, as the lines of a tooltip: range, kind, why, formula, source."""
    lines = [f"{name} {appearance.show(figure.value, figure.unit)}"]
    spread = range_with_unit(appearance, figure)
    kind = certainty_text(figure, appearance)
    lines.append(f"{spread} · {kind}" if spread else kind)
    if figure.why is not None:
        lines.append(appearance.text(figure.why))
    if figure.derivation is not None:
        lines.append(f"= {equation_text(figure.derivation.formula.equation, appearance.translator)}")
        lines.append(reference_text(figure.derivation.formula, appearance.translator))
    return "\n".join(line for line in lines if line)


def price_note(machine: Machine, appearance: Appearance) -> str:
    """Whose price counts, on which terms, where and of when; empty when there is none."""
    price = machine.price
    if price is None:
        return ""
    kind = appearance.text(f"planui.price.{price.kind.name.lower()}")
    where = price.region or appearance.text("catalogui.price.no_region")
    parts = [kind, where, price.date, appearance.text(price_age(price.date))]
    if price.kind is PriceKind.QUOTED and price.source.citation:
        parts.insert(1, price.source.citation)
    return " · ".join(part for part in parts if part)


def value_text(field: Field, value: Any, appearance: Appearance, model_name: str = "") -> str:
    """A field's value as a person reads it: in the difference of two plans, in the name of a change."""
    if field.control is Control.MODEL:
        return model_name or model_id(value)
    if value is None:
        return appearance.text(automatic(field))
    if field.control is Control.SEVERAL:
        return ", ".join(value) if value else appearance.text("planui.any")
    if field.control is Control.SWITCH:
        return appearance.text("planui.yes" if value else "planui.no")
    if field.control is Control.CHOICE:
        return appearance.text(choice_text(value))
    quantity: Quantity | None = field.quantity
    if quantity is None:
        return str(value)
    suffix = appearance.translator.unit(quantity.suffix(appearance.display))
    return f"{quantity.show(value, appearance.display)} {suffix}".strip()


def automatic(field: Field) -> Message:
    """What an empty optional field means: no goal, no limit, or that software or search decides."""
    if field.ask.step == "limits":
        return msg("planui.no_limit")
    if field.ask.step == "goals":
        return msg("planui.no_goal")
    return msg("planui.not_given") if field.ask.step == "use" else msg("planui.automatic")


def model_id(choice: ModelChoice) -> str:
    """The id or the name of a chosen model, before the catalog has been read."""
    return choice.architecture.name if choice.architecture is not None else choice.catalog_id or ""


def named(prefix: str, item_id: str, appearance: Appearance) -> str:
    """The name of something the engine has an id for, such as a part of memory; the id itself where it has no text."""
    message_id = f"{prefix}.{item_id}"
    return appearance.text(message_id) if appearance.translator.has(message_id) else item_id.replace("_", " ")


def metric_name(metric_id: str, appearance: Appearance) -> str:
    """The name of a figure of an estimate."""
    return named("metric", metric_id, appearance)


def price_age(date: str, today: date_type | None = None) -> Message:
    """How old a price is: what is not dated to the day is as old as it can be."""
    days = age_days(date, today or datetime.now(UTC).date())
    if days is None:
        return msg("planui.price.undated")
    months, years = whole_months(days), whole_years(days)
    if months < 2:
        return msg("planui.price.age", days=days)
    return msg("planui.price.age.months", months=months) if years < 2 else msg("planui.price.age.years", years=years)


def ago(iso: str, now: datetime | None = None) -> Message:
    """How long ago a moment in UTC was, roughly."""
    try:
        then = datetime.fromisoformat(iso)
    except ValueError:
        return msg("planui.ago.unknown")
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    for name, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= length:
            return msg(f"planui.ago.{name}", count=int(seconds // length))
    return msg("planui.ago.now")
