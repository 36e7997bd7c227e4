"""Between nodes: one adapter of several, no adapter at all, or adapters that do not reach GPU memory themselves."""

import re

from gpuplanner.acceptance.check import lines_of
from gpuplanner.acceptance.diagnosis.finding import Cause, Certainty, Looking, Signs
from gpuplanner.acceptance.saying import text
from gpuplanner.messages import msg
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.paths import IbPort
from gpuplanner.probe.evidence.record import Record
from gpuplanner.probe.evidence.serving_log import NcclLog

_MELLANOX, _INFINIBAND_CLASS = "15B3", "0207"


def working_ports(evidence: Evidence) -> tuple[IbPort, ...]:
    """Ports of adapters that are up; one that does not say its state counts."""
    return tuple(port for port in evidence.ib_ports if "down" not in (port.state or "active").lower())


def adapters_there(evidence: Evidence) -> tuple[int, tuple[Record, ...]]:
    """How many adapters for RDMA a node has, and what says so: its ports, its matrix of paths, or its PCI tree."""
    ports = {port.adapter: port for port in working_ports(evidence) if port.adapter}
    if ports:
        return len(ports), tuple(ports.values())
    for matrix in evidence.matrices:
        named = {name for name in (*matrix.devices, *matrix.paths) if name.startswith(("NIC", "mlx"))}
        if named:
            return len(named), (matrix,)
    devices = [
        device
        for device in evidence.pci
        if (device.class_code or "").startswith(_INFINIBAND_CLASS)
        and (device.device_id or "").upper().endswith(_MELLANOX)
    ]
    return len(devices), tuple(devices)


def _between_nodes(log: NcclLog) -> bool:
    return (log.nodes or 1) > 1 or any(way.startswith("NET/") for way in log.transports or {})


def used_adapters(log: NcclLog) -> frozenset[str]:
    """The adapters that a job used: those that its connections name, else those that NCCL chose from."""
    chosen = frozenset(name.partition(":")[0] for name in log.adapters)
    ways = [way.split("/") for way in log.transports or {}]
    numbers = {way[2] for way in ways if len(way) > 2 and way[0] == "NET" and way[1] != "Socket"}
    return chosen if len(chosen) == 1 or not numbers else frozenset(numbers)


def one_adapter(looking: Looking) -> Signs | None:
    """NCCL moves everything over one adapter although a node has several."""
    there, records = adapters_there(looking.evidence)
    there = max(there, looking.promised.adapters or 0)
    for log in looking.evidence.nccl_logs:
        if not _between_nodes(log) and not log.adapters:
            continue
        asked = (log.settings or {}).get("NCCL_IB_HCA", "")
        named = [name for name in re.split(r"[,^=]", asked) if name] if not asked.startswith("^") else []
        used = used_adapters(log)
        if len(used) == 1 and (there > 1 or len(log.adapters) > 1):
            lines = (*lines_of([log], "settings", "adapters", "transports"), *lines_of(records, "adapter", "devices"))
            name = next(iter(used))
            return Signs(
                Certainty.SHOWN,
                lines[:12],
                {"name": text(name), "count": max(there, len(log.adapters))},
                fix=msg("diagnosis.one_adapter.fix_setting", setting=text(f"NCCL_IB_HCA={asked}"))
                if len(named) == 1
                else None,
            )
    return None


def sockets(looking: Looking) -> Signs | None:
    """NCCL talks between nodes through the kernel's TCP."""
    for log in looking.evidence.nccl_logs:
        over = any(way.startswith("NET/Socket") for way in log.transports or {})
        if not over and not (log.network == "Socket" and _between_nodes(log)):
            continue
        there, records = adapters_there(looking.evidence)
        off = (log.settings or {}).get("NCCL_IB_DISABLE") == "1"
        lines = (*lines_of([log], "network", "transports", "settings"), *lines_of(records, "adapter", "devices"))
        return Signs(
            Certainty.SHOWN if over or there or off else Certainty.LIKELY,
            lines[:12],
            fix=msg("diagnosis.sockets.fix_setting") if off else None,
        )
    return None


def no_direct(looking: Looking) -> Signs | None:
    """The log says that adapters do not read GPU memory themselves."""
    for log in looking.evidence.nccl_logs:
        over_sockets = log.network == "Socket" or any(way.startswith("NET/Socket") for way in log.transports or {})
        if log.gpu_direct_rdma is False and not over_sockets:
            return Signs(Certainty.SHOWN, lines_of([log], "gpu_direct_rdma", "transports"), ask=msg("check.ask.ib"))
    judgement = looking.failed("gdr")
    if judgement is None:
        return None
    lines = judgement.lines or lines_of(looking.evidence.ib_ports, "adapter", "state")
    return Signs(Certainty.LIKELY, lines, fix=judgement.do, ask=judgement.ask)


CAUSES = (Cause("one_adapter", one_adapter), Cause("sockets", sockets), Cause("gdr", no_direct))
