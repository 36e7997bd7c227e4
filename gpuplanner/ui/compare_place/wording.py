"""The comparison in words: cells as they are read, and the whole as Markdown or CSV. Knows no widget."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

from gpuplanner.messages import Message, MessageValue, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.catalog_place.catalog_words import in_words
from gpuplanner.ui.catalog_place.marks import Mark, mark_of
from gpuplanner.ui.catalog_place.wording import known_lines, shown_fact, source_text
from gpuplanner.ui.compare_place.comparison import Cell, ComparedGroup, ComparedRow
from gpuplanner.ui.compare_place.properties import METRICS
from gpuplanner.ui.compare_place.subjects import Subject
from gpuplanner.ui.widgets.figure_label import spread_text
from gpuplanner.units import Unit, digits, percent, show_money

MISSING = "—"
DIFFERS = "≠"


@dataclass(frozen=True, slots=True)
class CellWords:
    """A value as it is read, a mark after it where it is disputed or from memory, and its sources.

    `note` is its range; `unsure`: best, but within the range of another.
    """

    text: str
    mark: str = ""
    best: bool = False
    missing: bool = False
    tip: str = ""
    note: str = ""
    unsure: bool = False


def cell_words(row: ComparedRow, cell: Cell, appearance: Appearance, subjects: Sequence[Subject] = ()) -> CellWords:
    """One cell in the language and units in use. `subjects` have the names of those that are spoken of."""
    if cell.value is None:
        return CellWords(MISSING, missing=True)
    text = _value(row, cell, appearance)
    if cell.known is None:
        return _result_words(row, cell, text, appearance, subjects)
    mark = mark_of(cell.known)
    tip = "\n".join(known_lines(cell.known, appearance))
    return CellWords(text, mark.value if mark in {Mark.DISPUTED, Mark.MEMORY} else "", cell.best, tip=tip)


def _result_words(
    row: ComparedRow, cell: Cell, text: str, appearance: Appearance, subjects: Sequence[Subject]
) -> CellWords:
    """A value of a plan: its range below it, and why it is or is not the best."""
    note, tips = "", []
    if cell.spread is not None and isinstance(cell.value, float | int):
        note = spread_text(appearance, cell.value, cell.spread, row.property.unit)
        tips.append(appearance.text("compareui.range", range=note))
    if cell.within is not None:
        name = subjects[cell.within].title if subjects else str(cell.within + 1)
        tips.append(appearance.text("compareui.within", name=name))
    if row.mixed:
        tips.append(appearance.text("compareui.mixed.row"))
    if row.property.id in METRICS:
        tips.append(appearance.text("compareui.explained"))
    unsure = cell.within is not None
    return CellWords(text, best=cell.best, tip="\n".join(tips), note=note, unsure=unsure)


def _value(row: ComparedRow, cell: Cell, appearance: Appearance) -> str:
    value, unit = cell.value, row.property.unit
    if not isinstance(value, float | int):
        said = appearance.said(_said(value))
        return in_words(said, appearance) if row.property.in_catalog and not isinstance(value, Message) else said
    if cell.known is not None:
        return shown_fact(cell.known.fact, appearance)
    if unit is Unit.MONEY_PER_HOUR and abs(value * appearance.display.per_usd) < 1:
        return f"{digits(value * appearance.display.per_usd)} {appearance.display.currency}/h"
    if unit is Unit.MONEY_PER_HOUR:
        return f"{show_money(value, appearance.display)}/h"
    if unit is Unit.RATIO:
        return percent(value, 1)
    return str(appearance.show(value, unit))


def _said(value: object) -> MessageValue:
    return value if isinstance(value, Message) else str(value)


def about(subject: Subject, appearance: Appearance) -> str:
    """The line under a title."""
    own = (msg("compareui.own"),) if subject.own else ()
    return " · ".join(text for text in map(appearance.said, (*subject.about, *own)) if text)


def source_lines(
    subjects: Sequence[Subject], groups: Sequence[ComparedGroup], appearance: Appearance
) -> tuple[str, ...]:
    """For each subject where its figures in sight are from, each source once."""
    lines = []
    for at, subject in enumerate(subjects):
        known = (row.cells[at].known for group in groups for row in group.rows)
        sources = dict.fromkeys(source_text(k.fact.source, appearance) for k in known if k is not None)
        if sources:
            lines.append(appearance.text("compareui.sources_of", name=subject.title, sources="; ".join(sources)))
    return tuple(lines)


def as_table(subjects: Sequence[Subject], groups: Sequence[ComparedGroup], appearance: Appearance) -> list[list[str]]:
    """The comparison as it is shown: a line of titles, then groups and rows; the best carries its word."""
    head = ["", *(f"{s.title} ({about(s, appearance)})" for s in subjects)]
    lines = [head]
    for group in groups:
        lines.append([appearance.text(group.title), *("" for _ in subjects)])
        for row in group.rows:
            title = appearance.text(row.property.title)
            cells = (cell_words(row, cell, appearance, subjects) for cell in row.cells)
            lines.append([f"{DIFFERS} {title}" if row.differs else title, *(copied(c, appearance) for c in cells)])
    return lines


def as_markdown(lines: Sequence[Sequence[str]], groups: Sequence[str], sources: Sequence[str] = ()) -> str:
    """Lines as a Markdown table; `groups` are the titles that stand alone in their line, in bold.

    `sources` are listed below the table.
    """
    written = []
    for at, line in enumerate(lines):
        cells = [cell.replace("|", "\\|").replace("\n", " ") for cell in line]
        if line[0] in groups and not any(line[1:]):
            cells[0] = f"**{cells[0]}**"
        written.append(f"| {' | '.join(cells)} |")
        if at == 0:
            written.append(f"| {' | '.join(['---', *('---:' for _ in line[1:])])} |")
    if sources:
        written += ["", *(f"- {line}" for line in sources)]
    return "\n".join(written) + "\n"


def as_csv(lines: Sequence[Sequence[str]], sources: Sequence[str] = ()) -> str:
    """Lines as CSV, the sources as comments below. What a spreadsheet would run as a formula is made text."""
    written = io.StringIO(newline="")
    writer = csv.writer(written, lineterminator="\n")
    writer.writerows([[f"'{cell}" if cell[:1] in set("=+-@\t\r") else cell for cell in line] for line in lines])
    written.write("".join(f"# {line}\n" for line in sources))
    return written.getvalue()


def copied(words: CellWords, appearance: Appearance) -> str:
    """A cell in one line: value, mark, range, and whether it is best."""
    parts = (words.text, words.mark, f"({words.note})" if words.note else "", best_word(words, appearance))
    return " ".join(part for part in parts if part)


def best_word(words: CellWords, appearance: Appearance) -> str:
    """What the best value carries; empty for another."""
    if not words.best:
        return ""
    return appearance.text("compareui.best.unsure" if words.unsure else "compareui.best")
