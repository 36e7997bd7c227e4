"""Looks for all causes in what was read of a machine, and puts first what explains most."""

from collections.abc import Mapping

from gpuplanner.acceptance.checking import Acceptance
from gpuplanner.acceptance.compatibility import Compatibility
from gpuplanner.acceptance.diagnosis.causes import causes
from gpuplanner.acceptance.diagnosis.finding import CauseRule, Finding, Looking, Signs, reason_ids, said
from gpuplanner.acceptance.gpu_traits import gpus_on_bus, is_of_amd
from gpuplanner.acceptance.promised import Promised
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence import Evidence

_RATES = ("bw.h2d", "bw.d2d", "bw.p2p", "flops", "allreduce", "disk.speed", "trace")
"""Checks that measure a rate: a slow one is no cause, it has one."""
_USUAL_GPUS = 8


def find(
    evidence: Evidence,
    acceptance: Acceptance | None,
    promised: Promised,
    rules: Mapping[str, CauseRule],
    compatibility: Compatibility,
) -> tuple[Finding, ...]:
    """The causes that lines of the evidence show, the one that explains most first.

    Of two that are as sure, the one that explains more failed checks stands first; else the order of the rules decides.
    """
    looks = {cause.id: cause.look for cause in causes()}
    found: list[tuple[Finding, int]] = []
    for rule in rules.values():
        looking = Looking(evidence, rule, acceptance, promised, compatibility)
        signs = looks[rule.id](looking) if rule.id in looks else judged(looking)
        if signs is not None and signs.lines:
            found.append((_finding(rule, signs, looking), rule.order))
    found.sort(key=lambda pair: (-pair[0].certainty, -len(pair[0].explains), pair[1]))
    return tuple(finding for finding, _ in found)


def judged(looking: Looking) -> Signs | None:
    """A cause that is a check's own failure, for one of the reasons that its rule names."""
    for check, reasons in looking.rule.judged.items():
        judgement = looking.failed(check)
        if judgement is None or (reasons and not set(reasons) & set(reason_ids(judgement.reason))):
            continue
        values = {
            "measured": said(judgement.measured),
            "expected": said(judgement.expected),
            "said": judgement.reason,
        }
        return Signs(looking.rule.certainty, judgement.lines, values, fix=judgement.do, ask=judgement.ask)
    return None


def unexplained(acceptance: Acceptance, findings: tuple[Finding, ...]) -> tuple[str, ...]:
    """Rates that are too low and that no finding explains."""
    explained = {check for finding in findings for check in finding.explains}
    return tuple(
        result.id
        for result in acceptance.results
        if result.id in _RATES
        and result.judgement.verdict in {Verdict.FAIL, Verdict.WARN}
        and result.id not in explained
    )


def would_tell(evidence: Evidence) -> tuple[str, ...]:
    """Commands whose outputs show causes and were not among what was read."""
    of_amd = is_of_amd(evidence)
    gpus = max(len(evidence.gpus), len(gpus_on_bus(evidence)))
    several = gpus > 1 or bool(evidence.collectives or evidence.nccl_logs)
    collective = f"NCCL_DEBUG=INFO all_reduce_perf -b 8M -e 4G -f 2 -g {gpus if gpus > 1 else _USUAL_GPUS}"
    wanted = (
        ("amd-smi static; amd-smi metric" if of_amd else "nvidia-smi -q", not evidence.gpus),
        ("nvidia-smi topo -m", several and not of_amd and not evidence.matrices),
        ("sudo lspci -vvv", several and not any(device.acs_flags for device in evidence.pci)),
        (collective, several and not evidence.nccl_logs),
        ("amd-smi monitor" if of_amd else "nvidia-smi dmon -s pucvmet -c 60", not evidence.samples),
        ("cat /sys/fs/cgroup/cpu.max", not _has_quota(evidence)),
        ("sudo journalctl -k -b", "kernel_log_since_boot" not in evidence.looked_for),
    )
    return tuple(command for command, lacks in wanted if lacks)


def _has_quota(evidence: Evidence) -> bool:
    """Whether it was read how many processors may be used, also that there is no limit."""
    cpu = evidence.cpu
    return cpu is not None and (cpu.quota_cpus is not None or bool(cpu.quota_unlimited))


def _finding(rule: CauseRule, signs: Signs, looking: Looking) -> Finding:
    checks = dict.fromkeys((*rule.judged, *rule.explains))
    return Finding(
        id=rule.id,
        cause=Message(f"diagnosis.{rule.id}.{signs.sentence}", signs.values),
        certainty=signs.certainty,
        lines=signs.lines,
        confirm=signs.confirm or rule.confirm,
        fix=signs.fix or msg(f"diagnosis.{rule.id}.fix"),
        ask=signs.ask,
        source=rule.source,
        explains=tuple(check for check in checks if looking.failed(check) is not None),
    )
