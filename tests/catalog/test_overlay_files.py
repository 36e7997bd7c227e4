"""Overlay files as people and programs write them, harmless and hostile: read, or refused in one sentence."""

import os
import time
from pathlib import Path

import pytest

from gpuplanner.catalog.files.csv_file import MOST_COLUMNS, MOST_ROWS, parse_csv
from gpuplanner.catalog.files.records import Fields, Record, parse_number
from gpuplanner.catalog.files.text import LARGEST_BYTES, decode, read_bytes
from gpuplanner.catalog.files.yaml_file import DEEPEST, MOST_FIELDS, MOST_VALUES, parse_yaml, plain
from gpuplanner.catalog.problems import Problem, Refused
from gpuplanner.messages import Language, Translator

TABLE = "provider,name,gpu,note\nAcme,a,T4,显存 16 GB\n"


@pytest.fixture
def csv(tmp_path):
    def read(content, problems=None):
        path = tmp_path / "list.csv"
        path.write_bytes(content)
        columns, rows = parse_csv(decode(read_bytes(path), path), path, problems if problems is not None else [])
        return columns, list(rows)

    return read


@pytest.fixture
def refused(tmp_path):
    def read(content, name="own.yaml"):
        path = tmp_path / name
        path.write_bytes(content)

        def parse():
            text = decode(read_bytes(path), path)
            return parse_csv(text, path, []) if name.endswith(".csv") else parse_yaml(text, path)

        with pytest.raises(Refused) as error:
            parse()
        for language in Language:
            said = Translator(language).text(error.value.problem.message)
            assert said.startswith(name)
            assert "\n" not in said
        return error.value.problem

    return read


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "gbk"])
def test_a_table_is_read_in_every_encoding_that_spreadsheets_write(csv, encoding):
    content = TABLE.encode(encoding)
    if encoding == "utf-16-le":
        content = b"\xff\xfe" + content
    _, [row] = csv(content)
    assert row.values["note"] == "显存 16 GB"


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"\x7fELF\x02\x01\x01\x00\x00\x00", "overlay.file.binary"),
        (bytes(range(256)), "overlay.file.binary"),
        ("préçis,naïve,Zürich\n".encode("cp1252"), "overlay.file.encoding"),
        (b"a,b\n\xff\xff\xff,1\n", "overlay.file.encoding"),
        (b"", "overlay.file.no_header"),
        (b"\n\n", "overlay.file.no_header"),
        (b"provider,name,name\n", "overlay.file.twice"),
        (b"provider,,name\n", "overlay.file.no_header"),
    ],
)
def test_what_is_no_table_is_refused_in_one_sentence(refused, content, found):
    assert refused(content, "list.csv").what.id == found


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_every_separator_is_read(csv, separator):
    columns, [row] = csv(f"Provider{separator}GPU Count{separator}Note\nAcme{separator}8{separator}x\n".encode())
    assert columns == ("provider", "gpu_count", "note")
    assert row.values == {"provider": "Acme", "gpu_count": "8", "note": "x"}


def test_a_decimal_comma_is_read_where_semicolons_separate(csv):
    _, [row] = csv(b"sep=;\nprovider;price_per_hour;ram_gib\nAcme;1,25;2000,5\n")
    assert (row.values["price_per_hour"], row.values["ram_gib"]) == ("1.25", "2000.5")
    assert row.line == 3


def test_rows_know_their_lines_across_quoted_line_ends(csv):
    _, rows = csv(b'provider,note\nA,"one\ntwo"\nB,x\n\nC,y\n')
    assert [(row.values["provider"], row.line) for row in rows] == [("A", 2), ("B", 4), ("C", 6)]


def test_a_row_with_too_many_cells_is_told_and_the_others_are_read(csv):
    problems: list[Problem] = []
    _, rows = csv(b"provider,name\nA,1,234\nB,2\n", problems)
    assert [row.values["provider"] for row in rows] == ["B"]
    assert [(p.line, p.what.id) for p in problems] == [(2, "overlay.row.cells")]


def test_a_quotation_mark_that_never_ends_is_told(csv):
    problems: list[Problem] = []
    _, rows = csv(b'provider,name\nA,1\nB,"2\n', problems)
    assert [row.values["provider"] for row in rows] == ["A"]
    assert [(p.line, p.what.id) for p in problems] == [(3, "overlay.file.not_csv")]


