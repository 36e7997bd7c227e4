"""`calibrate`: keeps what a person measured of a plan, for estimates of the same profile; lists and removes."""

import argparse
from datetime import UTC, datetime
from pathlib import Path

from gpuplanner.cli.columns import columns, safe
from gpuplanner.cli.context import Context, print_json
from gpuplanner.cli.plan_arguments import plan_of
from gpuplanner.engine.own_links import OwnLink
from gpuplanner.engine.own_measurements import OwnMeasurement, checked, factors_of, site_of
from gpuplanner.messages import InputError, msg, shortened
from gpuplanner.store.own_measurements import keep_own, new_id, read_own, remove_own
from gpuplanner.units import Unit
from gpuplanner.workload.measurement_log import COLLECTIVES, MeasuredRun, read_measurement
from gpuplanner.workload.plan import MachineChoice, Plan

LIST, REMOVE = "list", "remove"
NEAR_LOAD = 1.1
"""A load that a file says and the plan has otherwise by more than this is the file's."""
WHOLE = frozenset({"concurrency", "input_tokens", "output_tokens"})


def calibrate(options: argparse.Namespace, context: Context) -> int:
    """Keep a measurement, list those that are kept, or remove one."""
    if options.what == LIST:
        return _list(options, context)
    if options.what == REMOVE:
        if options.plan is None:
            raise InputError(msg("own.which"))
        remove_own(context.workspace.home, options.plan)
        return 0
    return _add(options, context)


def _add(options: argparse.Namespace, context: Context) -> int:
    run = read_measurement(Path(options.what))
    name = shortened(Path(options.what).name, 80)
    if run.kind == COLLECTIVES:
        return _add_links(run, name, options, context)
    if options.plan is None:
        raise InputError(msg("own.of_which_plan", file=name, kind=run.kind))
    context.workspace.own_left_out = True
    plan = _as_run(plan_of(options, context), run, name)
    if plan.machine is None:
        raise InputError(msg("own.on_which_machine", file=name))
    made = context.workspace.estimate(plan)
    measured = dict(run.metrics)
    kept = OwnMeasurement(
        new_id(name, plan, measured),
        name,
        _today(),
        plan,
        site_of(made.machine),
        measured,
    )
    checked(kept, made)
    keep_own(context.workspace.home, kept)
    factors = factors_of(kept, made)
    if options.json:
        print_json(_data(kept) | {"factors": factors})
        return 0
    print(context.text("own.kept", id=kept.id, site=safe(kept.site)))
    rows = []
    for metric, factor in factors.items():
        figure = made.metrics[metric]
        said, got = context.number(figure.value, figure.unit), context.number(measured[metric], figure.unit)
        rows.append(
            [
                f"  {context.text(f'metric.{metric}')}",
                got,
                context.text("own.engine_says", value=said),
                f"× {factor:.2f}",
            ]
        )
    print("\n".join(columns(rows, right=(1, 3))))
    return 0


def _add_links(run: MeasuredRun, name: str, options: argparse.Namespace, context: Context) -> int:
    """Keep the links of a machine: the GPU that the table names, so many as it has ranks, or the one that is asked."""
    workspace = context.workspace
    found = workspace.resolve(options.gpu or run.model, "gpu")
    if found.id is None:
        raise InputError(found.reason)
    ranks = round(run.load["ranks"])
    if run.load["nodes"] != 1:
        raise InputError(msg("own.link.one_node", file=name))
    machine = workspace.machine(MachineChoice(gpu_id=found.id, gpus=ranks, per_node=ranks))
    measured = {"bus_bytes_per_s": run.metrics["bus_bytes_per_s"], "message_bytes": run.load["bytes"], "ranks": ranks}
    site = site_of(machine)
    kept = OwnLink(new_id(name, site, measured), name, _today(), site, **measured)
    factor = kept.factor(machine, workspace.efficiencies)
    keep_own(workspace.home, kept)
    if options.json:
        print_json(_data(kept) | {"factors": {"link": factor}})
        return 0
    print(context.text("own.kept", id=kept.id, site=safe(site)))
    rate = context.number(kept.bus_bytes_per_s, Unit.BYTE_PER_S)
    print(f"  {context.text('own.link.busbw', rate=rate, ranks=ranks)}  × {factor:.2f}")
    return 0


def _today() -> str:
    return datetime.now(UTC).astimezone().date().isoformat()


def _as_run(plan: Plan, run: MeasuredRun, name: str) -> Plan:
    """The plan with the load that the file says. Raises InputError where the plan is of other work."""
    if plan.workload.kind != run.kind:
        raise InputError(msg("own.other_work", file=name, kind=run.kind, plan=plan.workload.kind))
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
    return Plan.model_validate(content)


def _differs(planned: float | None, said: float) -> bool:
    return not planned or max(planned / said, said / planned) > NEAR_LOAD


def _list(options: argparse.Namespace, context: Context) -> int:
    kept, wrong = read_own(context.workspace.home)
    if options.json:
        print_json([_data(measurement) for measurement in kept])
        return 0
    rows = [[m.id, m.date, safe(m.name), safe(m.site), _kind(m), safe(_metrics(m, context))] for m in kept]
    print("\n".join(columns(rows)) if rows else context.text("own.none_kept"))
    for message in wrong:
        print(context.text(message))
    return 0


def _kind(measurement: OwnMeasurement | OwnLink) -> str:
    return COLLECTIVES if isinstance(measurement, OwnLink) else measurement.plan.workload.kind


def _metrics(measurement: OwnMeasurement | OwnLink, context: Context) -> str:
    if isinstance(measurement, OwnLink):
        rate = context.number(measurement.bus_bytes_per_s, Unit.BYTE_PER_S)
        return context.text("own.link.busbw", rate=rate, ranks=round(measurement.ranks))
    units = {"tpot_s": Unit.SECOND, "ttft_s": Unit.SECOND, "step_s": Unit.SECOND}
    return ", ".join(
        f"{context.text(f'metric.{name}')} {context.number(value, units.get(name, Unit.TOKEN_PER_S))}"
        for name, value in measurement.measured.items()
    )


def _data(measurement: OwnMeasurement | OwnLink) -> dict[str, object]:
    common: dict[str, object] = {
        "id": measurement.id,
        "file": measurement.name,
        "date": measurement.date,
        "machine": measurement.site,
        "kind": _kind(measurement),
    }
    if isinstance(measurement, OwnLink):
        return common | {"measured": {"bus_bytes_per_s": measurement.bus_bytes_per_s, "ranks": measurement.ranks}}
    return common | {
        "measured": dict(measurement.measured),
        "plan": measurement.plan.model_dump(mode="json", exclude_defaults=True),
    }
