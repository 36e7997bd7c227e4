"""What a person typed in from a quote, "8x H100 SXM 80GB, 192 vCPU, 2 TB RAM", as a promise. Judges nothing.

TB and GB are powers of ten, the least that the words can mean; TiB and GiB powers of two.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpuplanner.acceptance.promised import Promised
from gpuplanner.messages import InputError, msg, on_one_line, shortened
from gpuplanner.units import GB, GIB, TB, TIB

_NAME = 80
"""Characters of a text in a sentence."""
_LONGEST = 1_000
"""Characters of a quote's line; a longer text is none, and is refused as a name."""
_THOUSANDS = re.compile(r"(?<![\w.])\d{1,3}(?:,\d{3})+(?![\d,])")
_BETWEEN = re.compile(r"[,;，；、\n]")
_NUMBER = r"(?P<number>\d{1,7}(?:\.\d{1,3})?)\s*"
_BYTES: Mapping[str, float] = {"gb": GB, "g": GB, "gib": GIB, "tb": TB, "t": TB, "tib": TIB}
_BITS: Mapping[str, float] = {"G": 1e9, "T": 1e12}

_CPUS = re.compile(_NUMBER + r"(?:v?cpus?|v?cores?|threads?|核|线程)", re.IGNORECASE)
_RAM = re.compile(
    _NUMBER + r"(?P<unit>[GT]i?B|[GT])\s*(?:of\s+)?(?:system\s+|host\s+)?(?:RAM|memory|DRAM|DDR[45]|内存)",
    re.IGNORECASE,
)
_DISK = re.compile(
    _NUMBER + r"(?P<unit>[GT]i?B|[GT])\s*(?:of\s+)?(?:local\s+)?(?:NVMe(?: SSD)?|SSD|disk|storage|硬盘|存储)",
    re.IGNORECASE,
)
_NETWORK = re.compile(
    r"(?:(?P<count>[1-9]\d?)\s*[x×]\s*)?" + _NUMBER + r"(?P<unit>[GT])(?:b/s|bps|bit/s)"
    r"\s*(?P<kind>(?i:InfiniBand|IB|RoCE|Ethernet|network|网络)?)"
)
_KINDS: Mapping[str, str] = {"infiniband": "InfiniBand", "ib": "InfiniBand", "roce": "RoCE"}
_BARE_METAL = re.compile(r"bare[- ]metal|裸金属|裸机", re.IGNORECASE)


def parts_of(text: str) -> tuple[str, ...]:
    """The parts of a quote; a comma between thousands parts nothing."""
    joined = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), text)
    return tuple(part for part in (part.strip() for part in _BETWEEN.split(joined)) if part)


def is_quote(text: str) -> bool:
    """Whether a text names a value of a machine, such as "192 vCPU", and not only a thing of the catalog."""
    return len(text) <= _LONGEST and any(_values(part) is not None for part in parts_of(text))


def with_values(named: Promised | None, text: str) -> Promised:
    """The promise of a quote: `named`, what its name of a GPU or an instance promises, with the values typed beside it.

    Raises InputError where two parts say the same thing.
    """
    said: dict[str, Any] = {}
    for part in parts_of(text):
        values = _values(part) or {}
        if values.keys() & said.keys():
            raise InputError(msg("machine.quote_twice", part=_shown(part)))
        said |= values
    promised = named if named is not None else Promised()
    return replace(promised, said_by=msg("machine.quoted", text=_shown(text)), **said)


def name_in(text: str) -> str | None:
    """The one part of a quote that is no value: the name of what is offered; None where there is none.

    Raises InputError where there are several, naming the second.
    """
    names = [part for part in parts_of(text) if _values(part) is None]
    if len(names) > 1:
        raise InputError(msg("machine.quote_part", part=_shown(names[1])))
    return names[0] if names else None


def _values(part: str) -> dict[str, Any] | None:
    """What a part promises, by the fields of Promised; None where it is no value."""
    if _BARE_METAL.fullmatch(part):
        return {"virtualization": "bare metal"}
    if found := _CPUS.fullmatch(part):
        return {"cpus": float(found["number"])}
    if found := _RAM.fullmatch(part):
        return {"ram_bytes": float(found["number"]) * _BYTES[found["unit"].lower()]}
    if found := _DISK.fullmatch(part):
        return {"disk_bytes": float(found["number"]) * _BYTES[found["unit"].lower()]}
    if found := _NETWORK.fullmatch(part):
        count = int(found["count"] or 1)
        values: dict[str, Any] = {"network_bit_per_s": count * float(found["number"]) * _BITS[found["unit"]]}
        if kind := _KINDS.get(found["kind"].lower()):
            values |= {"adapter_kind": kind, "adapters": count}
        return values
    return None


def _shown(text: str) -> str:
    return shortened(on_one_line(text), _NAME)
