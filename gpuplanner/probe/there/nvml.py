"""Reads GPUs through `libnvidia-ml.so.1` by ctypes. Reads only: no function here sets anything.

Standard library only, Python 3.6 and later. A value that the driver does not give is left out, and why is in `absent`.
Numbers of functions, fields and errors: nvml.h, as the `nvidia-ml-py` package carries them.
"""

import ctypes
from typing import Any, Dict, List, Optional, Sequence, Tuple

NVML_ERRORS = {
    1: "uninitialized", 2: "invalid_argument", 3: "not_supported", 4: "no_permission", 6: "not_found",
    7: "insufficient_size", 8: "insufficient_power", 9: "driver_not_loaded", 10: "timeout", 12: "library_not_found",
    13: "function_not_found", 15: "gpu_is_lost", 16: "reset_required", 17: "operating_system",
    18: "library_version_mismatch", 20: "memory", 21: "no_data", 25: "argument_version_mismatch", 26: "deprecated",
    27: "not_ready", 999: "unknown",
}  # fmt: skip
INSUFFICIENT_SIZE = 7
NEVER = (3, 13)
"""What a GPU does not support, and what a driver does not have, will not come by asking again."""
LOST = ("gpu_is_lost", "reset_required")
MOST_PROCESSES = 256
MOST_XIDS = 64
"""Of one look."""
_NVLINK_SENT_KIB, _NVLINK_RECEIVED_KIB = 138, 139
_ALL_LINKS = 0xFFFFFFFF
_NO_NUMBER = 0xFFFFFFFFFFFFFFFF
_XID_EVENT = 0x8


class NvmlFault(Exception):
    """NVML cannot be used. `reason`: a word of `NVML_ERRORS`, or "no_library"."""

    def __init__(self, reason: str, said: str) -> None:
        super().__init__(reason, said)
        self.reason = reason
        self.said = said


class FieldValue(ctypes.Structure):
    """nvmlFieldValue_t."""

    _fields_ = [
        ("field", ctypes.c_uint32), ("scope", ctypes.c_uint32), ("timestamp", ctypes.c_int64),
        ("latency_us", ctypes.c_int64), ("kind", ctypes.c_int), ("code", ctypes.c_int), ("value", ctypes.c_uint64),
    ]  # fmt: skip


class ProcessOf(ctypes.Structure):
    """nvmlProcessInfo_t of the functions with `_v2` and `_v3`."""

    _fields_ = [
        ("pid", ctypes.c_uint32), ("used_bytes", ctypes.c_uint64), ("gpu_instance", ctypes.c_uint32),
        ("compute_instance", ctypes.c_uint32),
    ]  # fmt: skip


class EventData(ctypes.Structure):
    """nvmlEventData_t."""

    _fields_ = [
        ("device", ctypes.c_void_p), ("kind", ctypes.c_ulonglong), ("data", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint32), ("compute_instance", ctypes.c_uint32),
    ]  # fmt: skip


class ProcessOfOld(ctypes.Structure):
    """nvmlProcessInfo_t of the function without a number."""

    _fields_ = [("pid", ctypes.c_uint32), ("used_bytes", ctypes.c_uint64)]


