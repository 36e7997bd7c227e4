"""cuBLAS and NCCL by ctypes, where the machine or a Python wheel has them. Installs nothing.

Standard library only, Python 3.6 and later. Numbers of types and modes: cublas_api.h, library_types.h, nccl.h.
Tested against libraries of our own with the same functions; never run on a GPU.
"""

import ctypes
import glob
import os
import sys
from typing import Any, List, Optional, Tuple

_PLACES = ("/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64")
_R_32F, _R_16F, _R_16BF, _R_8I, _R_32I = 0, 2, 14, 3, 10
_COMPUTE_32F, _COMPUTE_32F_FAST_TF32, _COMPUTE_32I = 68, 77, 72
_NO, _TRANSPOSED = 0, 1
_DEFAULT_ALGORITHM = -1

MATRIX_KINDS: Tuple[Tuple[str, Tuple[int, int], int, int, int, int], ...] = (
    # Name, lowest compute capability, type and bytes of the operands, type of the result, how it is computed.
    ("fp32", (5, 0), _R_32F, 4, _R_32F, _COMPUTE_32F),
    ("tf32", (8, 0), _R_32F, 4, _R_32F, _COMPUTE_32F_FAST_TF32),
    ("fp16", (7, 0), _R_16F, 2, _R_16F, _COMPUTE_32F),
    ("bf16", (8, 0), _R_16BF, 2, _R_16BF, _COMPUTE_32F),
    ("int8", (7, 5), _R_8I, 1, _R_32I, _COMPUTE_32I),
)
"""What `cublasGemmEx` multiplies; FP8 and FP4 go through cuBLASLt alone and are not measured."""

NCCL_FLOAT, NCCL_SUM = 7, 0


class LibraryFault(Exception):
    """A library is not there, or one of its calls failed. `reason`: "no_library" or "library_error"."""

    def __init__(self, reason: str, said: str) -> None:
        super().__init__(reason, said)
        self.reason = reason
        self.said = said


def found(stem: str, versions: Tuple[int, ...], before: str = "") -> Tuple[Any, str]:
    """A library and where it was found: by the system's own search, in CUDA's folder, or in a Python wheel.

    `before`: one that it needs and that lies beside it. Raises LibraryFault.
    """
    names = ["%s.so.%d" % (stem, version) for version in versions]
    tried = list(names)
    for name in names:
        tried += [os.path.join(place, name) for place in _PLACES]
        for place in sys.path:
            for folder in ("nvidia/*/lib", "torch/lib"):
                tried += sorted(glob.glob(os.path.join(glob.escape(place or "."), folder, name)))
    for path in tried:
        try:
            beside = os.path.join(os.path.dirname(path), os.path.basename(path).replace(stem, before))
            if before and os.sep in path and os.path.exists(beside):
                ctypes.CDLL(beside, mode=ctypes.RTLD_GLOBAL)
            return ctypes.CDLL(path), path
        except OSError:
            continue
    raise LibraryFault("no_library", ", ".join(names))


class Cublas:
    """A handle of cuBLAS in the context of this thread."""

    def __init__(self, stream: Any) -> None:
        """Raises LibraryFault."""
        self._library, self.path = found("libcublas", (13, 12, 11), "libcublasLt")
        self._handle = ctypes.c_void_p()
        self._call("cublasCreate_v2", ctypes.byref(self._handle))
        self._call("cublasSetStream_v2", self._handle, stream)

    def multiply(self, kind: Tuple[Any, ...], size: int, one: int, other: int, result: int) -> None:
        """Start `result = oneᵀ × other`, square, all three in the GPU's memory. Raises LibraryFault."""
        _, _, operand, _, product, compute = kind
        whole = compute == _COMPUTE_32I
        alpha, beta = (ctypes.c_int(1), ctypes.c_int(0)) if whole else (ctypes.c_float(1), ctypes.c_float(0))
        self._call(
            "cublasGemmEx", self._handle, _TRANSPOSED, _NO, size, size, size, ctypes.byref(alpha),
            ctypes.c_void_p(one), operand, size, ctypes.c_void_p(other), operand, size, ctypes.byref(beta),
            ctypes.c_void_p(result), product, size, compute, _DEFAULT_ALGORITHM,
        )  # fmt: skip

    def close(self) -> None:
        """Give the handle and its workspace back."""
        self._library.cublasDestroy_v2(self._handle)

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            raise LibraryFault("library_error", "%s: %d" % (name, code))


class Nccl:
    """A group of this process's GPUs."""

    def __init__(self, indices: List[int]) -> None:
        """`indices`: as CUDA numbers them. Raises LibraryFault."""
        self._library, self.path = found("libnccl", (2,))
        self._library.ncclGetErrorString.restype = ctypes.c_char_p
        self._all = (ctypes.c_void_p * len(indices))()
        devices = (ctypes.c_int * len(indices))(*indices)
        self._call("ncclCommInitAll", self._all, len(indices), devices)

    @property
    def version(self) -> Optional[str]:
        """NCCL's version; None where it does not say it."""
        number = ctypes.c_int()
        if self._library.ncclGetVersion(ctypes.byref(number)) != 0:
            return None
        # Four digits up to 2.8, five since.
        whole = number.value
        major, rest = divmod(whole, 10000 if whole >= 10000 else 1000)
        return "%d.%d.%d" % (major, rest // 100, rest % 100)

    def all_reduce(self, buffers: List[Tuple[int, Any]], count: int) -> None:
        """Start the sum of `count` floats over all GPUs, in place: (address, stream) of each. Raises LibraryFault."""
        self._call("ncclGroupStart")
        for communicator, (address, stream) in zip(self._all, buffers):  # noqa: B905 (strict= is not known to Python 3.6)
            self._call(
                "ncclAllReduce", ctypes.c_void_p(address), ctypes.c_void_p(address), ctypes.c_size_t(count),
                NCCL_FLOAT, NCCL_SUM, ctypes.c_void_p(communicator), stream,
            )  # fmt: skip
        self._call("ncclGroupEnd")

    def close(self) -> None:
        """Let the group go."""
        for communicator in self._all:
            self._library.ncclCommDestroy(ctypes.c_void_p(communicator))

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._library, name)(*arguments)
        if code != 0:
            said = self._library.ncclGetErrorString(code) or b""
            raise LibraryFault("library_error", "%s: %d %s" % (name, code, said.decode("utf-8", "replace")))
