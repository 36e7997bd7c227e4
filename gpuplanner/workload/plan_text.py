"""The text of a `.gpuplan` file: JSON to a Plan and back. Pure; says in one sentence what is wrong and where."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from gpuplanner.messages import InputError, Message, msg, nearest, shortened
from gpuplanner.quantities import written
from gpuplanner.units import Unit
from gpuplanner.workload.field_units import unit_of
from gpuplanner.workload.json_places import line_of_constant, line_of_long_number, line_too_deep
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import WORKLOADS, Constraints, MachineChoice, Plan

LARGEST_PLAN_BYTES = 5_000_000
"""No plan that a person makes comes near this; a larger file is something else."""

_PROBLEMS = {
    "missing": "plan.problem.missing",
    "extra_forbidden": "plan.problem.unknown_field",
    "greater_than": "plan.problem.greater_than",
    "greater_than_equal": "plan.problem.at_least",
    "less_than": "plan.problem.less_than",
    "less_than_equal": "plan.problem.at_most",
    "enum": "plan.problem.choice",
    "literal_error": "plan.problem.choice",
    "union_tag_invalid": "plan.problem.choice",
    "union_tag_not_found": "plan.problem.no_kind",
    "int_type": "plan.problem.whole_number",
    "int_parsing": "plan.problem.whole_number",
    "int_from_float": "plan.problem.whole_number",
    "float_type": "plan.problem.number",
    "float_parsing": "plan.problem.number",
    "finite_number": "plan.problem.number",
    "bool_type": "plan.problem.yes_or_no",
    "bool_parsing": "plan.problem.yes_or_no",
    "string_type": "plan.problem.text",
    "string_unicode": "plan.problem.half_a_character",
    "string_too_long": "plan.problem.too_long",
    "model_type": "plan.problem.group",
    "model_attributes_type": "plan.problem.group",
    "tuple_type": "plan.problem.list",
}
_KINDS: Mapping[str, type[BaseModel]] = {kind.model_fields["kind"].default: kind for kind in WORKLOADS}
_FIELDS = {
    "": tuple(Plan.model_fields),
    "constraints": tuple(Constraints.model_fields),
    "machine": tuple(MachineChoice.model_fields),
    "model": tuple(ModelChoice.model_fields),
    **{name: tuple(kind.model_fields) for name, kind in _KINDS.items()},
}
"""The names of the fields by the part of a plan that they stand in, to tell which one was meant."""
_OWNERS: Mapping[str, type[BaseModel]] = {
    **_KINDS,
    "constraints": Constraints,
    "machine": MachineChoice,
}
"""The types of the parts of a plan by how a problem names them."""
_OF_NUMBERS = frozenset({"plan.problem.number", "plan.problem.whole_number"})
_QUOTED = re.compile(r"'([^']*)'")
_LIMIT_KEYS = ("ge", "gt", "le", "lt", "max_length", "expected", "expected_tags")
_LONGEST_PLACE, _LONGEST_GIVEN = 120, 60


def parse_plan(text: str, name: str) -> Plan:
    """The plan in `text`; `name` is the file's name for messages. Raises InputError naming the place and what to do."""
    return plan_from_data(parse_json(text, name), name)


