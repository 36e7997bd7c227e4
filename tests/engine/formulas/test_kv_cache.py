"""The KV cache against the numbers that servers' logs print."""

from math import inf

import pytest

from gpuplanner.engine.formulas.kv_cache import (
    cache_bytes_per_token,
    pool_tokens,
    reserved_tokens,
    state_bytes_per_sequence,
    tokens_in_window,
)
from gpuplanner.units import GIB


@pytest.mark.parametrize(
    ("layers", "elements", "bits", "shards", "ranks", "bytes_per_token"),
    [
        (32, 2 * 8 * 128, 16, 8, 1, 131_072),
        (48, 2 * 4 * 128, 8, 4, 1, 49_152),
        (28, 2 * 4 * 128, 16, 4, 1, 57_344),
        (80, 2 * 64 * 128, 16, 64, 2, 1_310_720),
        (36, 320, 16, 1, 2, 23_040),
        (61, 576, 16, 1, 8, 70_272),
    ],
    ids=["Llama 3.1 8B", "Qwen3 30B FP8", "Qwen2.5 7B", "Qwen1.5 72B over two", "Mistral Small 4", "DeepSeek V3"],
)
def test_bytes_per_token(layers, elements, bits, shards, ranks, bytes_per_token):
    found = cache_bytes_per_token(float(layers * elements), float(bits), float(shards), float(ranks))
    assert found == bytes_per_token


def test_grouped_queries_take_a_share_of_what_every_head_would():
    """Tools that count every query head say eight times too much for a 70B."""
    shared = cache_bytes_per_token(80 * 2 * 8 * 128.0, 16.0, 8.0, 1.0)
    assert shared * 131_072 == 40 * GIB
    assert cache_bytes_per_token(80 * 2 * 64 * 128.0, 16.0, 64.0, 1.0) == 8 * shared


@pytest.mark.parametrize(("ranks", "share"), [(1, 1), (4, 4), (8, 8), (16, 8), (64, 8)])
def test_ranks_beyond_the_heads_hold_copies(ranks, share):
    assert cache_bytes_per_token(8000.0, 16.0, 8.0, float(ranks)) == 16_000 / share


def test_a_window_ends_what_is_looked_at():
    assert tokens_in_window(500.0, 1024.0) == 500
    assert tokens_in_window(5000.0, 1024.0) == 1024
    assert tokens_in_window(5000.0, inf) == 5000


def test_a_window_is_reserved_with_its_chunk_in_whole_blocks():
    assert reserved_tokens(128.0, 2048.0, 131_072.0, 16.0, 1.0) == 2192
    assert reserved_tokens(1024.0, 8192.0, 8192.0, 16.0, 1.0) == 8208
    assert reserved_tokens(inf, 8192.0, 20_000.0, 16.0, 0.0) == 20_000


def test_a_state_does_not_grow():
    assert state_bytes_per_sequence(800.0, 4.0, 8.0) == 200


def test_an_empty_pool_holds_nothing():
    assert pool_tokens(-5.0, 10.0) == 0
    assert pool_tokens(3.8125 * GIB, 131_072.0) == 31_232
