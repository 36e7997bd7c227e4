"""Numbers as people type them, and back: "2k", "128k", "1e12", "70B", "20,000", "10 %", "80 GB". No Qt.

Nothing is guessed silently: what was understood is shown when the field is left. A suffix k is a thousand, Ki is 1024.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpuplanner.messages import InputError, Message, msg
from gpuplanner.units import GB, GIB, KB, KIB, MB, MIB, TB, TIB, Display, MemoryConvention, Unit, digits

_NUMBER = re.compile(
    r"([+-]?(?:\d{1,3}(?:[,  _']\d{3})+|\d+)?(?:\.\d*)?(?:e[+-]?\d{1,3})?)\s*(.*)", re.IGNORECASE | re.DOTALL
)
_COUNTS = {
    "k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9, "bn": 1e9, "t": 1e12, "ki": 1024.0, "mi": 1024.0**2,
    "千": 1e3, "万": 1e4, "百万": 1e6, "千万": 1e7, "亿": 1e8, "万亿": 1e12,
}  # fmt: skip
_PREFIXES = {"": 0, "k": 3, "m": 6, "g": 9, "t": 12, "p": 15, "e": 18, "z": 21}
_BYTES = {
    "b": 1.0, "k": KB, "kb": KB, "kib": KIB, "ki": KIB, "m": MB, "mb": MB, "mib": MIB, "mi": MIB, "g": GB, "gb": GB,
    "gib": GIB, "gi": GIB, "t": TB, "tb": TB, "tib": TIB, "ti": TIB,
}  # fmt: skip
_BYTE_RATES = _BYTES | {f"{name}/s": size for name, size in _BYTES.items()}
_OPERATIONS = {f"{prefix}flop{end}": 10.0**power for prefix, power in _PREFIXES.items() for end in ("", "s")}
_DURATIONS = {
    "ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "hr": 3600.0, "hours": 3600.0, "hour": 3600.0,
    "d": 86400.0, "day": 86400.0, "days": 86400.0, "w": 604800.0, "week": 604800.0, "weeks": 604800.0,
    "毫秒": 1e-3, "秒": 1.0, "分": 60.0, "分钟": 60.0, "小时": 3600.0, "时": 3600.0, "天": 86400.0, "日": 86400.0,
    "周": 604800.0,
}  # fmt: skip

_BIT_RATES = {
    f"{prefix}{name}": factor
    for prefix, factor in {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}.items()
    for name in ("bit/s", "bps")
}
_A_SECOND = {"/s": 1.0}
_WRITTEN: Mapping[Unit, Mapping[str, float]] = {
    Unit.BYTE: _BYTES,
    Unit.BYTE_PER_S: _BYTE_RATES,
    Unit.BIT_PER_S: _BIT_RATES,
    Unit.FLOP: _OPERATIONS,
    Unit.SECOND: _DURATIONS,
    Unit.HOUR: {name: seconds / 3600.0 for name, seconds in _DURATIONS.items()},
    Unit.RATIO: {"%": 0.01},
    Unit.MONEY: _COUNTS | {"usd": 1.0, "$": 1.0},
    Unit.COUNT: _COUNTS,
    Unit.PARAMETER: _COUNTS | {"parameters": 1.0},
    Unit.TOKEN: _COUNTS | {"token": 1.0, "tokens": 1.0},
    Unit.TOKEN_PER_S: _A_SECOND | {"tokens/s": 1.0},
    Unit.REQUEST_PER_S: _A_SECOND | {"requests/s": 1.0},
    Unit.PER_S: _A_SECOND,
}
"""What may stand after a number of a unit, in lower case, and how many of the base unit it is."""


def written(text: str, unit: Unit) -> float | None:
    """A number with its unit as figures print it, in the base unit: "100 MB/s", "70%", "20k". None for another.

    The unit has to be there: a bare number is one of the base unit, which is not for this to say.
    """
    try:
        value, after = read_number(text)
    except InputError:
        return None
    if unit is Unit.PER_S and after.endswith("/s"):
        after = "/s"  # images, frames or whatever the field counts
    factor = _WRITTEN.get(unit, {}).get(after)
    # By the nearest whole number below one, so that 70% is 0.7 and not 0.7000000000000001.
    return None if factor is None else value / round(1.0 / factor) if 0 < factor < 1 else value * factor


def read_number(text: str) -> tuple[float, str]:
    """A number and what stands after it, in lower case. Raises InputError when there is no number or not one finite."""
    plain = unicodedata.normalize("NFKC", text).strip().replace("−", "-")
    found = _NUMBER.fullmatch(plain)
    digits_only = re.sub(r"[,  _']", "", found.group(1)) if found else ""
    try:
        value = float(digits_only)
    except ValueError:
        raise InputError(msg("ui.field.not_a_number", text=_short(text))) from None
    if not math.isfinite(value):
        raise InputError(msg("ui.field.too_large"))
    return value, found.group(2).strip().casefold() if found else ""


def _short(text: str) -> str:
    return text if len(text) <= 24 else text[:23] + "…"


@dataclass(frozen=True, slots=True)
class Quantity:
    """What kind of number a field takes: how its suffixes are read, how it is shown, and which values are allowed.

    `plain` is what one of the shown numbers is in base units (bytes, seconds, US dollars, a share for per cent).
    `scales` may stand after the number and multiply it (2k); `units` are other units that may be written out (80 GB).
    """

    scales: Mapping[str, float] = field(default_factory=dict)
    units: Mapping[str, float] = field(default_factory=dict)
    plain: Callable[[Display], float] = field(default=lambda _display: 1.0)
    suffix: Callable[[Display], str] = field(default=lambda _display: "")
    significant: int = 6
    whole: bool = False
    least: float = 0.0
    most: float = math.inf
    above_least: bool = False
    """Whether the least value itself is not allowed."""

    def parse(self, text: str, display: Display) -> float:
        """The value in base units. Raises InputError that says what cannot be used and what can."""
        number, after = read_number(text)
        factor = self._factor(after, display)
        value = number * factor
        if self.whole:
            if abs(value - round(value)) > 1e-6 * max(1.0, abs(value)):
                raise InputError(msg("ui.field.not_whole"))
            value = float(round(value))
        if value < self.least or (self.above_least and value <= self.least):
            says = "ui.field.not_above" if self.above_least else "ui.field.too_small"
            raise InputError(Message(says, {"least": self.show(self.least, display)}))
        if value > self.most:
            raise InputError(msg("ui.field.above_most", most=self.show(self.most, display)))
        return value

    def show(self, value: float, display: Display) -> str:
        """The value as the field shows it, without the suffix."""
        shown = value / self.plain(display)
        if self.whole or abs(shown) >= 1e15:
            return f"{shown:,.0f}"
        if float(shown).is_integer():
            return f"{shown:,.0f}"
        text = digits(shown, self.significant)
        return text.rstrip("0").rstrip(".") if "." in text else text

    def _factor(self, after: str, display: Display) -> float:
        suffix = self.suffix(display).casefold()
        if not after or after == suffix:
            return self.plain(display)
        if after in self.units:
            return self.units[after]
        scale = after.removesuffix(suffix).strip() if suffix else after
        if scale not in self.scales:
            raise InputError(msg("ui.field.unknown_suffix", suffix=_short(after)))
        return self.scales[scale] * self.plain(display)


def count(least: float = 0, most: float = math.inf, *, suffix: str = "", whole: bool = True) -> Quantity:
    """Tokens, users, GPUs, parameters: "2k" is 2,000 and "70B" is 70,000,000,000."""
    return Quantity(scales=_COUNTS, suffix=lambda _display: suffix, whole=whole, least=least, most=most)


def operations(least: float = 0.0, most: float = math.inf) -> Quantity:
    """Floating-point operations, typed and shown in GFLOP; another prefix may be written out: "2 PFLOP"."""
    return Quantity(
        units=_OPERATIONS,
        plain=lambda _display: 1e9,
        suffix=lambda _display: "GFLOP",
        least=least,
        most=most,
    )


def per_second(least: float = 0.0, most: float = math.inf) -> Quantity:
    """So many of something in a second."""
    return Quantity(scales=_COUNTS, suffix=lambda _display: "/s", least=least, most=most)


def percent(least: float = 0.0, most: float = 1.0) -> Quantity:
    """A share, typed and shown in per cent."""
    return Quantity(plain=lambda _display: 0.01, suffix=lambda _display: "%", significant=4, least=least, most=most)


def memory(least: float = 0.0, most: float = math.inf) -> Quantity:
    """Bytes, typed and shown in the person's convention; another unit may be written out."""
    return Quantity(
        units=_BYTES,
        plain=lambda display: GIB if display.memory is MemoryConvention.GIB else GB,
        suffix=lambda display: display.memory.value,
        least=least,
        most=most,
    )


