"""What the panel and the tables say of entries, in both languages: values, bases, sources, ages, offers."""

from dataclasses import replace
from datetime import date

import pytest

from gpuplanner.catalog.entries import GpuProperty, InstanceProperty, Price, PriceKind
from gpuplanner.catalog.price_age import age_days
from gpuplanner.facts import Basis, Density, Direction, Fact, Known, MemoryKind, Per, Source
from gpuplanner.messages import msg
from gpuplanner.store.settings import CURRENCY, LANGUAGE
from gpuplanner.ui.catalog_place.details import Details, details_of
from gpuplanner.ui.catalog_place.fact_list import FactList, Line
from gpuplanner.ui.catalog_place.fact_words import FactWords
from gpuplanner.ui.catalog_place.marks import Mark, entry_mark, mark_of
from gpuplanner.ui.catalog_place.model_details import model_groups
from gpuplanner.ui.catalog_place.offers import Offers
from gpuplanner.ui.catalog_place.rows import FactRow, NumberRow, PriceRow, WordRow
from gpuplanner.ui.catalog_place.tables import CatalogTable, EntryRef
from gpuplanner.ui.catalog_place.wording import age_mark, basis_words, known_lines, shown_fact
from gpuplanner.units import Unit
from tests.ui.catalog_workspaces import A100, H100, L4

TODAY = date(2026, 11, 30)
SHEET = Source("sheet", "The datasheet, page 2", "2024-03")
BLOG = Source("blog", "A blog", "", accessed="2026-01-02")
MEMORY = Source("memory", "From memory", from_memory=True)
OWN = Source("own", "my prices.yaml", "2026-10-01", user=True)


@pytest.fixture(scope="module")
def offers(shipped_catalog):
    return Offers(shipped_catalog)


@pytest.fixture
def words(appearance, shipped_catalog):
    return FactWords(appearance, lambda: TODAY, shipped_catalog.currencies)


def flops(value, source=SHEET, basis=Basis(Density.DENSE, per=Per.GPU)):  # noqa: B008 -- a frozen value
    return Fact(value, Unit.FLOP_PER_S, source, basis)


def panel(catalog, offers, table, entry_id) -> Details:
    """What the panel says of an entry that is there."""
    found = details_of(catalog, offers, EntryRef(table, entry_id))
    assert found is not None
    return found


# --- Facts ------------------------------------------------------------------------------------------------------------


def test_the_plain_figure_is_dense_and_the_sparse_one_says_so(words):
    sparse = flops(624e12, basis=Basis(Density.SPARSE, per=Per.GPU))
    plain, other = words.lines(FactRow("BF16", Known(flops(312e12), (sparse,))))
    assert (plain.name, plain.value) == ("BF16", "312 TFLOPS")
    assert (other.name, other.value) == ("– 2:4 sparse", "624 TFLOPS")
    assert "The datasheet, page 2 (2024-03)" in plain.more


def test_a_figure_that_is_only_known_sparse_never_stands_plain(words):
    (line,) = words.lines(FactRow("BF16", Known(flops(624e12, basis=Basis(Density.SPARSE)))))
    assert line.name == "BF16 · 2:4 sparse"


def test_both_ways_is_another_basis_than_one_way(words, appearance):
    one = Fact(450e9, Unit.BYTE_PER_S, SHEET, Basis(direction=Direction.ONE_WAY))
    both = Fact(900e9, Unit.BYTE_PER_S, SHEET, Basis(direction=Direction.BOTH_WAYS))
    lines = words.lines(FactRow("NVLink 4", Known(one, (both,))))
    assert [(line.name, line.value) for line in lines] == [
        ("NVLink 4 · one way", "450 GB/s"),
        ("– both ways", "900 GB/s"),
    ]
    appearance.choose(LANGUAGE, "zh_CN")
    assert [line.name for line in words.lines(FactRow("NVLink 4", Known(one, (both,))))] == [
        "NVLink 4 · 单向",
        "– 双向",
    ]


