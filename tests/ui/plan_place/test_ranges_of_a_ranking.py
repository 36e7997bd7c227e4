"""The first of a ranking carry the ranges of their numbers, and are marked where a range passes a goal."""

import json

import pytest

from gpuplanner.cli.main import main
from gpuplanner.engine.estimate import Goal
from gpuplanner.engine.goals import may_miss
from gpuplanner.ui.pins import candidate_pin
from gpuplanner.ui.plan_place.machines.machine_rows import MachineCell, machine_columns
from gpuplanner.workload.plan import Plan
from gpuplanner.workspace import Workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def plan(workspace: Workspace) -> Plan:
    return workspace.presets["pretrain-7b"]


def test_the_ranges_are_those_of_the_estimate_and_mark_what_may_miss_the_deadline(workspace, plan):
    found = workspace.search(plan, ranged=6).candidates
    assert [bool(c.ranges) for c in found[:8]] == [True] * 6 + [False] * 2
    for candidate in found[:6]:
        job = workspace.estimate(candidate.plan).metrics["job_s"]
        assert candidate.ranges["job_s"] == pytest.approx((job.low, job.high))
        goal = Goal("deadline", "job_s", plan.workload.deadline_s, job.unit)
        assert candidate.may_miss == any(may_miss([goal], {"job_s": job}))
    assert {c.may_miss for c in found[:6]} == {True, False}


def test_the_order_is_the_same_with_and_without_ranges(workspace, plan):
    with_ranges, without = workspace.search(plan), workspace.search(plan, ranged=0)
    assert [c.plan for c in with_ranges.candidates] == [c.plan for c in without.candidates]
    assert not any(c.ranges for c in without.candidates)


def test_the_command_shows_range_and_mark(user_home, capsys):
    assert main(["--lang", "en", "recommend", "pretrain-7b", "--limit", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = next(line for line in lines if "(32 × H100" in line)
    assert first.startswith("!  ")
    assert "28.1 d (24." in first
    assert lines[-1].endswith("may be missed")
    assert main(["recommend", "pretrain-7b", "--limit", "2", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)["candidates"][0]
    assert made["may_miss"] is True
    assert made["ranges"]["job_s"]["low"] < made["metrics"]["job_s"] < made["ranges"]["job_s"]["high"]


def test_the_tooltip_of_a_machine_has_each_range(workspace, plan, appearance):
    candidate = workspace.search(plan, ranged=1).candidates[0]
    look = machine_columns("training")[0].look(MachineCell(candidate, pinned=False), appearance)
    assert look.mark == "!"
    tip = look.tip if isinstance(look.tip, str) else look.tip()
    assert "May miss the goal" in tip
    assert "28.1 d (24." in tip


def test_the_comparison_says_the_verdict_of_the_plan(workspace, plan):
    """A machine that may miss the deadline is not said to fit where it is compared."""
    found = workspace.search(plan, ranged=6).candidates[:6]
    for candidate in found:
        of_plan = workspace.estimate(candidate.plan)
        for estimate in (of_plan, None):
            pinned = candidate_pin(candidate, plan, estimate).candidate
            assert pinned is not None
            assert f"fit.{pinned.fit}" == of_plan.verdict
    assert any(candidate.may_miss for candidate in found)
