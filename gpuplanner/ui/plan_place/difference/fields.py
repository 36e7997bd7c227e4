"""The difference of two plans, field by field. Pure; no Qt and no texts."""

from dataclasses import dataclass
from typing import Any

from gpuplanner.ui.plan_place.wizard.fields import Field, fields_of, limit_fields
from gpuplanner.workload.plan import MachineChoice, Plan


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that two plans have differently. `field` is None for the machine."""

    field: Field | None
    first: Any
    second: Any


@dataclass(frozen=True, slots=True)
class PlanDifference:
    """How two plans differ. `kinds`: the two kinds when they are not the same; only common fields are compared then."""

    kinds: tuple[str, str] | None
    differences: tuple[Difference, ...]

    @property
    def same(self) -> bool:
        """Whether both ask for the same."""
        return self.kinds is None and not self.differences


def difference(first: Plan, second: Plan) -> PlanDifference:
    """Every field that the two plans have differently; names and notes do not count."""
    same_kind = first.workload.kind == second.workload.kind
    asked = {(f.name, f.control) for f in fields_of(second.workload.kind)}
    fields = [f for f in fields_of(first.workload.kind) if (f.name, f.control) in asked] + list(limit_fields())
    found: list[Difference] = []
    for field in fields:
        owners = (p.constraints if field in limit_fields() else p.workload for p in (first, second))
        mine, theirs = (getattr(owner, field.name) for owner in owners)
        if mine != theirs:
            found.append(Difference(field, mine, theirs))
    machines: tuple[MachineChoice | None, MachineChoice | None] = (first.machine, second.machine)
    if machines[0] != machines[1]:
        found.append(Difference(None, *machines))
    kinds = None if same_kind else (first.workload.kind, second.workload.kind)
    return PlanDifference(kinds, tuple(found))