def test_sources_that_disagree_are_marked_and_both_said(words):
    known = Known(flops(989e12), (flops(835e12, BLOG),))
    (line,) = words.lines(FactRow("BF16", known))
    assert mark_of(known) is Mark.DISPUTED
    assert line.value == "◐ 989 TFLOPS"
    assert line.note == "another source says 835\u00a0TFLOPS"
    assert "A blog (taken over 2026-01-02)" in line.more
    assert "835 TFLOPS" in line.more


def test_what_comes_from_memory_says_so(words):
    (line,) = words.lines(FactRow("L2", Known(Fact(50 * 2.0**20, Unit.BYTE, MEMORY))))
    assert line.value == "○ 50 MiB"
    (word,) = words.lines(WordRow(msg("catalogui.word_name.ecc"), "yes", from_memory=True))
    assert word.value == "○ yes"
    assert "from memory" in word.more


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1979e12, Unit.FLOP_PER_S, "1,979 TFLOPS"),
        (9.7e12, Unit.FLOP_PER_S, "9.7 TFLOPS"),
        (0.473e12, Unit.FLOP_PER_S, "0.473 TFLOPS"),
        (1979e12, Unit.OP_PER_S, "1,979 TOPS"),
        (2039e9, Unit.BYTE_PER_S, "2,039 GB/s"),
        (80 * 2.0**30, Unit.BYTE, "80 GiB"),
        (700.0, Unit.WATT, "700 W"),
        (108.0, Unit.COUNT, "108"),
        (0.0, Unit.COUNT, "0"),
    ],
)
def test_values_as_published(appearance, value, unit, text):
    assert shown_fact(Fact(value, unit, SHEET), appearance) == text


def test_every_part_of_a_basis_has_a_word_in_both_languages(appearance):
    for density in Density:
        for memory in MemoryKind:
            basis = Basis(density, None, None, Direction.ONE_WAY, Per.BOARD, memory)
            for language in ("en", "zh_CN"):
                appearance.choose(LANGUAGE, language)
                said = [appearance.text(word) for word in basis_words(basis)]
                assert len(said) == len(set(said)) == 4


def test_remarks_of_facts_are_said_in_the_language_in_use(appearance):
    fact = replace(flops(1e12), note="with ECC on", note_zh="开启 ECC")
    assert "with ECC on" in known_lines(Known(fact), appearance)[0]
    appearance.choose(LANGUAGE, "zh_CN")
    assert "开启 ECC" in known_lines(Known(fact), appearance)[0]


# --- Ages and prices --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dated", "days", "says"),
    [
        ("2026-11-01", 29, None),
        ("2026-06", 182, None),
        ("2026-05-01", 213, "6mo"),
        ("2025-03", 639, "20mo"),
        ("2024-10-10", 781, "2y"),
        ("2019", 2890, "7y"),
        ("", None, "?"),
        ("soon", None, "?"),
        ("2027-01-01", 0, None),
    ],
)
def test_a_stale_price_carries_its_age(appearance, dated, days, says):
    assert age_days(dated, TODAY) == days
    mark = age_mark(dated, TODAY)
    assert (appearance.text(mark) if mark is not None else None) == says


def test_a_price_says_currency_region_date_and_source(words, appearance):
    price = Price(72.0, "CNY", PriceKind.ON_DEMAND, "cn-beijing", "2024-10-10", BLOG)
    (line,) = words.lines(PriceRow(price))
    assert (line.name, line.value) == ("On demand", "10.00 USD/h")
    assert line.note == "72 CNY · cn-beijing · 2024-10-10 · 2y old"
    assert "A blog" in line.more


def test_a_price_without_a_rate_keeps_its_currency(words):
    price = Price(72.0, "CHF", PriceKind.SPOT, "", "", BLOG)
    (line,) = words.lines(PriceRow(price))
    assert (line.name, line.value) == ("Spot", "72 CHF/h")
    assert line.note == "72 CHF · region not stated · date not stated"


def test_prices_follow_the_chosen_currency(words, appearance, shipped_catalog):
    appearance.learn_rates(lambda: shipped_catalog.currencies)
    appearance.choose(CURRENCY, "CNY")
    (line,) = words.lines(PriceRow(Price(10.0, "USD", PriceKind.ON_DEMAND, "us", "2026-11-01", SHEET)))
    assert line.value == "72.00 CNY/h"
    assert line.note == "10 USD · us · 2026-11-01"


