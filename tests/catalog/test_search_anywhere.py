"""Words in any column of a table: each word of an alternative has to be found, whatever the column."""

import pytest

from gpuplanner.catalog.search import CatalogIndex
from gpuplanner.catalog.table.filters import parse_words


@pytest.fixture(scope="module")
def index(shipped_catalog):
    return CatalogIndex(shipped_catalog)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", [[]]),
        ("A100|H100", [["a100"], ["h100"]]),
        ("a100 80gb | l4", [["a100", "80gb"], ["l4"]]),
        ('"A100 SXM4|x" hbm', [["a100 sxm4|x", "hbm"]]),
        ("||", [[]]),
        ('"open', [["open"]]),
        ("Ａ１００", [["a100"]]),
    ],
)
def test_words_of_a_text(typed, words):
    assert parse_words(typed) == words


def names(index, table, filters):
    return [row.cells[0] for row in index.page(table, filters, limit=1000, columns=["name"]).rows]


def test_each_word_may_stand_in_another_column(index):
    found = names(index, "gpus", {"*": "hopper nvlink"})
    assert "H100 SXM5 80GB" in found
    assert "H100 PCIe 80GB" not in names(index, "gpus", {"*": "hopper sxm5"})


def test_alternatives_add_up_and_several_filters_meet(index):
    both = set(names(index, "gpus", {"*": "a100|h100"}))
    assert both == set(names(index, "gpus", {"*": "a100"})) | set(names(index, "gpus", {"*": "h100"}))
    pcie = set(names(index, "gpus", {"*": "pcie"}))
    assert set(names(index, "gpus", {"*1": "a100|h100", "*2": "pcie"})) == both & pcie
    assert "H100 NVL 94GB" in both & pcie


def test_nothing_typed_keeps_everything(index, shipped_catalog):
    assert index.page("gpus", {"*": "  "}, limit=0).total == len(shipped_catalog.gpus)


def test_what_a_token_keeps_is_two_bytes_a_number_but_for_the_keys_of_an_indexer(index, shipped_catalog):
    rows = index.page("models", limit=1000, columns=["kv_elements_per_token", "kv_bytes_per_token"]).rows
    known = {row.id: row.cells for row in rows if row.cells[0] is not None}
    with_index = {
        model.id: sum(group.count * group.attention.index_elements_per_token for group in model.architecture.groups)
        for model in shipped_catalog.models.values()
        if model.architecture
    }
    assert any(with_index.values())
    for model_id, (numbers, in_bytes) in known.items():
        index_numbers = with_index[model_id]
        assert in_bytes == 2 * (numbers - index_numbers) + index_numbers * (128 + 4) / 128