_PROCESSES: Tuple[Tuple[str, Any], ...] = (
    ("nvmlDeviceGetComputeRunningProcesses_v3", ProcessOf),
    ("nvmlDeviceGetComputeRunningProcesses_v2", ProcessOf),
    ("nvmlDeviceGetComputeRunningProcesses", ProcessOfOld),
)
_CLOCK_SM, _CLOCK_MEMORY = 1, 2
_QUICK: Tuple[Tuple[str, Tuple[str, ...], Tuple[int, ...], Any, float], ...] = (
    # Name of the value, names of the function, what stands before the pointer, type, factor.
    ("power_w", ("nvmlDeviceGetPowerUsage",), (), ctypes.c_uint, 0.001),
    ("temperature_c", ("nvmlDeviceGetTemperature",), (0,), ctypes.c_uint, 1),
    ("clock_sm_mhz", ("nvmlDeviceGetClockInfo",), (_CLOCK_SM,), ctypes.c_uint, 1),
    ("clock_memory_mhz", ("nvmlDeviceGetClockInfo",), (_CLOCK_MEMORY,), ctypes.c_uint, 1),
    ("throttle_reasons", ("nvmlDeviceGetCurrentClocksThrottleReasons", "nvmlDeviceGetCurrentClocksEventReasons"), (),
     ctypes.c_ulonglong, 1),
    ("pcie_gen", ("nvmlDeviceGetCurrPcieLinkGeneration",), (), ctypes.c_uint, 1),
    ("pcie_width", ("nvmlDeviceGetCurrPcieLinkWidth",), (), ctypes.c_uint, 1),
    ("use", ("nvmlDeviceGetUtilizationRates",), (), ctypes.c_uint * 2, 1),
    ("memory", ("nvmlDeviceGetMemoryInfo",), (), ctypes.c_ulonglong * 3, 1),
)  # fmt: skip
_SLOW: Tuple[Tuple[str, Tuple[str, ...], Tuple[int, ...], Any, float], ...] = (
    # The driver counts PCIe's traffic in KB.
    ("pcie_sent_mb_per_s", ("nvmlDeviceGetPcieThroughput",), (0,), ctypes.c_uint, 0.001),
    ("pcie_received_mb_per_s", ("nvmlDeviceGetPcieThroughput",), (1,), ctypes.c_uint, 0.001),
    ("power_limit_w", ("nvmlDeviceGetEnforcedPowerLimit",), (), ctypes.c_uint, 0.001),
    ("clock_sm_max_mhz", ("nvmlDeviceGetMaxClockInfo",), (_CLOCK_SM,), ctypes.c_uint, 1),
)  # fmt: skip
_NAMES = {"use": "utilization_percent", "memory": "memory_used_mib"}
"""Under which name the lack of two values at once is noted."""


class _Asked:
    """A function with its arguments and the space for its answer, put together once: asking is cheap then."""

    def __init__(self, nvml: "Nvml", row: Tuple[str, Tuple[str, ...], Tuple[int, ...], Any, float], handle: Any):
        self.value, names, before, kind, self.factor = row
        self.space = kind()
        self.arguments = (handle, *before, ctypes.byref(self.space))
        self.function = nvml.function(names)


