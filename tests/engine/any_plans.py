"""Plans that nobody would make, drawn from the types of their fields, and what has to hold of an estimate of any plan.

Values at the limits of a field come up often, since that is where things break. Tests import it; it holds none.
"""

import json
import math
import random
import types
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.engine.estimate import Estimate, Fit
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.machines import machine_of
from gpuplanner.figures import Figure
from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.workload.machine_counts import MOST_GPUS
from gpuplanner.workload.plan import Constraints, MachineChoice, Plan
from gpuplanner.workload.serving import Serving

PLANS_EACH = 120
LEFT_OPEN = ("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel", "micro_batch", "sharding")
"""Fields of which any value is refused on most machines: they are filled seldom, so that most plans are estimated."""
TRANSLATORS = [Translator(language) for language in Language]


def limits(info: FieldInfo) -> tuple[float, float]:
    low, high = 0.0, math.inf
    for part in info.metadata:
        low = next((float(getattr(part, n)) for n in ("ge", "gt") if getattr(part, n, None) is not None), low)
        high = high if getattr(part, "le", None) is None else float(part.le)
        high = high if getattr(part, "lt", None) is None else math.nextafter(float(part.lt), 0)
    return low, high


def number(dice: random.Random, low: float, high: float, whole: bool) -> float:
    assert high < math.inf, "every number of a plan has an upper limit"
    least = max(low, 1 if whole else 1e-12)
    drawn = dice.choice([least, high, math.exp(dice.uniform(math.log(least), math.log(high))), dice.choice([1, 8, 64])])
    value = min(max(drawn, least), high)
    return int(value) if whole else value


def any_value(dice: random.Random, name: str, info: FieldInfo) -> Any:
    kind = info.annotation
    if get_origin(kind) in {Union, types.UnionType}:
        if dice.random() < (0.85 if name in LEFT_OPEN else 0.5):
            return None
        kind = next(a for a in get_args(kind) if a is not types.NoneType)
    if kind is bool:
        return dice.random() < 0.4
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return dice.choice(list(kind))
    if kind in {int, float}:
        return number(dice, *limits(info), kind is int)
    return info.default


def any_of(dice: random.Random, kind: type[BaseModel], **fixed: Any) -> Any:
    drawn = {n: any_value(dice, n, i) for n, i in kind.model_fields.items() if get_origin(i.annotation) is not Literal}
    return kind(**(drawn | fixed))


def any_machine(dice: random.Random, catalog: Catalog) -> MachineChoice:
    if dice.random() < 0.6:
        return MachineChoice(
            instance_id=dice.choice(list(catalog.instances)), nodes=dice.choice([1, 1, 2, 8, MOST_GPUS])
        )
    each = dice.choice([1, 2, 4, 8, 8, 72, 128])
    count = dice.choice([1, 1, 2, 16, MOST_GPUS // each])
    return MachineChoice(gpu_id=dice.choice(list(catalog.gpus)), gpus=each * count, per_node=each)


def figures(made: Estimate) -> Iterator[tuple[str, Figure]]:
    memory = made.memory
    yield from (("usable", memory.usable), ("needed", memory.needed), ("reserved", memory.reserved))
    for phase in memory.phases:
        yield from ((f"{phase.id}.{part.id}", part.figure) for part in phase.parts)
        yield f"{phase.id}.total", phase.total
    yield from ((f"time.{part.id}", part.figure) for part in made.time)
    yield from made.metrics.items()
    yield from ((f"host.{need.id}", need.need) for need in made.host)


def check_sentence(refused: InputError) -> None:
    for translator in TRANSLATORS:
        assert 0 < len(translator.text(refused.message)) < 600


def check_figures(made: Estimate) -> None:
    for name, figure in figures(made):
        assert all(math.isfinite(value) and value >= 0 for value in (figure.low, figure.value, figure.high)), name
        assert figure.low <= figure.value * (1 + 1e-9), name
        assert figure.value <= figure.high * (1 + 1e-9), name
        if figure.unit == "ratio":
            assert figure.high <= 1 + 1e-9, name


def check_bounds(made: Estimate) -> None:
    """No range passes what its quantity can be: the clients there are, the GPU's memory, its power limit."""
    gpu, metrics = made.machine.gpu, made.metrics
    memory, power = gpu.known(GpuProperty.MEMORY_BYTES), gpu.known(GpuProperty.POWER_W)
    if memory is not None:
        assert made.memory.usable.high <= max(memory.value, made.memory.usable.value)
    if "power_w" in metrics and power is not None:
        assert metrics["power_w"].high <= made.machine.gpus * power.value * (1 + 1e-9)
    work = made.plan.workload
    if isinstance(work, Serving) and "resident_sequences" in metrics and work.concurrency is not None:
        assert metrics["resident_sequences"].high <= work.concurrency
        assert metrics["resident_sequences"].low >= 1


def check_memory(made: Estimate) -> None:
    memory = made.memory
    assert memory.needed.value > 0
    assert memory.usable.value > 0
    if made.fit is not Fit.DOES_NOT_FIT:
        assert memory.free >= 0
    for phase in memory.phases:
        parts = sum(part.figure.value for part in phase.parts)
        assert parts == pytest.approx(phase.total.value, rel=1e-6), phase.id
    peak = max(phase.total.value for phase in memory.phases)
    assert memory.needed.value == pytest.approx(peak, rel=1e-6)


def check_way(made: Estimate) -> None:
    way = made.way
    assert way.tensor_parallel * way.pipeline_parallel <= made.machine.gpus
    assert way.replicas >= 1
    assert way.data_parallel >= 1
    if made.time:
        assert sum(share for _, share in made.limits) == pytest.approx(1)
        assert all(0 <= share <= 1 + 1e-9 for _, share in made.limits)


def any_constraints(dice: random.Random) -> Constraints:
    drawn: Constraints = any_of(dice, Constraints) if dice.random() < 0.3 else Constraints()
    return drawn


def sensible_estimates(
    draw: Callable[[], tuple[Plan, Any]], catalog: Catalog, efficiencies: Efficiencies
) -> Iterator[tuple[Estimate, Any]]:
    """The estimates of so many drawn plans, each with its subject, all of sense; the others are refused in a sentence.

    `draw`: a plan with its machine, and what its workload runs.
    """
    estimated = 0
    for _ in range(PLANS_EACH):
        plan, subject = draw()
        assert plan.machine is not None
        try:
            machine = machine_of(plan.machine, catalog, catalog.currencies)
            made = estimate(plan, subject, machine, efficiencies)
        except InputError as refused:
            check_sentence(refused)
            continue
        estimated += 1
        for check in (check_figures, check_bounds, check_memory, check_way):
            try:
                check(made)
            except AssertionError as wrong:
                raise AssertionError(json.dumps(plan.model_dump(mode="json", exclude_defaults=True))) from wrong
        yield made, subject
    assert estimated >= 10
