"""What links and adapters carry, against what collectives and copies reached over them."""

from statistics import median

from gpuplanner.acceptance.check import lines_of
from gpuplanner.acceptance.diagnosis.causes.adapters import working_ports
from gpuplanner.acceptance.diagnosis.finding import Cause, Certainty, Looking, Signs
from gpuplanner.acceptance.saying import text
from gpuplanner.messages import msg
from gpuplanner.probe.evidence.measured import Bandwidth, CollectiveRow, CollectiveRun
from gpuplanner.probe.evidence.record import Record
from gpuplanner.units import percent


def plateau(run: CollectiveRun, share: float, least_bytes: float) -> tuple[float, tuple[CollectiveRow, ...]] | None:
    """The bus bandwidth of a run at large messages in 10⁹ bytes/s, and its rows; never the mean over all sizes.

    Rows count that reach `share` of the fastest; None where no message was large enough to show a rate.
    """
    large = [row for row in run.rows if row.bus_gb_per_s is not None and (row.bytes or 0) >= least_bytes]
    if not large:
        return None
    most = max(row.bus_gb_per_s or 0 for row in large)
    rows = [row for row in large if (row.bus_gb_per_s or 0) >= share * most]
    return median(row.bus_gb_per_s or 0 for row in rows), tuple(rows)


def network(looking: Looking) -> Signs | None:
    """Collectives between nodes reach a share of what the adapters of a node carry together."""
    rule, evidence = looking.rule, looking.evidence
    ports = [port for port in working_ports(evidence) if port.bit_per_s]
    bit_per_s = sum(port.bit_per_s or 0 for port in ports) or looking.promised.between_nodes_bit_per_s
    if not bit_per_s:
        return None
    several = any((log.nodes or 1) > 1 for log in evidence.nccl_logs)
    for run in evidence.collectives:
        if (run.hosts or 1) < 2 and not (run.hosts is None and several):
            continue
        found = plateau(run, rule["plateau_share"], rule["plateau_bytes"])
        if found is None or found[0] >= rule["pass_share"] * bit_per_s / 8e9:
            continue
        return Signs(
            Certainty.LIKELY,
            (*lines_of(found[1][:3], "bus_gb_per_s"), *lines_of(ports, "bit_per_s"))[:12],
            {
                "have": text(f"{found[0]:.1f} GB/s"),
                "line": text(f"{bit_per_s / 8e9:.0f} GB/s"),
                "share": text(percent(found[0] / (bit_per_s / 8e9))),
            },
            ask=msg("check.ask.slow"),
        )
    return None


def links(looking: Looking) -> Signs | None:
    """Within a node collectives and copies between GPUs reach a share of what their links carry one way."""
    gpu, rule = looking.promised.gpu, looking.rule
    if gpu is None or not gpu.link_bytes_per_s:
        return None
    line = gpu.link_bytes_per_s / 1e9
    for have, records in _within(looking):
        if have < rule["pass_share"] * line:
            return Signs(
                Certainty.LIKELY,
                lines_of(records, "bus_gb_per_s", "gb_per_s"),
                {
                    "have": text(f"{have:.1f} GB/s"),
                    "line": text(f"{line:.0f} GB/s"),
                    "share": text(percent(have / line)),
                    "gpu": text(gpu.name),
                },
                ask=msg("check.ask.slow"),
            )
    return None


def _within(looking: Looking) -> list[tuple[float, tuple[Record, ...]]]:
    """Rates one way within a node, in 10⁹ bytes/s: the plateau of each run, and the slowest pair of the copies."""
    rule, found = looking.rule, list[tuple[float, tuple[Record, ...]]]()
    for run in looking.evidence.collectives:
        if (run.hosts or 1) == 1 and (rows := plateau(run, rule["plateau_share"], rule["plateau_bytes"])):
            found.append((rows[0], rows[1][:3]))
    pairs: dict[tuple[int | None, int | None], tuple[float, Bandwidth]] = {}
    for row in looking.evidence.bandwidths:
        if row.path != "device_to_device" or row.source == row.target or row.p2p_enabled is False:
            continue
        if row.gb_per_s is None or (row.bytes is not None and row.bytes < rule["plateau_bytes"]):
            continue
        rate = row.gb_per_s / (2 if row.both_ways else 1)
        if (row.source, row.target) not in pairs or rate > pairs[row.source, row.target][0]:
            pairs[row.source, row.target] = rate, row
    if pairs:
        slowest = min(pairs.values(), key=lambda pair: pair[0])
        found.append((slowest[0], (slowest[1],)))
    return found


CAUSES = (Cause("network_below_line", network), Cause("links_below_rate", links))
