"""A share of a GPU where a whole one is thought to be: MIG and vGPU."""

from gpuplanner.acceptance.check import lines_of
from gpuplanner.acceptance.diagnosis.finding import Cause, Certainty, Looking, Signs
from gpuplanner.acceptance.gpu_traits import is_divided
from gpuplanner.acceptance.saying import label, named, text
from gpuplanner.acceptance.virtualization import tell
from gpuplanner.messages import msg

_SURE = 0.6


def mig(looking: Looking) -> Signs | None:
    """MIG divides the GPUs: a process gets one slice."""
    if looking.promised.mig:
        return None
    divided = [gpu for gpu in looking.evidence.gpus if is_divided(gpu)]
    if not divided:
        return None
    slices = [each.profile for each in looking.evidence.mig_devices if each.profile]
    return Signs(
        Certainty.SHOWN,
        (*lines_of(divided, "mig_mode"), *lines_of(looking.evidence.mig_devices, "profile", "uuid"))[:12],
        {
            "gpus": text(named([label(gpu) for gpu in divided])),
            "slices": text(", ".join(dict.fromkeys(slices))),
            "count": len(slices),
        },
        sentence="cause" if slices else "none",
        fix=msg("check.do.mig"),
        ask=msg("check.ask.mig"),
    )


def vgpu(looking: Looking) -> Signs | None:
    """A vGPU: a share of a card, with less than the card can do."""
    told = tell(looking.evidence)
    if told.kind != "vgpu" or told.confidence < _SURE or looking.promised.virtualization == "vgpu":
        return None
    gpus = looking.evidence.gpus
    return Signs(
        Certainty.SHOWN,
        told.lines,
        {"name": text(next((gpu.name for gpu in gpus if gpu.name), "–"))},
        ask=msg("check.ask.virtual"),
    )


CAUSES = (Cause("mig", mig), Cause("vgpu", vgpu))
