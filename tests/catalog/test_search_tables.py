"""Tables of the catalog: filters as they are typed, sorts by several keys, pages, derived columns."""

import contextlib
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpuplanner.catalog.catalog import Catalog, Rate
from gpuplanner.catalog.entries import (
    Gpu,
    GpuProperty,
    Instance,
    InstanceProperty,
    Price,
    PriceKind,
)
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.catalog.search import CatalogIndex
from gpuplanner.catalog.table.columns import Column, ColumnKind, header_unit
from gpuplanner.catalog.table.paging import Sort
from gpuplanner.catalog.table.values import natural_key
from gpuplanner.facts import Fact, Known, Source
from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.paths import shipped
from gpuplanner.units import GB, GIB, Display, MemoryConvention, Unit

SOURCE = Source("test", "a test")
IN_GIB = Display()
IN_GB = Display(MemoryConvention.GB)


def known(value: float, unit: Unit) -> Known:
    return Known(Fact(value, unit, SOURCE))


def gpu(gpu_id: str, name: str, gib: float | None = None, tflops: float | None = None, released: str = "") -> Gpu:
    properties = {}
    if gib is not None:
        properties[GpuProperty.MEMORY_BYTES] = known(gib * GIB, Unit.BYTE)
    if tflops is not None:
        properties[GpuProperty.BF16_FLOP_PER_S] = known(tflops * 1e12, Unit.FLOP_PER_S)
    return Gpu(gpu_id, name, "NVIDIA", properties, release_date=released)


def instance(name: str, gpu_id: str | None, count: int | None, price: float | None, **more: object) -> Instance:
    currency = str(more.pop("currency", "USD"))
    prices = (Price(price, currency, PriceKind.ON_DEMAND, "here", "2026-01-02", SOURCE),) if price is not None else ()
    share = more.pop("share", Fraction(1))
    return Instance(
        f"x/{name}", "X", name, "gpu as printed", gpu_id, count, share, {}, prices=prices, **more  # type: ignore[arg-type]  # by name
    )  # fmt: skip


GPUS = [
    gpu("a", "A100 SXM4", 80, 312, "2020-11-16"),
    gpu("h", "H100 SXM5", 80, 989, "2022-03-22"),
    gpu("t", "T4", 16, 65, "2018-09"),
    gpu("l", "L4", 24, 121, "2023-03-21"),
    gpu("u", "Unknown one"),
]
INSTANCES = [
    instance("p5.48xlarge", "h", 8, 80.0),
    instance("p5.4xlarge", "h", 1, 12.0),
    instance("g6f.large", "l", 1, 0.2, share=Fraction(1, 8)),
    instance("cn.big", "a", 4, 72.0, currency="CNY"),
    instance("odd.currency", "a", 1, 5.0, currency="XTS"),
    instance("no.price", "a", 1, None),
    instance("no.count", None, None, 3.0),
    instance("n1-* + 1x nvidia-tesla-t4", "t", 1, 0.35),
]


@pytest.fixture(scope="module")
def index():
    rates = {"CNY": Rate("CNY", 7.2, "2026", SOURCE)}
    return CatalogIndex(Catalog({g.id: g for g in GPUS}, {i.id: i for i in INSTANCES}, currencies=rates))


@pytest.fixture(scope="module")
def real():
    return CatalogIndex(load_catalog(shipped("catalogs")))


def ids(index: CatalogIndex, table: str, filters: dict[str, str] | None = None, **options: object) -> list[str]:
    return [row.id for row in index.page(table, filters, **options).rows]  # type: ignore[arg-type]  # options by name


