"""The verdict on a machine in words. It claims nothing of GPUs that nothing was read of. Judges nothing itself."""

from gpuplanner.acceptance.checking import Acceptance
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import Message, msg

_QUOTED, _HEALTHY = ("gpu.count", "gpu.model"), ("gpu.state",)
"""Checks without which nobody can say that a machine is what was quoted, or well."""


def speaks_of_gpus(acceptance: Acceptance) -> bool:
    """Whether enough was read of the GPUs for a verdict on the machine as a whole."""
    needed = _QUOTED if acceptance.promised.said_by is not None else _HEALTHY
    verdicts = {result.id: result.judgement.verdict for result in acceptance.results}
    return all(verdicts.get(each) is not Verdict.CANNOT_TELL for each in needed)


def headline(acceptance: Acceptance) -> Message:
    """Of a promise where there is one, else of health; else of what was read."""
    against = "quoted" if acceptance.promised.said_by is not None else "healthy"
    if acceptance.verdict in {Verdict.PASS, Verdict.WARN} and not speaks_of_gpus(acceptance):
        against = "part"
    return msg(f"machinesui.verdict.{against}.{acceptance.verdict.value.replace(' ', '_')}")
