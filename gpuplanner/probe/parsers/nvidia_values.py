"""The words that NVIDIA's tools share: identifiers, modes, versions, and one record a GPU. Recognises no tool."""

import re
from collections.abc import Iterable
from datetime import date

from gpuplanner.messages import msg
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.software import Software
from gpuplanner.probe.output import Line, Output
from gpuplanner.probe.parsers import Problem
from gpuplanner.probe.values import Reading, UnreadableError, whole

MOST_GPUS = 1024
"""GPUs that are read of one output: more than any machine has; what is more is a log of polling or an attack."""

_BUS_ID = re.compile(r"(?:([0-9A-Fa-f]{1,8}):)?([0-9A-Fa-f]{1,2}):([0-9A-Fa-f]{1,2})\.([0-9A-Fa-f])$")
_VERSION = re.compile(r"\d{1,4}(?:\.\d{1,6}){0,4}(?=\s|$)")
_HEXADECIMAL = re.compile(r"(?:0x)?([0-9A-Fa-f]{1,16})$")
_BETWEEN = re.compile(r"[^a-z0-9]{1,100}")
_MEMORY = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s{0,4}(B|KiB|KB|MiB|MB|GiB|GB|TiB)?$")
_LARGEST_EXACT = 2**53
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_CTIME = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}(\d{1,2}) \d{2}:\d{2}:\d{2} (\d{4})$")
_TO_MIB = {"B": 2.0**-20, "KiB": 2.0**-10, "KB": 2.0**-10, "GiB": 2.0**10, "GB": 2.0**10, "TiB": 2.0**20}


def bus_id(text: str) -> str:
    """A PCI bus identifier in capitals, with a domain of 8 digits. Raises UnreadableError."""
    match = _BUS_ID.match(text.strip())
    if not match or int(match[3], 16) > 0x1F or int(match[4], 16) > 7:
        raise UnreadableError(text)
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):08X}:{int(bus, 16):02X}:{int(device, 16):02X}.{function.upper()}"


def device_id(text: str) -> str:
    """A PCI identifier, device then vendor, as "0x20B010DE". Raises UnreadableError."""
    match = _HEXADECIMAL.match(text.strip())
    if not match or len(match[1]) != 8:
        raise UnreadableError(text)
    return f"0x{match[1].upper()}"


def mask(text: str) -> int:
    """A bit mask in hexadecimal, with or without 0x. Raises UnreadableError."""
    match = _HEXADECIMAL.match(text.strip())
    if not match:
        raise UnreadableError(text)
    return int(match[1], 16)


def set_or_not(text: str) -> str:
    """Enabled or Disabled; the star behind it says that a change waits for a reset. Raises UnreadableError."""
    word = text.strip().rstrip("*").strip().lower()
    if word in {"enabled", "on"}:
        return "Enabled"
    if word in {"disabled", "off"}:
        return "Disabled"
    raise UnreadableError(text)


def virtualization(text: str) -> str:
    """How the GPU is given to this system, in the tool's words. Raises UnreadableError."""
    known = {name.lower(): name for name in ("None", "Pass-Through", "VGPU", "Host VGPU", "Host VSGA")}
    word = " ".join(text.replace("_", " ").split()).lower().replace("passthrough", "pass-through")
    if word not in known:
        raise UnreadableError(text)
    return known[word]


def version(text: str) -> str:
    """A version of numbers and dots, without the note about its label. Raises UnreadableError."""
    match = _VERSION.match(text.strip())
    if not match:
        raise UnreadableError(text)
    return match[0]


def mib(text: str) -> float:
    """Memory in MiB; a bare number is in MiB already, and the tools' K and G count in 1,024. Raises UnreadableError."""
    match = _MEMORY.match(text.strip())
    if not match:
        raise UnreadableError(text)
    return float(match[1]) * _TO_MIB.get(match[2] or "MiB", 1.0)


def count(text: str) -> int:
    """A count of things, not negative and exact. Raises UnreadableError."""
    value = whole(text)
    if not 0 <= value <= _LARGEST_EXACT:
        raise UnreadableError(text)
    return value


def count_or_none(text: str) -> int | None:
    """A count, None where the text is none."""
    try:
        return count(text)
    except (UnreadableError, OverflowError):
        return None


def day(text: str) -> str:
    """The day of a time as C's `ctime` prints it ("Wed Sep 21 14:01:02 2022") in ISO 8601. Raises UnreadableError.

    Not by `strptime`: it takes the names of months from the language of this computer.
    """
    match = _CTIME.match(text.strip())
    if match is None:
        raise UnreadableError(text)
    try:
        return date(int(match[3]), _MONTHS.index(match[1]) // 3 + 1, int(match[2])).isoformat()
    except ValueError:
        raise UnreadableError(text) from None


def plain_label(label: str) -> str:
    """A label or an element's name in lower case with one "_" for all between its words: "GPU T.Limit Temp"."""
    return _BETWEEN.sub("_", label.lower()).strip("_")


def each_once(gpus: Iterable[Gpu]) -> tuple[tuple[Gpu, ...], tuple[Problem, ...]]:
    """The GPUs of an output that may show each several times, as a loop does: the first record of each stands."""
    kept: dict[tuple[int | None, str | None, str | None], Gpu] = {}
    for at, gpu in enumerate(gpus):
        key = (gpu.index, gpu.pci_bus_id, gpu.uuid)
        kept.setdefault(key if any(part is not None for part in key) else (-1 - at, None, None), gpu)
        if len(kept) == MOST_GPUS:
            return tuple(kept.values()), (Problem(1, msg("probe.nvidia.too_many", count=MOST_GPUS)),)
    return tuple(kept.values()), ()


HEAD_FIELDS = {
    "driver_version": "driver_version",
    "kmd_version": "driver_version",
    "cuda_version": "cuda_driver_version",
    "cuda_umd_version": "cuda_driver_version",
    "nvidia_smi": "smi_version",
    "nvidia_smi_version": "smi_version",
    "nvml_version": "library_version",
}
"""Labels of versions, as `plain_label` makes them, and what they are."""


class Head:
    """The versions that an output states once, for the software and for each GPU."""

    def __init__(self, output: Output) -> None:
        self._reading = Reading(output)
        self._given: dict[str, tuple[str, Line]] = {}
        self._printed: tuple[str, Line] | None = None

    def printed(self, text: str, line: Line) -> None:
        """When the text was printed, as it says."""
        self._printed = (text, line)

    def take(self, label: str, text: str, line: Line) -> bool:
        """Read a version by its label. False when the label is none of them."""
        known = HEAD_FIELDS.get(plain_label(label))
        if known is None:
            return False
        self._reading.take(known, text, version, line)
        if known in self._reading:
            self._given.setdefault(known, (text, line))
        return True

    def give(self, gpu: Reading) -> None:
        """The driver and the newest CUDA that it takes, to a GPU; to a licence's end the day on which it was told."""
        for theirs, mine in (("driver_version", "driver_version"), ("cuda_driver_version", "cuda_version")):
            if theirs in self._given:
                text, line = self._given[theirs]
                gpu.take(mine, text, version, line)
        if self._printed is not None and "licence_expiry" in gpu:
            gpu.take("licence_told_on", self._printed[0], day, self._printed[1])

    def software(self) -> Software | None:
        """The record of the versions, None where none stood there."""
        return self._reading.made(Software) if self._reading else None
