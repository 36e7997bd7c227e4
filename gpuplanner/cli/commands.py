"""Which commands there are and what they take. Their work is in modules of their own, imported when called."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gpuplanner.cli import ask_arguments
from gpuplanner.cli.parser import Parser, refused
from gpuplanner.messages import msg, shortened
from gpuplanner.workload.machine_counts import MOST_GPUS

if TYPE_CHECKING:
    from gpuplanner.cli.context import Context

Text = Callable[..., str]
"""Renders a message by its id, with its values by name."""
MOST = 1_000_000_000
"""The largest count that an option takes: GPUs, lines, MiB of a memory."""
SHOWN_LEVELS = 2
"""How many levels of a derivation are printed when none are asked for: the whole of one is hundreds of lines."""
Run = Callable[[argparse.Namespace, "Context"], int]


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its words, where its work is, and its arguments."""

    name: str
    module: str
    function: str
    arguments: Callable[[Parser, Text], None]

    def load(self) -> Run:
        """The function that does the work."""
        return cast(Run, getattr(import_module(f"gpuplanner.cli.{self.module}"), self.function))


def _search(parser: Parser, text: Text) -> None:
    parser.add_argument("text", nargs="+", metavar="TEXT", help=text("cli.help.search_text"))
    parser.add_argument("--kind", choices=("gpu", "instance", "model"), help=text("cli.help.kind"))
    parser.add_argument("--limit", type=_count, default=20, help=text("cli.help.limit"))


def _list(parser: Parser, text: Text) -> None:
    parser.add_argument("table", choices=("gpus", "instances", "models"), metavar="KIND", help=text("cli.help.table"))
    parser.add_argument("--filter", action="append", default=[], metavar="FILTER", help=text("cli.help.filter"))
    parser.add_argument("--sort", metavar="COLUMN,…", help=text("cli.help.sort"))
    parser.add_argument("--columns", metavar="COLUMN,…", help=text("cli.help.columns"))
    parser.add_argument("--limit", type=_count, help=text("cli.help.limit"))
    parser.add_argument("--csv", action="store_true", help=text("cli.help.as_csv"))


def _one_entry(parser: Parser, text: Text) -> None:
    parser.add_argument("text", nargs="+", metavar="TEXT", help=text("cli.help.entry"))
    parser.add_argument("--kind", choices=("gpu", "instance", "model"), help=text("cli.help.kind"))
    parser.add_argument("--memory", type=_count, metavar="MIB", help=text("cli.help.memory"))


def _plan(parser: Parser, text: Text, optional: bool = False) -> None:
    parser.add_argument("plan", metavar="PLAN", help=text("cli.help.plan"), nargs="?" if optional else None)
    parser.add_argument("--machine", metavar="INSTANCE", help=text("cli.help.machine"))
    parser.add_argument("--gpu", metavar="GPU", help=text("cli.help.gpu"))
    parser.add_argument("--gpus", type=_gpus, default=None, metavar="N", help=text("cli.help.gpus"))
    parser.add_argument("--model", metavar="MODEL", help=text("cli.help.model"))
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help=text("cli.help.set"))
    parser.add_argument("--no-own-measurements", action="store_true", help=text("cli.help.no_own_measurements"))


def _calibrate(parser: Parser, text: Text) -> None:
    parser.add_argument("what", metavar="FILE|list|on|off|remove", help=text("cli.help.calibrate_what"))
    _plan(parser, text, optional=True)


def _recommend(parser: Parser, text: Text) -> None:
    _plan(parser, text)
    parser.add_argument("--limit", type=_count, default=10, help=text("cli.help.limit"))
    parser.add_argument("--why-not", nargs="?", const=True, metavar="NAME", help=text("cli.help.why_not"))


def _explain(parser: Parser, text: Text) -> None:
    _plan(parser, text)
    parser.add_argument("figure", metavar="FIGURE", nargs="?", help=text("cli.help.figure"))
    parser.add_argument("--depth", type=_count, default=SHOWN_LEVELS, metavar="N", help=text("cli.help.depth"))


