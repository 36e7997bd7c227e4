"""Names of divided GPUs: MIG instances and vGPU types, and the share of the GPU that each is.

A share of compute is one of slices, as NVIDIA counts them: the seven slices of an A100 hold 98 of its 108 SMs.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from gpuplanner.catalog.names.resolution import Share
from gpuplanner.catalog.names.spelling import join, split
from gpuplanner.catalog.names.tables import MigProfiles, NameTables

_MIG = re.compile(
    r"(?:(?<![a-z0-9])mig[\s\-.]*)?(?<![a-z0-9.])"
    r"(?:(?P<instance>\d{1,2})c\.)?(?P<profile>\d{1,2}g\.\d{1,4}gb)(?P<extras>[+.\-](?:me\.all|me|gfx|all|nome))*(?![a-z0-9])"
)
_VGPU = re.compile(
    r"^(?:(?:nvidia|grid|vgpu)[\s\-]+)*(?P<board>[a-z].*?)-(?:(?P<slices>[1-7])-)?(?P<size>\d{1,3})(?P<series>[abcq])"
    r"(?P<variant>4|me|nome|meall|gfx)?$"
)
_KINDS = re.compile(r"\s*\((?:vgpu|mig)\)")
# The "MIG 1g.10gb  Device 0: (UUID: MIG-…)" of `nvidia-smi -L`.
_DEVICE = re.compile(r"\s*device\s+\d+:?.*$")


@dataclass(frozen=True, slots=True)
class MigName:
    """A MIG profile cut out of a text. `parent` is the rest: the GPU, or nothing where a tool prints none.

    `compute_instance`: how many of the profile's slices, for a compute instance that shares its memory ("1c.3g.20gb").
    """

    parent: str
    profile: str
    compute_instance: int | None


@dataclass(frozen=True, slots=True)
class VgpuName:
    """A vGPU type: its board's GPU, frame buffer in GB, series, and MIG slices where it is backed by some."""

    gpu: str
    label: str
    size_gb: int
    series: str
    mig_slices: int | None


def mig_name(text: str) -> MigName | None:
    """The MIG profile in a cleaned text, if there is one."""
    found = _MIG.search(text)
    if not found:
        return None
    rest = _KINDS.sub("", _DEVICE.sub("", text[: found.start()] + " " + text[found.end() :]))
    instance = found["instance"]
    return MigName(" ".join(rest.split()).strip(" -/"), found["profile"], int(instance) if instance else None)


def mig_share(name: MigName, profiles: MigProfiles) -> Share | None:
    """The share of a GPU with these profiles, or None when it has no such profile."""
    shares = profiles.shares.get(name.profile)
    if shares is None:
        return None
    compute, memory = shares
    if name.compute_instance is not None:
        part = Fraction(name.compute_instance, profiles.compute_slices)
        return Share(part, memory) if part <= compute else None
    return Share(compute, memory)


class VgpuNames:
    """vGPU types by the letters of their board."""

    def __init__(self, tables: NameTables) -> None:
        self._boards = {join(split(name.casefold())): (name, gpu) for name, gpu in tables.vgpu_boards.items()}
        self._mig = tables.mig

    def find(self, text: str) -> VgpuName | None:
        """The vGPU type that a cleaned text is, if it is one."""
        found = _VGPU.match(_KINDS.sub("", text))
        known = self._boards.get(join(split(found["board"]))) if found else None
        if found is None or known is None:
            return None
        board, gpu = known
        slices = found["slices"]
        label = f"{board}-{slices + '-' if slices else ''}{found['size']}{found['series'].upper()}"
        return VgpuName(gpu, label, int(found["size"]), found["series"], int(slices) if slices else None)

    def share(self, name: VgpuName, sold_gb: float) -> Share | None:
        """Its share of a GPU that is sold with `sold_gb`, or None when the GPU has no such type.

        Time on the GPU is shared out by a scheduler, so the share of compute is not known, except of a vGPU that has a
        MIG slice to itself.
        """
        if not 0 < name.size_gb <= round(sold_gb):
            return None
        memory = Fraction(name.size_gb, round(sold_gb))
        if name.mig_slices is None:
            return Share(None, memory)
        return _mig_backed(name, self._mig.get(name.gpu), memory)


def _mig_backed(name: VgpuName, profiles: MigProfiles | None, memory: Fraction) -> Share | None:
    of_slices = _profiles_of(profiles.shares, name.mig_slices or 0) if profiles else {}
    if not of_slices:
        return None
    whole = of_slices.get(name.size_gb)
    if whole is not None:
        return Share(*whole)
    return Share(None, memory) if name.size_gb < max(of_slices) else None


def _profiles_of(shares: Mapping[str, tuple[Fraction, Fraction]], slices: int) -> dict[int, tuple[Fraction, Fraction]]:
    """The profiles with this many slices, by their size in GB."""
    found: dict[int, tuple[Fraction, Fraction]] = {}
    for profile, share in shares.items():
        compute, _, size = profile.partition("g.")
        if int(compute) == slices:
            found[int(size.removesuffix("gb"))] = share
    return found
