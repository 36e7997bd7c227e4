"""Import guards: each finds its mistake, and lets real data pass."""

from fractions import Fraction

import pytest

from gpuplanner.catalog.entries import Gpu, GpuProperty, Instance, Price, PriceKind
from gpuplanner.catalog.guards import (
    memory_of_another_kind,
    parameters_that_contradict,
    price_of_nothing,
    price_of_one_gpu,
    price_without_currency,
    prices_that_do_not_scale,
    rate_that_is_doubled,
)
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.facts import Fact, Known, Source
from gpuplanner.paths import shipped
from gpuplanner.units import GIB, TERA, Unit

LIST = Source("list.csv", "list.csv", user=True)
PUBLISHED = Source("site", "A provider's site", "2026-01-01")


@pytest.fixture(scope="module")
def catalog():
    return load_catalog(shipped("catalogs"))


def offer(name, gpus, hourly, source=LIST, gpu_id="nvidia-h100-sxm5-80gb", share=Fraction(1), region="eu"):
    price = Price(hourly, "USD", PriceKind.ON_DEMAND, region, "2026-01-01", source)
    return Instance(f"acme/{name}", "Acme", name, "H100", gpu_id, gpus, share, {}, prices=(price,))


def gpu(bf16_tflops, **words):
    rate = Known(Fact(bf16_tflops * TERA, Unit.FLOP_PER_S, LIST))
    return Gpu("own", "Own", "NVIDIA", {GpuProperty.BF16_FLOP_PER_S: rate}, **words)


def faulty(instances):
    return {(i.name, fault.id) for i, _, fault in prices_that_do_not_scale(instances)}


def test_a_price_of_nothing_is_found():
    found = price_of_nothing(0.0)
    assert found is not None
    assert found.id == "overlay.price.zero"
    assert price_of_nothing(1e-300) == found
    assert price_of_nothing(0.01) is None


@pytest.mark.parametrize(
    ("currency", "found"),
    [
        ("", "overlay.price.no_currency"),
        ("$", "overlay.price.bad_currency"),
        ("人民币", "overlay.price.bad_currency"),
        ("USDT", "overlay.price.bad_currency"),
        ("USD", None),
    ],
)
def test_a_price_without_a_currency_is_found(currency, found):
    fault = price_without_currency(currency)
    assert (fault.id if fault else None) == found


def test_eight_gpus_at_the_price_of_one_are_found():
    assert faulty([offer("one", 1, 3.0), offer("eight", 8, 3.0)]) == {("eight", "overlay.price.not_scaling")}


def test_one_gpu_at_the_price_of_eight_is_found():
    assert faulty([offer("one", 1, 24.0), offer("eight", 8, 24.0)]) == {("eight", "overlay.price.not_scaling")}


def test_a_price_far_above_the_smaller_ones_is_found():
    assert faulty([offer("one", 1, 3.0), offer("two", 2, 24.0)]) == {("two", "overlay.price.not_scaling")}


def test_prices_that_scale_or_have_nothing_to_be_compared_with_pass():
    assert faulty([offer("one", 1, 3.0), offer("eight", 8, 22.0), offer("sixteen", 16, 50.0)]) == set()
    assert faulty([offer("eight", 8, 3.0)]) == set()
    assert faulty([offer("one", 1, 3.0), offer("eight", 8, 3.0, region="us")]) == set()
    assert faulty([offer("one", 1, 3.0), offer("eight", 8, 3.0, gpu_id="nvidia-l4")]) == set()
    assert faulty([offer("half", 1, 3.0, share=Fraction(1, 2)), offer("eight", 8, 3.0)]) == set()


def test_a_discount_against_published_prices_passes_but_the_price_of_one_does_not():
    published = [offer("one", 1, 6.88, PUBLISHED), offer("eight", 8, 55.04, PUBLISHED)]
    assert faulty([*published, offer("agreed", 8, 20.0)]) == set()
    agreed, single = offer("agreed", 8, 20.0), offer("single", 8, 6.9)
    assert price_of_one_gpu(agreed, agreed.prices[0], published) is None
    found = price_of_one_gpu(single, single.prices[0], published)
    assert found is not None
    assert found.id == "overlay.price.of_one"
    two = offer("two", 2, 6.9)
    assert price_of_one_gpu(two, two.prices[0], published) is None


def test_no_published_price_is_taken_for_one_that_does_not_scale(catalog):
    """But for one, which really is doubtful: eight GPUs for hardly more than four. Its note says so."""
    found = [i for i, _, _ in prices_that_do_not_scale(catalog.instances.values())]
    assert [i.id for i in found] == ["exoscale/gpu-huge"]
    assert "doubtful" in found[0].note


@pytest.mark.parametrize(
    ("gpu_id", "stated_gib", "count", "share", "found"),
    [
        ("nvidia-h100-sxm5-80gb", 640, 8, Fraction(1), "overlay.memory.total"),
        ("nvidia-h100-sxm5-80gb", 80, 8, Fraction(1), None),
        ("nvidia-h100-sxm5-80gb", 79.6, 8, None, None),
        ("nvidia-t4", 0.25, 1, Fraction(1), "overlay.memory.bar1"),
        ("nvidia-h100-sxm5-80gb", 128, 1, Fraction(1), "overlay.memory.bar1"),
        ("nvidia-l4", 32, 1, Fraction(1), "overlay.memory.bar1"),
        ("nvidia-a100-sxm4-40gb", 80, 1, Fraction(1), "overlay.memory.other"),
        ("nvidia-l4", 6, 1, Fraction(1, 4), None),
        ("nvidia-k80", 24, 1, Fraction(1), None),
    ],
)
def test_memory_of_another_kind_is_found(catalog, gpu_id, stated_gib, count, share, found):
    fault = memory_of_another_kind(stated_gib * GIB, catalog.gpus[gpu_id], count, share)
    assert (fault.id if fault else None) == found


@pytest.mark.parametrize(
    ("rate", "words", "found"),
    [
        (1979, {"architecture": "Hopper"}, True),
        (989, {"architecture": "Hopper"}, False),
        (728.5, {"chip": "AD102"}, True),
        (1007.6, {"chip": "GB202"}, True),
        (1007.6, {"architecture": "Blackwell"}, False),
        (1007.6, {"compute_capability": "12.0"}, True),
        (1979, {}, False),
        (5000, {"architecture": "Rubin"}, False),
    ],
)
def test_a_rate_with_sparsity_taken_for_the_dense_one_is_found(catalog, rate, words, found):
    fault = rate_that_is_doubled(gpu(rate, **words), catalog.gpus)
    assert (fault is not None) == found


@pytest.mark.parametrize(
    ("stated", "computed", "found"), [(8.03e9, 8.03e9, False), (8e9, 8.03e9, False), (56e9, 46.7e9, True)]
)
def test_a_parameter_count_that_contradicts_the_configuration_is_found(stated, computed, found):
    assert (parameters_that_contradict(stated, computed) is not None) == found
