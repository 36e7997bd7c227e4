"""`ask`: questions about a plan, each answered in a sentence, with its figures and with what is not known."""

import argparse

from gpuplanner.cli.answer_text import answer_data, answer_lines
from gpuplanner.cli.context import Context, print_json
from gpuplanner.cli.plan_arguments import plan_of, with_machine
from gpuplanner.engine.answers.answering import Question
from gpuplanner.engine.answers.day import Day, Shape
from gpuplanner.engine.answers.energy import Energy
from gpuplanner.engine.answers.failures import Failures
from gpuplanner.engine.answers.job_cost import JobCost
from gpuplanner.engine.answers.linking import Linking
from gpuplanner.engine.answers.loading import Loading
from gpuplanner.engine.answers.splitting import Splitting
from gpuplanner.units import GB
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.reads_data import Storage

SECONDS_PER_DAY = 86400.0


def load(options: argparse.Namespace, context: Context) -> int:
    """How long the weights load, and a replica starts from nothing."""
    return _answer(_loading(options, options.process_start, options.engine_start), options, context)


def checkpoints(options: argparse.Namespace, context: Context) -> int:
    """How often to write checkpoints, what failures take, how many spare nodes."""
    return _answer(_failures(options, options.probability), options, context)


def energy(options: argparse.Namespace, context: Context) -> int:
    """Energy of a job or a million tokens, and what its electricity costs."""
    return _answer(Energy(options.pue, options.host_watts, options.usd_per_kwh), options, context)


def cost(options: argparse.Namespace, context: Context) -> int:
    """What a finished job costs, with what is not known by name."""
    question = JobCost(
        usd_per_hour=options.usd_per_hour,
        hours=options.hours,
        idle_share=_times(options.idle, 0.01),
        stored_bytes=_times(options.storage_gb, GB),
        usd_per_gb_month=options.storage_price,
        egress_bytes=_times(options.egress_gb, GB),
        usd_per_gb_out=options.egress_price,
        failures=_failures(options),
    )
    return _answer(question, options, context)


def nvlink(options: argparse.Namespace, context: Context) -> int:
    """Whether the link between the GPUs matters."""
    return _answer(Linking(), options, context)


def day(options: argparse.Namespace, context: Context) -> int:
    """Replicas by the hour of a day, fixed and elastic."""
    question = Day(
        rates=options.rates,
        peak=options.peak,
        shape=Shape(options.shape),
        reserve_share=options.reserve / 100.0,
        least_replicas=options.least,
        usd_per_hour=options.usd_per_hour,
        start_s=options.start,
        loading=_loading(options),
    )
    return _answer(question, options, context)


def split(options: argparse.Namespace, context: Context) -> int:
    """Replicas or tensor parallelism on one node."""
    return _answer(Splitting(options.usd_per_hour), options, context)


def slices(options: argparse.Namespace, context: Context) -> int:
    """The smallest slice of a GPU that carries the plan."""
    plan = with_machine(plan_of(options, context), context)
    question = context.workspace.slicing(plan, options.usd_per_hour)
    return _answer(question, options, context, plan)


def _answer(question: Question, options: argparse.Namespace, context: Context, plan: Plan | None = None) -> int:
    asked = plan or with_machine(plan_of(options, context), context)
    answer = context.workspace.answer(asked, question, explained=options.explain)
    if options.json:
        print_json(answer_data(answer, context, explained=options.explain))
    else:
        print("\n".join(answer_lines(answer, context, options.depth if options.explain else 0)))
    return 0 if answer.good else 1


def _loading(
    options: argparse.Namespace, process_start_s: float | None = None, engine_start_s: float | None = None
) -> Loading:
    rate = _times(options.storage_rate, GB)
    return Loading(Storage(options.storage), rate, process_start_s, engine_start_s, options.readers)


def _failures(options: argparse.Namespace, probability: float = 0.99) -> Failures:
    return Failures(
        bytes_per_s=_times(options.write_rate, GB),
        stall_s=options.stall,
        between_failures_s=_times(options.failure_days, SECONDS_PER_DAY),
        restart_s=_times(options.restart_minutes, 60.0),
        repair_s=_times(options.repair_hours, 3600.0),
        probability=probability,
    )


def _times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
