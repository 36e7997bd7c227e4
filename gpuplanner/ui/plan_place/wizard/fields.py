"""The fields of a plan as the wizard shows them, taken from the types of the workloads and of the limits. No Qt.

A new field of a workload type appears in the wizard by itself; what it needs is its label and help in both languages.
"""

import math
import re
import types
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from gpuplanner import quantities
from gpuplanner.messages import Message, msg
from gpuplanner.quantities import Quantity
from gpuplanner.units import Unit
from gpuplanner.workload.plan import WORKLOADS, Constraints
from gpuplanner.workload.wizard import MODEL_KINDS, Ask, asked

LIMITS = "limits"
"""The group of the plan's constraints, beside the kinds of workloads."""


class Control(StrEnum):
    """What a field is edited with."""

    MODEL = "model"
    NUMBER = "number"
    CHOICE = "choice"
    SWITCH = "switch"
    SEVERAL = "several"
    GPU = "gpu"
    DRAFT = "draft"


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `group`: a workload kind or `LIMITS`. `optional`: empty means that the software or search decides.

    `quantity`: how the number of a `NUMBER` field is read and shown, with the bounds that the type gives; `choices`:
    the values of the enum that `CHOICE` offers.
    """

    group: str
    name: str
    ask: Ask
    control: Control
    optional: bool
    default: Any
    quantity: Quantity | None = None
    choices: tuple[StrEnum, ...] = ()

    @property
    def key(self) -> str:
        """The field's id: group and name."""
        return f"{self.group}.{self.name}"

    @property
    def label(self) -> Message:
        """What the field is called."""
        return msg(f"field.{self.key}")

    @property
    def help(self) -> Message:
        """What the field means."""
        return msg(f"field.{self.key}.help")


_MONEY = Ask("limits", Unit.MONEY, control="money")
_ASKED_LIMITS = {
    "objective": Ask("limits"),
    "budget_usd_per_month": _MONEY,
    "budget_usd_per_job": _MONEY,
    "memory_free_share": Ask("limits", Unit.RATIO, control="percent"),
    "max_gpus": Ask("limits", Unit.COUNT),
    "providers": Ask("limits", control="several"),
    "gpus": Ask("limits", control="several"),
    "gpu_memory_at_least_bytes": Ask("limits", Unit.BYTE, advanced=True),
    "gpu_memory_at_most_bytes": Ask("limits", Unit.BYTE, advanced=True),
    "network_bits_per_s": Ask("limits", Unit.BIT_PER_S, advanced=True),
    "regions": Ask("limits", advanced=True, control="several"),
    "price_known": Ask("limits", advanced=True),
    "bare_gpus": Ask("limits", advanced=True),
}
"""How the plan's limits are asked for; the type says what they are."""


@lru_cache(maxsize=8)
def fields_of(kind: str) -> tuple[Field, ...]:
    """The fields of a workload kind, in the order of its type."""
    workload = next(w for w in WORKLOADS if w.model_fields["kind"].default == kind)
    return tuple(_field(kind, name, info, note) for name, info, note in asked(workload))


@lru_cache(maxsize=1)
def limit_fields() -> tuple[Field, ...]:
    """The fields of the limits."""
    known = Constraints.model_fields
    return tuple(_field(LIMITS, name, known[name], note) for name, note in _ASKED_LIMITS.items())


def all_fields(kind: str) -> tuple[Field, ...]:
    """Everything that a plan of this kind asks."""
    return fields_of(kind) + limit_fields()


def choice_text(value: StrEnum) -> Message:
    """The text of a value of an enum."""
    enum_name = re.sub(r"(?<!^)(?=[A-Z])", "-", type(value).__name__).lower()
    return msg(f"choice.{enum_name}.{value.value}")


def _field(group: str, name: str, info: FieldInfo, note: Ask) -> Field:
    kind, optional = _bare_type(info.annotation)
    default = info.get_default(call_default_factory=True)
    if default is PydanticUndefined:
        default = None
    enum = isinstance(kind, type) and issubclass(kind, StrEnum)
    control = _control(kind, note)
    return Field(
        group=group,
        name=name,
        ask=note,
        control=control,
        optional=optional,
        default=default,
        quantity=_quantity(kind, info, note) if control is Control.NUMBER else None,
        choices=tuple(kind) if enum else (),
    )


def _bare_type(annotation: Any) -> tuple[Any, bool]:
    """The type without `None`, and whether `None` is allowed."""
    if get_origin(annotation) in {Union, types.UnionType}:
        parts = [a for a in get_args(annotation) if a is not types.NoneType]
        return parts[0], len(parts) < len(get_args(annotation))
    return annotation, False


def _control(kind: Any, note: Ask) -> Control:
    if note.control == "several":
        return Control.SEVERAL
    if note.control == "gpu":
        return Control.GPU
    if note.control == "draft":
        return Control.DRAFT
    if note.control in MODEL_KINDS or (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return Control.MODEL
    if kind is bool:
        return Control.SWITCH
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return Control.CHOICE
    return Control.NUMBER


def _quantity(kind: Any, info: FieldInfo, note: Ask) -> Quantity:
    if note.control == "days":
        quantity = quantities.duration("d")
    elif note.control == "ms" or note.unit is Unit.SECOND:
        quantity = quantities.duration(note.control or "s")
    elif note.control == "percent":
        quantity = quantities.percent()
    elif note.control == "file":
        quantity = quantities.file_size()
    elif note.unit is Unit.BYTE:
        quantity = quantities.memory()
    elif note.unit is Unit.BYTE_PER_S:
        quantity = quantities.byte_rate()
    elif note.unit is Unit.BIT_PER_S:
        quantity = quantities.bit_rate()
    elif note.unit is Unit.FLOP:
        quantity = quantities.operations()
    elif note.unit is Unit.PER_S:
        quantity = quantities.per_second()
    elif note.unit is Unit.MONEY:
        quantity = quantities.money()
    else:
        quantity = quantities.count()
    least, above = _bound(info, "ge", "gt")
    most, below = _bound(info, "le", "lt")
    return replace(
        quantity,
        whole=kind is int,
        least=-math.inf if least is None else least,
        above_least=above,
        most=math.inf if most is None else math.nextafter(most, -math.inf) if below else most,
    )


def _bound(info: FieldInfo, included: str, excluded: str) -> tuple[float | None, bool]:
    """The bound that the type gives, and whether it is itself outside."""
    for part in info.metadata:
        for name in (included, excluded):
            value = getattr(part, name, None)
            if value is not None:
                return float(value), name == excluded
    return None, False
