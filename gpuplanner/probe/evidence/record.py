"""What every piece of evidence has in common: where each value was read, and why one is absent. Reads nothing."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

LONGEST_QUOTE = 300


class Lacking(StrEnum):
    """Why a value is absent. None of them is ever taken for a healthy value."""

    NOT_SUPPORTED = "not_supported"
    """The tool says that this device or driver does not have it."""
    NO_PERMISSION = "no_permission"
    ERROR = "error"
    """The tool printed an error in its place."""
    UNKNOWN = "unknown"
    """The tool says that it does not know."""
    UNREADABLE = "unreadable"
    """Something stands there that is no such value."""


class Seen(BaseModel):
    """Where a value was read: the output's name, the number of its line (from 1), and the line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    line: int
    text: str


class Absent(BaseModel):
    """A value that is not there although its place is: why, and what stands there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reason: Lacking
    seen: Seen


class Record(BaseModel):
    """A thing of the machine with what was read of it. A field is None where it was not printed or is in `absent`.

    `seen` and `absent` go by the names of the fields.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seen: Mapping[str, Seen] = Field(default_factory=dict, repr=False)
    absent: Mapping[str, Absent] = Field(default_factory=dict, repr=False)

    def read(self) -> dict[str, Any]:
        """The fields that have a value, without where they were read."""
        return {
            name: value
            for name in type(self).model_fields
            if name not in {"seen", "absent"} and (value := getattr(self, name)) not in (None, ())
        }

    def as_data(self) -> dict[str, Any]:
        """The fields for JSON: those with a value, why others are absent, and the line that each was read in."""
        data = {name: _plain(value) for name, value in self.read().items()}
        if self.absent:
            data["absent"] = {name: absent.reason.value for name, absent in self.absent.items()}
        if self.seen:
            data["lines"] = {name: seen.line for name, seen in self.seen.items()}
        return data


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.as_data()
    if isinstance(value, tuple | list | frozenset):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return value
