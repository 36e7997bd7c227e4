"""What a machine is held against: a name of the catalog, a plan of the person's by its name, a preset, a file."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuplanner.acceptance.promised import Promised
    from gpuplanner.workload.plan import Plan


def promised_by(text: str, workspace: Any) -> "tuple[Promised | None, Plan | None]":
    """What a text promises, and the plan that does. Raises InputError where it is nothing that is known."""
    from gpuplanner.machines.expecting import expected, expected_of_plan, plan_named

    wanted = text.strip()
    if not wanted:
        return None, None
    plan = plan_named(wanted, workspace)
    if plan is not None:
        return expected_of_plan(plan, workspace), plan
    return expected(wanted, workspace), None
