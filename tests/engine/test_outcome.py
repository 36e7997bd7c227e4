"""The verdict on a plan: room in memory is no pass where a goal is missed, may be missed, or cannot be told."""

from dataclasses import replace

import pytest

from gpuplanner.cli.main import main
from gpuplanner.engine.estimate import Estimate, Fit, Goal, Outcome, in_whole
from gpuplanner.engine.goals import may_miss
from gpuplanner.messages import Language, Translator, msg
from gpuplanner.ui.plan_place.results.headlines import capacity
from gpuplanner.workload.plan import MachineChoice
from gpuplanner.workspace import Workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


H100 = "nvidia-h100-sxm5-80gb"


def _made(workspace: Workspace, preset: str, gpus: int, **asked: object) -> Estimate:
    plan = workspace.presets[preset]
    workload = plan.workload.model_copy(update=asked)
    machine = MachineChoice(gpu_id=H100, gpus=gpus, per_node=min(gpus, 8))
    return workspace.estimate(plan.model_copy(update={"workload": workload, "machine": machine}))


@pytest.mark.parametrize("goal", ["ttft_goal_s", "tpot_goal_s"])
def test_a_missed_time_is_the_verdict_whatever_the_memory(workspace, goal):
    free = _made(workspace, "chat-8b", 1, ttft_goal_s=None, tpot_goal_s=None)
    assert free.outcome is Outcome.FITS
    missed = _made(workspace, "chat-8b", 1, **{"ttft_goal_s": None, "tpot_goal_s": None, goal: 0.001})
    assert (missed.fit, missed.outcome) == (Fit.FITS, Outcome.MISSES)
    assert not missed.outcome.carries


def test_a_time_whose_range_passes_the_goal_may_miss_it(workspace):
    free = _made(workspace, "chat-8b", 1, ttft_goal_s=None, tpot_goal_s=None)
    token = free.metrics["tpot_s"]
    near = _made(workspace, "chat-8b", 1, ttft_goal_s=None, tpot_goal_s=(token.value + token.high) / 2)
    assert near.outcome is Outcome.MAY_MISS
    assert [said.id for said in may_miss(near.goals, near.metrics)] == ["items.goal_may_miss.most"]
    sure = _made(workspace, "chat-8b", 1, ttft_goal_s=None, tpot_goal_s=token.high * 1.001)
    assert sure.outcome is Outcome.FITS


def test_a_rate_may_be_missed_from_below(workspace):
    made = _made(workspace, "chat-8b", 1, ttft_goal_s=None, tpot_goal_s=None)
    rate = made.metrics["output_tokens_per_s"]
    goal = Goal("rate", "output_tokens_per_s", (rate.low + rate.value) / 2, rate.unit, at_least=True)
    assert replace(made, goals=(goal,)).outcome is Outcome.MAY_MISS
    assert replace(made, goals=(replace(goal, limit=rate.low),)).outcome is Outcome.FITS


def test_a_deadline_that_nobody_can_judge_is_no_pass(workspace):
    made = _made(workspace, "pretrain-7b", 64)
    assert "job_s" not in made.metrics
    assert (made.fit, made.outcome) == (Fit.FITS, Outcome.UNKNOWN)
    assert not made.outcome.carries
    assert _made(workspace, "pretrain-7b", 64, deadline_s=None).outcome is Outcome.FITS


def test_a_deadline_is_missed_and_a_budget_is_a_goal(workspace):
    assert _made(workspace, "pretrain-7b", 8).outcome is Outcome.MISSES
    plan = workspace.presets["lora-70b"]
    limits = plan.constraints.model_copy(update={"budget_usd_per_month": 1.0})
    rented = MachineChoice(instance_id=next(c.machine.instance.id for c in workspace.search(plan).candidates))
    over = workspace.estimate(plan.model_copy(update={"constraints": limits, "machine": rented}))
    assert over.outcome is Outcome.MISSES


def test_memory_and_software_come_before_goals(workspace):
    made = _made(workspace, "chat-8b", 1, tpot_goal_s=0.001)
    refused = msg("limits.support.format", software="vLLM", precision="EXL2", source="")
    assert replace(made, fit=Fit.DOES_NOT_FIT).outcome is Outcome.DOES_NOT_FIT
    assert replace(made, unmet=(*made.unmet, refused)).outcome is Outcome.DOES_NOT_RUN
    assert replace(made, fit=Fit.TIGHT, unmet=(), goals=()).outcome is Outcome.TIGHT
    doubt = msg("limits.support.no_vendor", software="vLLM", gpu="")
    assert replace(made, unmet=(doubt,), goals=()).outcome is Outcome.FITS


@pytest.mark.parametrize(
    ("lang", "missed", "unknown"), [("en", "Misses the goal", "Cannot tell"), ("zh", "达不到目标", "无法判断")]
)
def test_the_command_says_it_first_and_leaves_with_one(user_home, capsys, lang, missed, unknown):
    assert main(["--lang", lang, "estimate", "chat-8b", "--gpu", "H100 SXM5 80GB", "--set", "tpot_goal_s=0.001"]) == 1
    assert capsys.readouterr().out.startswith(f"✗ {missed} · ")
    assert main(["--lang", lang, "estimate", "pretrain-7b", "--gpu", "H100 SXM5 80GB", "--gpus", "64"]) == 1
    assert capsys.readouterr().out.startswith(f"? {unknown} · ")


def test_requests_that_fit_are_counted_in_whole_ones(workspace):
    made = _made(workspace, "chat-8b", 1)
    figure = made.metrics["max_concurrency"]
    shown = next(headline.figure for headline in capacity(made) if headline.id == "metric.max_concurrency")
    assert figure.value % 1 > 0
    assert shown is not None
    assert (shown.value, shown.low, shown.high) == (figure.value // 1, figure.low // 1, figure.high // 1)
    assert in_whole("tpot_s", made.metrics["tpot_s"]) is made.metrics["tpot_s"]


def test_a_pool_whose_range_passes_the_need_is_refused_with_a_word_of_that(workspace):
    """The expected pool is too small; the better end of its range holds the request."""
    asked = {"concurrency": 1, "max_length": None, "output_tokens": 500, "ttft_goal_s": None, "tpot_goal_s": None}
    room = _made(workspace, "chat-70b", 1, **asked).metrics["kv_pool_tokens"]
    assert room.low < room.value < room.high
    near = int((room.value + room.high) / 2)
    held = _made(workspace, "chat-70b", 1, **asked, input_tokens=near - 500)
    far = _made(workspace, "chat-70b", 1, **asked, input_tokens=int(room.high * 1.5))
    assert (held.fit, far.fit) == (Fit.DOES_NOT_FIT, Fit.DOES_NOT_FIT)
    assert held.reason.id == "serving.may_start"
    assert far.reason.id != "serving.may_start"
    for language in Language:
        assert Translator(language).text(held.reason)


def test_a_pool_that_lacks_far_more_than_its_range_holds_nothing_at_the_better_end(workspace: Workspace) -> None:
    made = workspace.estimate(
        workspace.presets["chat-70b"].model_copy(
            update={"machine": MachineChoice(gpu_id="nvidia-rtx-a2000-6gb", gpus=2, per_node=2)}
        )
    )
    for name in ("kv_pool_tokens", "max_concurrency", "max_length"):
        assert (made.metrics[name].value, made.metrics[name].high) == (0, 0), name
