"""What the page shows of a machine, as all its cards get it. Works nothing out."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from gpuplanner.acceptance.checking import Acceptance
    from gpuplanner.acceptance.diagnosis import Finding
    from gpuplanner.acceptance.promised import Promised
    from gpuplanner.machines.evidence import MachineEvidence
    from gpuplanner.workload.plan import Plan

HERE = "localhost"
"""The target that is this computer; a server of SSH on it is reached as "user@localhost"."""

SAMPLE = "sample"
"""The target of the recorded machine that the app brings along."""

Kind = Literal["here", "ssh", "saved", "sample"]


@dataclass(frozen=True, slots=True)
class Shown:
    """A machine. `target`: what the person called it, HERE for this computer; `run_id`: of the history, where kept."""

    target: str
    kind: Kind
    machine: "MachineEvidence | None" = None
    acceptance: "Acceptance | None" = None
    promised: "Promised | None" = None
    plan: "Plan | None" = None
    run_id: int | None = None
    findings: "tuple[Finding, ...]" = ()
