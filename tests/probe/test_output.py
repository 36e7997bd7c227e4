import re
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplanner.probe.output import LONGEST_LINE, MOST_LINES, MOST_TRIED, Output, at_line_start


def test_escapes_and_controls_go_and_the_words_stay():
    text = "\x1b[31mGPU0\x1b[0m\t\x1b]0;title\x07 X \x00\x08\x7f\r\nnext\u009b2J"
    assert [line.text for line in Output.of(text.encode(), "topo").lines] == ["GPU0\t X ", "next"]


def test_marks_that_turn_the_direction_of_text_go():
    assert Output.of("NVIDIA \u202eA100\u2066", "smi").lines[0].text == "NVIDIA A100"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig"])
def test_what_powershell_writes_is_read(encoding):
    text = "GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-1)\r\n" * 3
    made = Output.of(text.encode(encoding), "list")
    assert [line.text for line in made.lines] == ["GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-1)"] * 3


def test_invalid_bytes_lose_only_themselves():
    assert Output.of(b"name: caf\xff\xfe!", "x").lines[0].text == "name: caf��!"


def test_a_progress_bar_leaves_its_last_state():
    assert [line.text for line in Output.of("10 %\r50 %\r100 %\nend", "x").lines] == ["100 %", "end"]


@pytest.mark.parametrize(
    "mark",
    [
        "0: ",
        "[1,0]<stdout>:",
        "   [1,12]<stderr>:",
        "2026-05-01T12:00:00.123456789Z ",
        "2026-05-01T12:00:00.1234567Z ",
        "[pod/test-0/main] ",
        "[pod/test-0/main] 2026-05-01T12:00:00.123456789Z ",
    ],
)
def test_the_mark_of_a_rank_is_taken_away(mark):
    made = Output.of(f"{mark}# nThread 1\n{mark}  8 2\nother\n", "x")
    assert [line.text for line in made.bare.lines][::2] == ["# nThread 1", "other"]


def test_a_table_whose_rows_have_numbers_is_no_launcher():
    text = "node distances:\nnode   0   1\n  0:  10  21\n"
    assert Output.of(text, "x").text == text
    assert [line.text for line in Output.of(text, "x").bare.lines][-1] == "  0:  10  21"


def test_a_line_that_only_looks_like_a_rank_stays():
    assert Output.of("0: none of a table", "x").bare.lines[0].text == "0: none of a table"


def test_an_endless_line_is_cut():
    assert len(Output.of("a" * 1_000_000, "x").lines[0].text) == LONGEST_LINE


def test_commands_behind_a_prompt():
    made = Output.of("ubuntu@ip-10-0-0-13:~$ nvidia-smi nvlink -s\nGPU 0\n$ df -h\n(base) me@host:/x# lscpu\n", "x")
    assert made.typed == ("nvidia-smi nvlink -s", "df -h", "lscpu")


def test_line_numbers_are_those_of_the_file():
    made = Output.of("\n\nthird\n", "x")
    assert [(line.number, line.text) for line in made.lines] == [(1, ""), (2, ""), (3, "third")]


def test_a_line_that_went_back_at_its_end_too_keeps_its_words():
    assert Output.of("10 %\r20 %\r\r\n", "x").lines[0].text == "20 %"


def test_more_lines_than_are_looked_at_are_cut_off_and_that_is_known():
    output = Output.of("x\n" * (MOST_LINES + 5), "x")
    assert output.cut
    assert len(output.lines) == MOST_LINES
    assert not Output.of("x\n" * 1_000, "x").cut


def test_a_file_of_empty_lines_does_not_fill_the_memory():
    tracemalloc.start()
    try:
        Output.of(b"\n" * 20_000_000, "x")
        assert tracemalloc.get_traced_memory()[1] < 120_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\n\n", "a\nb", "a\nb\n", "a\nb\nc\n"])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_first_lines_are_the_first_of_all(text, count):
    output = Output.of(text, "saved.txt")
    assert output.first(count) == output.lines[:count]


TEXTS = st.text(alphabet="ab# \n", max_size=60)


@given(text=TEXTS, words=st.lists(st.sampled_from(["a", "ab", "# ", "b", "zz"]), min_size=1, max_size=3))
def test_lines_that_hold_a_word_are_those_of_a_search_of_each_line(text: str, words: list[str]) -> None:
    output = Output("x", text, before=3)
    assert list(output.holding(*words)) == [line for line in output.lines if any(word in line.text for word in words)]


@given(text=TEXTS)
def test_lines_that_start_with_a_pattern_are_those_of_a_search_of_each_line(text: str) -> None:
    output = Output("x", text, before=3)
    begins = re.compile(r"# ?a")
    found = [(line.number, line.text) for line, _ in output.starting(at_line_start(r"# ?a"))]
    assert found == [(line.number, match[0]) for line in output.lines if (match := begins.match(line.text))]


def test_a_word_that_stands_everywhere_is_looked_for_so_many_times_and_no_more() -> None:
    output = Output("x", "GPU\n" * (MOST_TRIED + 10) + "GPU 7\n")
    assert not output.has(re.compile(r"GPU \d"), "GPU")
    assert output.has(re.compile(r"GPU \d"))


def test_a_word_behind_what_is_read_of_a_line_is_not_found_in_it() -> None:
    output = Output("x", "a" * LONGEST_LINE + "GPU 7\nGPU 8\n")
    assert [line.number for line, _ in output.matching(re.compile(r"GPU \d"), "GPU ")] == [2]


def test_blocks_between_fences_keep_the_numbers_of_their_lines() -> None:
    output = Output("x", "prose\n```\none\ntwo\n```\nmore\n```console\nthree\n")
    held = [(line.number, line.text, fenced) for block, fenced in output.blocks for line in block.lines]
    assert held == [(1, "prose", False), (3, "one", True), (4, "two", True), (6, "more", False), (8, "three", True)]


def test_a_text_of_fences_alone_is_not_cut_into_blocks() -> None:
    assert Output("x", "```\n" * 1_000).blocks == ()
