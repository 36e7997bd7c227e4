"""What the palette finds: items, who provides them, and how well a text matches what was typed. No Qt."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gpuplanner.messages import Message

_HYPHEN = re.compile(r"(?<=\w)[-\u2010\u2011](?=\w)")


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
    """How well the best of `texts` matches: 1 the same, less for a whole word, a beginning, a word's beginning, inside.

    Every word of the query has to be found, else it is 0. Hyphens may be left out: "pretrain" finds "Pre-train".
    """
    plain = fold(query)
    words, joined = plain.split(), _joined(plain).split()
    if not words:
        return 0.5
    folded = [fold(text) for text in texts if text]
    return max((max(_match_words(words, text), _match_words(joined, _joined(text))) for text in folded), default=0.0)


def has_words(query: str, text: str) -> bool:
    """Whether every word of the query is a whole word of the text, rather than a part of one."""
    return all(re.search(_whole(word), fold(text)) for word in fold(query).split())


def _whole(word: str) -> str:
    return rf"(?<!\w){re.escape(word)}(?!\w)"


def _joined(text: str) -> str:
    """A text without the hyphens inside its words."""
    return _HYPHEN.sub("", text)


def _match_words(words: Sequence[str], text: str) -> float:
    if text == " ".join(words):
        return 1.0
    total = 0.0
    for word in words:
        at = text.find(word)
        if at < 0:
            return 0.0
        if re.search(_whole(word), text):
            total += 0.95
        else:
            total += 0.9 if at == 0 else 0.8 if not text[at - 1].isalnum() else 0.5
    # Of two texts that match alike the shorter one is meant.
    return total / len(words) - min(len(text), 100) / 1000
