"""Names that look like one that was refused. Only ever shown as candidates: likeness decides nothing."""

import difflib
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cached_property

from gpuplanner.catalog.names.resolution import Candidate, Kind

# Below this, a name has little more in common with another than their vocabulary.
_LIKE = 0.6
_BEGINS_ALIKE = 0.9
_COMPARED = 60


class Nearest:
    """Likeness by shared pairs of letters, then by `difflib`; the index is built when first asked for."""

    def __init__(self, names: Iterable[tuple[Candidate, Iterable[str]]]) -> None:
        self._source = names

    @cached_property
    def _names(self) -> list[tuple[str, Candidate]]:
        return [(name, entry) for entry, names in self._source for name in dict.fromkeys(map(_plain, names)) if name]

    @cached_property
    def _pairs(self) -> dict[str, list[int]]:
        index: dict[str, list[int]] = defaultdict(list)
        for number, (name, _) in enumerate(self._names):
            for pair in _pairs(name):
                index[pair].append(number)
        return dict(index)

    def find(self, text: str, kind: Kind | None = None, limit: int = 5) -> list[tuple[float, Candidate]]:
        """The most alike entries with their likeness from 0 to 1, best first."""
        wanted = _plain(text)
        shared: Counter[int] = Counter()
        for pair in _pairs(wanted):
            shared.update(self._pairs.get(pair, ()))
        likeness: dict[Candidate, float] = {}
        matcher = difflib.SequenceMatcher(autojunk=False)
        matcher.set_seq2(wanted)
        ranked = sorted(shared, key=lambda n: (-shared[n] / (1 + len(self._names[n][0])), n))
        of_kind = (n for n in ranked if kind is None or self._names[n][1].kind is kind)
        for number, _ in zip(of_kind, range(_COMPARED), strict=False):
            name, entry = self._names[number]
            matcher.set_seq1(name)
            like = matcher.ratio()
            if min(len(name), len(wanted)) > 3 and (name.startswith(wanted) or wanted.startswith(name)):
                like = _BEGINS_ALIKE + (1 - _BEGINS_ALIKE) * like  # "RTX 4070 Ti" and "RTX 4070 Ti SUPER"
            if like >= _LIKE:
                likeness[entry] = max(like, likeness.get(entry, 0.0))
        return sorted(
            ((like, entry) for entry, like in likeness.items()), key=lambda found: (-found[0], found[1].name)
        )[:limit]


def _plain(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())


def _pairs(name: str) -> set[str]:
    return {name[i : i + 2] for i in range(len(name) - 1)} or {name}
