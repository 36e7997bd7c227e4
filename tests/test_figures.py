"""One formula serves a number, an array and an explanation; outside a recording nothing is kept."""

import threading

import numpy as np
import pytest

from gpuplanner.figures import Certainty, Origin, described, formula, kept, recording
from gpuplanner.units import Unit


@formula(Unit.BYTE, "parameters · bits / 8", "IEEE 754")
def bytes_of(parameters: float, bits: float) -> float:
    return parameters * bits / 8


@formula(Unit.SECOND, "weight_bytes / bytes_per_s")
def read_seconds(weight_bytes: float, bytes_per_s: float) -> float:
    return weight_bytes / bytes_per_s


@formula(Unit.SECOND, "read_seconds(parameters · 2) + extra_s")
def step_seconds(parameters: float, bytes_per_s: float, extra_s: float = 0.5) -> float:
    return read_seconds(bytes_of(parameters, 16.0), bytes_per_s) + extra_s


@formula(Unit.BYTE, "Σ part_bytes")
def all_bytes(part_bytes: tuple[float, ...]) -> float:
    return sum(part_bytes)


def test_numbers_and_arrays_agree() -> None:
    sizes = np.array([1e9, 7e9])
    together = step_seconds(sizes, 1e12)  # type: ignore[arg-type]  # arrays too
    assert list(together) == [step_seconds(s, 1e12) for s in sizes]  # type: ignore[call-overload]  # an array


def test_a_recording_is_the_derivation() -> None:
    measured = Origin(Certainty.MEASURED)
    with recording({"bytes_per_s": measured}) as kept:
        seconds = step_seconds(8e9, 2e12)
    step = kept.last("step_seconds")
    assert step is not None
    assert step.value == seconds
    assert [a.name for a in step.arguments] == ["parameters", "bytes_per_s", "extra_s"]
    assert step.arguments[1].origin is measured
    assert step.arguments[2].value == 0.5
    (inner,) = step.inner
    assert inner.formula is described(read_seconds)
    below = inner.arguments[0].step
    assert below is not None
    assert below.formula.id == "bytes_of"
    assert below.formula.reference == "IEEE 754"


def test_what_was_computed_beside_stands_below_what_it_went_into() -> None:
    with recording() as kept:
        weight, cache = bytes_of(1e9, 8.0), bytes_of(2e9, 16.0)
        all_bytes((weight, cache, 5.0))
    (total,) = kept.steps
    assert [a.name for a in total.arguments] == ["part_bytes"] * 3
    assert [a.step.value if a.step else a.value for a in total.arguments] == [weight, cache, 5.0]


def test_a_recording_is_of_its_own_thread_and_ends() -> None:
    with recording() as kept:
        other = threading.Thread(target=bytes_of, args=(1.0, 2.0))
        other.start()
        other.join()
    bytes_of(1.0, 2.0)
    assert kept.steps == []


def test_a_formula_that_fails_leaves_the_recording_usable() -> None:
    with recording() as kept:
        with pytest.raises(ZeroDivisionError):
            read_seconds(1.0, 0.0)
        bytes_of(1.0, 8.0)
    assert kept.last("bytes_of") is not None


def test_a_formula_has_the_parameters_that_it_was_written_with() -> None:
    assert step_seconds(extra_s=1.0, bytes_per_s=2e9, parameters=1e9) == 2.0
    with recording() as known:
        assert step_seconds(1e9, bytes_per_s=2e9) == 1.5
    assert [a.value for a in known.steps[0].arguments] == [1e9, 2e9, 0.5]
    with pytest.raises(TypeError, match="bytes_per_s"):
        step_seconds(1e9)  # type: ignore[call-arg]  # one is missing
    with pytest.raises(TypeError, match="speed"):
        step_seconds(1e9, 2e9, speed=1.0)  # type: ignore[call-arg]  # there is none of that name


def test_what_is_kept_is_worked_out_once_but_explained_each_time() -> None:
    runs = []

    @kept(2)
    def weights(parameters: float) -> float:
        runs.append(parameters)
        return bytes_of(parameters, 16.0)

    assert [weights(p) for p in (1e9, 1e9, 2e9, 1e9)] == [2e9, 2e9, 4e9, 2e9]
    assert runs == [1e9, 2e9]
    with recording() as known:
        assert weights(1e9) == 2e9
    assert known.last("bytes_of") is not None
    weights(3e9)
    weights(2e9)  # the oldest of three is forgotten
    assert runs == [1e9, 2e9, 1e9, 3e9, 2e9]
