"""What sends copies between GPUs a detour through the processor: access control services and address translation."""

from gpuplanner.acceptance.bridges import redirecting
from gpuplanner.acceptance.check import lines_of
from gpuplanner.acceptance.diagnosis.finding import Cause, Certainty, Looking, Signs
from gpuplanner.acceptance.gpu_traits import gpus_on_bus, is_guest
from gpuplanner.acceptance.saying import text
from gpuplanner.messages import msg

_PASSING = ("iommu=pt", "iommu=off", "intel_iommu=off", "amd_iommu=off")


def translating(looking: Looking) -> Signs | None:
    """The IOMMU translates: by the kernel's command line, or by what its log says of the default domain."""
    system = looking.evidence.system
    if system is None or is_guest(looking.evidence):
        return None
    line = system.kernel_command_line or ""
    asked = any(word in line.split() for word in ("intel_iommu=on", "amd_iommu=on"))
    passing = any(word in line.split() for word in _PASSING) or system.iommu_mode == "passthrough"
    if passing or not (asked or system.iommu_mode in {"enabled", "translated"}):
        return None
    several = max(len(looking.evidence.gpus), len(gpus_on_bus(looking.evidence))) != 1
    if not several:
        return None
    shown = asked or system.iommu_mode == "translated"
    seen = "kernel_command_line" if asked else "iommu_mode"
    return Signs(Certainty.SHOWN if shown else Certainty.LIKELY, lines_of([system], seen))


def control(looking: Looking) -> Signs | None:
    """Bridges of bare metal send what goes from GPU to GPU or adapter up to the processor, to be checked there."""
    evidence = looking.evidence
    if is_guest(evidence):
        return None
    shown = redirecting(evidence)
    # One GPU alone has nobody to copy to; where no GPU was listed, the lines were picked out of a longer text.
    if not shown or (len(gpus_on_bus(evidence)) == 1 and not evidence.ib_ports and len(evidence.gpus) < 2):
        return None
    buses = [device.bus_id for device in shown if device.bus_id]
    return Signs(
        Certainty.SHOWN if any(device.acs_flags for device in shown) else Certainty.LIKELY,
        lines_of(shown, "bus_id", "acs_flags"),
        {
            "count": len(shown),
            "bridges": text(", ".join(buses[:8]) + (" …" if len(buses) > 8 else "") if buses else "–"),
        },
        ask=msg("check.ask.acs"),
    )


CAUSES = (Cause("acs", control), Cause("iommu", translating))
