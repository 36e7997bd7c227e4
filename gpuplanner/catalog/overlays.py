"""A person's own files over the catalog: GPUs, instances, prices, models, rates. Good entries count, bad ones are said.

The fields are those of the catalog's own files. What a person says stands first, what the catalog says stays behind it.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import date as date_type
from datetime import timedelta
from pathlib import Path

from gpuplanner.catalog import gpus as gpu_files
from gpuplanner.catalog import instances as instance_files
from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.currencies import read_rates
from gpuplanner.catalog.entries import GpuProperty, Instance, InstanceProperty, Price
from gpuplanner.catalog.files.content_hash import content_hash
from gpuplanner.catalog.files.records import Fields, Record
from gpuplanner.catalog.files.text import read_bytes
from gpuplanner.catalog.gpu_finder import GpuFinder
from gpuplanner.catalog.guards import (
    memory_of_another_kind,
    parameters_that_contradict,
    price_of_one_gpu,
    prices_that_do_not_scale,
    rate_that_is_doubled,
)
from gpuplanner.catalog.overlay_file import OverlayFile, parse_overlay
from gpuplanner.catalog.own_models import own_model
from gpuplanner.catalog.parameters import total_parameters
from gpuplanner.catalog.problems import Problem, Refused, Severity
from gpuplanner.catalog.sources import Sources
from gpuplanner.collector_pause import collector_paused
from gpuplanner.facts import Known
from gpuplanner.messages import InputError, msg
from gpuplanner.paths import is_there

OWN, SHIPPED_DIGITS = "+", 40
"""What stands in a hash between the digits of the shipped edition and those of a person's own files."""
SUFFIXES = (".yaml", ".yml", ".csv")
OTHER_TABLES = (".xlsx", ".xls", ".ods", ".numbers", ".tsv", ".json")
"""What may well hold entries and is not read: a person who puts one there is told so."""
MOST_PROBLEMS = 200
"""Problems of one file that are told one by one; a list of the wrong shape has one in each row."""
_NEEDED = {
    "memory_gb": GpuProperty.MEMORY_BYTES,
    "memory_bandwidth_gb_per_s": GpuProperty.HBM_BYTES_PER_S,
}


def overlay_files(folder: Path) -> tuple[Path, ...]:
    """The overlay files of a folder in the order of their names; none when there is no such folder.

    A folder that cannot be looked into stands for itself, so that reading it says why.
    """
    try:
        suffixes = (*SUFFIXES, *OTHER_TABLES)
        found = [path for path in folder.iterdir() if path.suffix.lower() in suffixes and not path.name.startswith(".")]
    except FileNotFoundError:
        return ()
    except OSError:
        return (folder,) if is_there(folder) else ()
    return tuple(sorted(found))


def same_edition(one: str, other: str) -> bool:
    """Whether two hashes of catalogs are of one shipped edition, whatever a person's own files add to it."""
    return one.partition(OWN)[0][:SHIPPED_DIGITS] == other.partition(OWN)[0][:SHIPPED_DIGITS]


def with_overlays(
    catalog: Catalog, paths: Sequence[Path], today: date_type | None = None, priced_in: Collection[str] = ()
) -> Catalog:
    """The catalog with these files over it. A later file goes over an earlier one.

    `today`: after which no price can be from; None where nobody looks. `priced_in`: currencies of which a rate is known
    from elsewhere.
    """
    reading = _Reading(catalog, today, priced_in)
    files = [file for path in paths if (file := reading.open(path))]
    with collector_paused():
        for file in files:
            reading.add_facts(file)
        for file in files:
            reading.add_instances(file)
    return reading.result()


