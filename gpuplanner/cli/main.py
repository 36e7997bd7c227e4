"""Reads the command line, calls the command, and turns what goes wrong into one sentence and an exit code.

Exit codes: 0 fine; 1 does not carry the plan, or nothing found; 2 bad input; 70 a fault of our own.
"""

import argparse
import errno
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from gpuplanner import __version__
from gpuplanner.cli.commands import COMMANDS, Command, Text
from gpuplanner.cli.context import Context, NothingFoundError
from gpuplanner.cli.parser import Parser
from gpuplanner.cli.program import CommandTranslator
from gpuplanner.messages import InputError, Language, Message, Translator, msg, shortened

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)
"""Why a file or a device that the output goes to takes no more."""
NOTHING, BAD_INPUT, OUR_FAULT, INTERRUPTED = 1, 2, 70, 130


def main(arguments: Sequence[str]) -> int:
    """Run the command in `arguments` (without the program's name). Returns the exit code."""
    language = _language(arguments)
    translator = CommandTranslator(language)
    as_json = "--json" in arguments
    context = Context.open(translator)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        options = _parser(translator).read(arguments)
        command: Command = options.command
        code = command.load()(options, context)
        context.say_left_out()
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except SystemExit as leaving:
        return int(leaving.code or 0)
    except InputError as fault:
        said = _say(translator, fault.message, as_json)
        return NOTHING if isinstance(fault, NothingFoundError) else said
    except BrokenPipeError:
        # The reader has seen enough (`| head`); nothing is wrong, and nothing more can be said there.
        _forget_output()
        return context.code
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as fault:
        if isinstance(fault, OSError) and fault.errno in _NO_ROOM:
            _forget_output()
            return _say_beside(translator, msg("cli.cannot_print", reason=fault.strerror or str(fault)), as_json)
        if os.environ.get("GPUPLANNER_DEBUG"):
            raise
        what, where = shortened(f"{type(fault).__name__}: {fault}"), _where(fault)
        _say(translator, msg("cli.our_fault", what=what, where=where), as_json)
        return OUR_FAULT


def _say(translator: Translator, message: Message, as_json: bool) -> int:
    """Say what went wrong: a person reads it on stderr, a program that asked for JSON has it where it reads."""
    sentence = translator.text(message)
    if as_json:
        try:
            print(_error(message, sentence), flush=True)
        except OSError:
            _forget_output()
            return _say_beside(translator, message, as_json)
    _on_stderr(f"gpuplanner: {sentence}")
    return BAD_INPUT


def _say_beside(translator: Translator, message: Message, as_json: bool) -> int:
    """Say on stderr, as JSON where that was asked for, what can no longer be said on stdout."""
    sentence = translator.text(message)
    _on_stderr(_error(message, sentence) if as_json else f"gpuplanner: {sentence}")
    return BAD_INPUT


def _on_stderr(text: str) -> None:
    """Say it where it can be said: the exit code tells the same where stderr takes nothing."""
    with suppress(OSError):
        print(text, file=sys.stderr)


def _error(message: Message, sentence: str) -> str:
    return json.dumps({"error": {"id": message.id, "message": sentence}}, ensure_ascii=False)


def _forget_output() -> None:
    """Let what is still to be printed go nowhere, so that Python does not try again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _where(fault: Exception) -> str:
    trace = fault.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno}" if trace else ""


def _language(arguments: Sequence[str]) -> Language:
    """The language has to be known before the texts of the parser are made."""
    given = [
        a.partition("=")[2] or "".join(arguments[i + 1 : i + 2])
        for i, a in enumerate(arguments)
        if a.partition("=")[0] == "--lang"
    ]
    for name in reversed(given):
        if name:
            return Language.from_locale(name)
    names = (os.environ.get(variable) for variable in ("LC_ALL", "LC_MESSAGES", "LANG"))
    return Language.from_locale(next((name for name in names if name), None))


def _parser(translator: CommandTranslator) -> Parser:
    text = translator.text
    parser = Parser.made(
        translator, prog=translator.program, description=text("cli.description"), epilog=text("cli.epilog")
    )
    parser.add_argument(
        "--version", action="version", version=f"gpuplanner {__version__}", help=text("cli.help.version")
    )
    _add_language(parser, text)
    groups: dict[str, argparse._SubParsersAction[Parser]] = {"": _commands_of(parser, text)}
    for command in COMMANDS:
        group, _, name = command.name.rpartition(" ")
        if group not in groups:
            said = text(f"cli.help.{group}")
            above = parser.below(groups[""], translator, group, help=said, description=said)
            _add_language(above, text)
            groups[group] = _commands_of(above, text)
        key = command.name.replace(" ", "_")
        said, examples = text(f"cli.help.{key}"), text(f"cli.examples.{key}")
        below = parser.below(groups[group], translator, name, help=said, description=said, epilog=examples)
        below.add_argument("--json", action="store_true", help=text("cli.help.json"))
        _add_language(below, text)
        command.arguments(below, text)
        below.set_defaults(command=command, parser=below)
    return parser


def _commands_of(parser: Parser, text: Text) -> "argparse._SubParsersAction[Parser]":
    return parser.add_subparsers(title=text("cli.commands"), metavar="COMMAND", required=True)


def _add_language(parser: Parser, text: Text) -> None:
    """May stand before and after the words of a command. What it says has been read by `_language`."""
    parser.add_argument("--lang", choices=("en", "zh"), default=argparse.SUPPRESS, help=text("cli.help.lang"))
