"""The recorded machine that the application brings along, for who has none at hand. Its values are invented."""

from gpuplanner.paths import shipped
from gpuplanner.probe.recording import read_recording
from gpuplanner.probe.results import Run

FILE = "machine.gpurun"
QUOTED = "8x H100 SXM5 80GB, 192 vCPU, 2 TB RAM, 30 TB NVMe, 1600 Gb/s"
"""What was quoted for it, as a person would type it. It is not what the recording shows."""


def sample_run() -> Run:
    """The run: eight GPUs, of which one sits on half of its PCIe lanes, under a lowered power limit."""
    return read_recording((shipped("resources") / "sample" / FILE).read_text(encoding="utf-8"), FILE)
