"""Times of serving: work is conserved, waiting follows Little's law, and parts add up to the whole."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplanner.engine.formulas import serving_requests as requests
from gpuplanner.engine.formulas import serving_time as f
from gpuplanner.engine.formulas import serving_waiting as w

TIMES = st.floats(1e-6, 10)


def test_a_step_is_the_sum_of_its_operators():
    assert f.step_seconds(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0) == 45
    assert f.launch_seconds(32.0, 1e-5, 8.0, 2e-5) == pytest.approx(4.8e-4)
    assert f.host_seconds(1e-3, 1e-5, 100.0) == pytest.approx(2e-3)
    assert f.exchange_seconds(2.0, 20.0, 1.0, 10.0, 0.1, 1.5) == 45


def test_offloaded_weights_are_read_in_every_pass_of_every_stage():
    assert f.fetch_seconds(1.0, 1.0, 8e9, 32e9, 0.5) == pytest.approx(0.5)
    assert f.fetch_seconds(3.0, 2.0, 8e9, 32e9, 0.5) == pytest.approx(3.0)
    assert f.fetch_seconds(1.0, 1.0, 0.0, inf, 0.5) == 0


@given(st.floats(1, 500), TIMES, TIMES, st.floats(2, 5000), st.floats(0, 0.5), st.floats(0, 1), st.floats(0, 3))
def test_the_order_of_work_moves_waiting_but_loses_none(sequences, prefill, step, output, burst, filled, convoy):
    """First token and the rest together take a request's cycle, however many prompts go before its own."""
    together = 1.0 + filled * (sequences - 1.0)
    ahead = w.prompts_ahead(burst, sequences, together, 1.0, prefill, output, step, convoy)
    ahead = min(ahead, sequences - 1.0)
    first = requests.first_token_seconds(prefill, 0.0, 0.0, ahead, sequences, prefill, 1.0)
    rest = requests.token_seconds(step, ahead, sequences, prefill, output, burst, 1.0) * output
    assert first + rest == pytest.approx(requests.cycle_seconds(sequences, prefill, output, step), rel=1e-9)


def test_a_single_request_waits_for_nobody():
    ahead = w.prompts_ahead(0.4, 1.0, 1.0, 1.0, 0.2, 100.0, 0.02, 2.0)
    assert ahead == pytest.approx(0.0)
    assert requests.first_token_seconds(0.2, 0.05, 0.01, ahead, 1.0, 0.2, 1.0) == pytest.approx(0.21)
    assert requests.token_seconds(0.02, ahead, 1.0, 0.2, 100.0, 0.4, 1.0) == pytest.approx(0.02)


def test_who_does_not_fit_waits():
    assert requests.waiting_seconds(8.0, 8.0, 4.0) == 0
    assert requests.waiting_seconds(12.0, 8.0, 4.0) == 1
    assert requests.answered_seconds(0.5, 1.0) == 1.5


@given(st.floats(1, 100), TIMES, st.floats(1, 1000), TIMES)
def test_rate_times_stay_is_the_number_at_work(sequences, prefill, output, step):
    cycle = requests.cycle_seconds(sequences, prefill, output, step)
    rate = requests.requests_per_second(sequences, cycle)
    assert requests.sequences_of_rate(rate, sequences, prefill, output, step) == pytest.approx(sequences)


def test_at_a_low_rate_a_request_is_alone():
    assert requests.token_seconds_at_rate(0.02, 0.0, 0.5) == 0.02
    assert requests.first_token_seconds_at_rate(0.5, 0.02, 0.0, 0.0, 0.0, 0.5) == 0.5


def test_waiting_grows_with_the_load_on_the_prompts():
    waits = [requests.first_token_seconds_at_rate(0.1, 0.0, 0.0, 0.0, rate, 0.1) for rate in (0.1, 5.0, 9.0, 9.9)]
    assert waits == sorted(waits)
    assert waits[-1] > 40 * waits[0]


def test_chunks_fill_a_pipeline():
    assert requests.pipelined_prefill_seconds(8.0, 1.0, 4.0) == 8
    assert requests.pipelined_prefill_seconds(8.0, 8.0, 4.0) == pytest.approx(8 * 11 / 32)
    assert requests.prefill_share_seconds(8.0, 1.0, 16.0, 4.0) == 2
    assert requests.prefill_share_seconds(8.0, 1.0, 1.0, 4.0) == 8


def test_short_prompts_share_a_pass_when_many_requests_come():
    assert f.prefill_rows(8192.0, 100.0, 512.0, 64.0, 0.0) == 800
    assert f.prefill_rows(8192.0, 20_000.0, 4.0, 64.0, 0.0) == 8192
    assert f.prefill_passes(20_000.0, 8192.0) == pytest.approx(2.44, rel=1e-2)
    assert f.own_pass_seconds(0.01, 0.002, 2.0, 0.0) == pytest.approx(0.024)
    assert f.own_pass_seconds(0.01, 0.002, 2.0, 1.0) == 0


