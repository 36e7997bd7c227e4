"""Time of training: conventions that others publish, and numbers worked out by hand."""

import pytest

from gpuplanner.engine.formulas.optimizer import offloaded_step_seconds, optimizer_seconds
from gpuplanner.engine.formulas.pipeline import bubble_seconds, pipelined_step_seconds
from gpuplanner.engine.formulas.training_time import (
    attention_flops_per_token,
    attention_training_seconds,
    cast_moved_bytes,
    compute_seconds,
    dequantise_seconds,
    elementwise_seconds,
    flops_utilisation,
    gradient_reduce_seconds,
    hardware_flops_per_token,
    job_seconds,
    kernel_launch_seconds,
    launch_wait_seconds,
    matrix_seconds,
    micro_batch_seconds,
    model_flops_per_token,
    offloaded_weights_seconds,
    over_micro_batches,
    sharded_seconds,
    slowest_stage_seconds,
    tensor_parallel_seconds,
    tokens_per_s_per_gpu,
    training_step_seconds,
    training_tokens_per_s,
    unhidden_seconds,
)

GPT3_LAYERS, GPT3_HIDDEN, GPT3_LENGTH, GPT3_VOCABULARY = 96, 12288, 2048, 51200
GPT3_MATRICES = GPT3_LAYERS * 12 * GPT3_HIDDEN**2 + GPT3_VOCABULARY * GPT3_HIDDEN
GPT3_PAIRS = 4 * GPT3_LAYERS * GPT3_HIDDEN


def test_flops_of_gpt3_are_those_of_megatrons_formula():
    """96·B·s·l·h²·(1 + s/6h + V/16lh) with all recomputed (Narayanan et al.); three quarters of it without."""
    again = 1 + GPT3_LENGTH / (6 * GPT3_HIDDEN) + GPT3_VOCABULARY / (16 * GPT3_LAYERS * GPT3_HIDDEN)
    expected = 96 * GPT3_LAYERS * GPT3_HIDDEN**2 * again
    whole = attention_flops_per_token(GPT3_PAIRS, GPT3_LENGTH, 0, 0)
    model = model_flops_per_token(1, 0, GPT3_MATRICES, whole)
    assert model == pytest.approx(expected * 3 / 4, rel=0.005)
    # Flash attention computes the scores once more than the formula counts.
    hardware = hardware_flops_per_token(1, 0, GPT3_MATRICES, 1, GPT3_MATRICES, 1, whole)
    assert hardware - whole / 2 == pytest.approx(expected, rel=0.005)


def test_a_rate_with_recomputation_counted_is_three_quarters_of_it_without():
    """138 of an A100's 312 teraFLOP/s, of which a quarter is done for the second time."""
    flops = model_flops_per_token(1, 0, GPT3_MATRICES, GPT3_PAIRS * GPT3_LENGTH)
    rate = 138e12 / (flops * 4 / 3)
    assert flops_utilisation(rate, flops, 1, 312e12) == pytest.approx(138 / 312 * 3 / 4)


def test_a_frozen_base_needs_two_thirds_of_the_matrix_work():
    assert model_flops_per_token(0, 0, 8e9, 0) == 4 * 8e9
    assert model_flops_per_token(1, 0, 8e9, 0) == 6 * 8e9
    assert model_flops_per_token(1, 1, 8e9, 0) == 8 * 8e9
    assert matrix_seconds(1.0, 0, 0, 0.9, 0) == 2
    assert matrix_seconds(1.0, 1, 0, 0.9, 0) == 3
    assert matrix_seconds(1.0, 1, 0, 0.9, 1) == 3.9
    assert matrix_seconds(1.0, 1, 1, 0.9, 1) == 4.9


def test_attention_goes_backward_in_two_and_a_half_times_its_forward():
    assert attention_training_seconds(2.0, 0, 0) == 7
    assert attention_training_seconds(2.0, 0, 1) == 9
    assert attention_training_seconds(2.0, 1, 1) == 11


def test_the_loss_is_not_moved_again_by_recomputation():
    assert elementwise_seconds(1e9, 4, 0, 0, 0, 2e9, 2e12, 0.5) == pytest.approx(6e-3)
    assert elementwise_seconds(1e9, 3, 0, 1, 0, 2e9, 2e12, 0.5) == pytest.approx(6e-3)
    assert elementwise_seconds(1e9, 3, 0, 0, 1, 2e9, 2e12, 0.5) == pytest.approx(6e-3)


