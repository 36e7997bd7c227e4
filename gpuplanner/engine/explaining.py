"""A figure's derivation as rows and as a tree of text: what the CLI prints and the window shows. Computes nothing.

Names are message ids: `formula.<id>` for a step, `reference.<id>` for what it rests on, `term.<name>` for an input.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isinf
from typing import Any

from gpuplanner.engine.formulas.terms import TERM_UNITS
from gpuplanner.engine.origins import NO_LIMIT
from gpuplanner.figures import Certainty, Figure, Formula, Origin, Step
from gpuplanner.messages import Message, Translator, msg
from gpuplanner.units import Display, Shown, Unit, digits, show

_TERM = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+|\b[a-z]{3,}(?![a-z0-9_])")
_SIGNS = str.maketrans({"·": "×", "*": "×", "/": "÷", "-": "−"})


_LONG_SOURCE = 100
"""Characters of a citation from which on it is not repeated."""


@dataclass(frozen=True, slots=True)
class ExplanationRow:
    """One line of a derivation. `depth` 0 is the figure itself.

    `term`: the name under which the row's number goes into the row above it, empty for the figure and for a step that
    a formula made itself; `formula`: how it was computed, None for an input; `origin`: where an input was read, None
    when nothing is known of it; `repeated`: its inputs stand further up, where the same number was first computed, at
    the depth `opened_at`.
    """

    depth: int
    term: str
    value: Any
    unit: Unit | None
    formula: Formula | None = None
    origin: Origin | None = None
    repeated: bool = False
    opened_at: int = 0

    @property
    def name_id(self) -> str:
        """The message id of what the row is called."""
        return f"term.{self.term}" if self.term or not self.formula else f"formula.{self.formula.id}"

    @property
    def source(self) -> str:
        """The citation of the input's source, empty when there is none."""
        return self.origin.fact.source.citation if self.origin and self.origin.fact else ""

    @property
    def date(self) -> str:
        """The date of the input's source, empty when there is none."""
        return self.origin.fact.source.date if self.origin and self.origin.fact else ""

    @property
    def note(self) -> Message | None:
        """What an input follows from that no source gives as it is, or what its origin says beside its source."""
        return self.origin.note if self.origin else None

    @property
    def certainty(self) -> Certainty | None:
        """What kind of knowledge an input is, None for a computed row and for an input of unknown origin."""
        return self.origin.certainty if self.origin else None


def explanation(figure: Figure) -> list[ExplanationRow]:
    """The rows of a figure's derivation, parents before their inputs; empty when none was recorded.

    A step that a formula made itself stands below it beside its inputs. What is used twice is opened once.
    """
    return list(_rows(figure.derivation, 0, "", {})) if figure.derivation else []


def _rows(step: Step, depth: int, term: str, opened: dict[int, int]) -> Iterator[ExplanationRow]:
    repeated = id(step) in opened
    opened_at = opened.setdefault(id(step), depth)
    yield ExplanationRow(depth, term, step.value, step.formula.unit, step.formula, None, repeated, opened_at)
    if repeated:
        return
    names = Counter(argument.name for argument in step.arguments)
    for argument in step.arguments:
        if argument.step is not None:
            # Several inputs of one name (the parts of a sum) are told apart by how each was computed.
            alone = names[argument.name] == 1
            yield from _rows(argument.step, depth + 1, argument.name if alone else "", opened)
        elif not _no_limit(argument.value):
            unit = TERM_UNITS.get(argument.name)
            yield ExplanationRow(depth + 1, argument.name, argument.value, unit, None, argument.origin)
    for inner in step.inner:
        yield from _rows(inner, depth + 1, "", opened)


def _no_limit(value: Any) -> bool:
    """Whether an input stands for "as much as you like", which limits nothing and explains nothing."""
    return isinstance(value, int | float) and value >= NO_LIMIT


def explanation_lines(figure: Figure, translator: Translator, display: Display, deepest: float = inf) -> list[str]:
    """The derivation as lines of text, two spaces a level, as it is copied and printed; no level below `deepest`."""
    rows = [row for row in explanation(figure) if row.depth <= deepest]
    said: set[str] = set()
    return [f"{'  ' * row.depth}{row_text(row, translator, display, deepest, said)}" for row in rows]


def equation_text(equation: str, translator: Translator) -> str:
    """An equation with the names of its terms in words, as the rows below it are called."""

    def word(found: re.Match[str]) -> str:
        # What stands before a bracket is a function and no term, such as "max".
        function = equation[found.end() : found.end() + 1] == "("
        kinds = ("explain.word",) if function else ("term", "explain.word")
        for message_id in (f"{kind}.{found[0]}" for kind in kinds):
            if translator.has(message_id):
                return translator.text(message_id)
        return found[0].replace("_", " ")

    return _TERM.sub(word, equation.translate(_SIGNS))


def reference_text(formula: Formula, translator: Translator) -> str:
    """What a formula rests on: our own sentence in the person's language, or a cited work by its own title."""
    message_id = f"reference.{formula.id}"
    return translator.text(message_id) if translator.has(message_id) else formula.reference


def row_text(
    row: ExplanationRow,
    translator: Translator,
    display: Display,
    deepest: float = inf,
    said: set[str] | None = None,
) -> str:
    """One row as text: name, equation, value, and for an input its kind, source and date.

    `deepest`: the last level that is shown, since a row that was opened below it cannot be seen further up.
    `said`: the sources of the rows above, to which this one's is added; a long one is there in full only once.
    """
    name = translator.text(row.name_id) if translator.has(row.name_id) else (row.term or row.name_id)
    text = f"{name} = {row_value(row, translator, display)}"
    if row.repeated:
        where = "explain.above" if row.opened_at < deepest else "explain.above_deeper"
        return f"{text} ({translator.text(where)})"
    if row.formula is not None:
        rests_on = reference_text(row.formula, translator)
        reference = f" [{rests_on}]" if rests_on else ""
        equation = equation_text(row.formula.equation, translator)
        return f"{text} = {equation}{reference}" if equation else text
    parts = []
    if row.origin is not None:
        parts.append(translator.text(row.origin.note or msg(f"explain.kind.{row.origin.certainty.name.lower()}")))
    source = row.source
    if said is not None and len(source) > _LONG_SOURCE:
        source = translator.text("explain.source_above", name=short_source(source)) if source in said else source
        said.add(row.source)
    parts += [part for part in (source, row.date) if part]
    return f"{text} ({translator.joined(parts)})" if parts else text


def short_source(citation: str) -> str:
    """What a long citation begins with, up to its colon; a short one whole."""
    return citation.partition(":")[0] if len(citation) > _LONG_SOURCE else citation


def row_value(row: ExplanationRow, translator: Translator, display: Display) -> str:
    """The number of a row as a person reads it."""
    if not isinstance(row.value, int | float):
        return str(row.value)
    if isinf(row.value):
        return "∞"
    if row.unit is None:
        return digits(row.value, 4)
    shown = show(row.value, row.unit, display, 4)
    return str(Shown(shown.number, translator.unit(shown.unit)))
