"""Speaks to `libcuda.so.1` by ctypes: contexts, buffers, copies, kernels, and times between events on the GPU.

Standard library only, Python 3.6 and later. What it takes it gives back: each `Device` frees everything in `close`,
also after an error. Tested against a library of our own with the same functions; never run on a GPU.
"""

import ctypes
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

P, U, S, D = ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t, ctypes.c_uint64
I, CHARS = ctypes.c_int, ctypes.c_char_p  # noqa: E741 (ctypes' types by one letter: the table below is read by rows)

REQUIRED: Dict[str, Tuple[Any, ...]] = {
    "cuInit": (U,),
    "cuDriverGetVersion": (P,),
    "cuDeviceGetCount": (P,),
    "cuDeviceGet": (P, I),
    "cuDeviceGetName": (CHARS, I, I),
    "cuDeviceGetAttribute": (P, I, I),
    "cuDeviceTotalMem_v2": (P, I),
    "cuDeviceGetPCIBusId": (CHARS, I, I),
    "cuDevicePrimaryCtxRetain": (P, I),
    "cuDevicePrimaryCtxRelease_v2": (I,),
    "cuCtxSetCurrent": (P,),
    "cuMemAlloc_v2": (P, S),
    "cuMemFree_v2": (D,),
    "cuMemHostAlloc": (P, S, U),
    "cuMemFreeHost": (P,),
    "cuMemcpyHtoDAsync_v2": (D, P, S, P),
    "cuMemcpyDtoHAsync_v2": (P, D, S, P),
    "cuMemcpyDtoDAsync_v2": (D, D, S, P),
    "cuStreamCreate": (P, U),
    "cuStreamDestroy_v2": (P,),
    "cuEventCreate": (P, U),
    "cuEventDestroy_v2": (P,),
    "cuEventRecord": (P, P),
    "cuEventQuery": (P,),
    "cuEventElapsedTime": (P, P, P),
}
"""Without one of these nothing is measured."""
OPTIONAL: Dict[str, Tuple[Any, ...]] = {
    "cuGetErrorName": (I, P),
    "cuDeviceGetUuid": (P, I),
    "cuModuleLoadData": (P, P),
    "cuModuleUnload": (P,),
    "cuModuleGetFunction": (P, P, CHARS),
    "cuLaunchKernel": (P, U, U, U, U, U, U, U, P, P, P),
    "cuDeviceCanAccessPeer": (P, I, I),
    "cuCtxEnablePeerAccess": (P, U),
    "cuMemcpyPeerAsync": (D, P, D, P, S, P),
    "cuStreamWaitEvent": (P, P, U),
    "cuMemsetD32Async": (D, U, S, P),
}
"""Without one of these a part is not measured, and that is said."""

OUT_OF_MEMORY, NO_DEVICE, NOT_READY, PEER_ALREADY_ENABLED = 2, 100, 600, 704
REASONS = {
    OUT_OF_MEMORY: "out_of_memory", 3: "driver_not_ready", 46: "device_unavailable", NO_DEVICE: "no_device",
    101: "no_device", 209: "no_code_for_gpu", 214: "ecc_error", 217: "no_peer_access", 218: "bad_kernel",
    222: "unknown_kernel_version", 700: "gpu_fault", 702: "gpu_fault", 719: "gpu_fault", 802: "fabric_not_ready",
    803: "driver_mismatch", 804: "not_compatible", 999: "unknown",
}  # fmt: skip
"""Codes of cuda.h, "CUresult", in words."""
ENDS_CONTEXT = ("ecc_error", "gpu_fault", "unknown", "device_unavailable")
"""After one of these nothing works in the context any more."""
_CAPABILITY_MAJOR, _CAPABILITY_MINOR, _MULTIPROCESSORS = 75, 76, 16
_NON_BLOCKING = 1
REPETITIONS = 10
ROUNDS = 5


class CudaFault(Exception):
    """A call that failed. `reason`: a word for programs; `said`: the driver's own name of the error and the call."""

    def __init__(self, reason: str, said: str) -> None:
        super().__init__(reason, said)
        self.reason = reason
        self.said = said


