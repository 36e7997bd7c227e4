"""Rules of thumb, tiers and answers out of files, each with our verdict on it. Reads them; judges nothing."""

from typing import Any

from gpuplanner.catalog.entries import Rule
from gpuplanner.catalog.files.records import Fields, Record
from gpuplanner.catalog.gpus import SourceOf, source_named
from gpuplanner.catalog.problems import Problem

KINDS = ("rule", "tier", "answer", "specification", "check", "principle", "known error")
VERDICTS = ("holds", "qualify", "wrong", "contradicts", "rule of thumb")
_FIELDS = (
    *("id", "kind", "claim_en", "claim_zh", "verdict", "reason_en", "reason_zh", "bears_on", "applies_to"),
    *("factor", "source"),
)


def read_rule(record: Record, source_of: SourceOf, problems: list[Problem]) -> Rule | None:
    """The rule of one entry, or None when something in it is wrong."""
    fields = Fields(record, problems)
    fields.only(_FIELDS)
    source = source_named(fields, source_of)
    kind, verdict = fields.text("kind", required=True), fields.text("verdict", required=True)
    for name, value, known in (("kind", kind, KINDS), ("verdict", verdict, VERDICTS)):
        if value and value not in known:
            fields.problem(name, "overlay.value.not_one_of", value=value, words=", ".join(known))
    texts: dict[str, Any] = {
        name: fields.text(name, required=True) for name in ("id", "claim_en", "claim_zh", "reason_en", "reason_zh")
    }
    factor = fields.number("factor")
    bears_on, applies_to = fields.words("bears_on"), fields.words("applies_to")
    if source is None or fields.failed:
        return None
    return Rule(
        kind=kind,
        verdict=verdict,
        bears_on=bears_on,
        applies_to=applies_to,
        factor=factor,
        source=source,
        **texts,
    )
