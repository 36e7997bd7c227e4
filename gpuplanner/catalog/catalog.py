"""The catalog: everything that is known to exist, with a hash that tells one edition from another. Types only."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuplanner.catalog.entries import CompatibilityTable, Gpu, Instance, Model, Rule
from gpuplanner.catalog.problems import Problem
from gpuplanner.facts import Source


@dataclass(frozen=True, slots=True)
class Rate:
    """What one US dollar costs in a currency. For comparing prices; a price itself stays as it was published."""

    currency: str
    per_usd: float
    date: str
    source: Source


@dataclass(frozen=True, slots=True)
class Catalog:
    """All entries by id, the shipped ones with a person's overlays over them.

    `hash` changes with the content of any file read, and with nothing else; `date` is that of the shipped edition;
    `problems` is what was wrong with the overlays, in the order of the files.
    """

    gpus: Mapping[str, Gpu]
    instances: Mapping[str, Instance]
    models: Mapping[str, Model] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    compatibility: Mapping[str, CompatibilityTable] = field(default_factory=dict)
    currencies: Mapping[str, Rate] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    date: str = ""
    hash: str = ""
    problems: tuple[Problem, ...] = ()
