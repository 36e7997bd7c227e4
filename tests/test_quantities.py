import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplanner import quantities
from gpuplanner.messages import InputError
from gpuplanner.units import GB, GIB, TB, Display, MemoryConvention

BINARY = Display()
DECIMAL = Display(MemoryConvention.GB)
YUAN = Display(currency="CNY", per_usd=7.0, rate_date="2026-11-20")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2000", 2000),
        ("2k", 2000),
        ("128k", 128_000),
        ("128Ki", 131_072),
        ("1e12", 1e12),
        ("70B", 70e9),
        ("1.5t", 1.5e12),
        ("20,000", 20_000),
        ("20 000", 20_000),
        ("1,234,567", 1_234_567),
        ("２０００", 2000),
        ("１２８ｋ", 128_000),
        ("2万", 20_000),
        ("1.2亿", 120_000_000),
        ("  64 ", 64),
    ],
)
def test_counts_are_read_as_people_write_them(text, value):
    assert quantities.count().parse(text, BINARY) == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "ui.field.not_a_number"),
        ("many", "ui.field.not_a_number"),
        ("1,5", "ui.field.unknown_suffix"),
        ("12,34", "ui.field.unknown_suffix"),
        ("nan", "ui.field.not_a_number"),
        ("inf", "ui.field.not_a_number"),
        ("1e999", "ui.field.too_large"),
        ("1.5", "ui.field.not_whole"),
        ("5 apples", "ui.field.unknown_suffix"),
        ("2k 3", "ui.field.unknown_suffix"),
        ("9" * 5000, "ui.field.too_large"),
    ],
)
def test_what_is_no_count_is_refused_with_a_sentence(text, says):
    with pytest.raises(InputError) as refused:
        quantities.count().parse(text, BINARY)
    assert refused.value.message.id == says


def test_limits_are_told_in_the_unit_of_the_field():
    with pytest.raises(InputError) as refused:
        quantities.memory(most=80 * GIB).parse("100", BINARY)
    assert refused.value.message.values == {"most": "80"}
    with pytest.raises(InputError) as refused:
        quantities.count(1).parse("0", BINARY)
    assert refused.value.message.id == "ui.field.too_small"
    with pytest.raises(InputError) as refused:
        quantities.money().parse("0", BINARY)
    assert refused.value.message.id == "ui.field.not_above"


@pytest.mark.parametrize(
    ("text", "display", "value"),
    [
        ("80", BINARY, 80 * GIB),
        ("80", DECIMAL, 80 * GB),
        ("80 GB", BINARY, 80 * GB),
        ("80 GiB", DECIMAL, 80 * GIB),
        ("1.5 TB", BINARY, 1.5 * TB),
    ],
)
def test_memory_is_in_the_convention_of_the_person_unless_written_out(text, display, value):
    assert quantities.memory().parse(text, display) == value


@pytest.mark.parametrize(("text", "value"), [("10", 0.1), ("10 %", 0.1), ("１０％", 0.1), ("0.5%", 0.005)])
def test_shares_are_in_per_cent(text, value):
    assert quantities.percent().parse(text, BINARY) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "value"), [("3", 259_200), ("3 d", 259_200), ("12h", 43_200), ("2 周", 1_209_600), ("90 min", 5400)]
)
def test_durations_are_in_days_unless_written_out(text, value):
    assert quantities.duration("d").parse(text, BINARY) == value


def test_money_is_in_the_currency_of_the_person():
    assert quantities.money().parse("14k", YUAN) == pytest.approx(2000)
    assert quantities.money().parse("14k CNY", YUAN) == pytest.approx(2000)
    assert quantities.money().show(2000, YUAN) == "14,000"


@pytest.mark.parametrize(
    ("text", "flops"), [("2", 2e9), ("2 GFLOP", 2e9), ("312 TFLOP", 3.12e14), ("1.5 pflops", 1.5e15), ("5 flop", 5)]
)
def test_operations_are_read_with_their_prefix(text, flops):
    assert quantities.operations().parse(text, BINARY) == pytest.approx(flops)


@pytest.mark.parametrize(
    ("text", "rate"), [("2", 2e9), ("500 MB/s", 5e8), ("500 MB", 5e8), ("1.2 GB/s", 1.2e9), ("1 GiB/s", 2**30)]
)
def test_rates_are_in_decimal_gigabytes_a_second_unless_written_out(text, rate):
    assert quantities.byte_rate().parse(text, BINARY) == pytest.approx(rate)
    assert quantities.byte_rate().suffix(BINARY) == "GB/s"


@pytest.mark.parametrize(("text", "size"), [("110", 110e3), ("1.5 MB", 1.5e6), ("2 KiB", 2048), ("800 kb", 8e5)])
def test_files_are_in_kilobytes_unless_written_out(text, size):
    assert quantities.file_size().parse(text, BINARY) == pytest.approx(size)
    assert quantities.file_size().show(size, BINARY) == f"{size / 1e3:,.10g}"


@given(st.floats(min_value=0.001, max_value=1e12))
def test_what_is_shown_reads_back_as_it_was(value):
    for quantity in (
        quantities.memory(),
        quantities.percent(0, math.inf),
        quantities.duration("h"),
        quantities.money(),
        quantities.operations(),
        quantities.per_second(),
        quantities.byte_rate(),
    ):
        shown = quantity.show(value, YUAN)
        assert quantity.parse(shown, YUAN) == pytest.approx(value, rel=1e-3, abs=1e-3)


@given(st.integers(min_value=0, max_value=10**14))
def test_whole_numbers_are_shown_exactly(value):
    assert quantities.count().parse(quantities.count().show(value, BINARY), BINARY) == value


@given(st.text(max_size=40))
def test_no_text_brings_the_reader_down(text):
    try:
        value = quantities.memory().parse(text, BINARY)
    except InputError:
        return
    assert math.isfinite(value)
