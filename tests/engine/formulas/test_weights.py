"""Weights in their formats and on the GPUs, against published block sizes and files."""

import numpy as np
import pytest

from gpuplanner.catalog.architecture import Part
from gpuplanner.engine.formulas.weights import (
    edge_bytes,
    layers_of_fullest_stage,
    stored_bytes,
    weight_bytes_per_gpu,
)
from gpuplanner.engine.serving_model import bits_by_part
from gpuplanner.workload.precision import WeightPrecision

BLOCKS = {
    WeightPrecision.Q8_0: (34, 32),
    WeightPrecision.Q6_K: (210, 256),
    WeightPrecision.Q5_0: (22, 32),
    WeightPrecision.Q4_0: (18, 32),
    WeightPrecision.NVFP4: (9, 16),
    WeightPrecision.MXFP4: (17, 32),
}
"""Bytes of a block and weights in it."""
LLAMA_8B = "meta-llama/Meta-Llama-3.1-8B"


def total(architecture, precision, efficiencies):
    from gpuplanner.catalog.parameters import parameters_by_part

    bits = bits_by_part(architecture, precision, efficiencies)
    return sum(stored_bytes(float(n), bits[part.value]) for part, n in parameters_by_part(architecture).items())


@pytest.mark.parametrize("precision", BLOCKS)
def test_a_format_has_the_bits_of_its_block(shipped_catalog, shipped_efficiencies, precision):
    bytes_of_block, weights_in_it = BLOCKS[precision]
    architecture = shipped_catalog.models[LLAMA_8B].architecture
    bits = bits_by_part(architecture, precision, shipped_efficiencies)[Part.MLP.value]
    assert bits == 8 * bytes_of_block / weights_in_it


@pytest.mark.parametrize(
    ("precision", "average"),
    [
        (WeightPrecision.Q8_0, 8.5008),
        (WeightPrecision.Q6_K, 6.5633),
        (WeightPrecision.Q5_K_M, 5.7036),
        (WeightPrecision.Q4_K_M, 4.8944),
        (WeightPrecision.Q4_K_S, 4.6672),
        (WeightPrecision.Q4_0, 4.6648),
        (WeightPrecision.Q3_K_M, 3.9960),
        (WeightPrecision.Q2_K, 3.1593),
        (WeightPrecision.IQ4_XS, 4.4597),
    ],
)
def test_a_mixture_comes_to_the_size_that_llama_cpp_prints(shipped_catalog, shipped_efficiencies, precision, average):
    architecture = shipped_catalog.models[LLAMA_8B].architecture
    size = total(architecture, precision, shipped_efficiencies)
    assert size * 8 / 8.03e9 == pytest.approx(average, rel=0.01)


@pytest.mark.parametrize(
    ("model", "precision", "gib"),
    [
        (LLAMA_8B, WeightPrecision.BF16, 14.9888),
        ("Qwen/Qwen2.5-14B", WeightPrecision.AWQ, 9.38),
        ("Qwen/Qwen3-30B-A3B", WeightPrecision.FP8, 29.09),
        ("openai/gpt-oss-120b", None, 60.8),
    ],
)
def test_weights_are_as_a_server_loads_them(shipped_catalog, shipped_efficiencies, model, precision, gib):
    size = total(shipped_catalog.models[model].architecture, precision, shipped_efficiencies)
    assert size / 2**30 == pytest.approx(gib, rel=0.03)


@pytest.mark.parametrize(
    "precision", [WeightPrecision.FP8, WeightPrecision.INT8, WeightPrecision.AWQ, WeightPrecision.NF4]
)
def test_embedding_head_and_norms_are_not_quantised(shipped_catalog, shipped_efficiencies, precision):
    bits = bits_by_part(shipped_catalog.models[LLAMA_8B].architecture, precision, shipped_efficiencies)
    assert {bits[part.value] for part in (Part.EMBEDDING, Part.HEAD, Part.UNQUANTISED)} == {16}
    assert bits[Part.MLP.value] < 9


def test_tensor_parallelism_splits_matrices_and_not_norms():
    assert weight_bytes_per_gpu(800.0, 8.0, 200.0, 10.0, 10.0, 2.0) == 508.0
    assert weight_bytes_per_gpu(800.0, 8.0, 200.0, 10.0, 10.0, 2.0, 100.0) == 408.0
    assert weight_bytes_per_gpu(800.0, 8.0, 200.0, 10.0, 10.0, 2.0, 1e9) == 0.0


def test_the_fullest_stage_has_the_layers_that_are_left_over():
    assert layers_of_fullest_stage(61.0, 4.0) == 16.0
    assert np.array_equal(layers_of_fullest_stage(61.0, np.array([1.0, 2.0, 8.0])), [61, 31, 8])


def test_stages_share_embedding_and_head():
    assert edge_bytes(30.0, 20.0, 5.0, 1.0) == 55.0
    assert edge_bytes(30.0, 20.0, 5.0, 2.0) == 35.0