def test_casts_are_moved_beside_the_rest_and_again_with_it():
    assert elementwise_seconds(1e9, 3, 1e9, 0, 0, 2e9, 2e12, 0.5) == pytest.approx(6e-3)
    assert elementwise_seconds(1e9, 2, 1e9, 1, 0, 2e9, 2e12, 0.5) == pytest.approx(6e-3)
    assert cast_moved_bytes(4, 100, 2, 30, 2, 4, 10, 0) == 4 * 100 * 2 * (15 + 40)
    assert cast_moved_bytes(4, 100, 2, 30, 2, 4, 10, 5) == 4 * 100 * 2 * (15 + 40 + 10)


def test_the_gpu_waits_for_the_cpu_or_not():
    assert kernel_launch_seconds(32, 1e-3, 0, 0) == pytest.approx(0.032)
    assert compute_seconds(0.01, 0.005, 0.005, 0.032) == 0.032
    assert compute_seconds(0.1, 0.05, 0.05, 0.032) == pytest.approx(0.2)
    assert launch_wait_seconds(0.032, 0.01, 0.005, 0.005) == pytest.approx(0.012)
    assert launch_wait_seconds(0.032, 0.1, 0.05, 0.05) == 0


def test_the_stage_with_the_loss_may_be_spared_a_layer():
    assert slowest_stage_seconds(12.0, 1.5, 0, 12) == 13.5
    assert slowest_stage_seconds(12.0, 1.5, 1, 12) == 12.5
    assert slowest_stage_seconds(12.0, 0.5, 1, 12) == 12


def test_each_pass_dequantises_every_matrix():
    assert dequantise_seconds(7e9, 10, 0, 0, 2e12, 0.7) == pytest.approx(0.1)
    assert dequantise_seconds(7e9, 10, 1, 0, 2e12, 0.7) == pytest.approx(0.15)


def test_communication_is_hidden_as_far_as_there_is_room_and_leave():
    assert unhidden_seconds(1.0, 0.8, 10.0) == pytest.approx(0.2)
    assert unhidden_seconds(1.0, 0.8, 0.3) == pytest.approx(0.7)
    assert unhidden_seconds(1.0, 0.0, 10.0) == 1
    assert unhidden_seconds(0.0, 0.8, 0.0) == 0


def test_sharded_weights_cross_three_times():
    assert sharded_seconds(1, 1.0, 2, 1.0) == 3
    assert sharded_seconds(0, 1.0, 2, 1.0) == 0
    assert gradient_reduce_seconds(2.0, 0, 0.5) == 2.5
    assert gradient_reduce_seconds(2.0, 1, 0.5) == 0.5
    assert tensor_parallel_seconds(1e-3, 4, 10) == pytest.approx(0.04)


def test_a_pipeline_idles_by_p_minus_one_over_m_v():
    step = pipelined_step_seconds(1.0, 32, 8, 1)
    assert step == 39
    assert bubble_seconds(1.0, 8, 1) / (step - bubble_seconds(1.0, 8, 1)) == 7 / 32
    assert bubble_seconds(1.0, 8, 4) == 7 / 4
    assert pipelined_step_seconds(1.0, 32, 1, 1) == 32


def test_the_update_moves_each_state_once():
    """8 B parameters, 28 bytes each, 3.35 TB/s at 0.8: 84 ms."""
    assert optimizer_seconds(8e9, 28, 3.35e12, 0.8) == pytest.approx(0.0836, abs=1e-4)


def test_the_update_on_the_host_waits_for_the_cpu_or_the_link():
    assert offloaded_step_seconds(1e9, 1e9, 2, 25e9, 1.0) == 1
    assert offloaded_step_seconds(1e9, 1e11, 2, 25e9, 1.0) == pytest.approx(0.16)
    assert offloaded_weights_seconds(10e9, 0, 25e9, 1.0) == pytest.approx(0.8)
    assert offloaded_weights_seconds(10e9, 1, 25e9, 1.0) == pytest.approx(1.2)


def test_a_step_is_the_sum_of_its_parts():
    assert micro_batch_seconds(1, 2, 3, 4, 5, 6, 7, 8) == 36
    assert over_micro_batches(0.5, 8) == 4
    assert training_step_seconds(1, 2, 3, 4, 5, 6) == 21


def test_rates_follow_from_the_step():
    assert training_tokens_per_s(128, 1, 8192, 1, 8.0) == 131072
    assert training_tokens_per_s(128, 2, 8192, 0.25, 8.0) == 65536
    assert tokens_per_s_per_gpu(131072, 8) == 16384
    assert job_seconds(131072 * 3600, 131072) == 3600
