"""cuBLASLt by ctypes: matrix products in FP8 and FP4, which cuBLAS itself does not multiply. Installs nothing.

Standard library only, Python 3.6 and later. Numbers of types, attributes and the one structure: cublasLt.h and
library_types.h of CUDA 12.8. Tested against a library of our own with the same functions; never run on a GPU.
"""

import ctypes
from typing import Any, List, NamedTuple, Tuple

from gpuplanner.probe.there.libraries import LibraryFault, found

WORKSPACE_BYTES = 32 << 20
"""What the library may use besides, allocated by us: its documentation advises it for Hopper and later."""
_TYPE_32F, _TYPE_16BF, _TYPE_E4M3, _TYPE_E2M1 = 0, 14, 28, 33
_COMPUTE_F32 = 68
_TRANSA, _TRANSB, _A_SCALE_AT, _B_SCALE_AT, _FAST_ACCUMULATION, _A_SCALE_MODE, _B_SCALE_MODE = 3, 4, 17, 18, 25, 31, 32
_PREFERENCE_WORKSPACE = 1
_OP_NONE, _OP_TRANSPOSED = 0, 1
_OF_TENSOR, _OF_SIXTEEN = 0, 1
SCALE_OF_ONE = {_OF_TENSOR: b"\x00\x00\x80\x3f", _OF_SIXTEEN: b"\x38"}
"""The factor 1 as the library reads it: FP32 for a whole matrix, UE4M3 for each 16 numbers of a row."""


class LtKind(NamedTuple):
    """A format: the lowest compute capability with units for it, its type, bits of a number, how it is scaled."""

    dtype: str
    least_capability: Tuple[int, int]
    type: int
    bits: int
    scale: int

    def scale_bytes(self, size: int) -> int:
        """Of the factors of a square matrix of this size, a multiple of 128."""
        return 4 if self.scale == _OF_TENSOR else size * size // 16


LT_KINDS: Tuple[LtKind, ...] = (
    LtKind("fp8", (8, 9), _TYPE_E4M3, 8, _OF_TENSOR),
    LtKind("fp4", (10, 0), _TYPE_E2M1, 4, _OF_SIXTEEN),
)


class Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = [
        ("algorithm", ctypes.c_uint64 * 8), ("workspace_bytes", ctypes.c_size_t), ("state", ctypes.c_int),
        ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4),
    ]  # fmt: skip


class CublasLt:
    """A handle of cuBLASLt in the context of this thread."""

    def __init__(self, stream: Any) -> None:
        """Raises LibraryFault."""
        self._library, self.path = found("libcublasLt", (13, 12, 11))
        self.stream = stream
        self.handle = ctypes.c_void_p()
        self.call("cublasLtCreate", ctypes.byref(self.handle))

    def prepared(
        self, kind: LtKind, size: int, buffers: Tuple[int, int, int], scales: Tuple[int, int], workspace: int
    ) -> "Product":
        """A product that can be started again and again. Raises LibraryFault where the library has no way to it."""
        product = Product(self, buffers, workspace)
        try:
            product.describe(kind, size, scales)
        except LibraryFault:
            product.close()
            raise
        return product

    def close(self) -> None:
        """Give the handle back."""
        self._library.cublasLtDestroy(self.handle)

    def call(self, name: str, *arguments: Any) -> None:
        """Raises LibraryFault where the library says no, or does not have the function."""
        code = self.code(name, *arguments)
        if code != 0:
            raise LibraryFault("library_error", "%s: %d" % (name, code))

    def code(self, name: str, *arguments: Any) -> int:
        """What the library answers."""
        try:
            return int(getattr(self._library, name)(*arguments))
        except AttributeError:
            raise LibraryFault("library_error", "%s is not there" % name) from None


