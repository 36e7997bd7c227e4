"""What the machine of an estimate costs: by hour, month, job and million tokens. A price that is not known stays so."""

from collections.abc import Mapping
from dataclasses import replace

from gpuplanner.engine.formulas.cost import usd_per_hour, usd_per_job, usd_per_month, usd_per_mtoken
from gpuplanner.engine.formulas.items import usd_per_thousand_items
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.origins import certainty_of
from gpuplanner.figures import Certainty, Figure
from gpuplanner.messages import Message, msg
from gpuplanner.units import HOURS_PER_MONTH, Unit

PER_THOUSAND: Mapping[str, str] = {
    "items_per_s": "usd_per_kitem",
    "images_per_s": "usd_per_kimage",
    "generated_per_s": "usd_per_kgenerated",
    "science_steps_per_s": "usd_per_kstep",
    "video_s_per_s": "usd_per_kvideo_s",
    "audio_s_per_s": "usd_per_kaudio_s",
    "frames_per_s": "usd_per_kframe",
}
"""By the metric of a rate, what a thousand of its items cost."""


def cost_metrics(machine: Machine, metrics: Mapping[str, Figure]) -> tuple[dict[str, Figure], tuple[Message, ...]]:
    """The costs that follow from `metrics`, by metric id, and what is not known.

    A list price is exact unless it, or the rate that turned it into dollars, is from memory. What divides it by an
    estimated rate has that rate's range turned round.
    """
    if machine.price is None:
        told = "machines.price_unknown" if machine.instance else "machines.bought_without_price"
        return {}, (msg(told, machine=machine_name(machine)),)
    if machine.usd_per_hour is None:
        return {}, (msg("machines.rate_unknown", currency=machine.price.currency),)
    certainty = certainty_of(machine.price.source)
    if machine.rate is not None and machine.rate.source.from_memory:
        certainty = Certainty.RULE
    currency_per_usd = machine.rate.per_usd if machine.rate else 1.0
    hourly = float(usd_per_hour(machine.price.per_hour, currency_per_usd, machine.nodes))
    found = {
        "usd_per_hour": _figure(hourly, Unit.MONEY_PER_HOUR, certainty),
        "usd_per_month": _figure(float(usd_per_month(hourly, HOURS_PER_MONTH)), Unit.MONEY, certainty),
    }
    job = metrics.get("job_s")
    if job is not None:
        found["job_usd"] = replace(
            job,
            value=float(usd_per_job(hourly, job.value)),
            low=float(usd_per_job(hourly, job.low)),
            high=float(usd_per_job(hourly, job.high)),
            unit=Unit.MONEY,
            derivation=None,
        )
    rate = metrics.get("output_tokens_per_s") or metrics.get("tokens_per_s")
    if rate is not None and rate.low > 0:
        found["usd_per_mtoken"] = replace(
            rate,
            value=float(usd_per_mtoken(hourly, rate.value)),
            low=float(usd_per_mtoken(hourly, rate.high)),
            high=float(usd_per_mtoken(hourly, rate.low)),
            unit=Unit.MONEY_PER_MTOKEN,
            derivation=None,
        )
    found |= _per_thousand_items(hourly, metrics)
    return found, ()


def _per_thousand_items(hourly: float, metrics: Mapping[str, Figure]) -> dict[str, Figure]:
    for name, cost in PER_THOUSAND.items():
        rate = metrics.get(name)
        if rate is not None and rate.low > 0:
            value, low, high = (float(usd_per_thousand_items(hourly, r)) for r in (rate.value, rate.high, rate.low))
            return {cost: replace(rate, value=value, low=low, high=high, unit=Unit.MONEY, derivation=None)}
    return {}


def machine_name(machine: Machine) -> str:
    """The machine as a person would say it: `2 × AWS p5.48xlarge` or `4 × GeForce RTX 4090`."""
    if machine.instance is None:
        return f"{machine.gpus} × {machine.gpu.name}"
    name = f"{machine.instance.provider} {machine.instance.name}"
    return name if machine.nodes == 1 else f"{machine.nodes} × {name}"


def _figure(value: float, unit: Unit, certainty: Certainty) -> Figure:
    return Figure(value, unit, certainty, value, value)
