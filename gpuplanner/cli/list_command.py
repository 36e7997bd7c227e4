"""`catalog list`: the tables of the catalog with filters, sort and columns, as text, CSV or JSON."""

import argparse
import csv
import re
import sys
from collections.abc import Mapping, Sequence

from gpuplanner.catalog.table.columns import Column, ColumnKind, header_unit
from gpuplanner.catalog.table.paging import ANYWHERE, Page, Sort
from gpuplanner.catalog.table.values import Cell
from gpuplanner.cli.columns import columns, safe
from gpuplanner.cli.context import Context, print_json
from gpuplanner.messages import InputError, for_spreadsheet, msg, nearest, shortened
from gpuplanner.units import digits

SHOWN_ROWS = 20
"""Rows in a terminal when no number is asked for; CSV and JSON have all."""
SHOWN_COLUMNS = {
    "gpus": ("name", "release_date", "memory_bytes", "hbm_bytes_per_s", "bf16_flop_per_s", "power_w", "gpu_price"),
    "instances": ("provider", "name", "gpu", "gpu_count", "gpu_memory_total", "price", "gpu_price", "region"),
    "models": ("name", "family", "parameters", "active_parameters", "layers", "max_positions", "kv_bytes_per_token"),
}
"""Those that fit a terminal and are asked for most."""
_FILTER = re.compile(r"^\s*([a-z][a-z0-9_]*)\s*(==|=|(?=[<>!≥≤≠])|:)\s*(.*)$", re.DOTALL)
_DIGITS = 4


def list_entries(options: argparse.Namespace, context: Context) -> int:
    """Print a page of a table. Exit code 1 when the filters leave nothing."""
    table: str = options.table
    whole = options.csv or options.json
    named = options.columns.split(",") if options.columns else None
    filters = _filters(options.filter, table, context)
    page = context.workspace.index.page(
        table,
        filters,
        _sort(options.sort, table, context),
        limit=options.limit or (sys.maxsize if whole else SHOWN_ROWS),
        columns=[_known(name.strip(), table, context) for name in named or (() if whole else SHOWN_COLUMNS[table])]
        or None,
        display=context.display,
    )
    if options.json:
        rows = [{"id": row.id, **_by_column(page, row.cells)} for row in page.rows]
        print_json({"table": table, "total": page.total, "rows": rows})
    elif options.csv:
        _print_csv(page, context)
    else:
        _print_text(page, context)
        if not page.rows:
            _print_extents(table, filters, context)
    return 0 if page.rows else 1


def _filters(given: Sequence[str], table: str, context: Context) -> dict[str, str]:
    """Filters by column; one without a column is looked for in all. Several of one column have to be one expression."""
    filters: dict[str, str] = {}
    for number, text in enumerate(given):
        found = _FILTER.match(text)
        if found is None:
            filters[f"{ANYWHERE}{number}"] = text
            continue
        name, sign, expression = found.groups()
        name = _known(name, table, context)
        if name in filters:
            raise InputError(msg("cli.list.filter_twice", column=name))
        filters[name] = f"={expression}" if sign == "==" else expression
    return filters


def _sort(given: str | None, table: str, context: Context) -> list[Sort]:
    keys = []
    for key in given.split(",") if given else ():
        name, _, direction = key.strip().partition(":")
        if direction not in {"", "asc", "desc"}:
            raise InputError(msg("cli.list.bad_sort", given=shortened(key, 60)))
        keys.append(Sort(_known(name.removeprefix("-"), table, context), direction == "desc" or name.startswith("-")))
    return keys


def _known(name: str, table: str, context: Context) -> str:
    """A column by its id, or by what it is called in either language's header."""
    known = {column.id: column for column in context.workspace.index.columns(table)}
    if name in known:
        return name
    titled = {context.text(column.label).casefold(): column.id for column in known.values()}
    if name.casefold() in titled:
        return titled[name.casefold()]
    near = nearest(name, known)
    shown = shortened(name, 60)
    if near:
        raise InputError(msg("cli.list.no_such_column_near", table=table, name=shown, near=", ".join(near)))
    raise InputError(msg("cli.list.no_such_column", table=table, name=shown, known=", ".join(known)))


def _by_column(page: Page, cells: Sequence[Cell]) -> Mapping[str, Cell]:
    return {column.id: cell for column, cell in zip(page.columns, cells, strict=True)}


def _print_text(page: Page, context: Context) -> None:
    if not page.rows:
        print(context.text("cli.list.nothing"))
        return
    numbers = [at for at, column in enumerate(page.columns) if column.kind is ColumnKind.NUMBER]
    rows = [[_title(column, context) for column in page.columns]]
    for row in page.rows:
        pairs = zip(page.columns, row.cells, strict=True)
        rows.append([_shown(column, cell, context) for column, cell in pairs])
    print("\n".join(columns(rows, right=numbers)))
    print()
    said = "cli.list.some" if len(page.rows) < page.total else "cli.list.all"
    print(context.text(said, shown=f"{len(page.rows):,}", total=f"{page.total:,}"))


def _print_extents(table: str, filters: Mapping[str, str], context: Context) -> None:
    """In which unit the filtered columns of numbers are, and what they hold: most often one was given in another."""
    named = [column.id for column in context.workspace.index.columns(table) if column.id in filters]
    if not named:
        return
    whole = context.workspace.index.page(table, {}, [], limit=sys.maxsize, columns=named, display=context.display)
    for at, column in enumerate(whole.columns):
        numbers = [cell for row in whole.rows if isinstance(cell := row.cells[at], int | float)]
        unit = header_unit(column, context.display).text
        if column.kind is ColumnKind.NUMBER and numbers:
            ends = {"low": _shown(column, min(numbers), context), "high": _shown(column, max(numbers), context)}
            said = "cli.list.extent" if unit else "cli.list.extent_plain"
            print(context.text(said, column=column.id, unit=unit, **ends))


def _shown(column: Column, cell: Cell, context: Context) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return safe(cell)
    text = digits(cell / header_unit(column, context.display).factor, _DIGITS)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _print_csv(page: Page, context: Context) -> None:
    """With units in the header, a decimal point whatever the language, and nothing where a value is missing."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["id", *(_title(column, context) for column in page.columns)])
    for row in page.rows:
        pairs = zip(page.columns, row.cells, strict=True)
        writer.writerow([for_spreadsheet(row.id), *(_plain(column, cell, context) for column, cell in pairs)])


def _plain(column: Column, cell: Cell, context: Context) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return for_spreadsheet(cell)
    return f"{cell / header_unit(column, context.display).factor:.10g}"


def _title(column: Column, context: Context) -> str:
    unit = header_unit(column, context.display).text
    title = context.text(column.label)
    return f"{title} ({unit})" if unit else title
