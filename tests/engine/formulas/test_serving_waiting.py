"""How prompts wait for each other, by when their clients ask."""

import pytest

from gpuplanner.engine.formulas import serving_requests as requests
from gpuplanner.engine.formulas import serving_waiting as w


def test_prompts_that_come_at_random_wait_as_the_load_says():
    """A third of the time goes to prompts: half of a third over two thirds is a quarter of a prompt (M/D/1)."""
    others, prefill, output, step = 10.0, 0.05, 100.0, 0.01
    assert w.prompts_ahead(0.0, others + 1.0, 1.0, 1.0, prefill, output, step, 0.0) == pytest.approx(0.25)
    busier = [
        w.prompts_ahead(0.0, 11.0, 1.0, 1.0, prefill, answer, step, 0.0) for answer in (1000.0, 100.0, 10.0, 1e-3)
    ]
    assert busier == sorted(busier)
    assert busier[-1] == others / 2


def test_clients_in_step_wait_for_half_of_all_or_for_the_passes_under_way():
    in_step = w.prompts_ahead(0.5, 64.0, 8.0, 1.0, 0.05, 1000.0, 0.01, 0.0)
    assert in_step == (64 + 8) / 2 - 1
    at_random = w.prompts_ahead(0.0, 64.0, 8.0, 1.0, 0.05, 1000.0, 0.01, 0.0)
    assert w.prompts_ahead(0.0, 64.0, 8.0, 1.0, 0.05, 1000.0, 0.01, 2.0) == pytest.approx(at_random + 2)
    assert w.prompts_ahead(0.0, 1.5, 1.0, 1.0, 0.0, 1000.0, 0.01, 2.0) == 0.5


def test_groups_wait_for_each_others_prompts_for_some_steps_at_most():
    assert w.balance_seconds(60.0, 0.02, 8.0, 3.5) == pytest.approx(0.6)
    assert w.balance_seconds(60.0, 0.02, 8.0, 14.0) == pytest.approx(0.25)
    assert w.balance_seconds(60.0, 0.02, 1.0, 14.0) == 0


def test_prompts_of_a_full_pass_share_the_start_of_its_kernels():
    assert w.full_pass_cost(0.1, 0.08, 8.0) == pytest.approx(0.2)
    assert w.full_pass_cost(0.1, 0.08, 2.0) == pytest.approx(0.5)
    assert w.full_pass_cost(0.1, 0.0, 8.0) == 1
    assert w.full_pass_cost(0.1, 0.08, 1.0) == 1
    in_one_pass = w.prompts_ahead(0.5, 8.0, 8.0, 0.2, 0.1, 100.0, 0.01, 0.0)
    assert in_one_pass == pytest.approx(8 * 0.2 - 1)
    assert requests.token_seconds(0.01, in_one_pass, 8.0, 0.1, 100.0, 0.5, 0.2) == pytest.approx(0.01)


def test_clients_that_all_start_at_once_wait_for_half_of_all_prompts_and_for_their_own_pass():
    """Ten times a client, of which the first is at once with the others: 64 clients, eight prompts in a pass."""
    together = w.burst_prompts(8192.0, 1024.0, 64.0, 0.0)
    assert together == 8
    assert w.burst_prompts(8192.0, 1024.0, 3.0, 0.0) == 3
    assert w.burst_prompts(2048.0, 8192.0, 64.0, 0.0) == 1
    assert w.burst_prompts(8192.0, 128.0, 16.0, 1.0) == 1
    arrive_at_once = sum(8 * (1 + n // 8) for n in range(64)) / 64
    assert arrive_at_once == (64 + 8) / 2
    ahead = w.prompts_ahead(0.05, 64.0, together, 1.0, 0.0, 1000.0, 0.01, 0.0)
    first = requests.first_token_seconds(1.0, 0.0, 0.0, ahead, 64.0, 1.0, 1.0)
    assert first == pytest.approx(0.9 * 1 + 0.1 * arrive_at_once)


def test_layers_of_experts_are_waited_for_in_every_pass_however_much_work_it_has():
    assert w.with_start_seconds(0.0, 2.0, 58.0, 1e-3) == pytest.approx(0.116)
    assert w.with_start_seconds(3.0, 2.0, 58.0, 1e-3) == pytest.approx(3.116)
    assert w.with_start_seconds(3.0, 2.0, 0.0, 1e-3) == 3.0
