"""A person's own measurement counts in a ranking: for the very way on the very machine, marked, and nowhere else."""

from dataclasses import replace

import pytest

from gpuplanner.engine.own_links import PASSED_OVER, OwnLink
from gpuplanner.engine.own_measurements import OwnMeasurement, site_of
from gpuplanner.engine.search.result import Broken
from gpuplanner.store.own_measurements import keep_own
from gpuplanner.store.settings import OWN_MEASUREMENTS
from gpuplanner.workload.plan import MachineChoice, Objective
from gpuplanner.workspace import Workspace

H100 = "nvidia-h100-sxm5-80gb"


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return Workspace(tmp_path_factory.mktemp("nothing-measured"))


@pytest.fixture(scope="module")
def chat(plain):
    return plain.presets["chat-8b"]


def workload_of(plan, **changed):
    kept = {**plan.workload.model_dump(), **changed}
    return type(plan).model_validate({**plan.model_dump(), "workload": kept})


def limited(plan, **constraints):
    return plan.model_copy(update={"constraints": plan.constraints.model_copy(update=constraints)})


def measured(tmp_path, plain, plan, times, name="bench.json"):
    """A workspace in which, of the plan on its machine, these metrics were measured as so many times the engine's."""
    made = plain.estimate(plan)
    values = {metric: made.metrics[metric].value * factor for metric, factor in times.items()}
    keep_own(tmp_path, OwnMeasurement("0123abcd", name, "2026-05-01", plan, site_of(made.machine), values))
    return Workspace(tmp_path)


def on(plan, gpus=1, gpu_id=H100):
    return plan.model_copy(update={"machine": MachineChoice(gpu_id=gpu_id, gpus=gpus, per_node=gpus)})


def by_machine(result):
    return {
        (c.machine.instance.id if c.machine.instance else site_of(c.machine), c.machine.nodes): c
        for c in result.candidates
    }


def test_the_measured_row_is_what_the_estimate_says_and_says_whose_it_is(tmp_path, plain, chat):
    own = measured(tmp_path, plain, on(chat), {"tpot_s": 1.3, "output_tokens_per_s": 0.8, "ttft_s": 1.5})
    marked = [c for c in own.search(chat).candidates if c.own is not None]
    assert marked
    assert {site_of(c.machine) for c in marked} == {f"1 x 1 {H100} single"}
    assert {c.own_mark.id for c in marked if c.own_mark} == {"own.measured_by_you"}
    for candidate in marked:
        figure = own.estimate(candidate.plan).metrics
        for metric in ("tpot_s", "ttft_s", "output_tokens_per_s", "usd_per_mtoken"):
            if metric in candidate.metrics:
                assert candidate.metrics[metric] == pytest.approx(figure[metric].value)
        assert candidate.own.fact.source.citation == "bench.json"
        low, high = candidate.ranges["tpot_s"]
        assert (low, high) == pytest.approx((figure["tpot_s"].low, figure["tpot_s"].high))
        before = plain.estimate(candidate.plan).metrics["tpot_s"]
        assert high / low < before.high / before.low


def test_rows_of_other_machines_stay_as_they_are(tmp_path, plain, chat):
    before = by_machine(plain.search(chat))
    after = by_machine(measured(tmp_path, plain, on(chat), {"tpot_s": 1.3}).search(chat))
    others = {key for key, candidate in after.items() if candidate.own is None}
    assert others
    assert others < before.keys() | {()}
    assert all(after[key] == before[key] for key in others)


def test_slower_than_thought_ranks_lower_by_time(tmp_path, plain, chat):
    asked = limited(chat, objective=Objective.TIME)

    def place(workspace):
        sites = [site_of(c.machine) for c in workspace.search(asked).candidates]
        return sites.index(f"1 x 1 {H100} single")

    assert place(measured(tmp_path, plain, on(chat), {"tpot_s": 2.0})) > place(plain)


def test_a_goal_is_judged_as_measured(tmp_path, plain, chat):
    one = on(chat)
    goal = plain.estimate(one).metrics["tpot_s"].value
    strict = limited(workload_of(chat, tpot_goal_s=goal * 1.1), max_gpus=1)
    slow = measured(tmp_path / "slow", plain, one, {"tpot_s": 1.5}).search(strict)
    site = f"1 x 1 {H100} single"
    assert any(site_of(c.machine) == site for c in plain.search(strict).candidates)
    assert all(site_of(c.machine) != site for c in slow.candidates)
    mine = [r for r in slow.rejections if r.machine and r.machine.gpu.id == H100 and r.machine.gpus_per_node == 1]
    assert any(r.broken is Broken.TPOT for r in mine)

    stricter = limited(workload_of(chat, tpot_goal_s=goal * 0.8), max_gpus=1)
    fast = measured(tmp_path / "fast", plain, one, {"tpot_s": 0.7}).search(stricter)
    assert all(site_of(c.machine) != site for c in plain.search(stricter).candidates)
    assert any(site_of(c.machine) == site and c.own is not None for c in fast.candidates)