def test_a_cell_without_end_is_told(csv):
    problems: list[Problem] = []
    csv(b"provider,name\nA," + b"x" * 200_000 + b"\n", problems)
    assert [p.what.id for p in problems] == ["overlay.file.not_csv"]


def test_a_yaml_bomb_is_refused(refused):
    lines = [b"a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [b"a%d: &a%d [%s]" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 9)) for n in range(1, 12)]
    start = time.monotonic()
    problem = refused(b"\n".join(lines))
    assert (problem.what.id, problem.line) == ("overlay.file.alias", 2)
    assert time.monotonic() - start < 1


@pytest.mark.parametrize("opening", [b"[", b"{a: ", b"- "])
def test_deep_nesting_is_refused(refused, opening):
    problem = refused(b"gpus: " + opening * 100_000 if opening != b"- " else b"- " * 100_000 + b"x")
    # The YAML library itself stops at some depth of brackets before we see any of them.
    assert problem.what.id in {"overlay.file.deep", "overlay.file.not_yaml"}
    just_too_deep = refused(b"gpus: " + b"[" * (DEEPEST + 1) + b"]" * (DEEPEST + 1))
    assert (just_too_deep.what.id, just_too_deep.what.values["limit"]) == ("overlay.file.deep", DEEPEST)


@pytest.mark.parametrize(
    ("content", "found", "line"),
    [
        (b"gpus: [a\nb: c", "overlay.file.not_yaml", 2),
        (b"gpus:\n\t- name: x\n", "overlay.file.not_yaml", 2),
        (b"just a text", "overlay.file.not_a_mapping", 1),
        (b"- a\n- b\n", "overlay.file.not_a_mapping", 1),
        (b"", "overlay.file.not_a_mapping", 1),
        (b"a: 1\nb: 2\na: 3\n", "overlay.file.twice", 3),
        (b"? [a, b]\n: 1\n", "overlay.file.key", 1),
        (b"a: !!python/object/apply:os.system [echo]\nb: *x\n", "overlay.file.alias", 2),
        (b"a: \x01\n", "overlay.file.not_yaml", 0),
        (b"a: 1\n---\nb: 2\n", "overlay.file.not_yaml", 2),
    ],
)
def test_what_is_no_file_of_entries_is_refused_with_its_line(refused, content, found, line):
    problem = refused(content)
    assert (problem.what.id, problem.line) == (found, line)


def test_a_tag_runs_nothing(tmp_path):
    path = tmp_path / "own.yaml"
    record = parse_yaml("gpus: !!python/object/apply:os.getcwd []\n", path)
    assert record.values["gpus"] == ()


def test_a_huge_file_is_refused_unread(refused, tmp_path):
    path = tmp_path / "own.yaml"
    with path.open("wb") as file:
        file.truncate(int(LARGEST_BYTES) + 1)
    start = time.monotonic()
    with pytest.raises(Refused) as error:
        read_bytes(path)
    assert error.value.problem.what.id == "overlay.file.large"
    assert time.monotonic() - start < 0.5


def test_a_folder_or_nothing_in_place_of_a_file_is_refused(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    for name in ("folder.csv", "nothing.csv"):
        with pytest.raises(Refused) as error:
            read_bytes(tmp_path / name)
        assert error.value.problem.what.id == "overlay.file.unreadable"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("80", 80.0), ("1,555", 1555.0), ("1,234,567.5", 1234567.5), ("-3", -3.0), ("1e3", 1000.0), (".5", 0.5),
        ("nan", None), ("inf", None), ("-inf", None), ("1e999", None), ("=2*3", None), ("80 GB", None), ("0x10", None),
        ("1,55", None), ("", None), ("1_000", None), ("８０", 80.0), ("1.2.3", None),
    ],
)  # fmt: skip
def test_numbers_are_plain_digits(text, number):
    assert parse_number(text) == number


@pytest.mark.parametrize("value", ["=cmd|' /C calc'!A0", "+1+2", "@SUM(A1)", "-cmd", "\t=1"])
def test_a_formula_is_refused_in_a_text(value):
    problems: list[Problem] = []
    assert Fields(Record("f.csv", 2, {"name": value}), problems).text("name") == ""
    assert [p.what.id for p in problems] == ["overlay.value.formula"]
    assert problems[0].field == "name"


