"""Memory of training: against published measurements and counts, and numbers worked out by hand."""

import pytest

from gpuplanner.engine.formulas.activations import (
    inner_bytes_per_token,
    kept_activation_bytes,
    kept_layer_bytes,
    layer_activation_bytes,
    loss_bytes,
    residual_bytes_per_token,
    tokens_per_micro_batch,
    workspace_beyond_loss_bytes,
    workspace_bytes,
)
from gpuplanner.engine.formulas.lora import adapter_parameters, dequantised_bytes, frozen_base_bytes
from gpuplanner.engine.formulas.pipeline import (
    layers_per_stage,
    micro_batches,
    micro_batches_in_flight,
    micro_batches_in_flight_last,
)
from gpuplanner.engine.formulas.training_memory import (
    allocated_bytes,
    allocator_bytes,
    bucket_bytes,
    early_gradient_bytes,
    gather_bytes,
    gradient_bytes,
    hole_bytes,
    optimizer_bytes,
    process_bytes,
    process_overhead_bytes,
    rank_expert_parameters,
    resident_weight_bytes,
    stage_parameters,
    step_copy_bytes,
)
from gpuplanner.units import GB, GIB

HIDDEN, LENGTH, HEADS = 12288, 2048, 96
"""GPT-3 175B."""


def test_a_layer_of_gpt3_keeps_34_sbh_and_5_as_by_a():
    """Korthikanti et al.: sbh(34 + 5·a·s/h) bytes a layer without recomputation and without tensor parallelism.

    2·4·h outside, 3h + h + 4h + 4h = 12h of matrices' outputs and 1h of masks in 8 bits inside.
    """
    outside = residual_bytes_per_token(4, HIDDEN, 1)
    inside = inner_bytes_per_token(1.0, 13 * HIDDEN, 0, 0, 5, HEADS, LENGTH, 1)
    expected = LENGTH * HIDDEN * (34 + 5 * HEADS * LENGTH / HIDDEN)
    assert layer_activation_bytes(LENGTH, outside, inside) == pytest.approx(expected)


def test_tensor_parallelism_divides_what_is_inside_and_sequence_parallelism_the_rest():
    """sbh(10 + 24/t + 5as/ht) without, sbh/t(34 + 5as/h) with sequence parallelism (same paper, table 2, by thirds)."""
    inside = inner_bytes_per_token(1.0, 13 * HIDDEN, 0, 0, 5, HEADS, LENGTH, 8)
    assert inside == inner_bytes_per_token(1.0, 13 * HIDDEN, 0, 0, 5, HEADS, LENGTH, 1) / 8
    assert residual_bytes_per_token(4, HIDDEN, 8) == residual_bytes_per_token(4, HIDDEN, 1) / 8


def test_what_only_frozen_matrices_read_is_not_kept():
    """Of the output of a norm and of a product (1 + 4 hidden sizes) one copy each is gone, whatever the rest has."""
    all_of_it = inner_bytes_per_token(1.2, 13 * HIDDEN, 0, 0, 5, HEADS, LENGTH, 2)
    assert inner_bytes_per_token(1.2, 13 * HIDDEN, 0, 5 * HIDDEN, 5, HEADS, LENGTH, 2) == all_of_it - 2 * 5 * HIDDEN / 2


def test_full_recomputation_keeps_only_the_input_of_a_layer():
    """2·sbh (same paper)."""
    assert kept_layer_bytes(LENGTH, 8 * HIDDEN, 26 * HIDDEN, 1.0, 1.0, HIDDEN, 1) == 2 * LENGTH * HIDDEN
    assert kept_layer_bytes(LENGTH, 8 * HIDDEN, 26 * HIDDEN, 1.0, 0.0, HIDDEN, 1) == 34 * LENGTH * HIDDEN
    half = kept_layer_bytes(LENGTH, 8 * HIDDEN, 26 * HIDDEN, 1.0, 0.5, HIDDEN, 1)
    assert half == 18 * LENGTH * HIDDEN


