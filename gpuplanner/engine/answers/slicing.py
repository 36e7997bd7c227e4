"""Which MIG slice or vGPU of one GPU carries a plan: the smallest that does, how many a GPU has, what one costs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.answers.answer import Answer, Cell, Line, Row, Table
from gpuplanner.engine.answers.asking import Asking
from gpuplanner.engine.answers.verdicts import verdict_cell
from gpuplanner.engine.answers.working import worked
from gpuplanner.engine.estimate import Estimate, Fit
from gpuplanner.engine.formulas.answers_cost import (
    gpu_usd_per_hour,
    parts_per_gpu,
    slice_cost_share,
    slice_usd_per_hour,
)
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.machine import Host, Machine, Topology
from gpuplanner.engine.machines import in_slices
from gpuplanner.figures import Figure
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.units import GIB, Unit
from gpuplanner.workload.plan import GpuSlice

MOST_VGPUS = 32
SMALLEST_VGPU_GB = 4
"""Frame buffers of vGPU types for compute are whole parts of the GPU's memory of at least so many gigabytes."""
ONE_GPU = ("tensor_parallel", "pipeline_parallel", "context_parallel", "attention_ranks", "expert_parallel")
"""Degrees that a slice, which works alone, has not."""


@dataclass(frozen=True, slots=True)
class _Case:
    name: Message
    per_gpu: int
    compute: Fraction
    memory: Fraction
    made: Estimate | None
    reason: Message | None = None

    @property
    def carries(self) -> bool:
        return self.made is not None and self.made.fit is not Fit.DOES_NOT_FIT and not self.made.unmet


@dataclass(frozen=True, slots=True)
class Slicing:
    """What the question is asked with. `profiles`: MIG profiles of the plan's GPU with shares of compute and memory.

    `boards`: what vGPU types call this GPU; `usd_per_hour`: of one whole GPU.
    """

    profiles: Mapping[str, tuple[Fraction, Fraction]] = field(default_factory=dict)
    boards: tuple[str, ...] = ()
    usd_per_hour: float | None = None

    def __call__(self, asking: Asking) -> Answer:
        """The answer: a row for each profile, the smallest that carries the plan marked."""
        gpu = asking.machine.gpu
        if asking.machine.slice is not None:
            raise InputError(msg("answers.slice.is_slice", gpu=gpu.name))
        cases = [*self._mig(asking, gpu), *self._vgpu(asking, gpu)]
        if not cases:
            raise InputError(msg("answers.slice.cannot", gpu=gpu.name))
        mig = [case for case in cases if case.made is None or case.made.machine.slice is not None]
        best = _smallest(mig) or _smallest(cases)
        hourly = self._hourly(asking)
        headline = KINDS[asking.plan.workload.kind].headline
        rows = tuple(Row(case.name, _cells(asking, case, headline, hourly), case is best) for case in cases)
        says = msg("answers.slice.none", gpu=gpu.name)
        if best is not None:
            says = msg("answers.slice.says", slice=best.name, count=best.per_gpu, gpu=gpu.name)
        lines = tuple(_lines(asking, best, hourly)) if best else ()
        return Answer(
            "slice",
            says,
            lines,
            Table(("slice", "fit", "memory_needed", headline, "per_gpu", "cost_share", "usd_per_hour"), rows),
            () if hourly else (msg("answers.slice.price_unknown", gpu=gpu.name),),
            tuple(self._remarks(cases)),
            best is not None,
        )

    def _mig(self, asking: Asking, gpu: Gpu) -> Iterator[_Case]:
        known = sorted(self.profiles.items(), key=lambda item: (item[1][1], item[1][0], item[0]))
        for profile, (compute, memory) in known:
            part = GpuSlice(profile=profile, compute=str(compute), memory=str(memory))
            name = msg("answers.slice.mig", profile=profile)
            yield self._tried(asking, in_slices(gpu, part), name, compute, memory)

    def _vgpu(self, asking: Asking, gpu: Gpu) -> Iterator[_Case]:
        size = gpu.known(GpuProperty.MEMORY_BYTES)
        if not self.boards or size is None:
            return
        whole_gb = round(size.value / GIB)
        for count in range(MOST_VGPUS, 0, -1):
            if whole_gb % count or whole_gb // count < SMALLEST_VGPU_GB:
                continue
            part = Fraction(1, count)
            machine = Machine(gpu, 1, 1, Topology.SINGLE, None, Host(), part)
            name = msg("answers.slice.vgpu", profile=f"{self.boards[0]}-{whole_gb // count}C")
            yield self._tried(asking, machine, name, part, part)

    def _tried(self, asking: Asking, machine: Machine, name: Message, compute: Fraction, memory: Fraction) -> _Case:
        count = int(min(1 / compute, 1 / memory))
        alone = {field: None for field in ONE_GPU if field in type(asking.plan.workload).model_fields}
        try:
            return _Case(name, count, compute, memory, asking.estimate(machine, **alone))
        except InputError as error:
            return _Case(name, count, compute, memory, None, error.message)

    def _hourly(self, asking: Asking) -> Figure | None:
        """What one whole GPU costs for an hour."""
        if self.usd_per_hour is not None:
            return asking.typed("usd_per_hour", self.usd_per_hour, Unit.MONEY_PER_HOUR)
        machine = asking.machine
        if machine.usd_per_hour is None or machine.gpu_fraction != 1:
            return None
        whole = asking.hourly(None)
        return None if whole is None else worked(gpu_usd_per_hour, whole, float(machine.gpus))

    def _remarks(self, cases: list[_Case]) -> Iterator[Message]:
        if self.profiles:
            yield msg("answers.slice.alone")
        if any(case.name.id == "answers.slice.vgpu" for case in cases):
            yield msg("answers.slice.vgpu_time")
            yield msg("answers.slice.vgpu_sizes")


def _smallest(cases: list[_Case]) -> _Case | None:
    """Of those that carry the plan the one with the least memory, then the least compute; not tight before tight."""
    carrying = [case for case in cases if case.carries]
    calm = [case for case in carrying if case.made is not None and case.made.fit is Fit.FITS]
    return min(calm or carrying, key=lambda case: (case.memory, case.compute), default=None)


def _cells(asking: Asking, case: _Case, headline: str, hourly: Figure | None) -> tuple[Cell, ...]:
    count, share, cost = _cost(asking, case, hourly)
    if case.made is None:
        return (case.reason, None, None, count, share, cost)
    return (verdict_cell(case.made), case.made.memory.needed, case.made.metrics.get(headline), count, share, cost)


def _cost(asking: Asking, case: _Case, hourly: Figure | None) -> tuple[Figure, Figure, Figure | None]:
    """How many of a GPU, the share of its cost that one bears, and that cost."""
    parts = (("compute_part", case.compute), ("memory_part", case.memory))
    count = worked(parts_per_gpu, *(asking.of_profile(term, float(part)) for term, part in parts))
    share = worked(slice_cost_share, count)
    return count, share, None if hourly is None else worked(slice_usd_per_hour, hourly, share)


def _lines(asking: Asking, best: _Case, hourly: Figure | None) -> Iterator[Line]:
    _, share, cost = _cost(asking, best, hourly)
    if best.made is not None:
        yield Line("slice.needed", best.made.memory.needed)
        yield Line("slice.usable", best.made.memory.usable)
    yield Line("slice.share", share)
    yield Line("slice.usd_per_hour", cost)
