"""Measures the GPUs of the machine it runs on: copies, memory, arithmetic, all-reduce, and the conditions meanwhile.

Standard library only, Python 3.6 and later; needs the driver alone. It takes at most `MOST_BYTES` of each GPU in
buffers and `limit_s` in all, changes no setting, refuses where somebody computes, and gives everything back at the
end, on an error and when it is told to stop. Tested against libraries of our own with recorded values; never run on a
GPU.
"""

import ctypes
import os
import threading
import time
from functools import partial
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from gpuplanner.probe.there.collect import Tell
from gpuplanner.probe.there.conditions import Conditions
from gpuplanner.probe.there.cuda import ENDS_CONTEXT, CudaFault, Device, Driver, Ended, uuid_of
from gpuplanner.probe.there.kernels import (
    BLOCKS_PER_SM,
    FMA_FLOP,
    MMA_FLOP,
    THREADS,
    copy_ptx,
    fma_ptx,
    mma_ptx,
)
from gpuplanner.probe.there.libraries import MATRIX_KINDS, Cublas, LibraryFault, Nccl
from gpuplanner.probe.there.nvml import Nvml, NvmlFault

MEBIBYTE = 1 << 20
LARGEST = 256 * MEBIBYTE
SIZES = (64 << 10, MEBIBYTE, 16 * MEBIBYTE, LARGEST)
MOST_BYTES = 2 * LARGEST
"""Buffers on one GPU at any time. The driver's context and a library's own workspace come on top."""
COPY_BUDGET_S = 0.12
PAIR_BUDGET_S = 0.03
"""How long a round of copies may take; slow paths are copied less often."""
KERNEL_BUDGET_S = 0.1
FMA_ROUNDS = 4096
MMA_ROUNDS = 512
MATRIX_SIZE = 8192
SMALL_MATRIX_SIZE = 4096
"""For FP32, whose product of the larger size takes seconds on a slow GPU."""
REDUCE_SIZES = (MEBIBYTE, 16 * MEBIBYTE, 128 * MEBIBYTE, MOST_BYTES)
"""Of one message, in place: the largest is where the rate no longer grows, and all that one GPU may give."""