def test_kernels_of_a_short_prompt_take_as_long_as_they_take_to_start():
    assert f.prompt_launch_seconds(0.0, 1.0, 80.0, 5e-4, 0.03) == pytest.approx(0.01)
    assert f.prompt_launch_seconds(0.0, 1.0, 80.0, 5e-4, 0.5) == 0
    assert f.prompt_launch_seconds(0.004, 2.0, 80.0, 5e-4, 0.5) == 0.004
    assert f.prompt_launch_seconds(0.0, 2.0, 60.0, 5e-4, 0.0) == pytest.approx(0.06)


def test_stages_see_a_part_of_the_batch_or_all_of_it():
    assert f.decode_rows(64.0, 4.0, 1.0) == 16
    assert f.decode_rows(64.0, 4.0, 0.0) == 64
    assert f.decode_rows(2.0, 8.0, 1.0) == 1


def test_the_first_token_is_told_apart_from_the_others():
    assert requests.request_seconds(0.5, 0.02, 101.0) == 2.5
    assert requests.request_seconds(0.5, 0.02, 1.0) == 0.5


def test_parts_that_overlap_show_once():
    reading, multiplying = f.exposed_seconds(3.0, 2.0, 0.1), f.exposed_seconds(2.0, 3.0, 0.1)
    assert reading == 3
    assert multiplying == pytest.approx(0.2)
    assert f.between_tokens_seconds(1.0, 0.4) == pytest.approx(0.6)


def test_amounts():
    assert f.hidden_bytes(10.0, 100.0, 2.0) == 2000
    assert f.traffic_bytes(10.0, 80.0, 20.0, 0.0, 4.0, 1.0) == 400
    assert f.traffic_bytes(10.0, 80.0, 20.0, 64.0, 4.0, 8.0) == 480
    assert requests.output_tokens_per_second(2.0, 100.0) == 200
    assert requests.all_requests_per_second(2.0, 3.0, 50.0) == 6
    assert requests.all_requests_per_second(2.0, 3.0, 1.0) == 2
    assert requests.prefill_tokens_per_second(1000.0, 0.5) == 2000
    assert requests.mean_context_tokens(1000.0, 200.0) == 1100


def test_arrays_give_what_floats_give():
    sequences = np.array([1.0, 7.0, 300.0])
    many = requests.first_token_seconds(0.1, 0.02, 0.01, 0.3, sequences, 0.1, 1.0)
    each = [requests.first_token_seconds(0.1, 0.02, 0.01, 0.3, float(n), 0.1, 1.0) for n in sequences]
    assert list(np.asarray(many)) == each
    many = w.prompts_ahead(0.3, sequences, 1.0, 1.0, 0.1, 100.0, 0.01, 1.0)
    each = [w.prompts_ahead(0.3, float(n), 1.0, 1.0, 0.1, 100.0, 0.01, 1.0) for n in sequences]
    assert list(np.asarray(many)) == each
    assert requests.waiting_seconds(inf, 8.0, 4.0) == inf


def test_a_fixed_batch_of_prompts_is_one_pass_that_all_of_it_waits_for():
    """Sixteen prompts of 128 tokens that begin together are one pass of 2,048; nobody goes before anybody."""
    rows = f.prefill_rows(8192.0, 128.0, 16.0, 2048.0, 1.0)
    assert rows == 16 * 128
    passes = f.prefill_passes(128.0, rows)
    whole = requests.pipelined_prefill_seconds(0.01, passes, 1.0)
    assert whole == pytest.approx(0.16)
    share = requests.prefill_share_seconds(0.01, passes, 16.0, 1.0)
    ahead = w.prompts_ahead(1.0, 16.0, 1.0, 1.0, share, 2048.0, 0.01, 0.0)
    assert requests.first_token_seconds(whole, 0.0, 0.0, ahead, 16.0, share, passes) == pytest.approx(0.16)
    chunked = f.prefill_passes(128.0, f.prefill_rows(1024.0, 128.0, 16.0, 2048.0, 1.0))
    first_of_two = requests.pipelined_prefill_seconds(0.01, chunked, 1.0)
    assert requests.first_token_seconds(first_of_two, 0.0, 0.0, ahead, 16.0, share, chunked) == pytest.approx(0.16)


@pytest.mark.parametrize(
    ("tensor", "pipeline", "per_node", "crossing"),
    [(4, 2, 8, 0), (8, 2, 8, 1), (1, 2, 1, 1), (2, 8, 8, 1), (4, 8, 8, 3), (16, 2, 8, 1), (16, 1, 8, 0), (3, 4, 8, 1)],
)
def test_stages_cross_the_network_where_a_node_is_full(tensor, pipeline, per_node, crossing):
    assert f.node_crossings(float(tensor), float(pipeline), float(per_node)) == crossing


def test_hand_overs_inside_and_between_nodes_are_told_apart():
    assert f.hand_over_seconds(8.0, 1.0, 0.5, 10.0) == 13
    assert f.handed_over_bytes(4096.0, 8.0) == 512
