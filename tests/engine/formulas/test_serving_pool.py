"""The memory of a serving GPU against what servers' logs print, and against its own bounds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplanner.engine.formulas.serving_pool import (
    activation_bytes,
    activation_peak_bytes,
    concurrent_requests,
    fixed_bytes,
    graph_bytes,
    least_memory_share,
    live_cache_bytes,
    longest_tokens,
    needed_bytes,
    pool_bytes,
    pool_shortfall_bytes,
    reserved_bytes,
    resident_sequences,
    runtime_bytes,
    sampling_bytes,
    sequences_at_work,
    sequences_in_pool,
    stage_cache_bytes,
    with_cache_bytes,
)
from gpuplanner.units import GIB

SIZES = st.floats(0, 1e12)


@pytest.mark.parametrize(("tokens", "gib"), [(20_000, 17.06 - 14.9888), (29_000, 17.98 - 14.9888)])
def test_activations_of_an_8b_are_as_profiled(tokens, gib):
    """vLLM 0.6 measured the peak at both lengths; the intermediates of gate, up and down and three hidden states."""
    found = activation_bytes(float(tokens), 2 * 3 * 14_336.0, 2 * 3 * 4096.0, 1.0)
    assert found == pytest.approx(gib * GIB, rel=0.01)


def test_tensor_parallelism_splits_the_mlp_part_only():
    assert activation_bytes(10.0, 80.0, 20.0, 4.0) == 400


def test_the_peak_is_the_largest_and_not_the_sum():
    assert activation_peak_bytes(5.0, 7.0, 6.0, 2.0) == 9
    assert sampling_bytes(256.0, 128_256.0, 12.0) == 256 * 128_256 * 12


def test_buffers_between_gpus_only_where_there_are_several():
    assert runtime_bytes(1.0, 10.0, 1.0, 1.0) == 1
    assert runtime_bytes(1.0, 10.0, 2.0, 1.0) == 11
    assert runtime_bytes(1.0, 10.0, 1.0, 2.0) == 11
    assert graph_bytes(2.0, 40.0) == 80


def test_servers_cut_the_pool_at_different_places():
    inside = pool_bytes(100.0, 0.9, 1.0, 30.0, 5.0, 10.0, 5.0, 1.0)
    outside = pool_bytes(100.0, 0.9, 1.0, 30.0, 5.0, 10.0, 5.0, 0.0)
    of_the_rest = pool_bytes(100.0, 1.0, 0.9, 30.0, 5.0, 10.0, 5.0, 1.0)
    assert (inside, outside, of_the_rest) == (40, 55, 45)


@given(SIZES, SIZES, SIZES, SIZES, SIZES)
def test_at_the_least_share_one_request_fits_exactly(weights, runtime, activations, graphs, request):
    usable = 1e11
    share = least_memory_share(weights, runtime, activations, graphs, 1.0, request, usable)
    pool = pool_bytes(usable, share, 1.0, weights, runtime, activations, graphs, 1.0)
    # The pool is what is left of a sum: it is as exact as doubles are at that sum, and no more.
    whole = max(usable, weights + runtime + activations + graphs + request)
    assert pool == pytest.approx(request, rel=0, abs=8 * math.ulp(whole))


@given(st.floats(1, 1e6), st.floats(1, 1e5), st.floats(0, 1e5))
def test_resident_is_not_what_clients_ask_for(concurrency, most, fits):
    resident = resident_sequences(concurrency, most, fits)
    assert 1 <= resident <= max(min(concurrency, most), 1)


def test_needed_and_reserved_are_two_numbers():
    fixed = fixed_bytes(10.0, 1.0, 2.0, 3.0)
    assert fixed == 16
    assert needed_bytes(fixed, 4.0) == 20
    assert reserved_bytes(fixed, 50.0, 4.0, 1.0) == 66
    assert reserved_bytes(fixed, 50.0, 4.0, 0.0) == 20
    assert reserved_bytes(fixed, -50.0, 4.0, 1.0) == 16


def test_a_pool_that_does_not_exist_holds_nothing():
    assert sequences_in_pool(-1.0, 10.0) == 0
    assert sequences_in_pool(100.0, 10.0, 4.0) == 40
    assert concurrent_requests(-1.0, 10.0, 2.0) == 0
    assert concurrent_requests(100.0, 10.0, 2.0) == 20
    assert longest_tokens(5.0, 10.0, 1.0) == 0


def test_caches_add_up():
    assert with_cache_bytes(5.0, 10.0, 2.0) == 25
    assert stage_cache_bytes(100.0, 2.0, 8.0, 32.0) == 50
    assert live_cache_bytes(6.0, 10.0, 2.0, 100.0) == 30
    assert live_cache_bytes(60.0, 10.0, 2.0, 100.0) == 100
    assert live_cache_bytes(60.0, 10.0, 2.0, 1.0) == 10
    assert sequences_at_work(6.0, 2.0, 100.0) == 12
    assert sequences_at_work(1.0, 4.0, 2.0) == 2


def test_arrays_give_what_floats_give():
    usable = np.array([1e10, 2e10, 8e10])
    many = pool_bytes(usable, 0.9, 1.0, 1e10, 3e8, 1e9, 5e8, 1.0)
    each = [pool_bytes(float(u), 0.9, 1.0, 1e10, 3e8, 1e9, 5e8, 1.0) for u in usable]
    assert list(np.asarray(many)) == each


@given(SIZES, SIZES, SIZES, SIZES)
def test_there_is_a_pool_or_something_is_missing(weights, runtime, activations, graphs):
    pool = pool_bytes(1e10, 0.9, 1.0, weights, runtime, activations, graphs, 1.0)
    missing = pool_shortfall_bytes(1e10, 0.9, weights, runtime, activations, graphs, 1.0)
    assert min(pool, missing) == 0
    left = 0.9e10 - weights - runtime - activations - graphs
    assert pool - missing == pytest.approx(left, rel=0, abs=8 * math.ulp(max(1e10, abs(left))))
