import pytest

from gpuplanner.probe.evidence.gpu import Gpu
from gpuplanner.probe.evidence.record import Lacking
from gpuplanner.probe.output import Output
from gpuplanner.probe.values import Reading, UnreadableError, lacking, number, size_bytes, whole, words, yes


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("N/A", Lacking.NOT_SUPPORTED),
        ("[N/A]", Lacking.NOT_SUPPORTED),
        ("[Not Supported]", Lacking.NOT_SUPPORTED),
        ("[Requested functionality has been deprecated]", Lacking.NOT_SUPPORTED),
        ("[Insufficient Permissions]", Lacking.NO_PERMISSION),
        ("ERR!", Lacking.ERROR),
        ("[Unknown Error]", Lacking.ERROR),
        ("[GPU is lost]", Lacking.ERROR),
        ("Unknown", Lacking.UNKNOWN),
        ("", Lacking.UNKNOWN),
        ("-", Lacking.NOT_SUPPORTED),
        ("None", None),
        ("0", None),
        ("Disabled", None),
    ],
)
def test_the_ways_to_say_that_there_is_no_value(text, reason):
    assert lacking(text) is reason


@pytest.mark.parametrize(
    ("text", "value"), [("81559 MiB", 81559), (" 1,024 W", 1024), ("-5", -5), (".5", 0.5), ("1.5e3", 1500), ("30%", 30)]
)
def test_numbers(text, value):
    assert number(text) == value


@pytest.mark.parametrize("text", ["", "MiB", "x1", "--", "Infinity", "nan"])
def test_no_number_is_made_up(text):
    with pytest.raises(UnreadableError):
        number(text)


def test_whole_numbers():
    assert whole("0x0000000000000004") == 4
    assert whole("18 links") == 18
    for text in ("1.5", "0xZZ", "0x"):
        with pytest.raises(UnreadableError):
            whole(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("16Gi", 16 * 2**30), ("23.6 GiB", 23.6 * 2**30), ("1,7T", 1.7 * 2**40), ("4096", 4096), ("2097152 kB", 2**31)],
)
def test_sizes(text, value):
    assert size_bytes(text) == pytest.approx(value)


def test_sizes_in_thousands_where_the_tool_counts_so():
    assert size_bytes("10 GB", plain_power=1000) == 10e9
    assert size_bytes("10 GiB", plain_power=1000) == 10 * 2**30


def test_yes_and_no():
    assert yes("Yes")
    assert not yes("Not Active")
    with pytest.raises(UnreadableError):
        yes("perhaps")


def made(text="temperature: 30 C\nlimit: N/A\nname: odd"):
    output = Output.of(text, "smi")
    return Reading(output), output.lines


def test_a_value_knows_its_line():
    reading, lines = made()
    reading.take("temperature_c", "30 C", number, lines[0])
    gpu = reading.made(Gpu, vendor="nvidia")
    assert (gpu.temperature_c, gpu.vendor) == (30, "nvidia")
    assert (gpu.seen["temperature_c"].source, gpu.seen["temperature_c"].line) == ("smi", 1)


def test_what_is_absent_says_why_and_what_cannot_be_read_too():
    reading, lines = made()
    reading.take("power_limit_w", "N/A", number, lines[1])
    reading.take("fan_percent", "odd", number, lines[2])
    gpu = reading.made(Gpu)
    assert gpu.power_limit_w is None
    assert gpu.absent["power_limit_w"].reason is Lacking.NOT_SUPPORTED
    assert gpu.absent["fan_percent"].reason is Lacking.UNREADABLE
    assert gpu.absent["fan_percent"].seen.text == "name: odd"


def test_the_first_value_stands_and_ends_an_absence():
    reading, lines = made()
    reading.take("power_limit_w", "N/A", number, lines[1])
    reading.take("power_limit_w", "300 W", number, lines[0])
    reading.take("power_limit_w", "400 W", number, lines[2])
    gpu = reading.made(Gpu)
    assert gpu.power_limit_w == 300
    assert not gpu.absent


def test_names_are_short_and_on_one_line():
    assert words("  NVIDIA\t A100 ") == "NVIDIA A100"
    assert len(words("x" * 5000)) == 300


@pytest.mark.parametrize(
    ("text", "value"),
    [("3500,0000", 3500), ("12,5 W", 12.5), ("1,234,567", 1234567), ("1,234.5", 1234.5), ("1,2,3", 1)],
)
def test_decimal_commas_are_no_groups_of_thousands(text: str, value: float) -> None:
    assert number(text) == value


@pytest.mark.parametrize("text", ["1e400 W", "-1e999", "2e308"])
def test_a_number_too_large_to_be_kept_is_none(text):
    """JSON has no infinity, and no tool measures one."""
    for convert in (number, whole):
        with pytest.raises(UnreadableError):
            convert(text)


def test_what_a_converter_makes_too_large_is_unreadable():
    output = Output.of("rate: 1e308\n", "x")
    reading = Reading(output)
    reading.take("power_draw_w", "1e308", lambda text: number(text) * 1e9, output.lines[0])
    reading.put("temperature_c", float("inf"), output.lines[0])
    gpu = reading.made(Gpu)
    assert gpu.read() == {}
    assert {lack.reason for lack in gpu.absent.values()} == {Lacking.UNREADABLE}
