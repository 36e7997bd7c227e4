"""Efficiencies: calibrated shares, latencies and overheads of real hardware and software, as data with their sources.

`catalogs/efficiency/<name>.yaml` is one table. An entry holds for a GPU, else for its chip or
architecture, else for any; the rung that was found is told with it, so that a number can say how near the measurements
behind it are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from gpuplanner.catalog.entries import Gpu
from gpuplanner.catalog.files.yaml_file import plain_yaml
from gpuplanner.catalog.software import Software, read_software
from gpuplanner.catalog.sources import shipped_sources
from gpuplanner.facts import MissingFactError, Source
from gpuplanner.figures import Rung


class ValueKind(StrEnum):
    """What a value of a table is: fitted to measurements, a rule of thumb, a flag's default, or how a program works."""

    CALIBRATED = "calibrated"
    RULE = "rule"
    DEFAULT = "default"
    DEFINED = "defined"


@dataclass(frozen=True, slots=True)
class Efficiency:
    """One entry of a table: its values by name, how many measured points stand behind it, and where they are from.

    `stated`: the values that no measurement stands behind, whatever `points` says, because they are not fitted.
    """

    values: Mapping[str, float]
    points: int
    source: Source
    rung: Rung
    stated: Mapping[str, ValueKind] = field(default_factory=dict)

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def kind_of(self, name: str) -> ValueKind:
        """What the value of that name is."""
        return self.stated.get(name) or (ValueKind.CALIBRATED if self.points else ValueKind.RULE)


@dataclass(frozen=True, slots=True)
class _Entry:
    gpu: str
    chip: str
    architecture: str
    variant: str
    values: Mapping[str, float]
    points: int
    source: Source
    stated: Mapping[str, ValueKind]


class Efficiencies:
    """All efficiency tables. `variant` tells apart what one table holds for several dtypes, servers or links.

    `software`: which programs run on what, which an engine needs as much as how fast they do.
    """

    def __init__(self, tables: Mapping[str, tuple[_Entry, ...]], software: Software | None = None) -> None:
        self._tables = tables
        self._software = software or Software()
        self._found: dict[tuple[str, ...], Efficiency] = {}

    @property
    def software(self) -> Software:
        """Which programs run on which GPUs."""
        return self._software

    def names(self) -> tuple[str, ...]:
        """The names of the tables."""
        return tuple(self._tables)

    def find(self, table: str, gpu: Gpu, variant: str = "") -> Efficiency:
        """The nearest entry for a GPU. Raises MissingFactError when the table has none for this variant.

        What was found is kept: an estimate asks for a dozen entries, and a search does so for every machine.
        """
        key = table, variant, gpu.id, gpu.chip, gpu.architecture
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._nearest(table, gpu, variant)
        return found

    def constants(self, table: str, variant: str = "") -> Efficiency:
        """The entry of a table that does not depend on the GPU. Raises MissingFactError when there is none."""
        key = table, variant
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._general(table, variant)
        return found

    def _nearest(self, table: str, gpu: Gpu, variant: str) -> Efficiency:
        entries = [e for e in self._tables.get(table, ()) if e.variant == variant]
        ladder = (
            (Rung.SAME_GPU, lambda e: e.gpu == gpu.id),
            (Rung.SAME_ARCHITECTURE, lambda e: not e.gpu and "" != e.chip == gpu.chip),
            (Rung.SAME_ARCHITECTURE, lambda e: not e.gpu and not e.chip and "" != e.architecture == gpu.architecture),
            (Rung.OTHER_ARCHITECTURE, lambda e: not e.gpu and not e.chip and not e.architecture),
        )
        for rung, holds in ladder:
            for entry in entries:
                if holds(entry):
                    found = rung if entry.points else Rung.ROOFLINE
                    return Efficiency(entry.values, entry.points, entry.source, found, entry.stated)
        raise MissingFactError(gpu.name, f"efficiency {table} {variant}".strip())

    def _general(self, table: str, variant: str) -> Efficiency:
        for entry in self._tables.get(table, ()):
            if entry.variant == variant and not (entry.gpu or entry.chip or entry.architecture):
                return Efficiency(entry.values, entry.points, entry.source, Rung.OTHER_ARCHITECTURE, entry.stated)
        raise MissingFactError(table, variant or "constants")


def read_efficiencies(folder: Path) -> Efficiencies:
    """All tables of a folder, and what is known of software from `compatibility` beside it.

    They come with the app; a fault in one is a programming fault (KeyError, ValueError).

    A file is `sources: {id: {citation, date, from_memory?}}` and `entries:` with `gpu`, `chip`, `architecture` or none,
    `variant`, `values: {name: number}`, `points` and `source`. Where not all values of it are fitted, `defaults` names
    those that are defaults of flags, `definitions` those that say how a program works.
    """
    tables: dict[str, tuple[_Entry, ...]] = {}
    for path in sorted(folder.glob("*.yaml")):
        content = plain_yaml(path.read_text(encoding="utf-8"))
        sources = shipped_sources(content["sources"])
        stated = {str(name): ValueKind.DEFAULT for name in content.get("defaults", ())}
        stated |= {str(name): ValueKind.DEFINED for name in content.get("definitions", ())}
        tables[path.stem] = tuple(
            _Entry(
                str(e.get("gpu", "")),
                str(e.get("chip", "")),
                str(e.get("architecture", "")),
                str(e.get("variant", "")),
                {str(k): float(v) for k, v in e["values"].items()},
                int(e.get("points", 0)),
                sources[e["source"]],
                stated,
            )
            for e in content["entries"]
        )
    return Efficiencies(tables, read_software(folder.parent))
