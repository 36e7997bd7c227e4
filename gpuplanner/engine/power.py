"""The electrical power of an estimate's GPUs and the energy of its work: a rule of thumb from what limits the time."""

from collections.abc import Mapping, Sequence

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.engine.cost import PER_THOUSAND
from gpuplanner.engine.estimate import Limit
from gpuplanner.engine.formulas.items import joules_per_item
from gpuplanner.engine.formulas.power import drawn_power_share, gpu_power_watts, job_joules, joules_per_token
from gpuplanner.engine.machine import Machine
from gpuplanner.figures import Certainty, Figure, Rung
from gpuplanner.messages import Message, msg
from gpuplanner.units import Unit

TABLE = "power"


def power_metrics(
    machine: Machine,
    limits: Sequence[tuple[Limit, float]],
    metrics: Mapping[str, Figure],
    efficiencies: Efficiencies,
) -> tuple[dict[str, Figure], tuple[Message, ...]]:
    """`power_w` of all GPUs and, where a rate or a duration is known, the energy; and what is not known.

    The upper end is the power limit. A slice of a GPU has its share of the limit.
    """
    limit = machine.gpu.known(GpuProperty.POWER_W)
    if limit is None:
        return {}, (msg("machines.power_unknown", gpu=machine.gpu.name),)
    if not limits:
        return {}, ()
    shares = efficiencies.constants(TABLE, "shares")
    spread = efficiencies.constants(TABLE, "range")
    by_limit = dict(limits)
    power_limit_w = limit.value * float(machine.gpu_fraction)
    drawn = drawn_power_share(
        by_limit.get(Limit.COMPUTE, 0.0),
        by_limit.get(Limit.HBM, 0.0),
        shares["compute"],
        shares["hbm"],
        shares["waiting"],
    )
    value = float(gpu_power_watts(machine.gpus, power_limit_w, drawn))
    highest = min(value * spread["high"], machine.gpus * power_limit_w)
    power = _figure(value, value * spread["low"], highest, Unit.WATT)
    found = {"power_w": power}
    job = metrics.get("job_s")
    if job is not None:
        found["energy_j"] = _figure(
            float(job_joules(power.value, job.value)),
            float(job_joules(power.low, job.low)),
            float(job_joules(power.high, job.high)),
            Unit.JOULE,
        )
    rate = metrics.get("output_tokens_per_s") or metrics.get("tokens_per_s")
    if rate is not None and rate.low > 0:
        found["energy_j_per_token"] = _figure(
            float(joules_per_token(power.value, rate.value)),
            float(joules_per_token(power.low, rate.high)),
            float(joules_per_token(power.high, rate.low)),
            Unit.JOULE,
        )
    items = next((metrics[name] for name in PER_THOUSAND if name in metrics), None)
    if items is not None and items.low > 0:
        found["energy_j_per_item"] = _figure(
            float(joules_per_item(power.value, items.value)),
            float(joules_per_item(power.low, items.high)),
            float(joules_per_item(power.high, items.low)),
            Unit.JOULE,
        )
    return found, ()


def _figure(value: float, low: float, high: float, unit: Unit) -> Figure:
    return Figure(value, unit, Certainty.RULE, low, high, Rung.ROOFLINE, msg("host.why_power"))
