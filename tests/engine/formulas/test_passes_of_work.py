"""Reading, multiplying, experts and attention: bounds of the roofline and published rates."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplanner.engine.formulas.attention import (
    attention_flops,
    attention_score_bytes,
    cache_read_bytes,
    decode_attention_seconds,
    mean_attended_tokens,
    prefill_attention_seconds,
    state_traffic_bytes,
)
from gpuplanner.engine.formulas.gemm import (
    all_matrix_flops,
    matrix_flop_per_s,
    matrix_flops,
    multiply_seconds,
    narrow_columns,
    overlapped_seconds,
    padded_parameters,
    read_seconds,
)
from gpuplanner.engine.formulas.moe import expert_rows, experts_loaded, read_weight_bytes

SECONDS = st.floats(0, 1e3)


@given(SECONDS, SECONDS, st.floats(0, 1))
def test_what_overlaps_takes_no_less_than_the_larger_and_no_more_than_both(memory_s, compute_s, loss):
    together = overlapped_seconds(memory_s, compute_s, loss)
    assert max(memory_s, compute_s) <= together <= (memory_s + compute_s) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("rows", "measured_tflops"), [(1, 2.7), (16, 43.1), (128, 329.9), (1024, 720.7), (8192, 782.7)]
)
def test_one_closed_form_holds_from_one_row_to_thousands(shipped_catalog, shipped_efficiencies, rows, measured_tflops):
    """BF16, 8192 × 8192 on an H100 (aiconfigurator's measurements)."""
    gpu = shipped_catalog.gpus["nvidia-h100-sxm5-80gb"]
    gemm = shipped_efficiencies.find("gemm", gpu, "kernel bf16")
    rate = matrix_flop_per_s(
        float(rows), 8192.0, 8192.0, 16.0, 989e12, gemm["utilisation"], gemm["padding_tokens"], 3.35e12, 0.83,
        gemm["overlap_loss"], gemm["floor_s"],
    )  # fmt: skip
    assert rate / 1e12 == pytest.approx(measured_tflops, rel=0.25)


def test_flops_add_up_and_few_rows_pay_little_padding():
    assert matrix_flops(100.0, 1.0, 32.0, 1.0) == 2 * 100 * 5
    assert matrix_flops(100.0, 64.0, 32.0, 2.0) == 2 * 100 * 96 / 2
    assert matrix_flops(100.0, 64.0, 0.0, 1.0) == 12_800
    assert padded_parameters(32.0 * 64.0, 0.0, 32.0, 1.0, 8.0) == 32 * 64
    assert padded_parameters(32.0 * 64.0, 4.0, 32.0, 1.0, 8.0) == 32 * 64 + 4 * (64 + 32 * 8)
    assert all_matrix_flops(1.0, 20.0, 300.0, 4000.0) == 4321


def test_the_last_wave_of_tiles_costs_the_more_the_fewer_rows_there_are():
    """A product of `tokens` rows pays half a wave whatever its size: so many results of each matrix."""
    assert narrow_columns(100.0, 0.0, 2048.0, 64.0) == 100
    assert narrow_columns(100.0, 3e5, 936.0, 64.0) == 100 + 300
    wide, narrow, ranks = 8192.0, 1024.0, 1.0
    for tokens in (16.0, 64.0, 100.0, 1000.0, 10_000.0):
        columns = narrow_columns(0.0, 3e5, tokens, 64.0)
        weights = padded_parameters(wide * narrow, columns, wide, 1.0, ranks)
        plain = matrix_flops(wide * narrow, tokens, 64.0, ranks)
        assert matrix_flops(weights, tokens, 64.0, ranks) - plain == pytest.approx(2 * 3e5 * (narrow + wide), rel=0.4)


@given(st.floats(1, 1e5), st.floats(1, 1e5))
def test_more_rows_never_take_less(one, other):
    few, many = sorted((one, other))

    def flops(tokens):
        columns = narrow_columns(100.0, 3e5, tokens, 64.0)
        return matrix_flops(padded_parameters(8192.0 * 1024, columns, 8192.0, 1.0, 1.0), tokens, 64.0, 1.0)

    assert flops(few) <= flops(many) * (1 + 1e-12)


def test_rates_are_divided_by():
    assert read_seconds(8e9, 1e12, 0.8) == pytest.approx(0.01)
    assert read_seconds(8e9, 1e12, 0.8, 3.0) == pytest.approx(0.03)
    assert multiply_seconds(8e12, 1e13, 0.8) == pytest.approx(1.0)


@given(st.integers(2, 512), st.integers(1, 16), st.floats(1, 1e5))
def test_experts_in_use_lie_between_those_of_one_token_and_all(experts, chosen, tokens):
    chosen = min(chosen, experts)
    loaded = experts_loaded(float(experts), float(chosen), tokens)
    assert chosen * (1 - 1e-9) <= loaded <= experts * (1 + 1e-12)


def test_one_token_loads_its_own_experts_and_many_load_all():
    assert experts_loaded(256.0, 8.0, 1.0) == pytest.approx(8)
    assert experts_loaded(256.0, 8.0, 64.0) == pytest.approx(222.4, rel=1e-3)
    assert experts_loaded(1.0, 1.0, 5.0) == 1


def test_active_parameters_are_not_what_a_batch_reads():
    """Others take the active parameters of a mixture for what is read: with many tokens all experts are."""
    one = read_weight_bytes(10.0, 1.0, 10.0, 5.0, 1000.0, 8.0, 256.0, 1.0, 0.0)
    many = read_weight_bytes(10.0, 1.0, 10.0, 5.0, 1000.0, 222.0, 256.0, 1.0, 0.0)
    assert one < 60
    assert many > 800


def test_each_expert_pads_for_itself():
    assert expert_rows(64.0, 16.0, 32.0, 8.0) == 64 + 16 * 32 / 8


def test_a_prompt_looks_back_on_half_of_itself():
    assert mean_attended_tokens(1000.0, 0.0, inf) == 500
    assert mean_attended_tokens(1000.0, 3000.0, inf) == 3500
    assert mean_attended_tokens(100_000.0, 0.0, 4096.0) == 4096


def test_attention_adds_up_over_kinds_of_layers():
    flops = attention_flops(attention_flops(0.0, 2.0, 10.0, 3.0, 1.0), 2.0, 5.0, 4.0, 2.0)
    assert flops == 60 + 20
    assert cache_read_bytes(5.0, 2.0, 10.0, 3.0) == 65
    assert state_traffic_bytes(5.0, 2.0, 10.0) == 45
    assert attention_score_bytes(1.0, 10.0, 5.0, 8.0, 26.0, 2.0) == 1 + 5200


def test_decode_attention_is_the_slower_of_reading_and_multiplying():
    assert decode_attention_seconds(1.0, 2.0) == 2
    assert prefill_attention_seconds(1.0, 2.0) == 3


def test_arrays_give_what_floats_give():
    tokens = np.array([1.0, 3.0, 17.0, 400.0])
    many = experts_loaded(64.0, 4.0, tokens)
    assert list(np.asarray(many)) == [experts_loaded(64.0, 4.0, float(t)) for t in tokens]
