"""Numbers of several machines as columns of a block: each row is what its machine had, and equal floats stay floats."""

from dataclasses import dataclass

import numpy as np
import pytest

from gpuplanner.engine.columns import joined, taken
from gpuplanner.engine.formulas.elementwise import Number


@dataclass(frozen=True, slots=True)
class Link:
    rate: Number
    kind: str = "switched"


@dataclass(frozen=True, slots=True)
class Numbers:
    same: Number
    differing: Number
    each: Number
    link: Link


def numbers(differing, each, rate):
    return Numbers(7.0, differing, each, Link(rate))


def test_each_row_is_what_its_machine_had():
    block = joined([numbers(1.0, np.array([1.0, 2.0]), 5.0), numbers(2.0, np.array([3.0, 4.0, 5.0]), 6.0)], [2, 3])
    assert block.same == 7.0
    assert isinstance(block.same, float)
    assert list(block.differing) == [1.0, 1.0, 2.0, 2.0, 2.0]
    assert list(block.each) == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert list(block.link.rate) == [5.0, 5.0, 6.0, 6.0, 6.0]
    assert block.link.kind == "switched"


def test_a_float_beside_an_array_fills_its_rows():
    block = joined([numbers(1.0, 9.0, 5.0), numbers(1.0, np.array([3.0, 4.0]), 5.0)], [3, 2])
    assert list(block.each) == [9.0, 9.0, 9.0, 3.0, 4.0]
    assert (block.differing, block.link.rate) == (1.0, 5.0)


@pytest.mark.parametrize("machines", [1, 3])
def test_the_same_array_of_several_machines_is_repeated(machines):
    shared = np.array([1.0, 2.0])
    block = joined([numbers(1.0, shared, 5.0)] * machines, [2] * machines)
    assert list(block.each) == [1.0, 2.0] * machines


def test_rows_are_taken_out_of_every_column():
    block = joined([numbers(1.0, np.array([1.0, 2.0]), 5.0), numbers(2.0, np.array([3.0, 4.0]), 6.0)], [2, 2])
    rows = taken(block, np.array([1, 2]))
    assert list(rows.each) == [2.0, 3.0]
    assert list(rows.link.rate) == [5.0, 6.0]
    assert rows.same == 7.0
