"""The columns of the machine lists: short titles in both languages, and the one that the order is by."""

import pytest

from gpuplanner.engine.kinds import KINDS
from gpuplanner.messages import Language, Translator, msg
from gpuplanner.ui.plan_place.machines.machine_rows import MACHINE, machine_columns
from gpuplanner.workload.plan import Objective

LONGEST_TITLE = 12


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("kind", list(KINDS))
def test_every_column_of_every_kind_has_a_short_title(kind, language):
    words = Translator(language)
    for column in machine_columns(kind):
        title = words.text(column.title)
        assert title != column.title.id
        assert len(title) <= LONGEST_TITLE
        if column.id != MACHINE:
            assert column.title.id == f"column.{column.id}"
    assert {name for name, _unit in KINDS[kind].columns} <= {column.id for column in machine_columns(kind)}


@pytest.mark.parametrize(
    ("objective", "column"), [("cost", "usd_per_month"), ("time", "tpot_s"), ("fewest-gpus", "gpus")]
)
def test_the_column_that_the_order_is_by_is_in_sight(page, settled, objective, column):
    plan = page.presenter.plan
    constraints = plan.constraints.model_copy(update={"objective": Objective(objective)})
    page.presenter.document.replace(plan.model_copy(update={"constraints": constraints}), msg("planui.machine"))
    settled(page)
    for width in (1120, 1250, 1440):
        page.resize(width, 820)
        assert page.machines.tables["serving"].columns.is_shown(column)


def test_names_of_machines_are_whole(page, qtbot):
    page.resize(1300, 820)
    table = page.machines.tables["serving"]
    title = max((table.rows.row(at).cells[0].candidate.machine for at in range(8)), key=lambda m: len(m.gpu.name))
    words = table.fontMetrics().horizontalAdvance(f"{title.gpus} × {title.gpu.name}")
    qtbot.waitUntil(lambda: table.columnWidth(0) >= words + 40)
