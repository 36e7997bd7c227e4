"""Changing one field of a plan, and what changes with it. Pure: a plan goes in, another comes out. No Qt."""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ValidationError

from gpuplanner.engine.kinds import KINDS
from gpuplanner.messages import InputError
from gpuplanner.ui.plan_place.wizard.fields import LIMITS, Control, Field, fields_of
from gpuplanner.units import Display
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import WORKLOADS, MachineChoice, Plan, Workload
from gpuplanner.workload.reads_data import PreparesData, ReadsData
from gpuplanner.workload.serving import Serving, Speculation
from gpuplanner.workload.training import Method, Training, TrainingObjective
from gpuplanner.workload.wizard import models_of

GOALS = "goals"
"""The step of the fields that say what is to be reached."""
Said = Mapping[tuple[str, str], Any]
"""Values by what was asked for them: the name of a field and how it is edited."""
LARGE_PARAMETERS = 20e9
"""Above it training starts with LoRA: all states of full training take 16 bytes a parameter, over 320 GB."""


def value_of(plan: Plan, field: Field) -> Any:
    """What the plan has in a field."""
    return getattr(plan.constraints if field.group == LIMITS else plan.workload, field.name)


def with_value(plan: Plan, field: Field, value: Any) -> Plan:
    """The plan with another value in one field. Raises ValidationError when the type does not take it."""
    if field.quantity is not None and field.quantity.whole and value is not None:
        value = int(value)
    changes = {field.name: value} | _follows(plan.workload, field, value)
    owner = plan.constraints if field.group == LIMITS else plan.workload
    changed = type(owner).model_validate(dict(owner) | changes)
    return plan.model_copy(update={"constraints" if field.group == LIMITS else "workload": changed})


def with_kind(
    plan: Plan,
    kind: str,
    earlier: Workload | None = None,
    *,
    said: Said | None = None,
    parameters: float = 0,
    model: ModelChoice | None = None,
) -> Plan:
    """The plan with another kind of workload. What was `said` stays where the other kind asks it and takes the value.

    The rest is as it was `earlier`. `said`: by default what the plan says now, see `said_in`. `parameters` of the
    model, 0 when not known: training of a large one starts with adapters. `model`: the one to run where the other kind
    wants one and neither the plan nor `earlier` has it.
    """
    if plan.workload.kind == kind:
        return plan
    target = next(w for w in WORKLOADS if w.model_fields["kind"].default == kind)
    known = said_in(plan.workload) if said is None else said
    carried = {f.name: known[_asked_as(f)] for f in fields_of(kind) if f.ask.step != GOALS and _asked_as(f) in known}
    content: dict[str, Any] = dict(earlier) if earlier is not None else {}
    if earlier is None and target is Training and parameters > LARGE_PARAMETERS:
        content["method"] = Method.LORA
    wanted = target.model_fields.get("model")
    if wanted is not None and wanted.is_required():
        content.setdefault("model", carried.get("model", model))
    workload = target.model_validate(content)
    for name, value in carried.items():
        with suppress(ValidationError):
            # Of the same name, but with other bounds or choices: then it stays as it was.
            workload = target.model_validate(dict(workload) | {name: value})
    return plan.model_copy(update={"workload": workload})


def said_in(workload: Workload, since: Workload | None = None) -> Said:
    """What a workload says, by what each field asks; with `since` only what was changed since then.

    Without goals: what another kind is to reach, nobody said.
    """
    fields = [f for f in fields_of(workload.kind) if f.ask.step != GOALS]
    return {
        _asked_as(f): getattr(workload, f.name)
        for f in fields
        if since is None or getattr(workload, f.name) != getattr(since, f.name)
    }


def runs_same_models(workload: Workload, kind: str) -> bool:
    """Whether another kind runs the models that a workload runs."""
    target = next(w for w in WORKLOADS if w.model_fields["kind"].default == kind)
    return bool(models_of(type(workload)) & models_of(target))


def kind_that_runs(model_kind: str, plan: Plan) -> str | None:
    """The kind of workload that runs a kind of the catalog's models: the plan's own where that does, else the first.

    None where no workload runs it.
    """
    kinds = (type(plan.workload), *WORKLOADS)
    return next((k.model_fields["kind"].default for k in kinds if model_kind in models_of(k)), None)


