"""A machine of eight GPUs that is not at hand: what was recorded of it, and samples as if it were watched. No tests."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from gpuplanner.machines.sample import sample_run
from gpuplanner.probe.commands import Command
from gpuplanner.probe.transports import Told
from gpuplanner.probe.transports.programs import Heard, Program
from gpuplanner.probe.transports.recorded import RecordedTransport
from gpuplanner.ui.machines_place.errands import Ways

GPUS = 8


class Recorded:
    """The recorded machine, as if it were at hand; it can be watched, too."""

    name = "recorded"

    def __init__(self) -> None:
        self._recorded = RecordedTransport(sample_run(), pace=0.01)

    async def collect(self, commands: Sequence[Command], told: Told) -> bool:
        return await self._recorded.collect(commands, told)

    async def run(self, _program: Program, _work: Mapping[str, Any], _told: Told, heard: Heard) -> bool:
        for turn in range(100_000):
            heard(frame(turn))
            await asyncio.sleep(0.1)
        return True


def frame(turn: int) -> dict[str, Any]:
    dip = turn % 80 < 6
    gpus = [
        {
            "gpu": gpu, "utilization_percent": 3 if dip else 90 + (turn + gpu) % 9, "power_w": 400 + turn * gpu % 90,
            "power_limit_w": 500, "memory_used_mib": 60_000, "memory_total_mib": 81_559, "temperature_c": 60 + gpu,
            "pcie_received_mb_per_s": 0 if dip else 9_000 + turn * 7 % 900, "clock_sm_mhz": 1980,
            "throttle_reasons": 0x80 if gpu == 5 and turn % 50 > 25 else 4,
            "processes": [{"pid": 4000 + gpu, "used_bytes": 60 << 30, "name": "python3"}],
        }
        for gpu in range(GPUS)
    ]  # fmt: skip
    host = {"cpu_percent": 97, "cpus": 96, "memory_used_mib": 90_000, "memory_total_mib": 2_000_000}
    return {"frame": "sample", "at_s": turn / 10, "gpus": gpus, "host": host}


class RecordedWays(Ways):
    """Every way leads to the recorded machine."""

    def to(self, target: str, answerer: Any) -> Any:
        return Recorded()
