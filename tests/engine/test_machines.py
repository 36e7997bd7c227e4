"""Machines out of catalog entries: topology, link, host, price, and what is said where the source leaves it open."""

from fractions import Fraction
from typing import Any

import pytest

from gpuplanner.catalog.catalog import Catalog, Rate
from gpuplanner.catalog.entries import Gpu, GpuProperty, Instance, InstanceProperty, Price, PriceKind
from gpuplanner.engine.machine import Machine, Topology
from gpuplanner.engine.machines import (
    BARE_COUNTS,
    Unplannable,
    bare,
    catalog_machines,
    choice_of,
    machine_of,
    rented,
    with_nodes,
    within_limits,
)
from gpuplanner.facts import Fact, Known, Source
from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.units import Unit
from gpuplanner.workload.machine_counts import MOST_GPUS, MOST_PER_NODE
from gpuplanner.workload.plan import MachineChoice

SOURCE = Source("s", "A datasheet", "2024-01-01")
RATES = {"CNY": Rate("CNY", 7.0, "2025-01-01", SOURCE)}


def known(value, unit=Unit.BYTE_PER_S):
    return Known(Fact(value, unit, SOURCE))


def gpu(name="h100", form="SXM5", link=450e9, bridge=False, pcie=True):
    properties = {GpuProperty.MEMORY_BYTES: known(80e9, Unit.BYTE)}
    if link:
        properties[GpuProperty.LINK_BYTES_PER_S] = known(link)
    if pcie:
        properties[GpuProperty.PCIE_BYTES_PER_S] = known(63e9, Unit.BYTE_PER_S)
    return Gpu(name, name.upper(), "NVIDIA", properties, form_factor=form, link_kind="NVLink 4", link_is_bridge=bridge)


def instance(**fields):
    fixed: dict[str, Any] = {
        "id": "cloud/big",
        "provider": "Cloud",
        "name": "big",
        "gpu_text": "H100",
        "gpu_id": "h100",
        "gpu_count": 8,
        "gpu_fraction": Fraction(1),
        "properties": {},
    }
    return Instance(**(fixed | fields))


def price(amount, currency="USD", kind=PriceKind.ON_DEMAND):
    return Price(amount, currency, kind, "us", "2026-01-01", SOURCE)


@pytest.mark.parametrize(
    ("one", "printed", "topology", "rate", "remark"),
    [
        (gpu(), "NVSwitch NVLink4", Topology.SWITCHED, 450e9, None),
        (gpu(), "NVLink5 NVL72", Topology.SWITCHED, 450e9, None),
        (gpu(), "NVLink", Topology.SWITCHED, 450e9, None),
        (gpu(), "", Topology.SWITCHED, 450e9, "machines.link_assumed"),
        (gpu(), "PCIe", Topology.PCIE, 63e9, None),
        (gpu(form="PCIe", link=300e9, bridge=True), "NVLink bridge pairs", Topology.BRIDGED_PAIRS, 300e9, None),
        (gpu(form="PCIe", link=300e9, bridge=True), "NVLink", Topology.BRIDGED_PAIRS, 300e9, None),
        (gpu(form="PCIe", link=300e9, bridge=True), "", Topology.PCIE, 63e9, "machines.pcie_assumed"),
        (gpu(form="PCIe", link=None), "PCIe Gen3", Topology.PCIE, 63e9, None),
        (gpu(link=None), "NVLink", Topology.PCIE, 63e9, "machines.link_rate_unknown"),
    ],
)
def test_links_are_as_the_source_prints_them(one, printed, topology, rate, remark):
    machine = rented(instance(interconnect=printed), 1, {"h100": one}, {})
    assert (machine.topology, machine.link_bytes_per_s) == (topology, rate)
    assert [m.id for m in machine.remarks] == ([remark] if remark else [])


def test_one_gpu_needs_no_link():
    """What is not known is None and never 0: nothing may be divided by it."""
    machine = rented(instance(gpu_count=1, interconnect="single GPU"), 4, {"h100": gpu(pcie=False, link=None)}, {})
    assert machine.topology is Topology.SINGLE
    assert machine.link_bytes_per_s is None
    assert bare(gpu(pcie=False), 1).link_bytes_per_s == 450e9


def test_several_gpus_without_any_known_link_cannot_be_planned_with():
    with pytest.raises(InputError) as raised:
        rented(instance(interconnect="PCIe"), 1, {"h100": gpu(link=None, pcie=False)}, {})
    assert raised.value.message.id == "machines.no_link_known"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"gpu_id": None}, "machines.gpu_not_named"),
        ({"gpu_id": "unknown"}, "machines.gpu_not_named"),
        ({"gpu_count": None}, "machines.count_not_stated"),
        ({"gpu_fraction": None}, "machines.share_not_stated"),
    ],
)
def test_an_offer_that_says_too_little_is_refused_and_never_filled_in(fields, reason):
    with pytest.raises(InputError) as raised:
        rented(instance(**fields), 1, {"h100": gpu()}, {})
    assert raised.value.message.id == reason
    for language in Language:
        assert "big" in Translator(language).text(raised.value.message)


def test_an_ambiguous_gpu_is_planned_with_as_the_slowest_and_said():
    gpus = {"pcie": gpu("pcie", "PCIe", 300e9, bridge=True), "sxm": gpu("sxm")}
    machine = rented(instance(gpu_id=None, gpu_may_be=("pcie", "sxm"), interconnect="PCIe"), 1, gpus, {})
    assert machine.gpu.id == "pcie"
    assert [m.id for m in machine.remarks] == ["machines.slower_assumed"]
    text = Translator(Language.ENGLISH).text(machine.remarks[0])
    assert "PCIE" in text
    assert "SXM" in text


