"""What rocm-smi and amd-smi share: PCI identifiers, link speeds, values in brackets. Recognises and reads no output."""

import re

from gpuplanner.probe.parsers.colon_table import Fields
from gpuplanner.probe.parsers.nvidia_values import count, mib
from gpuplanner.probe.values import UnreadableError, number, whole

AMD_PCI_VENDOR = "1002"
"""By the PCI-SIG's list; both tools know no other vendor's GPUs."""

_DEVICE = re.compile(r"0x([0-9A-Fa-f]{4})$")
_LINK = re.compile(r"(\d{1,3}(?:\.\d)?) ?GT/s(?: x(\d{1,2}))?")
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
"""GT/s of a lane by generation (PCI Express Base Specification)."""


def mhz(text: str) -> float:
    """A clock, also in brackets as "(300Mhz)". Raises UnreadableError."""
    return number(text.strip().lstrip("("))


MONITORED: Fields = {
    "power_usage": ("power_draw_w", number),
    "hotspot_temperature": ("temperature_c", number),
    "memory_temperature": ("temperature_memory_c", number),
    "gfx": ("utilization_percent", number),
    "gfx_clock": ("clock_graphics_mhz", mhz),
    "mem": ("utilization_memory_percent", number),
    "mem_clock": ("clock_memory_mhz", mhz),
    "encoder": ("utilization_encoder_percent", number),
    "decoder": ("utilization_decoder_percent", number),
    "single_bit_ecc": ("ecc_corrected_volatile", count),
    "double_bit_ecc": ("ecc_uncorrected_volatile", count),
    "pcie_replay": ("pcie_replays", count),
    "vram_used": ("memory_used_mib", mib),
    "vram_total": ("memory_total_mib", mib),
}
"""What `amd-smi monitor` calls things in JSON and in CSV."""


def device_id(text: str) -> str:
    """A device's PCI identifier with AMD's own as its vendor: "0x74A11002". Raises UnreadableError."""
    match = _DEVICE.match(text.strip())
    if not match:
        raise UnreadableError(text)
    return f"0x{match[1].upper()}{AMD_PCI_VENDOR}"


def generation(text: str) -> int:
    """The PCIe generation of a link at that many GT/s. Raises UnreadableError."""
    match = _LINK.search(text)
    if not match or float(match[1]) not in _GENERATIONS:
        raise UnreadableError(text)
    return _GENERATIONS[float(match[1])]


def width(text: str) -> int:
    """The lanes of "16.0GT/s x16". Raises UnreadableError."""
    match = _LINK.search(text)
    if not match or not match[2]:
        raise UnreadableError(text)
    return int(match[2])


def mib_of_bytes(text: str) -> float:
    """Bytes in MiB. Raises UnreadableError."""
    return whole(text) / 2.0**20
