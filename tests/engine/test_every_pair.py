"""Every kind of work with every model on every kind of machine: a search computes what an estimate does, and no less.

A sample of the pairs here, all of them in `make walk`; see `whole_catalog.py`.
"""

import inspect
import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any, get_origin

import numpy as np
import pytest

from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.engine.estimate import Estimate
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.machines import choice_of
from gpuplanner.engine.search.checks import Failure, passing
from gpuplanner.engine.search.own import OF_MEMORY
from gpuplanner.engine.search.result import Broken
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Argument, Step, described, recording
from gpuplanner.messages import InputError
from gpuplanner.workspace import Workspace
from tests.engine.any_plans import check_bounds, check_figures, check_memory, check_sentence, check_way
from tests.engine.formulas.test_every_formula import FORMULAS
from tests.engine.whole_catalog import WALK, Pair, pairs

IN_BLOCKS = (
    "apart-70b",
    "chat-70b",
    "drafted-70b",
    "finetune-8b",
    "lora-70b",
    "moe-deepseek",
    "pretrain-7b",
    "qlora-8b",
)
"""Presets whose ways a search works out in blocks."""
ONE_EACH = (
    "animation", "apart-70b", "chat-70b", "diffusion-sdxl", "diffusion-training", "flow", "live-video", "lora-70b",
    "pretrain-7b", "stencil", "transcribe", "vision-resnet50-training", "vision-yolo-inference",
)  # fmt: skip
"""Presets of all kinds of work."""
RECORDED = 1 if WALK else 24
"""One of so many pairs is recorded formula by formula, and is estimated without each fact that its machine has."""
CALLS_EACH = 400
"""Of each formula so many calls with numbers of their own are run again."""
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


def made(pair: Pair, workspace: Workspace) -> Estimate | None:
    """The estimate; None where it is refused, which says why."""
    plan = pair.plan.model_copy(update={"machine": choice_of(pair.machine)})
    try:
        return estimate(plan, pair.subject, pair.machine, workspace.efficiencies)
    except InputError as refused:
        check_sentence(refused)
        return None


