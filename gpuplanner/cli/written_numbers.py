"""Numbers of `--set` with the units that figures are printed with: "100 MB/s", "70%". Changes no plan."""

from typing import Any, get_args

from pydantic import BaseModel

from gpuplanner.messages import InputError, msg, shortened
from gpuplanner.quantities import written
from gpuplanner.units import Unit
from gpuplanner.workload.plan import WORKLOADS, Constraints, MachineChoice
from gpuplanner.workload.wizard import asked

_OF_LIMITS = {
    "budget_usd_per_month": Unit.MONEY,
    "budget_usd_per_job": Unit.MONEY,
    "memory_free_share": Unit.RATIO,
    "max_gpus": Unit.COUNT,
    "network_bits_per_s": Unit.BIT_PER_S,
    "gpu_memory_at_least_bytes": Unit.BYTE,
    "gpu_memory_at_most_bytes": Unit.BYTE,
}
_PARTS: dict[str, type[BaseModel]] = {"constraints": Constraints, "machine": MachineChoice}


def number_of(given: str, names: list[str], kind: str) -> Any:
    """What is meant by a text given for the field that `names` lead to: a number where the field takes one.

    Other fields get the text as it is. Raises InputError with the field's unit where the number is not understood.
    """
    owner = _PARTS.get(names[0]) or next(w for w in WORKLOADS if w.model_fields["kind"].default == kind)
    info = owner.model_fields.get(names[-1]) if len(names) == 2 else None
    types = {info.annotation, *get_args(info.annotation)} if info is not None else set()
    if not types & {int, float}:
        return given
    unit = _unit_of(owner, names[-1])
    value = written(given, unit)
    if value is None:
        values = {"field": names[-1], "given": shortened(given, 40)}
        raise InputError(msg("cli.set_number", unit=msg(f"cli.number_in.{unit.name.lower()}"), **values))
    return int(value) if int in types and value.is_integer() else value


def _unit_of(owner: type[BaseModel], name: str) -> Unit:
    """The unit of a field that takes a number; a count where none is noted."""
    noted = next((note.unit for field, _, note in asked(owner) if field == name), None)
    return noted or _OF_LIMITS.get(name, Unit.COUNT)
