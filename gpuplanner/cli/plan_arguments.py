"""The plan that a command line names: a file, a preset, or standard input, with what the flags change in it."""

import argparse
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpuplanner.cli.context import Context, NothingFoundError
from gpuplanner.cli.written_numbers import number_of
from gpuplanner.messages import InputError, msg, nearest, shortened
from gpuplanner.paths import is_there
from gpuplanner.store.plan_files import read_plan
from gpuplanner.workload.plan import WORKLOADS, Constraints, MachineChoice, Plan
from gpuplanner.workload.plan_text import LARGEST_PLAN_BYTES, parse_json, parse_plan, plan_from_data
from gpuplanner.workload.reading import read_model_file

WEIGHT_FILES = (".safetensors", ".gguf")
MODEL_FILES = (".json", *WEIGHT_FILES)
"""How the names of files end that a model can be read from; no model of the catalog is called so."""

_GROUPS = ("constraints", "machine")
"""Parts of a plan that may be none yet when a field of theirs is set."""

_HAVE_NUMBERS = ("workload", *_GROUPS)

_KINDS = frozenset(kind.model_fields["kind"].default for kind in WORKLOADS)


def plan_of(options: argparse.Namespace, context: Context) -> Plan:
    """The plan with the changes that the flags ask for. Raises InputError for what cannot be used."""
    if options.gpu is not None and options.machine is not None:
        raise InputError(msg("cli.gpu_and_machine"))
    if options.no_own_measurements:
        context.workspace.own_left_out = True
    plan = _named(options.plan, context)
    content = plan.model_dump(mode="json")
    if options.model is not None:
        if "model" not in type(plan.workload).model_fields:
            raise InputError(msg("cli.no_model_in_plan"))
        content["workload"]["model"] = _model(options.model, context)
    if options.machine is not None:
        content["machine"] = _machine(options.machine, "instance", None, context)
    if options.gpu is not None:
        content["machine"] = _machine(options.gpu, "gpu", options.gpus, context)
    elif options.gpus and content["machine"]:
        if content["machine"].get("gpu_id") is None:
            raise InputError(msg("cli.gpus_with_instance"))
        content["machine"] |= {"gpus": options.gpus, "per_node": min(options.gpus, 8)}
    elif options.gpus:
        raise InputError(msg("cli.gpus_without_gpu"))
    for change in options.set:
        _set(content, change)
    _resolve_gpus(content, context)
    _resolve_draft(content["workload"], context)
    changed = plan_from_data(content, options.plan)
    _check_names(changed, context)
    return changed


def with_machine(plan: Plan, context: Context) -> Plan:
    """The plan with a machine: its own, or the first of its ranking. Raises NothingFoundError when none carries it."""
    chosen = plan if plan.machine else context.workspace.with_best_machine(plan)
    if chosen is None:
        raise NothingFoundError(msg("cli.no_machine_found"))
    return chosen


def _named(name: str, context: Context) -> Plan:
    if name == "-":
        return _from_standard_input(context.text("cli.standard_input"))
    preset = context.workspace.presets.get(name)
    if preset is not None and not is_there(Path(name)):
        return preset
    if Path(name).name == "config.json" or Path(name).suffix.lower() in WEIGHT_FILES:
        raise InputError(msg("cli.model_as_plan", file=shortened(name, 60)))
    if not is_there(Path(name)) and (near := nearest(name, context.workspace.presets)):
        raise InputError(msg("cli.no_such_plan_near", name=shortened(name, 60), near=near[0]))
    if not is_there(Path(name)) and name == Path(name).stem:
        known = ", ".join(context.workspace.presets)
        raise InputError(msg("cli.no_such_plan", name=shortened(name, 60), known=shortened(known)))
    return read_plan(Path(name))


