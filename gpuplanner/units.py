"""Quantities and how they are shown. Values inside the program are SI base units: bytes, seconds, FLOP/s, watts.

Nothing here converts silently: a shown number always says its unit, and which convention (GB or GiB).
"""

import math
from dataclasses import dataclass
from enum import StrEnum

KIB, MIB, GIB, TIB = 2.0**10, 2.0**20, 2.0**30, 2.0**40
KB, MB, GB, TB = 1e3, 1e6, 1e9, 1e12
TERA = 1e12
HOURS_PER_MONTH = 730.0
"""Hours in a billing month, the convention of the public cloud calculators (8760 / 12)."""
PERCENT = "%"
"""Stands at its number without a space, in English and in Chinese."""


class Unit(StrEnum):
    """The unit of a number that crosses a function or a file."""

    BYTE = "B"
    BYTE_PER_S = "B/s"
    BIT_PER_S = "bit/s"
    BYTE_PER_TOKEN = "B/token"
    FLOP = "FLOP"
    FLOP_PER_S = "FLOP/s"
    OP_PER_S = "OP/s"
    """Operations on integers: what FLOP/s are on floating-point numbers."""
    SECOND = "s"
    HOUR = "h"
    WATT = "W"
    JOULE = "J"
    KILOWATT_HOUR = "kWh"
    HERTZ = "Hz"
    TOKEN = "token"
    TOKEN_PER_S = "token/s"
    REQUEST_PER_S = "request/s"
    PER_S = "1/s"
    COUNT = "count"
    PARAMETER = "parameter"
    BIT = "bit"
    RATIO = "ratio"
    MONEY = "money"
    MONEY_PER_HOUR = "money/h"
    MONEY_PER_MTOKEN = "money/Mtoken"
    TEXT = "text"


class MemoryConvention(StrEnum):
    """How memory is shown: decimal (GB, as datasheets) or binary (GiB, as nvidia-smi's MiB)."""

    GB = "GB"
    GIB = "GiB"


@dataclass(frozen=True, slots=True)
class Display:
    """How a person wants numbers shown. `per_usd` is what one US dollar costs in `currency`."""

    memory: MemoryConvention = MemoryConvention.GIB
    currency: str = "USD"
    per_usd: float = 1.0
    rate_date: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """A number ready to be read: the digits and the unit apart, so that the unit can be set small or in a header."""

    number: str
    unit: str

    def __str__(self) -> str:
        return f"{self.number}{self.unit}" if self.unit == PERCENT else f"{self.number} {self.unit}".strip()


