"""Runs all checks over the evidence of a machine, and says what they find together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from gpuplanner.acceptance.check import Asked, Check, CheckRule, Judgement
from gpuplanner.acceptance.compatibility import Compatibility
from gpuplanner.acceptance.promised import NOTHING, Promised
from gpuplanner.acceptance.verdicts import Verdict, overall
from gpuplanner.probe.evidence import Evidence

_OF_THE_HOST = frozenset(
    {
        "clock.drift", "cpu.count", "cpu.gov", "cpu.steal", "disk.free", "disk.health", "disk.kind", "disk.speed",
        "drv.secureboot", "net.link", "numa", "ram", "shm", "swap", "uptime", "virt.container", "virt.host",
    }
)  # fmt: skip
"""Checks that say nothing of a GPU."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A check with its rule and what it found."""

    rule: CheckRule
    judgement: Judgement

    @property
    def id(self) -> str:
        """The check's id."""
        return self.rule.id


@dataclass(frozen=True, slots=True)
class Acceptance:
    """All checks of one machine, those without anything to be about left out."""

    promised: Promised
    results: tuple[CheckResult, ...]

    @property
    def verdict(self) -> Verdict:
        """Of the machine. A host that is well is no GPU machine that is, unless the host alone was promised."""
        verdict = overall(result.judgement.verdict for result in self.results)
        of_host_alone = self.promised.said_by is not None and self.promised.gpu is None
        if verdict is Verdict.PASS and not of_host_alone:
            passed = {result.id for result in self.results if result.judgement.verdict is Verdict.PASS}
            return verdict if passed - _OF_THE_HOST else Verdict.CANNOT_TELL
        return verdict


def accept(
    evidence: Evidence,
    checks: Sequence[Check],
    rules: Mapping[str, CheckRule],
    promised: Promised = NOTHING,
    *,
    root: bool | None = None,
    today: date | None = None,
    compatibility: Compatibility | None = None,
) -> Acceptance:
    """Hold a machine against what was promised, or against itself where nothing was."""
    results = []
    for check in checks:
        rule = rules[check.id]
        judgement = check.judge(Asked(evidence, promised, rule, root, today, compatibility or Compatibility()))
        if judgement is not None:
            results.append(CheckResult(rule, judgement))
    return Acceptance(promised, tuple(results))
