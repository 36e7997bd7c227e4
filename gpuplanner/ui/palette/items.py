"""What the palette finds: items, who provides them, and how well a text matches what was typed. No Qt."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gpuplanner.messages import Message


@dataclass(frozen=True, slots=True)
class PaletteItem:
    """One thing to do or to go to. `title` and `note` are ready to be read; `score` ranks it, 1 is a perfect match."""

    id: str
    title: str
    run: Callable[[], object]
    note: str = ""
    icon: str = ""
    shortcut: str = ""
    score: float = 1.0


class PaletteProvider(Protocol):
    """Finds items of one group.

    A provider with `in_background` is asked in another thread and may take its time; it must not touch widgets.
    """

    group: Message
    in_background: bool

    def find(self, query: str) -> Sequence[PaletteItem]: ...


def fold(text: str) -> str:
    """Text as it is compared: full-width letters made plain, case and accents gone."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return "".join(c for c in plain if not unicodedata.combining(c))


def match(query: str, *texts: str) -> float:
    """How well the best of `texts` matches: 1 the same, less for a beginning, a word's beginning, inside; 0 not at all.

    Every word of the query has to be found.
    """
    words = fold(query).split()
    if not words:
        return 0.5
    return max((_match_words(words, fold(text)) for text in texts if text), default=0.0)


def _match_words(words: Sequence[str], text: str) -> float:
    if text == " ".join(words):
        return 1.0
    total = 0.0
    for word in words:
        at = text.find(word)
        if at < 0:
            return 0.0
        total += 0.9 if at == 0 else 0.8 if not text[at - 1].isalnum() else 0.5
    # Of two texts that match alike the shorter one is meant.
    return total / len(words) - min(len(text), 100) / 1000
