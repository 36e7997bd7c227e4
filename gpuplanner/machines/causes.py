"""The causes of what is wrong with a machine, by the rules that the app brings along. Measures and shows nothing."""

from gpuplanner.acceptance.checking import Acceptance
from gpuplanner.acceptance.compatibility import read_compatibility
from gpuplanner.acceptance.diagnosis.finding import Finding
from gpuplanner.acceptance.diagnosis.finding_causes import find as look_for
from gpuplanner.acceptance.diagnosis.rules import read_causes
from gpuplanner.acceptance.promised import NOTHING, Promised
from gpuplanner.paths import shipped
from gpuplanner.probe.evidence import Evidence


def find(evidence: Evidence, acceptance: Acceptance | None, promised: Promised | None = None) -> tuple[Finding, ...]:
    """What lines of the evidence show, the cause that explains most first.

    `acceptance` brings its own promise; `promised` is for evidence that was not judged.
    """
    catalogs = shipped("catalogs")
    if promised is None:
        promised = acceptance.promised if acceptance else NOTHING
    rules, known = read_causes(catalogs / "diagnosis"), read_compatibility(catalogs / "compatibility")
    return look_for(evidence, acceptance, promised, rules, known)
