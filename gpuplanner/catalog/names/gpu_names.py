"""Which GPUs a name can mean. By words, never by likeness: "H20" is not "H200", however near.

The words of the product must be those of a name in the catalog; whatever else the text states (memory, form factor,
edition, architecture, maker) must not contradict it. Several that fit are several.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from gpuplanner.catalog.entries import Gpu
from gpuplanner.catalog.names.gpu_traits import CHECKED, Traits, traits_of
from gpuplanner.catalog.names.spelling import GpuSpelling, clean, join, spell_gpu, split, without_parentheses
from gpuplanner.catalog.names.tables import NameTables, Part
from gpuplanner.units import GB, GIB

_Key = TypeVar("_Key", str, tuple[str, ...])


@dataclass(frozen=True, slots=True)
class GpuMatch:
    """`ids` fit; `near` have the same product words but `contradiction` (a part of the name) rules them out.

    `sizes_gb`: the sizes that the product is sold in, when the text does not say which and that matters.
    """

    ids: tuple[str, ...]
    near: tuple[str, ...] = ()
    contradiction: str = ""
    count: int | None = None
    decided_by_memory: bool = False
    part: Part | None = None
    sizes_gb: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reading:
    """The same text with some words taken as something other than the product: an architecture, a size, a count."""

    core: tuple[str, ...]
    architectures: frozenset[str] = frozenset()
    number: str = ""


class GpuNames:
    """The names of the GPUs of one catalog."""

    def __init__(self, gpus: Mapping[str, Gpu], tables: NameTables) -> None:
        self._tables = tables
        self._words = tables.words
        further: dict[str, list[str]] = defaultdict(list)
        for name, gpu_id in tables.also:
            further[gpu_id].append(name)
        self._traits = {gpu.id: traits_of(gpu, further[gpu.id], tables) for gpu in gpus.values()}
        self._exact = {self._key(name): gpu_id for name, gpu_id in tables.exact.items() if gpu_id in gpus}
        self._verbatim = {name: gpu_id for name, gpu_id in tables.verbatim.items() if gpu_id in gpus}
        self._by_key: dict[str, tuple[str, ...]] = {}
        self._by_words: dict[tuple[str, ...], tuple[str, ...]] = {}
        for traits in self._traits.values():
            for core in self._cores(traits):
                self._add(core, (traits.gpu.id,))
        for name, ids in tables.several.items():
            self._add(self._spell(name).core, tuple(i for i in ids if i in gpus))
        for name in tables.others:
            core = self._spell(name).core
            self._by_key.pop(join(core), None)
            self._by_words.pop(tuple(sorted(core)), None)

    def traits(self, gpu_id: str) -> Traits:
        """What narrows the GPU's name down."""
        return self._traits[gpu_id]

    def match(self, text: str, memory_bytes: float | None = None) -> GpuMatch | None:
        """The GPUs that a cleaned text can mean; None when its words name no product of the catalog.

        `memory_bytes` is the memory that a tool measured, which may decide among several.
        """
        stated = spell_gpu(text, self._words)
        plain = self._spell_clean(without_parentheses(stated.text))
        for candidate in (stated, plain):
            if decided := self._exact.get(self._join(candidate.text)) or self._verbatim.get(candidate.text):
                return self._by_measured(GpuMatch((decided,), count=stated.count), memory_bytes)
        for candidate in (stated, plain):
            for reading in self._readings(candidate):
                if ids := self._by_key.get(join(reading.core)) or self._by_words.get(tuple(sorted(reading.core))):
                    kept = replace(candidate, count=stated.count, memory_gb=stated.memory_gb or candidate.memory_gb)
                    if match := self._narrow(ids, kept, reading):
                        usual = self._usual(self._by_measured(match, memory_bytes), kept)
                        return self._sized(usual, kept, memory_bytes)
        return None

    def _narrow(self, ids: tuple[str, ...], stated: GpuSpelling, reading: _Reading) -> GpuMatch | None:
        """The ids that nothing stated contradicts. None when a bare number is neither a size nor a count."""
        wrong = {i: self._traits[i].contradiction(stated, reading.architectures) for i in ids}
        fits = tuple(i for i in ids if wrong[i] is None) or self._of_either_form(ids, stated, reading)
        count = stated.count
        if reading.number:
            sized = tuple(i for i in fits if self._traits[i].contradiction(_sized(reading.number), frozenset()) is None)
            if not sized and all(self._traits[i].gpu.vendor == "Google" for i in fits):
                count = int(reading.number)  # a TPU slice is named by its chips: "v5e-8"
            elif not sized:
                return None
            fits = sized or fits
        if not fits:
            return self._part_of(ids, stated) or _nearly(wrong, count)
        fits = self._preferred(fits, stated)
        return GpuMatch(fits, tuple(i for i in ids if i not in fits), count=count, part=self._named_part(fits, stated))

    def _of_either_form(self, ids: tuple[str, ...], stated: GpuSpelling, reading: _Reading) -> tuple[str, ...]:
        """The ids of any of several stated forms ("V100 PCIe/SXM"); none where that would single one out."""
        if len(stated.forms) < 2:
            return ()
        apart = [replace(stated, forms=frozenset({form})) for form in stated.forms]
        traits = [self._traits[i] for i in ids]
        fits = [t.gpu.id for t in traits if any(t.contradiction(s, reading.architectures) is None for s in apart)]
        return tuple(fits) if len(fits) > 1 else ()

    def _preferred(self, ids: tuple[str, ...], stated: GpuSpelling) -> tuple[str, ...]:
        """The ids that are what was stated and no more: "PCIe" alone is not the NVL card, "Workstation" not Max-Q."""
        plain = ids
        if "pcie" in stated.forms and "nvl" not in stated.forms:
            plain = tuple(i for i in ids if "nvl" not in (self._traits[i].forms or ())) or ids
        if stated.editions:
            plain = tuple(i for i in plain if self._traits[i].own_editions == stated.editions) or plain
        return plain

    def _by_measured(self, match: GpuMatch, memory_bytes: float | None) -> GpuMatch:
        if memory_bytes is None or not match.ids or match.part:
            return match
        fits = tuple(i for i in match.ids if self._traits[i].fits_memory(memory_bytes))
        if not fits:
            part = self._part_of(match.ids, _measured(memory_bytes))
            return part or GpuMatch((), match.ids, "memory", match.count)
        return replace(match, ids=fits, decided_by_memory=len(fits) < len(match.ids))

    def _usual(self, match: GpuMatch, stated: GpuSpelling) -> GpuMatch:
        """Without the sizes that were made for single customers, where no size is told that they could be meant by."""
        usual = tuple(i for i in match.ids if i not in self._tables.seldom)
        return match if stated.memory_gb or not usual else replace(match, ids=usual)

    def _sized(self, match: GpuMatch, stated: GpuSpelling, memory_bytes: float | None) -> GpuMatch:
        """Keeps in mind that a product may be sold in sizes of which the catalog holds one."""
        sizes = self._tables.sizes_gb.get(match.ids[0], ()) if len(match.ids) == 1 else ()
        said = stated.memory_gb or stated.memory_bytes or memory_bytes is not None
        return replace(match, sizes_gb=sizes) if sizes and not said else match

    def _part_of(self, ids: tuple[str, ...], stated: GpuSpelling) -> GpuMatch | None:
        for part in self._tables.parts:
            sold = part.memory_gb in stated.memory_gb
            measured = any(
                abs(size / (part.memory_gb * unit) - 1) < 0.07 for size in stated.memory_bytes for unit in (GB, GIB)
            )
            if part.gpu in ids and (sold or measured):
                return GpuMatch((part.gpu,), count=stated.count, part=part)
        return None

    def _named_part(self, ids: tuple[str, ...], stated: GpuSpelling) -> Part | None:
        return next((p for p in self._tables.parts if (p.gpu,) == ids and p.name in stated.words), None)

    def _readings(self, stated: GpuSpelling) -> Iterator[_Reading]:
        """From the strictest reading to the loosest."""
        core = stated.core
        named = tuple(w for w in core if w not in self._words.builders)
        for words in dict.fromkeys((core, named)):
            era = frozenset(words) & self._words.architectures
            less = tuple(w for w in words if w not in era)
            for reading in (_Reading(words), _Reading(less, era)):
                if reading.core:
                    yield reading
                if len(reading.core) > 1 and reading.core[-1].isdecimal():
                    yield _Reading(reading.core[:-1], reading.architectures, reading.core[-1])

    def _cores(self, traits: Traits) -> Iterator[tuple[str, ...]]:
        for spelling in traits.spellings:
            yield spelling.core
            yield tuple(w for w in spelling.core if w not in self._words.architectures_left_out)
            yield self._spell_clean(without_parentheses(spelling.text)).core
            if "geforce" in traits.brands and spelling.core[:1] == ("rtx",):
                yield spelling.core[1:]  # "4090"

    def _add(self, core: tuple[str, ...], ids: Iterable[str]) -> None:
        for gpu_id in ids if core else ():
            _append(self._by_key, join(core), gpu_id)
            _append(self._by_words, tuple(sorted(core)), gpu_id)

    def _spell(self, name: str) -> GpuSpelling:
        return self._spell_clean(clean(name, self._words.phrases))

    def _spell_clean(self, text: str) -> GpuSpelling:
        return spell_gpu(text, self._words)

    def _key(self, name: str) -> str:
        return self._join(clean(name, self._words.phrases))

    @staticmethod
    def _join(text: str) -> str:
        return join(split(text))


def _append(index: dict[_Key, tuple[str, ...]], key: _Key, gpu_id: str) -> None:
    known: tuple[str, ...] = index.get(key, ())
    index[key] = known if gpu_id in known else (*known, gpu_id)


def _nearly(wrong: Mapping[str, str | None], count: int | None) -> GpuMatch:
    """The ids that contradict the spelling least: those for which the last of the checks failed."""
    least = max(wrong.values(), key=lambda part: CHECKED.index(part or ""))
    return GpuMatch((), tuple(i for i, part in wrong.items() if part == least), least or "", count)


def _sized(number: str) -> GpuSpelling:
    return GpuSpelling(number, (), (), memory_gb=(float(number),))


def _measured(memory_bytes: float) -> GpuSpelling:
    return GpuSpelling("", (), (), memory_bytes=(memory_bytes,))
