"""Where the inputs of recorded formulas come from: a fact of the catalog, the person, a calibration. Reads nothing.

An input is known by its name and its value together, so that a number that was changed on the way is never given a
source that does not stand behind it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.efficiency import Efficiencies, Efficiency
from gpuplanner.catalog.entries import Gpu, GpuProperty, InstanceProperty
from gpuplanner.engine.machine import Machine
from gpuplanner.facts import Fact
from gpuplanner.figures import Argument, Certainty, Origin, Step
from gpuplanner.messages import msg
from gpuplanner.units import Unit
from gpuplanner.workload.plan import Plan

Find = Callable[[str, Any], Origin | None]

DISTINCTIVE = 1e6
"""A fact of the GPU this large is recognised by its value alone, under whatever name a formula takes it."""
FIELD_OF_TERM = {"prompt_tokens": "input_tokens", "sequences": "concurrency", "layers_kept": "layers"}
"""Terms of formulas that a person's input has another name for."""
BILLING_MONTH = "hours_per_month"


class WatchedEfficiencies(Efficiencies):
    """Efficiencies that remember what was looked up, so that each number taken from them can name its source."""

    def __init__(self, watched: Efficiencies) -> None:
        self._watched = watched
        self.used: list[Efficiency] = []

    def names(self) -> tuple[str, ...]:
        return self._watched.names()

    def find(self, table: str, gpu: Gpu, variant: str = "") -> Efficiency:
        found = self._watched.find(table, gpu, variant)
        self.used.append(found)
        return found

    def constants(self, table: str, variant: str = "") -> Efficiency:
        found = self._watched.constants(table, variant)
        self.used.append(found)
        return found


def finder(plan: Plan, model: ModelArchitecture, machine: Machine, used: list[Efficiency]) -> Find:
    """A function that gives the origin of an input by its name and value, or None when nothing stands behind it."""
    asked = plan.workload.model_dump()

    def find(name: str, value: Any) -> Origin | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return (
            _from_calibration(name, value, used)
            or _from_machine(name, value, machine)
            or _from_gpu(name, value, machine.gpu)
            or _from_person(name, value, asked)
            or _from_model(name, value, model)
        )

    return find


def with_origins(step: Step, find: Find, done: dict[int, Step] | None = None) -> Step:
    """The same derivation with an origin on each input that has one."""
    done = {} if done is None else done
    if id(step) in done:
        return done[id(step)]
    arguments = tuple(
        replace(a, step=with_origins(a.step, find, done)) if a.step else _originated(a, find) for a in step.arguments
    )
    inner = tuple(with_origins(s, find, done) for s in step.inner)
    done[id(step)] = replace(step, arguments=arguments, inner=inner)
    return done[id(step)]


def _originated(argument: Argument, find: Find) -> Argument:
    return argument if argument.origin else replace(argument, origin=find(argument.name, argument.value))


def _same(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-12)


def _from_calibration(name: str, value: float, used: list[Efficiency]) -> Origin | None:
    by_name = [e for e in used if name in e.values and _same(e.values[name], value)]
    by_value = [e for e in used if not float(value).is_integer() and any(_same(v, value) for v in e.values.values())]
    for entry in (*by_name, *by_value):
        certainty = Certainty.CALIBRATED if entry.points else Certainty.RULE
        note = msg("explain.calibrated", points=entry.points) if entry.points else msg("explain.rule_of_thumb")
        return Origin(certainty, Fact(value, Unit.RATIO, entry.source), note)
    return None


def _from_machine(name: str, value: float, machine: Machine) -> Origin | None:
    if name == "price_per_hour" and machine.price is not None and _same(value, machine.price.per_hour):
        certainty = Certainty.USER if machine.price.source.user else Certainty.EXACT
        note = msg("explain.price", currency=machine.price.currency, date=machine.price.date)
        return Origin(certainty, Fact(value, Unit.MONEY_PER_HOUR, machine.price.source), note)
    if name == "currency_per_usd" and machine.rate is not None and _same(value, machine.rate.per_usd):
        return Origin(Certainty.EXACT, Fact(value, Unit.RATIO, machine.rate.source))
    if name == BILLING_MONTH:
        return Origin(Certainty.RULE, note=msg("explain.billing_month"))
    chosen = {"nodes": machine.nodes, "gpus": machine.gpus, "gpus_per_node": machine.gpus_per_node}
    if name in chosen and _same(value, chosen[name]):
        return Origin(Certainty.USER, note=msg("explain.from_machine"))
    network = machine.instance.properties.get(InstanceProperty.NETWORK_BIT_PER_S) if machine.instance else None
    if network is not None and name == "network_bytes_per_s" and _same(value * 8.0, network.value):
        return Origin(Certainty.EXACT, network.fact)
    return None


def _from_gpu(name: str, value: float, gpu: Gpu) -> Origin | None:
    named: Mapping[str, GpuProperty] = {p.value: p for p in GpuProperty}
    aliases = {"power_limit_w": GpuProperty.POWER_W}
    own = aliases.get(name) or named.get(name)
    for known in filter(None, (gpu.known(own) if own else None,)):
        if _same(known.value, value):
            return Origin(Certainty.EXACT, known.fact)
    if value >= DISTINCTIVE:
        for known in gpu.properties.values():
            if _same(known.value, value):
                return Origin(Certainty.EXACT, known.fact)
    return None


def _from_person(name: str, value: float, asked: Mapping[str, Any]) -> Origin | None:
    said = asked.get(FIELD_OF_TERM.get(name, name))
    if isinstance(said, int | float) and not isinstance(said, bool) and _same(said, value):
        return Origin(Certainty.USER, note=msg("explain.from_plan"))
    return None


def _from_model(name: str, value: float, model: ModelArchitecture) -> Origin | None:
    known = getattr(model, FIELD_OF_TERM.get(name, name), None)
    if isinstance(known, int | float) and _same(known, value):
        return Origin(Certainty.EXACT, note=msg("explain.from_model", model=model.name))
    return None