@pytest.mark.parametrize("value", ["A100 (80 GB)", "-5", "- none", "H100-SXM"])
def test_a_name_is_no_formula(value):
    problems: list[Problem] = []
    assert Fields(Record("f.csv", 2, {"name": value}), problems).text("name") == value
    assert problems == []


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2026-03-31", "2026-03-31"), ("2026/3/1", "2026-03-01"), ("2026", "2026"), ("2026-07", "2026-07"),
        ("31.3.2026", ""), ("2026-13-01", ""), ("yesterday", ""),
    ],
)  # fmt: skip
def test_dates_are_iso(text, date):
    problems: list[Problem] = []
    assert Fields(Record("f.csv", 2, {"price_date": text}), problems).date("price_date") == date
    assert bool(problems) == (not date)


def test_a_configuration_is_read_as_json_would_have_it(tmp_path):
    text = "a: 1\nb: 1.5\nc: true\nd: null\ne: text\nf: [1, {g: .nan}]\nh: '1'\ni: 1e6\n"
    record = parse_yaml(text, tmp_path / "own.yaml")
    assert record.node is not None
    content = plain(record.node)
    assert [content[k] for k in "abcdeh"] == [1, 1.5, True, None, "text", "1"]
    assert content["f"][1]["g"] != content["f"][1]["g"]


@pytest.mark.parametrize(
    "value",
    ["!!int x", "!!float x", "!!bool x", "!!timestamp x", "!!binary x", "!!python/name:os.system x", "!!null x",
     "9" * 5000, "!!set {a}", "!!omap [a]", "!!merge x"],
)  # fmt: skip
def test_a_value_that_is_not_what_it_is_tagged_as_raises_nothing(tmp_path, value):
    record = parse_yaml(f"a: {value}\n", tmp_path / "own.yaml")
    assert record.node is not None
    assert "a" in plain(record.node)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_and_never_opened(tmp_path):
    """Opening one waits until somebody writes into it."""
    os.mkfifo(tmp_path / "own.yaml")
    with pytest.raises(Refused) as error:
        read_bytes(tmp_path / "own.yaml")
    assert error.value.problem.what.id == "overlay.file.not_ordinary"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no such device")
def test_a_device_is_refused_and_never_read(tmp_path):
    """Its size is 0, and reading it never ends."""
    (tmp_path / "own.csv").symlink_to("/dev/zero")
    with pytest.raises(Refused) as error:
        read_bytes(tmp_path / "own.csv")
    assert error.value.problem.what.id == "overlay.file.not_ordinary"


@pytest.mark.parametrize("cell", ["", "a", "c{}"])
def test_a_million_columns_are_refused_at_once(refused, cell):
    start = time.monotonic()
    problem = refused(",".join(cell.format(n) for n in range(1_000_000)).encode(), "wide.csv")
    assert problem.what.id == ("overlay.file.many_columns" if cell else "overlay.file.no_header")
    assert time.monotonic() - start < 10


def test_columns_without_a_name_at_the_end_do_not_count(csv):
    columns, rows = csv(b"provider,name" + b"," * (MOST_COLUMNS + 1) + b"\nAcme,a\n")
    assert columns == ("provider", "name")
    assert len(rows) == 1


def test_rows_beyond_the_limit_are_told_and_the_others_are_read(csv):
    problems: list[Problem] = []
    _, rows = csv(b"a\n" + b"1\n" * (MOST_ROWS + 5), problems)
    assert len(rows) == MOST_ROWS - 1
    assert [(p.line, p.what.id) for p in problems] == [(MOST_ROWS + 1, "overlay.file.many_rows")]


def test_too_many_fields_side_by_side_are_refused(refused):
    """Each unknown one would be compared with all that are known."""
    problem = refused("".join(f"k{n}: 1\n" for n in range(MOST_FIELDS + 1)).encode())
    assert problem.what.id == "overlay.file.many_fields"


def test_too_many_values_are_refused_before_they_are_built(refused):
    assert refused(b"gpus: [" + b"x," * MOST_VALUES + b"x]\n").what.id == "overlay.file.many_values"
