"""`probe --tier b`: says what it will do, asks, measures, and prints the rates with the way that gave each."""

import argparse
import sys
from collections.abc import Iterable

from gpuplanner.cli.columns import columns, safe
from gpuplanner.cli.context import Context, print_json
from gpuplanner.cli.kept_runs import keep_run
from gpuplanner.cli.machine_target import transport_to, until_interrupted
from gpuplanner.cli.run_files import refuse_existing, save
from gpuplanner.messages import InputError, msg, shortened
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import Bandwidth, DiskRate
from gpuplanner.probe.measuring import MOST_SECONDS, Measured, Measuring, measure, step_name
from gpuplanner.probe.results import Run
from gpuplanner.probe.running import read
from gpuplanner.probe.there.alone import MOST_BYTES
from gpuplanner.probe.there.measure import WITH_GPUS, WITHOUT_GPUS
from gpuplanner.probe.transports import Event, Lost
from gpuplanner.units import Display, Unit, percent, show, show_bytes

_YES = frozenset({"y", "yes", "是", "好"})


def measure_machine(options: argparse.Namespace, context: Context) -> int:
    """Measure a machine. Exit code 1 where it was refused there, stopped, or came to no end."""
    says_what = context.text(
        "cli.measure.will",
        seconds=MOST_SECONDS,
        memory=str(show_bytes(MOST_BYTES, Display())),
    )
    steps = (*WITH_GPUS, *WITHOUT_GPUS)
    for step in options.only:
        if step not in steps:
            raise InputError(msg("cli.measure.unknown_step", step=shortened(safe(step), 40), steps=", ".join(steps)))
    if options.only:
        says_what += " " + context.text(
            "cli.measure.only", steps=", ".join(_name(step, context) for step in options.only)
        )
    if options.commands:
        print(says_what)
        return 0
    if options.target is None:
        raise InputError(msg("cli.probe.no_target"))
    if options.test:
        raise InputError(msg("cli.measure.not_both"))
    refuse_existing(options.save)
    print(says_what, file=sys.stderr)
    if not options.yes and not agreed(context, "cli.measure.ask"):
        return 1
    run, measured = _measured(options, context)
    if options.save:
        save(run, options.save)
    keep_run(options, options.target, run, context)
    evidence, _ = read(run)
    if options.json:
        print_json({"target": run.target, "whole": run.whole, "refused": measured.refused or None,
                    "note": context.text("cli.measure.never_run"), "evidence": evidence.as_data()})  # fmt: skip
    else:
        print("\n".join(_lines(run, measured, evidence, context)))
    return 0 if run.whole else 1


def agreed(context: Context, question: str) -> bool:
    """Whether the person at the terminal says yes. Raises InputError where there is nobody to ask."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise InputError(msg("cli.measure.needs_yes"))
    print(context.text(question), end=" ", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in _YES


def _measured(options: argparse.Namespace, context: Context) -> tuple[Run, Measured]:
    runner = transport_to(options.target)
    measured = Measured(runner.name)

    def told(event: Event) -> None:
        if isinstance(event, Lost):
            print(f"gpuplanner: {context.text(event.why)}", file=sys.stderr)

    def progress(step: Measuring) -> None:
        gpu = "" if step.gpu is None else f"GPU {step.gpu} "
        print(f"{percent(step.share):>4} {gpu}{_name(step.what, context)}", file=sys.stderr)

    work = measure(
        runner, told, progress, measured, even_if_busy=options.even_if_busy, only=options.only, places=options.disk
    )
    run = until_interrupted(work)
    return (measured.run(whole=False) if run is None else run), measured


def _name(what: str, context: Context) -> str:
    """A step in words; one that a stranger's program made up, as it is."""
    known = step_name(what)
    return context.text(known) if known is not None else safe(what)


def _lines(run: Run, measured: Measured, evidence: Evidence, context: Context) -> Iterable[str]:
    if measured.refused:
        yield context.text(f"cli.measure.{measured.refused}", target=run.target)
        return
    if not run.whole:
        yield context.text("cli.measure.not_whole", target=run.target)
    yield from rate_lines(evidence, context)
    if evidence.bandwidths or evidence.matrix_rates or evidence.collectives:
        yield context.text("cli.measure.never_run")
    for fault in evidence.faults:
        gpu = "" if fault.gpu_index is None else f"GPU {fault.gpu_index} "
        what = _name(fault.wanted or "", context)
        yield context.text("cli.measure.failed", what=f"{gpu}{what}", said=safe(fault.said or "–"))