# --- Whole entries ----------------------------------------------------------------------------------------------------


def test_every_entry_can_be_said_in_both_languages(shipped_catalog, offers, words, appearance):
    """No entry of the catalog has a word that lacks a text, and none raises."""
    entries = {
        CatalogTable.GPUS: shipped_catalog.gpus,
        CatalogTable.INSTANCES: shipped_catalog.instances,
        CatalogTable.MODELS: shipped_catalog.models,
    }
    for language in ("en", "zh_CN"):
        appearance.choose(LANGUAGE, language)
        for table, found in entries.items():
            for entry_id in found:
                details = panel(shipped_catalog, offers, table, entry_id)
                assert details.groups
                lines = [line for group in details.groups for row in group.rows for line in words.lines(row)]
                assert all(line.name and line.value for line in lines)
                assert all(appearance.said(group.title) for group in details.groups)


def test_an_unknown_entry_has_no_details(shipped_catalog, offers):
    for table in CatalogTable:
        assert details_of(shipped_catalog, offers, EntryRef(table, "no such thing")) is None


def test_the_a100_warns_of_the_claim_of_780_tflops(shipped_catalog, offers):
    details = panel(shipped_catalog, offers, CatalogTable.GPUS, A100)
    assert any("780" in remark.text_en for remark in details.warnings)
    assert any("780" in remark.text_zh for remark in details.warnings)
    assert details.rules, "rules that speak about it"
    assert all(A100 in rule.applies_to for rule in details.rules)


def test_every_fact_of_a_gpu_is_in_the_panel(shipped_catalog, offers):
    """Only PCIe generation and lanes are said by the name of the PCIe rate."""
    said_otherwise = {GpuProperty.PCIE_GENERATION, GpuProperty.PCIE_LANES}
    for gpu in shipped_catalog.gpus.values():
        details = panel(shipped_catalog, offers, CatalogTable.GPUS, gpu.id)
        shown = [row.known for group in details.groups for row in group.rows if isinstance(row, FactRow)]
        for name, known in gpu.properties.items():
            shown_facts = {(f.value, f.unit, f.basis) for k in shown for f in (k.fact, *k.others)}
            facts = {(f.value, f.unit, f.basis) for f in (known.fact, *known.others)}
            assert facts <= shown_facts or name in said_otherwise, (gpu.id, name)


def test_what_an_instance_says(shipped_catalog, offers, words):
    instance = next(i for i in shipped_catalog.instances.values() if i.gpu_id == H100 and i.gpu_count == 8 and i.prices)
    details = panel(shipped_catalog, offers, CatalogTable.INSTANCES, instance.id)
    assert [gpu.id for gpu in details.gpus] == [H100]
    rows = [row for group in details.groups for row in group.rows]
    totals = [row.value for row in rows if isinstance(row, NumberRow) and row.unit is Unit.BYTE]
    assert totals == [640 * 2.0**30]
    known = [row.known for row in rows if isinstance(row, FactRow)]
    assert instance.properties[InstanceProperty.VCPUS] in known
    assert details.plannable


def test_an_instance_without_a_price_says_so(shipped_catalog, offers, words):
    instance = next(i for i in shipped_catalog.instances.values() if not i.prices)
    details = panel(shipped_catalog, offers, CatalogTable.INSTANCES, instance.id)
    lines = [line for row in details.groups[0].rows for line in words.lines(row)]
    assert [line.value for line in lines] == ["price unknown"]


def test_an_instance_whose_gpu_is_not_certain_names_what_it_may_be(shipped_catalog, offers):
    instance = next(i for i in shipped_catalog.instances.values() if i.gpu_id is None and i.gpu_may_be)
    details = panel(shipped_catalog, offers, CatalogTable.INSTANCES, instance.id)
    assert [gpu.id for gpu in details.gpus] == list(instance.gpu_may_be)


