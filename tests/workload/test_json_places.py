import json

import pytest

from gpuplanner.workload.json_places import LONGEST_NUMBER, line_of_constant, line_of_long_number, line_too_deep


@pytest.mark.parametrize(
    ("text", "line"),
    [('{"a": 1,\n"b": NaN}', 2), ('{"NaN": "NaN",\n\n"b": -Infinity}', 3), ('{"a": "x\\"NaN",\n"b": Infinity}', 2)],
)
def test_a_constant_is_found_outside_of_texts(text, line):
    assert line_of_constant(text) == line


def test_a_long_number_is_found():
    fits, too_long = "9" * LONGEST_NUMBER, "9" * (LONGEST_NUMBER + 1)
    json.loads(fits)
    with pytest.raises(ValueError, match="digits"):
        json.loads(too_long)
    assert line_of_long_number(f'{{"a": "{too_long}",\n"b": {fits},\n"c": {too_long}}}') == 3


def test_the_line_where_it_is_too_deep_is_found():
    assert line_too_deep("[" * 100 + "]" * 100) == 1
    assert line_too_deep('{"a":\n' * 101) == 101
    assert line_too_deep('"[[[[[[",\n' * 1000 + "[]\n" * 1000 + "[\n" * 200) == 2101


@pytest.mark.parametrize("text", ['"' * 200_001, "[" * 1_000_000, '"\\' * 500_000, "9" * 1_000_000, "NaN" * 300_000])
def test_hostile_texts_take_no_time(text):
    assert line_too_deep(text) >= 1
    assert line_of_constant(text) >= 1
    assert line_of_long_number(text) >= 1
