"""Words of the catalog that are neither names nor numbers, in the language in use. Knows no widget."""

import re

from gpuplanner.ui.appearance import Appearance

_PHRASES = (
    "single GPU",
    "bridge pairs",
    "bridge pair",
    "bridge",
    "passthrough",
    "bare-metal",
    "fractional",
    "none",
    "total",
    "no-IB SKU",
    "superchip",
    "mobile",
    "module",
)
"""What the catalog says in English inside of its texts ("NVLink 4 bridge"), longer ones before those in them."""
_FOUND = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, _PHRASES))})(?![\w-])")
TRANSLATED = frozenset({"link_kind", "interconnect", "rdma", "virtualization", "form_factor"})
"""The properties whose texts are made of such words and of names."""


def in_words(text: str, appearance: Appearance) -> str:
    """A text of the catalog as it is read; names in it stay as they are."""
    return _FOUND.sub(lambda found: appearance.text(f"catalogui.word.{_id(found[0])}"), text)


def _id(phrase: str) -> str:
    return phrase.lower().replace(" ", "_").replace("-", "_")
