"""Estimates and figures as JSON for other programs: base units, ISO dates, ids in place of texts, unknown is null."""

from typing import Any

from gpuplanner.engine.estimate import Change, Estimate, HostNeed, Part, Way
from gpuplanner.engine.goals import may_miss
from gpuplanner.engine.machine import Machine
from gpuplanner.figures import Figure, Origin
from gpuplanner.messages import Message, Translator


def figure_data(figure: Figure) -> dict[str, Any]:
    """A figure without its derivation."""
    return {
        "value": figure.value,
        "unit": figure.unit.value,
        "low": figure.low,
        "high": figure.high,
        "certainty": figure.certainty.value,
        "rung": figure.rung.value if figure.rung else None,
    }


def message_data(message: Message, translator: Translator) -> dict[str, str]:
    """A message as its id, which programs can rely on, and its text, which people read."""
    return {"id": message.id, "text": translator.text(message)}


def machine_data(machine: Machine) -> dict[str, Any]:
    """A machine by its ids and counts, with its price as published."""
    price = machine.price
    return {
        "gpu": machine.gpu.id,
        "gpu_name": machine.gpu.name,
        "gpus": machine.gpus,
        "nodes": machine.nodes,
        "gpu_fraction": str(machine.gpu_fraction),
        "topology": machine.topology.value,
        "link_bytes_per_s": machine.link_bytes_per_s,
        "instance": machine.instance.id if machine.instance else None,
        "provider": machine.instance.provider if machine.instance else None,
        "price": None
        if price is None
        else {
            "per_hour": price.per_hour,
            "currency": price.currency,
            "kind": price.kind.value,
            "region": price.region or None,
            "date": price.date or None,
        },
        "usd_per_hour": machine.usd_per_hour,
    }


def way_data(way: Way) -> dict[str, Any]:
    """A way of running: its parallel degrees and its other choices."""
    return {
        "tensor_parallel": way.tensor_parallel,
        "pipeline_parallel": way.pipeline_parallel,
        "context_parallel": way.context_parallel,
        "expert_parallel": way.expert_parallel,
        "data_parallel": way.data_parallel,
        "replicas": way.replicas,
        "prefill_workers": way.prefill_workers,
        "prefill_tensor_parallel": way.prefill_tensor_parallel,
        "micro_batch": way.micro_batch,
        "choices": dict(way.choices or {}),
    }


def own_data(own: Origin | None) -> dict[str, Any] | None:
    """The person's own measurement that numbers come from: its file and day; None where they are the engine's."""
    if own is None or own.fact is None:
        return None
    return {"file": own.fact.source.citation, "date": own.fact.source.date or None}


def estimate_data(estimate: Estimate, translator: Translator) -> dict[str, Any]:
    """Everything of an estimate."""
    memory = estimate.memory
    return {
        "fit": estimate.fit.value,
        "runs": estimate.runs.value,
        "verdict": estimate.outcome.name.lower(),
        "reason": message_data(estimate.reason, translator),
        "machine": machine_data(estimate.machine),
        "way": way_data(estimate.way),
        "memory": {
            "usable": figure_data(memory.usable),
            "needed": figure_data(memory.needed),
            "reserved": figure_data(memory.reserved),
            "peak_phase": memory.peak_phase,
            "phases": [
                {"id": p.id, "total": figure_data(p.total), "parts": [_part(x) for x in p.parts]} for p in memory.phases
            ],
        },
        "step": estimate.step_name,
        "time": [_part(part) for part in estimate.time],
        "limits": [{"id": limit.value, "share": share} for limit, share in estimate.limits],
        "metrics": {name: figure_data(figure) for name, figure in estimate.metrics.items()},
        "host": [_host(need) for need in estimate.host],
        "unmet": [message_data(m, translator) for m in estimate.unmet],
        "may_miss": [message_data(m, translator) for m in may_miss(estimate.goals, estimate.metrics)],
        "unknown": [message_data(m, translator) for m in estimate.unknown],
        "remarks": [message_data(m, translator) for m in estimate.remarks],
        "changes": [_change(change, translator) for change in estimate.changes],
        "own_measurement": own_data(estimate.own),
    }


def _part(part: Part) -> dict[str, Any]:
    return {"id": part.id, "limit": part.limit.value if part.limit else None} | figure_data(part.figure)


def _host(need: HostNeed) -> dict[str, Any]:
    rules = [{"rule": rule, "value": value} for rule, value in need.rules]
    return {"id": need.id, "need": figure_data(need.need), "offered": need.offered, "rules": rules}


def _change(change: Change, translator: Translator) -> dict[str, Any]:
    return {
        "what": message_data(change.what, translator),
        "fit": change.fit.value,
        "gives_up": change.gives_up,
        "free_bytes": change.free_bytes,
        "headline": {"id": change.headline_id} | figure_data(change.headline) if change.headline else None,
        "plan": change.plan.model_dump(mode="json", exclude_defaults=True),
    }
