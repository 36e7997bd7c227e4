"""Sources by id. An entry names one as "id" or as "id#place", the place being a page, a file or a line inside it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from gpuplanner.catalog.files.records import Fields, Record
from gpuplanner.catalog.problems import Problem
from gpuplanner.facts import Source
from gpuplanner.messages import without_controls

MEMORY = "memory"
"""The source of what no document at hand confirms."""
_FIELDS = ("citation", "citation_zh", "date", "accessed", "from_memory")


class Sources:
    """The sources that entries of one set of files may name."""

    def __init__(self, known: Mapping[str, Source]) -> None:
        self._known = dict(known)

    def __getitem__(self, reference: str) -> Source:
        """The source of a reference. Raises KeyError when there is none of that id."""
        found = self._known.get(reference)
        if found is None:
            source_id, mark, place = reference.partition("#")
            if not mark:
                raise KeyError(reference)
            source = self._known[source_id]
            found = replace(source, id=reference, citation=f"{source.citation}, {place}")
            self._known[reference] = found
        return found

    def with_own(self, own: Mapping[str, Source]) -> "Sources":
        """These and those that one file states itself."""
        return Sources({**self._known, **own})

    def known(self) -> Mapping[str, Source]:
        """All sources by id, those with a place as they were asked for so far."""
        return self._known


class OwnSources:
    """What a person's file may name as its source: one that is known, else any words, which are then the citation."""

    def __init__(self, known: Sources, file: str, own: Mapping[str, Source]) -> None:
        self._known = known.with_own(own)
        self._file = without_controls(file)
        self._made: dict[tuple[str, str], Source] = {}

    def __call__(self, reference: str, date: str = "") -> Source:
        """The source of an entry that names `reference` (nothing: the file itself), with the date of its fact."""
        made = self._made.get((reference, date))
        if made is None:
            made = self._made[reference, date] = self._make(reference, date)
        return made

    def _make(self, reference: str, date: str) -> Source:
        if reference:
            try:
                return replace(self._known[reference], user=True)
            except KeyError:
                return Source(reference, reference, date, user=True)
        return Source(self._file, self._file, date, user=True)


def shipped_sources(listed: Mapping[str, Mapping[str, Any]]) -> dict[str, Source]:
    """The sources of a table that comes with the app, by id. A missing citation is a programming fault (KeyError)."""
    return {
        key: Source(
            key,
            entry["citation"],
            str(entry.get("date") or ""),
            from_memory=bool(entry.get("from_memory", False)),
            accessed=str(entry.get("accessed") or ""),
            citation_zh=str(entry.get("citation_zh") or ""),
        )
        for key, entry in listed.items()
    }


def read_sources(record: Record, problems: list[Problem]) -> dict[str, Source]:
    """The sources that a file states under `sources`, by id. Faulty ones are left out and kept as problems."""
    listed = record.values.get("sources", "")
    if not isinstance(listed, Record):
        if listed:
            Fields(record, problems).problem("sources", "overlay.value.not_mapping")
        return {}
    return dict(_sources(listed, problems))


def _sources(listed: Record, problems: list[Problem]) -> Iterable[tuple[str, Source]]:
    for name, content in listed.values.items():
        if not isinstance(content, Record):
            Fields(listed, problems).problem(name, "overlay.value.not_mapping")
            continue
        fields = Fields(content, problems)
        fields.only(_FIELDS)
        source = Source(
            name,
            fields.text("citation", required=True),
            fields.date("date"),
            from_memory=fields.flag("from_memory"),
            accessed=fields.date("accessed"),
            citation_zh=fields.text("citation_zh"),
        )
        if not fields.failed:
            yield name, source
