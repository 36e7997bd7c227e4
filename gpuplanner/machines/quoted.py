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
_JOINED = re.compile(r"(\+|&|\||\s(?:and|with|plus)\s|[和加])", re.IGNORECASE)
"""What joins a name and values too, and may stand in a name as well: "n1-* + 1x nvidia-tesla-t4"."""

_CPUS = re.compile(_NUMBER + r"(?:v?cpus?|v?cores?|threads?|核|线程)", re.IGNORECASE)
_RAM = re.compile(
    _NUMBER + r"(?P<unit>[GT]i?B|[GT])\s*(?:of\s+)?(?:system\s+|host\s+)?(?:RAM|memory|DRAM|DDR[45]|内存)",
    re.IGNORECASE,
)
_DISK = re.compile(
    _NUMBER + r"(?P<unit>[GT]i?B|[GT])\s*(?:of\s+)?(?:local\s+)?(?:NVMe(?: SSD)?|SSD|disk|storage|硬盘|存储)",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"(?:(?P<count>[1-9]\d?)\s*[x×*]\s*)?"
    r"(?:" + _NUMBER + r"(?:(?P<unit>[GT])(?P<per>b/s|bps|bit/s)?b?)?)?"
)  # fmt: skip
_GIGABIT_ETHERNET = re.compile(r"(?<=\d)\s*([GT])(?:bE|igE)\b", re.IGNORECASE)
_KIND = re.compile(r"(?<![A-Za-z])(?:(?P<ib>InfiniBand|IB)|(?P<roce>RoCE(?:\s?v\d)?)|(?P<ethernet>Ethernet|以太网))"
                   r"(?![A-Za-z])", re.IGNORECASE)  # fmt: skip
_GENERATION = re.compile(r"(?<![A-Za-z])(?:XDR|NDR|HDR|EDR)(?![A-Za-z])")
_GENERATIONS: Mapping[str, float] = {"XDR": 800e9, "NDR": 400e9, "HDR": 200e9, "EDR": 100e9}
"""What a port of four lanes carries, in bit/s (InfiniBand Trade Association)."""
_NETWORK_WORD = re.compile(r"(?<![A-Za-z])(?:network(?:ing)?|NICs?)(?![A-Za-z])|网络|网卡", re.IGNORECASE)
_ADAPTERS: Mapping[str | None, str] = {"ib": "InfiniBand", "roce": "RoCE"}
_RATES = frozenset({10, 25, 40, 50, 100, 200, 400, 800})
"""Numbers that beside a kind mean Gbit/s without a unit, "NDR 400"; any other may count ports."""
_BARE_METAL = re.compile(r"bare[- ]metal|裸金属|裸机", re.IGNORECASE)


def parts_of(text: str) -> tuple[str, ...]:
    """The parts of a quote; a comma between thousands parts nothing."""
    joined = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), text)
    parts = (each for part in _BETWEEN.split(joined) for each in _unjoined(part))
    return tuple(part for part in (part.strip() for part in parts) if part)


def _unjoined(part: str) -> list[str]:
    """A part at its joints, next to which a value stands; what stands between other joints stays one name."""
    pieces = _JOINED.split(part)
    found = [pieces[0]]
    for joint, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        if _values(piece.strip()) is None and _values(found[-1].strip()) is None and found[-1].strip():
            found[-1] += joint + piece
        else:
            found.append(piece)
    return found


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
    return _network(part)


def _network(part: str) -> dict[str, Any] | None:
    """What a part promises of a network: a total, and apart from it how many of which rate each where it says so."""
    text = _GIGABIT_ETHERNET.sub(r" \1 Ethernet", part)
    kinds, generations = list(_KIND.finditer(text)), _GENERATION.findall(text)
    if len(kinds) > 1 or len(generations) > 1:
        return None
    kind = kinds[0].lastgroup if kinds else "ib" if generations else None
    if generations and kind != "ib":
        return None
    found = _RATE.fullmatch(_NETWORK_WORD.sub(" ", _GENERATION.sub(" ", _KIND.sub(" ", text))).strip())
    if found is None:
        return None
    count = int(found["count"]) if found["count"] else None
    named = kind is not None or _NETWORK_WORD.search(text) is not None
    if found["number"] is None:
        rate = _GENERATIONS[generations[0]] if generations else None
        if rate is None and (count is None or kind not in _ADAPTERS):
            return None
    else:
        number, unit = float(found["number"]), found["unit"]
        if not (found["per"] or (named and unit) or (kind and not unit and number in _RATES)):
            return None
        rate = number * _BITS[unit or "G"]
    total = (count or 1) * rate if rate is not None and (count or found["number"]) else None
    each = rate if count is not None or generations else None
    if kind in _ADAPTERS:
        return {
            "adapter_kind": _ADAPTERS[kind],
            "adapters": count,
            "adapter_bit_per_s": each,
            "adapters_bit_per_s": total,
        }
    return {
        "network_bit_per_s": total,
        "network_is_ethernet": kind == "ethernet",
        "interfaces": count,
        "interface_bit_per_s": each,
    }


def _shown(text: str) -> str:
    return shortened(on_one_line(text), _NAME)
