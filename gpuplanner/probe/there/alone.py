"""What one GPU does by itself: copies from and to the host, its own memory, arithmetic, matrix products.

Standard library only, Python 3.6 and later. Takes at most `MOST_BYTES` of the GPU at a time and gives it back after
each step. Never run on a GPU: tested against libraries of our own with recorded rates.
"""

import ctypes
import os
from functools import partial
from typing import Any, Callable, Dict, Optional, Set, Tuple

from gpuplanner.probe.there.cuda import Device
from gpuplanner.probe.there.kernels import (
    BLOCKS_PER_SM,
    FMA_FLOP,
    MMA_FLOP,
    THREADS,
    copy_ptx,
    fma_ptx,
    mma_ptx,
)
from gpuplanner.probe.there.libraries import MATRIX_KINDS, Cublas
from gpuplanner.probe.there.lt import LT_KINDS, SCALE_OF_ONE, WORKSPACE_BYTES, CublasLt
from gpuplanner.probe.there.report import Report

MEBIBYTE = 1 << 20
LARGEST = 256 * MEBIBYTE
SIZES = (64 << 10, MEBIBYTE, 16 * MEBIBYTE, LARGEST)
USUAL_BYTES = 64 * MEBIBYTE
"""Of memory that may be moved: the driver copies it in pieces, so that more of it tells nothing more."""
MOST_BYTES = 2 * LARGEST
"""Buffers on one GPU at any time. The driver's context and a library's own workspace come on top."""
ALONE = ("host_to_device", "device_to_host", "both_ways", "device_memory", "arithmetic", "matrix", "matrix_lt")
"""The steps, in their order."""
FEW_GPUS = 4
"""With more of them each gets less time, so that all are done within the limit."""
COPY_BUDGET_S = 0.12
"""How long a round of copies may take; slow paths are copied less often."""
KERNEL_BUDGET_S = 0.1
FMA_ROUNDS = 4096
MMA_ROUNDS = 512
MATRIX_SIZE = 8192
SMALL_MATRIX_SIZE = 4096
"""For FP32, whose product of the larger size takes seconds on a slow GPU."""


