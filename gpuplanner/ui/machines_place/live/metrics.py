"""What can be drawn of a machine's samples, in the order that it is offered in. No widget.

A metric's words are `liveui.metric.<id>`; its values are multiplied by `factor` and shown in `unit`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuplanner.messages import Message, msg
from gpuplanner.probe.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class Metric:
    """`name` is the series'; `limit` the series that says how high it can go. `full`: the end of the axis, if fixed."""

    id: str
    name: str
    unit: str
    factor: float = 1.0
    of_host: bool = False
    limit: str = ""
    full: float | None = None
    digits: int = 0

    @property
    def title(self) -> Message:
        """What a person calls it."""
        return msg(f"liveui.metric.{self.id}")

    def keys(self, telemetry: Telemetry) -> Sequence[tuple[int | None, str]]:
        """The series that it draws: one a GPU, or the host's."""
        found = [key for key in telemetry.series if key[1] == self.name and (key[0] is None) is self.of_host]
        return sorted(found, key=lambda key: -1 if key[0] is None else key[0])

    def text(self, value: float) -> str:
        """A value in the metric's unit, without it."""
        return f"{value * self.factor:,.{self.digits}f}"


METRICS = (
    Metric("utilization", "utilization_percent", "%", full=100),
    Metric("power", "power_w", "W", limit="power_limit_w"),
    Metric("pcie_received", "pcie_received_mb_per_s", "GB/s", 1e-3, digits=1),
    Metric("memory", "memory_used_mib", "GiB", 1 / 1024, limit="memory_total_mib", digits=1),
    Metric("temperature", "temperature_c", "°C"),
    Metric("clock_sm", "clock_sm_mhz", "MHz", limit="clock_sm_max_mhz"),
    Metric("clock_memory", "clock_memory_mhz", "MHz"),
    Metric("memory_busy", "memory_percent", "%", full=100),
    Metric("pcie_sent", "pcie_sent_mb_per_s", "GB/s", 1e-3, digits=1),
    Metric("nvlink_received", "nvlink_received_mb_per_s", "GB/s", 1e-3, digits=1),
    Metric("nvlink_sent", "nvlink_sent_mb_per_s", "GB/s", 1e-3, digits=1),
    Metric("encoder", "encoder_percent", "%", full=100),
    Metric("decoder", "decoder_percent", "%", full=100),
    Metric("cpu", "cpu_percent", "%", of_host=True, full=100),
    Metric("ram", "memory_used_mib", "GiB", 1 / 1024, of_host=True, limit="memory_total_mib", digits=1),
    Metric("disk_read", "disk_read_mb_per_s", "MB/s", of_host=True, digits=1),
    Metric("disk_written", "disk_written_mb_per_s", "MB/s", of_host=True, digits=1),
    Metric("network_received", "network_received_mb_per_s", "MB/s", of_host=True, digits=1),
    Metric("network_sent", "network_sent_mb_per_s", "MB/s", of_host=True, digits=1),
)
"""All of them; one that was not sampled is not offered."""

USUAL = ("utilization", "power", "pcie_received")
"""What is drawn until a person chooses otherwise; the host's where there is no GPU."""
USUAL_OF_HOST = ("cpu", "ram", "disk_read", "network_received")
SPANS_S = {"2m": 120.0, "10m": 600.0, "1h": 3600.0}
"""How far back one looks, by the id of the choice."""


def sampled(telemetry: Telemetry) -> tuple[Metric, ...]:
    """The metrics of which there is a sample."""
    there = {(gpu is None, name) for gpu, name in telemetry.series}
    return tuple(metric for metric in METRICS if (metric.of_host, metric.name) in there)


def shown(telemetry: Telemetry, chosen: Sequence[str]) -> tuple[Metric, ...]:
    """The chosen ones that were sampled; the usual ones where none is chosen."""
    there = sampled(telemetry)
    wanted = tuple(chosen) or USUAL
    found = tuple(metric for metric in there if metric.id in wanted)
    return found or tuple(metric for metric in there if metric.id in USUAL_OF_HOST)
