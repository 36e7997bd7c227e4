"""What a machine is held against: a name of the catalog, a plan of the person's by its name, a preset, a file."""

from typing import TYPE_CHECKING, Any

from gpuplanner.store.plans import PlanShelf

if TYPE_CHECKING:
    from gpuplanner.acceptance.promised import Promised
    from gpuplanner.workload.plan import Plan


def promised_by(text: str, workspace: Any) -> "tuple[Promised | None, Plan | None]":
    """What a text promises, and the plan that does. Raises InputError where it is nothing that is known."""
    from gpuplanner.machines.expecting import expected, expected_of_plan

    wanted = text.strip()
    if not wanted:
        return None, None
    shelf = PlanShelf(workspace.store)
    own = next((plan.id for plan in shelf.listed() if plan.name == wanted), None)
    revision = shelf.latest(own) if own is not None else None
    plan = revision.plan if revision is not None else workspace.presets.get(wanted)
    if plan is not None:
        return expected_of_plan(plan, workspace), plan
    return expected(wanted, workspace), None
