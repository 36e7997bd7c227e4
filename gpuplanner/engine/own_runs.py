"""What a measured run is of: the plan with the load that the file says, and what that makes of the estimate. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.estimate import Estimate
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.own_links import OwnLink
from gpuplanner.engine.own_measurements import Own, OwnMeasurement, checked, factors_of, site_of
from gpuplanner.engine.own_parts import OwnParts
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.workload.measurement_log import MeasuredRun
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workload.plan_text import first_problem

NEAR_LOAD = 1.1
"""A load that a file says and the plan has otherwise by more than this is the file's."""
WHOLE = frozenset({"concurrency", "input_tokens", "output_tokens"})
"""Loads that are counts."""
LINK = "link"
"""The factor of measured links."""


@dataclass(frozen=True, slots=True)
class Understood:
    """A measurement as it would be kept. `factors`: measured over estimated, by metric, or of the links by `LINK`.

    `estimate`: what the engine says of the run that was measured; None for links, which are of a machine alone.
    `doubt`: what speaks against it being of this plan.
    """

    measurement: Own
    factors: Mapping[str, float]
    estimate: Estimate | None = None
    doubt: Message | None = None


def run_of_plan(
    run: MeasuredRun, name: str, date: str, plan: Plan, engine: Callable[[Plan], Estimate], id_of: Callable[..., str]
) -> Understood:
    """A run of this plan, measured. `engine`: the estimate without any measurement; `id_of`: of name, plan and metrics.

    Raises InputError where the run is of other work, says nothing of it, or cannot be of it.
    """
    plan = plan_of_run(plan, run, name)
    made = engine(plan)
    measured = dict(run.metrics)
    kept = OwnMeasurement(id_of(name, plan, measured), name, date, plan, site_of(made.machine), measured)
    checked(kept, made)
    return Understood(kept, factors_of(kept, made), made)


def machine_of_links(run: MeasuredRun, name: str, gpu_id: str) -> MachineChoice:
    """The node whose links were measured. Raises InputError for a table of several, of one GPU, or of too many."""
    ranks = round(run.load["ranks"])
    if run.load["nodes"] != 1 or ranks < 2:
        raise InputError(msg("own.link.one_node", file=name))
    try:
        return MachineChoice(gpu_id=gpu_id, gpus=ranks, per_node=ranks)
    except ValidationError as fault:
        raise InputError(first_problem(fault, name)) from None


def links_of_run(
    run: MeasuredRun, name: str, date: str, machine: Machine, efficiencies: Efficiencies, id_of: Callable[..., str]
) -> Understood:
    """The measured links of the machine of `machine_of_links`. Raises InputError where the table is of another."""
    rate, message_bytes, ranks = run.metrics["bus_bytes_per_s"], run.load["bytes"], run.load["ranks"]
    site = site_of(machine)
    measured = {"bus_bytes_per_s": rate, "message_bytes": message_bytes, "ranks": ranks}
    kept = OwnLink(id_of(name, site, measured), name, date, site, rate, message_bytes, ranks)
    return Understood(kept, {LINK: kept.factor(machine, efficiencies)})


def machine_of_parts(run: MeasuredRun, name: str, gpu_id: str) -> MachineChoice:
    """The node whose parts were measured. Raises InputError for one that no plan can have."""
    gpus = round(run.load["gpus"])
    try:
        return MachineChoice(gpu_id=gpu_id, gpus=gpus, per_node=gpus)
    except ValidationError as fault:
        raise InputError(first_problem(fault, name)) from None


def parts_of_run(
    run: MeasuredRun, name: str, date: str, machine: Machine, efficiencies: Efficiencies, id_of: Callable[..., str]
) -> Understood:
    """The measured parts of the machine of `machine_of_parts`. Raises InputError where they are of another."""
    site, rates = site_of(machine), dict(run.metrics)
    kept = OwnParts(id_of(name, site, rates), name, date, site, rates)
    return Understood(kept, kept.factors(machine.gpu, efficiencies))


def plan_of_run(plan: Plan, run: MeasuredRun, name: str) -> Plan:
    """The plan with the load that the file says.

    Raises InputError where the plan is of other work, names no machine, or can have no such load.
    """
    if plan.workload.kind != run.kind:
        what, of = msg(f"own.kind.{run.kind}"), msg(f"planui.kind.{plan.workload.kind}")
        raise InputError(msg("own.other_work", file=name, kind=what, plan=of))
    if plan.machine is None:
        raise InputError(msg("own.on_which_machine", file=name))
    load: dict[str, float | int | None] = {
        field: max(round(value), 1) if field in WHOLE else value
        for field, value in run.load.items()
        if _differs(getattr(plan.workload, field), value)
    }
    if "request_rate" in load:
        load["concurrency"] = None
    if "concurrency" in load and load["concurrency"] is not None:
        load["request_rate"] = None
    content = plan.model_dump(mode="json")
    content["workload"] |= load
    try:
        return Plan.model_validate(content)
    except ValidationError as fault:
        raise InputError(first_problem(fault, name)) from None


def _differs(planned: float | None, said: float) -> bool:
    return not planned or max(planned / said, said / planned) > NEAR_LOAD
