"""Columns line up in a terminal, Chinese included, and foreign text cannot speak to it."""

from gpuplanner.cli.columns import cells, columns, safe


def test_chinese_takes_two_cells() -> None:
    assert cells("显存 GB") == 7
    lines = columns([["显存", "1"], ["memory", "10"]], right=(1,))
    assert lines == ["显存     1", "memory  10"]


def test_trailing_space_is_left_out_and_no_rows_are_no_lines() -> None:
    assert columns([["a", ""], ["bbb", ""]]) == ["a", "bbb"]
    assert columns([]) == []


def test_terminal_escapes_do_not_pass() -> None:
    assert "\x1b" not in safe("H100\x1b[2J\x07")
    assert safe("显存 80 GB") == "显存 80 GB"
