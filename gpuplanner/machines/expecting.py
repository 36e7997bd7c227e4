"""What a machine is held against: what a name of the catalog, a quote, a preset or a plan promises. Judges nothing."""

from pathlib import Path

from gpuplanner.acceptance.promised import Promised
from gpuplanner.acceptance.promising import measured, of_choice, of_gpus, of_itself, recognised
from gpuplanner.acceptance.reached import read_reached
from gpuplanner.catalog.names.resolution import Kind, Resolution
from gpuplanner.machines.quoted import is_quote, name_in, with_values
from gpuplanner.messages import InputError, msg, shortened
from gpuplanner.paths import is_there, shipped
from gpuplanner.probe.evidence import Evidence
from gpuplanner.store.plan_files import read_plan
from gpuplanner.store.plans import PlanShelf
from gpuplanner.store.store import FILE_NAME
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workspace import Workspace

_PLANS = (".gpuplan", ".json", ".yaml", ".yml")
_NAME = 80
"""Characters of a name in a sentence."""


def expected(text: str, workspace: Workspace) -> Promised:
    """What a name of the catalog, a quote's values, a plan's file, a plan of the person's or a preset promises.

    Raises InputError where it is none of them.
    """
    plan = plan_named(text, workspace)
    if plan is not None:
        return expected_of_plan(plan, workspace)
    if is_quote(text):
        name = name_in(text)
        return with_values(None if name is None else _of_name(name, workspace), text)
    return _of_name(text, workspace)


def plan_named(text: str, workspace: Workspace) -> Plan | None:
    """The plan that a text names: a file, one of the person's, a preset; None where it names something else.

    Raises InputError for a file that holds no plan.
    """
    if is_there(Path(text)) or text.lower().endswith(_PLANS):
        return read_plan(Path(text))
    return own_plan(text, workspace) or workspace.presets.get(text)


def own_plan(name: str, workspace: Workspace) -> Plan | None:
    """The person's plan of this name, as it was saved last; None where there is none. Makes no store."""
    if not is_there(workspace.home / FILE_NAME):
        return None
    shelf = PlanShelf(workspace.store)
    found = next((plan.id for plan in shelf.listed() if plan.name == name), None)
    revision = shelf.latest(found) if found is not None else None
    return revision.plan if revision is not None else None


def _of_name(text: str, workspace: Workspace) -> Promised:
    found = workspace.resolve(text)
    if found.id is None or found.kind is Kind.MODEL:
        raise InputError(found.reason if found.id is None else msg("machine.is_a_model", name=shortened(text, _NAME)))
    if found.kind is Kind.INSTANCE:
        return _of_choice(MachineChoice(instance_id=found.id, nodes=found.count or 1), workspace)
    if found.fraction is None:
        return of_gpus(workspace.catalog.gpus[found.id], found.count)
    # Read when a share of a GPU is named: it brings the engine along.
    from gpuplanner.engine.machines import named_choice

    return _of_choice(named_choice(found), workspace)


def expected_of_plan(plan: Plan, workspace: Workspace) -> Promised:
    """What the machine of a plan promises. Raises InputError where it names none that the catalog has."""
    if plan.machine is None:
        raise InputError(msg("machine.plan_without_machine"))
    return _of_choice(plan.machine, workspace)


def promise(wanted: Promised | None, evidence: Evidence, workspace: Workspace) -> Promised:
    """What checks hold a machine against: what is wanted of it, else what its own GPUs promise by the catalog.

    Either with what such GPUs have reached where the catalog has it measured.
    """

    def resolve(name: str, memory_bytes: float | None) -> Resolution:
        return workspace.resolve(name, "gpu", memory_bytes)

    if wanted is None:
        promised = of_itself(evidence, workspace.catalog.gpus, resolve)
    else:
        promised = recognised(wanted, evidence, resolve)
    return measured(promised, read_reached(shipped("catalogs") / "measurements"), resolve)


def _of_choice(choice: MachineChoice, workspace: Workspace) -> Promised:
    catalog = workspace.catalog
    promised = of_choice(choice, catalog.gpus, catalog.instances)
    if promised is None:
        name = choice.instance_id or choice.gpu_id or "?"
        raise InputError(msg("machine.not_in_the_catalog", name=shortened(name, _NAME)))
    return promised