@pytest.mark.parametrize("preset", IN_BLOCKS)
def test_a_search_computes_what_an_estimate_does(preset: str, workspace: Workspace) -> None:
    compared = 0
    for pair in pairs(workspace, preset, start=7 * IN_BLOCKS.index(preset)):
        plan = pair.plan
        space = KINDS[plan.workload.kind].space(plan, pair.subject, workspace.efficiencies)
        try:
            prepared = space.prepare(pair.machine)
        except (MissingFactError, InputError):
            continue
        if prepared is None:
            continue
        (computed,) = space.compute([prepared])
        memory = [check for check in computed.checks if check.broken in OF_MEMORY | {Broken.LAYOUT}]
        fits = passing(np.ones(computed.nodes.shape, dtype=bool), memory)
        if computed.results is None or isinstance(fits, Failure):
            continue
        tried = np.flatnonzero(fits)
        for place in {int(tried[0]), int(tried[len(tried) // 2]), int(tried[-1])}:
            candidate = space.candidate(pair.machine, computed, place)
            full = estimate(candidate.plan, pair.subject, candidate.machine, workspace.efficiencies)
            told = f"{pair.name} on {candidate.machine.gpu.id}: {candidate.way}"
            assert full.fit is candidate.fit, told
            assert full.memory.free == pytest.approx(candidate.free_bytes, rel=1e-9, abs=1.0), told
            for name, value in candidate.metrics.items():
                assert full.metrics[name].value == pytest.approx(value, rel=1e-9), f"{told}: {name}"
            compared += 1
    assert compared > 50


@pytest.mark.parametrize("preset", ONE_EACH)
def test_every_number_is_of_sense_and_of_its_unit(preset: str, workspace: Workspace) -> None:
    estimated = 0
    units: dict[str, set[str]] = defaultdict(set)
    for pair in pairs(workspace, preset, start=11 * ONE_EACH.index(preset)):
        found = made(pair, workspace)
        if found is None:
            continue
        for check in (check_figures, check_bounds, check_memory, check_way):
            try:
                check(found)
            except AssertionError as wrong:
                raise AssertionError(f"{pair.name} on {pair.machine.gpu.id}") from wrong
        for name, figure in found.metrics.items():
            units[name].add(figure.unit.value)
        estimated += 1
    assert estimated > 30
    assert {name: found for name, found in units.items() if len(found) > 1} == {}
    kind = KINDS[workspace.presets[preset].workload.kind]
    shown = {name: unit.value for name, unit in (*kind.columns, *kind.aside)}
    assert {name: found for name, found in units.items() if name in shown and found != {shown[name]}} == {}


def steps(kept: list[Step]) -> Iterator[Step]:
    """All calls of formulas, whichever stands below which."""
    for step in kept:
        yield step
        yield from steps(list(step.inner))
        yield from steps([argument.step for argument in step.arguments if argument.step])


@cache
def takes(formula: Callable[..., Any]) -> tuple[str, ...]:
    """The names of its numbers; nothing of a formula that takes a tuple of them: of one it stands as a number."""
    found = inspect.signature(formula).parameters
    return () if any(get_origin(each.annotation) is tuple for each in found.values()) else tuple(found)


def values(step: Step, names: tuple[str, ...]) -> tuple[float, ...] | None:
    """What a formula was called with; None where that were not just numbers, one for each name."""
    given: list[Argument] = list(step.arguments)
    if tuple(argument.name for argument in given) != names:
        return None  # a tuple stands as so many arguments of its name
    numbers = [argument.value for argument in given]
    plain = all(isinstance(number, int | float) and not isinstance(number, bool) for number in numbers)
    return tuple(map(float, numbers)) if plain and all(map(math.isfinite, numbers)) else None


def test_every_formula_gives_arrays_what_it_gives_floats(workspace: Workspace) -> None:
    by_id = {described(formula).id: formula for formula in FORMULAS}
    calls: dict[str, dict[tuple[float, ...], float]] = defaultdict(dict)
    for preset in workspace.presets:
        for pair in pairs(workspace, preset, start=5)[:: 12 * RECORDED]:
            with recording() as kept:
                made(pair, workspace)
            for step in steps(kept.steps):
                known = calls[step.formula.id]
                formula = by_id.get(step.formula.id)
                if formula is None or len(known) >= CALLS_EACH or not isinstance(step.value, int | float):
                    continue
                given = values(step, takes(formula))
                if given:
                    known[given] = float(step.value)
    run = 0
    for name, known in calls.items():
        if not known:
            continue
        columns = [np.array(column) for column in zip(*known, strict=True)]
        together = np.broadcast_to(np.asarray(by_id[name](*columns), dtype=float), len(known))
        assert together == pytest.approx(list(known.values()), rel=ROUNDING), name
        run += 1
    assert run > 150


USED_ASIDE = frozenset({GpuProperty.MEMORY_REPORTED_BYTES, GpuProperty.MEMORY_USABLE_BYTES})
"""What stands in for each other, the nearest that is known: usable memory, reported memory, nominal memory."""


def numbers(found: Estimate) -> dict[str, float]:
    told = {name: figure.value for name, figure in found.metrics.items()}
    return told | {"needed": found.memory.needed.value} | {f"part {part.id}": part.figure.value for part in found.time}


SIXTEEN_BITS = frozenset({GpuProperty.FP16_FLOP_PER_S, GpuProperty.FP16_ACC16_FLOP_PER_S})


def is_slower(whole: Estimate, without: Estimate) -> bool:
    before, after = (sum(part.figure.value for part in found.time) for found in (whole, without))
    return before <= after * (1 + ROUNDING)


@pytest.mark.parametrize("preset", ONE_EACH)
def test_a_fact_that_is_not_known_is_never_replaced_in_silence(preset: str, workspace: Workspace) -> None:
    """Without it the estimate is the same, is refused, says what it lacks or takes instead, or is less sure.

    A GPU without a rate in 16 bits has no units for it: the work runs on those it has, which is never quicker.
    """
    tried = 0
    for pair in pairs(workspace, preset, start=3)[::RECORDED]:
        whole = made(pair, workspace)
        if whole is None:
            continue
        gpu = pair.machine.gpu
        for name in gpu.properties.keys() - USED_ASIDE:
            rest = {known: value for known, value in gpu.properties.items() if known != name}
            without = made(replace(pair, machine=replace(pair.machine, gpu=replace(gpu, properties=rest))), workspace)
            tried += 1
            if without is None or numbers(without) == numbers(whole):
                continue
            missing = set(numbers(whole)) - set(numbers(without))
            told = set(without.unknown) - set(whole.unknown) or set(without.remarks) - set(whole.remarks)
            doubtful = any(
                figure.why != whole.metrics[metric].why or figure.rung != whole.metrics[metric].rung
                for metric, figure in without.metrics.items()
                if metric in whole.metrics
            )
            slower = name in SIXTEEN_BITS and is_slower(whole, without)
            assert missing or told or doubtful or slower, f"{pair.name} on {gpu.id} without {name}"
    assert tried > 20
