"""Bridges of the PCI tree that send what passes between GPUs and adapters up to the processor. No verdict."""

from gpuplanner.acceptance.gpu_traits import above, gpus_on_bus
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.paths import PciDevice

_REDIRECTS = frozenset({"ReqRedir+", "CmpltRedir+"})
"""Source validation alone drops packets with a wrong sender and sends none another way; PCIe specification, 6.12.1."""
_INFINIBAND_CLASS, _INFINIBAND_KIND = "0207", "Infiniband controller"
_MELLANOX = "15B3"


def redirecting(evidence: Evidence) -> tuple[PciDevice, ...]:
    """Those whose access control services redirect and that stand above a GPU or an adapter that GPUs hand data to.

    Where the list has no bridge above any of these, as with lines picked out of it, all that redirect. A bridge of
    which it was not read whether it redirects counts as one that does.
    """
    on = [device for device in evidence.pci if device.acs_source_validation and _redirects(device)]
    ends = (*gpus_on_bus(evidence), *(device for device in evidence.pci if _is_adapter(device)))
    over = {bridge.bus_id for device in ends for bridge in above(evidence, device)}
    return tuple(device for device in on if not over or device.bus_id is None or device.bus_id in over)


def _redirects(device: PciDevice) -> bool:
    return device.acs_flags is None or not _REDIRECTS.isdisjoint(device.acs_flags.split())


def _is_adapter(device: PciDevice) -> bool:
    """Whether it is of InfiniBand, or of the maker whose adapters reach GPU memory over Ethernet, too."""
    if device.class_code == _INFINIBAND_CLASS or device.kind == _INFINIBAND_KIND:
        return True
    of_network = (device.class_code or "").startswith("02") or device.kind == "Ethernet controller"
    made_by = (device.device_id or "").upper().endswith(_MELLANOX) or (device.name or "").startswith("Mellanox")
    return of_network and made_by
