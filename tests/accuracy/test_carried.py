"""What `catalogs/measurements/` carries is what the collection beside the checkout says, for every estimate."""

import csv
from pathlib import Path

import pytest

from gpuplanner.cli.measurement_files import file_outcomes
from gpuplanner.workspace import Workspace
from tests.accuracy.carry_measurements import SOURCES, TO, Numbered, carried, terms

LARGEST_BYTES = 2_100_000
LONGEST_NOTE = 80
FILES = sorted(path.name for path in TO.glob("*.csv") if path.stem != SOURCES)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_terms_are_kept_once_and_nothing_else():
    note = "in-flight batching; Static batch of 8, static; attention_dp=8 as the log says; gemm=fp8"
    assert terms("inference_llm", note) == "Static; static; gemm=fp8; attention_dp=8"
    assert terms("kv_cache", note) == ""


def test_what_is_carried_is_what_the_collection_says(shared_dir):
    numbered = Numbered()
    for path in sorted((shared_dir / "validation").glob("*.csv")):
        assert carried(path.stem, rows_of(path), numbered) == rows_of(TO / path.name), path.name
    assert list(numbered.rows()) == rows_of(TO / f"{SOURCES}.csv")


@pytest.mark.parametrize("name", FILES)
def test_every_estimate_is_the_same_without_the_notes(name, shared_dir, tmp_path):
    context = Workspace(tmp_path).validation_context()
    carried_over, collected = (
        list(file_outcomes(folder / name, context)) for folder in (TO, shared_dir / "validation")
    )
    assert carried_over == collected


def test_every_row_names_a_source_that_is_listed():
    known = {row["source"] for row in rows_of(TO / f"{SOURCES}.csv")}
    for name in FILES:
        rows = rows_of(TO / name)
        assert name == "kv_cache.csv" or all(row["source"] in known for row in rows), name


def test_the_files_are_small_and_hold_no_sentences():
    assert sum(path.stat().st_size for path in TO.iterdir()) < LARGEST_BYTES
    for name in FILES:
        assert all(len(row.get("notes", "")) <= LONGEST_NOTE for row in rows_of(TO / name)), name
