"""What every part of a plan has in common: it stays as it was said, and a field takes only what is of its kind.

Computes nothing. Pydantic alone would take `true` for the number 1 and "64" for 64, and texts that no file can hold.
"""

from collections.abc import Iterator
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from gpuplanner.messages import is_text, without_controls

Name = Annotated[str, AfterValidator(without_controls)]
"""What something is called: without line ends, control characters and those that turn the direction of writing."""


def _nothing_below_one(value: float) -> float:
    return value if value >= 1 else 0.0


Amount = Annotated[float, AfterValidator(_nothing_below_one)]
"""How much of something that has a smallest part (a byte, an operation): less than one of it is none."""


class Said(BaseModel):
    """Base of the types of a plan: immutable, nothing unknown, no infinities, no texts or truths for numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _of_their_kinds(cls, content: Any) -> Any:
        if isinstance(content, dict):
            fields = cls.model_fields
            wrong = [
                InitErrorDetails(type=PydanticCustomError(fault, "of another kind"), loc=(name,), input=value)
                for name, value in content.items()
                if name in fields and (fault := _fault(value, _kinds(cls, name)))
            ]
            if wrong:
                raise ValidationError.from_exception_data(cls.__name__, wrong)
        return content


def _fault(value: Any, kinds: frozenset[type]) -> Any:
    """What is wrong with a value, by the name that pydantic gives such a fault; empty when nothing is."""
    if isinstance(value, list | tuple):
        return next(filter(None, (_fault(each, frozenset({str})) for each in value if isinstance(each, str))), "")
    if isinstance(value, bool):
        return "" if bool in kinds else _number(kinds)
    if not isinstance(value, str):
        return ""
    if not any(issubclass(kind, str | Enum) for kind in kinds):
        return _number(kinds)
    return "" if is_text(value) else "string_unicode"


def _number(kinds: frozenset[type]) -> str:
    """The fault of a value that is none of a field's numbers; empty for a field that holds no numbers."""
    of = {int: "int_type", float: "float_type", bool: "bool_type"}
    return next((fault for kind, fault in of.items() if kind in kinds), "")


@cache
def _kinds(of: type[BaseModel], field: str) -> frozenset[type]:
    """The plain types that a field takes, those of its optional and annotated parts included."""
    return frozenset(_parts(of.model_fields[field].annotation))


def _parts(annotation: Any) -> Iterator[type]:
    if get_origin(annotation) in {Union, UnionType, Annotated}:
        for part in get_args(annotation):
            yield from _parts(part)
    elif isinstance(annotation, type) and annotation is not NoneType:
        yield annotation