@pytest.mark.parametrize(
    ("column", "typed", "found"),
    [
        ("memory_bytes", ">=80", "ah"),
        ("memory_bytes", "> 24", "ah"),
        ("memory_bytes", "<=24", "tl"),
        ("memory_bytes", "<24", "t"),
        ("memory_bytes", "80", "ah"),
        ("memory_bytes", "=16", "t"),
        ("memory_bytes", "16|24", "tl"),
        ("memory_bytes", "16..24", "tl"),
        ("memory_bytes", "24..", "ahl"),
        ("memory_bytes", "..24", "tl"),
        ("memory_bytes", "<20|>=80", "aht"),
        ("memory_bytes", "!80", "tlu"),
        ("memory_bytes", "!16|24", "ahu"),
        ("memory_bytes", "!24..80", "tu"),
        ("memory_bytes", "?", "u"),
        ("memory_bytes", "!?", "ahtl"),
        ("memory_bytes", ">=80GiB", "ah"),
        ("memory_bytes", ">=25 gb", "ahl"),
        ("memory_bytes", "≥80", "ah"),
        ("memory_bytes", "１６", "t"),
        ("memory_bytes", "", "ahtlu"),
        ("memory_bytes", "   ", "ahtlu"),
        ("bf16_flop_per_s", ">=312", "ah"),
        ("bf16_flop_per_s", ">0.5 PFLOPS", "h"),
        ("name", "a100|h100", "ah"),
        ("name", "A100 | H100", "ah"),
        ("name", "!SXM", "tlu"),
        ("name", "=l4", "l"),
        ("name", "4", "atl"),
        ("name", '"A100 SXM4"', "a"),
        ("name", "%", ""),
        ("name", "_", ""),
        ("name", "?", ""),
        ("release_date", "2022", "h"),
        ("release_date", ">2020", "hl"),
        ("release_date", ">=2022-03-22", "hl"),
        ("release_date", "<=2020", "at"),
        ("release_date", "<2020", "t"),
        ("release_date", "2018..2020", "at"),
        ("release_date", "2020-11..2022-03", "ah"),
        ("release_date", "!2018", "ahlu"),
        ("release_date", "=2023-03", "l"),
    ],
)
def test_a_filter_keeps_what_it_says(index, column, typed, found):
    assert ids(index, "gpus", {column: typed}, display=IN_GIB) == list(found)


def test_filters_hold_together(index):
    assert ids(index, "gpus", {"memory_bytes": ">=24", "name": "!h100", "bf16_flop_per_s": "!?"}) == ["a", "l"]


def test_a_bare_number_is_in_the_unit_of_the_header(index):
    assert ids(index, "gpus", {"memory_bytes": "80"}, display=IN_GIB) == ["a", "h"]
    assert ids(index, "gpus", {"memory_bytes": "80"}, display=IN_GB) == []
    assert ids(index, "gpus", {"memory_bytes": "85.9"}, display=IN_GB) == ["a", "h"]
    yuan = Display(currency="CNY", per_usd=7.2)
    assert ids(index, "instances", {"price": "72"}, display=yuan) == ["x/cn.big"]
    assert ids(index, "instances", {"price": "10"}) == ["x/cn.big"]


BAD = [
    ("memory_bytes", "abc", "not_a_number"),
    ("memory_bytes", "80..24", "backwards"),
    ("memory_bytes", "80 parsecs", "unknown_unit"),
    ("memory_bytes", ">=", "empty_term"),
    ("memory_bytes", "80|", "empty_term"),
    ("memory_bytes", "|", "empty_term"),
    ("memory_bytes", "!", "empty_term"),
    ("memory_bytes", "..", "empty_term"),
    ("memory_bytes", "NaN", "not_a_number"),
    ("sms", "5 GB", "no_unit"),
    ("name", '"A100', "open_quote"),
    ("name", "a||b", "empty_term"),
    ("name", "=", "empty_term"),
    ("release_date", "soon", "not_a_date"),
    ("release_date", "2024..2020", "backwards"),
    ("release_date", "24..2020", "not_a_date"),
    ("name", "x" * 501, "too_long"),
]


@pytest.mark.parametrize(("column", "typed", "problem"), BAD)
def test_a_filter_that_cannot_be_read_says_what_and_how(index, column, typed, problem):
    with pytest.raises(InputError) as raised:
        index.page("gpus", {column: typed})
    assert raised.value.message.id == f"search.filter.{problem}"
    for language in Language:
        text = Translator(language).text(raised.value.message)
        assert Translator(language).text(f"search.column.{column}") in text
        assert "\n" not in text


def test_an_unknown_column_is_named(index):
    for arguments in (
        {"filters": {"price per fish": "1"}},
        {"sort": [Sort("price per fish")]},
        {"columns": ["price per fish"]},
    ):
        with pytest.raises(InputError) as raised:
            index.page("gpus", **arguments)
        assert "price per fish" in Translator(Language.ENGLISH).text(raised.value.message)


def test_missing_values_are_last_both_ways(index):
    up = ids(index, "gpus", sort=[Sort("memory_bytes")])
    down = ids(index, "gpus", sort=[Sort("memory_bytes", descending=True)])
    assert up == ["t", "l", "a", "h", "u"]
    assert down == ["a", "h", "l", "t", "u"]
    assert ids(index, "gpus", sort=[Sort("release_date")])[-1] == "u"
    assert ids(index, "gpus", sort=[Sort("release_date", descending=True)])[-1] == "u"


