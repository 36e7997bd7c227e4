"""Whether there are rates to draw, told at once: what draws them takes long to be read. Draws nothing."""

from gpuplanner.acceptance.expected_rates import is_all_reduce
from gpuplanner.probe.evidence import Evidence

_PATHS = frozenset({"host_to_device", "device_to_host", "device_memory", "device_to_device"})


def has_rates(evidence: Evidence, *, with_plan: bool = False) -> bool:
    """Whether there is anything to draw: what was measured, or a plan's operators and samples beside it."""
    copies = any(row.path in _PATHS for row in evidence.bandwidths)
    tables = any(is_all_reduce(run) for run in evidence.collectives)
    return bool(copies or tables or evidence.matrix_rates or evidence.disk_rates or with_plan)