def _from_standard_input(called: str) -> Plan:
    if sys.stdin is None:
        raise InputError(msg("cli.no_standard_input"))
    try:
        text = sys.stdin.read(LARGEST_PLAN_BYTES + 1)
    except UnicodeDecodeError as fault:
        raise InputError(msg("plan.not_utf8", file=called, byte=fault.start)) from None
    except OSError as fault:
        raise InputError(msg("plan.cannot_read", file=called, reason=fault.strerror or str(fault))) from None
    if len(text) > LARGEST_PLAN_BYTES:
        raise InputError(msg("plan.too_large", file=called, limit=LARGEST_PLAN_BYTES // 1_000_000))
    return parse_plan(text, called)


def _model(text: str, context: Context) -> dict[str, Any]:
    """A model of the catalog by its name, or one read from a file; what is doubtful of that goes to stderr."""
    path = Path(text)
    if text and (is_there(path) or path.suffix.lower() in MODEL_FILES):
        read = read_model_file(path)
        for problem in read.problems:
            if problem.id not in read.architecture.notes:  # these come with the answer
                print(f"gpuplanner: {context.text(problem)}", file=sys.stderr)
        architecture = read.architecture.model_dump(mode="json")
        return {"architecture": architecture, "read_from": read.read_from}
    return {"catalog_id": _id_of(text, "model", context)}


def _machine(text: str, kind: str, gpus: int | None, context: Context) -> dict[str, Any]:
    """The machine that a name stands for, with the count and the MIG slice that it says.

    `gpus`: how many `--gpus` says. Raises InputError where the name says another number, or several.
    """
    from gpuplanner.engine.machines import named_choice

    found = context.workspace.resolve(text, kind)
    if found.id and len({(part.count, part.fraction) for part in found.parts}) > 1:
        raise InputError(msg("cli.several_machines", name=shortened(text, 60)))
    found = replace(found, count=found.parts[0].count) if found.parts else found
    if gpus is not None and found.count not in {None, gpus}:
        raise InputError(msg("cli.gpus_and_count", name=shortened(text, 60), count=found.count or 0, gpus=gpus))
    return named_choice(found, gpus).model_dump(mode="json")


def _id_of(text: str, kind: str, context: Context) -> str:
    found = context.workspace.resolve(text, kind)
    if found.id is None:
        raise InputError(found.reason)
    return found.id


def _parted(change: str) -> tuple[str, str]:
    """The field and what is given to it. Raises InputError where one of the two is missing."""
    field, equals, given = change.partition("=")
    if not equals:
        raise InputError(msg("cli.set_without_value", given=change))
    if not field.strip():
        raise InputError(msg("cli.set_without_field", given=change))
    if not given.strip():
        raise InputError(msg("cli.set_empty", field=field))
    return field, given


def _set(content: dict[str, Any], change: str) -> None:
    """Put one FIELD=VALUE into the content of a plan; the field may be left-out `workload.`."""
    field, given = _parted(change)
    try:
        value = parse_json(given, field)
    except InputError as fault:
        if fault.message.id == "plan.number_too_long":
            raise
        value = given  # a word needs no quotes; what is no word either is refused where the field is checked
    bare = value is given
    names = field.strip().split(".")
    if names[0] not in content:
        _refuse_elsewhere(names, content["workload"], given)
        names.insert(0, "workload")
    if names == ["workload", "kind"] and isinstance(value, str) and value in _KINDS - {content["workload"]["kind"]}:
        raise InputError(msg("cli.set_kind", kind=str(value)))
    group: Any = content
    for name in names[:-1]:
        known = [key for key, inner in group.items() if isinstance(inner, dict) or key in _GROUPS]
        inner = group.get(name)
        if inner is None and name in _GROUPS:
            inner = group[name] = {}
        if not isinstance(inner, dict) and name in group and name not in known:
            raise InputError(msg("cli.set_no_group", field=field, name=name))
        if not isinstance(inner, dict):
            near = nearest(name, [*known, *content], 1)
            if near:
                raise InputError(msg("cli.set_unknown_field_near", field=field, name=name, near=near[0]))
            raise InputError(msg("cli.set_unknown_field", field=field))
        group = inner
    if bare and names[0] in _HAVE_NUMBERS:
        value = number_of(given, names, str(content["workload"]["kind"]))
    if isinstance(group.get(names[-1]), list) and isinstance(value, str):
        value = [word.strip() for word in value.split(",") if word.strip()]
    group[names[-1]] = value


def _refuse_elsewhere(names: Sequence[str], workload: Mapping[str, Any], given: str) -> None:
    """Refuse a field that the workload has not and another part of the plan has, naming that part."""
    if names[0] in workload or len(names) > 1:
        return
    parts = {"constraints": Constraints.model_fields, "machine": MachineChoice.model_fields}
    near = next((f"{part}.{names[0]}" for part, fields in parts.items() if names[0] in fields), None)
    if near is not None:
        raise InputError(msg("cli.set_elsewhere", field=names[0], near=near, value=shortened(given, 40)))


def _resolve_gpus(content: Mapping[str, Any], context: Context) -> None:
    """Turn names of GPUs in the limits into ids, as `--gpu` does. What means no single GPU is refused afterwards."""
    limits = content.get("constraints")
    if not isinstance(limits, dict) or not isinstance(limits.get("gpus"), list):
        return
    known = context.workspace.catalog.gpus
    limits["gpus"] = [
        name if not isinstance(name, str) or name in known else _type_of_gpu(name, context) for name in limits["gpus"]
    ]


def _type_of_gpu(name: str, context: Context) -> str:
    """The id of the GPU that a name means; the name itself where it means none, or so many or a part of one."""
    found = context.workspace.resolve(name, "gpu")
    return name if found.id is None or found.count is not None or found.fraction is not None else found.id


def _resolve_draft(workload: dict[str, Any], context: Context) -> None:
    """Turn the name of the model that drafts into its id, as `--model` does. Raises InputError for an unknown one."""
    name = workload.get("draft_model")
    if isinstance(name, str) and name not in context.workspace.catalog.models:
        workload["draft_model"] = _id_of(name, "model", context)


def _check_names(plan: Plan, context: Context) -> None:
    """Refuse limits to a GPU, a provider or a region that the catalog has not: nothing could ever come within them."""
    catalog = context.workspace.catalog
    instances = catalog.instances.values()
    known: dict[str, Collection[str]] = {
        "gpus": catalog.gpus.keys(),
        "providers": {instance.provider for instance in instances},
        "regions": {price.region for instance in instances for price in instance.prices},
    }
    for field, names in known.items():
        for given in getattr(plan.constraints, field):
            if given not in names:
                near = _gpus_like(given, context) if field == "gpus" else nearest(given, names)
                said = {"field": f"constraints.{field}", "given": given}
                if near:
                    raise InputError(msg("cli.unknown_limit_near", near=", ".join(near), **said))
                raise InputError(msg("cli.unknown_limit", **said))


def _gpus_like(given: str, context: Context) -> list[str]:
    """The ids of the GPUs that a name means or is like."""
    found = context.workspace.resolve(given, "gpu")
    return [found.id] if found.id else [candidate.id for candidate in found.candidates[:3]]
