"""How a row of serving measurements drafted tokens or divided its work, by what its notes print. Pure.

"speculative/MTP use not recorded", as online rows say, tells nothing, and such a row is placed without. A row that says
that it did and not how is refused, since it would be measured against another way of running.
"""

import re
from dataclasses import dataclass
from typing import Any

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.engine.validation.rows import Row
from gpuplanner.messages import InputError, msg
from gpuplanner.workload.serving import Speculation

_SUBJECT = r"(?:speculat\w+|mtp|eagle\w*|medusa|draft\w*|disagg\w*)"
UNSAID = re.compile(
    rf"{_SUBJECT}[\w/ -]{{0,40}}?(?:not (?:recorded|stated|used|enabled)|\boff\b|disabled)"
    rf"|{_SUBJECT}\s*=\s*(?:0|false|none|off)\b|\b(?:no|not|without|w/o) {_SUBJECT}",
    re.IGNORECASE,
)
"""What says that nothing drafted, or that nobody wrote it down."""
METHODS = (
    (re.compile(r"\bmedusa\b", re.IGNORECASE), Speculation.MEDUSA),
    (re.compile(r"\beagle-?[123]?\b", re.IGNORECASE), Speculation.EAGLE),
    (re.compile(r"\b(?:mtp|nextn)\b", re.IGNORECASE), Speculation.MTP),
    (re.compile(r"\bn-?gram\b|\bprompt[ _-]lookup\b", re.IGNORECASE), Speculation.NGRAM),
    (re.compile(r"\bdraft[ _-]model\b", re.IGNORECASE), Speculation.MODEL),
)
"""The first pattern that the notes match names what drafted."""
DRAFTED = re.compile(r"\bspeculat(?:ive|ion)\b", re.IGNORECASE)
DRAFT_MODEL = re.compile(r"draft[ _-]model\s*[=:]\s*([\w./-]{2,100})", re.IGNORECASE)
TOKENS = re.compile(
    r"(?:num_speculative_tokens|num_draft_tokens|draft[_ ]tokens|draft_len|\bmtp|\bnextn)\s*[=:]\s*(\d{1,2})(?!\d)",
    re.IGNORECASE,
)
ACCEPTED = re.compile(r"accept(?:ance|ed)?(?:[_ ]rate)?\s*[=:]?\s*(0?\.\d{1,6}|1\.0|\d{1,3}(?=\s?%))", re.IGNORECASE)
APART = re.compile(r"\bdisagg\w*", re.IGNORECASE)
WORKERS = (
    re.compile(r"\b(?P<readers>\d{1,4})p(?P<answering>\d{1,4})d\b", re.IGNORECASE),
    re.compile(
        r"prefill workers (?P<readers>\d{1,4})x tp(?P<tensor>\d{1,4})\b.{0,60}?"
        r"decode workers (?P<answering>\d{1,4})x tp(?P<other>\d{1,4})\b",
        re.IGNORECASE,
    ),
)
"""How many workers of each kind there were, and over how many GPUs each was split."""


SAID_NOT = re.compile(
    rf"{_SUBJECT}[\w/ -]{{0,40}}?(?:not (?:used|enabled)|\boff\b|disabled)"
    rf"|{_SUBJECT}\s*=\s*(?:0|false|none|off)\b|\b(?:no|not|without|w/o) {_SUBJECT}",
    re.IGNORECASE,
)
"""What says that nothing drafted."""
ONE_DRAFT = 2.0
"""Tokens that a step gives at most where one is drafted, as prediction layers do by themselves."""


@dataclass(frozen=True, slots=True)
class Workers:
    """Workers that only read prompts and those that answer, with the tensor-parallel degrees of both where told."""

    readers: int
    answering: int
    reader_tensor: int | None = None
    tensor_parallel: int | None = None


def may_have_drafted(row: Row, model: ModelArchitecture) -> bool:
    """Whether a server's row of a model with layers that predict further tokens leaves open if they ran."""
    servers = row.text("mode") == "online" and bool(model.extra_parameters)
    return servers and not SAID_NOT.search(row.text("notes")) and not drafting_of(row)


def drafting_of(row: Row) -> dict[str, Any]:
    """The fields of a plan that drafts as the row did; empty where it did not, or where that is not recorded.

    Raises InputError when it did, and the notes do not say with what.
    """
    notes = UNSAID.sub("", row.text("notes"))
    method = next((found for pattern, found in METHODS if pattern.search(notes)), None)
    if method is None:
        if DRAFTED.search(notes):
            raise InputError(msg("validation.drafting_not_told"))
        return {}
    given: dict[str, Any] = {"speculation": method}
    if tokens := TOKENS.search(notes):
        given["draft_tokens"] = max(int(tokens[1]), 1)
    if accepted := ACCEPTED.search(notes):
        rate = float(accepted[1])
        given["acceptance_rate"] = min(rate / 100 if rate > 1 else rate, 1.0)
    if method is Speculation.MODEL:
        named = DRAFT_MODEL.search(notes)
        if named is None:
            raise InputError(msg("validation.drafting_not_told"))
        given["draft_model"] = named[1]
    return given


def workers_of(row: Row) -> Workers | None:
    """The workers of a row that had prefill and decode apart, None where each did all.

    Raises InputError when the row does not tell how many did which.
    """
    notes = UNSAID.sub("", row.text("notes"))
    if APART.search(notes) is None:
        return None
    found = next(filter(None, (pattern.search(notes) for pattern in WORKERS)), None)
    told = found.groupdict() if found is not None else {}
    readers, answering = int(told.get("readers", 0)), int(told.get("answering", 0))
    if not (readers and answering):
        raise InputError(msg("validation.workers_not_told"))
    if "tensor" not in told:
        return Workers(readers, answering)
    return Workers(readers, answering, int(told["tensor"]), int(told["other"]))
