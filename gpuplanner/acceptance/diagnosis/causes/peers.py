"""GPUs of one node that do not read each other's memory: a setting forbids it, or all goes through main memory."""

from gpuplanner.acceptance.check import lines_of
from gpuplanner.acceptance.diagnosis.finding import Cause, Certainty, Looking, Signs
from gpuplanner.acceptance.saying import text
from gpuplanner.messages import msg

_OFF = {
    "NCCL_P2P_DISABLE": {"1"},
    "NCCL_P2P_LEVEL": {"LOC", "0"},
    "NCCL_NVLS_ENABLE": {"0"},
    "NCCL_SHM_DISABLE": {"1"},
}
"""Settings of NCCL that take a faster way from it (NCCL's documentation, environment variables)."""


def setting(looking: Looking) -> Signs | None:
    """A setting takes the fast way from NCCL."""
    for log in looking.evidence.nccl_logs:
        found = [
            f"{name}={value}" for name, value in (log.settings or {}).items() if value.upper() in _OFF.get(name, ())
        ]
        if found:
            return Signs(Certainty.SHOWN, lines_of([log], "settings"), {"settings": text(", ".join(found))})
    return None


def through_memory(looking: Looking) -> Signs | None:
    """Connections within the node go through main memory, none of them from GPU to GPU."""
    for log in looking.evidence.nccl_logs:
        ways = log.transports or {}
        direct = sum(count for way, count in ways.items() if way.startswith("P2P"))
        shared = sum(count for way, count in ways.items() if way.startswith("SHM"))
        if shared and not direct:
            refused = log.peer_access_off is True
            return Signs(
                Certainty.SHOWN,
                lines_of([log], "transports", "peer_access_off"),
                {"count": shared},
                sentence="refused" if refused else "cause",
                ask=msg("check.ask.p2p"),
            )
    return None


CAUSES = (Cause("nccl_setting", setting), Cause("shared_memory_only", through_memory))
