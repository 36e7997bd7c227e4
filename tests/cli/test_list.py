"""`catalog list`: filters, sort and columns of the tables, as text, CSV and JSON."""

import csv
import io
import json

import pytest

from gpuplanner.cli.list_command import SHOWN_COLUMNS, SHOWN_ROWS
from gpuplanner.cli.main import main


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["catalog", "list", *arguments])
    return code, capsys.readouterr().out


@pytest.mark.parametrize("table", ["gpus", "instances", "models"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_table_is_listed_with_units_and_a_count(table, language, capsys):
    code, out = listed(capsys, table, "--lang", language)
    assert code == 0
    lines = out.splitlines()
    assert len(lines) == 1 + SHOWN_ROWS + 2
    assert str(SHOWN_ROWS) in lines[-1]


def test_all_rows_and_columns_are_in_csv_and_json(capsys):
    rows = json.loads(listed(capsys, "instances", "--json")[1])
    table = list(csv.reader(io.StringIO(listed(capsys, "instances", "--csv")[1])))
    assert rows["total"] == len(rows["rows"]) == len(table) - 1 >= 546
    assert {row["id"] for row in rows["rows"]} == {line[0] for line in table[1:]}
    assert len(table[0]) == len(rows["rows"][0])
    assert {len(line) for line in table} == {len(table[0])}


def test_filters_and_sort_are_those_of_the_tables(capsys):
    _, out = listed(
        capsys, "gpus", "--json", "--filter", "memory_bytes>=80", "--filter", "NVIDIA", "--sort", "power_w:desc,name"
    )
    rows = json.loads(out)["rows"]
    assert rows
    assert all(row["memory_bytes"] >= 80 * 2**30 * 0.999 for row in rows)
    assert {row["vendor"] for row in rows} == {"NVIDIA"}
    powers = [row["power_w"] for row in rows if row["power_w"] is not None]
    assert powers == sorted(powers, reverse=True)
    assert [row["power_w"] is None for row in rows] == sorted(row["power_w"] is None for row in rows)


def test_columns_are_those_asked_for_also_by_their_titles(capsys):
    _, out = listed(
        capsys, "models", "--csv", "--columns", "parameters,Name", "--limit", "2", "--filter", "name==x|Qwen"
    )
    assert out.splitlines()[0] == "id,Parameters (B),Name"


def test_nothing_left_is_exit_code_1(capsys):
    assert listed(capsys, "gpus", "--filter", "name=zzz")[0] == 1


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["cpus"], "gpus"),
        (["gpus", "--columns", "memry_bytes"], "memory_bytes"),
        (["gpus", "--filter", "memry_bytes>=80"], "memory_bytes"),
        (["gpus", "--filter", "memory_bytes>=x"], "x"),
        (["gpus", "--sort", "power_w:up"], "power_w:up"),
        (["gpus", "--sort", "pwr"], "power_w"),
        (["gpus", "--filter", "name=a", "--filter", "name=b"], "name="),
        (["gpus", "--limit", "0"], "--limit"),
        (["gpus", "--columns", ","], "name"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_listed_is_one_sentence(arguments, says, language, capsys):
    assert main(["catalog", "list", *arguments, "--lang", language]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert says in said.err
    assert said.err.count("\n") == 1


def test_the_columns_shown_exist(capsys):
    for table, names in SHOWN_COLUMNS.items():
        assert listed(capsys, table, "--columns", ",".join(names))[0] == 0


def test_a_slice_with_a_count_says_how_many(capsys):
    assert main(["catalog", "resolve", "2x A100 SXM4 80GB 3g.40gb"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("nvidia-a100-sxm4-80gb ")
    assert "2 of them" in out
    assert "3g.40gb" in out
    assert main(["catalog", "resolve", "A100 SXM4 80GB"]) == 0
    assert "of them" not in capsys.readouterr().out


def test_a_filter_that_leaves_nothing_says_the_unit_and_what_the_column_holds(capsys):
    """A number without a unit is in the column's, which is easily missed: 1e12 parameters are written 1000B."""
    code, out = listed(capsys, "models", "--filter", "parameters>=1e12")
    assert code == 1
    assert "parameters is in B and goes from 0.00159 to 2,800" in out
    code, out = listed(capsys, "models", "--filter", "parameters>=1000B")
    assert code == 0
    code, out = listed(capsys, "gpus", "--filter", "vendor=nobody", "--filter", "sms>=1000000")
    assert "sms goes from" in out
    assert "vendor" not in out