def _estimate(parser: Parser, text: Text) -> None:
    _plan(parser, text)
    parser.add_argument("--all-rules", action="store_true", help=text("cli.help.all_rules"))


def _validate(parser: Parser, text: Text) -> None:
    parser.add_argument("files", nargs="*", type=Path, metavar="CSV", help=text("cli.help.csv"))
    parser.add_argument("--columns", action="store_true", help=text("cli.help.validate_columns"))


def _inspect(parser: Parser, text: Text) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help=text("cli.help.inspect_files"))


def _probe(parser: Parser, text: Text) -> None:
    parser.add_argument("target", nargs="?", metavar="TARGET", help=text("cli.help.probe_target"))
    parser.add_argument("--test", action="store_true", help=text("cli.help.probe_test"))
    parser.add_argument("--commands", "--show", action="store_true", help=text("cli.help.probe_commands"))
    parser.add_argument("--save", type=Path, metavar="FILE", help=text("cli.help.probe_save"))
    parser.add_argument("--tier", choices=("a", "b", "c"), default="a", help=text("cli.help.probe_tier"))
    parser.add_argument("--only", action="append", default=[], metavar="STEP", help=text("cli.help.probe_only"))
    parser.add_argument("--disk", action="append", default=[], metavar="FOLDER", help=text("cli.help.probe_disk"))
    parser.add_argument("--fio", metavar="FOLDER", help=text("cli.help.probe_fio"))
    parser.add_argument("--own", action="append", default=[], metavar="COMMAND", help=text("cli.help.probe_own"))
    parser.add_argument("--yes", action="store_true", help=text("cli.help.probe_yes"))
    parser.add_argument("--even-if-busy", action="store_true", help=text("cli.help.probe_even_if_busy"))
    parser.add_argument("--no-history", action="store_true", help=text("cli.help.no_history"))


def _watch(parser: Parser, text: Text) -> None:
    parser.add_argument("target", metavar="TARGET", help=text("cli.help.probe_target"))
    parser.add_argument("--seconds", type=_seconds, default=0.0, metavar="N", help=text("cli.help.watch_seconds"))
    parser.add_argument("--interval", type=_interval, default=1.0, metavar="S", help=text("cli.help.watch_interval"))


def _check(parser: Parser, text: Text) -> None:
    parser.add_argument("targets", nargs="+", metavar="TARGET|FILE", help=text("cli.help.check_targets"))
    parser.add_argument("--expect", metavar="NAME|PLAN", help=text("cli.help.check_expect"))
    parser.add_argument("--all", action="store_true", help=text("cli.help.check_all"))
    parser.add_argument("--no-history", action="store_true", help=text("cli.help.no_history"))


def _diagnose(parser: Parser, text: Text) -> None:
    parser.add_argument("targets", nargs="+", metavar="TARGET|FILE|-", help=text("cli.help.diagnose_targets"))
    parser.add_argument("--expect", metavar="NAME|PLAN", help=text("cli.help.check_expect"))
    parser.add_argument("--no-history", action="store_true", help=text("cli.help.no_history"))


def _runs_list(parser: Parser, text: Text) -> None:
    parser.add_argument("host", nargs="?", metavar="TARGET", help=text("cli.help.runs_host"))


def _runs_show(parser: Parser, text: Text) -> None:
    parser.add_argument("id", type=_count, metavar="RUN", help=text("cli.help.runs_id"))
    parser.add_argument("--expect", metavar="NAME|PLAN", help=text("cli.help.runs_expect"))
    parser.add_argument("--all", action="store_true", help=text("cli.help.check_all"))
    parser.add_argument("--save", type=Path, metavar="FILE", help=text("cli.help.probe_save"))


def _runs_diff(parser: Parser, text: Text) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN|FILE", help=text("cli.help.runs_diff_runs"))


def _runs_remove(parser: Parser, text: Text) -> None:
    parser.add_argument("id", type=_count, metavar="RUN", help=text("cli.help.runs_id"))
    parser.add_argument("--undo", action="store_true", help=text("cli.help.runs_undo"))


