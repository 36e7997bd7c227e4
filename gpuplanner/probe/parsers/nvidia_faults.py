"""The sentences of tools that did not answer, and what each means. Recognises and reads no output."""

import re

from gpuplanner.probe.evidence.events import FaultKind

SENTENCES: tuple[tuple[str, FaultKind], ...] = (
    ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver", "no_driver"),
    ("Failed to initialize NVML: Driver Not Loaded", "no_driver"),
    ("nvml error: driver not loaded", "no_driver"),
    ("NVML ERROR: Driver Not Loaded", "no_driver"),
    ("Found no NVIDIA driver on your system", "no_driver"),
    ("NVIDIA-SMI couldn't find libnvidia-ml.so", "no_library"),
    ("NVIDIA-SMI couldn't find nvml.dll", "no_library"),
    ("Failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND", "no_library"),
    ("libnvidia-ml.so.1: cannot open shared object file", "no_library"),
    ("libcuda.so.1: cannot open shared object file", "no_library"),
    ("NVML Shared Library Not Found", "no_library"),
    ("Driver/library version mismatch", "mismatch"),
    ("driver/library version mismatch", "mismatch"),
    ("RM has detected an NVML/RM version mismatch", "mismatch"),
    ("No devices were found", "no_devices"),
    ("No supported GPUs were found", "no_devices"),
    ("No CUDA GPUs are available", "no_devices"),
    ("no CUDA-capable device is detected", "no_devices"),
    ("CUDA driver version is insufficient for CUDA runtime version", "driver_too_old"),
    ("The NVIDIA driver on your system is too old", "driver_too_old"),
    ("no kernel image is available for execution on the device", "not_supported"),
    ("forward compatibility was attempted on non supported HW", "not_supported"),
    ("GPU access blocked by the operating system", "no_permission"),
    ("Failed to initialize NVML: Insufficient Permissions", "no_permission"),
    ("Failed to initialize NVML: Unknown Error", "device_error"),
    ("GPU is lost", "gpu_lost"),
    ("GPU requires reset", "needs_reset"),
    ("system not yet initialized", "other"),
    ("is not compatible with the current PyTorch installation", "not_supported"),
    ("workers are out of shared memory", "other"),
    ("suggested max number of worker in current system is", "other"),
    ("match with driver version", "other"),
    ("Invalid combination of input arguments. Please run 'nvidia-smi", "unknown_option"),
)
"""As nvidia-smi, NVML, CUDA, PyTorch and Fabric Manager print them, with what they mean."""

WORDS = (
    "NVIDIA-SMI ",
    "Failed to initialize NVML",
    "vml error: driver not loaded",
    "NVML ERROR",
    "NVML Shared Library",
    "NVIDIA driver on your system",
    "cannot open shared object file",
    "version mismatch",
    "s were found",
    "No CUDA GPUs",
    "CUDA-capable device",
    "CUDA driver version is",
    "no kernel image",
    "forward compatibility was",
    "GPU access blocked",
    "GPU is lost",
    "GPU requires reset",
    "system not yet initialized",
    "current PyTorch installation",
    "out of shared memory",
    "max number of worker",
    "match with driver version",
    "Invalid combination of",
    "determine the device handle",
    "infoROM is corrupted",
    "NVMLError_",
    "valid field to query",
    "is not recognized",
    "not found",
    "Operation not permitted",
    "Permission denied",
    "CUDA_ERROR_",
)
"""One of them stands in every line that is a fault."""

OF_A_GPU: tuple[tuple[str, FaultKind], ...] = (
    ("GPU is lost", "gpu_lost"),
    ("requires reset", "needs_reset"),
    ("requires a reset", "needs_reset"),
    ("Insufficient Permissions", "no_permission"),
    ("Not Supported", "not_supported"),
)
"""What stands behind "Unable to determine the device handle"; anything else is an error of the device."""

NVML_ERRORS: dict[str, FaultKind] = {
    "NotSupported": "not_supported",
    "NoPermission": "no_permission",
    "NotFound": "no_devices",
    "DriverNotLoaded": "no_driver",
    "LibraryNotFound": "no_library",
    "FunctionNotFound": "driver_too_old",
    "GpuIsLost": "gpu_lost",
    "ResetRequired": "needs_reset",
    "OperatingSystem": "no_permission",
    "LibRmVersionMismatch": "mismatch",
    "Lib_Rm_Version_Mismatch": "mismatch",
    "Memory": "out_of_memory",
    "IrqIssue": "device_error",
    "CorruptedInforom": "device_error",
    "Timeout": "device_error",
    "InsufficientPower": "device_error",
    "Unknown": "device_error",
}
"""By the names of pynvml's exceptions, which are those of nvmlReturn_t (nvml.h)."""

CUDA_ERRORS: dict[str, FaultKind] = {
    "CUDA_ERROR_NO_DEVICE": "no_devices",
    "CUDA_ERROR_OUT_OF_MEMORY": "out_of_memory",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "mismatch",
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": "not_supported",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "not_supported",
    "CUDA_ERROR_NOT_PERMITTED": "no_permission",
    "CUDA_ERROR_DEVICE_UNAVAILABLE": "device_error",
    "CUDA_ERROR_ECC_UNCORRECTABLE": "device_error",
    "CUDA_ERROR_HARDWARE_STACK_ERROR": "device_error",
    "CUDA_ERROR_UNKNOWN": "device_error",
    "CUDA_ERROR_STUB_LIBRARY": "no_library",
}
"""By the names of CUresult (cuda.h)."""

HANDLE = re.compile(
    r"Unable to determine the device handle for (?:GPU|gpu) ?(\d{1,4}(?=:? [0-9A-Fa-f]{3,8}:|:? ?$|: [A-Z]))?:? ?"
    r"([0-9A-Fa-f]{1,8}:[0-9A-Fa-f]{1,2}:[0-9A-Fa-f]{1,2}\.[0-9A-Fa-f])?:? ?(.{0,120})$"
)
INFOROM = re.compile(r"infoROM is corrupted at gpu ([0-9A-Fa-f]{1,8}:[0-9A-Fa-f]{1,2}:[0-9A-Fa-f]{1,2}\.[0-9A-Fa-f])")
NVML_EXCEPTION = re.compile(r"NVMLError_(\w{3,40})(?: (\d{1,3})\b|: ?(?=\S))")
FIELD = re.compile(r"Field \"([\w.\[\] ]{1,100})\" is not a valid field to query")
OPTION = re.compile(r"(?:ERROR: )?Option \"?([\w=.-]{1,80})\"? is not recognized")
NOT_THERE = re.compile(
    r"^[\w./-]{0,20}sh: (?:line \d{1,6}: |\d{1,6}: )?([\w.+/-]{1,60}): (?:command )?not found$"
    r"|^([\w.+/-]{1,60}): command not found$"
    r"|^'([\w.+-]{1,60})' is not recognized as an internal or external command"
    r"|exec: \"([\w.+-]{1,60})\": executable file not found in \$PATH"
)
NOT_ALLOWED = re.compile(r"^([\w.-]{2,40}): .{0,80}(?:Operation not permitted|Permission denied)$")
LIBRARY_VERSION = re.compile(r"NVML library version: (\d[\d.]{2,20})")