class Nvml:
    """An open NVML. Raises NvmlFault where there is none."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            raise NvmlFault("no_library", "libnvidia-ml.so.1") from None
        self.absent: Dict[str, str] = {}
        self._plans: Dict[Tuple[int, int], List[_Asked]] = {}
        self._init()

    def _init(self) -> None:
        code = self._code("nvmlInit_v2")
        if code:
            raise NvmlFault(NVML_ERRORS.get(code, "error_%d" % code), "nvmlInit_v2")

    def close(self) -> None:
        """Let it go."""
        self._code("nvmlShutdown")

    def count(self) -> int:
        """How many GPUs it names."""
        number = ctypes.c_uint()
        return number.value if self._code("nvmlDeviceGetCount_v2", ctypes.byref(number)) == 0 else 0

    def at(self, index: int) -> Optional[Any]:
        """The handle of the GPU with that index; None where it cannot be had, as of a lost one."""
        handle = ctypes.c_void_p()
        return None if self._code("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(handle)) else handle

    def handles(self) -> List[Tuple[int, Optional[Any]]]:
        """The index of every GPU, and its handle as `at` gives it."""
        return [(index, self.at(index)) for index in range(self.count())]

    def at_bus(self, bus_id: str) -> Optional[Any]:
        """The handle of the GPU at a PCI address; None where there is none."""
        handle = ctypes.c_void_p()
        code = self._code("nvmlDeviceGetHandleByPciBusId_v2", bus_id.encode("ascii"), ctypes.byref(handle))
        return None if code else handle

    def text(self, name: str, handle: Any) -> str:
        """A name or UUID; empty where there is none."""
        space = ctypes.create_string_buffer(96)
        return "" if self._code(name, handle, space, 96) else space.value.decode("utf-8", "replace")

    def processes_run(self, handle: Any) -> Optional[bool]:
        """Whether anybody computes on a GPU; None where NVML does not say. Needs no structure of any version."""
        for name, _ in _PROCESSES:
            count = ctypes.c_uint(0)
            code = self._code(name, handle, ctypes.byref(count), None)
            if code in (0, INSUFFICIENT_SIZE):
                return code == INSUFFICIENT_SIZE or count.value > 0
        return None

    def processes(self, handle: Any) -> List[Dict[str, Any]]:
        """Who computes on a GPU, and the bytes of its memory that each has where the driver says it."""
        for name, kind in _PROCESSES:
            space = (kind * MOST_PROCESSES)()
            count = ctypes.c_uint(MOST_PROCESSES)
            if self._code(name, handle, ctypes.byref(count), space) == 0:
                return [
                    {"pid": one.pid, "used_bytes": None if one.used_bytes == _NO_NUMBER else one.used_bytes}
                    for one in space[: min(count.value, MOST_PROCESSES)]
                ]
        return []

    def quick(self, handle: Any) -> Dict[str, float]:
        """What may be asked ten times a second: power, temperature, clocks, throttling, PCIe link, use, memory."""
        values: Dict[str, float] = {}
        for asked in self._asked(_QUICK, handle):
            if not self._answered(asked):
                continue
            space = asked.space
            if asked.value == "use":
                values["utilization_percent"], values["memory_percent"] = space[0], space[1]
            elif asked.value == "memory":
                values["memory_used_mib"] = round(space[2] / 1048576.0, 1)
            else:
                values[asked.value] = space.value if asked.factor == 1 else round(space.value * asked.factor, 3)
        return values

    def slow(self, handle: Any) -> Dict[str, float]:
        """What takes the driver long (20 ms for each direction of PCIe), or seldom changes: once a second.

        PCIe in MB/s; `nvlink_*_kib` are counters since the driver was loaded, of all links together.
        """
        values: Dict[str, float] = {}
        for asked in self._asked(_SLOW, handle):
            if self._answered(asked):
                answer = asked.space.value
                values[asked.value] = answer if asked.factor == 1 else round(answer * asked.factor, 3)
        memory = (ctypes.c_ulonglong * 3)()
        if self._noted("memory_total_mib", ("nvmlDeviceGetMemoryInfo",), handle, memory):
            values["memory_total_mib"] = round(memory[0] / 1048576.0, 1)
        for value, name in (
            ("encoder_percent", "nvmlDeviceGetEncoderUtilization"),
            ("decoder_percent", "nvmlDeviceGetDecoderUtilization"),
        ):
            use, period = ctypes.c_uint(), ctypes.c_uint()
            if self._noted(value, (name,), handle, ctypes.byref(use), ctypes.byref(period)):
                values[value] = use.value
        fields = (FieldValue * 2)()
        fields[0].field, fields[1].field = _NVLINK_SENT_KIB, _NVLINK_RECEIVED_KIB
        fields[0].scope = fields[1].scope = _ALL_LINKS
        if self._noted("nvlink_sent_kib", ("nvmlDeviceGetFieldValues",), handle, 2, fields):
            for value, field in (("nvlink_sent_kib", fields[0]), ("nvlink_received_kib", fields[1])):
                if field.code == 0:
                    values[value] = field.value
                else:
                    self.absent[value] = NVML_ERRORS.get(field.code, "error_%d" % field.code)
        return values

    def lost(self, handle: Any) -> bool:
        """Whether the GPU has fallen off the bus or waits to be reset."""
        space = ctypes.c_uint()
        code = self._code("nvmlDeviceGetTemperature", handle, 0, ctypes.byref(space))
        return NVML_ERRORS.get(code) in LOST

    def xids_of(self, handles: List[Tuple[int, Any]]) -> Optional["Xids"]:
        """Hears of the Xids of these GPUs as the driver tells them, which needs no root; None where it does not."""
        space = ctypes.c_void_p()
        code = self._code("nvmlEventSetCreate", ctypes.byref(space))
        if code == 0:
            gpus = {}
            for gpu, handle in handles:
                code = self._code("nvmlDeviceRegisterEvents", handle, ctypes.c_ulonglong(_XID_EVENT), space)
                if code == 0:
                    gpus[handle.value] = gpu
            if gpus:
                return Xids(self, space, gpus)
            self._code("nvmlEventSetFree", space)
        self.absent["xid"] = NVML_ERRORS.get(code, "error_%d" % code)
        return None

    def function(self, names: Tuple[str, ...]) -> Any:
        """The first function of these names that this library has; None where it has none."""
        return next((getattr(self._library, name) for name in names if hasattr(self._library, name)), None)

    def _asked(self, rows: Tuple[Any, ...], handle: Any) -> List[_Asked]:
        """What is asked of a GPU; what it can never answer is asked once."""
        key = (id(rows), handle.value)
        if key not in self._plans:
            made = [_Asked(self, row, handle) for row in rows]
            self._plans[key] = [asked for asked in made if self._answered(asked) or self._code_of(asked) not in NEVER]
        return self._plans[key]

    def _code_of(self, asked: _Asked) -> int:
        return 13 if asked.function is None else int(asked.function(*asked.arguments))

    def _answered(self, asked: _Asked) -> bool:
        code = self._code_of(asked)
        name = _NAMES.get(asked.value, asked.value)
        if code == 0:
            if self.absent:
                self.absent.pop(name, None)
            return True
        self.absent[name] = NVML_ERRORS.get(code, "error_%d" % code)
        return False

    def _noted(self, value: str, names: Tuple[str, ...], *arguments: Any) -> bool:
        """Call the first function of these names that there is; why there is no value is kept."""
        code = 13
        for name in names:
            code = self._code(name, *arguments)
            if code != 13:
                break
        if code == 0:
            self.absent.pop(value, None)
            return True
        self.absent[value] = NVML_ERRORS.get(code, "error_%d" % code)
        return False

    def _code(self, name: str, *arguments: Any) -> int:
        try:
            return int(getattr(self._library, name)(*arguments))
        except AttributeError:
            # An older driver's library does not have the function: as if it said so itself.
            return 13

    def wait(self, space: Any, data: EventData, wait_ms: int) -> int:
        """The code of waiting for an event."""
        code = self._code("nvmlEventSetWait_v2", space, ctypes.byref(data), wait_ms)
        return self._code("nvmlEventSetWait", space, ctypes.byref(data), wait_ms) if code == 13 else code

    def free(self, space: Any) -> None:
        """Let a set of events go."""
        self._code("nvmlEventSetFree", space)


def somebody_computes(
    nvml: Optional[Nvml], gpus: Sequence[Tuple[int, Optional[Any]]], must_know: bool
) -> Tuple[str, Optional[int]]:
    """Whether anybody computes on some GPUs, by their numbers and handles: "busy" and where, "" where nobody does.

    "maybe_busy" where that cannot be told of one, unless nobody `must_know`.
    """
    for number, handle in gpus:
        run = nvml.processes_run(handle) if nvml is not None and handle is not None else None
        if run:
            return "busy", number
        if run is None and must_know:
            return "maybe_busy", number
    return "", None


class Xids:
    """The Xids that the driver tells this process of. It changes nothing there: who listens is all that it notes."""

    def __init__(self, nvml: Nvml, space: Any, gpus: Dict[int, int]) -> None:
        self._nvml = nvml
        self._space = space
        self._gpus = gpus

    def heard(self) -> List[Tuple[int, int]]:
        """GPU and code of each Xid since the last time; does not wait."""
        found: List[Tuple[int, int]] = []
        data = EventData()
        while len(found) < MOST_XIDS and self._nvml.wait(self._space, data, 0) == 0:
            if data.device in self._gpus and data.kind & _XID_EVENT:
                found.append((self._gpus[data.device], data.data))
        return found

    def close(self) -> None:
        """Listen no more."""
        self._nvml.free(self._space)
