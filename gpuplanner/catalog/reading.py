"""Reads the catalog's folder and a person's overlays into one catalog. A faulty file never stops it.

Everything is read anew each time; nothing is kept between two calls.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import date as date_type
from pathlib import Path

from gpuplanner.catalog.catalog import Catalog, Rate
from gpuplanner.catalog.currencies import read_rates
from gpuplanner.catalog.entries import CompatibilityTable, Gpu, Instance, Rule
from gpuplanner.catalog.files.content_hash import content_hash
from gpuplanner.catalog.files.csv_file import parse_csv
from gpuplanner.catalog.files.records import Fields, Record
from gpuplanner.catalog.files.text import decode
from gpuplanner.catalog.files.yaml_file import parse_yaml
from gpuplanner.catalog.gpus import read_gpu, source_named
from gpuplanner.catalog.instances import collect, read_instance
from gpuplanner.catalog.models import read_models
from gpuplanner.catalog.problems import Problem, Refused, Severity
from gpuplanner.catalog.rules import read_rule
from gpuplanner.catalog.sources import MEMORY, Sources, read_sources
from gpuplanner.facts import Source
from gpuplanner.messages import InputError, msg

FILE_KINDS = (".yaml", ".yml", ".csv", ".json")
MEASUREMENTS = "measurements"
"""The folder of what the efficiencies were fitted to and are tested with: no estimate reads it."""
PCIE_RATE = "pcie-rate"


def load_catalog(
    folder: Path, overlays: Sequence[Path] = (), today: date_type | None = None, priced_in: Collection[str] = ()
) -> Catalog:
    """The catalog of `folder` (the app's: `paths.shipped("catalogs")`) with overlay files over it, in their order.

    `today` and `priced_in`: as `overlays.with_overlays` has them.

    What is wrong with a file is in `problems`; all that is right is in the catalog. Raises FileNotFoundError when the
    folder is not a catalog, and InputError when one of the files that all others need cannot be read.
    """
    try:
        catalog = _Shipped(folder).catalog()
    except Refused as refused:
        raise InputError(refused.problem.message) from refused
    if not overlays:
        return catalog
    # Only who has overlays pays for reading the names that they may use.
    from gpuplanner.catalog.overlays import with_overlays

    return with_overlays(catalog, overlays, today, priced_in)


class _Shipped:
    """The files of the catalog's folder, read once; what is wrong with them, and their hash."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._problems: list[Problem] = []
        self._contents = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.suffix in FILE_KINDS and path.is_file() and path.parent.name != MEASUREMENTS
        }
        self._sources = Sources(self._read_sources())

    def catalog(self) -> Catalog:
        gpus = {gpu.id: gpu for gpu in self._gpus()}
        instances = collect(self._instances())
        for instance in instances.values():
            self._check_gpus(instance, gpus)
        return Catalog(
            gpus=gpus,
            instances=instances,
            models=read_models(self._folder / "models"),
            rules=tuple(self._rules()),
            compatibility=dict(self._tables()),
            currencies=dict(self._rates()),
            sources=self._sources.known(),
            date=Fields(self._yaml("about.yaml"), self._problems).date("date"),
            hash=content_hash(self._contents),
            problems=tuple(self._problems),
        )

    def _yaml(self, name: str) -> Record:
        path = self._folder / name
        if name not in self._contents:
            raise FileNotFoundError(path)
        return parse_yaml(decode(self._contents[name], path), path, trusted=True)

    def _names(self, folder: str) -> list[str]:
        return [name for name in self._contents if name.startswith(f"{folder}/")]

    def _records(self, folder: str, key: str) -> Iterator[Record]:
        for name in self._names(folder):
            try:
                yield from Fields(self._yaml(name), self._problems).records(key)
            except Refused as refused:
                self._problems.append(refused.problem)

    def _rows(self, folder: str) -> Iterator[tuple[str, tuple[str, ...], Iterator[Record]]]:
        for name in self._names(folder):
            path = self._folder / name
            try:
                columns, rows = parse_csv(decode(self._contents[name], path), path, self._problems)
                yield path.stem, columns, rows
            except Refused as refused:
                self._problems.append(refused.problem)

    def _read_sources(self) -> dict[str, Source]:
        return read_sources(self._yaml("sources.yaml"), self._problems)

    def _gpus(self) -> Iterator[Gpu]:
        pcie = self._sources[PCIE_RATE]
        seen: set[str] = set()
        for record in self._records("gpus", "gpus"):
            gpu = read_gpu(record, self._sources.__getitem__, pcie, self._problems)
            if gpu is None:
                continue
            if gpu.id in seen:
                Fields(record, self._problems).problem("id", "overlay.value.taken", value=gpu.id)
            seen.add(gpu.id)
            yield gpu

    def _instances(self) -> Iterator[Instance]:
        memory = self._sources[MEMORY]
        for _, _, rows in self._rows("instances"):
            for record in rows:
                if instance := read_instance(record, self._source_of_price, memory, self._problems):
                    yield instance

    def _source_of_price(self, reference: str, _date: str) -> Source:
        return self._sources[reference]

    def _check_gpus(self, instance: Instance, gpus: dict[str, Gpu]) -> None:
        for gpu_id in (instance.gpu_id, *instance.gpu_may_be):
            if gpu_id and gpu_id not in gpus:
                what = msg("overlay.instance.no_such_gpu", instance=instance.id, gpu=gpu_id)
                self._problems.append(Problem("instances", 0, "gpu_id", what, Severity.ERROR))

    def _rules(self) -> Iterator[Rule]:
        for record in self._records("rules", "rules"):
            if rule := read_rule(record, self._sources.__getitem__, self._problems):
                yield rule

    def _tables(self) -> Iterator[tuple[str, CompatibilityTable]]:
        for name, columns, rows in self._rows("compatibility"):
            cited = [self._cited(row, columns) for row in rows]
            yield name, CompatibilityTable(name, columns, tuple(cited))

    def _cited(self, row: Record, columns: tuple[str, ...]) -> tuple[str, ...]:
        """The cells of a row, with the citation of its source in place of the id in the last one."""
        source = source_named(Fields(row, self._problems), self._sources.__getitem__)
        cited = "" if source is None else f"{source.citation} (from memory)" if source.from_memory else source.citation
        return (*(str(row.values.get(column, "")) for column in columns[:-1]), cited)

    def _rates(self) -> Iterator[tuple[str, Rate]]:
        record = self._yaml("currencies.yaml")
        yield from read_rates(record, self._sources.__getitem__, self._problems)
