"""What a person's own measurement makes of estimates: of its very profile only, said, narrower, and left out again."""

from dataclasses import replace

import pytest

from gpuplanner.engine.explaining import explanation
from gpuplanner.engine.own_links import PASSED_OVER
from gpuplanner.engine.own_measurements import LARGEST_FACTOR, OwnMeasurement, checked, site_of, with_own
from gpuplanner.figures import Certainty, Rung
from gpuplanner.messages import InputError, msg
from gpuplanner.store.own_measurements import keep_own
from gpuplanner.workload.plan import MachineChoice
from gpuplanner.workspace import Workspace

H100 = MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=1)
MEASURED = {"tpot_s": 0.012, "output_tokens_per_s": 2600.0}


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path)


@pytest.fixture
def plan(workspace):
    return workspace.presets["chat-8b"].model_copy(update={"machine": H100})


def own_of(workspace, plan, measured=MEASURED, **changed):
    made = workspace.estimate(plan)
    return replace(
        OwnMeasurement("0123abcd", "bench.json", "2026-05-01", plan, site_of(made.machine), measured), **changed
    )


def kept(workspace, plan, measured=MEASURED):
    """A workspace in which this was measured."""
    home = workspace.home / "measured"
    keep_own(home, own_of(workspace, plan, measured))
    return Workspace(home)


def with_workload(plan, **changed):
    workload = {**plan.workload.model_dump(), **changed}
    return type(plan).model_validate({**plan.model_dump(), "workload": workload})


def test_what_was_measured_is_what_is_estimated(workspace, plan):
    made = kept(workspace, plan).estimate(plan)
    assert made.metrics["tpot_s"].value == pytest.approx(0.012)
    assert made.metrics["output_tokens_per_s"].value == pytest.approx(2600.0)
    assert any(remark.id == "own.applied.same" for remark in made.remarks)


def test_the_range_is_narrower_and_says_why(workspace, plan):
    before, after = workspace.estimate(plan).metrics["tpot_s"], kept(workspace, plan).estimate(plan).metrics["tpot_s"]
    assert after.high / after.low < before.high / before.low
    assert (after.certainty, after.rung) == (Certainty.CALIBRATED, Rung.SAME_GPU)
    assert after.why is not None
    assert after.why.values["file"] == "bench.json"


def test_what_follows_from_it_follows(workspace, plan):
    before, after = workspace.estimate(plan), kept(workspace, plan).estimate(plan)
    faster = 2600.0 / before.metrics["output_tokens_per_s"].value
    energy = after.metrics["energy_j_per_token"].value / before.metrics["energy_j_per_token"].value
    assert energy == pytest.approx(1 / faster, rel=1e-3)
    slower = 0.012 / before.metrics["tpot_s"].value
    assert sum(p.figure.value for p in after.time) == pytest.approx(slower * sum(p.figure.value for p in before.time))
    assert after.memory == before.memory


def test_the_explanation_has_a_row_of_its_own(workspace, plan):
    made = kept(workspace, plan).explained(plan)
    rows = explanation(made.metrics["tpot_s"])
    factor = next(row for row in rows if row.term == "own_factor")
    assert factor.depth == 1
    assert (factor.certainty, factor.source, factor.date) == (Certainty.USER, "bench.json", "2026-05-01")
    assert rows[0].value == pytest.approx(0.012)
    below = next(row for row in rows if row.term == "engine_s")
    assert below.value == pytest.approx(workspace.estimate(plan).metrics["tpot_s"].value)


@pytest.mark.parametrize(
    "changed",
    [
        {"concurrency": 512},
        {"input_tokens": 20_000},
        {"weight_precision": "fp8"},
        {"server": "sglang"},
        {"eager": True},
        {"shared_prefix_tokens": 500},
        {"tensor_parallel": 1, "max_batched_tokens": 512},
    ],
)
def test_another_profile_is_left_alone(workspace, plan, changed):
    other = with_workload(plan, **changed)
    made = kept(workspace, plan).estimate(other)
    assert made == workspace.estimate(other)


def test_another_machine_and_another_model_are_left_alone(workspace, plan):
    own = kept(workspace, plan)
    for machine in (
        MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=2),
        MachineChoice(gpu_id="nvidia-h100-pcie-80gb"),
    ):
        other = plan.model_copy(update={"machine": machine})
        assert own.estimate(other) == workspace.estimate(other)
    other = with_workload(plan, model={"catalog_id": "Qwen/Qwen2.5-7B"})
    assert own.estimate(other) == workspace.estimate(other)


def test_a_load_that_is_near_is_corrected_with_a_wider_range(workspace, plan):
    near = with_workload(plan, concurrency=plan.workload.concurrency * 2, ttft_goal_s=9.0)
    own = kept(workspace, plan)
    at, beside = own.estimate(plan).metrics["tpot_s"], own.estimate(near).metrics["tpot_s"]
    before, then = workspace.estimate(near).metrics["tpot_s"], workspace.estimate(plan).metrics["tpot_s"]
    assert beside.value / before.value == pytest.approx(at.value / then.value)
    assert beside.high / beside.low > at.high / at.low


