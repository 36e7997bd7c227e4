"""Reads the command line, calls the command, and turns what goes wrong into one sentence and an exit code.

Exit codes: 0 fine; 1 does not fit, or nothing found; 2 bad input; 70 a fault of our own.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from gpuplanner import __version__
from gpuplanner.cli.commands import COMMANDS, Command
from gpuplanner.cli.context import Context
from gpuplanner.messages import InputError, Language, Translator, msg, shortened

FINE, NOTHING, BAD_INPUT, OUR_FAULT, INTERRUPTED = 0, 1, 2, 70, 130


def main(arguments: Sequence[str]) -> int:
    """Run the command in `arguments` (without the program's name). Returns the exit code."""
    language = _language(arguments)
    translator = Translator(language)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        options = _parser(translator).parse_args(arguments)
        command: Command = options.command
        return command.load()(options, Context.open(translator))
    except SystemExit as leaving:
        return int(leaving.code or 0)
    except InputError as fault:
        return _say(translator.text(fault.message), fault.message.id, "--json" in arguments)
    except BrokenPipeError:
        # The reader has seen enough (`| head`); nothing is wrong, and nothing more can be said there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as fault:
        if os.environ.get("GPUPLANNER_DEBUG"):
            raise
        where = _where(fault)
        _say(
            translator.text(msg("cli.our_fault", what=shortened(f"{type(fault).__name__}: {fault}"), where=where)),
            "",
            False,
        )
        return OUR_FAULT


def _say(sentence: str, message_id: str, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"error": {"id": message_id, "message": sentence}}, ensure_ascii=False))
    print(f"gpuplanner: {sentence}", file=sys.stderr)
    return BAD_INPUT


def _where(fault: Exception) -> str:
    trace = fault.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}" if trace else ""


def _language(arguments: Sequence[str]) -> Language:
    """The language has to be known before the texts of the parser are made."""
    given = [
        a.partition("=")[2] or "".join(arguments[i + 1 : i + 2]) for i, a in enumerate(arguments) if a[:6] == "--lang"
    ]
    if given:
        return Language.from_locale(given[-1])
    names = (os.environ.get(variable) for variable in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return Language.from_locale(next((name for name in names if name), None))


class _Help(argparse.HelpFormatter):
    """Folds sentences to the terminal's width, and leaves texts of several lines (the examples) as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with a command line in the person's language, with the way to help."""

    translator: Translator

    def error(self, message: str) -> NoReturn:
        sentence = self.translator.text(msg("cli.bad_command_line", problem=shortened(message), command=self.prog))
        raise SystemExit(_say(sentence, "cli.bad_command_line", "--json" in sys.argv))


def _parser(translator: Translator) -> argparse.ArgumentParser:
    text = translator.text
    _Parser.translator = translator
    parser = _Parser(
        prog="gpuplanner",
        description=text("cli.description"),
        epilog=text("cli.epilog"),
        formatter_class=_Help,
    )
    parser.add_argument("--version", action="version", version=f"gpuplanner {__version__}")
    parser.add_argument("--lang", choices=("en", "zh"), help=text("cli.help.lang"))
    groups: dict[str, argparse._SubParsersAction[_Parser]] = {
        "": parser.add_subparsers(title=text("cli.commands"), metavar="COMMAND", required=True)
    }
    for command in COMMANDS:
        group, _, name = command.name.rpartition(" ")
        if group not in groups:
            above = groups[""].add_parser(group, help=text(f"cli.help.{group}"), description=text(f"cli.help.{group}"))
            groups[group] = above.add_subparsers(title=text("cli.commands"), metavar="COMMAND", required=True)
        key = command.name.replace(" ", "_")
        below = groups[group].add_parser(
            name,
            help=text(f"cli.help.{key}"),
            description=text(f"cli.help.{key}"),
            epilog=text(f"cli.examples.{key}"),
            formatter_class=_Help,
        )
        below.add_argument("--json", action="store_true", help=text("cli.help.json"))
        below.add_argument("--lang", choices=("en", "zh"), default=argparse.SUPPRESS, help=text("cli.help.lang"))
        command.arguments(below, text)
        below.set_defaults(command=command)
    return parser
