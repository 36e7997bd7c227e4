"""Rules of thumb, tiers and answers out of files, each with our verdict on it. Reads them; judges nothing."""

from collections.abc import Iterable
from typing import Any

from gpuplanner.catalog.entries import Rule
from gpuplanner.catalog.files.records import Fields, Record
from gpuplanner.catalog.gpus import SourceOf, source_named
from gpuplanner.catalog.problems import Problem
from gpuplanner.units import GB, GIB, MB, TERA

KINDS = ("rule", "tier", "answer", "specification", "check", "principle", "known error")
VERDICTS = ("holds", "qualify", "wrong", "contradicts", "rule of thumb")
FACTOR_UNITS = {"": 1.0, "GiB": GIB, "GB/s": GB, "MB/s": MB, "Gbit/s": 1e9 / 8, "TFLOPS": TERA}
"""What the number of a rule is written in, and the base unit's count in it; networks are in bytes a second here."""
PER = ("per GPU", "per GB of GPU memory", "per node")
"""What the number of a rule is for one of, in `applies_to`; all else there is the id of a GPU."""
_FIELDS = (
    *("id", "kind", "claim_en", "claim_zh", "verdict", "reason_en", "reason_zh", "bears_on", "applies_to"),
    *("factor", "factor_unit", "source"),
)


def read_rule(record: Record, source_of: SourceOf, problems: list[Problem]) -> Rule | None:
    """The rule of one entry, or None when something in it is wrong."""
    fields = Fields(record, problems)
    fields.only(_FIELDS)
    source = source_named(fields, source_of)
    kind, verdict = fields.text("kind", required=True), fields.text("verdict", required=True)
    unit = fields.text("factor_unit")
    for name, value, known in (
        ("kind", kind, KINDS),
        ("verdict", verdict, VERDICTS),
        ("factor_unit", unit, FACTOR_UNITS),
    ):
        if value and value not in known:
            fields.problem(name, "overlay.value.not_one_of", value=value, words=", ".join(filter(None, known)))
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
        factor=None if factor is None else factor * FACTOR_UNITS[unit],
        source=source,
        **texts,
    )


def bearing_on(rules: Iterable[Rule], topics: Iterable[str], gpu_id: str) -> tuple[Rule, ...]:
    """The rules that speak about one of these topics, leaving out those that speak about other GPUs than this one."""
    wanted = frozenset(topics)
    return tuple(rule for rule in rules if not wanted.isdisjoint(rule.bears_on) and _concerns(rule, gpu_id))


def _concerns(rule: Rule, gpu_id: str) -> bool:
    gpus = [name for name in rule.applies_to if name not in PER]
    return not gpus or gpu_id in gpus
