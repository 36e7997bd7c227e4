"""In which unit a field of a plan takes its number. Reads the notes of the types; changes no plan and has no texts."""

from collections.abc import Mapping

from pydantic import BaseModel

from gpuplanner.units import Unit
from gpuplanner.workload.wizard import asked

LIMIT_UNITS: Mapping[str, Unit] = {
    "budget_usd_per_month": Unit.MONEY,
    "budget_usd_per_job": Unit.MONEY,
    "memory_free_share": Unit.RATIO,
    "max_gpus": Unit.COUNT,
    "network_bits_per_s": Unit.BIT_PER_S,
    "gpu_memory_at_least_bytes": Unit.BYTE,
    "gpu_memory_at_most_bytes": Unit.BYTE,
}
"""Units of the fields that stand beside a workload: the limits and the machine."""


def unit_of(owner: type[BaseModel], name: str) -> Unit:
    """The unit of a field that takes a number; a count where none is noted."""
    noted = next((note.unit for field, _, note in asked(owner) if field == name), None)
    return noted or LIMIT_UNITS.get(name, Unit.COUNT)
