"""PCIe links that are narrower than card and slot allow, the hop that narrows them, and cards of unlike widths."""

from gpuplanner.acceptance.check import lines_of
from gpuplanner.acceptance.diagnosis.finding import Cause, Certainty, Looking, Signs, said
from gpuplanner.acceptance.gpu_traits import above, gpus_on_bus
from gpuplanner.acceptance.saying import label, named, text
from gpuplanner.messages import msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.paths import PciDevice

_SHORT_BUS = 7
"""Characters of "10:1C.0", which tools print with domains of no, four or eight digits."""


def _on_bus(evidence: Evidence, gpu: Gpu) -> PciDevice | None:
    short = (gpu.pci_bus_id or "")[-_SHORT_BUS:].upper()
    return next((device for device in evidence.pci if short and (device.bus_id or "").upper().endswith(short)), None)


def narrow(looking: Looking) -> Signs | None:
    """GPUs that use fewer lanes than they and their slots have, and what stands over them."""
    evidence = looking.evidence
    found = [
        gpu
        for gpu in evidence.gpus
        if gpu.pcie_width_current and gpu.pcie_width_max and gpu.pcie_width_current < gpu.pcie_width_max
    ]
    copies = [
        row for row in evidence.bandwidths
        if row.path in {"host_to_device", "device_to_host"}
        and any(gpu.index is not None and gpu.index in {row.source, row.target} for gpu in found)
    ]  # fmt: skip
    if found:
        first = found[0]
        device = _on_bus(evidence, first)
        bridges = above(evidence, device) if device else []
        switch = len(bridges) > 1
        slot = (first.pci_bus_id or "")[-_SHORT_BUS:].lower()
        return Signs(
            Certainty.SHOWN,
            (*lines_of(found, "pcie_width_current", "pcie_width_max"), *lines_of(bridges, "link_width"),
             *lines_of(copies[:2], "gb_per_s"))[:12],
            {
                "gpus": text(named([label(gpu) for gpu in found])),
                "width": text(f"×{min(gpu.pcie_width_current or 0 for gpu in found)}"),
                "most": text(f"×{max(gpu.pcie_width_max or 0 for gpu in found)}"),
            },
            f"sudo lspci -vv -s {slot}" if slot else "",
            sentence="below_switch" if switch else "cause",
            ask=msg("check.ask.pcie"),
        )  # fmt: skip
    return _narrow_on_bus(looking)


def _narrow_on_bus(looking: Looking) -> Signs | None:
    """The same where only the PCI tree was read: the GPU's own link, or a bridge over it."""
    for device in gpus_on_bus(looking.evidence):
        if device.link_width is None or device.link_width_max is None:
            continue
        hops = [device, *above(looking.evidence, device)]
        slow = [
            hop
            for hop in hops
            if hop.link_width and hop.link_width < min(device.link_width_max, hop.link_width_max or 0)
        ]
        if slow:
            at_device = slow[0] is device
            return Signs(
                Certainty.SHOWN,
                lines_of(slow, "link_width", "link_width_max", "bus_id"),
                {
                    "gpus": text(device.bus_id or "?"),
                    "width": text(f"×{slow[0].link_width}"),
                    "most": text(f"×{device.link_width_max}"),
                    "hop": text(slow[0].bus_id or "?"),
                },
                f"sudo lspci -vv -s {(slow[0].bus_id or '?').lower()}",
                sentence="cause" if at_device else "port",
                ask=msg("check.ask.pcie"),
            )
    return None


def uneven(looking: Looking) -> Signs | None:
    """Cards of one machine in slots of unlike widths: what goes round them all waits for the narrowest."""
    found = [gpu for gpu in looking.evidence.gpus if gpu.pcie_width_max]
    widths = {gpu.pcie_width_max or 0 for gpu in found}
    if len(widths) < 2 or len({gpu.name for gpu in found}) > 1:
        return None
    least = min(widths)
    slow = [gpu for gpu in found if gpu.pcie_width_max == least]
    return Signs(
        Certainty.SHOWN,
        lines_of(slow, "pcie_width_max", "pcie_width_current"),
        {
            "gpus": text(named([label(gpu) for gpu in slow])),
            "width": text(f"×{least}"),
            "most": text(f"×{max(widths)}"),
        },
        ask=msg("check.ask.pcie"),
    )


def slow_port(looking: Looking) -> Signs | None:
    """A slot or a bridge that can do a lower generation than the card behind it."""
    for device in gpus_on_bus(looking.evidence):
        if device.link_gt_per_s_max is None:
            continue
        slow = [
            hop
            for hop in above(looking.evidence, device)
            if hop.link_gt_per_s_max and hop.link_gt_per_s_max < device.link_gt_per_s_max
        ]
        if slow:
            return Signs(
                Certainty.SHOWN,
                lines_of([slow[0], device], "link_gt_per_s_max", "bus_id"),
                {
                    "gpu": text(device.bus_id or "?"),
                    "hop": text(slow[0].bus_id or "?"),
                    "rate": text(f"{slow[0].link_gt_per_s_max:g} GT/s"),
                    "most": text(f"{device.link_gt_per_s_max:g} GT/s"),
                },
                ask=msg("check.ask.pcie"),
            )
    judgement = looking.failed("pcie.gen")
    if judgement is None or judgement.reason.id == "check.pcie.slow_under_load":
        return None
    return Signs(
        Certainty.LIKELY,
        judgement.lines,
        {"rate": said(judgement.measured), "most": said(judgement.expected)},
        sentence="generation",
        fix=judgement.do,
        ask=judgement.ask,
    )


CAUSES = (Cause("narrow_link", narrow), Cause("uneven_widths", uneven), Cause("slow_port", slow_port))
