"""Files that people give as measurements: what is no CSV, or far too much of one, is refused before it costs time."""

import os
from pathlib import Path

import pytest

from gpuplanner.cli.main import main
from gpuplanner.cli.measurement_files import LARGEST_CSV_BYTES, MOST_LINES

HEADER = "id,model,gpu,n_gpu,util,max_len,need_gib,avail_gib,tokens,est_max_len,kv_bytes_per_token_per_gpu,arch(memory)"


def refused(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["validate", str(path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert len(said.err) < 500
    return said.err


def file(folder: Path, content: bytes) -> Path:
    path = folder / "mine.csv"
    path.write_bytes(content)
    return path


def test_a_file_with_too_many_lines_is_to_be_split(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(file(tmp_path, (HEADER + "\n" + "x,y\n" * (MOST_LINES + 1)).encode()), capsys)
    assert f"{MOST_LINES:,}" in said


def test_a_huge_file_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "huge.csv"
    with path.open("wb") as made:
        made.truncate(LARGEST_CSV_BYTES + 1)
    assert "MB" in refused(path, capsys)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" \n\n",
        b"a" * 1_000_000,
        b'"' + b"a" * 1_000_000,
        b"," * 1_000_000,
        b"a,b\0c\n1,2\n",
        "id,标识\n".encode("gb18030"),
        HEADER.encode("utf-16"),
        HEADER.replace(",", ";").encode(),
        b'a,b\n"1" 2,3\n',
    ],
    ids=[
        "empty",
        "blank",
        "one cell",
        "no end of a quote",
        "commas",
        "nul",
        "gb18030",
        "utf-16",
        "semicolons",
        "quote",
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(file(tmp_path, content), capsys)


def test_pipes_and_folders_are_never_opened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused(tmp_path, capsys)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.csv")
        refused(tmp_path / "pipe.csv", capsys)


def test_a_short_or_a_long_line_is_refused_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = "a,Llama-3.1-8B,RTX 3090 24GB,1,0.9,20000,,3.81,31232,,131072,32L 8kv 128 bf16"
    path = file(tmp_path, f"{HEADER}\n{good}\nx,y\n{good},1,2,3\n{good}\n".encode())
    assert main(["validate", str(path), "--json"]) == 0
    rows = capsys.readouterr().out
    assert rows.count("has 2 cells") == 1
    assert rows.count("has 15 cells") == 1


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (HEADER.replace(",", ";"), "commas"),
        (HEADER.replace(",", "\t"), "commas"),
        (HEADER.replace("util,", "gpu,"), "column gpu twice"),
    ],
)
def test_a_header_that_misleads_is_told_for_what_it_is(
    tmp_path: Path, header: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert says in refused(file(tmp_path, f"{header}\n1,2,3\n".encode()), capsys)
