"""Where the inputs of recorded formulas come from: a fact of the catalog, the person, a calibration. Reads nothing.

An input that is the very number that was looked up in a table of efficiencies, not one that is as large, has the source
of that entry. Any other is known by its name and its value together. So a number that was changed on the way, or that
happens to stand in a table too, is never given a source that does not stand behind it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gpuplanner.catalog.efficiency import Efficiencies, Efficiency, ValueKind
from gpuplanner.catalog.entries import Gpu, GpuProperty, InstanceProperty
from gpuplanner.catalog.software import Software
from gpuplanner.engine.derived_terms import BASES
from gpuplanner.engine.estimate import Way
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.own_parts import PART_FACTOR, origin_of
from gpuplanner.facts import Fact, Source
from gpuplanner.figures import Argument, Certainty, Origin, Step
from gpuplanner.messages import Message, msg
from gpuplanner.units import Unit

Find = Callable[[str, Any], Origin | None]
Used = tuple[str, Efficiency]
"""A table of efficiencies and the entry of it that was looked up."""

DEFINITIONS = frozenset({"number_formats", "training_states"})
"""Tables that say what a published format or program is, and are not calibrated."""
DISTINCTIVE = 1e6
"""A fact of the GPU this large is recognised by its value alone, under whatever name a formula takes it."""
FIELD_OF_TERM = {
    "beams": "beam",
    "offload_bytes": "cpu_offload_bytes",
    "job_tokens": "tokens",
    "prompt_tokens": "input_tokens",
    "sequences": "concurrency",
    "request_per_s": "request_rate",
    "layers_kept": "layers",
    "width_pixels": "width",
    "height_pixels": "height",
    "network_px": "image_px",
}
"""Terms of formulas that a person's input has another name for."""
FIELDS_OF_TERM = {
    "items": ("steps", "frames"),
    "bytes_per_item": ("moved_bytes", "item_bytes", "image_bytes", "sample_bytes", "read_bytes"),
    "flops_per_item": ("flops",),
    "items_per_step": ("at_once",),
    "item_bytes": ("image_bytes", "sample_bytes"),
    "part_bytes": ("resident_bytes", "scene_bytes"),
    "part_s": ("fixed_frame_s",),
    "payload_bytes": ("exchanged_bytes",),
}
"""Terms that several inputs of a person can stand behind."""
GPU_TERMS = {"power_limit_w": GpuProperty.POWER_W}
"""Terms of formulas that a fact of a GPU has another name for."""
HOST_TERMS = {
    "vcpus": InstanceProperty.VCPUS,
    "storage_bytes_per_s": InstanceProperty.LOCAL_STORAGE_BYTES_PER_S,
}
"""Terms of formulas that an offer states of its host."""
NETWORK_TERMS = frozenset({"network_bytes_per_s", "node_network_bytes_per_s"})
BILLING_MONTH = "hours_per_month"
NO_LIMIT = 1e29
"""From here on a number stands for "as much as you like"."""


RANGES = "_ranges"
"""How the tables of ranges are called."""


class WatchedEfficiencies(Efficiencies):
    """Efficiencies that remember what was looked up, so that each number taken from them can name its source."""

    def __init__(self, watched: Efficiencies) -> None:
        self._watched = watched
        self.used: list[Used] = []

    @property
    def software(self) -> Software:
        return self._watched.software

    def names(self) -> tuple[str, ...]:
        return self._watched.names()

    def find(self, table: str, gpu: Gpu, variant: str = "") -> Efficiency:
        found = self._watched.find(table, gpu, variant)
        self.used.append((table, found))
        return found

    def constants(self, table: str, variant: str = "") -> Efficiency:
        found = self._watched.constants(table, variant)
        # The ends of a range are no input of a formula, so they are not taken for one that happens to be as large.
        if not table.endswith(RANGES):
            self.used.append((table, found))
        return found


