"""Numbers as people read them: the unit always said, never an exponent, memory in the chosen convention."""

import pytest

from gpuplanner.units import GB, GIB, Display, MemoryConvention, Unit, digits, show, show_duration

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
