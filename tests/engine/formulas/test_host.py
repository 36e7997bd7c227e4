"""Host needs, storage and power against sums worked out by hand and against published numbers."""

import numpy as np
import pytest

from gpuplanner.engine.formulas.host import (
    checkpoint_interval_seconds,
    host_memory_bytes,
    network_rate_to_hide,
    offloaded_bytes,
    preparing_vcpus,
    seconds_between_failures,
    serving_vcpus,
)
from gpuplanner.engine.formulas.power import drawn_power_share, gpu_power_watts, job_joules, joules_per_token
from gpuplanner.engine.formulas.storage import (
    checkpoint_bytes,
    item_storage_rate,
    load_rate,
    storage_bytes,
    token_file_bytes,
    training_storage_rate,
)


def test_a_server_needs_two_cores_and_one_for_each_gpu():
    assert serving_vcpus(2, 2, 8, 0.0, 400_000.0) == 20
    assert serving_vcpus(2, 2, 8, 100_000.0, 400_000.0) == 21


def test_training_keeps_some_cores_of_each_rank_busy():
    assert preparing_vcpus(2, 8, 2, 800_000.0, 400_000.0) == 36


def test_host_memory_is_what_its_parts_take():
    assert host_memory_bytes(4e9, 8, 5e9, 32e9, 100e9, 10e9) == 186e9


def test_offload_takes_the_states_with_room_for_buffers():
    """DeepSpeed's own table: 16 bytes a parameter, 1.5 times: 7 billion parameters need 168 GB."""
    assert offloaded_bytes(7e9, 16, 1.5, 1) == 168e9
    assert offloaded_bytes(7e9, 16, 1.5, 2) == 84e9


def test_failures_come_as_often_as_published():
    """Kokolis et al.: 47.7 days at 8 GPUs; the same rate gives 8.9 hours at 1,024, where 7.9 were measured."""
    each = 47.7 * 86_400 * 8
    assert seconds_between_failures(each, 8) == pytest.approx(47.7 * 86_400)
    assert seconds_between_failures(each, 1024) == pytest.approx(8.94 * 3600, rel=0.01)


def test_the_checkpoint_interval_is_youngs():
    assert checkpoint_interval_seconds(60.0, 30_000.0) == pytest.approx(1897.4, rel=1e-4)


def test_the_network_hides_when_it_takes_its_share():
    needed = network_rate_to_hide(50e9, 2.0, 0.1, 10.0)
    assert needed == 100e9
    assert 2.0 * 50e9 / needed == pytest.approx(0.1 * 10.0)


def test_storage():
    assert checkpoint_bytes(70e9, 14) == 980e9
    assert token_file_bytes(1e12, 4) == 4e12
    assert storage_bytes(80e9, 140e9, 3, 980e9, 4e12) == pytest.approx(7.16e12)
    assert load_rate(140e9, 70.0) == 2e9


def test_the_storage_rate_is_the_larger_of_checkpoint_and_data():
    assert training_storage_rate(980e9, 60.0, 1e6, 4.0) == pytest.approx(980e9 / 60.0)
    assert training_storage_rate(1e6, 60.0, 1e6, 4.0) == 4e6


def test_power_is_a_mean_over_what_limits():
    assert drawn_power_share(1.0, 0.0, 0.9, 0.65, 0.4) == 0.9
    assert drawn_power_share(0.5, 0.25, 0.9, 0.65, 0.4) == pytest.approx(0.7125)
    assert gpu_power_watts(8, 700.0, 0.9) == pytest.approx(5040.0)
    assert job_joules(5040.0, 3600.0) == pytest.approx(5.04 * 3.6e6)
    assert joules_per_token(5040.0, 10_080.0) == 0.5


def test_arrays_give_what_floats_give():
    tokens = np.array([0.0, 1e5, 3.3e6])
    expected = [serving_vcpus(2, 2, 8, float(t), 4e5) for t in tokens]
    assert list(np.asarray(serving_vcpus(2, 2, 8, tokens, 4e5))) == expected


def test_cores_that_prepare_items_come_on_top_of_those_of_the_processes():
    assert preparing_vcpus(2, 8, 2, 0.0, 250.0) == 32
    assert preparing_vcpus(2, 8, 2, 2500.0, 250.0) == 52


def test_items_are_read_while_a_checkpoint_is_written():
    assert item_storage_rate(60e9, 60, 0.0, 110_000.0) == 1e9
    assert item_storage_rate(60e9, 60, 10_000.0, 110_000.0) == 2.1e9