def test_sorts_have_several_keys(index):
    assert ids(index, "gpus", sort=[("memory_bytes", True), ("bf16_flop_per_s", True)]) == ["h", "a", "l", "t", "u"]
    assert ids(index, "gpus", sort=[("memory_bytes", True), ("bf16_flop_per_s", False)]) == ["a", "h", "l", "t", "u"]


def test_numbers_in_words_sort_by_size(index):
    found = ids(index, "instances", {"name": "xlarge"}, sort=[Sort("name")])
    assert found == ["x/p5.4xlarge", "x/p5.48xlarge"]
    assert sorted(["g10", "g9", "G2"], key=natural_key) == ["G2", "g9", "g10"]


def test_pages_follow_one_another_without_gap(real):
    whole = ids(real, "instances", sort=[Sort("price"), Sort("name")], limit=1000)
    assert len(whole) == real.page("instances").total
    paged = [
        i
        for offset in range(0, len(whole), 37)
        for i in ids(real, "instances", sort=[Sort("price"), Sort("name")], offset=offset, limit=37)
    ]
    assert paged == whole
    assert ids(real, "instances", offset=10_000) == []
    assert real.page("instances", offset=-5, limit=2).offset == 0


def test_far_pages_are_cut_from_the_same_order():
    many = {f"x/{n}": instance(f"n{n}", "a", 1, float((n * 7919) % 1000)) for n in range(5000)}
    index = CatalogIndex(Catalog({g.id: g for g in GPUS}, {i.id: i for i in many.values()}))
    whole = ids(index, "instances", {"price": ">=100"}, sort=[Sort("price", descending=True)], limit=5000)
    for offset in (0, 1950, 2500, 4400):
        page = index.page("instances", {"price": ">=100"}, [Sort("price", descending=True)], offset, 100)
        assert [row.id for row in page.rows] == whole[offset : offset + 100]
        assert page.total == len(whole)


def test_columns_are_those_that_are_asked_for(index):
    page = index.page("gpus", columns=["memory_bytes", "name"], limit=1)
    assert [column.id for column in page.columns] == ["memory_bytes", "name"]
    assert page.rows[0].cells == (80 * GIB, "A100 SXM4")
    assert page.total == len(GPUS)


def cells(index: CatalogIndex, table: str, column: str) -> dict[str, object]:
    return {row.id.removeprefix("x/"): row.cells[0] for row in index.page(table, columns=[column]).rows}


def test_a_price_is_in_dollars_or_missing_but_never_nothing(index):
    prices = cells(index, "instances", "price")
    assert prices["p5.48xlarge"] == 80.0
    assert prices["cn.big"] == pytest.approx(10.0)
    assert prices["odd.currency"] is None
    assert prices["no.price"] is None


def test_derived_columns(index):
    each = cells(index, "instances", "gpu_price")
    assert each["p5.48xlarge"] == pytest.approx(10.0)
    assert each["g6f.large"] == pytest.approx(1.6)
    assert each["no.count"] is None
    assert each["n1-* + 1x nvidia-tesla-t4"] is None  # the host is billed on top
    assert cells(index, "instances", "gpu_memory_total")["g6f.large"] == pytest.approx(3 * GIB)
    assert cells(index, "instances", "price_per_gib")["p5.48xlarge"] == pytest.approx(80 / 640)
    assert cells(index, "instances", "price_per_tflops")["p5.4xlarge"] == pytest.approx(12 / 989)
    assert cells(index, "gpus", "gpu_price") == {
        "a": pytest.approx(2.5),
        "h": pytest.approx(10.0),
        "t": None,
        "l": pytest.approx(1.6),
        "u": None,
    }
    assert cells(index, "gpus", "price_per_gib")["h"] == pytest.approx(10 / 80)
    assert ids(index, "gpus", sort=[Sort("price_per_tflops")])[:3] == ["a", "h", "l"]


def test_what_the_provider_states_of_its_memory_stands():
    stated = instance("odd", "a", 1, 1.0)
    odd = Instance(**{n: getattr(stated, n) for n in stated.__slots__} | {
        "properties": {InstanceProperty.GPU_MEMORY_BYTES_EACH: known(40 * GIB, Unit.BYTE)}
    })  # fmt: skip
    index = CatalogIndex(Catalog({g.id: g for g in GPUS}, {odd.id: odd}))
    assert cells(index, "instances", "gpu_memory_each") == {"odd": 40 * GIB}


