"""How often to write checkpoints, what failures take of a training run, and how many spare nodes it needs."""

from dataclasses import dataclass
from typing import cast

from gpuplanner.engine.answers.answer import Answer, Line, Row, Table
from gpuplanner.engine.answers.asking import Asking, plain
from gpuplanner.engine.answers.working import worked
from gpuplanner.engine.formulas.answers_time import (
    checkpoint_write_seconds,
    failures_of_job,
    goodput_share,
    job_seconds_with_failures,
    lost_seconds,
    nodes_in_repair,
    spare_nodes,
)
from gpuplanner.engine.formulas.host import checkpoint_interval_seconds, seconds_between_failures
from gpuplanner.engine.formulas.storage import checkpoint_bytes
from gpuplanner.engine.host import TABLE as HOST
from gpuplanner.figures import Certainty, Figure
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.units import Unit, percent, show_duration
from gpuplanner.workload.reads_data import Storage
from gpuplanner.workload.training import Training

PROBABILITIES = (0.9, 0.99, 0.999)
"""Shares of the time in which no node is to be missing, for which spares are told beside the one that is asked for."""
FAILURES_LOW, FAILURES_HIGH = 0.5, 2.0
"""Of the time between failures: clusters differ by so much from the one that the rate was published for."""


@dataclass(frozen=True, slots=True)
class Failures:
    """What the question is asked with; None: the rule of thumb. `bytes_per_s`: what all nodes write together.

    `between_failures_s`: of the whole machine. `stall_s`: how long training stands still for a checkpoint, where
    it is written in the background.
    """

    bytes_per_s: float | None = None
    stall_s: float | None = None
    between_failures_s: float | None = None
    restart_s: float | None = None
    repair_s: float | None = None
    probability: float = 0.99

    def __call__(self, asking: Asking) -> Answer:
        """The answer: interval, goodput, lost time, spares."""
        found = with_failures(asking, self)
        waiting, wanted = found["waiting"], asking.typed("wanted_share", self.probability, Unit.RATIO)
        found["spares"] = worked(spare_nodes, waiting, wanted)
        shown = (
            *("between", "checkpoint", "stall", "interval", "restart", "goodput"),
            *("job", "whole_job", "lost", "failures", "repair", "waiting", "spares"),
        )
        lines = tuple(Line(f"failures.{name}", found[name]) for name in shown if name in found)
        says = msg(
            "answers.failures.says",
            interval=str(show_duration(found["interval"].value)),
            goodput=percent(found["goodput"].value, 1),
            spares=f"{found['spares'].value:,.0f}",
            share=percent(self.probability, 1),
            between=str(show_duration(found["between"].value)),
        )
        unknown: tuple[Message, ...] = ()
        if "job_s" not in asking.base.metrics:
            unknown = (msg("answers.failures.job_unknown"),)
        elif "whole_job" not in found:
            unknown = (msg("answers.failures.job_open"),)
        return Answer(
            "checkpoints", says, lines, _spares(asking, waiting), unknown, tuple(self._remarks(asking, found))
        )

    def _remarks(self, asking: Asking, found: dict[str, Figure]) -> list[Message]:
        said = [msg("answers.failures.node_each")]
        if self.stall_s is None:
            said.append(msg("answers.failures.waits"))
        if asking.machine.gpus < 8:
            said.append(msg("answers.failures.few"))
        if found["interval"].value > found["between"].value:
            said.append(msg("answers.failures.interval_too_long"))
        return said


def with_failures(asking: Asking, given: Failures) -> dict[str, Figure]:
    """The figures by name; those of the whole job only where the plan says how much is to be done.

    Raises InputError for a plan that trains nothing.
    """
    if not isinstance(asking.plan.workload, Training):
        raise InputError(msg("answers.failures.training_only"))
    made = asking.base
    duty = asking.duty(made)
    found = {"between": _between(asking, given)}
    size = worked(checkpoint_bytes, duty.trained_parameters, duty.checkpoint_bytes_per_parameter)
    found["checkpoint"] = size
    if given.stall_s is None:
        storage = Storage.SHARED if asking.machine.nodes > 1 else Storage.LOCAL
        rate = asking.typed_or_rule(given.bytes_per_s, f"storage {storage}", "storage_bytes_per_s", Unit.BYTE_PER_S)
        found["stall"] = worked(checkpoint_write_seconds, size, rate)
    else:
        found["stall"] = asking.typed("checkpoint_s", given.stall_s, Unit.SECOND)
    found["interval"] = worked(checkpoint_interval_seconds, found["stall"], found["between"])
    found["restart"] = asking.typed_or_rule(given.restart_s, "restart", "restart_s", Unit.SECOND)
    goodput = worked(goodput_share, found["stall"], found["interval"], found["restart"], found["between"])
    if goodput.value <= 0:
        raise InputError(msg("answers.failures.never", between=str(show_duration(found["between"].value))))
    found["goodput"] = goodput
    job = made.metrics.get("job_s")
    if job is not None and goodput.low > 0:
        found["job"] = job
        found["whole_job"] = worked(job_seconds_with_failures, job, goodput)
        found["lost"] = _lost(job, found["whole_job"], goodput)
        found["failures"] = worked(failures_of_job, found["whole_job"], found["between"])
    found["repair"] = asking.typed_or_rule(given.repair_s, "repair", "repair_s", Unit.SECOND)
    found["waiting"] = worked(nodes_in_repair, found["repair"], found["between"])
    return found


def _lost(job: Figure, whole: Figure, goodput: Figure) -> Figure:
    """Of the whole job what is lost; its ends are those of the goodput on the job's own ends, never below zero."""
    value = cast(float, lost_seconds(whole.value, job.value))
    low, high = job.low * (1.0 / goodput.high - 1.0), job.high * (1.0 / goodput.low - 1.0)
    return Figure(value, Unit.SECOND, whole.certainty, low, high, whole.rung, whole.why)


def _between(asking: Asking, given: Failures) -> Figure:
    if given.between_failures_s is not None:
        return asking.typed("between_failures_s", given.between_failures_s, Unit.SECOND)
    value = asking.efficiencies.constants(HOST, "failures")["gpu_seconds_between_failures"]
    why = msg("answers.failures.why_clusters_differ")
    one = Figure(value, Unit.SECOND, Certainty.RULE, value * FAILURES_LOW, value * FAILURES_HIGH, why=why)
    return worked(seconds_between_failures, one, plain(float(asking.machine.gpus), Unit.COUNT))


def _spares(asking: Asking, waiting: Figure) -> Table:
    rows = []
    for share in PROBABILITIES:
        wanted = asking.typed("wanted_share", share, Unit.RATIO)
        rows.append(
            Row(msg("answers.failures.share", share=percent(share, 1)), (worked(spare_nodes, waiting, wanted),))
        )
    return Table(("wanted_share", "spares"), tuple(rows))
