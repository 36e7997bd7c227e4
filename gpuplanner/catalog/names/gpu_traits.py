"""What narrows a GPU's name down, and whether a spelling contradicts it. Knows nothing of other GPUs."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.catalog.names.spelling import GpuSpelling, clean, sold_size_gb, spell_gpu, split
from gpuplanner.catalog.names.tables import NameTables
from gpuplanner.units import GB, GIB

# Drivers keep back a part of the memory, and ECC up to 1/16: 22,731 MiB are reported of 24 GB.
MEASURED_TOLERANCE = 0.07
# A size as printed on the box is whole: 141 is not 140, and 94 is not 96.
SOLD_WITHIN_GB = 0.5

# Sources disagree by this much about one product: 180 or 192 GB.
DISPUTED_WITHIN = 0.1
# The parts of a name in the order in which they are checked: the first says most about what it is.
CHECKED = ("", "vendor", "architecture", "brand", "edition", "form_factor", "memory_type", "memory")

_MEASURED = (GpuProperty.MEMORY_REPORTED_BYTES, GpuProperty.MEMORY_USABLE_BYTES)


@dataclass(frozen=True, slots=True)
class Traits:
    """The parts of a GPU's name that a spelling may state. `forms` is None where the catalog has no form factor."""

    gpu: Gpu
    spellings: tuple[GpuSpelling, ...]
    forms: frozenset[str] | None
    brands: frozenset[str]
    own_editions: frozenset[str]
    editions: frozenset[str]
    architectures: frozenset[str]
    sold_gb: tuple[float, ...]
    measured_bytes: tuple[float, ...]

    def fits_memory(self, memory_bytes: float) -> bool:
        """Whether a measured memory size can be this GPU's; True when the catalog has none."""
        return not self.measured_bytes or _near(memory_bytes, self.measured_bytes, MEASURED_TOLERANCE)

    def contradiction(self, stated: GpuSpelling, architectures: frozenset[str]) -> str | None:
        """The first part of the spelling that this GPU is not, or None."""
        gpu = self.gpu
        checks = (
            ("vendor", bool(stated.vendors) and gpu.vendor not in stated.vendors),
            ("architecture", not architectures <= self.architectures),
            ("brand", not stated.brands <= self.brands),
            ("edition", not stated.editions <= self.editions),
            ("form_factor", self.forms is not None and not stated.forms <= self.forms),
            ("memory_type", bool(stated.memory_types and gpu.memory_type) and not self._has_type(stated.memory_types)),
            ("memory", not all(self._sold(size) for size in stated.memory_gb)),
            ("memory", not all(self.fits_memory(size) for size in stated.memory_bytes)),
        )
        return next((part for part, wrong in checks if wrong), None)

    def _sold(self, size_gb: float) -> bool:
        return not self.sold_gb or any(abs(size_gb - sold) <= SOLD_WITHIN_GB for sold in self.sold_gb)

    def _has_type(self, types: frozenset[str]) -> bool:
        return not types.isdisjoint(split(self.gpu.memory_type.casefold()))


def traits_of(gpu: Gpu, further_names: Iterable[str], tables: NameTables) -> Traits:
    """The traits of a GPU, from its facts, its own names and those that the tables add."""
    words = tables.words
    own = spell_gpu(clean(gpu.name, words.phrases), words)
    others = (spell_gpu(clean(name, words.phrases), words) for name in (*gpu.aliases, *further_names))
    spellings = (own, *others)
    forms = spell_gpu(clean(gpu.form_factor, words.phrases), words).forms if gpu.form_factor else frozenset()
    forms |= own.forms
    if "nvl" in forms:
        forms |= {"pcie"}
    if "superchip" in forms or any(form.startswith("sxm") for form in forms):
        forms |= {"sxm"}
    brands = frozenset[str]().union(*(spelling.brands for spelling in spellings))
    if gpu.vendor == "NVIDIA" and not own.brands and own.core and not own.core[0].startswith(("rtx", "gtx", "titan")):
        brands |= {"tesla"}  # NVIDIA's data centre line was Tesla until 2020, and is still called so
    measured = [fact.value for name in _MEASURED if (size := gpu.known(name)) for fact in (size.fact, *size.others)]
    known = gpu.known(GpuProperty.MEMORY_BYTES)
    facts = (known.fact, *known.others) if known else ()
    # What another source says far off is a board's or a die's memory, or a mistake.
    like_first = (fact.value for fact in facts if abs(fact.value / facts[0].value - 1) < DISPUTED_WITHIN)
    sold_gb = (*own.memory_gb, *map(sold_size_gb, like_first))
    return Traits(
        gpu=gpu,
        spellings=spellings,
        forms=forms or None,
        brands=brands,
        own_editions=own.editions,
        editions=frozenset[str]().union(*(spelling.editions for spelling in spellings)),
        architectures=frozenset(split(clean(gpu.architecture, words.phrases))),
        sold_gb=(*sold_gb, *tables.announced_gb.get(gpu.id, ())) if sold_gb else (),
        measured_bytes=(*measured, *(size * unit for size in sold_gb for unit in (GB, GIB))),
    )


def _near(value: float, sizes: Iterable[float], tolerance: float) -> bool:
    return any(abs(value - size) <= tolerance * size for size in sizes)
