"""Search as one types over everything in the catalog, in both languages, and the catalog's tables beside it.

Ranked: a name that is what was typed, one that begins so, words that begin so, then words that contain it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.synonyms import Synonyms, folded, read_synonyms
from gpuplanner.catalog.table.contents import Prices, gpu_table, instance_table, model_table
from gpuplanner.catalog.table.paging import Tables
from gpuplanner.catalog.word_index import IndexedEntry, WordIndex
from gpuplanner.messages import Language, Translator
from gpuplanner.paths import shipped

LONGEST_SEARCH = 200

_SEPARATORS = re.compile(r"[\s\-_/\\(),:;|\[\]{}\"'“”+*=·、，。；：？（）]+")


class EntryKind(StrEnum):
    """What can be found, in the order in which equally good hits stand."""

    GPU = "gpu"
    MODEL = "model"
    INSTANCE = "instance"
    COLUMN = "column"
    RULE = "rule"
    COMPATIBILITY = "compatibility"


@dataclass(frozen=True, slots=True)
class Hit:
    """Something found. `id` is that of the catalog; "<table>/<column>" and "<table>/<row>" where it has none.

    `detail` says more: the provider of an instance, the vendor of a GPU, the family of a model, the verdict on a rule,
    the other cells of a row.
    """

    kind: EntryKind
    id: str
    name: str
    name_zh: str
    detail: str

    def title(self, language: Language) -> str:
        """Its name in a language; most have only one."""
        return self.name_zh if language is Language.CHINESE else self.name


@dataclass(frozen=True, slots=True)
class _Entry:
    """A hit, further names that it goes by, and any text that it is to be found by."""

    hit: Hit
    names: tuple[str, ...]
    text: tuple[str, ...]


class CatalogIndex(Tables):
    """Search and tables of one catalog, in memory. Build it off the GUI thread; it may then be asked from any."""

    def __init__(self, catalog: Catalog, synonyms: Synonyms | None = None) -> None:
        prices = Prices(catalog)
        super().__init__((gpu_table(catalog, prices), instance_table(catalog, prices), model_table(catalog)))
        self._synonyms = synonyms or read_synonyms(shipped("catalogs") / "names" / "synonyms.yaml")
        order = {kind: place for place, kind in enumerate(EntryKind)}
        entries = sorted(self._entries(catalog), key=lambda entry: (order[entry.hit.kind], len(entry.hit.name)))
        self._hits = [entry.hit for entry in entries]
        self._words = WordIndex(_indexed(entries))
        self._of_kind = {kind: np.array([hit.kind is kind for hit in self._hits], dtype=np.bool_) for kind in EntryKind}

    def search(self, text: str, kinds: Iterable[str] | None = None, limit: int = 20) -> tuple[Hit, ...]:
        """The best hits for what was typed; none for nothing. `kinds` limits them. No text makes it raise."""
        typed = _spaced(text[:LONGEST_SEARCH])
        if not typed or limit < 1:
            return ()
        wanted = set(EntryKind) if kinds is None else {EntryKind(kind) for kind in kinds}
        allowed = np.logical_or.reduce([self._of_kind[kind] for kind in wanted])
        numbers = self._words.find(typed, self._synonyms.expand(typed), allowed, limit)
        return tuple(self._hits[number] for number in numbers)

    def _entries(self, catalog: Catalog) -> Iterator[_Entry]:
        translators = english, chinese = (Translator(Language.ENGLISH), Translator(Language.CHINESE))
        yield from _gpus(catalog)
        yield from _models(catalog, translators)
        yield from _instances(catalog)
        yield from _rules(catalog)
        yield from _compatibility(catalog)
        for table in ("gpus", "instances", "models"):
            for column in self.columns(table):
                names = english.text(column.label), chinese.text(column.label)
                where = english.text(f"search.table.{table}")
                yield _Entry(Hit(EntryKind.COLUMN, f"{table}/{column.id}", *names, where), (), (where,))


def _gpus(catalog: Catalog) -> Iterator[_Entry]:
    for gpu in catalog.gpus.values():
        text = (gpu.vendor, gpu.architecture, gpu.chip, gpu.form_factor, gpu.memory_type, gpu.link_kind, "gpu", gpu.id)
        remarks = (part for remark in gpu.remarks for part in (remark.text_en, remark.text_zh))
        hit = Hit(EntryKind.GPU, gpu.id, gpu.name, gpu.name, gpu.vendor)
        yield _Entry(hit, (f"{gpu.vendor} {gpu.name}", *gpu.aliases), (*text, *remarks))


def _models(catalog: Catalog, translators: Sequence[Translator]) -> Iterator[_Entry]:
    for model in catalog.models.values():
        kind = f"model.kind.{model.kind}"
        kinds = tuple(translator.text(kind) for translator in translators if translator.has(kind))
        hit = Hit(EntryKind.MODEL, model.id, model.name, model.name, model.family)
        names = (model.id, model.id.rpartition("/")[2], *model.aliases)
        yield _Entry(hit, names, (model.family, model.kind, *kinds, model.licence, model.note, "model"))


def _instances(catalog: Catalog) -> Iterator[_Entry]:
    for instance in catalog.instances.values():
        gpu = catalog.gpus.get(instance.gpu_id or "")
        hit = Hit(EntryKind.INSTANCE, instance.id, instance.name, instance.name, instance.provider)
        text = (
            instance.gpu_text,
            gpu.name if gpu else "",
            gpu.vendor if gpu else "",
            instance.interconnect,
            "instance",
        )
        regions = {price.region for price in instance.prices}
        named = (f"{instance.provider} {instance.name}",)
        yield _Entry(hit, named, (*text, instance.virtualization, *sorted(regions), instance.note))


def _rules(catalog: Catalog) -> Iterator[_Entry]:
    for rule in catalog.rules:
        hit = Hit(EntryKind.RULE, rule.id, rule.claim_en, rule.claim_zh, rule.verdict)
        text = (rule.kind, rule.verdict, rule.reason_en, rule.reason_zh, *rule.bears_on, *rule.applies_to, "rule")
        yield _Entry(hit, (), text)


def _compatibility(catalog: Catalog) -> Iterator[_Entry]:
    for table in catalog.compatibility.values():
        for number, row in enumerate(table.rows):
            detail = ", ".join(
                f"{what} {cell}" for what, cell in zip(table.columns[1:-1], row[1:-1], strict=False) if cell
            )
            name = f"{table.id} {row[0]}"
            hit = Hit(EntryKind.COMPATIBILITY, f"{table.id}/{number}", name, name, detail)
            yield _Entry(hit, (row[0],), (*table.columns[:1], detail, "compatibility"))


def _indexed(entries: Iterable[_Entry]) -> Iterator[IndexedEntry]:
    """What each entry is found by. Most texts are those of many entries, and are read once."""
    read: dict[str, dict[str, None]] = {}
    for entry in entries:
        words: dict[str, None] = {}
        for text in entry.text:
            if text not in read:
                read[text] = dict.fromkeys(_words(_spaced(text)))
            words |= read[text]
        own, further = _spellings((entry.hit.name, entry.hit.name_zh)), _spellings(entry.names)
        words |= dict.fromkeys(word for name in (*own, *further) for word in _words(name))
        yield IndexedEntry(own, further, words)


def _spellings(names: Iterable[str]) -> list[str]:
    """Each name as words and, since "rtx4090" and "RTX 4090" are typed alike, as one word."""
    spaced = [name for name in map(_spaced, names) if name]
    return list(dict.fromkeys((*spaced, *(name.replace(" ", "") for name in spaced))))


def _words(spaced: str) -> Iterator[str]:
    """The words of a text, whole and cut at full stops: "g6.48xlarge" is found by "48x"."""
    for word in spaced.split():
        yield word
        if "." in word:
            yield from filter(None, word.split("."))


def _spaced(text: str) -> str:
    """Folded text with one space for all separators."""
    return " ".join(_SEPARATORS.sub(" ", folded(text)).split())
