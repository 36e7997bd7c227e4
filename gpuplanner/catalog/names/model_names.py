"""Which models a name can mean: repository names, file names of weights, and names as papers and tools shorten them.

Tuning and quantisation do not change a model's architecture, so "Qwen2.5-7B-Instruct-Q4_K_M.gguf" is Qwen2.5-7B; a
size or a version does.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from gpuplanner.catalog.entries import Model
from gpuplanner.catalog.names.spelling import clean, join, split, without_parentheses
from gpuplanner.catalog.names.tables import NameTables

_FILE = re.compile(r"(?:-\d{5}-of-\d{5})?\.(?:gguf|safetensors|bin|pth?|onnx|ckpt)$")
_QUANTISATION = re.compile(r"^(?:i?q\d(?:_[a-z0-9]+)*|tq\d_\d|[wa]\d+a\d+|\d+bits?|\d+(?:\.\d+)?bpw)$")
_GGUF_TYPE = re.compile(r"[\-_. :](?:ud-)?i?q\d(?:_(?:\d|k|s|m|l|xs|xxs|xl|nl))*(?=$|[\-_. ])")
_PLUS = re.compile(r"(?<=[a-z0-9])\+(?![a-z0-9])")
_SIZE = re.compile(r"^(?:\d+x)?\d+(?:\.\d+)?[bmt]$")
# A release of the same model ("v0.1"); "v3" names another model.
_VERSION = re.compile(r"^v\d+\.\d+$")
# A release by month ("2507", "0528").
_DATE = re.compile(r"^(?:0[1-9]|1[0-2]|2\d)(?:\d{2})$")


class ModelNames:
    """The names of the models of one catalog."""

    def __init__(self, models: Mapping[str, Model], tables: NameTables) -> None:
        self._words = tables.model_words
        self._phrases = tables.words.phrases
        self._levels: tuple[dict[str, list[str]], ...] = (defaultdict(list), defaultdict(list), defaultdict(list))
        further: dict[str, list[str]] = defaultdict(list)
        for name, model_id in tables.models:
            further[model_id].append(name)
        for model in models.values():
            added = (*further[model.id], *further[model.name])
            for level, keys in enumerate(self._catalog_keys((model.id, model.name, *model.aliases), added)):
                for key in keys:
                    if model.id not in self._levels[level][key]:
                        self._levels[level][key].append(model.id)

    def match(self, text: str) -> tuple[str, ...]:
        """The models that a cleaned text names; none when there is none."""
        for name in dict.fromkeys((text, without_parentheses(text))):
            full, untuned, bare = self._reduced(self._split(name))
            dated = any(_DATE.match(w) for w in untuned)
            versioned = any(_VERSION.match(w) for w in untuned)
            ladder = [(full, 0), (untuned, 0), (untuned, 1)]
            if not versioned:
                ladder.append((bare, 1 if dated else 2))
            for words, level in ladder:
                if words and (ids := self._levels[level].get(join(words))):
                    return tuple(ids)
        return ()

    def _catalog_keys(self, own: tuple[str, ...], added: tuple[str, ...]) -> Iterator[set[str]]:
        names = [self._split(clean(name, self._phrases)) for name in (*own, *added)]
        plain = [self._split(without_parentheses(clean(name, self._phrases))) for name in own]
        reduced = [self._reduced(words) for words in names]
        reduced_plain = [self._reduced(words) for words in plain]
        reduced_own = (*reduced[: len(own)], *reduced_plain)
        yield {join(full) for full, _, _ in reduced}
        yield {join(words) for full, untuned, _ in (*reduced, *reduced_plain) for words in (full, untuned)}
        yield {join(bare) for _, _, bare in reduced_own}

    def _split(self, text: str) -> tuple[str, ...]:
        """The words of a name without its organisation, folder and file type."""
        name = _FILE.sub("", text.replace("\\", "/").rstrip("/"))
        last = name.rpartition("/")[2]
        if any(c.isalpha() for c in last):  # not the patch size of "ViT-B/16"
            name = last
        words = split(_GGUF_TYPE.sub(" ", _PLUS.sub(" plus", name)))
        return words[1:] if len(words) > 1 and words[0] in self._words.organisations else words

    def _reduced(self, words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """All words; those without tuning and quantisation; and those without version and date as well."""
        sized = any(_SIZE.match(w) for w in words)
        dropped = (
            self._words.tuning
            | self._words.quantisations
            | (self._words.tuning_beside_a_size if sized else frozenset())
        )
        untuned = tuple(w for w in words if w not in dropped and not _QUANTISATION.match(w))
        bare = tuple(w for i, w in enumerate(untuned) if i == 0 or not (_VERSION.match(w) or _DATE.match(w)))
        return words, untuned, bare
