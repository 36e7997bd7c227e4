"""What the operators of a plan multiply and move, out of the derivation of its estimate. Computes no new estimate."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpuplanner.engine.estimate import Estimate, Limit, Part
from gpuplanner.engine.formulas.gemm import matrix_flops, multiply_seconds, overlapped_seconds
from gpuplanner.figures import Step, described
from gpuplanner.units import Unit

_ON_GPU = frozenset({Limit.COMPUTE, Limit.HBM})
_MULTIPLY, _MATRIX = described(multiply_seconds).id, described(matrix_flops).id
_SHARES = ("hbm_share", "hbm_efficiency")


@dataclass(frozen=True, slots=True)
class Operator:
    """Parts of a step that are one work: `ids` of the estimate's parts, by which `part.<id>` names them.

    `flop` and `moved_bytes` of one pass on one GPU, 0 where the engine counts none; `seconds` for both together. Rows
    that only pad a matrix do no work and are not among the FLOP.
    `peak_flop_per_s`: of the arithmetic that it multiplies in.
    """

    ids: tuple[str, ...]
    flop: float
    moved_bytes: float
    seconds: float
    peak_flop_per_s: float

    @property
    def flop_per_s(self) -> float:
        """The predicted rate; 0 where no FLOP are counted."""
        return self.flop / self.seconds if self.seconds else 0.0


def operators(planned: Estimate) -> tuple[Operator, ...]:
    """The operators that work on the GPU's units and memory, in the order of the estimate. Wants derivations."""
    found: dict[tuple[float, float], Operator] = {}
    for part in planned.time:
        made = _operator(part) if part.limit in _ON_GPU else None
        if made is None:
            continue
        key = made.flop, made.moved_bytes
        before = found.get(key)
        found[key] = made if before is None else _joined(before, made)
    return tuple(found.values())


def _joined(first: Operator, second: Operator) -> Operator:
    return Operator(
        (*first.ids, *second.ids), first.flop, first.moved_bytes, max(first.seconds, second.seconds),
        first.peak_flop_per_s,
    )  # fmt: skip


def _operator(part: Part) -> Operator | None:
    step = part.figure.derivation
    if step is None:
        return None
    flop, multiply_s, moved, read_s, peak, loss = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for each in _unlike(_walk(step)):
        values = {argument.name: argument.value for argument in each.arguments}
        loss = max(loss, float(values.get("overlap_loss", 0.0)))
        if each.formula.id == _MULTIPLY:
            flop += (values["flops"] - _padding(each)) * values["passes"]
            multiply_s += each.value
            peak = max(peak, values["flop_per_s"])
        elif (share := _share(values)) is not None:
            moved += each.value * values["hbm_bytes_per_s"] * share
            read_s += each.value
    if not flop and not moved:
        return None
    return Operator((part.id,), flop, moved, float(overlapped_seconds(read_s, multiply_s, loss)), peak)


def _padding(multiply: Step) -> float:
    """FLOP of the rows that pad the matrices of a multiplication."""
    total = 0.0
    for step in _below(multiply):
        if step.formula.id == _MATRIX:
            values = {argument.name: argument.value for argument in step.arguments}
            empty = min(values["padding_tokens"], 4.0 * values["tokens"])
            total += step.value * empty / (values["tokens"] + empty)
    return total


def _below(step: Step) -> Iterator[Step]:
    for argument in step.arguments:
        if argument.step is not None:
            yield argument.step
            yield from _below(argument.step)


def _share(values: dict[str, float]) -> float | None:
    """Of its rate, what a step that moves bytes of the GPU's memory reaches; None of another step."""
    if "hbm_bytes_per_s" not in values:
        return None
    return next((values[name] for name in _SHARES if name in values), None)


def _walk(step: Step) -> Iterator[Step]:
    """The step and those below it, but not below what multiplies or moves: that is counted whole."""
    yield step
    if step.formula.id == _MULTIPLY or _share({each.name: each.value for each in step.arguments}) is not None:
        return
    for argument in step.arguments:
        if argument.step is not None:
            yield from _walk(argument.step)
    for inner in step.inner:
        yield from _walk(inner)


def _unlike(steps: Iterator[Step]) -> Iterator[Step]:
    """Each step of seconds once, although several others may take its value."""
    seen: set[int] = set()
    for step in steps:
        if id(step) not in seen and step.formula.unit is Unit.SECOND:
            seen.add(id(step))
            yield step
