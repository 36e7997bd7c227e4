"""What the window keeps of its shape, damaged or of another version: anything that cannot be used is the default."""

import json
import random
from typing import Any

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from gpuplanner.catalog.table.columns import Column as Queried
from gpuplanner.catalog.table.columns import ColumnKind
from gpuplanner.messages import msg
from gpuplanner.ui.catalog_place.query import Query, read_query
from gpuplanner.ui.pins import MOST_PINS, Pins
from gpuplanner.ui.plan_place.columns import PlanColumns
from gpuplanner.ui.settings import MemorySettings, is_pixels
from gpuplanner.ui.table.columns import NOTHING, Column
from gpuplanner.ui.table.shape import load_shape, usual_shape
from gpuplanner.ui.widgets.splitter import Splitter

LEAVES: list[Any] = [
    None, True, False, 0, 1, -1, 300, 2**31, -(2**31) - 1, 10**20, 1e308, float("nan"), float("inf"), -0.5,
    "", "a", "x" * 9999, "\ud800", "\u202e", "\0", "9",
]  # fmt: skip
KEYS = ["order", "hidden", "widths", "sort", "terms", "typed", "a", "b", "kind", "id", "\ud800"]
QUERIED = [Queried("a", ColumnKind.TEXT), Queried("b", ColumnKind.NUMBER)]
LENGTHS = [0, 1, 2, 3, 5, 7, 300]
COLUMNS = [Column(name, msg("part.weights"), lambda *_: NOTHING) for name in "ab"]


def anything(dice: random.Random, depth: int = 0) -> Any:
    """A value of any JSON type, and some that JSON has only by mistake."""
    kind = dice.random()
    if kind < 0.3 or depth > 3:
        return dice.choice(LEAVES)
    if kind < 0.7:
        same = anything(dice, depth + 1)
        return [same if dice.random() < 0.7 else anything(dice, depth + 1) for _ in range(dice.choice(LENGTHS[:-1]))]
    return {dice.choice(KEYS): anything(dice, depth + 1) for _ in range(dice.choice(LENGTHS[:4]))}


def numbers() -> list[list[Any]]:
    return [[leaf] * length for leaf in LEAVES for length in LENGTHS]


def values() -> list[Any]:
    dice = random.Random(9)
    return [*LEAVES, *numbers(), *(anything(dice) for _ in range(400))]


def kept(value: Any) -> MemorySettings:
    """Settings in which every key has the value."""

    class Same(MemorySettings):
        def kept(self, key: str, default: Any = None) -> Any:
            return value

    return Same({"language": "en", "theme": "light"})


def test_a_length_in_pixels_is_a_whole_number_that_qt_takes() -> None:
    assert is_pixels(300)
    assert not any(is_pixels(value) for value in (True, 2**31, 10**20, 3.0, "3", None, float("nan")))


def test_a_window_of_any_kept_size_is_on_a_screen(open_session: Any, settings: MemorySettings) -> None:
    session = open_session()
    areas = [screen.geometry() for screen in QGuiApplication.screens()]
    for value in values():
        settings.keep("window.geometry", value)
        session.window.kept_geometry.restore()
        assert any(area.intersects(session.window.geometry()) for area in areas), value
    session.window.showNormal()


def test_splitters_of_any_kept_widths_can_be_made(qtbot: Any, appearance: Any) -> None:
    for value in values():
        splitter = Splitter(kept(value), "x", [QWidget(), QWidget(), QWidget()], [100, 100, 100], grows=1)
        splitter.deleteLater()
        if not isinstance(value, list) or len(value) != 3:
            continue
        columns = PlanColumns(appearance, kept(value), QWidget(), QWidget(), QWidget())
        qtbot.addWidget(columns)
        columns.resize(1400, 800)


def test_tables_queries_and_pins_of_anything_kept_are_usable() -> None:
    usual = usual_shape(COLUMNS)
    for value in values():
        shape = load_shape(kept(value), "x", COLUMNS)
        assert set(shape.order) == set(usual.order)
        assert shape.hidden < set(usual.order)
        assert all(is_pixels(width, 1) for width in shape.widths.values())
        assert isinstance(read_query(value, QUERIED), Query)
        assert len(Pins(kept(value)).all()) <= MOST_PINS


@pytest.mark.parametrize("part", ["order", "hidden", "widths", "sort"])
def test_each_part_of_a_tables_shape_may_be_anything(part: str) -> None:
    for value in values():
        for inner in (value, [value], [[value, value]], {"a": value}):
            shape = load_shape(kept({part: inner}), "x", COLUMNS)
            json.dumps([list(shape.order), sorted(shape.hidden), shape.widths])
