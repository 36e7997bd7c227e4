"""Plans of models that mix attention with recurrent layers: vLLM gives both pages of one size, other servers none."""

from dataclasses import replace

import numpy as np
import pytest

from gpuplanner.engine.serving_inputs import WayNumbers
from gpuplanner.engine.serving_machine import server_numbers
from gpuplanner.engine.serving_memory import held_sequence_bytes, longest_request_tokens, reserved_sequence_bytes
from gpuplanner.engine.serving_model import model_numbers
from gpuplanner.engine.serving_pages import pages_of
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.serving import Server, Serving

HYBRID = "Qwen/Qwen3-Next-80B-A3B"
"""36 recurrent layers and 12 of attention: groups of 12, three of which are recurrent."""


@pytest.fixture
def numbers(shipped_catalog, shipped_efficiencies):
    return model_numbers(shipped_catalog.models[HYBRID].architecture, "fp8", None, shipped_efficiencies)


@pytest.fixture
def server_of(shipped_catalog, shipped_efficiencies):
    def found(server):
        workload = Serving(model=ModelChoice(catalog_id=HYBRID), server=server)
        return server_numbers(workload, shipped_catalog.gpus["nvidia-h100-sxm5-80gb"], shipped_efficiencies)

    return found


WAY = WayNumbers(2.0, 1.0, 1.0)


def test_a_request_takes_whole_pages_of_vllms_pool(numbers, server_of):
    server = server_of(Server.VLLM)
    pages = pages_of(numbers, server, 2.0)
    assert pages is not None
    assert (pages.attention_groups, pages.recurrent_groups) == (1, 3)
    for tokens in (1.0, pages.tokens, pages.tokens + 1.0, 50_000.0):
        held = held_sequence_bytes(numbers, server, WAY, numbers.layers, tokens)
        assert held == (3 + -(-tokens // pages.tokens)) * pages.size_bytes
        assert held == reserved_sequence_bytes(numbers, server, WAY, numbers.layers, tokens)


def test_the_longest_request_is_the_last_that_fits(numbers, server_of):
    server = server_of(Server.VLLM)
    for pool in (1e9, 7.77e9, 20e9):
        longest = longest_request_tokens(numbers, server, WAY, numbers.layers, pool)
        assert held_sequence_bytes(numbers, server, WAY, numbers.layers, longest) <= pool
        assert held_sequence_bytes(numbers, server, WAY, numbers.layers, longest + 1.0) > pool


def test_other_servers_keep_states_and_cache_apart(numbers, server_of):
    """A page is no smaller than a state, and the last page of a request is not full."""
    apart, shared = server_of(Server.SGLANG), server_of(Server.VLLM)
    for tokens in (100.0, 3_000.0, 100_000.0):
        by_itself = held_sequence_bytes(numbers, apart, WAY, numbers.layers, tokens)
        assert by_itself < held_sequence_bytes(numbers, shared, WAY, numbers.layers, tokens)


def test_arrays_of_servers_give_what_each_gives(numbers, server_of):
    ones = [server_of(Server.SGLANG), server_of(Server.VLLM)]
    both = replace(
        ones[0],
        shared_pages=np.array([s.shared_pages for s in ones]),
        block_tokens=np.array([s.block_tokens for s in ones]),
    )
    together = held_sequence_bytes(numbers, both, WAY, numbers.layers, 5_000.0)
    assert list(np.asarray(together)) == [held_sequence_bytes(numbers, s, WAY, numbers.layers, 5_000.0) for s in ones]


def test_models_of_one_kind_of_layers_have_no_pages(shipped_catalog, shipped_efficiencies, server_of):
    for name in ("meta-llama/Meta-Llama-3.1-8B", "state-spaces/mamba-2.8b"):
        dense = model_numbers(shipped_catalog.models[name].architecture, None, None, shipped_efficiencies)
        assert pages_of(dense, server_of(Server.VLLM), 1.0) is None
