"""Files are recognised by their columns, and no row is dropped whatever is in it."""

import csv
from dataclasses import dataclass, field

import pytest

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.names import names_of
from gpuplanner.engine.validation.families import FAMILIES, recognise, row_outcomes, validate_rows
from gpuplanner.engine.validation.names import ResolvedNames
from gpuplanner.engine.validation.rows import Row, ValidationContext, outcome_of
from gpuplanner.facts import MissingFactError
from gpuplanner.messages import InputError, Language, Translator, msg


class NoNames:
    def gpu(self, text, memory_bytes=None):
        raise InputError(msg("validation.empty_cell", column=text))

    def model(self, text):
        raise InputError(msg("validation.empty_cell", column=text))


@pytest.fixture
def context():
    return ValidationContext(NoNames(), Efficiencies({}))


@dataclass(frozen=True)
class Doubling:
    """Predicts twice the measured value; knows only rows of the kind "known"."""

    name: str = "doubling"
    columns: frozenset[str] = field(default_factory=lambda: frozenset({"kind", "speed", "size"}))
    metrics: tuple[str, ...] = ("speed", "size")

    def predict(self, row, context):
        if row.text("kind") == "no fact":
            raise MissingFactError("Some GPU", "power_w")
        if row.text("kind") != "known":
            raise InputError(msg("validation.empty_cell", column="kind"))
        if row.text("speed"):
            yield outcome_of(row, self.name, "speed", 2 * row.required("speed"))
        if row.text("size"):
            yield outcome_of(row, self.name, "size", 2 * row.required("size"))


def made(cells, context):
    return row_outcomes(Row("f.csv", 2, cells), Doubling(), context)


def test_a_placed_row_has_an_outcome_for_each_filled_cell(context):
    found = made({"id": "a", "kind": "known", "speed": "3", "size": ""}, context)
    assert [(o.id, o.metric, o.measured, o.predicted, o.refused) for o in found] == [("a", "speed", 3.0, 6.0, None)]


@pytest.mark.parametrize(
    ("cells", "reasons"),
    [
        ({"kind": "other", "speed": "3", "size": "4"}, ["validation.empty_cell"] * 2),
        ({"kind": "no fact", "speed": "3", "size": "4"}, ["validation.missing_fact"] * 2),
        ({"kind": "known", "speed": "", "size": ""}, ["validation.nothing_measured"]),
        ({"kind": "known", "speed": "fast", "size": ""}, ["validation.not_a_number"]),
        ({"kind": "known", "speed": "nan", "size": ""}, ["validation.not_a_number"]),
        ({"kind": "known", "speed": "3", "size": "1e999"}, [None, "validation.not_a_number"]),
        ({}, ["validation.nothing_measured"]),
    ],
)
def test_a_row_that_cannot_be_placed_stays_with_its_reason(cells, reasons, context):
    found = made(cells, context)
    assert [o.refused.id if o.refused else None for o in found] == reasons
    assert all(o.id == "2" for o in found)
    for outcome in found:
        if outcome.refused:
            assert outcome.predicted is None
            for language in Language:
                assert Translator(language).text(outcome.refused)


def test_an_unknown_file_names_what_it_lacks():
    with pytest.raises(InputError) as raised:
        recognise("mine.csv", ["gmacs", "macts", "measured_img_per_s"])
    assert raised.value.message.values["nearest"] == "inference_vision"
    assert raised.value.message.values["missing"] == "batch"
    assert "mine.csv" in Translator(Language.ENGLISH).text(raised.value.message)


def test_no_two_families_have_the_same_columns():
    assert len({family.columns for family in FAMILIES}) == len(FAMILIES)


def test_a_file_without_rows_is_refused(context):
    with pytest.raises(InputError) as raised:
        validate_rows("empty.csv", [], context)
    assert "empty.csv" in Translator(Language.CHINESE).text(raised.value.message)


def test_an_outcome_as_data_has_the_fixed_fields(context):
    found = made({"id": "a", "kind": "other", "speed": "3"}, context)
    data = found[0].as_data(Translator(Language.ENGLISH))
    fixed = {"file", "id", "metric", "measured", "predicted", "low", "high", "rung", "refused"}
    assert data.keys() == fixed
    assert (data["metric"], data["measured"], data["predicted"]) == ("speed", 3.0, None)
    assert data["refused"] == "Column kind is empty, and the row cannot be placed without it"


@pytest.fixture(scope="module")
def real_context(shipped_catalog, shipped_efficiencies):
    names = ResolvedNames(shipped_catalog, names_of(shipped_catalog))
    return ValidationContext(names, shipped_efficiencies, shipped_catalog.gpus, shipped_catalog.models)


def test_every_public_file_is_recognised_and_no_row_is_dropped(shared_dir, real_context):
    files = sorted((shared_dir / "validation").glob("*.csv"))
    assert len(files) >= 15
    placed: dict[str, int] = {}
    for path in files:
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
        found = validate_rows(path.name, lines, real_context)
        ids = [line.get("id") or str(number) for number, line in enumerate(lines, start=2)]
        assert list(dict.fromkeys(o.id for o in found)) == list(dict.fromkeys(ids)), path.name
        for outcome in found:
            assert (outcome.predicted is None) == (outcome.refused is not None)
            assert outcome.metric in lines[0]
        placed[path.stem] = sum(o.refused is None for o in found)
    assert placed["training_llm"] > 4000
    assert placed["inference_llm_online"] > 2000
    assert placed["kv_cache"] > 40
    assert placed["training_vision"] > 800
    assert placed["speech"] > 15
    assert placed["rendering"] > 5
