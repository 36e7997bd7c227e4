"""The rows of the two lists of machines: those that carry the plan, and why the others do not. No widget."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from gpuplanner.engine.formulas.cost import usd_per_month
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.search.ordering import cost_metric
from gpuplanner.engine.search.result import Broken, Candidate, Rejection
from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.catalog_place.wording import age_mark
from gpuplanner.ui.palette.items import match
from gpuplanner.ui.plan_place.captions import machine_offer, machine_title, price_age, way_parts
from gpuplanner.ui.plan_place.verdicts import VERDICTS
from gpuplanner.ui.table.columns import NOTHING, Column, Look, figure_column, number_column
from gpuplanner.ui.table.source import PlainRow
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.figure_label import spread_text
from gpuplanner.units import GB, GIB, HOURS_PER_MONTH, Display, MemoryConvention, Unit, digits
from gpuplanner.workload.plan import MachineChoice, Objective, Plan

MACHINE, GPUS, FREE = "machine", "gpus", "free_bytes"
_SHOWN = {"serving": {"tpot_s", "usd_per_mtoken"}, "training": {"job_s", "job_usd"}}
"""Of the kinds with many metrics those that are shown at first; of the others all are."""
_IN_ONE_UNIT = {
    "tpot_s": ("ms", 1e-3),
    "ttft_s": ("s", 1.0),
    "step_s": ("s", 1.0),
    "mfu": ("%", 0.01),
    "output_tokens_per_s": ("", 1.0),
    "tokens_per_s": ("", 1.0),
}
"""Metrics whose values are of a size: their unit stands in the header once."""
_UNSURE = {Broken.FACTS, Broken.SUPPORT, Broken.PRICE}
"""What says nothing against the machine's strength, but that it cannot be told or used."""


@dataclass(frozen=True, slots=True)
class MachineCell:
    """What the first column shows: the candidate and whether it is pinned."""

    candidate: Candidate
    pinned: bool

    @property
    def sort_by(self) -> str:
        """Sorted by the name of the GPU, then how many."""
        machine = self.candidate.machine
        return f"{machine.gpu.name} {machine.gpus:06d}"


@dataclass(frozen=True, slots=True)
class RejectionCell:
    """What both columns of the second list show."""

    rejection: Rejection
    by_reason: bool

    @property
    def sort_by(self) -> Any:
        """The first column sorts by the machine, the second by the constraint and the amount over it."""
        if not self.by_reason:
            return rejection_title(self.rejection)
        over = self.rejection.over
        return list(Broken).index(self.rejection.broken), over if over is not None else 0.0


@dataclass(frozen=True, slots=True)
class MoneyCell:
    """An amount in US dollars that follows from a machine's price, and the date of that price."""

    usd: float
    price_date: str

    @property
    def sort_by(self) -> float:
        """Sorted by the amount."""
        return self.usd


def machine_columns(kind: str) -> list[Column]:
    """The columns of the machines that carry a plan of this kind. All but the name yield where it is narrow."""
    first = Column(MACHINE, msg("planui.column.machine"), _machine_look, plain=_machine_plain, width=150, whole=True)
    shown = _SHOWN.get(kind)
    own = [_metric_column(n, unit, shown is None or n in shown) for n, unit in _metrics(kind) if n != "usd_per_hour"]
    per_month = _metric_column("usd_per_month", Unit.MONEY)
    per_hour = _metric_column("usd_per_hour", Unit.MONEY, shown=False)
    gpus = number_column(GPUS, _title(GPUS), width=48, shown=False, yields=True)
    free = number_column(
        FREE, _title(FREE), _memory_unit, _memory_factor, width=60, shown=False, yields=True, tip=msg("planui.free.tip")
    )
    return [first, *own, per_month, per_hour, gpus, free]


def objective_column(plan: Plan, candidates: Sequence[Candidate]) -> str:
    """The column by which the search put the machines in their order."""
    columns = [name for name, _unit in KINDS[plan.workload.kind].columns]
    in_all = any("job_s" in candidate.metrics for candidate in candidates)
    match plan.constraints.objective:
        case Objective.FEWEST_GPUS:
            return GPUS
        case Objective.TIME:
            return "job_s" if in_all else columns[0]
        case Objective.COST:
            metric = cost_metric(plan, candidates)
            return "usd_per_month" if metric == "usd_per_hour" else metric


def _metrics(kind: str) -> list[tuple[str, Unit]]:
    return [*KINDS[kind].columns, *KINDS[kind].aside]


def _title(name: str) -> Message:
    return msg(f"column.{name}")


