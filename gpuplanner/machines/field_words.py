"""What a machine says of itself, field by field, as a person reads it: values with their units."""

from collections.abc import Mapping

from gpuplanner.messages import MessageValue, msg, on_one_line, shortened
from gpuplanner.units import Display, percent, show_bytes, show_duration

_WORD = 80
"""Characters of a value that a machine printed."""
_UNITS: Mapping[str, str] = {"_mhz": "MHz", "_w": "W", "gb_per_s": "GB/s", "_c": "°C"}
_LIMITS = frozenset({"locked_bytes", "open_files", "processes", "stack_bytes"})
_UNLIMITED = -1
"""How the limits of a process say that there is none."""


def field_value(field: str, value: object, display: Display | None = None) -> MessageValue:
    """The value of a field of the evidence: with the unit that the field's name says, or as it was printed."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return msg("runs.yes") if value else msg("runs.no")
    if not isinstance(value, int | float):
        return as_printed(value)
    if field in _LIMITS and value == _UNLIMITED:
        return msg("runs.unlimited")
    if field.endswith("_mib"):
        return str(show_bytes(value * 2**20, display or Display()))
    if field.endswith("_bytes"):
        return str(show_bytes(value, display or Display()))
    if field.endswith("_share"):
        return percent(value)
    if field.endswith("_s") and not field.endswith("_per_s"):
        return str(show_duration(value))
    unit = next((name for end, name in _UNITS.items() if field.endswith(end)), "")
    number = f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
    return f"{number} {unit}".strip()


def as_printed(value: object) -> str:
    """A value as the machine printed it, short and on one line."""
    return shortened(on_one_line(str(value)), _WORD) or "–"