class Measuring:
    """One run. Every failure is told as a frame with its reason, and the rest goes on where it can."""

    def __init__(self, job: Dict[str, Any], tell: Tell, stop: threading.Event) -> None:
        self._tell = tell
        self._stop = stop
        self._even_if_busy = bool(job.get("even_if_busy"))
        self._end = time.monotonic() + float(job["limit_s"])
        self._devices: List[Device] = []
        self._names: Dict[int, int] = {}
        self._nvml: Optional[Nvml] = None
        self._conditions = Conditions(None, {})
        self._numbers = b""
        self._done = 0
        self._steps = 1

    def run(self) -> bool:
        """Whether it came to its end: not refused, not stopped, not out of time."""
        try:
            return self._measure()
        except Ended as ended:
            self._failed(ended.reason, "")
        except (CudaFault, LibraryFault) as fault:
            self._failed(fault.reason, fault.said)
        finally:
            self._conditions.close()
            for device in self._devices:
                device.close()
            if self._nvml is not None:
                self._nvml.close()
            self._tell({"frame": "freed"})
        return False

    def _measure(self) -> bool:
        # The numbers of nvidia-smi.
        os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        try:
            self._nvml = Nvml()
        except NvmlFault as fault:
            self._tell({"frame": "without", "what": "nvml", "reason": fault.reason, "said": fault.said})
        driver = Driver()
        count = driver.number("cuDeviceGetCount")
        self._devices = [Device(driver, index, self._leave) for index in range(count)]
        handles = self._named()
        self._tell(
            {
                "frame": "machine",
                "driver_cuda": driver.number("cuDriverGetVersion"),
                "missing": driver.missing,
                "gpus": [self._described(driver, device) for device in self._devices],
            }
        )
        if not self._devices:
            return self._failed("no_device", "cuDeviceGetCount gives 0")
        if not self._even_if_busy and not self._idle(handles):
            return False
        self._conditions = Conditions(self._nvml, handles)
        pairs = [(one, other) for one in self._devices for other in self._devices if one is not other]
        self._steps = 5 * len(self._devices) + len(pairs) + 1
        for device in self._devices:
            self._alone(device)
        if len(self._devices) > 1:
            self._together(pairs)
        return True

    def _named(self) -> Dict[int, Any]:
        """NVML's handles by the number that `nvidia-smi` gives the GPU."""
        handles: Dict[int, Any] = {}
        known: Dict[str, int] = {}
        if self._nvml is not None:
            for number in range(self._nvml.count()):
                handle = self._nvml.at(number)
                if handle is not None:
                    known[self._nvml.text("nvmlDeviceGetUUID", handle)] = number
        for device in self._devices:
            handle = self._nvml.at_bus(device.bus_id) if self._nvml is not None else None
            uuid = self._nvml.text("nvmlDeviceGetUUID", handle) if self._nvml is not None and handle else ""
            number = known.get(uuid, device.index)
            self._names[device.index] = number
            if handle is not None:
                handles[number] = handle
        return handles

    def _described(self, driver: Driver, device: Device) -> Dict[str, Any]:
        return {
            "index": self._names[device.index],
            "name": device.name,
            "uuid": uuid_of(driver, device),
            "pci_bus_id": device.bus_id,
            "memory_bytes": device.memory_bytes,
            "compute_capability": "%d.%d" % device.capability,
            "multiprocessors": device.multiprocessors,
        }

    def _idle(self, handles: Dict[int, Any]) -> bool:
        """Whether nobody computes on any GPU. Where that cannot be told, nothing is measured either."""
        for device in self._devices:
            number = self._names[device.index]
            run = self._nvml.processes_run(handles[number]) if self._nvml is not None and number in handles else None
            if run is not False:
                return self._failed("busy" if run else "maybe_busy", "", gpu=number)
        return True

    def _alone(self, device: Device) -> None:
        """Everything that one GPU does by itself."""
        gpu = self._names[device.index]
        steps: Tuple[Tuple[str, Callable[[], None]], ...] = (
            ("host_to_device", lambda: self._host(device, gpu, "host_to_device")),
            ("device_to_host", lambda: self._host(device, gpu, "device_to_host")),
            ("device_memory", lambda: self._own_memory(device, gpu)),
            ("arithmetic", lambda: self._arithmetic(device, gpu)),
            ("matrix", lambda: self._matrices(device, gpu)),
        )
        _near(device.bus_id)
        if not self._tried(device.open, "context", gpu, device):
            device.close()
            self._done += len(steps)
            return
        for what, step in steps:
            self._progress(what, gpu)
            self._tried(step, what, gpu, device)
            device.release()

    def _tried(self, step: Callable[[], None], what: str, gpu: Optional[int], device: Device) -> bool:
        """Do a step; where it fails, say why. An error that ends the context ends what this GPU can do."""
        if device.dead:
            return self._failed(device.dead, "", gpu=gpu, what=what)
        try:
            step()
            return True
        except (CudaFault, LibraryFault) as fault:
            if fault.reason in ENDS_CONTEXT:
                device.dead = fault.reason
            return self._failed(fault.reason, fault.said, gpu=gpu, what=what)

    def _host(self, device: Device, gpu: int, path: str) -> None:
        there, here = device.memory(LARGEST), device.pinned(LARGEST)
        copy: Tuple[Any, ...] = ("cuMemcpyHtoDAsync_v2", there, here)
        source: Optional[int] = None
        target: Optional[int] = gpu
        if path == "device_to_host":
            copy, source, target = ("cuMemcpyDtoHAsync_v2", here, there), gpu, None
        for size in SIZES:
            self._conditions.begin(gpu)
            seconds, count = device.timed(partial(device.copy, *copy, size), COPY_BUDGET_S)
            self._bandwidth(path, source, target, size, size, seconds, count, "copy_engine")

    def _own_memory(self, device: Device, gpu: int) -> None:
        """Bytes read plus bytes written; only sizes that no cache holds."""
        source, target = device.memory(LARGEST), device.memory(LARGEST)
        self._conditions.begin(gpu)
        seconds, count = device.timed(
            lambda: device.copy("cuMemcpyDtoDAsync_v2", target, source, LARGEST), KERNEL_BUDGET_S
        )
        self._bandwidth("device_memory", gpu, gpu, LARGEST, 2 * LARGEST, seconds, count, "copy_engine")
        kernel = device.kernel(copy_ptx(), "copy")
        blocks = device.multiprocessors * BLOCKS_PER_SM
        values = [
            ctypes.c_uint64(target), ctypes.c_uint64(source), ctypes.c_uint32(LARGEST // 16),
            ctypes.c_uint32(blocks * THREADS),
        ]  # fmt: skip
        self._conditions.begin(gpu)
        seconds, count = device.timed(lambda: device.launch(kernel, blocks, THREADS, values), KERNEL_BUDGET_S)
        self._bandwidth("device_memory", gpu, gpu, LARGEST, 2 * LARGEST, seconds, count, "kernel")

    def _arithmetic(self, device: Device, gpu: int) -> None:
        blocks = device.multiprocessors * BLOCKS_PER_SM
        threads = blocks * THREADS
        out = device.memory(4 * threads)
        kinds = [("fp32", "ptx_fma", fma_ptx(), "fma", FMA_ROUNDS, threads * FMA_FLOP)]
        if device.capability >= (8, 0):
            kinds.append(("bf16", "ptx_mma", mma_ptx(), "mma", MMA_ROUNDS, threads // 32 * MMA_FLOP))
        for dtype, path, ptx, name, rounds, flop in kinds:
            kernel = device.kernel(ptx, name)
            values = [ctypes.c_uint64(out), ctypes.c_uint32(rounds)]
            self._conditions.begin(gpu)
            seconds, count = device.timed(partial(device.launch, kernel, blocks, THREADS, values), KERNEL_BUDGET_S)
            self._rate(gpu, dtype, path, float(flop) * rounds, seconds, count, None)

    def _matrices(self, device: Device, gpu: int) -> None:
        device.use()
        library = Cublas(device.stream)
        try:
            for kind in MATRIX_KINDS:
                if device.capability >= kind[1]:
                    self._tried(partial(self._product, device, gpu, library, kind), "matrix", gpu, device)
                    device.release()
        finally:
            library.close()

    def _product(self, device: Device, gpu: int, library: Cublas, kind: Tuple[Any, ...]) -> None:
        dtype, _, _, width, _, _ = kind
        size = SMALL_MATRIX_SIZE if width == 4 else MATRIX_SIZE
        # The product of whole numbers of one byte has four.
        one, other, product = (device.memory(size * size * each) for each in (width, width, max(width, 4)))
        for operand in (one, other):
            self._fill(device, operand, size * size * width)
        self._conditions.begin(gpu)
        seconds, count = device.timed(lambda: library.multiply(kind, size, one, other, product), KERNEL_BUDGET_S)
        self._rate(gpu, dtype, "cublas", 2.0 * size**3, seconds, count, size)

    def _fill(self, device: Device, address: int, size: int) -> None:
        """Numbers between 0.5 and 2 of either sign in BF16 and FP32: zeros would need less power than real work."""
        if not self._numbers:
            half = MEBIBYTE // 2
            tile = bytearray(MEBIBYTE)
            tile[0::2] = os.urandom(half)
            tile[1::2] = os.urandom(half).translate(bytes(0x3F if at < 128 else 0xBF for at in range(256)))
            self._numbers = bytes(tile)
        for at in range(0, size, MEBIBYTE):
            device.copy("cuMemcpyHtoDAsync_v2", address + at, self._numbers, min(MEBIBYTE, size - at))

    def _together(self, pairs: List[Tuple[Device, Device]]) -> None:
        """Copies between each two GPUs, and the all-reduce of all."""
        _on(_ALLOWED)
        buffers: Dict[int, int] = {}

        def prepare(device: Device) -> None:
            device.use()
            buffers[device.index] = device.memory(LARGEST)

        for device in self._devices:
            if device.context.value:
                self._tried(partial(prepare, device), "device_to_device", self._names[device.index], device)
        for source, target in pairs:
            gpu = self._names[source.index]
            self._progress("device_to_device", gpu)
            if source.index in buffers and target.index in buffers and not target.dead:
                self._tried(partial(self._pair, source, target, buffers), "device_to_device", gpu, source)
        for device in self._devices:
            device.release()
        self._progress("all_reduce", None)
        working = [device for device in self._devices if device.context.value and not device.dead]
        if len(working) > 1:
            self._tried(partial(self._all_reduce, working), "all_reduce", None, working[0])

    def _pair(self, source: Device, target: Device, buffers: Dict[int, int]) -> None:
        direct = source.reaches(target)
        one, other = self._names[source.index], self._names[target.index]
        there, here = buffers[target.index], buffers[source.index]
        for size in SIZES if source is self._devices[0] else (LARGEST,):
            copy = partial(source.copy, "cuMemcpyPeerAsync", there, target.context, here, source.context, size)
            self._conditions.begin(one, other)
            seconds, count = source.timed(copy, PAIR_BUDGET_S)
            self._bandwidth(
                "device_to_device", one, other, size, size, seconds, count, "copy_engine", p2p_enabled=direct
            )

    def _all_reduce(self, devices: List[Device]) -> None:
        library = Nccl([device.index for device in devices])
        try:
            buffers = []
            for device in devices:
                device.use()
                buffers.append((device.memory(REDUCE_SIZES[-1]), device.stream))
            for size in REDUCE_SIZES:
                self._conditions.begin(*[self._names[device.index] for device in devices])
                seconds, count = devices[0].timed(partial(library.all_reduce, buffers, size // 4), KERNEL_BUDGET_S)
                ranks = len(devices)
                self._result(
                    "collective", seconds, count, collective="all_reduce", ranks=ranks, bytes=size,
                    nccl_version=library.version, library=library.path,
                    # nccl-tests' definition: what an ideal ring would have to carry.
                    rates={"algorithm_gb_per_s": size / 1e9, "bus_gb_per_s": size * 2e-9 * (ranks - 1) / ranks},
                )  # fmt: skip
        finally:
            library.close()
            for device in devices:
                device.release()

    def _bandwidth(
        self, path: str, source: Optional[int], target: Optional[int], size: int, moved: int, seconds: float,
        count: int, method: str, p2p_enabled: Optional[bool] = None,
    ) -> None:  # fmt: skip
        self._result(
            "bandwidth", seconds, count, path=path, source=source, target=target, bytes=size, method=method,
            p2p_enabled=p2p_enabled, counts_both=path == "device_memory", rates={"gb_per_s": moved / 1e9},
        )  # fmt: skip

    def _rate(
        self, gpu: int, dtype: str, path: str, flop: float, seconds: float, count: int, size: Optional[int]
    ) -> None:
        self._result(
            "matrix", seconds, count, gpu=gpu, dtype=dtype, path=path, m=size, n=size, k=size,
            rates={"tflop_per_s": flop / 1e12},
        )  # fmt: skip

    def _result(self, kind: str, seconds: float, count: int, rates: Dict[str, float], **fields: Any) -> None:
        """One result. `rates`: what one piece of the work is, to be divided by its seconds."""
        told: Dict[str, Any] = {"frame": "result", "kind": kind, "seconds": seconds, "repetitions": count}
        told.update({name: value for name, value in fields.items() if value is not None})
        if seconds > 0:
            told.update({name: amount / seconds for name, amount in rates.items()})
        else:
            told["reason"] = "no_time_passed"
        told["during"] = self._conditions.seen()
        self._tell(told)

    def _progress(self, what: str, gpu: Optional[int]) -> None:
        self._leave()
        told = {"frame": "measuring", "what": what, "gpu": gpu, "share": self._done / float(self._steps)}
        self._done += 1
        self._tell(told)

    def _failed(self, reason: str, said: str, gpu: Optional[int] = None, what: str = "") -> bool:
        self._tell({"frame": "failed", "reason": reason, "said": said, "gpu": gpu, "what": what})
        return False

    def _leave(self) -> None:
        if self._stop.is_set():
            raise Ended("stopped")
        if time.monotonic() > self._end:
            raise Ended("out_of_time")


def _near(bus_id: str) -> None:
    """Run on the processors beside the GPU from now on, where they are known: the pinned memory lies there then."""
    try:
        with open("/sys/bus/pci/devices/%s/local_cpulist" % bus_id) as file:
            parts = [part.split("-") for part in file.read().strip().split(",")]
        near = {cpu for part in parts for cpu in range(int(part[0]), int(part[-1]) + 1)}
    except (OSError, ValueError):
        near = set()
    _on(near & _ALLOWED or _ALLOWED)


def _on(processors: Set[int]) -> None:
    try:
        os.sched_setaffinity(0, processors)
    except (AttributeError, OSError):
        # Not every system lets a thread choose.
        return


_ALLOWED: Set[int] = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def measure(job: Dict[str, Any], tell: Tell, stop: threading.Event) -> bool:
    """Measure as the job says (`limit_s`, `even_if_busy`) and tell of it; whether it came to its end."""
    return Measuring(job, tell, stop).run()
