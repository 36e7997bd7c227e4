import pytest

from gpuplanner.acceptance.compatibility import architectures, covers, read_compatibility
from gpuplanner.paths import shipped

TABLES = read_compatibility(shipped("catalogs") / "compatibility")


@pytest.mark.parametrize(
    ("driver", "capability", "wheel"),
    [
        ("590.48.01", "12.0", ("2.11", "cu130")),
        ("570.124.06", "12.0", ("2.11", "cu128")),
        ("590.48.01", "6.1", ("2.11", "cu126")),
        ("590.48.01", "7.0", ("2.11", "cu126")),
        ("535.129.03", "8.0", ("2.11", "cu128")),
        ("470.57.02", "8.0", ("2.7", "cu118")),
    ],
)
def test_the_wheel_to_pick_for_a_driver_that_cannot_change(driver, capability, wheel):
    found = TABLES.wheel_for(driver, capability)
    assert found is not None
    assert (found.torch, found.tag) == wheel


def test_no_wheel_is_named_where_no_table_has_one():
    assert TABLES.wheel_for("384.81", "7.0") is None


def test_what_a_toolkit_needs():
    toolkit, old = TABLES.toolkit("12.4"), TABLES.toolkit("10.2")
    assert toolkit is not None
    assert old is not None
    assert (toolkit.driver, toolkit.floor) == ((550, 54, 14), (525, 60, 13))
    assert old.floor == ()
    assert TABLES.toolkit("99.0") is None


@pytest.mark.parametrize(
    ("built", "capability", "cuda", "runs"),
    [
        (("8.0", "9.0"), "8.6", "", True),
        (("8.6",), "8.0", "", False),
        (("8.0", "9.0"), "12.0", "", False),
        ((), "12.0", "12.4", False),
        ((), "12.0", "12.8", True),
        ((), "6.1", "12.8", False),
        ((), "7.0", "13.0", False),
        ((), "9.0", "11.7", False),
    ],
)
def test_code_of_the_same_generation_runs_and_no_other(built, capability, cuda, runs):
    assert covers(built, capability, cuda=cuda) is runs


def test_code_that_is_compiled_later_runs_on_newer_gpus():
    assert architectures(("sm_80", "sm_90a", "compute_120")) == (["8.0", "9.0", "12.0"], True)
    assert covers(("8.0",), "12.0", ptx=True)