_MOST_PLACES = 12
_BINARY = ((TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"), (1.0, "B"))
_DECIMAL = ((TB, "TB"), (GB, "GB"), (MB, "MB"), (KB, "kB"), (1.0, "B"))
_SI = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_DURATIONS = ((86400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_SI_NAMES = {Unit.FLOP_PER_S: "FLOPS", Unit.OP_PER_S: "OPS"}
_LEAST_IN_RANGE, _MOST_IN_RANGE = 0.1, 10_000.0
"""Between these the ends of a range read with ease in one unit: 0.475 – 1.88 s, but not 0.0333 – 1.50 h."""
_WIDEST_IN_ONE_UNIT = 1000.0
"""A range whose ends are further apart than this by a factor says a unit at each."""
_COUNT_UNITS = {Unit.COUNT: "", Unit.BIT: "bit", Unit.TOKEN: "tokens", Unit.PARAMETER: "parameters"}


def digits(value: float, significant: int = 3) -> str:
    """`value` with about `significant` digits, thousands grouped, without an exponent: 0.0123, 1.23, 12.3, 1,230."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.{significant - 1}e}")
    places = max(0, significant - 1 - math.floor(math.log10(abs(rounded))))
    return f"{value:,.{min(places, _MOST_PLACES)}f}"


def _scaled(value: float, steps: tuple[tuple[float, str], ...], suffix: str = "", significant: int = 3) -> Shown:
    factor, name = _step(value, steps)
    return Shown(digits(value / factor, significant), name + suffix)


def _step(value: float, steps: tuple[tuple[float, str], ...]) -> tuple[float, str]:
    return next(((f, n) for f, n in steps if abs(value) >= f * 0.9995), steps[-1])


def _steps(unit: Unit, display: Display) -> tuple[tuple[tuple[float, str], ...], str]:
    """The prefixes that numbers of a unit are shown with, and what is written behind them; none where it has none."""
    match unit:
        case Unit.BYTE | Unit.BYTE_PER_TOKEN:
            memory = _BINARY if display.memory is MemoryConvention.GIB else _DECIMAL
            return memory, "/token" if unit is Unit.BYTE_PER_TOKEN else ""
        case Unit.BYTE_PER_S:
            return _DECIMAL, "/s"
        case Unit.FLOP | Unit.FLOP_PER_S | Unit.OP_PER_S | Unit.BIT_PER_S | Unit.HERTZ | Unit.JOULE | Unit.WATT:
            return _SI, _SI_NAMES.get(unit, unit.value)
        case Unit.SECOND:
            return _DURATIONS, ""
        case _:
            return (), ""


def show_bytes(value_bytes: float, display: Display) -> Shown:
    """Memory or storage in the person's convention."""
    return _scaled(value_bytes, *_steps(Unit.BYTE, display))


def show_duration(seconds: float) -> Shown:
    """A duration in the largest unit that leaves a number of at least one; none at all is "0 s"."""
    if not seconds:
        return Shown("0", "s")
    return _scaled(seconds, _DURATIONS)


def show_money(value_usd: float, display: Display) -> Shown:
    """Money given in US dollars, in the person's currency; cents only where they matter."""
    value = value_usd * display.per_usd
    places = 2 if abs(value) < 1000 else 0
    if 0 < abs(value) < 0.1:
        places = 4
    return Shown(f"{value:,.{places}f}", display.currency)


def percent(share: float, places: int = 0) -> str:
    """A share of a whole as a person reads it, with so many decimal places: "42%"."""
    return f"{share:.{places}%}"


def show(value: float, unit: Unit, display: Display, significant: int = 3) -> Shown:
    """`value` (in `unit`, the program's base unit) as a person reads it.

    Rates of bytes are decimal (GB/s), as link and memory datasheets have them, whatever the memory convention.
    """
    match unit:
        case Unit.BYTE | Unit.BYTE_PER_TOKEN:
            return _scaled(value, *_steps(unit, display))
        case Unit.BYTE_PER_S:
            return _scaled(value, *_steps(unit, display), significant)
        case Unit.FLOP | Unit.FLOP_PER_S | Unit.OP_PER_S | Unit.BIT_PER_S | Unit.HERTZ | Unit.JOULE | Unit.WATT:
            if unit is Unit.WATT and abs(value) < 10_000:
                return Shown(digits(value, significant), "W")
            return _scaled(value, *_steps(unit, display))
        case Unit.SECOND:
            return show_duration(value)
        case Unit.HOUR:
            return show_duration(value * 3600.0)
        case Unit.MONEY:
            return show_money(value, display)
        case Unit.MONEY_PER_HOUR | Unit.MONEY_PER_MTOKEN:
            money = show_money(value, display)
            return Shown(money.number, money.unit + ("/h" if unit is Unit.MONEY_PER_HOUR else "/M tokens"))
        case Unit.PARAMETER:
            return Shown(*_parameters(value))
        case Unit.RATIO:
            return Shown(digits(value * 100, significant), PERCENT)
        case Unit.PER_S:
            return Shown(digits(value, significant), "/s")
        case Unit.TOKEN_PER_S | Unit.REQUEST_PER_S:
            return Shown(digits(value, significant), "tokens/s" if unit is Unit.TOKEN_PER_S else "requests/s")
        case _:
            whole = float(value).is_integer()
            return Shown(f"{value:,.0f}" if whole else digits(value, significant), _COUNT_UNITS.get(unit, unit.value))


def show_range(low: float, high: float, unit: Unit, display: Display, value: float) -> tuple[Shown, Shown]:
    """The ends of the range of `value` (all in `unit`), in one unit where that reads well: 0.475 and 1.88 s.

    The unit is that of the value itself, so that the range reads beside it, or else that of an end.
    """
    if unit is Unit.HOUR:
        return show_range(low * 3600.0, high * 3600.0, Unit.SECOND, display, value * 3600.0)
    ends = show(low, unit, display), show(high, unit, display)
    steps, suffix = _steps(unit, display)
    if ends[0].unit == ends[1].unit or not steps or (low and high > low * _WIDEST_IN_ONE_UNIT):
        return ends
    for factor, name in (_step(number, steps) for number in (value, high, low)):
        if (not low or low >= _LEAST_IN_RANGE * factor) and high < _MOST_IN_RANGE * factor:
            return Shown(digits(low / factor), name + suffix), Shown(digits(high / factor), name + suffix)
    return ends


def _parameters(count: float) -> tuple[str, str]:
    for factor, name in ((1e12, "T"), (1e9, "B"), (1e6, "M")):
        if abs(count) >= factor:
            return digits(count / factor), name
    return f"{count:,.0f}", ""
