"""Number formats of weights, activations and KV cache. Sizes are those of the published format, scales included."""

from enum import StrEnum


class WeightPrecision(StrEnum):
    """How weights are stored while serving. The GGUF types are llama.cpp's block formats.

    Those of ExLlama are named by their average bits per weight, of which files come in any number.
    """

    FP32 = "fp32"
    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    INT8 = "int8"
    INT4 = "int4"
    AWQ = "awq"
    GPTQ = "gptq"
    NF4 = "nf4"
    NVFP4 = "nvfp4"
    MXFP4 = "mxfp4"
    Q8_0 = "q8_0"
    Q6_K = "q6_k"
    Q5_K_M = "q5_k_m"
    Q5_0 = "q5_0"
    Q4_K_M = "q4_k_m"
    Q4_K_S = "q4_k_s"
    Q4_0 = "q4_0"
    Q3_K_M = "q3_k_m"
    Q2_K = "q2_k"
    IQ4_XS = "iq4_xs"
    EXL2_2_5 = "exl2-2.5"
    EXL2_3 = "exl2-3.0"
    EXL2_4 = "exl2-4.0"
    EXL2_5 = "exl2-5.0"
    EXL2_6 = "exl2-6.0"
    EXL2_8 = "exl2-8.0"
    EXL3_2 = "exl3-2.0"
    EXL3_3 = "exl3-3.0"
    EXL3_4 = "exl3-4.0"


class KvPrecision(StrEnum):
    """How keys and values are stored."""

    FP32 = "fp32"
    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    INT8 = "int8"
    INT4 = "int4"
    Q8_0 = "q8_0"
    Q4_0 = "q4_0"


class ComputePrecision(StrEnum):
    """In which format matrices are multiplied while training."""

    FP32 = "fp32"
    TF32 = "tf32"
    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    NVFP4 = "nvfp4"