def _metric_column(name: str, unit: Unit, shown: bool = True) -> Column:
    """A column of one metric; times and rates of very different size each say their unit, others share one."""
    tip = msg("planui.column.mfu.tip") if name == "mfu" else msg(f"metric.{name}")
    if unit in {Unit.MONEY, Unit.MONEY_PER_MTOKEN}:
        return Column(
            name,
            _title(name),
            _money_look,
            _currency,
            _money_plain,
            right=True,
            width=74,
            shown=shown,
            tip=tip,
            yields=True,
        )
    if name in _IN_ONE_UNIT:
        said, factor = _IN_ONE_UNIT[name]
        return number_column(
            name, _title(name), lambda _d: said, lambda _d: factor, width=50, shown=shown, tip=tip, yields=True
        )
    return figure_column(name, _title(name), unit, width=78, shown=shown, tip=tip, yields=True)


def machine_row(id_: str, candidate: Candidate, columns: Sequence[Column], *, pinned: bool) -> PlainRow:
    """One row, with its `row_id`; a value that the search does not give is missing."""
    return PlainRow(
        id_,
        tuple(MachineCell(candidate, pinned) if c.id == MACHINE else _value(candidate, c.id) for c in columns),
    )


def row_id(choice: MachineChoice) -> str:
    """The id of a machine in the lists."""
    if choice.instance_id is not None:
        return f"instance/{choice.instance_id}/{choice.nodes}"
    if choice.slice is not None:
        compute, memory = (share.replace("/", ":") for share in (choice.slice.compute, choice.slice.memory))
        return f"slice/{choice.gpu_id}/{choice.gpus}/{choice.slice.profile}/{compute}/{memory}"
    return f"gpu/{choice.gpu_id}/{choice.gpus}/{choice.per_node}"


def rejection_columns() -> list[Column]:
    """The columns of the others: which, and why not."""
    return [
        Column(MACHINE, msg("planui.column.machine"), _rejected_look, plain=_rejected_plain, width=120),
        Column("why", msg("planui.column.why_not"), _why_look, plain=_why_plain, width=186),
    ]


def rejection_row(rejection: Rejection, position: int) -> PlainRow:
    """One row. The position tells two offers of the same machine apart."""
    cells = tuple(RejectionCell(rejection, by_reason=by_reason) for by_reason in (False, True))
    return PlainRow(str(position), cells)


def rejection_title(rejection: Rejection) -> str:
    """Which machine it is."""
    if rejection.machine is not None:
        return machine_title(rejection.machine)
    if rejection.gpu is not None:
        return rejection.gpu.name
    return rejection.instance.gpu_text if rejection.instance is not None else ""


def rejection_offer(rejection: Rejection) -> MessageValue:
    """Whose machine it is."""
    if rejection.machine is not None:
        return machine_offer(rejection.machine)
    instance = rejection.instance
    return f"{instance.provider} {instance.name}" if instance is not None else msg("planui.machine.bought")


def rejection_text(rejection: Rejection, appearance: Appearance) -> str:
    """Why not, in few words: the constraint, and by how much where there is an amount."""
    if rejection.over is None or rejection.unit is None:
        return appearance.text(f"planui.broken.{rejection.broken.value}")
    over = str(appearance.show(rejection.over, rejection.unit))
    return appearance.text(f"planui.broken.{rejection.broken.value}.over", over=over)


def found_rejections(
    rejections: Sequence[Rejection], query: str, broken: str, appearance: Appearance
) -> list[Rejection]:
    """Those that a text finds, and that broke one constraint where one is chosen."""
    kept = [r for r in rejections if not broken or r.broken.value == broken]
    if not query.strip():
        return kept
    return [r for r in kept if match(query, _searched(r, appearance)) > 0]


def broken_counts(rejections: Sequence[Rejection]) -> list[tuple[str, int]]:
    """How many machines broke each constraint first, the most frequent first."""
    return Counter(r.broken.value for r in rejections).most_common()


def broken_name(broken: str) -> Message:
    """What a constraint is called."""
    return msg(f"planui.broken.{broken}")


def _searched(rejection: Rejection, appearance: Appearance) -> str:
    offer = appearance.said(rejection_offer(rejection))
    return f"{rejection_title(rejection)} {offer} {rejection_text(rejection, appearance)}"


def _value(candidate: Candidate, column: str) -> float | MoneyCell | None:
    value = _number(candidate, column)
    if value is None or "usd" not in column:
        return value
    price = candidate.machine.price
    return MoneyCell(value, price.date if price is not None else "")