class Alone:
    """The steps of one GPU after the other. `pace`: 1, or the share of the time that a round may take."""

    def __init__(self, report: Report, pace: float) -> None:
        self._report = report
        self._pace = pace
        self._numbers = b""

    def measure(self, device: Device, gpu: int) -> None:
        """Do the wanted steps of a GPU, `gpu` being its number."""
        report = self._report
        steps: Dict[str, Callable[[Device, int], None]] = {
            "host_to_device": self._to_device, "device_to_host": self._to_host, "both_ways": self._both_ways,
            "device_memory": self._own_memory, "arithmetic": self._arithmetic, "matrix": self._matrices,
            "matrix_lt": self._narrow_matrices,
        }  # fmt: skip
        wanted = [what for what in ALONE if report.wants(what)]
        near(device.bus_id)
        if not report.tried(device.open, "context", gpu, device):
            device.close()
            report.passed(len(wanted))
            return
        for what in wanted:
            report.progress(what, gpu)
            report.tried(partial(steps[what], device, gpu), what, gpu, device)
            device.release()

    def _timed(self, device: Device, gpu: int, work: Callable[[], None], budget_s: float) -> Tuple[float, int]:
        self._report.conditions.begin(gpu)
        return device.timed(work, budget_s * self._pace)

    def _to_device(self, device: Device, gpu: int) -> None:
        """From memory that is not moved, by size, and from the memory that programs usually have."""
        there, here = device.memory(LARGEST), device.pinned(LARGEST)
        for size in SIZES:
            copy = partial(device.copy, "cuMemcpyHtoDAsync_v2", there, here, size)
            seconds, count = self._timed(device, gpu, copy, COPY_BUDGET_S)
            self._report.bandwidth("host_to_device", None, gpu, size, size, seconds, count, "pinned")
        copy = partial(device.copy, "cuMemcpyHtoDAsync_v2", there, _usual_memory(USUAL_BYTES), USUAL_BYTES)
        seconds, count = self._timed(device, gpu, copy, COPY_BUDGET_S)
        self._report.bandwidth("host_to_device", None, gpu, USUAL_BYTES, USUAL_BYTES, seconds, count, "pageable")

    def _to_host(self, device: Device, gpu: int) -> None:
        there, here = device.memory(LARGEST), device.pinned(LARGEST)
        for size in SIZES:
            copy = partial(device.copy, "cuMemcpyDtoHAsync_v2", here, there, size)
            seconds, count = self._timed(device, gpu, copy, COPY_BUDGET_S)
            self._report.bandwidth("device_to_host", gpu, None, size, size, seconds, count, "pinned")
        copy = partial(device.copy, "cuMemcpyDtoHAsync_v2", _usual_memory(USUAL_BYTES), there, USUAL_BYTES)
        seconds, count = self._timed(device, gpu, copy, COPY_BUDGET_S)
        self._report.bandwidth("device_to_host", gpu, None, USUAL_BYTES, USUAL_BYTES, seconds, count, "pageable")

    def _both_ways(self, device: Device, gpu: int) -> None:
        """Both directions at once: what is moved is counted of both."""
        one, other = device.memory(LARGEST), device.memory(LARGEST)
        source, target = device.pinned(LARGEST), device.pinned(LARGEST)
        down: Tuple[Any, ...] = ("cuMemcpyHtoDAsync_v2", one, source, LARGEST)
        up: Tuple[Any, ...] = ("cuMemcpyDtoHAsync_v2", target, other, LARGEST)
        seconds, count = self._timed(device, gpu, partial(device.at_once, down, up), COPY_BUDGET_S)
        self._report.bandwidth(
            "host_to_device", None, gpu, LARGEST, 2 * LARGEST, seconds, count, "pinned", both_ways=True
        )

    def _own_memory(self, device: Device, gpu: int) -> None:
        """Bytes read plus bytes written; only sizes that no cache holds."""
        source, target = device.memory(LARGEST), device.memory(LARGEST)
        copy = partial(device.copy, "cuMemcpyDtoDAsync_v2", target, source, LARGEST)
        seconds, count = self._timed(device, gpu, copy, KERNEL_BUDGET_S)
        self._report.bandwidth("device_memory", gpu, gpu, LARGEST, 2 * LARGEST, seconds, count, "copy_engine")
        kernel = device.kernel(copy_ptx(), "copy")
        blocks = device.multiprocessors * BLOCKS_PER_SM
        values = [
            ctypes.c_uint64(target), ctypes.c_uint64(source), ctypes.c_uint32(LARGEST // 16),
            ctypes.c_uint32(blocks * THREADS),
        ]  # fmt: skip
        launch = partial(device.launch, kernel, blocks, THREADS, values)
        seconds, count = self._timed(device, gpu, launch, KERNEL_BUDGET_S)
        self._report.bandwidth("device_memory", gpu, gpu, LARGEST, 2 * LARGEST, seconds, count, "kernel")

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
            launch = partial(device.launch, kernel, blocks, THREADS, values)
            seconds, count = self._timed(device, gpu, launch, KERNEL_BUDGET_S)
            self._report.rate(gpu, dtype, path, float(flop) * rounds, seconds, count, None)

    def _matrices(self, device: Device, gpu: int) -> None:
        """Formats that cuBLAS itself multiplies."""
        device.use()
        library = Cublas(device.stream)
        try:
            for kind in MATRIX_KINDS:
                if device.capability >= kind[1]:
                    self._report.tried(partial(self._product, device, gpu, library, kind), "matrix", gpu, device)
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
        multiply = partial(library.multiply, kind, size, one, other, product)
        seconds, count = self._timed(device, gpu, multiply, KERNEL_BUDGET_S)
        self._report.rate(gpu, dtype, "cublas", 2.0 * size**3, seconds, count, size)

    def _narrow_matrices(self, device: Device, gpu: int) -> None:
        """FP8 and FP4, which cuBLASLt alone multiplies, where the GPU has units for them."""
        kinds = [kind for kind in LT_KINDS if device.capability >= kind.least_capability]
        if not kinds:
            return
        device.use()
        library = CublasLt(device.stream)
        try:
            for kind in kinds:
                step = partial(self._narrow_product, device, gpu, library, kind)
                self._report.tried(step, "matrix_lt", gpu, device)
                device.release()
        finally:
            library.close()

    def _narrow_product(self, device: Device, gpu: int, library: CublasLt, kind: Any) -> None:
        size = MATRIX_SIZE
        one, other = (device.memory(size * size * kind.bits // 8) for _ in range(2))
        product, workspace = device.memory(size * size * 2), device.memory(WORKSPACE_BYTES)
        scales = [device.memory(kind.scale_bytes(size)) for _ in range(2)]
        for operand in (one, other):
            self._fill(device, operand, size * size * kind.bits // 8)
        tile = SCALE_OF_ONE[kind.scale] * (MEBIBYTE // len(SCALE_OF_ONE[kind.scale]))
        for scale in scales:
            self._repeat(device, scale, kind.scale_bytes(size), tile)
        work = library.prepared(kind, size, (one, other, product), (scales[0], scales[1]), workspace)
        try:
            seconds, count = self._timed(device, gpu, work.multiply, KERNEL_BUDGET_S)
        finally:
            work.close()
        self._report.rate(gpu, kind.dtype, "cublaslt", 2.0 * size**3, seconds, count, size)

    def _fill(self, device: Device, address: int, size: int) -> None:
        """Numbers between 0.5 and 2 of either sign in BF16 and FP32: zeros would need less power than real work.

        As FP8 (E4M3) no byte of them is no number: 0x7F and 0xFF are left out.
        """
        if not self._numbers:
            half = MEBIBYTE // 2
            tile = bytearray(MEBIBYTE)
            numbers = bytes((at & 0xFE) if at in (0x7F, 0xFF) else at for at in range(256))
            tile[0::2] = os.urandom(half).translate(numbers)
            tile[1::2] = os.urandom(half).translate(bytes(0x3F if at < 128 else 0xBF for at in range(256)))
            self._numbers = bytes(tile)
        self._repeat(device, address, size, self._numbers)

    def _repeat(self, device: Device, address: int, size: int, tile: bytes) -> None:
        for at in range(0, size, len(tile)):
            device.copy("cuMemcpyHtoDAsync_v2", address + at, tile, min(len(tile), size - at))


def _usual_memory(size: int) -> Any:
    """Memory as `malloc` gives it, written to: untouched, all of it would be one page of zeros in a cache."""
    memory = ctypes.create_string_buffer(size)
    ctypes.memset(memory, 1, size)
    return memory


def near(bus_id: Optional[str]) -> None:
    """Run on the processors beside a GPU from now on, where they are known: the pinned memory lies there then.

    Without a GPU on all again.
    """
    beside: Set[int] = set()
    if bus_id is not None:
        try:
            with open("/sys/bus/pci/devices/%s/local_cpulist" % bus_id) as file:
                parts = [part.split("-") for part in file.read().strip().split(",")]
            beside = {cpu for part in parts for cpu in range(int(part[0]), int(part[-1]) + 1)}
        except (OSError, ValueError):
            beside = set()
    try:
        os.sched_setaffinity(0, beside & _ALLOWED or _ALLOWED)
    except (AttributeError, OSError):
        # Not every system lets a thread choose.
        return


_ALLOWED: Set[int] = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
