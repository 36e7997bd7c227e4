"""Filters as they are typed, kept and said, without a window."""

import pytest

from gpuplanner.catalog.search import CatalogIndex
from gpuplanner.messages import msg
from gpuplanner.store.settings import LANGUAGE, MEMORY
from gpuplanner.ui.catalog_place.columns import short_title
from gpuplanner.ui.catalog_place.filter_words import filter_text
from gpuplanner.ui.catalog_place.narrowing import rows_without_each
from gpuplanner.ui.catalog_place.query import Query, Term, exactly, filters_of, interpreted, read_query, written
from gpuplanner.ui.catalog_place.tables import CatalogTable, EntryRef, read_path
from gpuplanner.units import Display

ANY = "*"


@pytest.fixture(scope="module")
def index(shipped_catalog):
    return CatalogIndex(shipped_catalog)


@pytest.fixture
def asked(index, appearance):
    """What a typed text asks of the GPUs."""

    def ask(text):
        def names(column):
            return (*appearance.texts(msg(column.label)), *appearance.texts(short_title(column)))

        return interpreted(text, index.columns("gpus"), names, CatalogTable.GPUS.main_number)

    return ask


@pytest.mark.parametrize(
    ("typed", "term"),
    [
        ("A100|H100", Term(ANY, "A100|H100")),
        (">=80", Term("memory_bytes", ">=80")),
        ("≥ 80", Term("memory_bytes", "≥ 80")),
        ("24..80", Term("memory_bytes", "24..80")),
        ("bandwidth >= 2000", Term("hbm_bytes_per_s", ">= 2000")),
        ("显存>=80", Term("memory_bytes", ">=80")),
        ("带宽：>2000", Term("hbm_bytes_per_s", ">2000")),
        ("vendor: AMD|Intel", Term("vendor", "AMD|Intel")),
        ("power<300", Term("power_w", "<300")),
        ("fp8>=1000", Term("fp8_flop_per_s", ">=1000")),
        ("no such column: 5", Term(ANY, "no such column: 5")),
        ("RTX 4090", Term(ANY, "RTX 4090")),
        ("80", Term(ANY, "80")),
    ],
)
def test_what_a_typed_text_asks(asked, typed, term):
    assert asked(typed) == term


def test_nothing_typed_asks_nothing(asked):
    assert asked("   ") is None


def test_a_column_has_one_filter_and_words_add_up():
    query = Query().adding(Term("vendor", "AMD")).adding(Term(ANY, "sxm")).adding(Term("vendor", "NVIDIA"))
    query = query.adding(Term(ANY, "80gb"))
    assert query.terms == (Term(ANY, "sxm"), Term("vendor", "NVIDIA"), Term(ANY, "80gb"))
    assert filters_of(query.terms) == {"*0": "sxm", "vendor": "NVIDIA", "*2": "80gb"}
    assert query.without(Term(ANY, "sxm")).terms == (Term("vendor", "NVIDIA"), Term(ANY, "80gb"))


def test_a_query_is_kept_and_read_again(index):
    query = Query((Term("vendor", "AMD"), Term(ANY, "x")), "mi3")
    assert read_query(written(query), index.columns("gpus")) == query


@pytest.mark.parametrize(
    "kept",
    [
        None,
        7,
        "x",
        {"terms": 3},
        {"terms": [["vendor"], [1, 2], ["no_such_column", ">3"], "x"], "typed": 5},
    ],
)
def test_what_cannot_be_read_of_a_kept_query_is_left_out(index, kept):
    assert read_query(kept, index.columns("gpus")) == Query()


@pytest.mark.parametrize(
    ("term", "english", "chinese"),
    [
        (Term("memory_bytes", ">=80"), "GPU memory ≥ 80 GiB", "显存 ≥ 80 GiB"),
        (Term("memory_bytes", "24..80"), "GPU memory 24 – 80 GiB", "显存 24 – 80 GiB"),
        (Term("memory_bytes", "80|96"), "GPU memory 80 GiB or 96 GiB", "显存 80 GiB 或 96 GiB"),
        (Term("power_w", "<1kW"), "Power limit < 1kW", "功耗上限 < 1kW"),
        (Term("vendor", "!AMD"), "Vendor not AMD", "厂商 非 AMD"),
        (Term("name", '="L4"'), "Name = L4", "名称 = L4"),
        (Term("fp8_flop_per_s", "?"), "FP8 dense unknown", "FP8 稠密算力 未知"),
        (Term(ANY, "A100|H100"), "Contains A100 or H100", "包含 A100 或 H100"),
    ],
)
def test_what_a_chip_says(index, appearance, term, english, chinese):
    column = next((c for c in index.columns("gpus") if c.id == term.column), None)
    assert filter_text(term, column, appearance) == english
    appearance.choose(LANGUAGE, "zh_CN")
    assert filter_text(term, column, appearance) == chinese


def test_a_chip_follows_the_convention_of_memory(index, appearance):
    column = next(c for c in index.columns("gpus") if c.id == "memory_bytes")
    appearance.choose(MEMORY, "GB")
    assert filter_text(Term("memory_bytes", ">=80"), column, appearance) == "GPU memory ≥ 80 GB"


def test_the_filter_for_one_value_finds_that_value_alone(index):
    rows = index.page("gpus", {"name": exactly("L4")}, columns=["name"]).rows
    assert [row.cells[0] for row in rows] == ["L4"]


def test_which_filter_leaves_nothing(index):
    terms = (Term("vendor", "AMD"), Term("memory_bytes", ">=80"), Term("architecture", "Hopper"))
    found = rows_without_each(index, CatalogTable.GPUS, terms, Display())
    assert index.page("gpus", filters_of(terms)).total == 0
    assert {without.term.column for without in found} == {"vendor", "architecture"}
    for without in found:
        others = filters_of(t for t in terms if t != without.term)
        assert without.rows == index.page("gpus", others).total > 0
    assert [w.rows for w in found] == sorted((w.rows for w in found), reverse=True)


def test_no_single_filter_is_to_blame(index):
    terms = (Term("vendor", "AMD"), Term("architecture", "Hopper"), Term(ANY, "no such word"))
    assert rows_without_each(index, CatalogTable.GPUS, terms, Display()) == ()


@pytest.mark.parametrize(
    ("path", "means"),
    [
        ("gpus", CatalogTable.GPUS),
        ("gpu/nvidia-l4", EntryRef(CatalogTable.GPUS, "nvidia-l4")),
        ("model/Qwen/Qwen3-8B", EntryRef(CatalogTable.MODELS, "Qwen/Qwen3-8B")),
        ("instance/aws/p5.48xlarge", EntryRef(CatalogTable.INSTANCES, "aws/p5.48xlarge")),
        ("", None),
        ("gpu/", None),
        ("elsewhere/x", None),
    ],
)
def test_paths(path, means):
    assert read_path(path) == means
    if isinstance(means, EntryRef):
        assert means.path == path
