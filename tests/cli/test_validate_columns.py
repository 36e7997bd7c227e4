"""`validate --columns`: what a file of measurements has to hold, family by family, and a public file of each."""

import csv
import json

import pytest

from gpuplanner.cli.main import main
from gpuplanner.engine.validation.families import FAMILIES
from gpuplanner.paths import shipped


def test_every_family_is_listed_and_its_examples_are_of_it(capsys):
    assert main(["validate", "--columns", "--json"]) == 0
    listed = {one["family"]: one for one in json.loads(capsys.readouterr().out)}
    assert listed.keys() == {family.name for family in FAMILIES}
    assert any(one["examples"] for one in listed.values())
    for one in listed.values():
        assert one["measured"]
        for example in one["examples"]:
            with (shipped("catalogs").parent / example).open(encoding="utf-8", newline="") as lines:
                assert set(one["needed"]) <= set(next(csv.reader(lines)))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_list_names_the_columns_and_a_file(language, capsys):
    assert main(["validate", "--columns", "--lang", language]) == 0
    out = capsys.readouterr().out
    assert "measured_output_tok_s" in out
    assert "catalogs/measurements/inference_llm.csv" in out


def test_without_a_file_the_list_is_pointed_to(capsys):
    assert main(["validate"]) == 2
    said = capsys.readouterr().err
    assert "validate --columns" in said
    assert said.count("\n") == 1