class Ended(Exception):
    """Nothing more is to be measured. `reason`: "stopped" or "out_of_time"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Driver:
    """The driver's library, with the arguments of each function declared."""

    def __init__(self) -> None:
        """Raises CudaFault: "no_library", "missing_symbol", or what `cuInit` says."""
        try:
            library = ctypes.CDLL("libcuda.so.1")
        except OSError:
            raise CudaFault("no_library", "libcuda.so.1") from None
        self._functions: Dict[str, Any] = {}
        self.missing: List[str] = []
        for name, arguments in list(REQUIRED.items()) + list(OPTIONAL.items()):
            try:
                function = getattr(library, name)
            except AttributeError:
                self.missing.append(name)
                continue
            function.argtypes, function.restype = arguments, ctypes.c_int
            self._functions[name] = function
        lacking = [name for name in self.missing if name in REQUIRED]
        if lacking:
            raise CudaFault("missing_symbol", ", ".join(lacking))
        self.call("cuInit", 0)

    def call(self, name: str, *arguments: Any) -> None:
        """Raises CudaFault where the driver says no, or does not have the function."""
        code = self.code(name, *arguments)
        if code != 0:
            raise self.fault(code, name)

    def code(self, name: str, *arguments: Any) -> int:
        """What the driver answers. Raises CudaFault where it does not have the function."""
        function = self._functions.get(name)
        if function is None:
            raise CudaFault("missing_symbol", name)
        return int(function(*arguments))

    def fault(self, code: int, name: str) -> CudaFault:
        """An error of the driver in its own words."""
        text = ctypes.c_char_p()
        own = self._functions.get("cuGetErrorName")
        known = own is not None and own(code, ctypes.byref(text)) == 0 and text.value
        word = text.value.decode("ascii", "replace") if known and text.value else "error"
        return CudaFault(REASONS.get(code, "driver_error"), "%s (%d) from %s" % (word, code, name))

    def number(self, name: str, *arguments: Any) -> int:
        """A whole number that a function gives through its first argument."""
        value = ctypes.c_int()
        self.call(name, ctypes.byref(value), *arguments)
        return value.value