def _number(candidate: Candidate, column: str) -> float | None:
    if column == GPUS:
        return float(candidate.machine.gpus)
    if column == FREE:
        return candidate.free_bytes
    hourly = candidate.usd_per_hour
    if column == "usd_per_month" and hourly is not None:
        return float(usd_per_month(hourly, HOURS_PER_MONTH))
    if column == "usd_per_hour":
        return hourly
    return candidate.metrics.get(column)


def _machine_look(value: Any, appearance: Appearance) -> Look:
    if not isinstance(value, MachineCell):
        return NOTHING
    candidate = value.candidate
    offer = appearance.said(machine_offer(candidate.machine))
    if candidate.own is not None and candidate.own.fact is not None:
        offer = f"{appearance.said(candidate.own_mark or '')} · {offer}"
    calm = VERDICTS[candidate.fit] is Verdict.PASS and not candidate.may_miss
    tip = partial(_machine_tip, candidate, appearance)
    return Look(
        machine_title(candidate.machine), offer, mark="" if calm else "!", tip=tip, check=value.pinned, strong=False
    )


def _machine_tip(candidate: Candidate, appearance: Appearance) -> str:
    """What the mouse is told of a machine: written when it asks, as it asks for few of many."""
    machine, own = candidate.machine, candidate.own
    way = " · ".join(appearance.said(part) for part in way_parts(candidate.way))
    tip = [machine_title(machine), appearance.said(machine_offer(machine)), way]
    tip.append(appearance.text(f"fit.{candidate.fit.name.lower()}"))
    if candidate.may_miss:
        tip.append(appearance.text("fit.may_miss"))
    tip += _ranges(candidate, appearance)
    if own is not None and own.fact is not None:
        source = own.fact.source
        tip.append(appearance.text("planui.measured_by_you.tip", file=source.citation, date=source.date))
    tip.append(appearance.text("planui.pin.tip"))
    return "\n".join(line for line in tip if line)


def _ranges(candidate: Candidate, appearance: Appearance) -> list[str]:
    """Each number that is not exact with its range, a line each."""
    units = dict(_metrics(candidate.plan.workload.kind))
    lines = []
    for name, ends in candidate.ranges.items():
        if name in units and name in candidate.metrics:
            value = candidate.metrics[name]
            spread = spread_text(appearance, value, ends, units[name])
            lines.append(f"{appearance.text(_title(name))} {appearance.show(value, units[name])} ({spread})")
    return lines


def _machine_plain(value: Any, _display: Display) -> str:
    if not isinstance(value, MachineCell):
        return ""
    offer = machine_offer(value.candidate.machine)
    return f"{machine_title(value.candidate.machine)} {offer if isinstance(offer, str) else ''}".strip()


def _rejected_look(value: Any, appearance: Appearance) -> Look:
    if not isinstance(value, RejectionCell):
        return NOTHING
    offer = appearance.said(rejection_offer(value.rejection))
    title = rejection_title(value.rejection)
    return Look(title, offer, tip=f"{title}\n{offer}")


def _rejected_plain(value: Any, _display: Display) -> str:
    return rejection_title(value.rejection) if isinstance(value, RejectionCell) else ""


def _why_look(value: Any, appearance: Appearance) -> Look:
    if not isinstance(value, RejectionCell):
        return NOTHING
    verdict = Verdict.UNKNOWN if value.rejection.broken in _UNSURE else Verdict.FAIL
    reason = partial(appearance.text, value.rejection.reason)
    return Look(rejection_text(value.rejection, appearance), verdict=verdict, tip=reason)


def _why_plain(value: Any, _display: Display) -> str:
    return value.rejection.broken.value if isinstance(value, RejectionCell) else ""


def _money_look(value: Any, appearance: Appearance) -> Look:
    """The amount, and behind it how old its price is where that may not hold any more, as in the catalog."""
    if not isinstance(value, MoneyCell):
        return NOTHING
    amount = value.usd * appearance.display.per_usd
    text = f"{amount:,.0f}" if amount.is_integer() or amount >= 1000 else digits(amount)
    age = age_mark(value.price_date, datetime.now(UTC).date())
    return Look(text, mark=appearance.text(age) if age is not None else "", tip=partial(_price_tip, value, appearance))


def _price_tip(value: MoneyCell, appearance: Appearance) -> str:
    return f"{value.price_date} {appearance.text(price_age(value.price_date))}".strip()


def _money_plain(value: Any, display: Display) -> str:
    return f"{value.usd * display.per_usd:.10g}" if isinstance(value, MoneyCell) else ""


def _currency(display: Display) -> str:
    return display.currency


def _memory_unit(display: Display) -> str:
    return display.memory.value


def _memory_factor(display: Display) -> float:
    return GIB if display.memory is MemoryConvention.GIB else GB
