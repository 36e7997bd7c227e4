"""Where in JSON text something stands that Python refuses without saying where. Linear in the length of the text."""

import re

TOO_DEEP = 100
"""Lists and objects within each other: no configuration and no plan has a fifth of that."""
LONGEST_NUMBER = 4300
"""Digits of a whole number that Python reads (`sys.int_info.default_max_str_digits`)."""
_TOKEN = re.compile(
    rf'"(?:[^"\\]++|\\.)*+"?|(?P<constant>NaN|-?Infinity)|(?P<long>\d{{{LONGEST_NUMBER + 1},}}+)|\d++'
    r"|(?P<open>[\[{])|(?P<close>[\]}])",
    re.DOTALL,
)


def line_of_constant(text: str) -> int:
    """The line of the first NaN or Infinity that is no text; 1 where there is none."""
    return _line_of(text, "constant")


def line_of_long_number(text: str) -> int:
    """The line of the first number with more digits than Python reads; 1 where there is none."""
    return _line_of(text, "long")


def line_too_deep(text: str) -> int:
    """The line from which on lists and objects are nested deeper than `TOO_DEEP`; 1 where they are not."""
    depth = 0
    for token in _TOKEN.finditer(text):
        if token["open"]:
            depth += 1
            if depth > TOO_DEEP:
                return _line(text, token.start())
        elif token["close"]:
            depth -= 1
    return 1


def _line_of(text: str, kind: str) -> int:
    return next((_line(text, token.start()) for token in _TOKEN.finditer(text) if token[kind]), 1)


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
