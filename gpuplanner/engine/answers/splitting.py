"""Replicas or tensor parallelism: each split of one node, what it gives for the money, and which is best."""

from dataclasses import dataclass

from gpuplanner.engine.answers.answer import Answer, Cell, Row, Table
from gpuplanner.engine.answers.asking import Asking
from gpuplanner.engine.answers.capacity import capacity, keeps_up, serving_of
from gpuplanner.engine.answers.verdicts import verdict_cell
from gpuplanner.engine.answers.working import worked
from gpuplanner.engine.estimate import Estimate
from gpuplanner.engine.formulas.cost import usd_per_mtoken
from gpuplanner.engine.formulas.serving_requests import output_tokens_per_second
from gpuplanner.engine.machines import with_nodes
from gpuplanner.figures import Figure
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.units import Display, Unit, show

COLUMNS = ("split", "fit", "ttft", "tpot", "tokens", "capacity", "usd_at_capacity")


@dataclass(frozen=True, slots=True)
class _Case:
    """One split: how many GPUs a replica has, how many replicas, and what they come to."""

    degree: int
    replicas: int
    made: Estimate | None
    most: Figure | None
    price: Figure | None
    reason: Message | None = None

    @property
    def good(self) -> bool:
        return self.most is not None and self.made is not None and keeps_up(self.made)

    @property
    def name(self) -> Message:
        return msg("answers.split.case", replicas=self.replicas, degree=self.degree)


@dataclass(frozen=True, slots=True)
class Splitting:
    """What the question is asked with. `usd_per_hour`: of one node, before the published price."""

    usd_per_hour: float | None = None

    def __call__(self, asking: Asking) -> Answer:
        """The answer: a row for each split of one node, the best of them under the goals."""
        serving_of(asking)
        node = with_nodes(asking.machine, 1)
        gpus = node.gpus_per_node
        if gpus == 1:
            raise InputError(msg("answers.split.one_gpu"))
        degrees = [degree for degree in range(1, gpus + 1) if gpus % degree == 0]
        cases = [self._case(asking, degree) for degree in degrees]
        good = [case for case in cases if case.good]
        best = max(good, key=lambda case: case.most.value if case.most else 0.0, default=None)
        rows = tuple(Row(case.name, _cells(case), case is best) for case in cases)
        if best is None or best.most is None:
            says = msg("answers.split.none")
        else:
            rate = str(show(best.most.value, Unit.REQUEST_PER_S, Display()))
            says = msg("answers.split.says", split=best.name, rate=rate)
        remarks = [msg("answers.split.same_node"), *_latency(good, best)]
        unknown = () if any(case.price for case in cases) or not good else (msg("answers.cost.unknown.machines"),)
        return Answer("split", says, (), Table(COLUMNS, rows), unknown, tuple(remarks), best is not None)

    def _case(self, asking: Asking, degree: int) -> _Case:
        node = with_nodes(asking.machine, 1)
        replicas = node.gpus_per_node // degree
        fixed = {"tensor_parallel": degree, "pipeline_parallel": 1}
        try:
            made = asking.estimate(node, **fixed)
        except InputError as error:
            return _Case(degree, replicas, None, None, None, error.message)
        most = capacity(asking, node, **fixed)
        return _Case(degree, replicas, made, most, self._price(asking, made, most))

    def _price(self, asking: Asking, made: Estimate, most: Figure | None) -> Figure | None:
        if most is None:
            return None
        hourly = made.metrics.get("usd_per_hour")
        if self.usd_per_hour is not None:
            hourly = asking.typed("usd_per_hour", self.usd_per_hour, Unit.MONEY_PER_HOUR)
        if hourly is None:
            return None
        tokens = worked(
            output_tokens_per_second, asking.tried("request_per_s", most), float(serving_of(asking).output_tokens)
        )
        return worked(usd_per_mtoken, hourly, tokens)


def _cells(case: _Case) -> tuple[Cell, ...]:
    if case.made is None:
        return (case.reason, None, None, None, None, None)
    metrics = case.made.metrics
    times = (metrics.get("ttft_s"), metrics.get("tpot_s"), metrics.get("output_tokens_per_s"))
    return (verdict_cell(case.made), *times, case.most, case.price)


def _latency(good: list[_Case], best: _Case | None) -> list[Message]:
    """That another split answers sooner, where the one that gives the most is not also the quickest."""
    timed = [(case.made.metrics["tpot_s"].value, case) for case in good if case.made]
    if best is None or not timed:
        return []
    quickest = min(timed, key=lambda pair: pair[0])
    if quickest[1] is best:
        return []
    time = str(show(quickest[0], Unit.SECOND, Display()))
    return [msg("answers.split.quickest", split=quickest[1].name, time=time)]
