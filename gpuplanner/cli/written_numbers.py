"""Numbers of `--set` with the units that figures are printed with: "100 MB/s", "70%". Changes no plan."""

from typing import Any, get_args

from pydantic import BaseModel

from gpuplanner.messages import InputError, msg, shortened
from gpuplanner.quantities import written
from gpuplanner.workload.field_units import unit_of
from gpuplanner.workload.plan import WORKLOADS, Constraints, MachineChoice

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
    unit = unit_of(owner, names[-1])
    value = written(given, unit)
    if value is None:
        values = {"field": names[-1], "given": shortened(given, 40)}
        raise InputError(msg("cli.set_number", unit=msg(f"cli.number_in.{unit.name.lower()}"), **values))
    return int(value) if int in types and value.is_integer() else value
