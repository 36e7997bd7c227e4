"""How names are spelled: folding of characters, words, and the parts that a GPU's name states. Knows no catalog entry.

Two spellings of one name ("RTX 4090 D", "rtx4090d", "ＲＴＸ-4090-Ｄ") give the same words or the same joined key.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpuplanner.catalog.names.tables import Words
from gpuplanner.units import GB, GIB, MIB

LONGEST_NAME = 200

_MARKS = re.compile(r"\((?:r|tm|c)\)|[®™©]", re.IGNORECASE)
_SPLIT = re.compile(r"[\s\-‐-―_/\\(),:;|\[\]{}\"'“”‘’…=~#@!?*<>&^%$·、，。！？（）【】《》+]+")
_PARENTHESES = re.compile(r"\([^()]*\)")
# "8x H100", "8xH100", "8 x H100", "2x4090", but not the "7900 X" of "7900 XTX".
_COUNT_BEFORE = re.compile(r"(?<![a-z0-9.\-])(\d{1,4})(?:[x*] ?| [x*] )(?=[a-z]|\d{4}(?![0-9x*]))")
_COUNT_AFTER = re.compile(r" [x*] ?(\d{1,4})(?![a-z0-9.])")
_COUNTED_NODES = re.compile(r"(?<![a-z0-9])\d{1,5} nodes? ")
_COUNTED_CARDS = re.compile(r"(?<![a-z0-9])(\d{1,4}) ?[张块片卡台]")
_MEMORY = re.compile(
    r"(?<![a-z0-9.])(\d{1,6}(?:\.\d+)?) ?(gib|gb|mib|mb)(?![a-z0-9]|/s)|(?<![a-z0-9.])(\d{1,4})g(?![a-z0-9])"
)
_POWER = re.compile(r"(?<![a-z0-9.])\d{2,4} ?w(?![a-z0-9])")
_SPECIAL = {"max-q": "maxq", "max q": "maxq", "pci-e": "pcie", "pci express": "pcie", "×": "x", "✕": "x"}


def clean(text: str, phrases: Mapping[str, str]) -> str:
    """The text with case, width, marks and Chinese words folded, and without characters that do not show."""
    folded = unicodedata.normalize("NFKC", _MARKS.sub(" ", text)).casefold()
    shown = "".join(" " if unicodedata.category(c) == "Cc" else c for c in folded if unicodedata.category(c) != "Cf")
    for old, new in _SPECIAL.items():
        shown = shown.replace(old, new)
    shown = _COUNTED_CARDS.sub(r"\1x ", shown)
    if not shown.isascii():
        for phrase, word in phrases.items():
            shown = shown.replace(phrase, f" {word} ")
    return " ".join(shown.split())


def split(text: str) -> tuple[str, ...]:
    """The words of a cleaned text. A full stop inside a word stays: "2.5", "g6.48xlarge"."""
    return tuple(word for part in _SPLIT.split(text) if (word := part.strip(".")))


def join(words: Iterable[str]) -> str:
    """One key for all ways to set separators; between two digits one is kept, so that "H20 0" is not "H200"."""
    key = ""
    for word in words:
        key += ("-" if key and key[-1].isdigit() and word[0].isdigit() else "") + word
    return key


def without_parentheses(text: str) -> str:
    """The text without what stands in parentheses."""
    return " ".join(_PARENTHESES.sub(" ", text).split())


@dataclass(frozen=True, slots=True)
class GpuSpelling:
    """What the name of a GPU states: the words of the product itself, and each further part that narrows it.

    `text` is what was read, without counts and power; `memory_gb` are sizes as sold ("80GB"), `memory_bytes` sizes as
    measured ("23028 MiB").
    """

    text: str
    core: tuple[str, ...]
    words: tuple[str, ...]
    count: int | None = None
    memory_gb: tuple[float, ...] = ()
    memory_bytes: tuple[float, ...] = ()
    forms: frozenset[str] = frozenset()
    memory_types: frozenset[str] = frozenset()
    vendors: frozenset[str] = frozenset()
    brands: frozenset[str] = frozenset()
    editions: frozenset[str] = frozenset()


def counted(text: str) -> tuple[int | None, str]:
    """How many a cleaned text says there are, before what it names or after it, and the text without that."""
    count: int | None = None
    for pattern in (_COUNT_BEFORE, _COUNT_AFTER):
        if found := pattern.search(text):
            count = int(found[1])
            text = pattern.sub(" ", text)
    return count, text


def spell_gpu(text: str, words: Words) -> GpuSpelling:
    """The parts of a cleaned text, read as the name of a GPU."""
    count, text = counted(text)
    text = " ".join(_POWER.sub(" ", _COUNTED_NODES.sub(" ", text)).split())
    sold: list[float] = []
    measured: list[float] = []
    for number, unit, short in _MEMORY.findall(text):
        size = float(number or short)
        if unit in {"mib", "mb"}:
            measured.append(size * MIB)
        elif unit == "gib" or not size.is_integer():
            measured.append(size * GIB)
        else:
            sold.append(size)
    truncated = text.endswith(("...", "…"))
    every = split(_MEMORY.sub(" ", text))
    if truncated and every and words.starts_soft_word(every[-1]):
        every = every[:-1]
    ignored = words.filler | words.context | words.forms.keys() | words.memory_types | words.brands | words.editions
    return GpuSpelling(
        text=text,
        core=tuple(w for w in every if w not in ignored and w not in words.vendors),
        words=every,
        count=count,
        memory_gb=tuple(sold),
        memory_bytes=tuple(measured),
        forms=frozenset(words.forms[w] for w in every if w in words.forms),
        memory_types=frozenset(w for w in every if w in words.memory_types and w != "hbm"),
        vendors=frozenset(words.vendors[w] for w in every if w in words.vendors),
        brands=frozenset(w for w in every if w in words.brands),
        editions=frozenset(w for w in every if w in words.editions),
    )


def sold_size_gb(memory_bytes: float) -> float:
    """A size as sold. Catalogs mean decimal or binary gigabytes by "80 GB": whichever is nearer to a whole number."""
    return min(memory_bytes / GB, memory_bytes / GIB, key=lambda size: abs(size - round(size)))