def with_machine(plan: Plan, machine: MachineChoice | None) -> Plan:
    """The plan on another machine; None leaves the choice to the search."""
    return plan.model_copy(update={"machine": machine})


def with_change(plan: Plan, before: Plan, after: Plan) -> Plan:
    """The plan with what differs between `before` and `after`, and nothing else of either."""
    if before.workload.kind != plan.workload.kind or after.workload.kind != plan.workload.kind:
        return after.model_copy(update={"name": plan.name, "notes": plan.notes})
    workload = _differing(before.workload, after.workload)
    constraints = _differing(before.constraints, after.constraints)
    changed: dict[str, Any] = {
        "workload": plan.workload.model_copy(update=workload),
        "constraints": plan.constraints.model_copy(update=constraints),
    }
    if before.machine != after.machine:
        changed["machine"] = after.machine
    return plan.model_copy(update=changed)


def _differing(before: BaseModel, after: BaseModel) -> dict[str, Any]:
    return {name: value for name, value in after if getattr(before, name) != value}


def suggestion(text: str, field: Field, display: Display) -> str:
    """The nearest text to what was typed that the field takes; empty when there is no number to be near to."""
    quantity = field.quantity
    if quantity is None:
        return ""
    if not text.strip():
        return "" if field.optional else quantity.show(field.default, display)
    try:
        value = replace(quantity, whole=False, above_least=False, least=-math.inf, most=math.inf).parse(text, display)
    except InputError:
        return ""
    nearest = min(max(value, quantity.least), quantity.most)
    if quantity.above_least and nearest <= quantity.least:
        return ""
    return quantity.show(round(nearest) if quantity.whole else nearest, display)


_OF_OBJECTIVE = {
    "reference_model": {TrainingObjective.DPO, TrainingObjective.GRPO},
    "completion_tokens": {TrainingObjective.GRPO},
    "rollout": {TrainingObjective.GRPO},
    "rollout_memory_share": {TrainingObjective.GRPO},
    "rollout_gpus": {TrainingObjective.GRPO},
}
"""Fields of a training plan that only some objectives have."""
_DRAFTED = set(Speculation) - {Speculation.NONE}
_OF_DRAFTING = {
    "draft_model": {Speculation.MODEL}, "draft_tokens": _DRAFTED, "acceptance_rate": _DRAFTED,
}  # fmt: skip
"""Fields of a serving plan that only some ways of drafting have."""

_OF_STORAGE = ("data_storage", "storage_bytes_per_s", "image_bytes")
"""Fields of a plan that only matter where something is read while it runs."""


def applies(field: Field, workload: Workload) -> bool:
    """Whether a field means anything beside the others: the rank of adapters only where there are adapters."""
    if isinstance(workload, Training) and field.name in _OF_OBJECTIVE:
        return workload.objective in _OF_OBJECTIVE[field.name]
    if isinstance(workload, Training) and field.name in {"lora_rank", "lora_targets", "base_precision"}:
        adapters = workload.method in {Method.LORA, Method.QLORA}
        return adapters and (field.name != "base_precision" or workload.method is Method.QLORA)
    if isinstance(workload, Serving) and field.name in _OF_DRAFTING:
        return workload.speculation in _OF_DRAFTING[field.name]
    if isinstance(workload, Serving) and field.name in {"prefill_workers", "prefill_tensor_parallel"}:
        return workload.disaggregated
    if isinstance(workload, ReadsData) and field.name in _OF_STORAGE:
        return workload.reads
    if isinstance(workload, PreparesData) and field.name == "workers":
        return workload.prepares
    if field.name == "budget_usd_per_job":
        return "job_usd" in dict(KINDS[workload.kind].columns)
    return True


def _follows(workload: Workload, field: Field, value: Any) -> dict[str, Any]:
    """Other fields that change with this one: clients keep requests open, or send so many a second, not both."""
    if not isinstance(workload, Serving):
        return {}
    usual = Serving.model_fields["concurrency"].default
    if field.name == "request_rate":
        return {"concurrency": None} if value is not None else {"concurrency": workload.concurrency or usual}
    if field.name == "concurrency":
        return (
            {"request_rate": None} if value is not None else {"concurrency": None if workload.request_rate else usual}
        )
    return {}


def _asked_as(field: Field) -> tuple[str, str]:
    """What a field asks, whichever kind it is of: models of one kind are not those of another."""
    return field.name, field.ask.control if field.control is Control.MODEL else field.control.value