def test_a_price_in_another_currency_is_converted_by_a_dated_rate():
    machine = rented(instance(prices=(price(70.0, "CNY"),)), 2, {"h100": gpu()}, RATES)
    assert machine.usd_per_hour == pytest.approx(20.0)
    assert machine.price is not None
    assert machine.price.currency == "CNY"
    assert machine.rate is not None
    assert machine.rate.date == "2025-01-01"


@pytest.mark.parametrize(
    "prices",
    [(), (price(0.0),), (price(3.0, "XXX"),), (price(1.0, kind=PriceKind.SPOT),)],
    ids=["none", "zero", "no rate", "spot only"],
)
def test_a_price_that_is_not_known_is_never_nothing(prices):
    machine = rented(instance(prices=prices), 1, {"h100": gpu()}, RATES)
    assert machine.usd_per_hour is None


def test_a_quote_of_ones_own_stands_before_the_list_price():
    machine = rented(instance(prices=(price(9.0), price(5.0, kind=PriceKind.QUOTED))), 1, {"h100": gpu()}, {})
    assert machine.usd_per_hour == 5.0


def test_the_latest_price_of_the_wanted_region_counts():
    def listed(amount, region, date):
        return Price(amount, "USD", PriceKind.ON_DEMAND, region, date, SOURCE)

    prices = (listed(5.0, "us", "2026-01-01"), listed(6.0, "eu", "2025-01-01"), listed(7.0, "eu", "2026-05-01"))
    offer = instance(prices=prices)
    assert rented(offer, 1, {"h100": gpu()}, {}, ("eu",)).usd_per_hour == 7.0
    assert rented(offer, 1, {"h100": gpu()}, {}, ("us",)).usd_per_hour == 5.0
    assert rented(offer, 1, {"h100": gpu()}, {}, ("asia",)).usd_per_hour == 7.0


def test_a_price_for_the_accelerator_alone_is_not_the_machines():
    attachable = instance(name="n1-* + 8x nvidia-h100", prices=(price(9.0),), interconnect="NVSwitch")
    machine = rented(attachable, 1, {"h100": gpu()}, {})
    assert machine.usd_per_hour is None
    assert [m.id for m in machine.remarks] == ["machines.accelerator_only"]


def test_the_network_of_a_host_is_in_bytes():
    network = {InstanceProperty.NETWORK_BIT_PER_S: known(3200e9, Unit.BIT_PER_S)}
    assert rented(instance(properties=network), 1, {"h100": gpu()}, {}).host.network_bytes_per_s == 400e9


def test_what_is_not_stated_of_a_host_is_not_known():
    host = rented(instance(), 1, {"h100": gpu()}, {}).host
    assert (host.vcpus, host.ram_bytes, host.local_storage_bytes, host.network_bytes_per_s) == (None,) * 4


def catalog():
    return Catalog(
        gpus={"h100": gpu(), "odd": gpu("odd", "card", link=None, pcie=False)},
        instances={
            "cloud/big": instance(prices=(price(10.0),)),
            "cloud/vague": instance(id="cloud/vague", name="vague", gpu_id=None),
        },
    )


def test_all_offers_are_listed_plannable_or_not():
    offers = list(catalog_machines(catalog(), {}))
    assert [type(o) for o in offers] == [Machine, Unplannable]
    assert [o.reason.id for o in offers if isinstance(o, Unplannable)] == ["machines.gpu_not_named"]


def test_bare_gpus_stand_in_a_list_of_their_own():
    offers = list(catalog_machines(catalog(), {}, bare_gpus=True))
    machines = [o for o in offers if isinstance(o, Machine)]
    assert [(m.gpu.id, m.gpus) for m in machines] == [*(("h100", n) for n in BARE_COUNTS), ("odd", 1)]
    assert all(m.instance is None and m.usd_per_hour is None for m in machines)


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        (MachineChoice(), "machines.nothing_chosen"),
        (MachineChoice(instance_id="cloud/none"), "machines.unknown_instance"),
        (MachineChoice(gpu_id="h20"), "machines.unknown_gpu"),
        (MachineChoice(gpu_id="h100", gpus=12, per_node=8), "machines.nodes_not_filled"),
    ],
)
def test_a_machine_that_the_catalog_does_not_have_is_refused(choice, reason):
    with pytest.raises(InputError) as raised:
        machine_of(choice, catalog(), {})
    assert raised.value.message.id == reason
    for language in Language:
        assert Translator(language).text(raised.value.message)


@pytest.mark.parametrize(
    "machine",
    [
        rented(instance(), 3, {"h100": gpu()}, {}),
        bare(gpu(), 4),
        bare(gpu(), 8, 4),
    ],
    ids=["instances", "one node", "nodes"],
)
def test_a_machine_is_found_again_by_its_choice(machine):
    again = machine_of(choice_of(machine), catalog(), {})
    assert (again.gpus, again.nodes, again.topology) == (machine.gpus, machine.nodes, machine.topology)


def test_more_nodes_cost_more():
    machine = machine_of(MachineChoice(instance_id="cloud/big"), catalog(), {})
    assert with_nodes(machine, 4).usd_per_hour == 40.0
    assert with_nodes(with_nodes(machine, 4), 1).usd_per_hour == 10.0


@pytest.mark.parametrize(
    ("machine", "allowed"),
    [
        (bare(gpu(), 8, MOST_GPUS // 8), True),
        (bare(gpu(), 8, MOST_GPUS // 8 + 1), False),
        (bare(gpu(), MOST_PER_NODE + 1), False),
    ],
)
def test_a_machine_that_no_plan_can_name_is_known_as_such(machine: Machine, allowed: bool) -> None:
    assert within_limits(machine) == allowed
    if allowed:
        assert choice_of(machine).gpus == machine.gpus
