"""Currency rates out of files: what one US dollar costs, with date and source. Reads them; converts nothing."""

from collections.abc import Iterator

from gpuplanner.catalog.catalog import Rate
from gpuplanner.catalog.files.records import Fields, Record
from gpuplanner.catalog.gpus import SourceOf, source_named
from gpuplanner.catalog.guards import price_without_currency
from gpuplanner.catalog.problems import Problem

_FIELDS = ("per_usd", "date", "source")


def read_rates(record: Record, source_of: SourceOf, problems: list[Problem]) -> Iterator[tuple[str, Rate]]:
    """The rates that a file states under `rates`, by currency code. Faulty ones are left out and kept as problems."""
    listed = record.values.get("rates", "")
    if not isinstance(listed, Record):
        if listed:
            Fields(record, problems).problem("rates", "overlay.value.not_mapping")
        return
    for code, content in listed.values.items():
        outer = Fields(listed, problems)
        if not isinstance(content, Record):
            outer.problem(code, "overlay.value.not_mapping")
            continue
        if fault := price_without_currency(code):
            outer.keep(code, fault)
            continue
        fields = Fields(content, problems)
        fields.only(_FIELDS)
        per_usd = fields.number("per_usd", low=1e-6, high=1e9)
        source = source_named(fields, source_of)
        date = fields.date("date")
        if per_usd is None and not fields.failed:
            fields.problem("per_usd", "overlay.value.required")
        if code.upper() == "USD" and per_usd not in {None, 1.0}:
            fields.problem("per_usd", "overlay.rate.dollar")
        if source and per_usd is not None and not fields.failed:
            yield code.upper(), Rate(code.upper(), per_usd, date, source)
