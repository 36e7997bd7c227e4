"""The names data that comes with the app (`catalogs/names`): words, aliases, MIG profiles, vGPU boards. Reads files.

A fault in these files is a programming fault (KeyError, ValueError); tests hold them to the catalog.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class Words:
    """The words that names are made of, beside the model itself."""

    phrases: Mapping[str, str]
    vendors: Mapping[str, str]
    context: frozenset[str]
    brands: frozenset[str]
    forms: Mapping[str, str]
    memory_types: frozenset[str]
    editions: frozenset[str]
    architectures: frozenset[str]
    architectures_left_out: frozenset[str]
    filler: frozenset[str]
    builders: frozenset[str]
    claims: frozenset[str]
    placeholders: frozenset[str]

    def starts_soft_word(self, word: str) -> bool:
        """Whether a word cut off by a tool's column could be one that tells nothing or may be left out."""
        soft = self.filler | self.editions | self.architectures_left_out
        return any(whole.startswith(word) for whole in soft)


@dataclass(frozen=True, slots=True)
class ModelWords:
    """The words of a model's name that do not change its architecture."""

    tuning: frozenset[str]
    tuning_beside_a_size: frozenset[str]
    organisations: frozenset[str]
    quantisations: frozenset[str]


@dataclass(frozen=True, slots=True)
class Part:
    """What a driver shows of a board as a device of its own: "GCD" of an MI250X."""

    gpu: str
    name: str
    memory_gb: float
    share: Fraction


@dataclass(frozen=True, slots=True)
class MigProfiles:
    """Profiles of one GPU by name ("1g.10gb"), each with its share of compute slices and of memory."""

    compute_slices: int
    shares: Mapping[str, tuple[Fraction, Fraction]]


@dataclass(frozen=True, slots=True)
class NameTables:
    """All names data. GPUs and models stand by their catalog ids; `also` and `several` map a spelling to ids."""

    words: Words
    model_words: ModelWords
    exact: Mapping[str, str]
    verbatim: Mapping[str, str]
    also: tuple[tuple[str, str], ...]
    several: Mapping[str, tuple[str, ...]]
    sizes_gb: Mapping[str, tuple[float, ...]]
    seldom: frozenset[str]
    announced_gb: Mapping[str, tuple[float, ...]]
    parts: tuple[Part, ...]
    others: tuple[str, ...]
    mig: Mapping[str, MigProfiles]
    vgpu_boards: Mapping[str, str]
    models: tuple[tuple[str, str], ...]
    providers: Mapping[str, tuple[str, ...]]


def read_name_tables(folder: Path) -> NameTables:
    """The tables of a folder (`catalogs/names`)."""
    words, aliases, mig, vgpu, models, providers = (
        _read(folder / f"{name}.yaml") for name in ("words", "aliases", "mig", "vgpu", "models", "providers")
    )
    return NameTables(
        words=_words(words),
        model_words=ModelWords(**{key: frozenset(map(str, value)) for key, value in words["models"].items()}),
        exact={row["name"]: row["gpu"] for row in aliases["exact"]},
        verbatim={row["name"].casefold(): row["gpu"] for row in aliases["verbatim"]},
        also=tuple((row["name"], row["gpu"]) for row in aliases["also"]),
        several={row["name"]: tuple(row["gpus"]) for row in aliases["several"]},
        sizes_gb={row["gpu"]: tuple(map(float, row["memory_gb"])) for row in aliases["sizes"]},
        seldom=frozenset(aliases["seldom"]),
        announced_gb={row["gpu"]: (float(row["memory_gb"]),) for row in aliases["announced"]},
        parts=tuple(
            Part(row["gpu"], row["part"].casefold(), float(row["memory_gb"]), Fraction(row["share"]))
            for row in aliases["parts"]
        ),
        others=tuple(aliases["others"]),
        mig=_mig(mig["boards"]),
        vgpu_boards={name: row["gpu"] for name, row in vgpu["boards"].items()},
        models=tuple((row["name"], row["model"]) for row in models["also"]),
        providers={name: tuple(words) for name, words in providers.items()},
    )


def _read(path: Path) -> Any:
    with path.open("rb") as file:
        return yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 (both are safe)


def _words(content: Mapping[str, Any]) -> Words:
    longest_first = sorted(content["phrases"].items(), key=lambda item: -len(item[0]))
    return Words(
        phrases=dict(longest_first),
        vendors=content["vendors"],
        forms=content["forms"],
        architectures_left_out=frozenset(content["architectures_often_left_out"]),
        **{
            name: frozenset(map(str, content[name]))
            for name in (
                "context", "brands", "memory_types", "editions", "architectures", "filler", "builders", "claims",
                "placeholders",
            )
        },
    )  # fmt: skip


def _mig(boards: list[dict[str, Any]]) -> dict[str, MigProfiles]:
    found: dict[str, MigProfiles] = {}
    for board in boards:
        slices = int(board["compute_slices"])
        shares = {
            name: (Fraction(int(name.partition("g")[0]), slices), Fraction(str(memory)))
            for name, memory in board["memory"].items()
        }
        for gpu in board["gpus"]:
            known = found.get(gpu)
            found[gpu] = MigProfiles(slices, {**(known.shares if known else {}), **shares})
    return found
