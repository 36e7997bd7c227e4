"""Words that mean the same when somebody searches, in both languages ("显存" and "VRAM"). Does not search."""

import unicodedata
from collections.abc import Iterable
from pathlib import Path

from gpuplanner.catalog.files.yaml_file import plain_yaml


def folded(text: str) -> str:
    """Text as it is compared: case and width folded, spaces collapsed, characters that do not show left out."""
    if text.isascii() and text.isprintable():
        return " ".join(text.casefold().split())
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join("".join(" " if unicodedata.category(c).startswith("C") else c for c in plain).split())


class Synonyms:
    """Groups of words with one meaning. A text is read into its words, each with those that may stand for it."""

    def __init__(self, groups: Iterable[Iterable[str]]) -> None:
        self._meanings: dict[str, tuple[str, ...]] = {}
        for group in groups:
            words = tuple(dict.fromkeys(map(folded, group)))
            for word in words:
                self._meanings[word] = tuple(dict.fromkeys((word, *self._meanings.get(word, ()), *words)))
        self._longest = max(map(len, self._meanings), default=0)

    def expand(self, text: str) -> tuple[tuple[str, ...], ...]:
        """The words of a text in order, each as itself followed by its synonyms.

        Chinese is written without spaces, so a known word begins and ends wherever it is found: "英伟达显卡" is two.
        """
        return tuple(self._meanings.get(word, (word,)) for word in self._words(folded(text)))

    def _words(self, text: str) -> Iterable[str]:
        start = 0
        rest = ""
        while start < len(text):
            known = self._known_at(text, start)
            if known:
                yield from rest.split()
                rest = ""
                yield known
                start += len(known)
            else:
                rest += text[start]
                start += 1
        yield from rest.split()

    def _known_at(self, text: str, start: int) -> str | None:
        for length in range(min(self._longest, len(text) - start), 0, -1):
            word = text[start : start + length]
            if word in self._meanings and self._stands_alone(text, start, start + length):
                return word
        return None

    @staticmethod
    def _stands_alone(text: str, start: int, end: int) -> bool:
        """Whether no Latin word is cut: "ram" is not in "param", but "显存" is in "大显存"."""
        before, after = text[start - 1 : start], text[end : end + 1]
        cut_before = before.isascii() and before.isalnum() and text[start].isascii()
        cut_after = after.isascii() and after.isalnum() and text[end - 1].isascii()
        return not (cut_before or cut_after)


def read_synonyms(path: Path) -> Synonyms:
    """The synonyms that come with the app (`catalogs/names/synonyms.yaml`)."""
    return Synonyms(plain_yaml(path.read_text(encoding="utf-8")))
