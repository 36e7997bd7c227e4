"""How well a value is known: sourced, disputed by another source, from memory, or a person's own. No Qt."""

from collections.abc import Iterable
from enum import Enum

from gpuplanner.catalog.entries import Gpu, GpuProperty, Instance, Model
from gpuplanner.facts import Known, Source
from gpuplanner.messages import Message, msg


class Mark(Enum):
    """The mark and what it means; a later one says more than an earlier one."""

    SOURCED = "●"
    OWN = "◆"
    MEMORY = "○"
    DISPUTED = "◐"

    @property
    def meaning(self) -> Message:
        """What it means."""
        return msg(f"catalogui.mark.{self.name.lower()}")


_ORDER = list(Mark)
GPU_CORE = (
    GpuProperty.MEMORY_BYTES,
    GpuProperty.HBM_BYTES_PER_S,
    GpuProperty.BF16_FLOP_PER_S,
    GpuProperty.FP16_FLOP_PER_S,
    GpuProperty.FP8_FLOP_PER_S,
    GpuProperty.FP64_FLOP_PER_S,
    GpuProperty.LINK_BYTES_PER_S,
    GpuProperty.POWER_W,
)
"""What the mark of a GPU's row is about: what people choose by."""


def mark_of(known: Known) -> Mark:
    """The mark of one fact."""
    return Mark.DISPUTED if known.disputed else source_mark(known.fact.source)


def source_mark(source: Source) -> Mark:
    """The mark of a source."""
    return Mark.MEMORY if source.from_memory else Mark.OWN if source.user else Mark.SOURCED


def entry_mark(entry: Gpu | Instance | Model) -> Mark:
    """The mark of a row: the least certain of what it is chosen by."""
    if isinstance(entry, Gpu):
        return worst(mark_of(known) for name in GPU_CORE if (known := entry.known(name)) is not None)
    if isinstance(entry, Instance):
        sources = [price.source for price in entry.prices] + ([entry.source] if entry.source else [])
        return worst([*map(mark_of, entry.properties.values()), *map(source_mark, sources)])
    return worst(mark_of(known) for known in (entry.parameters, entry.active_parameters) if known is not None)


def worst(marks: Iterable[Mark]) -> Mark:
    """The mark that says most."""
    return max(marks, key=_ORDER.index, default=Mark.SOURCED)