def finder(asked: Mapping[str, Any], model: Any, machine: Machine, way: Way, used: list[Used]) -> Find:
    """A function that gives the origin of an input by its name and value, or None when nothing stands behind it.

    `asked`: what the person gave.
    """

    def find(name: str, value: Any) -> Origin | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return (
            _as_looked_up(value, used)
            or _from_machine(name, value, machine)
            or _from_gpu(name, value, machine.gpu)
            or _from_person(name, value, asked)
            or _from_way(name, value, way)
            or (_from_gpu(name.removeprefix("known_"), value, model) if isinstance(model, Gpu) else None)
            or _from_model(name, value, model)
            or _from_what_it_is_made_of(name, value, model)
        )

    return find


class Tracer:
    """Completes recorded derivations: each input gets the step that computed it, else the origin it was read from.

    `by_value`: the recorded steps by the identity of their value. A step that gave its value to several others is kept
    by the recording below the first of them only; here it is found again for all.
    """

    def __init__(self, find: Find, by_value: Mapping[int, Step]) -> None:
        self._find = find
        self._by_value = by_value
        self._done: dict[int, Step] = {}
        self._open: set[int] = set()

    def step_of(self, value: Any) -> Step | None:
        """The completed step that gave exactly this value, or None."""
        step = self._by_value.get(id(value))
        return None if step is None or id(step) in self._open else self.completed(step)

    def completed(self, step: Step) -> Step:
        """The same step with the steps and origins of its inputs, all the way down."""
        if id(step) not in self._done:
            self._open.add(id(step))
            arguments = tuple(self._argument(argument) for argument in step.arguments)
            inner = tuple(self.completed(s) for s in step.inner)
            self._open.discard(id(step))
            self._done[id(step)] = replace(step, arguments=arguments, inner=inner)
        return self._done[id(step)]

    def _argument(self, argument: Argument) -> Argument:
        below = self.completed(argument.step) if argument.step else self.step_of(argument.value)
        if below is not None:
            return replace(argument, step=below, origin=None)
        return argument if argument.origin else replace(argument, origin=self._find(argument.name, argument.value))


def certainty_of(source: Source) -> Certainty:
    """What kind of knowledge a published number of this source is; one from memory is no more than a rule of thumb."""
    return Certainty.USER if source.user else Certainty.RULE if source.from_memory else Certainty.EXACT


def _read(fact: Fact, note: Message | None = None) -> Origin:
    """The origin of a number that was read as it was published, or remembered."""
    if fact.source.from_memory:
        note = msg("explain.from_memory")
    return Origin(certainty_of(fact.source), fact, note)


def _same(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-12)


def _as_looked_up(value: float, used: list[Used]) -> Origin | None:
    """The entry that this very number, not only one as large, was taken from."""
    return next((_of_entry(t, e, k) for t, e in used for k, v in e.values.items() if v is value), None)


def _of_entry(table: str, entry: Efficiency, key: str) -> Origin:
    fact = Fact(entry.values[key], Unit.RATIO, entry.source)
    kind = entry.kind_of(key)
    certainty = Certainty.RULE if entry.source.from_memory else Certainty.EXACT
    if kind is ValueKind.DEFAULT:
        note = "explain.default_from_memory" if entry.source.from_memory else "explain.default"
        return Origin(certainty, fact, msg(note))
    if kind is ValueKind.DEFINED or table in DEFINITIONS:
        return Origin(certainty, fact, msg("explain.from_memory") if entry.source.from_memory else None)
    if kind is ValueKind.CALIBRATED:
        note = "explain.calibrated_from_memory" if entry.source.from_memory else "explain.calibrated"
        return Origin(Certainty.CALIBRATED, fact, msg(note, points=entry.points))
    note = "explain.from_memory" if entry.source.from_memory else "explain.rule_of_thumb"
    return Origin(Certainty.RULE, fact, msg(note))


