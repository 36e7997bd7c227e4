"""Fits the tables vision, vision_relatives and vision_tasks to the public measurements, and says how far off it is.

Run as `python -m tests.accuracy.fit_vision` from the root of the checkout; `--left-out` fits again without each file,
each GPU and each family of networks, and shows what it then says of them; `--write` does so and writes the tables.

A step is what the engine makes of it (`vision_numbers.step_seconds`); what moves is what GPUs reach, and for each
family of networks its bytes an activation and its compute factor. Both are fitted in turn, with a pull to the usual.
"""

import csv
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gpuplanner.catalog.efficiency import read_efficiencies
from gpuplanner.catalog.names import names_of
from gpuplanner.catalog.networks import Operators
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.engine.validation.names import ResolvedNames
from gpuplanner.engine.validation.rows import Row, ValidationContext
from gpuplanner.engine.validation.vision_rows import PlacedVision, placed_vision
from gpuplanner.engine.validation.vision_tasks import placed_task, rate_of
from gpuplanner.engine.vision_numbers import step_seconds
from gpuplanner.engine.vision_relatives import OPERATORS_OF
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung
from gpuplanner.messages import InputError
from gpuplanner.workload.vision import VisionJob, VisionPrecision, VisionRuntime
from tests.accuracy import vision_tables as tables
from tests.accuracy.least_squares import Vector, solve

ROOT = Path(__file__).resolve().parents[2]
CATALOGS = ROOT / "catalogs"
TABLES = CATALOGS / "efficiency"
MEASUREMENTS = CATALOGS / "measurements"
TIMM = "huggingface/pytorch-image-models"
ROUNDS = 4
ROBUST, NOISE = 0.15, 0.08
"""Residuals above the first count linearly; the second is what a measurement is off by itself."""
USUAL = np.log([1.05, 16.0, 0.42, 4.6, 0.02])
LOOSE = np.array([0.25, 0.6, 0.35, 0.3, 1e-3])
LOOSE_TASK = np.array([0.4, 1e-3, 1e-3, 1.5, 1.5])
"""Compute factor, bytes an activation eager, how many times that compiled and trained, host seconds of a step: the
usual, and how far from it."""
REACH = np.log([0.7, 0.7, 0.85])
LOOSE_REACH = np.array([0.1, 0.1, 0.033])
"""Of a GPU: utilisation in 16 and 32 bits, share of the bandwidth."""
RETRIED = 24 * 2.0**30
"""Bytes of the GPU on which the batches were halved until they fit."""


@dataclass
class Point:
    """One measured step."""

    file: str
    source: str
    family: str
    gpu_id: str
    chip: str
    seconds: float
    mode: str
    wide: bool
    place: PlacedVision
    task: bool
    row: Row


@dataclass
class Fit:
    """What was fitted."""

    families: dict[str, Vector] = field(default_factory=dict)
    gpus: dict[str, Vector] = field(default_factory=dict)
    hidden: tuple[float, float] = (0.5, 0.5)
    width_factor: float = 1.4


