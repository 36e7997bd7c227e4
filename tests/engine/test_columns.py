"""Numbers of several machines as a table: each row is what its machine had, and equal floats stay floats."""

from dataclasses import dataclass

import numpy as np

from gpuplanner.engine.columns import tabled, tabled_alike, taken
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


def test_each_row_of_a_table_is_what_its_machine_had():
    table = tabled([numbers(1.0, 9.0, 5.0), numbers(2.0, 9.0, 6.0)])
    assert (table.same, table.each) == (7.0, 9.0)
    assert isinstance(table.same, float)
    assert table.differing.tolist() == [[1.0], [2.0]]
    assert table.link.rate.tolist() == [[5.0], [6.0]]
    assert table.link.kind == "switched"


def test_a_table_beside_a_column_of_layouts_has_every_machine_with_every_layout():
    table = tabled([numbers(1.0, 9.0, 5.0), numbers(2.0, 9.0, 6.0)])
    assert (table.differing * np.array([1.0, 10.0, 100.0])).tolist() == [[1.0, 10.0, 100.0], [2.0, 20.0, 200.0]]


def test_machines_with_the_same_numbers_have_the_rows_that_they_have_one_by_one():
    one, two = numbers(1.0, 9.0, 5.0), numbers(2.0, 9.0, 6.0)
    alike, each = tabled_alike([one, two, one, one]), tabled([one, two, one, one])
    assert alike.differing.tolist() == each.differing.tolist() == [[1.0], [2.0], [1.0], [1.0]]
    assert alike.link.rate.tolist() == each.link.rate.tolist()
    assert (alike.same, alike.each) == (each.same, each.each)


def test_one_array_of_several_machines_stays_one():
    shared = np.array([1.0, 2.0])
    assert tabled([numbers(1.0, shared, 5.0)] * 3).each is shared


def test_rows_are_taken_out_of_every_column():
    rows = taken(
        numbers(np.array([1.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0]), np.array([5.0, 5.0, 6.0])), np.array([1, 2])
    )
    assert list(rows.each) == [2.0, 3.0]
    assert list(rows.link.rate) == [5.0, 6.0]
    assert rows.same == 7.0