class Device:
    """One GPU. Nothing is taken before `open`; `close` gives back all that was."""

    def __init__(self, driver: Driver, index: int, ended: Callable[[], None]) -> None:
        """`ended` raises Ended when it is time to leave."""
        self._driver = driver
        self._ended = ended
        self.index = index
        self._handle = driver.number("cuDeviceGet", index)
        name, bus = ctypes.create_string_buffer(200), ctypes.create_string_buffer(32)
        driver.call("cuDeviceGetName", name, 200, self._handle)
        driver.call("cuDeviceGetPCIBusId", bus, 32, self._handle)
        self.name = name.value.decode("utf-8", "replace")
        self.bus_id = bus.value.decode("ascii", "replace").lower()
        self.capability = (self._attribute(_CAPABILITY_MAJOR), self._attribute(_CAPABILITY_MINOR))
        self.multiprocessors = self._attribute(_MULTIPROCESSORS)
        total = ctypes.c_size_t()
        driver.call("cuDeviceTotalMem_v2", ctypes.byref(total), self._handle)
        self.memory_bytes = total.value
        self.context = ctypes.c_void_p()
        self.stream = ctypes.c_void_p()
        self._events: List[Any] = []
        self._second = ctypes.c_void_p()
        self._memory: List[int] = []
        self._pinned: List[Any] = []
        self._modules: List[Any] = []
        self.dead = ""
        """Why nothing works on it any more."""

    def _attribute(self, which: int) -> int:
        return self._driver.number("cuDeviceGetAttribute", which, self._handle)

    def open(self) -> None:
        """Retain the primary context (cuBLAS and NCCL work in the same one), and make a stream and two events."""
        self._driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self._handle)
        self.use()
        self._driver.call("cuStreamCreate", ctypes.byref(self.stream), _NON_BLOCKING)
        for _ in range(2):
            self._event()

    def _event(self) -> Any:
        event = ctypes.c_void_p()
        self._driver.call("cuEventCreate", ctypes.byref(event), 0)
        self._events.append(event)
        return event

    def use(self) -> None:
        """Make its context that of this thread."""
        self._driver.call("cuCtxSetCurrent", self.context)

    def memory(self, size: int) -> int:
        """A buffer on the GPU: its address."""
        address = ctypes.c_uint64()
        self._driver.call("cuMemAlloc_v2", ctypes.byref(address), size)
        self._memory.append(address.value)
        return address.value

    def pinned(self, size: int) -> Any:
        """A buffer in the host's memory that is not moved: its address."""
        address = ctypes.c_void_p()
        self._driver.call("cuMemHostAlloc", ctypes.byref(address), size, 1)
        self._pinned.append(address)
        return address

    def kernel(self, ptx: str, name: str) -> Any:
        """A kernel, compiled by the driver."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self._driver.call("cuModuleLoadData", ctypes.byref(module), ptx.encode("ascii") + b"\0")
        self._modules.append(module)
        self._driver.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode("ascii"))
        return function

    def launch(self, kernel: Any, blocks: int, threads: int, values: List[Any]) -> None:
        """Start a kernel with these arguments."""
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        self._driver.call("cuLaunchKernel", kernel, blocks, 1, 1, threads, 1, 1, 0, self.stream, pointers, None)

    def copy(self, name: str, *arguments: Any) -> None:
        """One of the driver's copies, in the stream."""
        self._driver.call(name, *arguments, self.stream)

    def fill(self, address: int, word: int, count: int) -> None:
        """Write the same 32 bits so many times, in the stream."""
        self.use()
        self._driver.call("cuMemsetD32Async", address, word, count, self.stream)

    def read(self, address: int, size: int) -> bytes:
        """What lies in the GPU's memory, after all that was started before. Raises Ended, CudaFault."""
        self.use()
        space = ctypes.create_string_buffer(size)
        self._driver.call("cuMemcpyDtoHAsync_v2", space, address, size, self.stream)
        self._driver.call("cuEventRecord", self._events[1], self.stream)
        self._wait(self._events[1])
        return space.raw

    def at_once(self, one: Tuple[Any, ...], other: Tuple[Any, ...]) -> None:
        """Two of the driver's copies at the same time, the other in a second stream; the first one waits for it."""
        if not self._second.value:
            self._driver.call("cuStreamCreate", ctypes.byref(self._second), _NON_BLOCKING)
            self._event()
            self._event()
        begin, end = self._events[2:4]
        self._driver.call("cuEventRecord", begin, self.stream)
        self._driver.call("cuStreamWaitEvent", self._second, begin, 0)
        self._driver.call(*one, self.stream)
        self._driver.call(*other, self._second)
        self._driver.call("cuEventRecord", end, self._second)
        self._driver.call("cuStreamWaitEvent", self.stream, end, 0)

    def timed(self, work: Callable[[], None], budget_s: float) -> Tuple[float, int]:
        """Seconds of one piece of work (the median of five rounds), and how many pieces a round has.

        A round has ten unless that takes longer than `budget_s`. Raises Ended, CudaFault.
        """
        self.use()
        self._between(work, 1)
        once = self._between(work, 1)
        count = REPETITIONS if once <= 0 else max(1, min(REPETITIONS, int(budget_s / once)))
        rounds = sorted(self._between(work, count) / count for _ in range(ROUNDS))
        return rounds[ROUNDS // 2], count

    def _between(self, work: Callable[[], None], count: int) -> float:
        """Seconds between two events on the GPU with the work between them."""
        self._ended()
        first, last = self._events[:2]
        self._driver.call("cuEventRecord", first, self.stream)
        for _ in range(count):
            work()
        self._driver.call("cuEventRecord", last, self.stream)
        self._wait(last)
        elapsed_ms = ctypes.c_float()
        self._driver.call("cuEventElapsedTime", ctypes.byref(elapsed_ms), first, last)
        return elapsed_ms.value / 1000.0

    def _wait(self, event: Any) -> None:
        """Until the GPU has come to an event. Raises Ended: a wait inside of the driver would not end before it."""
        while True:
            code = self._driver.code("cuEventQuery", event)
            if code == 0:
                return
            if code != NOT_READY:
                raise self._driver.fault(code, "cuEventQuery")
            self._ended()
            time.sleep(0.0002)  # The driver has no wait that a cancel could end; a busy one would heat a core.

    def reaches(self, other: "Device") -> bool:
        """Whether copies to the other GPU go directly; that is enabled here where it can be."""
        if not self._driver.number("cuDeviceCanAccessPeer", self._handle, other.handle):
            return False
        self.use()
        code = self._driver.code("cuCtxEnablePeerAccess", other.context, 0)
        return code in (0, PEER_ALREADY_ENABLED)

    @property
    def handle(self) -> int:
        """The driver's number of the GPU."""
        return self._handle

    def release(self) -> None:
        """Free the buffers and kernels; the context stays. Goes on where one of them cannot be freed."""
        if not self.context.value:
            return
        self._driver.code("cuCtxSetCurrent", self.context)
        for address in self._memory:
            self._driver.code("cuMemFree_v2", address)
        for pinned in self._pinned:
            self._driver.code("cuMemFreeHost", pinned)
        for module in self._modules:
            self._driver.code("cuModuleUnload", module)
        self._memory, self._pinned, self._modules = [], [], []

    def close(self) -> None:
        """Give everything back, the context last."""
        if not self.context.value:
            return
        self.release()
        for event in self._events:
            self._driver.code("cuEventDestroy_v2", event)
        self._events = []
        for stream in (self._second, self.stream):
            if stream.value:
                self._driver.code("cuStreamDestroy_v2", stream)
        self._driver.code("cuDevicePrimaryCtxRelease_v2", self._handle)
        self.context, self.stream, self._second = (ctypes.c_void_p() for _ in range(3))


def uuid_of(driver: Driver, device: Device) -> Optional[str]:
    """The GPU's UUID as `nvidia-smi` prints it; None where the driver does not say it."""
    space = (ctypes.c_ubyte * 16)()
    try:
        driver.call("cuDeviceGetUuid", space, device.handle)
    except CudaFault:
        return None
    text = bytes(space).hex()
    return "GPU-" + "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
