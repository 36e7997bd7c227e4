"""The arithmetic that work outside of language models is done in. Names only; what a GPU reaches is in the engine."""

from enum import StrEnum


class Arithmetic(StrEnum):
    """A number format and the units that multiply it. FP64 and FP32 are vector units unless "tensor" is said."""

    FP64 = "fp64"
    FP64_TENSOR = "fp64-tensor"
    FP32 = "fp32"
    TF32 = "tf32"
    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    INT8 = "int8"
    FP4 = "fp4"
