"""Which instances a name can mean: the provider's own name, whatever its case and separators."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpuplanner.catalog.entries import Instance
from gpuplanner.catalog.names.spelling import clean, join, split
from gpuplanner.catalog.names.tables import NameTables


@dataclass(frozen=True, slots=True)
class InstanceMatch:
    """The instances with the name. `generic`: the name only describes a machine ("8x A100 (80 GB)")."""

    ids: tuple[str, ...]
    generic: bool = False


class InstanceNames:
    """The names of the instances of one catalog."""

    def __init__(self, instances: Mapping[str, Instance], tables: NameTables) -> None:
        self._phrases = tables.words.phrases
        self._instances = instances
        self._providers = _providers({i.provider for i in instances.values()}, tables)
        self._by_name: dict[str, list[str]] = defaultdict(list)
        self._by_key: dict[str, list[str]] = defaultdict(list)
        for instance in instances.values():
            name = instance.name.casefold()
            self._by_name[name].append(instance.id)
            for key in _keys(name):
                self._by_key[key].append(instance.id)

    def match(self, text: str) -> InstanceMatch | None:
        """The instances that a cleaned text names, alone or with the provider; None when it names none."""
        if ids := self._by_name.get(text):
            return InstanceMatch(tuple(ids), generic=_generic(text))
        words = split(text)
        if ids := self._by_key.get(join(words)):
            return InstanceMatch(tuple(ids), generic=_generic(text))
        rest = tuple(w for w in words if w not in self._providers)
        if rest != words and (ids := self._by_key.get(join(rest))):
            stated = frozenset[str]().union(*(self._providers[w] for w in words if w in self._providers))
            of_these = tuple(i for i in ids if self._instances[i].provider in stated)
            return InstanceMatch(of_these) if of_these else None
        return None

    def within(self, text: str, known: frozenset[str]) -> InstanceMatch | None:
        """The one instance that a longer text names, when its other words are all `known`."""
        tokens = [token.strip("()[]{},;:\"'") for token in text.split()]
        named = [t for t in tokens if t in self._by_name and any(c in t for c in ".-_")]
        if len(set(named)) != 1:
            return None
        rest = split(" ".join(t for t in tokens if t not in named))
        if not all(w in known or w in self._providers or w.isdecimal() for w in rest):
            return None
        ids = self._by_name[named[0]]
        stated = [p for w in rest if w in self._providers for p in self._providers[w]]
        return InstanceMatch(tuple(i for i in ids if self._instances[i].provider in stated) or tuple(ids))

    def __getitem__(self, instance_id: str) -> Instance:
        return self._instances[instance_id]


def _generic(name: str) -> bool:
    return name[:1].isdigit() and name.split("x", 1)[0].strip().isdecimal()


def _keys(name: str) -> Iterable[str]:
    words = split(name)
    keys = [join(words)]
    if " + " in name:  # "n1-* + 1x nvidia-tesla-t4": an accelerator attached to any host of a family
        keys.append(join(w for w in words if w != "1x"))
    if words[:1] == ("standard",):
        keys.append(join(words[1:]))
    return dict.fromkeys(keys)


def _providers(names: Iterable[str], tables: NameTables) -> dict[str, frozenset[str]]:
    """Provider names by each word that stands for one."""
    found: dict[str, set[str]] = defaultdict(set)
    for name in names:
        own = clean(name, tables.words.phrases)
        for word in (*split(own), *tables.providers.get(name, ())):
            if word != "cloud":
                found[word].add(name)
    return {word: frozenset(providers) for word, providers in found.items()} | {"cloud": frozenset()}