def test_context_parallelism_divides_the_tokens():
    assert tokens_per_micro_batch(2, 8192, 4) == 4096


def test_the_first_stage_keeps_as_many_micro_batches_as_there_are_stages():
    assert micro_batches_in_flight(64, 8, 1) == 8
    assert micro_batches_in_flight(4, 8, 1) == 4
    assert micro_batches_in_flight_last(64, 8, 1) == 1


def test_interleaving_keeps_more_by_the_share_that_was_published():
    """1 + (p - 1) / (p·m) times as much (Korthikanti et al., section 4.2.3)."""
    assert micro_batches_in_flight(64, 8, 2) == 8 * (1 + 7 / (8 * 2))
    assert micro_batches_in_flight_last(64, 8, 2) == 8 - 7 / 2


def test_stages_and_accumulation_are_whole():
    assert layers_per_stage(35, 12) == 3
    assert micro_batches(2048, 1, 24) == 86


def test_kept_activations_are_a_product():
    assert kept_activation_bytes(1e6, 10, 4) == 4e7


def test_logits_of_a_stock_loss_take_14_bytes_each():
    """32,768 tokens of Qwen's vocabulary: 66 GiB, which does not fit beside anything (FT16)."""
    assert loss_bytes(32768, 1e9, 151936, 14, 1) / GIB == pytest.approx(64.9, abs=0.1)
    assert loss_bytes(32768, 1024, 151936, 14, 1) / GIB == pytest.approx(2.03, abs=0.01)
    assert loss_bytes(4096, 1e9, 51200, 10, 8) == 4096 * 51200 * 10 / 8


def test_the_loss_and_the_largest_layer_are_never_there_at_once():
    assert workspace_beyond_loss_bytes(3e9, 1e9) == 2e9
    assert workspace_beyond_loss_bytes(1e9, 3e9) == 0


def test_the_workspace_holds_a_recomputed_layer_and_gradients():
    assert workspace_bytes(5e8, 1, 1000, 1.0, 40_000, 2, 1e8) == 5e8 + 1000 * 2 * 40_000 / 2 + 1e8
    assert workspace_bytes(5e8, 0, 1000, 1.0, 40_000, 2, 0) == 1000 * 2 * 40_000 / 2


def test_seven_billion_parameters_take_the_16_bytes_of_the_zero_paper():
    """7.5 B parameters with Adam in mixed precision: 120 GB; 31.4, 16.6 and 1.9 GB in stages 1 to 3 on 64 GPUs."""
    n, ranks = 7.5e9, 64

    def states(weight_shards, gradient_shards, state_shards):
        return (
            resident_weight_bytes(1, 2, n, weight_shards, 0, 1)
            + gradient_bytes(1, 2, n, gradient_shards, 0, 1)
            + optimizer_bytes(1, 12, n, state_shards, 0, 1)
        )

    assert states(1, 1, 1) / GB == pytest.approx(120)
    assert states(1, 1, ranks) / GB == pytest.approx(31.4, abs=0.05)
    assert states(1, ranks, ranks) / GB == pytest.approx(16.6, abs=0.05)
    assert states(ranks, ranks, ranks) / GB == pytest.approx(1.9, abs=0.05)


def test_experts_are_sharded_over_their_own_ranks():
    """Dense weights over 8 ranks, experts over the 2 that hold the same ones."""
    assert resident_weight_bytes(1, 2, 8e9, 8, 2e9, 2) == 2 * (1e9 + 1e9)


@pytest.mark.parametrize(("parameters", "ranks", "failed_gib"), [(6.738e9, 8, 3.14), (32.76e9, 7, 17.43)])
def test_the_copy_in_the_step_is_four_bytes_of_a_partition(parameters, ranks, failed_gib):
    """The allocations that failed in public reports: 7B by ZeRO-2 on eight V100 (FT01), 32B by ZeRO-3 on seven A800."""
    assert step_copy_bytes(1, 4, parameters, ranks, 0, 1) / GIB == pytest.approx(failed_gib, rel=0.01)


