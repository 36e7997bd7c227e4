"""Time until weights are loaded, time that failures take, machines that wait as spares. Nothing here knows a GPU."""

import math
from statistics import NormalDist

from gpuplanner.engine.formulas.elementwise import Number, maximum
from gpuplanner.figures import formula
from gpuplanner.units import Unit

MOST_DEVIATIONS = 12.0
"""Beyond so many deviations from its mean nothing of a Poisson distribution is left that a person could ask for."""
MOST_COUNTED_NODES = 100_000.0
"""Of a larger mean the terms are not added up one by one: the correction is as exact by then, to a node."""


@formula(
    Unit.BYTE, "weight_file_bytes · readers", "each process reads all files where the page cache does not hold them"
)
def files_read_bytes(weight_file_bytes: Number, readers: Number) -> Number:
    """What one node reads from storage when several processes load the same files."""
    return weight_file_bytes * readers


@formula(
    Unit.SECOND, "weight_file_bytes / storage_bytes_per_s", "a file that several processes read is counted as often"
)
def weight_read_seconds(weight_file_bytes: Number, storage_bytes_per_s: Number) -> Number:
    """Time to read the files of the weights from storage; `storage_bytes_per_s` is what one node gets."""
    return weight_file_bytes / storage_bytes_per_s


@formula(Unit.SECOND, "weight_bytes / pcie_bytes_per_s", "each GPU takes its own part over its own link to the host")
def weight_copy_seconds(weight_bytes: Number, pcie_bytes_per_s: Number) -> Number:
    """Time to copy the part of one GPU from host memory to it."""
    return weight_bytes / pcie_bytes_per_s


@formula(Unit.SECOND, "weights_read_s + copy_s", "one after the other, as the usual loaders do it tensor by tensor")
def weight_load_seconds(weights_read_s: Number, copy_s: Number) -> Number:
    """Time until the weights are in the memory of the GPUs."""
    return weights_read_s + copy_s


@formula(Unit.SECOND, "process_start_s + load_s + engine_start_s")
def cold_start_seconds(process_start_s: Number, load_s: Number, engine_start_s: Number) -> Number:
    """Time from the start of a process to the first answer; the machine and the container image are there already."""
    return process_start_s + load_s + engine_start_s


@formula(Unit.SECOND, "checkpoint_bytes / storage_bytes_per_s", "training waits while a checkpoint is written")
def checkpoint_write_seconds(checkpoint_bytes: Number, storage_bytes_per_s: Number) -> Number:
    """How long training stands still for one checkpoint; `storage_bytes_per_s` is what all nodes get together."""
    return checkpoint_bytes / storage_bytes_per_s


@formula(
    Unit.RATIO,
    "max(1 - (interval_s / 2 + restart_s) / between_failures_s, 0) / (1 + checkpoint_s / interval_s)",
    "Young, CACM 17 (1974) 530: each failure costs half an interval and a restart",
)
def goodput_share(checkpoint_s: Number, interval_s: Number, restart_s: Number, between_failures_s: Number) -> Number:
    """Share of the time in which training gets ahead; the rest goes to checkpoints, repeated work and restarts."""
    lost = (interval_s / 2.0 + restart_s) / between_failures_s
    return maximum(1.0 - lost, 0.0) / (1.0 + checkpoint_s / interval_s)


@formula(Unit.SECOND, "job_s / goodput")
def job_seconds_with_failures(job_s: Number, goodput: Number) -> Number:
    """How long a job takes with its checkpoints, repeated work and restarts."""
    return job_s / goodput


@formula(Unit.SECOND, "whole_job_s - job_s")
def lost_seconds(whole_job_s: Number, job_s: Number) -> Number:
    """What of a job goes to checkpoints, repeated work and restarts."""
    return whole_job_s - job_s


@formula(Unit.COUNT, "whole_job_s / between_failures_s")
def failures_of_job(whole_job_s: Number, between_failures_s: Number) -> Number:
    """Failures to be expected while a job runs."""
    return whole_job_s / between_failures_s


@formula(Unit.COUNT, "repair_s / between_failures_s", "Little's law, each failure taking one node out")
def nodes_in_repair(repair_s: Number, between_failures_s: Number) -> Number:
    """Nodes that are away at any moment, on average."""
    return repair_s / between_failures_s


@formula(
    Unit.COUNT,
    "min(n): P(X ≤ n) ≥ wanted_share, X ~ Poisson(waiting_nodes)",
    "failures that know nothing of each other: a Poisson distribution",
)
def spare_nodes(waiting_nodes: float, wanted_share: float) -> float:
    """Spare nodes with which, in `wanted_share` of the time, no node is missing. `wanted_share` above 0 and below 1.

    Beyond `MOST_COUNTED_NODES` the quantile of a normal distribution corrected by its skew (Cornish and Fisher, 1938).
    """
    if waiting_nodes > MOST_COUNTED_NODES:
        quantile = NormalDist().inv_cdf(wanted_share)
        spares = waiting_nodes + quantile * math.sqrt(waiting_nodes) + (quantile**2 - 1.0) / 6.0
        return float(max(math.ceil(spares - 0.5), 0))
    around = MOST_DEVIATIONS * math.sqrt(waiting_nodes) + MOST_DEVIATIONS
    least, most = max(int(waiting_nodes - around), 0), int(waiting_nodes + around)
    reached = 0.0
    for count in range(least, most):
        # In logarithms: the first terms of a large mean are smaller than any float.
        reached += math.exp(count * math.log(max(waiting_nodes, 1e-300)) - waiting_nodes - math.lgamma(count + 1))
        if reached >= wanted_share:
            return float(count)
    return float(most)


@formula(Unit.SECOND, "slow_s - quick_s")
def more_seconds(slow_s: Number, quick_s: Number) -> Number:
    """How much longer the slower of two takes."""
    return slow_s - quick_s


@formula(Unit.RATIO, "slow_s / quick_s - 1")
def longer_share(slow_s: Number, quick_s: Number) -> Number:
    """How much longer the slower of two takes, as a share of the quicker."""
    return slow_s / quick_s - 1.0
