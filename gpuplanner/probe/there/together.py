"""What several GPUs do together: copies between each two, and the all-reduce of all.

Standard library only, Python 3.6 and later. Never run on a GPU: tested against libraries of our own.
"""

import struct
from functools import partial
from typing import Any, Dict, List, Optional, Tuple

from gpuplanner.probe.there.alone import KERNEL_BUDGET_S, LARGEST, MEBIBYTE, MOST_BYTES, SIZES, near
from gpuplanner.probe.there.cuda import CudaFault, Device
from gpuplanner.probe.there.libraries import Nccl
from gpuplanner.probe.there.report import Report

PAIR_BUDGET_S = 0.03
"""How long a round of copies between two may take: of eight GPUs there are 56 pairs."""
REDUCE_SIZES = (MEBIBYTE, 16 * MEBIBYTE, 128 * MEBIBYTE, MOST_BYTES)
"""Of one message, in place: the largest is where the rate no longer grows, and all that one GPU may give."""

ONE = 0x3F800000
"""1 in FP32."""
SAMPLES, SAMPLE_BYTES = 16, 64 << 10
"""What is looked at of each GPU's sums: nccl-tests looks at all of them."""


class Together:
    """The devices of a run, `names` being their numbers."""

    def __init__(self, report: Report, devices: List[Device], names: Dict[int, int]) -> None:
        self._report = report
        self._devices = devices
        self._names = names

    def measure(self) -> None:
        """Do the wanted steps."""
        near(None)
        if self._report.wants("device_to_device"):
            self._pairs()
        if self._report.wants("all_reduce"):
            self._report.progress("all_reduce", None)
            working = [device for device in self._devices if device.context.value and not device.dead]
            if len(working) > 1:
                self._report.tried(partial(self._all_reduce, working), "all_reduce", None, working[0])

    def _pairs(self) -> None:
        buffers: Dict[int, int] = {}

        def prepare(device: Device) -> None:
            device.use()
            buffers[device.index] = device.memory(LARGEST)

        for device in self._devices:
            if device.context.value:
                self._report.tried(partial(prepare, device), "device_to_device", self._names[device.index], device)
        for source in self._devices:
            for target in self._devices:
                if source is target:
                    continue
                gpu = self._names[source.index]
                self._report.progress("device_to_device", gpu)
                if source.index in buffers and target.index in buffers and not target.dead:
                    step = partial(self._pair, source, target, buffers)
                    self._report.tried(step, "device_to_device", gpu, source)
        for device in self._devices:
            device.release()

    def _pair(self, source: Device, target: Device, buffers: Dict[int, int]) -> None:
        direct = source.reaches(target)
        one, other = self._names[source.index], self._names[target.index]
        there, here = buffers[target.index], buffers[source.index]
        for size in SIZES if source is self._devices[0] else (LARGEST,):
            copy = partial(source.copy, "cuMemcpyPeerAsync", there, target.context, here, source.context, size)
            self._report.conditions.begin(one, other)
            seconds, count = source.timed(copy, PAIR_BUDGET_S)
            self._report.bandwidth(
                "device_to_device", one, other, size, size, seconds, count, "copy_engine", p2p_enabled=direct
            )

    def _all_reduce(self, devices: List[Device]) -> None:
        library = Nccl([device.index for device in devices])
        try:
            buffers = []
            for device in devices:
                device.use()
                buffers.append((device.memory(REDUCE_SIZES[-1]), device.stream))
            wrong = self._wrong(devices, library, buffers)
            ranks = len(devices)
            for size in REDUCE_SIZES:
                self._report.conditions.begin(*[self._names[device.index] for device in devices])
                seconds, count = devices[0].timed(partial(library.all_reduce, buffers, size // 4), KERNEL_BUDGET_S)
                self._report.result(
                    "collective", seconds, count, collective="all_reduce", ranks=ranks, bytes=size,
                    nccl_version=library.version, library=library.path,
                    wrong=wrong if size == REDUCE_SIZES[-1] else None,
                    # nccl-tests' definition: what an ideal ring would have to carry.
                    rates={"algorithm_gb_per_s": size / 1e9, "bus_gb_per_s": size * 2e-9 * (ranks - 1) / ranks},
                )  # fmt: skip
        finally:
            library.close()
            for device in devices:
                device.release()

    def _wrong(self, devices: List[Device], library: Nccl, buffers: List[Tuple[int, Any]]) -> Optional[int]:
        """How many of some sums of ones over all GPUs are not their number; None of a driver that writes no ones."""
        count = REDUCE_SIZES[-1] // 4
        right = struct.pack("<f", float(len(devices))) * (SAMPLE_BYTES // 4)
        wrong = 0
        try:
            for number, device in enumerate(devices):
                device.fill(buffers[number][0], ONE, count)
        except CudaFault as fault:
            if fault.reason != "missing_symbol":
                raise
            return None
        library.all_reduce(buffers, count)
        for number, device in enumerate(devices):
            address = buffers[number][0]
            for at in range(SAMPLES):
                came = device.read(address + at * (REDUCE_SIZES[-1] // SAMPLES), SAMPLE_BYTES)
                if came != right:
                    wrong += sum(came[at : at + 4] != right[:4] for at in range(0, SAMPLE_BYTES, 4))
        return wrong