class _Reading:
    """Takes over one file after another."""

    def __init__(self, catalog: Catalog, today: date_type | None, priced_in: Collection[str]) -> None:
        self._base = catalog
        # It is tomorrow already where some price lists come from.
        self._tomorrow = (today + timedelta(days=1)).isoformat() if today else "9999"
        self._priced_in = frozenset(priced_in)
        self._right_memory: set[tuple[float, str, int | None, tuple[int, int] | None]] = set()
        """Memory that was found to be its GPU's: rows of a long list repeat a few."""
        self._sources = Sources(catalog.sources)
        self._gpus = dict(catalog.gpus)
        self._gpu_ids = {gpu.name.casefold(): gpu.id for gpu in reversed(tuple(catalog.gpus.values()))}
        self._instances = dict(catalog.instances)
        self._models = dict(catalog.models)
        self._rates = dict(catalog.currencies)
        self._contents: dict[str, bytes] = {"": catalog.hash.encode()}
        self._files: list[OverlayFile] = []
        self._refused: list[Problem] = []

    def open(self, path: Path) -> OverlayFile | None:
        """Read and parse one file; None when nothing of it can be used."""
        try:
            if path.suffix.lower() in OTHER_TABLES:
                raise Refused(Problem(path.name, 0, "", msg("overlay.file.other_kind")))
            content = read_bytes(path)
            self._contents[f"{len(self._contents)} {path.name}"] = content
            file = parse_overlay(path, content, self._sources)
        except Refused as refused:
            self._refused.append(refused.problem)
            return None
        self._files.append(file)
        return file

    def add_facts(self, file: OverlayFile) -> None:
        """Take over everything but instances, which may name these."""
        for record in file.sections.get("gpus", ()):
            self._add_gpu(record, file)
        for record in file.sections.get("models", ()):
            self._add_model(record, file)
        if file.top:
            self._rates |= read_rates(file.top, file.source_of, file.problems)
            self._doubt_rates(file.top, file)

    def _doubt_rates(self, top: Record, file: OverlayFile) -> None:
        listed = top.values.get("rates")
        for record in listed.values.values() if isinstance(listed, Record) else ():
            if isinstance(record, Record) and self._is_future(str(record.values.get("date", ""))):
                fault = msg("overlay.rate.future", date=str(record.values["date"])[:10])
                Fields(record, file.problems).keep("date", fault, Severity.WARNING)

    def _add_gpu(self, record: Record, file: OverlayFile) -> None:
        gpu = gpu_files.read_gpu(record, file.source_of, self._sources["pcie-rate"], file.problems)
        if gpu is None:
            return
        fields = Fields(record, file.problems)
        shipped = self._gpus.get(gpu.id) or self._gpus.get(self._gpu_ids.get(gpu.name.casefold(), ""))
        if shipped is None:
            for name, needed in _NEEDED.items():
                if gpu.known(needed) is None:
                    fields.problem(name, "overlay.gpu.needed")
            if fields.failed:
                return
        elif gpu.vendor != shipped.vendor:
            fields.problem("vendor", "overlay.gpu.vendor", name=shipped.name, vendor=shipped.vendor)
            return
        known = replace(gpu, id=shipped.id) if shipped else gpu
        if fault := rate_that_is_doubled(known, self._base.gpus):
            fields.keep("bf16_tflops", fault, Severity.WARNING)
        self._gpus[known.id] = gpu_files.merged(gpu, shipped) if shipped else replace(gpu, user=True)
        self._gpu_ids.setdefault(gpu.name.casefold(), known.id)

    def _add_model(self, record: Record, file: OverlayFile) -> None:
        fields = Fields(record, file.problems)
        try:
            model = own_model(record, file.source_of("", ""))
        except InputError as error:
            fields.keep("config" if "config" in record.values else "", error.message)
            return
        computed = total_parameters(model.architecture) if model.architecture else model.parameters.value
        if fault := parameters_that_contradict(model.parameters.value, computed):
            fields.keep("parameters", fault, Severity.WARNING)
        self._models[model.id] = model

    def add_instances(self, file: OverlayFile) -> None:
        """Take over the instances and prices of one file, and hold them to the guards."""
        finder = GpuFinder(replace(self._base, gpus=self._gpus))
        places: dict[int, Record] = {}
        rows = list(self._rows(file, finder, places))
        own = instance_files.collect(rows)
        for instance in own.values():
            shipped = self._instances.get(instance.id)
            self._instances[instance.id] = instance_files.merged(instance, shipped) if shipped else instance
        touched = {instance.provider for instance in own.values()}
        peers = [i for i in self._instances.values() if i.provider in touched]
        self._guard_prices(peers, places, file)

    def _guard_prices(self, peers: Sequence[Instance], places: dict[int, Record], file: OverlayFile) -> None:
        published: dict[str, list[Instance]] = {}
        for instance in self._base.instances.values():
            published.setdefault(instance.provider, []).append(instance)
        faults = list(prices_that_do_not_scale(peers))
        for instance in peers:
            for price in instance.prices:
                if id(price) in places and instance.provider in published:
                    fault = price_of_one_gpu(instance, price, published[instance.provider])
                    faults += [(instance, price, fault)] if fault else []
        for instance, price, fault in faults:
            record = places.get(id(price))
            if record is None or Fields(record, []).flag("checked"):
                continue
            Fields(record, file.problems).keep(_price_column(record), fault, Severity.WARNING)
            current = self._instances[instance.id]
            prices = tuple(p for p in current.prices if p is not price)
            self._instances[instance.id] = replace(current, prices=prices)

    def _rows(self, file: OverlayFile, finder: GpuFinder, places: dict[int, Record]) -> Iterator[Instance]:
        by_name = {(i.provider.casefold(), i.name.casefold()): i for i in self._instances.values()}
        memory = self._sources["memory"]
        told: set[str] = set()
        sizes: instance_files.SizesSeen = {}
        for record in file.sections.get("instances", ()):
            read = instance_files.read_instance(
                record, file.source_of, memory, file.problems, user=True, seen=sizes, gpu_called=finder.called
            )
            if read is None:
                continue
            fields = Fields(record, file.problems)
            known = self._instances.get(read.id) or by_name.get((read.provider.casefold(), read.name.casefold()))
            instance = replace(read, id=known.id) if known else read
            instance = finder.with_gpu(instance, known, fields)
            if fields.failed:
                continue
            instance = self._without_wrong_memory(instance, fields)
            for price in instance.prices:
                places[id(price)] = record
                if price.date > self._tomorrow or (price.currency not in self._rates and price.currency != "USD"):
                    self._doubt_price(price, fields, told)
            yield instance

    def _doubt_price(self, price: Price, fields: Fields, told: set[str]) -> None:
        """Say what is odd about a price that is used all the same, once for each date and currency of a file."""
        if self._is_future(price.date) and price.date not in told:
            told.add(price.date)
            fields.keep("price_date", msg("overlay.price.future", date=price.date), Severity.WARNING)
        if price.currency not in {"USD", *self._rates, *self._priced_in, *told}:
            told.add(price.currency)
            fields.keep("currency", msg("overlay.price.no_rate", currency=price.currency), Severity.WARNING)

    def _is_future(self, date: str) -> bool:
        """Whether a date, a month or a year begins after tomorrow."""
        return date[:4].isdecimal() and date > self._tomorrow[: len(date)]

    def _without_wrong_memory(self, instance: Instance, fields: Fields) -> Instance:
        stated = instance.properties.get(InstanceProperty.GPU_MEMORY_BYTES_EACH)
        gpu = self._gpus.get(instance.planning_gpu_id or "")
        if stated is None or gpu is None:
            return instance
        share = instance.gpu_fraction
        # Not the fraction itself, whose hash takes longer than all else here.
        asked = (stated.value, gpu.id, instance.gpu_count, share.as_integer_ratio() if share else None)
        if asked in self._right_memory:
            return instance
        fault = memory_of_another_kind(stated.value, gpu, instance.gpu_count, instance.gpu_fraction)
        if fault is None:
            self._right_memory.add(asked)
            return instance
        fields.keep("gpu_memory_gb", fault, Severity.WARNING)
        sizes: dict[InstanceProperty, Known] = {
            n: k for n, k in instance.properties.items() if n is not InstanceProperty.GPU_MEMORY_BYTES_EACH
        }
        return replace(instance, properties=sizes)

    def result(self) -> Catalog:
        """The catalog with what was taken over."""
        told = [problem for file in self._files for problem in _told(file.problems)]
        return replace(
            self._base,
            gpus=self._gpus,
            instances=self._instances,
            models=self._models,
            currencies=self._rates,
            hash=f"{self._base.hash[:SHIPPED_DIGITS]}{OWN}{content_hash(self._contents)[:SHIPPED_DIGITS]}",
            problems=(*self._base.problems, *self._refused, *told),
        )


def _price_column(record: Record) -> str:
    return next((name for name in record.values if name.endswith(("_per_hour", "_per_month"))), "")


def _told(problems: Sequence[Problem]) -> Iterator[Problem]:
    """The problems of one file, the last of very many being how many more there are."""
    ordered = sorted(problems, key=lambda problem: problem.line)
    yield from ordered[:MOST_PROBLEMS]
    if len(ordered) > MOST_PROBLEMS:
        last = ordered[MOST_PROBLEMS]
        yield replace(last, line=0, field="", what=msg("overlay.file.many", more=len(ordered) - MOST_PROBLEMS))