def test_facets_count(index):
    assert index.facets("instances", "gpu") == (
        ("A100 SXM4", 3), ("H100 SXM5", 2), ("gpu as printed", 1), ("L4", 1), ("T4", 1),
    )  # fmt: skip
    assert index.facets("instances", "gpu", {"price": "!?"}, limit=1) == (("H100 SXM5", 2),)


def test_every_column_sorts_and_has_its_texts(real):
    translators = [Translator(language) for language in Language]
    for table in ("gpus", "instances", "models"):
        for column in real.columns(table):
            assert all(translator.text(column.label) for translator in translators)
            up = real.page(table, sort=[Sort(column.id)], columns=[column.id], limit=1000)
            present = [row.cells[0] is not None for row in up.rows]
            assert present == sorted(present, reverse=True)
            assert any(present), (table, column.id)
            if column.kind is ColumnKind.NUMBER:
                values = [row.cells[0] for row in up.rows if row.cells[0] is not None]
                assert values == sorted(values)


def test_a_header_unit_is_one_for_the_column():
    memory = Column("memory_bytes", ColumnKind.NUMBER, Unit.BYTE)
    assert (header_unit(memory, IN_GIB).text, header_unit(memory, IN_GIB).factor) == ("GiB", GIB)
    assert (header_unit(memory, IN_GB).text, header_unit(memory, IN_GB).factor) == ("GB", GB)
    price = header_unit(Column("price", ColumnKind.NUMBER, Unit.MONEY_PER_HOUR), Display(currency="CNY", per_usd=8))
    assert (price.text, price.factor) == ("CNY/h", 0.125)


@given(st.sampled_from(["memory_bytes", "name", "release_date", "price_per_gib"]), st.text(max_size=40))
@example("name", "'; DROP TABLE gpus; --")
@example("name", "\ud800")
@example("memory_bytes", "1e999")
@example("memory_bytes", "-0..1e-400")
@example("release_date", "0000..9999")
def test_any_typed_text_filters_or_is_refused(shared_index, column, typed):
    with contextlib.suppress(InputError):
        assert 0 <= shared_index.page("gpus", {column: typed}).total <= len(GPUS)


@pytest.fixture(scope="module")
def shared_index(index):
    return index


@pytest.mark.parametrize("table", ["gpus", "instances", "models"])
@pytest.mark.parametrize("filters", [{}, {"name": "a"}])
def test_where_an_entry_stands_is_where_the_pages_have_it(shipped_index, table, filters):
    for sort in ((), (Sort("name"),), (Sort("name", descending=True),), LEVEL[table]):
        rows = shipped_index.page(table, filters, sort, limit=1 << 20).rows
        places = {
            row.id: shipped_index.position(table, row.id, filters, sort) for row in rows[:: max(1, len(rows) // 40)]
        }
        assert places
        assert all(rows[place].id == entry for entry, place in places.items() if place is not None)
        assert None not in places.values()
    assert shipped_index.position(table, "no such entry", filters) is None
    left_out = next(row.id for row in shipped_index.page(table, limit=1 << 20).rows)
    assert shipped_index.position(table, left_out, {"name": "no such name"}) is None


LEVEL = {
    "gpus": (Sort("memory_bytes", descending=True), Sort("vendor")),
    "instances": (Sort("gpu_count"), Sort("gpu_price", descending=True)),
    "models": (Sort("layers"), Sort("licence")),
}
"""Sorts by keys that many entries share, and that some do not have."""


@pytest.fixture(scope="module")
def shipped_index():
    return CatalogIndex(load_catalog(shipped("catalogs")))


def test_rates_of_integers_are_in_tops(real):
    column = next(c for c in real.columns("gpus") if c.id == "int8_flop_per_s")
    assert header_unit(column, IN_GIB).text == "TOPS"
    found = [ids(real, "gpus", {"int8_flop_per_s": typed}) for typed in (">=300", ">=300 TOPS", ">=0.3 POPS")]
    assert found[0]
    assert found[0] == found[1] == found[2]
    whole = load_catalog(shipped("catalogs")).gpus.values()
    assert {gpu.properties[name].fact.unit for gpu in whole for name in gpu.properties if name.value == column.id} == {
        Unit.OP_PER_S
    }