def parse_json(text: str, name: str) -> Any:
    """The JSON in `text`: finite numbers, no field twice. Raises InputError naming the place and what to do."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_twice)
    except RecursionError:
        raise InputError(msg("plan.too_deep", file=name, line=line_too_deep(text))) from None
    except json.JSONDecodeError as fault:
        if not text.strip():
            raise InputError(msg("plan.empty", file=name)) from None
        raise InputError(msg("plan.not_json", file=name, line=fault.lineno, column=fault.colno)) from None
    except _JsonFaultError as fault:
        place = {"line": line_of_constant(text)} if fault.message_id == "plan.not_a_number" else {}
        raise InputError(msg(fault.message_id, file=name, what=fault.what, **place)) from None
    except ValueError:
        raise InputError(msg("plan.number_too_long", file=name, line=line_of_long_number(text))) from None


def plan_from_data(content: Any, name: str) -> Plan:
    """The plan in already parsed JSON. Raises InputError for the first field that cannot be used."""
    if not isinstance(content, dict) or not str(content.get("format", "")).startswith("gpuplan/"):
        raise InputError(msg("plan.not_a_plan", file=name))
    if content["format"] != "gpuplan/1":
        raise InputError(msg("plan.newer_format", file=name, format=shortened(str(content["format"]), 40)))
    try:
        return Plan.model_validate(content)
    except ValidationError as fault:
        raise InputError(first_problem(fault, name)) from None


def first_problem(fault: ValidationError, name: str) -> Message:
    """What is wrong with the first bad field, as a sentence."""
    error = fault.errors(include_url=False)[0]
    context = error.get("ctx", {})
    # The checker names the kind behind the workload; in the file it is no step of the way.
    place = [str(p) for at, p in enumerate(error["loc"]) if at != 1 or p not in _KINDS]
    limit = next((_written(context[k]) for k in _LIMIT_KEYS if k in context), "")
    given = _quoted(error.get("input"))
    kind = _PROBLEMS.get(error["type"], "plan.problem.other")
    problem = (
        _with_nearest(kind, error, limit, given)
        or _with_unit(kind, error, given)
        or msg(kind, limit=limit.replace("'", '"'), given=given)
    )
    contradiction = context.get("error")
    return msg(
        "plan.bad_field",
        file=name,
        field=shortened(" → ".join(place) or "plan", _LONGEST_PLACE),
        problem=contradiction.message if isinstance(contradiction, InputError) else problem,
    )


def _quoted(given: Any) -> str:
    """A value as the file has it, in JSON: true and {"a": 1}, not True and {'a': 1}."""
    try:
        text = json.dumps(given, ensure_ascii=False, default=str)
    except RecursionError:
        text = "…"
    return shortened(text, _LONGEST_GIVEN)


def _with_unit(kind: str, error: Any, given: str) -> Message | None:
    """The problem with the unit that the field's number is in, where it was given as a text; else None."""
    text, place = error.get("input"), [str(p) for p in error["loc"]]
    owner = _OWNERS.get(place[-2]) if len(place) > 1 else None
    if kind not in _OF_NUMBERS or not isinstance(text, str) or owner is None:
        return None
    unit = unit_of(owner, place[-1])
    meant = written(text, unit)
    in_unit = msg(f"plan.in_unit.{unit.name.lower()}")
    if meant is not None and (meant.is_integer() or kind == "plan.problem.number"):
        plain = str(int(meant)) if meant.is_integer() else _written(meant)
        return msg("plan.problem.number_meant", unit=in_unit, given=given, meant=plain)
    return None if unit is Unit.COUNT else msg("plan.problem.number_in", unit=in_unit, given=given)


def _written(limit: Any) -> str:
    """A limit as people write it: 0.000001, not 1e-06."""
    if isinstance(limit, float) and 1e-9 <= abs(limit) < 1:
        return f"{limit:.9f}".rstrip("0")
    return str(limit)


def _with_nearest(kind: str, error: Any, limit: str, given: str) -> Message | None:
    """The problem with what was probably meant, where a name is misspelt; None where nothing is near."""
    if kind == "plan.problem.unknown_field":
        near = nearest(str(error["loc"][-1]), _FIELDS[_group(error["loc"])], 1)
    elif kind == "plan.problem.choice":
        tag = error.get("ctx", {}).get("tag")
        given = _quoted(tag) if tag is not None else given
        near = nearest(str(tag or error.get("input")), _QUOTED.findall(limit), 1)
    else:
        near = []
    return msg(f"{kind}_near", limit=limit.replace("'", '"'), given=given, near=near[0]) if near else None


def _group(place: Sequence[str | int]) -> str:
    """The part of a plan that a field stands in: the last name before it that has fields of its own."""
    return next((str(name) for name in reversed(place[:-1]) if name in _FIELDS), "")


def plan_to_text(plan: Plan) -> str:
    """The plan as the text of a `.gpuplan` file. Defaults are written out, so that a later default changes no plan."""
    return json.dumps(plan.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"


class _JsonFaultError(Exception):
    def __init__(self, message_id: str, what: str) -> None:
        super().__init__(message_id, what)
        self.message_id = message_id
        self.what = what


def _refuse_constant(text: str) -> float:
    raise _JsonFaultError("plan.not_a_number", text)


def _refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise _JsonFaultError("plan.field_twice", twice[:60])
    return content
