"""A person's own measurement in answers: it counts of one plan, and is said to be left out of comparisons."""

import pytest

from gpuplanner.engine.answers.energy import Energy
from gpuplanner.engine.answers.linking import Linking
from gpuplanner.engine.own_measurements import OwnMeasurement, site_of
from gpuplanner.store.own_measurements import keep_own
from gpuplanner.workload.plan import MachineChoice
from gpuplanner.workspace import Workspace


@pytest.fixture
def asked(tmp_path):
    """A workspace without and one with a measurement of the plan, and the plan."""
    plain = Workspace(tmp_path / "plain")
    machine = MachineChoice(gpu_id="nvidia-a100-sxm4-80gb", gpus=4, per_node=4)
    plan = plain.presets["chat-70b"].model_copy(update={"machine": machine})
    made = plain.estimate(plan)
    values = {name: made.metrics[name].value * 0.8 for name in ("tpot_s", "output_tokens_per_s")}
    keep_own(
        tmp_path / "own", OwnMeasurement("0123abcd", "bench.json", "2026-05-01", plan, site_of(made.machine), values)
    )
    return plain, Workspace(tmp_path / "own"), plan


def remarks(answer):
    return [remark.id for remark in answer.remarks]


@pytest.mark.parametrize("explained", [False, True])
def test_where_machines_are_compared_it_is_said_to_be_left_out(asked, explained):
    plain, own, plan = asked
    before, after = (w.answer(plan, Linking(), explained=explained) for w in (plain, own))
    assert "answers.own_left_out" not in remarks(before)
    assert remarks(after) == [*remarks(before), "answers.own_left_out"]
    assert after.remarks[-1].values["file"] == "bench.json"
    assert [line.figure.value for line in after.lines if line.figure] == [
        line.figure.value for line in before.lines if line.figure
    ]


def test_where_one_plan_is_spoken_of_it_counts(asked):
    plain, own, plan = asked
    before, after = (w.answer(plan, Energy()) for w in (plain, own))
    assert "answers.own_left_out" not in remarks(after)
    assert [line.figure for line in before.lines] != [line.figure for line in after.lines]
