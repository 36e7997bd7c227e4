"""What a step waits for its data, by sums worked out by hand."""

import numpy as np
import pytest

from gpuplanner.engine.formulas.data import (
    cores_beside,
    data_bytes_per_s,
    data_read_seconds,
    data_wait_seconds,
    fed_step_seconds,
    host_cores,
    images_per_core_second,
    items_of_node,
    prepare_wait_seconds,
    read_wait_seconds,
    shared_read_rate,
    tokens_of_node,
)


def test_data_are_read_at_the_rate_of_the_storage():
    """1,024 images of 110 kB from a disk of 500 MB/s: 0.225 s, of which a step of 0.2 s hides all but 25 ms."""
    assert items_of_node(128.0, 8.0) == 1024
    assert data_read_seconds(1024.0, 110e3, 500e6) == pytest.approx(0.22528)
    assert read_wait_seconds(0.22528, 0.2) == pytest.approx(0.02528)
    assert read_wait_seconds(0.22528, 0.3) == 0.0
    assert fed_step_seconds(0.2, 0.02528) == pytest.approx(0.22528)
    assert data_bytes_per_s(5000.0, 110e3) == 5.5e8


def test_nodes_share_what_a_shared_storage_gives():
    assert shared_read_rate(10e9, 4.0) == 2.5e9


def test_a_core_decodes_what_is_stored_and_crops_what_is_seen():
    """ImageNet: 110 kB, 2.2 ms to decode and 7.8 to crop and vary; a photograph of 2 MB takes 40 ms to decode."""
    assert images_per_core_second(1.0, 128.0, 110e3, 5e7) == pytest.approx(100, rel=0.01)
    assert images_per_core_second(1.0, 128.0, 2e6, 5e7) == pytest.approx(1 / (0.04 + 1 / 128))
    assert images_per_core_second(16.0, 128.0, 0.0, 5e7) == 8.0


def test_only_what_is_trained_on_is_read():
    """64 sequences of 4,096 tokens of which 1,024 are generated, half of them padding, over two nodes."""
    assert tokens_of_node(64.0, 1.0, 4096.0, 1024.0, 0.5, 2.0) == 64 * 3072 * 0.5 / 2


def test_cores_prepare_beside_the_processes_of_the_gpus_and_all_of_them_while_these_wait():
    """96 threads are 48 cores, 32 of them beside 8 GPUs; 1,024 images, 100 a core and second, a step of 0.1 s."""
    assert host_cores(96.0, 2.0) == 48
    beside = cores_beside(48.0, 8.0, 2.0, 1e30)
    assert beside == 32
    assert prepare_wait_seconds(1024.0, 100.0, beside, 0.1, 48.0, 1e30) == pytest.approx((10.24 - 3.2) / 48)
    assert prepare_wait_seconds(1024.0, 100.0, beside, 1.0, 48.0, 1e30) == 0.0


def test_no_more_cores_prepare_than_there_are_processes():
    assert cores_beside(48.0, 8.0, 2.0, 16.0) == 16
    assert prepare_wait_seconds(1024.0, 100.0, 16.0, 0.1, 48.0, 16.0) == pytest.approx((10.24 - 1.6) / 16)


def test_fewer_cores_than_the_gpus_processes_leave_none_beside():
    assert cores_beside(8.0, 8.0, 2.0, 1e30) == 0.0
    assert prepare_wait_seconds(1024.0, 100.0, 0.0, 0.1, 8.0, 1e30) == pytest.approx(1.28)


def test_reading_and_preparing_go_on_together_unless_one_process_does_both():
    assert data_wait_seconds(0.2, 0.5, 1.0) == 0.5
    assert data_wait_seconds(0.2, 0.5, 0.0) == 0.7


def test_arrays_give_what_numbers_give():
    rates = np.array([1e8, 1e9, 1e30])
    read = read_wait_seconds(data_read_seconds(1024.0, 110e3, rates), 0.2)
    assert isinstance(read, np.ndarray)
    assert list(read) == [read_wait_seconds(data_read_seconds(1024.0, 110e3, float(rate)), 0.2) for rate in rates]
    cores = np.array([4.0, 48.0, 1e30])
    waits = prepare_wait_seconds(1024.0, 100.0, cores_beside(cores, 8.0, 2.0, 1e30), 0.1, cores, 1e30)
    assert isinstance(waits, np.ndarray)
    assert list(waits) == [
        prepare_wait_seconds(1024.0, 100.0, cores_beside(float(c), 8.0, 2.0, 1e30), 0.1, float(c), 1e30) for c in cores
    ]
    assert waits[2] == 0.0