def test_what_a_model_says(shipped_catalog, offers, words):
    model = next(m for m in shipped_catalog.models.values() if m.name == "Qwen3-8B")
    details = panel(shipped_catalog, offers, CatalogTable.MODELS, model.id)
    said = {line.name: line.value for g in details.groups for row in g.rows for line in words.lines(row)}
    assert said["Layers"] == "36"
    assert said["KV cache at 16 bits"] == "144 KiB/token"
    assert said["KV cache at 8 bits"] == "72 KiB/token"
    assert said["Count"] == "8,190,735,360, exact"
    assert details.plannable


def test_a_model_without_architecture_is_shown_and_not_planned(shipped_catalog, offers, words):
    model = next(m for m in shipped_catalog.models.values() if not m.plannable)
    details = panel(shipped_catalog, offers, CatalogTable.MODELS, model.id)
    assert not details.plannable
    said = [line.value for g in details.groups for row in g.rows for line in words.lines(row)]
    assert "not described; can be shown, not planned" in said


# --- Offers and marks -------------------------------------------------------------------------------------------------


def test_offers_come_cheapest_first_and_without_a_price_last(offers):
    found = offers.of(A100)
    assert found
    prices = [offer.usd_per_gpu for offer in found if offer.certain and offer.usd_per_gpu is not None]
    assert prices == sorted(prices)
    first_unknown = next((at for at, o in enumerate(found) if o.usd_per_hour is None), len(found))
    assert all(offer.usd_per_hour is None or not offer.certain for offer in found[first_unknown:])
    assert offers.cheapest(A100) is found[0]


def test_an_offer_that_may_be_of_another_gpu_is_never_the_cheapest(shipped_catalog, offers):
    for gpu_id in shipped_catalog.gpus:
        cheapest = offers.cheapest(gpu_id)
        assert cheapest is None or (cheapest.certain and cheapest.instance.gpu_id == gpu_id)


def test_nobody_offers_an_unknown_gpu(offers):
    assert offers.of("no such gpu") == ()
    assert offers.cheapest("no such gpu") is None


def test_the_mark_of_a_row_is_that_of_its_least_certain_fact(shipped_catalog):
    gpu = shipped_catalog.gpus[L4]
    sure = {name: Known(replace(k.fact, source=SHEET)) for name, k in gpu.properties.items()}
    assert entry_mark(replace(gpu, properties=sure)) is Mark.SOURCED
    power = GpuProperty.POWER_W
    remembered = {**sure, power: Known(replace(sure[power].fact, source=MEMORY))}
    assert entry_mark(replace(gpu, properties=remembered)) is Mark.MEMORY
    other = replace(sure[power].fact, value=71.0)
    assert (
        entry_mark(replace(gpu, properties={**remembered, power: Known(sure[power].fact, (other,))})) is Mark.DISPUTED
    )
    own = {**sure, power: Known(replace(sure[power].fact, source=OWN))}
    assert entry_mark(replace(gpu, properties=own)) is Mark.OWN


def test_of_no_model_that_can_be_planned_it_is_said_that_it_cannot(shipped_catalog):
    for model in shipped_catalog.models.values():
        shown = model_groups(model)
        said = {row.text for group in shown for row in group.rows if isinstance(row, WordRow)}
        assert (msg("catalogui.model.no_architecture") in said) is (not model.plannable), model.id


def test_what_a_network_does_for_an_image_is_shown(shipped_catalog):
    rows = [row for group in model_groups(shipped_catalog.models["torchvision/resnet50"]) for row in group.rows]
    assert NumberRow(msg("catalogui.model.flop"), 8.22e9, Unit.FLOP, msg("catalogui.model.flop.note")) in rows
    assert WordRow(msg("catalogui.model.image"), msg("catalogui.model.pixels", width=224, height=224)) in rows


def test_facts_are_not_laid_out_for_no_width_at_all(appearance, qtbot):
    """Layouts ask so before they are placed; with every text wrapped it costs as much as the page itself."""
    facts = FactList(appearance, msg("catalogui.facts"))
    qtbot.addWidget(facts)
    facts.resize(300, 400)
    facts.set_items([Line("Memory bandwidth", "2,039 GB/s", "HBM2e, as its datasheet says it")])
    assert facts.heightForWidth(0) == facts.heightForWidth(300)