def _rates(parser: Parser, text: Text) -> None:
    parser.add_argument("targets", nargs="+", metavar="TARGET|FILE", help=text("cli.help.rates_targets"))
    parser.add_argument("--expect", metavar="NAME|PLAN", help=text("cli.help.check_expect"))
    parser.add_argument("--plan", metavar="PLAN", help=text("cli.help.rates_plan"))


def _nothing(parser: Parser, text: Text) -> None:
    """A command without arguments of its own."""


def _presets(parser: Parser, text: Text) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help=text("cli.help.preset_name"))


def _seconds(given: str) -> float:
    """How long is watched: more than nothing and at most a week."""
    return _between(given, 604_800)


def _interval(given: str) -> float:
    """Seconds between two samples: at most ten a second, and often enough to see that the machine is there."""
    return _between(given, 10)


def _between(given: str, most: int) -> float:
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1
    if not 0.1 <= seconds <= most:
        raise refused(msg("cli.not_seconds", given=shortened(given, 40), most=f"{most:,}"))
    return seconds


def _gpus(given: str) -> int:
    """As many GPUs as a plan can name."""
    return _count(given, MOST_GPUS)


def _count(given: str, most: int = MOST) -> int:
    """A count on the command line: whole, at least one, and not beyond what the program counts."""
    try:
        number = int(given)
    except ValueError:
        number = 0
    if not 1 <= number <= most:
        raise refused(msg("cli.not_a_count", given=shortened(given, 40), most=f"{most:,}"))
    return number


def _question(own: Callable[[Parser, Text], None]) -> Callable[[Parser, Text], None]:
    """The arguments of a question about a plan: the plan, what the question itself takes, how the answer is shown."""

    def arguments(parser: Parser, text: Text) -> None:
        _plan(parser, text)
        own(parser, text)
        ask_arguments.how_shown(parser, text)

    return arguments


COMMANDS = (
    Command("catalog search", "catalog_commands", "search", _search),
    Command("catalog list", "list_command", "list_entries", _list),
    Command("catalog show", "catalog_commands", "show", _one_entry),
    Command("catalog resolve", "catalog_commands", "resolve", _one_entry),
    Command("presets", "plan_commands", "presets", _presets),
    Command("estimate", "plan_commands", "estimate", _estimate),
    Command("recommend", "recommend_command", "recommend", _recommend),
    Command("explain", "explain_command", "explain", _explain),
    Command("calibrate", "calibrate_command", "calibrate", _calibrate),
    Command("validate", "validate_command", "validate", _validate),
    Command("probe", "probe_command", "probe_machine", _probe),
    Command("watch", "watch_command", "watch_machine", _watch),
    Command("inspect", "inspect_command", "inspect_files", _inspect),
    Command("check", "check_command", "check_machine", _check),
    Command("diagnose", "diagnose_command", "diagnose_machine", _diagnose),
    Command("rates", "rates_command", "rates_of_machine", _rates),
    Command("runs list", "runs_command", "list_runs", _runs_list),
    Command("runs show", "runs_command", "show_run", _runs_show),
    Command("runs diff", "runs_command", "diff_runs", _runs_diff),
    Command("runs remove", "runs_command", "remove_run", _runs_remove),
    Command("schema", "plan_commands", "schema", _nothing),
    Command("ask load", "ask_command", "load", _question(ask_arguments.load)),
    Command("ask checkpoints", "ask_command", "checkpoints", _question(ask_arguments.checkpoints)),
    Command("ask energy", "ask_command", "energy", _question(ask_arguments.energy)),
    Command("ask cost", "ask_command", "cost", _question(ask_arguments.cost)),
    Command("ask nvlink", "ask_command", "nvlink", _question(ask_arguments.nvlink)),
    Command("ask day", "ask_command", "day", _question(ask_arguments.day)),
    Command("ask split", "ask_command", "split", _question(ask_arguments.split)),
    Command("ask slice", "ask_command", "slices", _question(ask_arguments.slices)),
    Command("catalog add-gpu", "add_gpu_command", "add", ask_arguments.new_gpu),
)
