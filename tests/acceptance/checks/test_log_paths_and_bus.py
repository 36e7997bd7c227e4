"""What the kernel's log, the matrices of paths and the list of the bus say, and what an excerpt of them leaves open."""

from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.probe.evidence.paths import PciDevice
from tests.acceptance.judged import ENGLISH, judge

OFF = "SrcValid- TransBlk- ReqRedir- CmpltRedir-"
ON = "SrcValid+ TransBlk- ReqRedir+ CmpltRedir+"


def bridge(bus: str, flags: str) -> PciDevice:
    return PciDevice(
        bus_id=bus, class_code="0604", acs_flags=flags, acs_source_validation=flags.startswith("SrcValid+")
    )


def test_access_control_of_bridges_without_a_gpu_below_warns_of_nothing():
    card = PciDevice(bus_id="0000:41:00.0", class_code="0302", device_id="0x233010DE", parent="0000:00:01.0")
    switch = PciDevice(bus_id="0000:83:00.0", class_code="0680", device_id="0x22A310DE", parent="0000:00:03.0")
    elsewhere = judge("acs", pci=(bridge("0000:00:01.0", OFF), card, bridge("0000:00:03.0", ON), switch))
    assert elsewhere is not None
    assert elsewhere.verdict is Verdict.PASS
    assert "1 bridge" in ENGLISH.text(elsewhere.reason)
    validates = judge("acs", pci=(bridge("0000:00:01.0", "SrcValid+ TransBlk- ReqRedir- CmpltRedir-"), card))
    assert validates is not None
    assert validates.verdict is Verdict.PASS
    over = judge("acs", pci=(bridge("0000:00:01.0", ON), card, bridge("0000:00:03.0", ON), switch))
    assert over is not None
    assert over.verdict is Verdict.WARN
    assert ENGLISH.text(over.reason).startswith("1 ")