def test_a_way_that_is_asked_for_is_the_one_that_was_chosen(workspace, plan):
    asked = with_workload(plan, tensor_parallel=1)
    assert kept(workspace, plan).estimate(asked).own is not None


def test_they_can_be_left_out(workspace, plan):
    own = kept(workspace, plan)
    own.own_left_out = True
    assert own.estimate(plan) == workspace.estimate(plan)


def test_the_setting_leaves_them_out(workspace, plan):
    from gpuplanner.store.settings import OWN_MEASUREMENTS

    own = kept(workspace, plan)
    own.settings.set(OWN_MEASUREMENTS, "off")
    assert own.estimate(plan).own is None


def test_a_missed_goal_is_missed_as_measured(workspace, plan):
    goal = workspace.estimate(plan).metrics["tpot_s"].value * 1.05
    strict = with_workload(plan, tpot_goal_s=goal)
    assert not workspace.estimate(strict).unmet
    slow = kept(workspace, plan, {"tpot_s": goal * 1.5}).estimate(strict)
    assert [message.id for message in slow.unmet] == ["serving.missed.tpot_s"]


def test_training_is_corrected_through_its_step(workspace):
    plan = workspace.presets["finetune-8b"].model_copy(
        update={"machine": MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=8)}
    )
    before = workspace.estimate(plan).metrics
    rate = before["tokens_per_s_per_gpu"].value * 0.8
    after = kept(workspace, plan, {"tokens_per_s_per_gpu": rate}).estimate(plan).metrics
    assert after["step_s"].value == pytest.approx(before["step_s"].value / 0.8)
    assert after["mfu"].value == pytest.approx(before["mfu"].value * 0.8)


def test_what_is_far_off_or_says_nothing_is_refused(workspace, plan):
    of = workspace.estimate(plan)
    with pytest.raises(InputError) as far:
        checked(own_of(workspace, plan, {"tpot_s": of.metrics["tpot_s"].value * LARGEST_FACTOR * 1.1}), of)
    assert far.value.message.id == "own.too_far"
    with pytest.raises(InputError) as nothing:
        checked(own_of(workspace, plan, {"mfu": 0.5}), of)
    assert nothing.value.message.id == "own.says_nothing"


def test_a_pool_that_a_log_says_is_the_pool(workspace, plan):
    before = workspace.estimate(plan).metrics["kv_pool_tokens"]
    counted = before.value * 0.9
    own = kept(workspace, plan, {"kv_pool_tokens": counted})
    after = own.estimate(plan).metrics["kv_pool_tokens"]
    assert after.value == pytest.approx(counted)
    assert after.high / after.low <= before.high / before.low * (1 + 1e-9)
    assert own.estimate(plan).metrics["tpot_s"] == workspace.estimate(plan).metrics["tpot_s"]
    assert any(row.term == "own_factor" for row in explanation(own.explained(plan).metrics["kv_pool_tokens"]))


def said_of(made):
    """Why the measurements that were met do not count."""
    return [remark.values["why"].id for remark in made.remarks if remark.id == PASSED_OVER]


def without_said(made):
    return replace(made, remarks=tuple(remark for remark in made.remarks if remark.id != PASSED_OVER))


@pytest.mark.parametrize("rate", [5e-324, 1e-300, 1e15, 1e308])
def test_one_that_was_edited_since_it_was_kept_is_passed_over_and_said(workspace, plan, rate):
    own = kept(workspace, plan, {"output_tokens_per_s": rate})
    for made, plain in ((own.estimate(plan), workspace.estimate(plan)), (own.explained(plan), None)):
        assert made.own is None
        assert said_of(made) == ["own.too_far"]
        assert plain is None or without_said(made) == plain
    assert said_of(own.advised(own.estimate(plan))) == ["own.too_far"]


def test_where_the_nearest_is_passed_over_the_next_one_counts(workspace, plan):
    own = kept(workspace, plan, {"output_tokens_per_s": 1e15})
    keep_own(own.home, replace(own_of(workspace, plan), id="89abcdef", date="2026-01-01"))
    made = Workspace(own.home).estimate(plan)
    assert made.metrics["tpot_s"].value == pytest.approx(0.012)
    assert said_of(made) == ["own.too_far"]


def test_one_whose_run_cannot_be_estimated_any_more_is_passed_over_and_said(workspace, plan):
    def engine(_plan):
        raise InputError(msg("plan.not_a_plan", file="x"))

    made = workspace.estimate(plan)
    found = with_own(made, [own_of(workspace, plan)], workspace.efficiencies, engine)
    assert said_of(found) == ["own.run_unknown"]
    assert without_said(found) == made