def test_offloaded_states_take_nothing_of_the_gpu():
    assert optimizer_bytes(0, 12, 7e9, 1, 0, 1) == 0
    assert step_copy_bytes(0, 4, 7e9, 1, 0, 1) == 0


def test_gradients_wait_only_where_there_is_accumulation_or_a_buffer():
    assert early_gradient_bytes(1e9, 0, 1) == 0
    assert early_gradient_bytes(1e9, 0, 4) == 1e9
    assert early_gradient_bytes(1e9, 1, 1) == 1e9


def test_a_stage_gives_a_layer_for_the_embedding_where_it_can():
    assert stage_parameters(96e9, 96, 12, 0, 0, 8) == 12e9 / 8
    assert stage_parameters(96e9, 96, 12, 3e9, 0, 1) == 15e9
    assert stage_parameters(96e9, 96, 12, 3e9, 1, 1) == 14e9
    assert stage_parameters(96e9, 96, 12, 0.5e9, 1, 1) == 12e9


def test_all_experts_are_resident():
    """Mixtral: 8 experts of 176 M in 32 layers over 8 ranks: one each."""
    assert rank_expert_parameters(8 * 32 * 176e6, 32, 32, 8, 1) == 32 * 176e6


def test_sharded_weights_are_gathered_layer_by_layer():
    assert gather_bytes(1, 4.4e8, 8e9, 2, 1e9, 2) == 2 * 4.4e8 + 2e9
    assert gather_bytes(1, 1e10, 8e9, 2, 0, 2) == 2 * 8e9
    assert gather_bytes(0, 4.4e8, 8e9, 2, 1e9, 2) == 0


def test_buckets_need_a_second_rank():
    assert bucket_bytes(2, 5e8, 8e9, 8, 0) == 1e9
    assert bucket_bytes(2, 5e8, 1e8, 8, 0) == 2e8
    assert bucket_bytes(2, 5e8, 8e9, 1, 0) == 0
    assert bucket_bytes(2, 5e8, 8e9, 8, 1) == 0


def test_memory_is_the_largest_phase():
    assert allocated_bytes(1, 2, 5, 3, 4) == 5
    assert allocated_bytes(9, 2, 5, 3, 4) == 9


def test_what_stays_leaves_no_holes():
    assert hole_bytes(0.1, 30e9, 10e9, 0, 10e9) == 1e9


def test_the_three_totals_are_measured_in_three_places():
    assert process_overhead_bytes(6e8, 8e8, 1) == 6e8
    assert process_overhead_bytes(6e8, 8e8, 8) == 1.4e9
    assert allocator_bytes(30e9, 1e9) == 31e9
    assert process_bytes(30e9, 1e9, 6e8, 0) == 31.6e9
    assert process_bytes(30e9, 1e9, 6e8, 24e9) == 55.6e9


def test_an_adapter_of_rank_16_on_all_matrices_of_llama_8b():
    """q, o: 4096 + 4096 each; k, v: 4096 + 1024 each; gate, up, down: 4096 + 14336 each; 32 layers: 41.9 M."""
    widths = 32 * (2 * 8192 + 2 * 5120 + 3 * 18432)
    assert adapter_parameters(16, widths) == 41_943_040


def test_a_base_in_four_bits_keeps_its_ends_unquantised():
    """Llama 3 8B in NF4 with double quantisation: 0.516 bytes of 6.98 B, 2 bytes of 1.05 B."""
    base = frozen_base_bytes(1, 6.98e9, 0.516, 1.05e9, 2, 1)
    assert base / GB == pytest.approx(5.7, abs=0.05)
    assert frozen_base_bytes(1, 6.98e9, 0.516, 1.05e9, 2, 2) == base / 2
    assert frozen_base_bytes(0, 6.98e9, 0.516, 1.05e9, 2, 1) == 0


def test_only_a_quantised_matrix_is_dequantised():
    assert dequantised_bytes(5e7, 0.516) == 1e8
    assert dequantised_bytes(5e7, 2) == 0
