"""One module a tool: text in, evidence out. Pure; what a parser does not understand it leaves, and says so.

Each module has `PARSER`. Adding a tool is adding a module.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from gpuplanner.messages import Message
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.output import Output

CERTAIN, LIKELY, POSSIBLE, NO = 3, 2, 1, 0
"""How sure a parser is that an output is of its tool: by what no other tool prints, by its form, by a guess."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A part of an output that could not be read: what and where, as a person reads it."""

    line: int
    message: Message


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a parser made of an output."""

    evidence: Evidence
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Parser:
    """How one tool's output is recognised and read. `tool`: its name, as `inspect` prints it."""

    tool: str
    recognise: Callable[[Output], int]
    parse: Callable[[Output], Parsed]


@cache
def parsers() -> tuple[Parser, ...]:
    """All parsers, in the order of their modules' names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    found = (getattr(importlib.import_module(f"{__name__}.{name}"), "PARSER", None) for name in names)
    return tuple(parser for parser in found if isinstance(parser, Parser))
