"""An answer as lines of text for a terminal, and as JSON for other programs."""

from collections.abc import Iterator
from typing import Any

from gpuplanner.cli.columns import columns
from gpuplanner.cli.context import Context
from gpuplanner.cli.estimate_text import certainty
from gpuplanner.cli.explain_command import derivation_data
from gpuplanner.cli.figures_data import figure_data, message_data
from gpuplanner.engine.answers.answer import Answer, Cell, Line, Table
from gpuplanner.engine.explaining import explanation_lines
from gpuplanner.figures import Figure
from gpuplanner.messages import Message

BEST = "→"


def answer_lines(answer: Answer, context: Context, depth: int = 0) -> Iterator[str]:
    """The lines, without line ends. `depth`: how many levels of each figure's derivation are shown."""
    yield context.text(answer.says)
    if answer.lines:
        yield ""
        yield from columns([_line(line, context) for line in answer.lines], right=(1,))
    if answer.table is not None:
        yield ""
        yield from _table(answer.table, context)
    for heading, sentences in (("cli.heading.unknown", answer.unknown), ("cli.heading.remarks", answer.remarks)):
        if sentences:
            yield ""
            yield context.text(heading)
            yield from (f"  {context.text(sentence)}" for sentence in sentences)
    if depth:
        for line in answer.lines:
            if line.figure is not None and line.figure.derivation is not None:
                yield ""
                yield line_name(line, context)
                shown = explanation_lines(line.figure, context.translator, context.display, depth)
                yield from (f"  {step}" for step in shown)


def line_name(line: Line, context: Context) -> str:
    """What a figure of an answer is called."""
    return context.text(line.name or f"answers.line.{line.id}")


def answer_data(answer: Answer, context: Context, *, explained: bool = False) -> dict[str, Any]:
    """Everything of an answer; unknown is null. `explained`: with the derivation of each figure."""
    table = answer.table
    return {
        "question": answer.question,
        "answer": message_data(answer.says, context.translator),
        "figures": {line.id: _figure(line.figure, context, explained=explained) for line in answer.lines},
        "table": None
        if table is None
        else {
            "columns": table.columns,
            "rows": [
                {
                    "name": message_data(row.name, context.translator),
                    "cells": [_cell_data(cell, context) for cell in row.cells],
                    "best": row.best,
                }
                for row in table.rows
            ],
        },
        "unknown": [message_data(one, context.translator) for one in answer.unknown],
        "remarks": [message_data(one, context.translator) for one in answer.remarks],
    }


def _line(line: Line, context: Context) -> list[str]:
    figure = line.figure
    name = f"  {line_name(line, context)}"
    if figure is None:
        return [name, context.text("answers.not_known"), "", ""]
    return [name, context.number(figure.value, figure.unit), context.range(figure), certainty(figure, context)]


def _table(table: Table, context: Context) -> Iterator[str]:
    head = ["", *(column_name(column, context) for column in table.columns)]
    rows = [
        [BEST if row.best else "", context.text(row.name), *(_cell(cell, context) for cell in row.cells)]
        for row in table.rows
    ]
    numbers = [
        place
        for place in range(2, len(head))
        if all(not isinstance(row.cells[place - 2], Message) for row in table.rows)
    ]
    yield from columns([head, *rows], right=numbers)


def column_name(column: str, context: Context) -> str:
    """The head of a column: a metric of the engine, or a column of answers alone."""
    own = f"answers.column.{column}"
    return context.text(own if context.translator.has(own) else f"metric.{column}")


def _cell(cell: Cell, context: Context) -> str:
    if cell is None:
        return "–"
    return context.text(cell) if isinstance(cell, Message) else context.number(cell.value, cell.unit)


def _figure(figure: Figure | None, context: Context, *, explained: bool) -> dict[str, Any] | None:
    if figure is None:
        return None
    data = figure_data(figure)
    return data | {"derivation": derivation_data(figure, context)} if explained else data


def _cell_data(cell: Cell, context: Context) -> dict[str, Any] | None:
    if cell is None:
        return None
    return message_data(cell, context.translator) if isinstance(cell, Message) else figure_data(cell)