class Product:
    """One product with its descriptions, which `close` gives back."""

    def __init__(self, library: CublasLt, buffers: Tuple[int, int, int], workspace: int) -> None:
        self._library = library
        self._buffers = [ctypes.c_void_p(buffer) for buffer in buffers]
        self._workspace = ctypes.c_void_p(workspace)
        self._operation = ctypes.c_void_p()
        self._layouts: List[Any] = []
        self._best = Heuristic()

    def describe(self, kind: LtKind, size: int, scales: Tuple[int, int]) -> None:
        """`result = oneᵀ × other` in BF16, square: the only order in which FP8 is multiplied before Blackwell."""
        call = self._library.call
        call("cublasLtMatmulDescCreate", ctypes.byref(self._operation), _COMPUTE_F32, _TYPE_32F)
        attributes: List[Tuple[int, Any]] = [
            (_TRANSA, ctypes.c_int(_OP_TRANSPOSED)), (_TRANSB, ctypes.c_int(_OP_NONE)),
            (_A_SCALE_AT, ctypes.c_void_p(scales[0])), (_B_SCALE_AT, ctypes.c_void_p(scales[1])),
        ]  # fmt: skip
        if kind.scale == _OF_TENSOR:
            # What inference servers use; has an effect on Ada and Hopper only.
            attributes.append((_FAST_ACCUMULATION, ctypes.c_int8(1)))
        else:
            attributes += [(mode, ctypes.c_int(kind.scale)) for mode in (_A_SCALE_MODE, _B_SCALE_MODE)]
        for which, value in attributes:
            call(
                "cublasLtMatmulDescSetAttribute", self._operation, which, ctypes.byref(value),
                ctypes.c_size_t(ctypes.sizeof(value)),
            )  # fmt: skip
        for type_ in (kind.type, kind.type, _TYPE_16BF):
            layout = ctypes.c_void_p()
            side = ctypes.c_uint64(size)
            call("cublasLtMatrixLayoutCreate", ctypes.byref(layout), type_, side, side, ctypes.c_int64(size))
            self._layouts.append(layout)
        self._choose()

    def _choose(self) -> None:
        """The library's own first choice of how to do it."""
        call, preference = self._library.call, ctypes.c_void_p()
        call("cublasLtMatmulPreferenceCreate", ctypes.byref(preference))
        try:
            most, count = ctypes.c_uint64(WORKSPACE_BYTES), ctypes.c_int()
            call(
                "cublasLtMatmulPreferenceSetAttribute", preference, _PREFERENCE_WORKSPACE, ctypes.byref(most),
                ctypes.c_size_t(8),
            )  # fmt: skip
            one, other, result = self._layouts
            call(
                "cublasLtMatmulAlgoGetHeuristic", self._library.handle, self._operation, one, other, result, result,
                preference, 1, ctypes.byref(self._best), ctypes.byref(count),
            )  # fmt: skip
        finally:
            self._library.code("cublasLtMatmulPreferenceDestroy", preference)
        if count.value < 1 or self._best.state != 0:
            raise LibraryFault("library_error", "cublasLtMatmulAlgoGetHeuristic: no way to it")

    def multiply(self) -> None:
        """Start it. Raises LibraryFault."""
        alpha, beta = ctypes.c_float(1), ctypes.c_float(0)
        one, other, result = self._buffers
        layouts = self._layouts
        self._library.call(
            "cublasLtMatmul", self._library.handle, self._operation, ctypes.byref(alpha), one, layouts[0], other,
            layouts[1], ctypes.byref(beta), result, layouts[2], result, layouts[2],
            ctypes.byref(self._best.algorithm), self._workspace, ctypes.c_size_t(WORKSPACE_BYTES),
            self._library.stream,
        )  # fmt: skip

    def close(self) -> None:
        """Give the descriptions back."""
        for layout in self._layouts:
            self._library.code("cublasLtMatrixLayoutDestroy", layout)
        self._layouts = []
        if self._operation.value:
            self._library.code("cublasLtMatmulDescDestroy", self._operation)
            self._operation = ctypes.c_void_p()
