"""What a row of KV pools says of a model's cache in words: layers, KV heads, head size, windows, format, ranks. Pure.

`32L 8kv 128 bf16` · `80L 64kv/2 128` (over two ranks) · `36L MLA 320 bf16` (numbers kept for a token and layer) ·
`18 full + 18 window(128) 8kv 64` · `10 global 4x512 + 50 window 16x256 w1024 chunk8192`.
"""

import re
from dataclasses import dataclass
from math import inf

from gpuplanner.engine.serving_inputs import CacheLayers

NUMBER = r"(?<!\d)([1-9]\d{0,6})(?!\d)"
PLAIN = re.compile(rf"{NUMBER}L {NUMBER}kv(?:/{NUMBER})? {NUMBER}")
LATENT = re.compile(rf"{NUMBER}L MLA {NUMBER}")
ALTERNATING = re.compile(rf"{NUMBER} full \+ {NUMBER} window\({NUMBER}\) {NUMBER}kv {NUMBER}")
GLOBAL = re.compile(rf"{NUMBER} global {NUMBER}x{NUMBER} \+ {NUMBER} window {NUMBER}x{NUMBER} w{NUMBER}")
CHUNK = re.compile(rf"chunk{NUMBER}")
FORMAT = re.compile(r"\b(bf16|fp16|fp8|int8|int4|q8_0|q4_0)\b")


@dataclass(frozen=True, slots=True)
class CacheShape:
    """The cache that a text describes; `ranks` and `chunk` None where it does not say."""

    cache: tuple[CacheLayers, ...]
    ranks: int | None
    chunk: int | None


def cache_of_text(text: str, bits: float) -> CacheShape | None:
    """The cache that `text` describes in numbers of `bits` bits, None when it describes none."""
    chunk = CHUNK.search(text)
    tokens = int(chunk.group(1)) if chunk else None
    if match := ALTERNATING.search(text):
        full, windowed, window, heads, size = map(int, match.groups())
        cache = (_layers(full, heads, size, inf, bits), _layers(windowed, heads, size, window, bits))
        return CacheShape(cache, None, tokens)
    if match := GLOBAL.search(text):
        full, heads, size, windowed, window_heads, window_size, window = map(int, match.groups())
        cache = (
            _layers(full, heads, size, inf, bits),
            _layers(windowed, window_heads, window_size, window, bits),
        )
        return CacheShape(cache, None, tokens)
    if match := LATENT.search(text):
        layers, elements = map(int, match.groups())
        return CacheShape((CacheLayers(layers, layers * elements, bits, 1.0, inf, inf, 0.0, 0.0, 0.0),), None, tokens)
    if match := PLAIN.search(text):
        layers, heads, size = int(match.group(1)), int(match.group(2)), int(match.group(4))
        ranks = int(match.group(3)) if match.group(3) else None
        return CacheShape((_layers(layers, heads, size, inf, bits),), ranks, tokens)
    return None


def format_of_text(text: str) -> str | None:
    """The KV format that a text names."""
    match = FORMAT.search(text.lower())
    return match.group(1) if match else None


def _layers(layers: int, heads: int, size: int, window: float, bits: float) -> CacheLayers:
    return CacheLayers(layers, layers * heads * 2 * size, bits, heads, float(window), float(window), 0.0, 0.0, 0.0)
