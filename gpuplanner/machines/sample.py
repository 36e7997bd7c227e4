"""The recorded machine that the application brings along, for who has none at hand. Its values are invented."""

import json
from pathlib import Path

from gpuplanner.paths import shipped
from gpuplanner.probe.live_session import LiveSession
from gpuplanner.probe.recording import read_recording
from gpuplanner.probe.results import Run
from gpuplanner.probe.telemetry import Telemetry

FILE, LIVE_FILE = "machine.gpurun", "machine.live.jsonl"
QUOTED = "8x H100 SXM5 80GB, 192 vCPU, 2 TB RAM, 30 TB NVMe, 1600 Gb/s"
"""What was quoted for it, as a person would type it. It is not what the recording shows."""


def sample_run() -> Run:
    """The run: eight GPUs, of which one sits on half of its PCIe lanes, under a lowered power limit."""
    return read_recording(_path(FILE).read_text(encoding="utf-8"), FILE)


def sample_session() -> LiveSession:
    """Two minutes of the same machine at work: its GPUs wait every eight seconds, its processors are at their limit.

    The file has a line that says what it is, then a sample a line as `there/sample.py` tells it.
    """
    head, *samples = _path(LIVE_FILE).read_text(encoding="utf-8").splitlines()
    about = json.loads(head)
    telemetry = Telemetry()
    for sample in samples:
        telemetry.take(json.loads(sample))
    gpus = {int(gpu): name for gpu, name in about["gpus"].items()}
    return LiveSession(about["target"], about["began"], telemetry, gpus)


def _path(name: str) -> Path:
    return shipped("resources") / "sample" / name
