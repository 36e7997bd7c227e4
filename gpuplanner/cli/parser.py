"""The parser of the command line: what it says is in the person's language, one sentence for each mistake.

argparse has its phrases in English. Here every mistake that it finds becomes an InputError with a message of ours.
"""

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from gpuplanner.messages import InputError, Language, Message, Translator, msg, nearest, shortened

LONGEST_GIVEN = 60
"""Characters of a word of the command line that a sentence repeats."""


class _Mistake(argparse.ArgumentError):
    """A mistake that is already told in a message of ours."""

    def __init__(self, action: argparse.Action, told: Message) -> None:
        super().__init__(action, told.id)
        self.told = told


class _Refused(argparse.ArgumentTypeError):
    """A value that cannot be used, told in a message of ours."""

    def __init__(self, told: Message) -> None:
        super().__init__(told.id)
        self.told = told


def refused(told: Message) -> Exception:
    """What the type of an argument raises for a value that it cannot use."""
    return _Refused(told)


class Help(argparse.HelpFormatter):
    """Folds sentences to the terminal's width, and leaves texts of several lines (the examples) as they are."""

    usage_prefix = ""

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        """The usage line, begun in the person's language."""
        super().add_usage(usage, actions, groups, self.usage_prefix if prefix is None else prefix)

    def format_help(self) -> str:
        """The help, its headings without the colon that argparse puts behind them."""
        return re.sub(r"(?m)^(\S.*):$", r"\1", super().format_help())

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


class Parser(argparse.ArgumentParser):
    """Raises InputError for a command line that cannot be read. Made by `made`."""

    @classmethod
    def made(cls, translator: Translator, **described: Any) -> "Parser":
        """A parser whose help is in the language of the translator."""
        parser = cls(**described, **cls._settings(translator))
        parser.prepare(translator)
        return parser

    @staticmethod
    def _settings(translator: Translator) -> dict[str, Any]:
        colon = "：" if translator.language is Language.CHINESE else ": "
        formatter = type("Help", (Help,), {"usage_prefix": translator.text("cli.parser.usage") + colon})
        return {"formatter_class": formatter, "add_help": False, "allow_abbrev": False, "exit_on_error": False}

    def prepare(self, translator: Translator) -> None:
        """Headings and the option of the help itself."""
        self._positionals.title = translator.text("cli.parser.positionals")
        self._optionals.title = translator.text("cli.parser.options")
        self.add_argument("-h", "--help", action="help", help=translator.text("cli.help.help"))

    def below(self, group: Any, translator: Translator, name: str, **described: Any) -> "Parser":
        """A parser of a command of this one."""
        parser: Parser = group.add_parser(name, **described, **self._settings(translator))
        parser.prepare(translator)
        return parser

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The options of a command line. Raises InputError, and SystemExit once help or version have been printed."""
        try:
            options, left_over = self.parse_known_args(list(arguments))
        except _Mistake as mistake:
            raise InputError(mistake.told) from None
        except argparse.ArgumentError as fault:
            # All others are told by ours, so a value was given to an option that takes none (or Python has a new rule).
            raise InputError(msg("cli.parser.takes_no_value", option=fault.argument_name or self.prog)) from None
        left_over = _late_words(left_over, options)
        if left_over:
            raise InputError(self._too_much(left_over, options))
        return options

    def error(self, message: str) -> NoReturn:
        """Called for arguments that are required and missing; their names are what argparse lists last."""
        names = message.rpartition(": ")[2]
        raise InputError(msg("cli.parser.missing", names=shortened(names), command=self.prog))

    def _too_much(self, left_over: list[str], options: argparse.Namespace) -> Message:
        command = f"{self.prog} {options.command.name}"
        given = next((word for word in left_over if word.startswith("-")), None)
        if given is None:
            return msg("cli.parser.too_much", given=shortened(" ".join(left_over), LONGEST_GIVEN), command=command)
        known = options.parser.option_strings()
        near = nearest(given.partition("=")[0], known)
        shown = shortened(given, LONGEST_GIVEN)
        if near:
            return msg("cli.parser.unknown_option_near", given=shown, near=near[0], command=command)
        return msg("cli.parser.unknown_option", given=shown, command=command)

    def option_strings(self) -> list[str]:
        """The options as they are typed."""
        return list(self._option_string_actions)

    def optional_words(self) -> list[argparse.Action]:
        """The arguments without an option's name that may be left out."""
        return [a for a in self._actions if not a.option_strings and a.nargs == "?" and a.type is None]

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = list(map(str, action.choices))
        near = nearest(str(value), choices, 1)
        values = {"given": shortened(str(value), LONGEST_GIVEN), "choices": ", ".join(choices), "command": self.prog}
        if near:
            values["near"] = near[0]
        if isinstance(action, argparse._SubParsersAction):
            told = msg("cli.parser.no_such_command_near" if near else "cli.parser.no_such_command", **values)
        else:
            told = msg("cli.parser.no_such_choice_near" if near else "cli.parser.no_such_choice", **values)
            told = msg("cli.parser.bad_choice", option=_named(action), problem=told)
        raise _Mistake(action, told)

    def _match_argument(self, action: argparse.Action, arg_strings_pattern: str) -> int:
        try:
            return super()._match_argument(action, arg_strings_pattern)
        except argparse.ArgumentError:
            raise _Mistake(action, msg("cli.parser.needs_value", option=_named(action), command=self.prog)) from None

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError as fault:
            cause = fault.__context__
            if not isinstance(cause, _Refused):
                raise
            raise _Mistake(
                action, msg("cli.parser.bad_value", option=_named(action), command=self.prog, problem=cause.told)
            ) from None


def _late_words(left_over: list[str], options: argparse.Namespace) -> list[str]:
    """Gives words that stand behind the options to the arguments that may be left out, and returns what is left.

    argparse takes such an argument for left out as soon as an option follows the words before it.
    """
    command = getattr(options, "parser", None)
    for action in command.optional_words() if command else ():
        if left_over and not left_over[0].startswith("-") and getattr(options, action.dest) == action.default:
            setattr(options, action.dest, left_over[0])
            left_over = left_over[1:]
    return left_over


def _named(action: argparse.Action) -> str:
    """An argument as a person types it, or as the help calls it."""
    return "/".join(action.option_strings) or str(action.metavar or action.dest)