def _from_machine(name: str, value: float, machine: Machine) -> Origin | None:
    if name == "price_per_hour" and machine.price is not None and _same(value, machine.price.per_hour):
        note = msg("explain.price", currency=machine.price.currency)
        return _read(Fact(value, Unit.MONEY_PER_HOUR, machine.price.source), note)
    if name == "currency_per_usd" and machine.rate is not None and _same(value, machine.rate.per_usd):
        return _read(Fact(value, Unit.RATIO, machine.rate.source))
    if name == "currency_per_usd" and machine.rate is None and value == 1:
        return Origin(Certainty.EXACT, note=msg("explain.in_dollars"))
    if name == BILLING_MONTH:
        return Origin(Certainty.RULE, note=msg("explain.billing_month"))
    if name == "gpu_fraction" and value == 1:
        return Origin(Certainty.USER, note=msg("explain.whole_gpu"))
    if name == PART_FACTOR and machine.parts is not None:
        return origin_of(machine.parts)
    chosen = {"nodes": machine.nodes, "gpus": machine.gpus, "gpus_per_node": machine.gpus_per_node}
    if name in chosen and _same(value, chosen[name]):
        return Origin(Certainty.USER, note=msg("explain.from_machine"))
    own = HOST_TERMS.get(name)
    stated = machine.instance.properties.get(own) if machine.instance and own else None
    if stated is not None and _same(value, stated.value):
        return _read(stated.fact)
    told = machine.host.network_bytes_per_s
    if name in NETWORK_TERMS and told is not None and _network_of_plan(machine) and _same(value, told):
        return Origin(Certainty.USER, note=msg("explain.from_plan"))
    network = machine.instance.properties.get(InstanceProperty.NETWORK_BIT_PER_S) if machine.instance else None
    if network is not None and name in NETWORK_TERMS and _same(value * 8.0, network.value):
        return _read(network.fact)
    return None


def _network_of_plan(machine: Machine) -> bool:
    """Whether the network is what the plan says: for this machine, or where the catalog has none."""
    known = machine.instance is not None and InstanceProperty.NETWORK_BIT_PER_S in machine.instance.properties
    return machine.network_bits_per_s is not None or not known


def _from_gpu(name: str, value: float, gpu: Gpu) -> Origin | None:
    named: Mapping[str, GpuProperty] = {p.value: p for p in GpuProperty}
    own = GPU_TERMS.get(name) or named.get(name)
    for known in filter(None, (gpu.known(own) if own else None,)):
        if _same(known.value, value):
            return _read(known.fact)
    if value < DISTINCTIVE:
        return None
    alike = [known.fact for known in gpu.properties.values() if _same(known.value, value)]
    return _read(alike[0]) if len({fact.source for fact in alike}) == 1 else None


def _from_person(name: str, value: float, asked: Mapping[str, Any]) -> Origin | None:
    several = FIELDS_OF_TERM.get(name, ())
    for field in (FIELD_OF_TERM.get(name, name), *several):
        said = asked.get(field)
        if isinstance(said, int | float) and not isinstance(said, bool) and _same(said, value):
            return Origin(Certainty.USER, note=_entered(field, asked) if field in several else msg("explain.from_plan"))
    return None


def _entered(field: str, asked: Mapping[str, Any]) -> Message:
    """That a person entered it, and in which field: the term does not tell, as several stand behind it."""
    return msg("explain.from_plan_field", field=msg(f"field.{asked['kind']}.{field}"))


def _from_way(name: str, value: float, way: Way) -> Origin | None:
    known = getattr(way, name, None)
    if isinstance(known, int) and known == value:
        return Origin(Certainty.USER, note=msg("explain.chosen"))
    return None


def _from_model(name: str, value: float, model: Any) -> Origin | None:
    known = getattr(model, FIELD_OF_TERM.get(name, name), None)
    if isinstance(known, int | float) and _same(known, value):
        return Origin(Certainty.EXACT, note=msg("explain.from_model", model=model.name))
    return None


def _from_what_it_is_made_of(name: str, value: float, model: Any) -> Origin | None:
    """What a number follows from that no source gives as it is; asked last, since it claims no source."""
    if value >= NO_LIMIT and name != "window":
        return Origin(Certainty.EXACT, note=msg("explain.no_limit"))
    basis = BASES.get(name)
    return None if basis is None else Origin(basis.certainty, note=msg(basis.note, model=getattr(model, "name", "")))
