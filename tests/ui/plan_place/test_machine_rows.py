"""The columns of the machine lists: short titles in both languages, and the one that the order is by."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.search.result import Broken
from gpuplanner.facts import Fact, Source
from gpuplanner.figures import Certainty, Origin
from gpuplanner.messages import Language, Translator, msg
from gpuplanner.ui.plan_place.captions import price_age, price_note
from gpuplanner.ui.plan_place.machines.machine_rows import MACHINE, MachineCell, MoneyCell, machine_columns
from gpuplanner.units import Unit
from gpuplanner.workload.plan import MachineChoice, Objective

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


@pytest.mark.parametrize("language", list(Language))
def test_every_constraint_has_a_few_words_for_the_machines_that_broke_it(language):
    words = Translator(language)
    wanted = {f"planui.broken.{broken.value}{end}" for broken in Broken for end in ("", ".over")}
    assert {name for name in wanted if not words.has(name)} == set()


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
        assert page.machines.table("serving").columns.is_shown(column)


def test_an_amount_says_how_old_its_price_is(appearance):
    column = next(c for c in machine_columns("serving") if c.id == "usd_per_month")
    long_ago, today = "2024-01-01", datetime.now(UTC).date().isoformat()
    looks = [column.look(MoneyCell(5110.0, when), appearance) for when in (long_ago, "", today)]
    assert looks[0].mark.endswith(("y", "mo"))
    assert [look.mark for look in looks[1:]] == ["?", ""]
    assert {look.text for look in looks} == {"5,110"}
    assert column.plain(MoneyCell(5110.0, ""), appearance.display) == "5110"
    assert column.look(None, appearance).missing


def test_the_ranking_marks_old_prices(page):
    table = page.machines.table("serving")
    at = table.columns.section("usd_per_month")
    for number in range(table.rows.total):
        price = page.machines._candidates[table.rows.row(number).id].machine.price
        cell = table.rows.row(number).cells[at]
        assert (cell is None) if price is None else (cell.price_date == price.date)


def test_the_cost_says_that_a_price_is_undated(page, workspace, appearance):
    machine = workspace.machine(MachineChoice(instance_id="aws/p4d.24xlarge"))
    undated = replace(machine, price=replace(machine.price, date=""))
    assert price_note(undated, appearance).endswith("the price has no date")
    assert price_note(replace(machine, price=None), appearance) == ""


@pytest.mark.parametrize(
    ("date", "english", "chinese"),
    [
        ("2026-11-29", "1 day old", "1 天前"),
        ("2026-10-11", "50 days old", "50 天前"),
        ("2026-07-20", "4 months old", "4 个月前"),
        ("2024-12-01", "23 months old", "23 个月前"),
        ("2023-06-05", "3 years old", "3 年前"),
    ],
)
def test_an_age_is_told_in_the_largest_unit_that_says_enough(date, english, chinese):
    age = price_age(date, datetime(2026, 11, 30, tzinfo=UTC).date())
    assert Translator(Language.ENGLISH).text(age) == english
    assert Translator(Language.CHINESE).text(age) == chinese


def test_names_of_machines_are_whole(page, qtbot):
    page.resize(1300, 820)
    table = page.machines.table("serving")
    title = max((table.rows.row(at).cells[0].candidate.machine for at in range(8)), key=lambda m: len(m.gpu.name))
    words = table.fontMetrics().horizontalAdvance(f"{title.gpus} × {title.gpu.name}")
    qtbot.waitUntil(lambda: table.columnWidth(0) >= words + 40)


def test_a_price_without_a_region_says_so(workspace, appearance):
    machine = workspace.machine(MachineChoice(instance_id="aws/p4d.24xlarge"))
    nowhere = replace(machine, price=replace(machine.price, region=""))
    assert "region not stated" in price_note(nowhere, appearance)
    assert "region not stated" not in price_note(machine, appearance)


def test_a_machine_that_the_person_measured_says_so(page, appearance):
    column = next(c for c in machine_columns("serving") if c.id == MACHINE)
    candidate = next(iter(page.machines._candidates.values()))
    plain = column.look(MachineCell(candidate, pinned=False), appearance)
    source = Source("own", "bench.json", "2026-05-01", user=True)
    own = Origin(Certainty.USER, Fact(1.0, Unit.RATIO, source))
    looks = column.look(MachineCell(replace(candidate, own=own), pinned=False), appearance)
    assert looks.note.startswith("measured by you · ")
    assert "Measured by you: bench.json, 2026-05-01" in said(looks.tip)
    assert "measured" not in plain.note
    assert "easured" not in said(plain.tip)


def said(tip):
    """A tooltip, also where it is written when it is asked for."""
    return tip() if callable(tip) else tip
