"""Uneven experts: the closed forms against routers that were drawn at random, and their limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplanner.engine.formulas.collectives import distinct_nodes_share
from gpuplanner.engine.formulas.moe import (
    busiest_rank_loaded,
    busiest_rank_tokens,
    dispatch_bytes,
    distinct_groups,
    experts_loaded,
    largest_deviation,
    once_per_node_efficiency,
    spread_expert_bytes,
)

RANKS = st.sampled_from([1.0, 2.0, 4.0, 8.0, 16.0, 64.0])


def drawn(tokens, chosen, experts, ranks, tries=200):
    """Mean of the busiest rank's rows and of the distinct experts that the rank with most of them loads."""
    random = np.random.default_rng(7)
    rows, loaded = [], []
    for _ in range(tries):
        picks = np.argsort(random.random((tokens, experts)), axis=1)[:, :chosen]
        counts = np.bincount(picks.ravel(), minlength=experts).reshape(ranks, -1)
        rows.append(counts.sum(axis=1).max())
        loaded.append((counts > 0).sum(axis=1).max())
    return float(np.mean(rows)), float(np.mean(loaded))


@pytest.mark.parametrize(
    ("tokens", "chosen", "experts", "ranks"),
    [(256, 8, 256, 8), (32, 8, 256, 8), (64, 2, 8, 4), (16, 4, 128, 16), (128, 8, 128, 64), (1, 8, 256, 8)],
)
def test_the_busiest_rank_is_as_busy_as_with_routers_that_choose_at_random(tokens, chosen, experts, ranks):
    rows, loaded = drawn(tokens, chosen, experts, ranks)
    away = largest_deviation(float(ranks))
    even = busiest_rank_tokens(float(tokens), float(chosen), float(experts), float(ranks), away)
    assert even * chosen / ranks == pytest.approx(rows, rel=0.12)
    distinct = experts_loaded(float(experts), float(chosen), float(tokens))
    assert busiest_rank_loaded(distinct, float(experts), float(ranks), away) / ranks == pytest.approx(loaded, rel=0.12)


@given(st.floats(1, 1e5), RANKS)
def test_the_busiest_rank_has_no_less_than_the_mean_and_no_more_than_everything(tokens, ranks):
    experts, chosen = 256.0, 8.0
    even = busiest_rank_tokens(tokens, chosen, experts, ranks, largest_deviation(ranks))
    assert tokens <= even <= tokens * min(ranks, experts / chosen) * (1 + 1e-12)
    distinct = experts_loaded(experts, chosen, tokens)
    loaded = busiest_rank_loaded(distinct, experts, ranks, largest_deviation(ranks))
    assert distinct <= loaded <= experts


def test_one_rank_is_as_busy_as_the_mean():
    assert largest_deviation(1.0) == 0
    assert busiest_rank_tokens(5.0, 2.0, 8.0, 1.0, 0.0) == 5
    assert busiest_rank_loaded(3.0, 8.0, 1.0, 0.0) == 3


def test_the_largest_of_normal_numbers():
    """Expected largest of 8 and of 64 (Harter, Biometrika 48 (1961) 151)."""
    assert largest_deviation(8.0) == pytest.approx(1.4236, rel=0.01)
    assert largest_deviation(64.0) == pytest.approx(2.343, rel=0.01)


def test_ranks_that_experts_do_not_divide_into_hold_what_the_fullest_holds():
    assert spread_expert_bytes(10.0, 10.0, 4.0) == pytest.approx(12)
    assert spread_expert_bytes(10.0, 8.0, 4.0) == 10


def test_a_token_travels_once_to_each_rank_that_has_one_of_its_experts():
    assert distinct_groups(1.0, 8.0) == 1
    assert distinct_groups(8.0, 1.0) == 1
    assert distinct_groups(4.0, 2.0) == pytest.approx(1.75)
    assert distinct_nodes_share(4.0, 2.0) == pytest.approx(1.75 / 2)
    assert dispatch_bytes(80.0, 8.0, 4.0, 2.0, 100.0, 2.0) == pytest.approx(10 * 1.75 * 2 * 200)
    assert dispatch_bytes(1.0, 8.0, 8.0, 1.0, 100.0, 2.0) == pytest.approx(200)


def test_copies_for_one_node_cross_the_network_as_one():
    """Two experts: 16 · (1 - (15/16)^2) = 1.9375 ranks, 2 · (1 - (1/2)^2) = 1.5 nodes."""
    assert once_per_node_efficiency(0.8, 16, 2, 2) == pytest.approx(0.8 * 1.9375 / 1.5)
    assert once_per_node_efficiency(0.8, 16, 16, 2) == pytest.approx(0.8)
