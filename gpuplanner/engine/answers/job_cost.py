"""What a job costs when it is done, by part: what is not known is named, never counted as 0."""

from dataclasses import dataclass, field
from typing import cast

from gpuplanner.engine.answers.answer import Answer, Line
from gpuplanner.engine.answers.asking import Asking, plain
from gpuplanner.engine.answers.failures import Failures, with_failures
from gpuplanner.engine.answers.working import total, worked
from gpuplanner.engine.formulas.answers_cost import egress_usd, failures_usd, idle_usd, storage_usd, whole_usd
from gpuplanner.engine.formulas.cost import usd_per_job
from gpuplanner.figures import Figure
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.units import GB, HOURS_PER_MONTH, Display, Unit, show
from gpuplanner.workload.training import Training

PARTS = ("machines", "failures", "idle", "storage", "egress")


@dataclass(frozen=True, slots=True)
class JobCost:
    """What the question is asked with, in US dollars; None is not known, 0 is that there is none.

    `usd_per_hour`: of all machines, before the published price. `hours`: how long a plan without an end runs; a month
    when None. `stored_bytes`: what is kept while the job runs, the need of its host when None.
    """

    usd_per_hour: float | None = None
    hours: float | None = None
    idle_share: float | None = None
    stored_bytes: float | None = None
    usd_per_gb_month: float | None = None
    egress_bytes: float | None = None
    usd_per_gb_out: float | None = None
    failures: Failures = field(default_factory=Failures)

    def __call__(self, asking: Asking) -> Answer:
        """The answer: each part that is known, their sum, and the names of the others."""
        made = asking.base
        job = self._duration(asking, made.metrics.get("job_s"))
        hourly = asking.hourly(self.usd_per_hour)
        whole = self._whole(asking, job)
        parts = {
            "machines": None if hourly is None else worked(usd_per_job, hourly, job),
            "failures": self._failures(hourly, whole, job),
            "idle": self._idle(asking, hourly, whole or job),
            "storage": self._storage(asking, whole or job),
            "egress": self._egress(asking),
        }
        known = tuple(part for part in parts.values() if part is not None)
        if not known:
            raise InputError(msg("answers.cost.nothing_known"))
        whole_cost = total(whole_usd, known)
        lacking = [name for name in PARTS if parts[name] is None]
        amount = str(show(whole_cost.value, Unit.MONEY, Display()))
        complete = msg("answers.cost.says", amount=amount)
        says = msg("answers.cost.says_at_least", amount=amount, count=len(lacking)) if lacking else complete
        return Answer(
            "cost",
            says,
            (
                Line("cost.duration", whole or job),
                Line("cost.hourly", hourly),
                *(Line(f"cost.{name}", parts[name]) for name in PARTS),
                Line("cost.known" if lacking else "cost.whole", whole_cost),
            ),
            unknown=tuple(msg(f"answers.cost.unknown.{name}") for name in lacking),
            remarks=tuple(self._remarks(asking, "job_s" in made.metrics)),
        )

    def _duration(self, asking: Asking, job: Figure | None) -> Figure:
        if job is not None:
            return job
        if self.hours is None:
            asking.billing_month("whole_job_s")
            return asking.billing_month("job_s")
        asking.typed("whole_job_s", self.hours * 3600.0, Unit.SECOND)
        return asking.typed("job_s", self.hours * 3600.0, Unit.SECOND)

    def _whole(self, asking: Asking, job: Figure) -> Figure | None:
        """How long the job takes with its failures; None where nothing says what a failure costs."""
        if not isinstance(asking.plan.workload, Training) or asking.base.metrics.get("job_s") is not job:
            return None
        return with_failures(asking, self.failures).get("whole_job")

    def _failures(self, hourly: Figure | None, whole: Figure | None, job: Figure) -> Figure | None:
        if hourly is None or whole is None:
            return None
        low, high = (
            failures_usd(getattr(hourly, end), getattr(whole, end), getattr(job, end)) for end in ("low", "high")
        )
        value = cast(float, failures_usd(hourly.value, whole.value, job.value))
        return Figure(value, Unit.MONEY, whole.certainty, float(low), float(high), whole.rung, whole.why)

    def _idle(self, asking: Asking, hourly: Figure | None, whole: Figure) -> Figure | None:
        if hourly is None or self.idle_share is None:
            return None
        return worked(idle_usd, hourly, whole, asking.typed("idle_share", self.idle_share, Unit.RATIO))

    def _storage(self, asking: Asking, whole: Figure) -> Figure | None:
        if self.usd_per_gb_month is None:
            return None
        price = asking.typed("usd_per_gb_month", self.usd_per_gb_month, Unit.MONEY)
        if self.stored_bytes is not None:
            stored = asking.typed("stored_bytes", self.stored_bytes, Unit.BYTE)
        else:
            stored = next(need.need for need in asking.base.host if need.id == "storage")
        return worked(storage_usd, stored, price, whole, plain(HOURS_PER_MONTH, Unit.HOUR))

    def _egress(self, asking: Asking) -> Figure | None:
        if self.egress_bytes == 0:
            return plain(0.0, Unit.MONEY)
        if self.egress_bytes is None or self.usd_per_gb_out is None:
            return None
        leaving = asking.typed("egress_bytes", self.egress_bytes, Unit.BYTE)
        return worked(egress_usd, leaving, asking.typed("usd_per_gb_out", self.usd_per_gb_out, Unit.MONEY))

    def _remarks(self, asking: Asking, ends: bool) -> list[Message]:
        said = []
        if not ends:
            said.append(msg("answers.cost.no_end" if self.hours is None else "answers.cost.typed_hours"))
        elif self.hours is not None:
            said.append(msg("answers.cost.hours_not_used"))
        if self.usd_per_gb_month is not None and self.stored_bytes is None:
            need = next(need.need for need in asking.base.host if need.id == "storage")
            said.append(msg("answers.cost.storage_need", amount=f"{need.value / GB:,.0f}"))
        return said