def read_points() -> tuple[list[Point], ValidationContext]:
    catalog = load_catalog(CATALOGS)
    tables = read_efficiencies(TABLES)
    context = ValidationContext(ResolvedNames(catalog, names_of(catalog)), tables, catalog.gpus, catalog.models)
    found = []
    for name in ("inference_vision", "training_vision", "training_other"):
        with (MEASUREMENTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            for number, cells in enumerate(csv.DictReader(file), start=2):
                row = Row(f"{name}.csv", number, cells)
                try:
                    found.append(_point(row, context))
                except (InputError, MissingFactError):
                    continue
    return found, context


def _point(row: Row, context: ValidationContext) -> Point:
    task = row.file == "training_other.csv"
    if task:
        place, rate = placed_task(row, context), rate_of(row)
    else:
        job = VisionJob.INFERENCE if row.file.startswith("inference") else VisionJob.TRAINING
        place, rate = placed_vision(row, context, job), row.required("measured_img_per_s")
    family = place.name if task else place.network.relatives
    mode = "trained" if place.numbers.trained else place.work.runtime.value
    gpus = 1 if place.rate_of_one else place.machine.gpus
    gpu = place.machine.gpu
    wide = place.work.precision in {VisionPrecision.TF32, VisionPrecision.FP32}
    seconds = place.batch * gpus / rate
    file = row.source
    if file == TIMM:
        file = f"timm {'training' if place.numbers.trained else place.work.runtime} {gpu.name}"
    return Point(file, row.source, family, gpu.id, gpu.chip or gpu.architecture, seconds, mode, wide, place, task, row)


def metric_of(point: Point) -> str:
    """The column that a point is from."""
    return "measured_throughput" if point.task else "measured_img_per_s"


def range_of(point: Point) -> str:
    """Whose range a point speaks for."""
    return "vision tasks" if point.task else "vision"


def predicted(points: list[Point], fit: Fit, reach: dict[str, Vector] | None = None) -> Vector:
    """Seconds of each point, with these families and GPUs."""
    return _seconds(
        points,
        np.array([fit.families[p.family] for p in points]),
        np.array([(reach or fit.gpus)[p.gpu_id] for p in points]),
        fit.hidden,
        fit.width_factor,
    )


def _seconds(points: list[Point], families: Vector, gpus: Vector, hidden: tuple[float, float], width: float) -> Vector:
    sizes = _sizes(points)
    wide = sizes["wide"]
    modes = np.where(sizes["compiled"] & sizes["trained"], 3, np.where(sizes["trained"], 2, sizes["compiled"] * 1))
    eager, compiled, trained = families[:, 1], families[:, 2], families[:, 3]
    moved = eager * np.choose(modes, [np.ones_like(eager), compiled, trained, trained * compiled])
    first = points[0].place
    network = replace(
        first.numbers,
        image_macs=sizes["macs"], image_activations=sizes["activations"], parameters=sizes["parameters"],
        layers=sizes["layers"], passes=sizes["passes"], compute_factor=families[:, 0], bytes_per_activation=moved,
        width_factor=np.where(wide, np.where(sizes["own_width"] > 0, sizes["own_width"], width), 1.0),
        repeated=1.0, kernels_per_layer=sizes["kernels"], host_s=np.where(sizes["task"], families[:, 4], 0.0),
        step_bytes_per_parameter=sizes["step_bytes"],
    )  # fmt: skip
    gpu = replace(
        first.gpu,
        flop_per_s=sizes["flop_per_s"], utilisation=np.where(wide, gpus[:, 1], gpus[:, 0]),
        hbm_bytes_per_s=sizes["hbm"], hbm_share=gpus[:, 2], kernel_s=sizes["kernel_s"],
        hidden_share=np.where(sizes["nodes"] > 1, hidden[1], hidden[0]),
    )  # fmt: skip
    return np.asarray(step_seconds(network, gpu, sizes["batch"], sizes["exchange"]).whole)


_KEPT: dict[int, dict[str, Any]] = {}


def _sizes(points: list[Point]) -> dict[str, Any]:
    key = id(points)
    if key not in _KEPT:
        columns: dict[str, list[Any]] = defaultdict(list)
        for p in points:
            n, g = p.place.numbers, p.place.gpu
            for name, value in (
                ("macs", n.image_macs), ("activations", n.image_activations), ("parameters", n.parameters),
                ("layers", n.layers), ("passes", n.passes), ("kernels", n.kernels_per_layer),
                ("step_bytes", n.step_bytes_per_parameter), ("flop_per_s", g.flop_per_s), ("hbm", g.hbm_bytes_per_s),
                ("kernel_s", g.kernel_s), ("batch", p.place.batch), ("exchange", p.place.exchange_s),
                ("nodes", p.place.machine.nodes), ("wide", p.wide),
                ("trained", n.trained), ("compiled", p.place.work.runtime is VisionRuntime.COMPILED), ("task", p.task),
                ("own_width", n.width_factor if p.task and p.wide else 0.0),
            ):  # fmt: skip
                columns[name].append(value)
        kept: dict[str, Any] = {name: np.array(values) for name, values in columns.items()}
        kept["points"] = points  # keeps the list alive, whose identity is the key
        _KEPT[key] = kept
    return _KEPT[key]


def fitted(points: list[Point]) -> Fit:
    """The fit to these points."""
    fit = Fit(gpus={p.gpu_id: np.exp(REACH) for p in points}, families={p.family: np.exp(USUAL) for p in points})
    groups: dict[str, list[Point]] = defaultdict(list)
    for point in points:
        groups[point.family].append(point)
    seconds = np.array([p.seconds for p in points])
    weights = np.array([1.0 if p.task or p.source != TIMM else 0.25 for p in points])
    gpus = sorted(fit.gpus)
    place_of = np.array([gpus.index(p.gpu_id) for p in points])
    for _ in range(ROUNDS):
        for name, own in groups.items():
            fit.families[name] = _family(own, fit)
        families = np.array([fit.families[p.family] for p in points])
        reached = np.log(np.array([fit.gpus[g] for g in gpus])).ravel()
        start = np.concatenate([reached, [*map(_logit, fit.hidden), math.log(fit.width_factor)]])
        usual = np.concatenate([np.tile(REACH, len(gpus)), [0.0, 0.0, math.log(1.6)]])
        loose = np.concatenate([np.tile(LOOSE_REACH, len(gpus)), [0.5, 1.5, 0.1]])

        def off(x: Vector) -> Vector:
            reach = np.exp(x[:-3]).reshape(-1, 3)[place_of]
            made = _seconds(points, families, reach, _shares(x), math.exp(x[-1]))  # noqa: B023 -- used at once
            soft = weights * _soft(np.log(made / seconds)) / NOISE
            return np.concatenate([soft, (x - usual) / loose])  # noqa: B023 -- used at once

        x = solve(off, start, iterations=12)
        fit.gpus = dict(zip(gpus, np.exp(x[:-3]).reshape(-1, 3), strict=True))
        fit.hidden, fit.width_factor = _shares(x), math.exp(x[-1])
    return fit


def _family(own: list[Point], fit: Fit) -> Vector:
    seconds = np.array([p.seconds for p in own])
    reach = np.array([fit.gpus[p.gpu_id] for p in own])
    usual = USUAL if own[0].task else np.array([*USUAL[:4], math.log(1e-9)])
    loose = LOOSE_TASK if own[0].task else LOOSE

    def off(x: Vector) -> Vector:
        made = _seconds(own, np.tile(np.exp(x), (len(own), 1)), reach, fit.hidden, fit.width_factor)
        return np.concatenate([_soft(np.log(made / seconds)) / NOISE, (x - usual) / loose])

    return np.exp(solve(off, np.log(fit.families[own[0].family]) if own[0].task else usual.copy(), iterations=15))


def _soft(logs: Vector) -> Vector:
    return np.sign(logs) * np.sqrt(2 * ROBUST**2 * (np.sqrt(1 + (logs / ROBUST) ** 2) - 1))


def _logit(share: float) -> float:
    return math.log(share / (1 - share))


def _shares(x: Vector) -> tuple[float, float]:
    return 1 / (1 + math.exp(-x[-3])), 1 / (1 + math.exp(-x[-2]))


def ladder(fit: Fit, points: list[Point]) -> dict[str, Vector]:
    """What GPUs reach by chip, by architecture ("architecture Ampere"), and of any ("")."""
    chips: dict[str, list[Vector]] = defaultdict(list)
    above = {p.chip: f"architecture {p.place.machine.gpu.architecture}" for p in points}
    for gpu, chip in {p.gpu_id: p.chip for p in points}.items():
        chips[chip].append(np.log(fit.gpus[gpu]))
    of_chips = {chip: np.mean(values, axis=0) for chip, values in chips.items()}
    steps: dict[str, list[Vector]] = defaultdict(list)
    for chip, value in of_chips.items():
        steps[above[chip]].append(value)
        steps[""].append(value)
    return {name: np.exp(v) for name, v in of_chips.items()} | {n: np.exp(np.mean(v, axis=0)) for n, v in steps.items()}


def usual_of(fit: Fit, family: str) -> Vector:
    """The middle of the families with the same operators, else what is usual of all."""
    wanted = OPERATORS_OF.get(family, Operators.MIXED)
    own = [v for name, v in fit.families.items() if OPERATORS_OF.get(name) is wanted]
    return np.asarray(np.exp(np.median(np.log(own), axis=0) if own else [*USUAL[:4], math.log(1e-9)]))


@dataclass(frozen=True, slots=True)
class LeftPoint:
    """A point that the fit did not know: what was left out, the rung that is left, ln(measured / predicted)."""

    point: Point
    left: str
    group: str
    rung: Rung
    off: float


LEFT: dict[str, Callable[[Point], str]] = {
    "source": lambda p: p.source,
    "run": lambda p: p.file,
    "gpu": lambda p: p.gpu_id,
    "chip": lambda p: p.chip,
}
"""What is left out of a fit at a time."""
FAMILY = "family"
SPEAKS = {("run", Rung.SAME_GPU), ("gpu", Rung.SAME_ARCHITECTURE), ("chip", Rung.OTHER_ARCHITECTURE)}
"""What was left out for the ranges of each rung; those of networks without relatives are on the last one too."""


def left_out(points: list[Point]) -> Iterator[LeftPoint]:
    """Every point as the others alone predict it: without its source, run, GPU, chip, or family of networks."""
    for left, key in LEFT.items():
        for group in sorted({key(p) for p in points}):
            kept = [p for p in points if key(p) != group]
            yield from _of_others([p for p in points if key(p) == group], kept, fitted(kept), left, group)
    whole = fitted(points)
    for family in sorted({p.family for p in points if not p.task}):
        kept = [p for p in points if p.family != family]
        fit = replace(whole, families={n: v for n, v in whole.families.items() if n != family})
        yield from _of_others([p for p in points if p.family == family], kept, fit, FAMILY, family)


def _of_others(own: list[Point], kept: list[Point], fit: Fit, left: str, group: str) -> Iterator[LeftPoint]:
    """The points of a group, but benchmarks that nobody else measured, whose sizes alone say too little."""
    own = [p for p in own if p.family in fit.families or not p.task]
    if not own:
        return
    steps = ladder(fit, kept)
    families = {p.family: fit.families.get(p.family, usual_of(fit, p.family)) for p in own}
    reach = {p.gpu_id: fit.gpus.get(p.gpu_id, steps[_step(p, steps)]) for p in own}
    made = predicted(own, replace(fit, families=families), reach)
    for point, seconds in zip(own, made, strict=True):
        rung = Rung.SAME_GPU if point.gpu_id in fit.gpus else Rung.SAME_ARCHITECTURE
        if point.family not in fit.families or (point.gpu_id not in fit.gpus and not _step(point, steps)):
            rung = Rung.OTHER_ARCHITECTURE
        yield LeftPoint(point, left, group, rung, math.log(point.seconds / float(seconds)))


def _step(point: Point, steps: dict[str, Vector]) -> str:
    """The nearest step of the ladder that a GPU without measurements stands on."""
    own = (point.chip, f"architecture {point.place.machine.gpu.architecture}")
    return next((step for step in own if step in steps), "")


def _speaks_for(x: LeftPoint, rung: Rung) -> bool:
    """Of benchmarks a run is all that is known, so that other GPUs speak for the same one too."""
    if x.point.task and rung is Rung.SAME_GPU:
        return x.left in {"run", "gpu"}
    return x.rung is rung and ((x.left, rung) in SPEAKS or x.left == FAMILY)


def _residuals(points: list[Point], fit: Fit) -> list[float]:
    made = predicted(points, fit)
    return [math.log(p.seconds / float(m)) for p, m in zip(points, made, strict=True)]


def held_points(points: list[Point], training: bool) -> dict[str, list[float]]:
    """By family, bytes an activation at the peak, from the largest batches that fitted: timm's benchmark tries ever
    smaller ones, two in each halving, so that the peak with this batch is below the memory and with the next above."""
    start = 512 if training else 1024
    found: dict[str, list[float]] = defaultdict(list)
    for p in points:
        n = p.place.numbers
        compiled = p.place.work.runtime is VisionRuntime.COMPILED
        if p.task or n.trained is not training or compiled or p.source != TIMM:
            continue
        batch = int(p.place.batch)
        if batch >= start:
            continue
        middle = math.sqrt(batch * _next_batch(batch))
        states = float(n.parameters) * (n.bytes_per_weight + n.bytes_per_gradient + n.bytes_per_state)
        left = 0.96 * RETRIED - PROCESS_BYTES - states - 12.0 * float(n.image_px) ** 2 * middle
        if left > 0:
            found[p.family].append(float(left / (float(n.image_activations) * middle)))
    return found


def held_bytes(points: list[Point], training: bool) -> dict[str, float]:
    """By family, the middle of them."""
    return {name: float(np.median(values)) for name, values in held_points(points, training).items()}


def held_residuals(points: list[Point]) -> dict[Rung, list[tuple[str, float]]]:
    """ln(bytes / predicted) by what the other networks of the family say, or what other families of its operators do.

    Of trainings, where nearly all of the memory is activations.
    """
    by_family = held_points(points, True)
    found: dict[Rung, list[tuple[str, float]]] = defaultdict(list)
    for name, values in by_family.items():
        for place, value in enumerate(values):
            others = values[:place] + values[place + 1 :]
            if others:
                found[Rung.SAME_GPU].append((name, math.log(value / float(np.median(others)))))
        kind = OPERATORS_OF.get(name)
        alike = [float(np.median(v)) for n, v in by_family.items() if n != name and OPERATORS_OF.get(n) is kind]
        if alike:
            usual = float(np.median(alike))
            found[Rung.OTHER_ARCHITECTURE] += [(name, math.log(value / usual)) for value in values]
    return found


def activation_ratios(points: list[Point]) -> dict[str, tuple[float, float]]:
    """By family, multiply-adds an activation at 20,000 of them a pixel, and the power by which activations grow."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for p in points:
        if not p.task and not p.place.numbers.trained:
            n = p.place.numbers
            pixels = float(n.image_px) ** 2
            found[p.family].append(
                (math.log(float(n.image_macs) / pixels / 20_000), math.log(float(n.image_activations) / pixels))
            )
    return {name: _power(np.array(pairs)) for name, pairs in found.items()}


def _power(pairs: Vector) -> tuple[float, float]:
    """A line through logarithms, with a pull to the power of networks that are widened and deepened alike."""
    x, y = pairs[:, 0], pairs[:, 1]
    spread = float(((x - x.mean()) ** 2).sum())
    power = (float(((x - x.mean()) * (y - y.mean())).sum()) + USUAL_POWER * 0.5) / (spread + 0.5)
    power = min(max(power, 0.3), 1.2)
    at_one = float(np.median(y - power * x))
    return 20_000 / math.exp(at_one), power


USUAL_POWER = 0.7
PROCESS_BYTES = 1.0e9
"""The context, and what convolutions work in."""


def _next_batch(batch: int) -> int:
    steps = sorted({2**i for i in range(12)} | {3 * 2**i for i in range(11)})
    return int(next(step for step in steps if step > batch))


def summary(groups: Iterable[tuple[str, float]]) -> str:
    logs = np.abs([r for _, r in groups])
    return f"{len(logs):5}  median {np.median(logs):.3f}  p90 {np.quantile(logs, 0.9):.3f}"


def weighted_quantiles(residuals: list[tuple[str, float]]) -> tuple[float, float]:
    """The factors between which 80 % of the measurements lie, each group with the same weight."""
    groups: dict[str, list[float]] = defaultdict(list)
    for name, value in residuals:
        groups[name].append(value)
    ordered = sorted((value, 1 / len(values)) for values in groups.values() for value in values)
    passed = np.cumsum([w for _, w in ordered]) / sum(w for _, w in ordered)
    values = np.array([v for v, _ in ordered])
    low, high = (float(values[np.searchsorted(passed, share)]) for share in (0.1, 0.9))
    return math.exp(min(low, -0.02)), math.exp(max(high, 0.02))


def main() -> int:
    points, _ = read_points()
    fit = fitted(points)
    say(f"hidden {fit.hidden[0]:.3f}, over a network {fit.hidden[1]:.3f}  width_factor {fit.width_factor:.3f}")
    residuals = _residuals(points, fit)
    for file in sorted({p.file for p in points}):
        say(f"{file:60} {summary([('', r) for p, r in zip(points, residuals, strict=True) if p.file == file])}")
    for gpu, reach in sorted(fit.gpus.items()):
        own = [("", r) for p, r in zip(points, residuals, strict=True) if p.gpu_id == gpu]
        say(f"{gpu:32} {reach.round(3)} {summary(own)}")
    if "--left-out" not in sys.argv and "--write" not in sys.argv:
        return 0
    found = list(left_out(points))
    for left in (*LEFT, FAMILY):
        for group in sorted({x.group for x in found if x.left == left}) if left != FAMILY else ():
            own = [("", x.off) for x in found if (x.left, x.group) == (left, group)]
            say(f"without {left} {group:60} {summary(own)}")
        say(f"without {left:67} {summary([('', x.off) for x in found if x.left == left])}")
    spreads: dict[str, dict[Rung, tuple[float, float]]] = {"vision": {}, "vision tasks": {}}
    counts: dict[str, dict[Rung, int]] = {"vision": {}, "vision tasks": {}}
    for of, ends in spreads.items():
        for rung in (Rung.SAME_GPU, Rung.SAME_ARCHITECTURE, Rung.OTHER_ARCHITECTURE):
            speaks = [x for x in found if range_of(x.point) == of and _speaks_for(x, rung)]
            low, high = ends[rung] = weighted_quantiles([(x.group, x.off) for x in speaks])
            counts[of][rung] = len(speaks)
            say(f"{of}, {rung.value:24} 80 % of {len(speaks)} within {low:.2f} … {high:.2f}")
    if "--write" in sys.argv:
        write(points, fit, spreads, counts)
    return 0


def write(
    points: list[Point],
    fit: Fit,
    spreads: dict[str, dict[Rung, tuple[float, float]]],
    behind: dict[str, dict[Rung, int]],
) -> None:
    """The three tables."""
    gpus = {p.gpu_id: p.place.machine.gpu for p in points}
    in_bytes = {n: np.array([v[0], v[1], v[1] * v[2], v[1] * v[3], v[4]]) for n, v in fit.families.items()}
    networks = {name: v for name, v in in_bytes.items() if name in OPERATORS_OF}
    tasks = {p.family: in_bytes[p.family] for p in points if p.task}
    counts = Counter(p.family for p in points)
    modes = tables.grouped_modes([(p.family, p.mode) for p in points if not p.task])
    kept, live = held_bytes(points, True), held_bytes(points, False)
    usual_ratio = activation_ratios(points)
    usual = tables.usual_values(networks, modes, kept, live, usual_ratio)
    by_operators = {o: sum(counts[n] for n in networks if OPERATORS_OF[n] is o) for o in Operators}
    measured: dict[str, Counter[str]] = defaultdict(Counter)
    for p in points:
        measured[p.gpu_id]["tf32" if p.wide else "16 bits"] += 1
    held = held_residuals(points)
    memory = {rung: weighted_quantiles(values) for rung, values in held.items()}
    lines = [
        *tables.gpu_lines(
            fit.gpus,
            ladder(fit, points),
            measured,
            gpus,
        ),
        *tables.operators_lines(usual, by_operators),
        *(line for of in spreads for line in tables.range_lines(of, spreads[of], behind[of])),
        *tables.range_lines("memory", memory, {r: len(v) for r, v in held.items()}),
    ]
    tables.write_vision(lines, fit.hidden, fit.width_factor)
    tables.write_relatives(tables.relatives_lines(networks, counts, modes, kept, live, usual_ratio, usual))
    tables.write_tasks(tasks, counts)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