def rate_lines(evidence: Evidence, context: Context) -> Iterable[str]:
    """Everything that was measured, a line a rate."""
    of_gpus = [*_bandwidths(evidence, context), *_matrices(evidence, context), *_collectives(evidence, context)]
    return columns([*of_gpus, *_disks(evidence, context), *_channel(evidence, context)])


def _bandwidths(evidence: Evidence, context: Context) -> Iterable[tuple[str, str, str, str]]:
    """The largest copy of each path and method: what the link gives; smaller ones are for charts."""
    best: dict[tuple[object, ...], Bandwidth] = {}
    for row in evidence.bandwidths:
        key = row.path, row.source, row.target, row.method, row.both_ways
        if row.path == "network":
            continue
        if key not in best or (row.bytes or 0) > (best[key].bytes or 0):
            best[key] = row
    for row in best.values():
        ends = [str(end) for end in dict.fromkeys((row.source, row.target)) if end is not None]
        rate = show((row.gb_per_s or 0) * 1e9, Unit.BYTE_PER_S, Display())
        name = _name("both_ways" if row.both_ways else row.path, context)
        yield name, f"GPU {' → '.join(ends)}", str(rate), safe(row.method or "")


def _matrices(evidence: Evidence, context: Context) -> Iterable[tuple[str, str, str, str]]:
    for row in evidence.matrix_rates:
        unit = Unit.OP_PER_S if row.dtype == "int8" else Unit.FLOP_PER_S
        rate = show((row.tflop_per_s or 0) * 1e12, unit, Display())
        word = "attention" if row.path == "torch_sdpa" else "arithmetic"
        kind = context.text(f"cli.measure.{word}", dtype=safe((row.dtype or "?").upper()))
        yield kind, f"GPU {row.gpu_index}", str(rate), safe(row.path or "")


def _collectives(evidence: Evidence, context: Context) -> Iterable[tuple[str, str, str, str]]:
    for run in evidence.collectives:
        row = max(run.rows, key=lambda row: row.bytes or 0, default=None)
        if row is not None:
            rate = show((row.bus_gb_per_s or 0) * 1e9, Unit.BYTE_PER_S, Display())
            library = safe(f"NCCL {run.nccl_version}") if run.nccl_version else "NCCL"
            yield (
                _name("all_reduce", context),
                context.text("cli.measure.ranks", count=run.ranks or 0),
                str(rate),
                library,
            )


def _disks(evidence: Evidence, context: Context) -> Iterable[tuple[str, str, str, str]]:
    for row in evidence.disk_rates:
        rate = show((row.gb_per_s or 0) * 1e9, Unit.BYTE_PER_S, Display())
        shown = str(rate)
        if row.operation not in {"read", "write"}:
            shown = f"{row.operations_per_s or 0:,.0f}/s, {row.latency_mean_us or 0:,.0f} µs"
        yield _operation(row, context), safe(row.path or ""), shown, context.text(f"cli.measure.disk.{_cache(row)}")


def _operation(row: DiskRate, context: Context) -> str:
    known = row.operation in {"read", "write", "randread", "randwrite"}
    name = f"cli.measure.disk.{row.operation}"
    return context.text(name, depth=row.queue_depth or 1) if known else safe(row.operation or "?")


def _cache(row: DiskRate) -> str:
    return {True: "direct", False: "cached", None: "unknown"}[row.direct]


def _channel(evidence: Evidence, context: Context) -> Iterable[tuple[str, str, str, str]]:
    """The way to the machine, which is no property of its network."""
    for row in evidence.bandwidths:
        if row.path == "network" and row.method in {"to_machine", "from_machine"}:
            rate = show((row.gb_per_s or 0) * 1e9, Unit.BYTE_PER_S, Display())
            trip = context.text("cli.measure.round_trip", time=f"{(row.latency_us or 0) / 1e3:.1f} ms")
            yield _name("network", context), context.text(f"cli.measure.way.{row.method}"), str(rate), trip
