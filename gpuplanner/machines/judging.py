"""A machine held against what was promised, by the rules that the app brings along. Measures and shows nothing."""

from gpuplanner.acceptance.checking import Acceptance, accept
from gpuplanner.acceptance.checks import checks
from gpuplanner.acceptance.compatibility import read_compatibility
from gpuplanner.acceptance.promised import Promised
from gpuplanner.acceptance.rules import read_rules
from gpuplanner.machines.evidence import MachineEvidence
from gpuplanner.machines.expecting import promise
from gpuplanner.paths import shipped
from gpuplanner.workspace import Workspace


def judge(workspace: Workspace, machine: MachineEvidence, wanted: Promised | None) -> Acceptance:
    """All checks of a machine, against what is wanted of it or, where that is None, against itself.

    What runs out, such as a licence, is judged by the day on which the machine was asked, never by the clock here.
    """
    catalogs = shipped("catalogs")
    return accept(
        machine.evidence,
        checks(),
        read_rules(catalogs / "checks"),
        promise(wanted, machine.evidence, workspace),
        root=machine.root,
        today=machine.asked_on,
        compatibility=read_compatibility(catalogs / "compatibility"),
    )
