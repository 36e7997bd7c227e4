"""A person's own measurements: what they make of an estimate of the very same profile. Pure; how they are kept: store.

A measurement is of a plan on a machine. It applies to a plan of the same work on the same machine in the same way of
running (GPU, how many, software, model, precision, degrees), whose load is at most twice as large or half as large.
Then each figure that was measured, and those that follow from it, are multiplied with what was measured over what the
engine says of the run that was measured; their range becomes that of one run beside another of its profile.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu
from gpuplanner.engine.estimate import Estimate, Part
from gpuplanner.engine.formulas.own_measurements import FOR_UNIT
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.origins import Find
from gpuplanner.engine.own_links import OwnLink, passed_over, with_own_links
from gpuplanner.engine.own_parts import OwnParts
from gpuplanner.engine.ranges import bounded
from gpuplanner.engine.serving_remarks import missed_goals
from gpuplanner.engine.training_remarks import unmet as missed_deadline
from gpuplanner.facts import Fact, MissingFactError, Source
from gpuplanner.figures import Certainty, Figure, Origin, Rung
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.units import Unit, digits
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Training

TABLE = "own_ranges"
NEAR = 2.0
"""By how many times a load may be another one."""
LARGEST_FACTOR = 5.0
"""What is further from the engine than this was most likely measured of something else."""
LOAD = frozenset(
    {"input_tokens", "output_tokens", "concurrency", "request_rate", "sequence_length", "global_batch", "mean_tokens"}
)  # fmt: skip
"""What a load is made of; in all else a profile has to be the same."""
ASIDE = frozenset({"ttft_goal_s", "tpot_goal_s", "deadline_s", "tokens", "samples", "max_length"})
"""What changes nothing of how quick a run is."""
WAY = frozenset(
    {"tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel", "attention_ranks", "micro_batch",
     "sharding", "recomputation"}
)  # fmt: skip
"""What is compared as it was chosen, whether a plan asks for it or leaves it open."""


@dataclass(frozen=True, slots=True)
class OwnMeasurement:
    """What a person measured.

    `plan`: of what, with its machine; `site`: that machine as `site_of` says it; `measured`: by metric, in base units.
    `used`: the person has not switched it off.
    """

    id: str
    name: str
    date: str
    plan: Plan
    site: str
    measured: Mapping[str, float]
    used: bool = True


Own: TypeAlias = OwnMeasurement | OwnLink | OwnParts
"""What a person can measure: a run of a plan, the links of a node, the parts of one."""


@dataclass(frozen=True, slots=True)
class _Follows:
    """How a metric follows from one that was measured: with it, or against it (-1)."""

    measured: str
    power: int
    family: str


TOKEN_TIME, FIRST_TIME, RATE, STEP = "time per token", "time to first token", "throughput", "training step"
POOL = "kv pool"
"""Of which no pair of public runs of one profile says how far it is from another: its range stays as wide."""
_STEP = (
    _Follows("step_s", 1, STEP),
    _Follows("tokens_per_s", -1, STEP),
    _Follows("tokens_per_s_per_gpu", -1, STEP),
)
_AGAINST_STEP = tuple(replace(follows, power=-follows.power) for follows in _STEP)
_RATE = (_Follows("output_tokens_per_s", 1, RATE), _Follows("tpot_s", -1, TOKEN_TIME))
FOLLOWS: Mapping[str, Mapping[str, tuple[_Follows, ...]]] = {
    "serving": {
        "tpot_s": (_Follows("tpot_s", 1, TOKEN_TIME), _Follows("output_tokens_per_s", -1, RATE)),
        "ttft_s": (_Follows("ttft_s", 1, FIRST_TIME),),
        "output_tokens_per_s": _RATE,
        "request_per_s": _RATE,
        "kv_pool_tokens": (_Follows("kv_pool_tokens", 1, POOL),),
    },
    "training": {
        "step_s": _STEP,
        "job_s": _STEP,
        "tokens_per_s": _AGAINST_STEP,
        "tokens_per_s_per_gpu": _AGAINST_STEP,
        "mfu": _AGAINST_STEP,
        "hfu": _AGAINST_STEP,
    },
}
"""By kind, the metrics that a measurement changes: each by the first of these that was measured."""
UNITS: Mapping[str, Unit] = {
    "tpot_s": Unit.SECOND,
    "ttft_s": Unit.SECOND,
    "step_s": Unit.SECOND,
    "output_tokens_per_s": Unit.TOKEN_PER_S,
    "tokens_per_s": Unit.TOKEN_PER_S,
    "tokens_per_s_per_gpu": Unit.TOKEN_PER_S,
    "kv_pool_tokens": Unit.TOKEN,
    "kv_bytes_per_token": Unit.BYTE_PER_TOKEN,
}
"""Of what can be measured, by metric."""
FACTOR = "own_factor"
GOALS = ("serving.missed.", "training.deadline_missed", "training.deadline_unknown")
"""What the messages of missed goals are called."""
PARTS = {"serving": "tpot_s", "training": "step_s"}
"""The metric whose time the parts of a step make up."""


def with_own(
    made: Estimate,
    own: Sequence[Own],
    efficiencies: Efficiencies,
    engine: Callable[[Plan], Estimate],
) -> Estimate:
    """The estimate as the nearest of a person's measurements has it; unchanged where none is of its profile.

    A measured run says more of a run than measured links do, so these count where no run was measured. What is too far
    from the engine now, or of a run that cannot be estimated, is passed over, and a remark says so.

    `engine`: the estimate of another plan of the same subject on the same machine, without any measurement.
    """
    site = site_of(made.machine)
    here = [m for m in own if isinstance(m, OwnMeasurement) and m.site == site and measurable(m)]
    found = [(m, near) for m in here if (near := nearness(m.plan, made.plan)) is not None]
    for measurement, near in sorted(found, key=lambda pair: (pair[1], _latest_first(pair[0].date), pair[0].id)):
        try:
            of = engine(measurement.plan)
            if of.way != made.way:
                continue
            # It may have been edited since it was kept, and the engine may have changed.
            checked(measurement, of)
        except (InputError, MissingFactError) as fault:
            made = replace(made, remarks=(*made.remarks, passed_over(measurement.name, fault)))
            continue
        return _corrected(made, measurement, of, near == 1.0, efficiencies)
    linked = with_own_links(made, [m for m in own if isinstance(m, OwnLink)], site, efficiencies)
    return replace(linked, unmet=tuple(_unmet(made, linked.metrics))) if linked.own is not None else linked


def site_of(machine: Machine) -> str:
    """What of a machine a measurement holds for: the GPU, how many in how many nodes, and how they are linked."""
    share = "" if machine.gpu_fraction == 1 else f" {machine.gpu_fraction}"
    return f"{machine.nodes} x {machine.gpus_per_node} {machine.gpu.id}{share} {machine.topology.value}"


def site_words(site: str, gpus: Callable[[str], Gpu | None]) -> str:
    """The machine of a measurement by the name of its GPU: `8 × H100 SXM5 80GB`, with its nodes where it has several.

    A site that cannot be read stands as it is.
    """
    nodes, _, rest = site.partition(" x ")
    each, _, machine = rest.partition(" ")
    gpu = gpus(machine.partition(" ")[0])
    if gpu is None or not (nodes.isdecimal() and each.isdecimal()):
        return site
    one = f"{each} × {gpu.name}"
    return one if nodes == "1" else f"{nodes} × ({one})"


def measurable(measurement: OwnMeasurement) -> bool:
    """Whether anything that was measured changes an estimate of its kind."""
    known = FOLLOWS.get(measurement.plan.workload.kind, {})
    return any(f.measured in measurement.measured for follows in known.values() for f in follows)


def nearness(measured: Plan, asked: Plan) -> float | None:
    """By how many times the loads differ, 1 for the same load; None where the profile is another one."""
    one, other = measured.workload.model_dump(), asked.workload.model_dump()
    if one.keys() != other.keys():
        return None
    furthest = 1.0
    for name, value in one.items():
        if name in ASIDE | WAY or value == other[name]:
            continue
        if name not in LOAD or not value or not other[name]:
            return None
        furthest = max(furthest, value / other[name], other[name] / value)
    return furthest if furthest <= NEAR else None


def checked(measurement: OwnMeasurement, of: Estimate) -> None:
    """Raise InputError where a measurement says nothing of its plan, or what cannot be of it.

    `of`: what the engine says of the run that was measured.
    """
    kind = measurement.plan.workload.kind
    factors = factors_of(measurement, of)
    if not measurable(measurement) or not factors:
        raise InputError(msg("own.says_nothing", file=measurement.name, kind=msg(f"planui.kind.{kind}")))
    for name, factor in factors.items():
        if not 1 / LARGEST_FACTOR <= factor <= LARGEST_FACTOR:
            raise InputError(
                msg("own.too_far", file=measurement.name, metric=msg(f"metric.{name}"), factor=digits(factor, 2))
            )


def factors_of(measurement: OwnMeasurement, of: Estimate) -> dict[str, float]:
    """What was measured over what the engine says, by metric."""
    return {
        name: value / of.metrics[name].value
        for name, value in measurement.measured.items()
        if name in of.metrics and of.metrics[name].value > 0 and value > 0
    }


def with_own_origin(find: Find, own: Origin | None) -> Find:
    """The same finder of origins, which knows where the factor of a measurement comes from."""
    if own is None:
        return find
    return lambda name, value: own if name == FACTOR else find(name, value)


def _latest_first(date: str) -> tuple[int, ...]:
    return tuple(-ord(letter) for letter in date)


def _corrected(
    made: Estimate, measurement: OwnMeasurement, of: Estimate, same_load: bool, efficiencies: Efficiencies
) -> Estimate:
    factors = factors_of(measurement, of)
    kind = made.plan.workload.kind
    changed = {
        name: figure
        for name, follows in FOLLOWS[kind].items()
        if name in made.metrics
        and (figure := _changed(made.metrics[name], follows, factors, measurement, same_load, efficiencies)) is not None
    }
    if not changed:
        return made
    parts = FOLLOWS[kind][PARTS[kind]]
    metrics = {**made.metrics, **changed}
    return replace(
        made,
        metrics=metrics,
        unmet=tuple(_unmet(made, metrics)),
        time=tuple(_part(part, parts, factors, measurement, same_load, efficiencies) for part in made.time),
        remarks=(*made.remarks, _said(measurement, factors, same_load)),
        own=origin_of(measurement),
    )


def _unmet(made: Estimate, metrics: Mapping[str, Figure]) -> Iterator[Message]:
    """What is not met as it was measured: the goals anew, the rest as it was."""
    workload = made.plan.workload
    yield from (message for message in made.unmet if not message.id.startswith(GOALS))
    if isinstance(workload, Serving):
        yield from missed_goals(workload, metrics)
    elif isinstance(workload, Training):
        yield from missed_deadline(workload, metrics)


def _part(
    part: Part,
    follows: Iterable[_Follows],
    factors: Mapping[str, float],
    measurement: OwnMeasurement,
    same_load: bool,
    efficiencies: Efficiencies,
) -> Part:
    figure = _changed(part.figure, follows, factors, measurement, same_load, efficiencies)
    return part if figure is None else replace(part, figure=figure)


def _changed(
    figure: Figure,
    follows: Iterable[_Follows],
    factors: Mapping[str, float],
    measurement: OwnMeasurement,
    same_load: bool,
    efficiencies: Efficiencies,
) -> Figure | None:
    """The figure as measured; None where nothing was measured that it follows from."""
    first = next((f for f in follows if f.measured in factors), None)
    if first is None or figure.unit not in FOR_UNIT:
        return None
    factor = factors[first.measured] ** first.power
    value = float(FOR_UNIT[figure.unit](figure.value, factor))
    if figure.exact or not figure.value:
        return replace(figure, value=value, low=value, high=value)
    low, high = _ends(efficiencies, first, same_load)
    why = msg("own.why.same" if same_load else "own.why.near", file=measurement.name)
    changed = replace(
        figure,
        value=value,
        certainty=Certainty.CALIBRATED,
        low=value * max(low, figure.low / figure.value),
        high=value * min(high, figure.high / figure.value),
        rung=Rung.SAME_GPU,
        why=why,
        derivation=None,
    )
    return bounded(changed, 1.0) if figure.unit is Unit.RATIO else changed


def _ends(efficiencies: Efficiencies, follows: _Follows, same_load: bool) -> tuple[float, float]:
    """How far one run of a profile is from another, as factors: of the metric itself, whichever way it goes."""
    try:
        found = efficiencies.constants(TABLE, f"{follows.family}, {'same' if same_load else 'near'} load")
    except MissingFactError:
        return 0.0, float("inf")
    return found["low"], found["high"]


def origin_of(measurement: OwnMeasurement) -> Origin:
    """Where the factor comes from: the person's file."""
    source = Source("own", measurement.name, measurement.date, user=True)
    return Origin(Certainty.USER, Fact(1.0, Unit.RATIO, source), msg("own.origin"))


def _said(measurement: OwnMeasurement, factors: Mapping[str, float], same_load: bool) -> Message:
    told = ", ".join(f"{name} × {factor:.2f}" for name, factor in sorted(factors.items()))
    return msg("own.applied.same" if same_load else "own.applied.near", file=measurement.name, factors=told)
