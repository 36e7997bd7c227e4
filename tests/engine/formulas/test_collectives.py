"""Collectives against published bandwidths and their own bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplanner.engine.formulas.collectives import (
    all_gather_seconds,
    all_reduce_seconds,
    distinct_nodes_share,
    group_efficiency,
    group_latency_seconds,
    send_seconds,
    spanning_all_to_all_seconds,
    spanning_seconds,
)
from gpuplanner.engine.links import Collective, reach
from gpuplanner.engine.machine import Topology
from gpuplanner.units import GB, GIB, MIB

SIZES = st.floats(1e3, 1e11)


def bus_bandwidth(size: float, members: int, seconds: float) -> float:
    return 2 * size * (1 - 1 / members) / seconds


@pytest.mark.parametrize(
    ("gpu", "size", "measured_gb_per_s"),
    [
        ("nvidia-h100-sxm5-80gb", 16 * MIB, 240.83),
        ("nvidia-h100-sxm5-80gb", 512 * MIB, 445.05),
        ("nvidia-a100-sxm4-80gb", 1 * MIB, 47.23),
        ("nvidia-a100-sxm4-80gb", 512 * MIB, 222.33),
    ],
)
def test_eight_gpus_reach_what_was_published(shipped_catalog, shipped_efficiencies, gpu, size, measured_gb_per_s):
    card = shipped_catalog.gpus[gpu]
    found = reach(shipped_efficiencies, card, Collective.ALL_REDUCE, Topology.SWITCHED)
    link = 450 * GB if "h100" in gpu else 300 * GB
    seconds = all_reduce_seconds(size, 8, link, found.share(8), found.latency(8))
    assert bus_bandwidth(size, 8, float(seconds)) / GB == pytest.approx(measured_gb_per_s, rel=0.15)


def test_pcie_without_peer_access_is_an_order_slower_for_eight_than_for_two(shipped_catalog, shipped_efficiencies):
    found = reach(shipped_efficiencies, shipped_catalog.gpus["nvidia-l40s"], Collective.ALL_REDUCE, Topology.PCIE)
    assert found.share(2) > 10 * found.share(8)


def test_one_member_takes_no_time():
    assert all_reduce_seconds(1e9, 1, 1e11, 0.8, 1e-5) == 0
    assert all_gather_seconds(1e9, 1, 1e11, 0.8, 1e-5) == 0
    assert group_latency_seconds(1e-5, 0.5, 1) == 0


@given(size=SIZES, members=st.sampled_from([2, 4, 8, 16, 64]))
def test_time_is_at_least_latency_and_at_least_the_wire(size, members):
    wire = 2 * size * (1 - 1 / members) / (4e11 * 0.8)
    seconds = all_reduce_seconds(size, members, 4e11, 0.8, 2e-5)
    assert seconds >= max(wire, 2e-5)
    assert seconds <= 2 * (wire + 2e-5)


@given(small=SIZES, factor=st.floats(1.01, 100))
def test_more_bytes_take_longer(small, factor):
    times = [all_gather_seconds(size, 8, 3e11, 0.7, 1e-5) for size in (small, small * factor)]
    assert times[0] < times[1]


def test_an_all_reduce_moves_twice_what_a_gather_does():
    args = (64 * GIB, 8, 3e11, 0.75, 0.0)
    assert all_reduce_seconds(*args) == pytest.approx(2 * all_gather_seconds(*args))


def test_on_one_node_the_network_does_not_count():
    inside = all_reduce_seconds(1e9, 8, 4.5e11, 0.9, 1e-5)
    spanning = spanning_seconds(1e9, 2.0, 8, 1, 4.5e11, 0.9, 1e-5, 1.0, 0.7, 1e-4)
    assert spanning == pytest.approx(inside)


def test_between_nodes_each_gpu_carries_its_share():
    slow = spanning_seconds(8e9, 2.0, 32, 4, 9e11, 0.9, 0.0, 50e9, 0.74, 0.0)
    assert slow == pytest.approx(2 * 8e9 * 0.75 / 8 / (50e9 * 0.74))


def test_four_nodes_of_eight_b200_reach_what_was_published(shipped_catalog, shipped_efficiencies):
    gpu = next(g for g in shipped_catalog.gpus.values() if g.architecture == "Blackwell" and "SXM" in g.form_factor)
    link = reach(shipped_efficiencies, gpu, Collective.ALL_REDUCE, Topology.SWITCHED)
    wide = reach(shipped_efficiencies, gpu, Collective.ALL_REDUCE, "network")
    size = 16 * GIB
    seconds = spanning_seconds(
        size, 2.0, 32, 4, 900 * GB, link.share(8), link.latency(8), 50 * GB, wide.share(4), wide.latency(4)
    )
    assert bus_bandwidth(size, 32, float(seconds)) / GB == pytest.approx(381.8, rel=0.1)


def test_an_all_to_all_sends_more_over_the_network_than_a_gather():
    to_all = spanning_all_to_all_seconds(1e9, 32, 4, 4e11, 0.8, 0.0, 5e10, 0.7, 0.0)
    gather = spanning_seconds(1e9, 1.0, 32, 4, 4e11, 0.8, 0.0, 5e10, 0.7, 0.0)
    assert to_all > gather


def test_copies_for_experts_of_one_node_travel_once():
    assert distinct_nodes_share(1.0, 8.0) == pytest.approx(1 / 8)
    assert 0.3 < distinct_nodes_share(4.0, 8.0) < 0.5
    assert distinct_nodes_share(1e6, 8.0) == pytest.approx(1.0, rel=1e-3)


def test_sending_reaches_the_link_for_large_messages():
    assert 16 * GIB / send_seconds(16 * GIB, 450 * GB, 0.88, 8e-6) == pytest.approx(396 * GB, rel=0.02)


@given(members=st.integers(2, 4096))
def test_arrays_and_numbers_agree(members):
    sizes = np.array([1e4, 1e6, 1e9])
    group = np.full(3, float(members))
    together = all_reduce_seconds(sizes, group, 4.5e11, group_efficiency(0.9, 0.2, group), 1e-5)
    alone = [
        float(all_reduce_seconds(s, float(members), 4.5e11, group_efficiency(0.9, 0.2, float(members)), 1e-5))
        for s in sizes
    ]
    assert np.allclose(together, alone, rtol=1e-12)
