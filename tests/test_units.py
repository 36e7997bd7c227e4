"""Numbers as people read them: the unit always said, never an exponent, memory in the chosen convention."""

import pytest

from gpuplanner.units import GB, GIB, Display, MemoryConvention, Unit, digits, show, show_duration, show_range

GIBI, GIGA = Display(), Display(MemoryConvention.GB)


@pytest.mark.parametrize(
    ("value", "unit", "display", "expected"),
    [
        (80 * GIB, Unit.BYTE, GIBI, "80.0 GiB"),
        (80 * GIB, Unit.BYTE, GIGA, "85.9 GB"),
        (1023.9 * GIB, Unit.BYTE, GIBI, "1.00 TiB"),
        (0, Unit.BYTE, GIBI, "0 B"),
        (-2.5 * GIB, Unit.BYTE, GIBI, "-2.50 GiB"),
        (131072, Unit.BYTE_PER_TOKEN, GIBI, "128 KiB/token"),
        (3350 * GB, Unit.BYTE_PER_S, GIBI, "3.35 TB/s"),
        (3350 * GB, Unit.BYTE_PER_S, GIGA, "3.35 TB/s"),
        (989e12, Unit.FLOP_PER_S, GIBI, "989 TFLOPS"),
        (624e12, Unit.OP_PER_S, GIBI, "624 TOPS"),
        (0.0312, Unit.SECOND, GIBI, "31.2 ms"),
        (4.2e-8, Unit.SECOND, GIBI, "42.0 ns"),
        (90.0, Unit.SECOND, GIBI, "1.50 min"),
        (200_000.0, Unit.SECOND, GIBI, "2.31 d"),
        (0.412, Unit.RATIO, GIBI, "41.2%"),
        (70.6e9, Unit.PARAMETER, GIBI, "70.6 B"),
        (131072, Unit.TOKEN, GIBI, "131,072 tokens"),
        (700, Unit.WATT, GIBI, "700 W"),
        (12_500, Unit.WATT, GIBI, "12.5 kW"),
        (2.999, Unit.MONEY_PER_HOUR, GIBI, "3.00 USD/h"),
        (0.0123, Unit.MONEY_PER_MTOKEN, GIBI, "0.0123 USD/M tokens"),
        (1234.5, Unit.MONEY, GIBI, "1,234 USD"),
        (10.0, Unit.MONEY, Display(currency="CNY", per_usd=7.0), "70.00 CNY"),
    ],
)
def test_a_number_says_its_unit(value: float, unit: Unit, display: Display, expected: str) -> None:
    assert str(show(value, unit, display)) == expected


@pytest.mark.parametrize("exponent", range(-12, 16))
def test_no_exponent_is_ever_shown_and_the_value_stays(exponent: int) -> None:
    value = 1.2345 * 10.0**exponent
    text = digits(value, 4)
    assert "e" not in text
    if exponent >= -5:
        assert float(text.replace(",", "")) == pytest.approx(value, rel=1e-3)


def test_no_time_at_all_is_told_in_seconds():
    assert str(show_duration(0.0)) == "0 s"
    assert str(show_duration(2e-9)) == "2.00 ns"
    assert str(show_duration(5e-6)) == "5.00 µs"


@pytest.mark.parametrize(
    ("value", "low", "high", "unit", "expected"),
    [
        (1.2, 0.475, 1.88, Unit.SECOND, "0.475 s, 1.88 s"),
        (0.9, 0.475, 1.88, Unit.SECOND, "475 ms, 1,880 ms"),
        (0.9 / 3600, 0.475 / 3600, 1.88 / 3600, Unit.HOUR, "475 ms, 1,880 ms"),
        (3.0, 0.05, 4.0, Unit.SECOND, "50.0 ms, 4,000 ms"),
        (4000.0, 120.0, 5400.0, Unit.SECOND, "2.00 min, 90.0 min"),
        (0.5e-3, 0.0, 1.5e-3, Unit.SECOND, "0 µs, 1,500 µs"),
        (1.0, 0.001, 2.0, Unit.SECOND, "1.00 ms, 2.00 s"),
        (2 * GIB, 0.5 * GIB, 3 * GIB, Unit.BYTE, "0.500 GiB, 3.00 GiB"),
        (11_000.0, 9_000.0, 12_000.0, Unit.WATT, "9.00 kW, 12.0 kW"),
        (0.3, 0.27, 0.36, Unit.RATIO, "27.0%, 36.0%"),
        (3.0, 2.0, 4.0, Unit.TOKEN_PER_S, "2.00 tokens/s, 4.00 tokens/s"),
    ],
)
def test_both_ends_of_a_range_are_in_one_unit_where_that_reads_well(
    value: float, low: float, high: float, unit: Unit, expected: str
) -> None:
    assert ", ".join(map(str, show_range(low, high, unit, GIBI, value))) == expected
