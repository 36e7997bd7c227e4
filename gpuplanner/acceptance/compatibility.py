"""Which driver a CUDA toolkit needs, and which GPUs a PyTorch wheel has code for. Reads the catalog's tables."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_NUMBERS = re.compile(r"\d+")
_WHEEL = re.compile(r"(\d+\.\d+)(?:\.\d+)?")

Version = tuple[int, ...]


def version_of(text: str) -> Version:
    """The numbers of a version: "590.44.01" is (590, 44, 1). Empty where there is none."""
    return tuple(int(number) for number in _NUMBERS.findall(text)[:4])


@dataclass(frozen=True, slots=True)
class Toolkit:
    """A CUDA toolkit: the driver that it comes with, and the oldest on which it still runs without compiling PTX."""

    name: str
    cuda: Version
    driver: Version
    floor: Version


@dataclass(frozen=True, slots=True)
class Wheel:
    """A PyTorch build: its CUDA and the compute capabilities that it has code for; none where no table says."""

    torch: str
    cuda: str
    capabilities: tuple[str, ...] = ()
    ptx: bool = False

    @property
    def tag(self) -> str:
        """As the wheel's name ends: "cu128"."""
        return "cu" + self.cuda.replace(".", "")


@dataclass(frozen=True, slots=True)
class Compatibility:
    """Both tables, newest first."""

    toolkits: Sequence[Toolkit] = ()
    wheels: Sequence[Wheel] = ()

    def toolkit(self, cuda: str) -> Toolkit | None:
        """The first release of a CUDA version ("12.4"): what its wheels are built with needs no later driver."""
        wanted = version_of(cuda)[:2]
        found = [toolkit for toolkit in self.toolkits if toolkit.cuda[:2] == wanted]
        return min(found, key=lambda toolkit: toolkit.driver) if found else None

    def wheel_for(self, driver: str, capability: str) -> Wheel | None:
        """The newest PyTorch build that a driver runs and that has code for the GPU; None where no table has one."""
        number = version_of(driver)
        for wheel in self.wheels:
            toolkit = self.toolkit(wheel.cuda)
            if toolkit is None or number < (toolkit.floor or toolkit.driver):
                continue
            if capability and not covers(wheel.capabilities, capability, ptx=wheel.ptx, cuda=wheel.cuda):
                continue
            return wheel
        return None


def covers(built: Sequence[str], capability: str, *, ptx: bool = False, cuda: str = "") -> bool:
    """Whether code for these compute capabilities runs on this one: of the same generation, not newer, or by PTX.

    Without a list the CUDA version decides: from 12.8 on wheels have none below 7.0, from 13.0 on none below 7.5, and
    10.0 and 12.0 need 12.8.
    """
    wanted = version_of(capability)[:2]
    if not built:
        number = version_of(cuda)[:2]
        if wanted >= (10, 0):
            return number >= (12, 8)
        if wanted >= (9, 0):
            return number >= (11, 8)
        return not (number >= (13, 0) and wanted < (7, 5)) and not (number >= (12, 8) and wanted < (7, 0))
    known = [version_of(each)[:2] for each in built]
    return any(each[0] == wanted[0] and each <= wanted for each in known) or (ptx and max(known) <= wanted)


def architectures(listed: Sequence[str]) -> tuple[list[str], bool]:
    """What `torch.cuda.get_arch_list()` gives ("sm_90", "compute_120") as capabilities, and whether PTX is among it."""
    found, ptx = [], False
    for each in listed:
        digits = re.search(r"(\d{2,3})[a-z]?$", each)
        if digits:
            found.append(f"{digits[1][:-1]}.{digits[1][-1]}")
            ptx = ptx or each.startswith("compute")
    return found, ptx


def read_compatibility(folder: Path) -> Compatibility:
    """The tables of the catalog's `compatibility` folder. Files of the app itself: a fault in them raises."""
    toolkits = [
        Toolkit(
            row["cuda_toolkit"],
            version_of(row["cuda_toolkit"])[:2],
            version_of(row["min_driver_linux"].lstrip(">= ")),
            _floor(row["min_driver_linux_minor_compatibility"]),
        )
        for row in _rows(folder / "cuda-driver.csv")
        if version_of(row["min_driver_linux"])
    ]
    known = {
        (row["pytorch"], cuda[0]): row["compute_capabilities"]
        for row in _rows(folder / "pytorch-architectures.csv")
        if row["platform"].startswith("linux-x86_64") and (cuda := _WHEEL.findall(row["cuda"]))
    }
    wheels = []
    for row in _rows(folder / "pytorch.csv"):
        for cell in (*row["stable_cuda_cudnn"].split(";"), *row["experimental_cuda_cudnn"].split(";")):
            match = _WHEEL.match(cell.strip())
            if match:
                built = known.get((row["pytorch"], match[1]), "")
                wheels.append(
                    Wheel(row["pytorch"], match[1], tuple(built.replace("+PTX", "").split()), "+PTX" in built)
                )
    wheels.sort(key=lambda wheel: (version_of(wheel.torch), version_of(wheel.cuda)), reverse=True)
    return Compatibility(toolkits, wheels)


def _floor(cell: str) -> Version:
    inside = re.search(r"\(([\d.]+)\)", cell)
    return version_of(inside[1] if inside else cell)


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