def file_size(least: float = 0.0, most: float = math.inf) -> Quantity:
    """Bytes of a file that is small beside a GPU's memory, typed and shown in kB; another unit may be written out."""
    return Quantity(
        units=_BYTES,
        plain=lambda _display: KB,
        suffix=lambda _display: "kB",
        least=least,
        most=most,
    )


def byte_rate(least: float = 0.0, most: float = math.inf) -> Quantity:
    """Bytes a second, typed and shown in GB/s as links and drives are sold; another unit may be written out."""
    return Quantity(
        units=_BYTE_RATES,
        plain=lambda _display: GB,
        suffix=lambda _display: "GB/s",
        least=least,
        most=most,
    )


def bit_rate(least: float = 0.0, most: float = math.inf) -> Quantity:
    """Bits a second, typed and shown in Gbit/s as networks are sold; another unit may be written out."""
    return Quantity(
        units=_BIT_RATES,
        plain=lambda _display: 1e9,
        suffix=lambda _display: "Gbit/s",
        least=least,
        most=most,
    )


def duration(unit: str = "d", least: float = 0.0, most: float = math.inf, *, above_least: bool = True) -> Quantity:
    """Seconds, typed and shown in `unit` (ms, s, h, d); another one may be written out."""
    return Quantity(
        units=_DURATIONS,
        plain=lambda _display: _DURATIONS[unit],
        suffix=lambda _display: unit,
        least=least,
        most=most,
        above_least=above_least,
    )


def money(least: float = 0.0, most: float = math.inf, *, above_least: bool = True) -> Quantity:
    """US dollars, typed and shown in the person's currency."""
    return Quantity(
        scales=_COUNTS,
        plain=lambda display: 1.0 / display.per_usd,
        suffix=lambda display: display.currency,
        least=least,
        most=most,
        above_least=above_least,
    )


def money_rate(currency: str) -> Quantity:
    """What one US dollar costs in a currency."""
    return Quantity(suffix=lambda _display: currency, significant=5, most=1e9, above_least=True)
