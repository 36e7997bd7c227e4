"""The energy of a job, of a million tokens or of a thousand items at the meter, and what its electricity costs."""

from dataclasses import dataclass

from gpuplanner.engine.answers.answer import Answer, Line
from gpuplanner.engine.answers.asking import Asking, plain
from gpuplanner.engine.answers.working import worked
from gpuplanner.engine.cost import PER_THOUSAND
from gpuplanner.engine.estimate import Estimate
from gpuplanner.engine.formulas.answers_cost import (
    electricity_usd,
    facility_watts,
    kilowatt_hours,
    kilowatt_hours_per_month,
    kilowatt_hours_per_mtoken,
    kilowatt_hours_per_thousand,
    machine_watts,
)
from gpuplanner.figures import Figure
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.units import HOURS_PER_MONTH, Display, Unit, show


@dataclass(frozen=True, slots=True)
class Energy:
    """What the question is asked with; None is not known. `node_power_w`: of a host without its GPUs.

    `pue`: power at the meter over power of the machines.
    """

    pue: float | None = None
    node_power_w: float | None = None
    usd_per_kwh: float | None = None

    def __call__(self, asking: Asking) -> Answer:
        """The answer: power at the meter, energy of what the plan says, and its cost."""
        made = asking.base
        power = made.metrics.get("power_w")
        if power is None:
            raise InputError(msg("answers.energy.power_unknown", gpu=asking.machine.gpu.name))
        lines = [Line("energy.gpus", power)]
        if self.node_power_w is not None:
            nodes = plain(float(asking.machine.nodes), Unit.COUNT)
            power = worked(machine_watts, power, nodes, asking.typed("node_power_w", self.node_power_w, Unit.WATT))
            lines.append(Line("energy.machines", power))
        if self.pue is not None:
            power = worked(facility_watts, power, asking.typed("pue", self.pue, Unit.COUNT))
            lines.append(Line("energy.meter", power))
        amounts = _amounts(made, power)
        price = None if self.usd_per_kwh is None else asking.typed("usd_per_kwh", self.usd_per_kwh, Unit.MONEY)
        for name, energy in amounts.items():
            cost = None if price is None else worked(electricity_usd, energy, price)
            lines += [Line(f"energy.{name}", energy), Line(f"energy.{name}_usd", cost)]
        first, energy = next(iter(amounts.items()))
        says = msg(f"answers.energy.says_{first}", energy=_shown(energy), power=_shown(power))
        return Answer("energy", says, tuple(lines), None, tuple(self._unknown()), (msg("answers.energy.month_full"),))

    def _unknown(self) -> list[Message]:
        lacking = []
        if self.node_power_w is None:
            lacking.append(msg("answers.energy.host_unknown"))
        if self.pue is None:
            lacking.append(msg("answers.energy.pue_unknown"))
        if self.usd_per_kwh is None:
            lacking.append(msg("answers.energy.price_unknown"))
        return lacking


def _amounts(made: Estimate, power: Figure) -> dict[str, Figure]:
    """Energies by what they are for, the most telling first."""
    metrics = made.metrics
    found = {}
    job = metrics.get("job_s")
    if job is not None:
        found["job"] = worked(kilowatt_hours, power, job)
    tokens = metrics.get("output_tokens_per_s") or metrics.get("tokens_per_s")
    if tokens is not None and tokens.low > 0:
        found["mtoken"] = worked(kilowatt_hours_per_mtoken, power, tokens)
    items = next((metrics[name] for name in PER_THOUSAND if name in metrics), None)
    if items is not None and items.low > 0:
        found["thousand"] = worked(kilowatt_hours_per_thousand, power, items)
    found["month"] = worked(kilowatt_hours_per_month, power, plain(HOURS_PER_MONTH, Unit.HOUR))
    return found


def _shown(figure: Figure) -> str:
    return str(show(figure.value, figure.unit, Display()))
