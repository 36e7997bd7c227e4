"""Adds a GPU type that the catalog has not to a person's own files: checked as it will be read, then kept whole.

Changes no file that is there already, and says so when the catalog knows the GPU.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.entries import Gpu
from gpuplanner.catalog.gpus import slug
from gpuplanner.catalog.problems import Severity
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.paths import shipped

FOLDER = "overlays"


@dataclass(frozen=True, slots=True)
class NewGpu:
    """What a person says of a GPU, in the units of datasheets: GiB, GB/s, dense TFLOPS with FP32 accumulation.

    The first six are enough to plan with; of the rate in BF16 and in FP16 one is needed, of the PCIe rate and its
    generation too. `link_gb_per_s`: one way, for one GPU.
    """

    name: str
    vendor: str
    memory_gb: float
    memory_bandwidth_gb_per_s: float
    bf16_tflops: float | None = None
    fp16_tflops: float | None = None
    pcie_gb_per_s: float | None = None
    pcie_generation: int | None = None
    link: str = ""
    link_gb_per_s: float | None = None
    power_w: float | None = None
    architecture: str = ""
    compute_capability: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Added:
    """A GPU that was added: where it is kept, and what was found odd about it."""

    gpu: Gpu
    path: Path
    warnings: tuple[Message, ...]


def add_gpu(home: Path, new: NewGpu, catalog: Catalog) -> Added:
    """Keep a GPU among the person's own files. Raises InputError when it cannot be used or the catalog has it."""
    if new.bf16_tflops is None and new.fp16_tflops is None:
        raise InputError(msg("answers.gpu.no_rate"))
    if new.pcie_gb_per_s is None and new.pcie_generation is None:
        raise InputError(msg("answers.gpu.no_pcie"))
    there = next((gpu for gpu in catalog.gpus.values() if _same(gpu, new)), None)
    if there is not None:
        raise InputError(msg("answers.gpu.known", name=there.name, id=there.id))
    new = _as_known(new, catalog)
    gpu_id = slug(f"{new.vendor} {new.name}")
    place = home / FOLDER / f"{gpu_id}.yaml"
    if place.exists():
        raise InputError(msg("answers.gpu.file_there", file=str(place)))
    text = yaml.safe_dump({"gpus": [dict(_fields(new, gpu_id))]}, sort_keys=False, allow_unicode=True)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        # Whole or not at all: the name is given when the file has been read as it will be.
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".adding-") as folder:
            draft = Path(folder) / place.name
            draft.write_text(text, encoding="utf-8")
            added = _checked(draft, gpu_id)
            draft.replace(place)
    except OSError as error:
        raise InputError(msg("answers.gpu.cannot_keep", file=str(place), why=error.strerror or str(error))) from error
    return Added(added[0], place, added[1])


def _checked(draft: Path, gpu_id: str) -> tuple[Gpu, tuple[Message, ...]]:
    """The GPU as the catalog reads it from the draft, and warnings about it."""
    read = load_catalog(shipped("catalogs"), [draft])
    faults = [problem for problem in read.problems if problem.severity is Severity.ERROR]
    if faults or gpu_id not in read.gpus:
        raise InputError(faults[0].message if faults else msg("answers.gpu.not_read", id=gpu_id))
    return read.gpus[gpu_id], tuple(problem.message for problem in read.problems)


def _same(gpu: Gpu, new: NewGpu) -> bool:
    names = {name.casefold() for name in (gpu.name, *gpu.aliases)}
    return new.name.casefold() in names or gpu.id == slug(f"{new.vendor} {new.name}")


def _as_known(new: NewGpu, catalog: Catalog) -> NewGpu:
    """Vendor and architecture as the catalog writes them, since what was measured is found by these words."""
    words = {
        field: {getattr(gpu, field).casefold(): getattr(gpu, field) for gpu in catalog.gpus.values()}
        for field in ("vendor", "architecture")
    }
    return replace(
        new, **{field: known.get(getattr(new, field).casefold(), getattr(new, field)) for field, known in words.items()}
    )


def _fields(new: NewGpu, gpu_id: str) -> Iterator[tuple[str, str | float | int]]:
    """The fields of the file, those that were said."""
    yield "id", gpu_id
    for name in NewGpu.__dataclass_fields__:
        value = getattr(new, name)
        if value not in {None, ""}:
            yield name, value
    if new.pcie_generation is not None:
        yield "pcie_lanes", 16
