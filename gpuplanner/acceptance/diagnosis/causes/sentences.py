"""What programs themselves say in an error: of the fabric, of compatibility, of shared memory and of workers."""

import re
from collections.abc import Callable

from gpuplanner.acceptance.check import lines_of
from gpuplanner.acceptance.diagnosis.finding import Cause, Certainty, Looking, Signs, said
from gpuplanner.acceptance.gpu_traits import is_data_centre
from gpuplanner.acceptance.saying import text
from gpuplanner.messages import Message, msg
from gpuplanner.probe.evidence.events import ToolFault

_VERSIONS = re.compile(r"version (\d[\d.]{2,20}).{0,40}with driver version (\d[\d.]{2,20})")
_WORKERS = re.compile(r"create (\d{1,5}) worker processes.{0,120}current system is (\d{1,5})")


def _saying(looking: Looking, words: str) -> tuple[ToolFault, ...]:
    return tuple(fault for fault in looking.evidence.faults if words in (fault.said or "").lower())


def _said(words: str) -> Callable[[Looking], Signs | None]:
    def look(looking: Looking) -> Signs | None:
        faults = _saying(looking, words)
        return Signs(Certainty.SHOWN, lines_of(faults, "said", "kind")) if faults else None

    return look


def manager_version(looking: Looking) -> Signs | None:
    """Fabric Manager's own complaint, or the check of its version."""
    for fault in _saying(looking, "match with driver version"):
        versions = _VERSIONS.search(fault.said or "")
        own, driver = versions.groups() if versions else ("–", "–")
        return Signs(
            Certainty.SHOWN,
            lines_of([fault], "said", "kind"),
            {"own": text(own), "driver": text(driver)},
            ask=msg("check.ask.fabric"),
        )
    judgement = looking.failed("fabric.fm", "check.fabric.other_version")
    if judgement is None:
        return None
    software = looking.evidence.software
    own = (software.fabric_manager_version if software else None) or str(
        next((each.version for each in looking.evidence.services if each.version), None) or "–"
    )
    driver = (software.driver_version if software else None) or str(
        next((gpu.driver_version for gpu in looking.evidence.gpus if gpu.driver_version), None) or "–"
    )
    return Signs(
        Certainty.SHOWN,
        judgement.lines,
        {"own": text(own), "driver": text(driver)},
        ask=judgement.ask,
    )


def no_code(looking: Looking) -> Signs | None:
    """The installed PyTorch has no code for the GPU: by its versions, or as it says itself; with the wheel to pick."""
    judgement = looking.failed("drv.branch", "check.driver.no_code")
    if judgement is not None:
        return Signs(
            Certainty.SHOWN,
            judgement.lines,
            {"measured": said(judgement.measured), "capability": said(judgement.expected)},
            fix=judgement.do,
        )
    faults = (
        *_saying(looking, "no kernel image is available"),
        *_saying(looking, "not compatible with the current pytorch"),
    )
    if not faults:
        return None
    return Signs(Certainty.SHOWN, lines_of(faults, "said", "kind"), sentence="said", fix=_wheel(looking))


def _wheel(looking: Looking) -> Message | None:
    """The newest wheel for this driver and GPU, where both are known."""
    gpus, software = looking.evidence.gpus, looking.evidence.software
    driver = (software.driver_version if software else None) or next(
        (gpu.driver_version for gpu in gpus if gpu.driver_version), None
    )
    promised = looking.promised.gpu
    capability = next((gpu.compute_capability for gpu in gpus if gpu.compute_capability), None) or (
        promised.compute_capability if promised else ""
    )
    wheel = looking.compatibility.wheel_for(driver, capability) if driver and capability else None
    return msg("check.do.wheel", torch=wheel.torch, tag=wheel.tag) if wheel else None


def forward(looking: Looking) -> Signs | None:
    """Error 804: a compatibility package of CUDA on a GPU that is not for servers."""
    faults = _saying(looking, "forward compatibility was attempted")
    if not faults:
        return None
    kinds = {is_data_centre(gpu) for gpu in looking.evidence.gpus}
    gpus = looking.evidence.gpus
    return Signs(
        Certainty.SHOWN,
        (*lines_of(faults, "said", "kind"), *lines_of(gpus, "name"))[:12],
        {"gpu": text(next((gpu.name for gpu in gpus if gpu.name), "–"))},
        sentence="consumer" if kinds == {False} else "cause",
    )


def too_old(looking: Looking) -> Signs | None:
    """The driver is older than the CUDA of what is installed can do with, with the wheel to pick instead."""
    judgement = looking.failed("drv.branch", "check.driver.too_old")
    if judgement is None:
        return None
    return Signs(
        Certainty.SHOWN,
        judgement.lines,
        {"measured": said(judgement.measured), "expected": said(judgement.expected)},
        fix=_wheel(looking) or judgement.do,
        sentence="cause" if judgement.expected else "said",
    )


def workers(looking: Looking) -> Signs | None:
    """PyTorch's warning that its data loader begins more processes than there are processors."""
    for fault in _saying(looking, "suggested max number of worker"):
        counts = _WORKERS.search(fault.said or "")
        if counts:
            return Signs(
                Certainty.SHOWN,
                lines_of([fault], "said"),
                {"workers": int(counts[1]), "processors": int(counts[2])},
            )
    return None


def shared_memory(looking: Looking) -> Signs | None:
    """`/dev/shm` is too small: by the workers' death, or by its size."""
    faults = _saying(looking, "out of shared memory")
    small = looking.failed("shm", "check.shm.docker", "check.shm.small")
    if faults:
        return Signs(
            Certainty.SHOWN,
            (*lines_of(faults, "said"), *(small.lines if small else ()))[:12],
            sentence="said",
            fix=msg("check.do.shm"),
        )
    if small is None:
        return None
    of_docker = small.reason.id == "check.shm.docker"
    return Signs(
        Certainty.LIKELY if of_docker else Certainty.POSSIBLE,
        small.lines,
        {"size": small.measured or text("–")},
        fix=small.do,
    )


CAUSES = (
    Cause("fabric_not_ready", _said("system not yet initialized")),
    Cause("fabric_version", manager_version),
    Cause("no_code_for_gpu", no_code),
    Cause("forward_compatibility", forward),
    Cause("driver_too_old", too_old),
    Cause("too_many_workers", workers),
    Cause("shared_memory", shared_memory),
)