def test_another_way_is_taken_where_the_measured_one_misses_a_goal(tmp_path, plain):
    eight = on(plain.presets["chat-70b"], gpus=8)
    chosen = plain.estimate(eight)
    goal = chosen.metrics["tpot_s"].value * 3
    asked = workload_of(plain.presets["chat-70b"], tpot_goal_s=goal)
    own = measured(tmp_path, plain, eight, {"tpot_s": 4.0})
    site = site_of(chosen.machine)
    rows = [c for c in own.search(asked).candidates if site_of(c.machine) == site]
    assert rows
    assert all(c.own is None and replace(c.way, choices=None) != replace(chosen.way, choices=None) for c in rows)


def test_training_is_ranked_as_measured(tmp_path, plain):
    asked = plain.presets["finetune-8b"]
    own = measured(tmp_path, plain, on(asked, gpus=8), {"tokens_per_s": 1.25})
    found = own.search(asked)
    marked = [c for c in found.candidates if c.own is not None]
    assert marked
    for candidate in marked:
        figures = own.estimate(candidate.plan).metrics
        for metric in ("step_s", "tokens_per_s", "mfu", "job_s", "job_usd"):
            if metric in candidate.metrics:
                assert candidate.metrics[metric] == pytest.approx(figures[metric].value)


def test_measured_links_count_for_the_machine_they_are_of(tmp_path, plain):
    asked = workload_of(plain.presets["chat-70b"], tensor_parallel=8)
    site = site_of(plain.machine(MachineChoice(gpu_id=H100, gpus=8)))
    keep_own(tmp_path, OwnLink("0123abcd", "nccl.txt", "2026-05-01", site, 200e9, 8e9, 8.0))
    own = Workspace(tmp_path)
    marked = [c for c in own.search(asked).candidates if c.own is not None]
    assert marked
    assert {site_of(c.machine) for c in marked} == {site}
    assert {c.own_mark.id for c in marked if c.own_mark} == {"own.links_measured_by_you"}
    for candidate in marked:
        assert candidate.metrics["tpot_s"] == pytest.approx(own.estimate(candidate.plan).metrics["tpot_s"].value)
        assert candidate.metrics["tpot_s"] > plain.estimate(candidate.plan).metrics["tpot_s"].value


def test_switched_off_nothing_is_marked(tmp_path, plain, chat):
    own = measured(tmp_path, plain, on(chat), {"tpot_s": 1.3})
    own.settings.set(OWN_MEASUREMENTS, "off")
    assert own.search(chat) == plain.search(chat)


def test_the_smallest_changes_are_judged_as_measured(tmp_path, plain, chat):
    one = on(workload_of(chat, concurrency=64))
    own = measured(tmp_path, plain, one, {"tpot_s": 3.0})
    strict = workload_of(one, tpot_goal_s=plain.estimate(one).metrics["tpot_s"].value * 1.2)
    advised = own.advised(own.estimate(strict))
    assert advised.unmet
    for change in advised.changes:
        assert not own.estimate(change.plan).unmet


def test_offers_with_other_hosts_are_each_corrected_from_their_own_estimate(tmp_path, plain):
    """A step may wait for the CPU and the drives of a host: what the links change is counted for each."""
    asked = plain.presets["finetune-8b"]
    site = site_of(plain.machine(MachineChoice(gpu_id=H100, gpus=8)))
    keep_own(tmp_path, OwnLink("0123abcd", "nccl.txt", "2026-05-01", site, 200e9, 8e9, 8.0))
    own = Workspace(tmp_path)
    marked = [c for c in own.search(asked).candidates if c.own is not None]
    assert len({c.machine.host for c in marked}) > 1
    for candidate in marked:
        assert candidate.metrics["step_s"] == pytest.approx(own.estimate(candidate.plan).metrics["step_s"].value)


def test_one_that_was_edited_since_it_was_kept_changes_no_row_and_is_said(tmp_path, plain, chat):
    own = measured(tmp_path, plain, on(chat), {"output_tokens_per_s": 1e12})
    result = own.search(chat)
    assert [remark.values["file"] for remark in result.remarks if remark.id == PASSED_OVER] == ["bench.json"]
    assert not [candidate for candidate in result.candidates if candidate.own is not None]
    assert [c.metrics for c in result.candidates] == [c.metrics for c in plain.search(chat).candidates]


def test_links_that_were_edited_since_they_were_kept_change_no_row_and_are_said(tmp_path, plain):
    plan = workload_of(plain.presets["chat-70b"], tensor_parallel=8)
    keep_own(tmp_path, OwnLink("0123abcd", "nccl.txt", "2026-05-01", f"1 x 8 {H100} switched", 1.0, 8e9, 8.0))
    result = Workspace(tmp_path).search(plan)
    assert [remark.values["file"] for remark in result.remarks if remark.id == PASSED_OVER] == ["nccl.txt"]
    assert not [candidate for candidate in result.candidates if candidate.own is not None]
