"""`calibrate`: keeps what a person measured of a plan, for estimates of the same profile; lists and removes."""

import argparse
import sys
from pathlib import Path

from gpuplanner.cli.columns import columns, safe
from gpuplanner.cli.context import Context, print_json
from gpuplanner.cli.plan_arguments import plan_of
from gpuplanner.engine.own_links import OwnLink
from gpuplanner.engine.own_measurements import UNITS, Own, OwnMeasurement, site_words
from gpuplanner.engine.own_parts import UNITS as PART_UNITS
from gpuplanner.engine.own_parts import OwnParts
from gpuplanner.engine.own_runs import LINK, Understood
from gpuplanner.machines.measured_runs import is_probe, measured_runs
from gpuplanner.messages import InputError, msg, shortened
from gpuplanner.store.own_measurements import keep_own, read_own, remove_own, switch_own
from gpuplanner.units import Unit
from gpuplanner.workload.measurement_log import COLLECTIVES, PARTS, read_measurement

LIST, REMOVE, ON, OFF = "list", "remove", "on", "off"


def calibrate(options: argparse.Namespace, context: Context) -> int:
    """Keep a measurement, list those that are kept, use one or leave it out, or remove it."""
    if options.what == LIST:
        return _list(options, context)
    if options.what in {REMOVE, ON, OFF}:
        if options.plan is None:
            raise InputError(msg("own.which"))
        if options.what == REMOVE:
            remove_own(context.workspace.home, options.plan)
            changed: dict[str, object] = {"id": options.plan, "removed": True}
        else:
            changed = _data(switch_own(context.workspace.home, options.plan, used=options.what == ON))
        if options.json:
            print_json(changed)
        return 0
    return _add(options, context)


def _add(options: argparse.Namespace, context: Context) -> int:
    path = Path(options.what)
    runs = measured_runs(path) if is_probe(path) else (read_measurement(path),)
    name = shortened(path.name, 80)
    found = []
    for run in runs:
        of_machine = run.kind in {COLLECTIVES, PARTS}
        plan = plan_of(options, context) if options.plan is not None and not of_machine else None
        found.append(context.workspace.understood(run, name, plan, options.gpu or ""))
    for understood in found:
        keep_own(context.workspace.home, understood.measurement)
        if understood.doubt is not None:
            print(context.text(understood.doubt), file=sys.stderr)
    if options.json:
        data = [_data(understood.measurement) | {"factors": dict(understood.factors)} for understood in found]
        print_json(data if is_probe(path) else data[0])
        return 0
    for understood in found:
        kept = understood.measurement
        print(context.text("own.kept", id=kept.id, site=_machine(kept, context)))
        print("\n".join(_compared(understood, context)))
    return 0


def _compared(understood: Understood, context: Context) -> list[str]:
    """What was measured beside what is estimated, a line each."""
    made, kept = understood.estimate, understood.measurement
    if isinstance(kept, OwnParts):
        factors = {name: f"× {factor:.2f}" for name, factor in understood.factors.items()}
        told = [[f"  {what}", rate, factors.get(name, "")] for name, (what, rate) in _parts(kept, context).items()]
        return columns(told, right=(1, 2))
    if made is None or isinstance(kept, OwnLink):
        return [f"  {_metrics(kept, context)}  × {understood.factors[LINK]:.2f}"]
    rows = []
    for metric, factor in understood.factors.items():
        figure = made.metrics[metric]
        said, got = context.number(figure.value, figure.unit), context.number(kept.measured[metric], figure.unit)
        name = f"  {context.text(f'metric.{metric}')}"
        rows.append([name, got, context.text("own.engine_says", value=said), f"× {factor:.2f}"])
    return columns(rows, right=(1, 3))


def _list(options: argparse.Namespace, context: Context) -> int:
    kept, wrong = read_own(context.workspace.home)
    for message in wrong:
        print(f"gpuplanner: {context.text(message)}", file=sys.stderr)
    if options.json:
        print_json([_data(measurement) for measurement in kept])
        return 0
    rows = [
        [m.id, "" if m.used else context.text("own.off"), m.date, safe(m.name), _machine(m, context), _kind(m),
         safe(_metrics(m, context))]
        for m in kept
    ]  # fmt: skip
    print("\n".join(columns(rows)) if rows else context.text("own.none_kept"))
    return 0


def _machine(measurement: Own, context: Context) -> str:
    return safe(site_words(measurement.site, context.workspace.catalog.gpus.get))


def _kind(measurement: Own) -> str:
    if isinstance(measurement, OwnMeasurement):
        return measurement.plan.workload.kind
    return COLLECTIVES if isinstance(measurement, OwnLink) else PARTS


def _parts(measurement: OwnParts, context: Context) -> dict[str, tuple[str, str]]:
    """By the name of a rate what it is of, and the rate."""
    return {
        name: (context.text(f"own.parts.{name}"), context.number(rate, PART_UNITS[name]))
        for name, rate in measurement.shown.items()
    }


def _metrics(measurement: Own, context: Context) -> str:
    if isinstance(measurement, OwnLink):
        rate = context.number(measurement.bus_bytes_per_s, Unit.BYTE_PER_S)
        return context.text("own.link.busbw", rate=rate, ranks=round(measurement.ranks))
    if isinstance(measurement, OwnParts):
        return ", ".join(f"{what} {rate}" for what, rate in _parts(measurement, context).values())
    return ", ".join(
        f"{context.text(f'metric.{name}')} {context.number(value, UNITS.get(name, Unit.TOKEN_PER_S))}"
        for name, value in measurement.measured.items()
    )


def _data(measurement: Own) -> dict[str, object]:
    common: dict[str, object] = {
        "id": measurement.id,
        "file": measurement.name,
        "date": measurement.date,
        "machine": measurement.site,
        "kind": _kind(measurement),
        "used": measurement.used,
    }
    if isinstance(measurement, OwnLink):
        return common | {"measured": {"bus_bytes_per_s": measurement.bus_bytes_per_s, "ranks": measurement.ranks}}
    if isinstance(measurement, OwnParts):
        return common | {"measured": dict(measurement.rates)}
    return common | {
        "measured": dict(measurement.measured),
        "plan": measurement.plan.model_dump(mode="json", exclude_defaults=True),
    }
