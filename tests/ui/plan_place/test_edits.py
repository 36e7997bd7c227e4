"""Editing a plan: one field at a time, with what follows from it, and undo that takes back what a person did."""

import random
from itertools import pairwise
from typing import Any

import pytest

from gpuplanner.messages import msg
from gpuplanner.paths import shipped
from gpuplanner.store.plan_files import read_plan
from gpuplanner.ui.plan_place.difference.fields import difference
from gpuplanner.ui.plan_place.document import PlanDocument
from gpuplanner.ui.plan_place.edits import applies, suggestion, value_of, with_change, with_kind, with_value
from gpuplanner.ui.plan_place.undo import UndoStack
from gpuplanner.ui.plan_place.wizard.fields import all_fields
from gpuplanner.units import Display
from gpuplanner.workload.diffusion import Diffusion
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import WORKLOADS, MachineChoice, Plan, model_of
from gpuplanner.workload.science import Science
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Method, Training
from gpuplanner.workload.wizard import models_of
from tests.engine.any_plans import any_constraints, any_of

FIELDS: dict[str, Any] = {f.key: f for kind in ("serving", "training") for f in all_fields(kind)}


@pytest.fixture
def serving() -> Any:
    return read_plan(shipped("resources") / "presets" / "chat-70b.gpuplan")


@pytest.fixture
def training() -> Any:
    return read_plan(shipped("resources") / "presets" / "lora-70b.gpuplan")


def test_a_field_is_changed_and_nothing_else(serving):
    changed: Any = with_value(serving, FIELDS["serving.input_tokens"], 4000.0)
    assert changed.workload.input_tokens == 4000
    assert isinstance(changed.workload.input_tokens, int)
    assert [d.field and d.field.name for d in difference(serving, changed).differences] == ["input_tokens"]


def test_a_limit_is_changed(serving):
    changed: Any = with_value(serving, FIELDS["limits.max_gpus"], 4.0)
    assert changed.constraints.max_gpus == 4
    assert value_of(changed, FIELDS["limits.max_gpus"]) == 4


def test_a_request_rate_takes_the_place_of_concurrency_and_back(serving):
    rated: Any = with_value(serving, FIELDS["serving.request_rate"], 2.5)
    assert (rated.workload.request_rate, rated.workload.concurrency) == (2.5, None)
    back: Any = with_value(rated, FIELDS["serving.request_rate"], None)
    assert back.workload.concurrency == 32
    again: Any = with_value(rated, FIELDS["serving.concurrency"], 16)
    assert (again.workload.request_rate, again.workload.concurrency) == (None, 16)


def test_neither_concurrency_nor_rate_is_no_load_at_all(serving):
    changed: Any = with_value(serving, FIELDS["serving.concurrency"], None)
    assert changed.workload.concurrency == 32


def test_another_kind_keeps_what_both_ask(serving):
    parallel = with_value(serving, FIELDS["serving.tensor_parallel"], 2)
    trained = with_kind(parallel, "training")
    assert isinstance(trained.workload, Training)
    assert trained.workload.model == serving.workload.model
    assert trained.workload.tensor_parallel == 2
    assert trained.constraints == serving.constraints


def test_training_of_a_large_model_starts_with_adapters_unless_the_person_chose(serving, qapp):
    for parameters, method in ((70e9, Method.LORA), (8e9, Method.FULL)):
        workload = with_kind(serving, "training", parameters=parameters).workload
        assert isinstance(workload, Training)
        assert workload.method is method
    document = PlanDocument(serving)
    document.set_kind("training", 70e9)
    document.set_value(FIELDS["training.method"], Method.FULL)
    document.set_kind("serving", 70e9)
    document.set_kind("training", 70e9)
    brought: Any = document.plan.workload
    assert brought.method is Method.FULL


def test_a_field_of_the_same_name_but_another_kind_is_not_carried_over(serving):
    spread = with_value(serving, FIELDS["serving.expert_parallel"], True)
    assert with_kind(spread, "training").workload.model_dump()["expert_parallel"] is None


RUNS: Any = ModelChoice(catalog_id="meta-llama/Meta-Llama-3.1-8B")
PRESETS = sorted((shipped("resources") / "presets").glob("*.gpuplan"))


def any_plan(kind: Any, seed: int) -> Plan:
    dice = random.Random(f"{kind.__name__} {seed}")
    fixed = {"model": RUNS} if kind in {Serving, Training} else {}
    return Plan(workload=any_of(dice, kind, **fixed), constraints=any_constraints(dice))


def plans_of_all_kinds() -> list[Plan]:
    drawn = [any_plan(kind, seed) for kind in WORKLOADS for seed in range(8)]
    return [*(read_plan(path) for path in PRESETS), *drawn]


@pytest.mark.parametrize("target", WORKLOADS)
def test_any_plan_can_be_of_another_kind_and_is_as_it_was_when_it_comes_back(target, qapp):
    kind = target.model_fields["kind"].default
    for plan in plans_of_all_kinds():
        document = PlanDocument(plan)
        document.set_kind(kind, model=RUNS)
        assert document.plan.workload.kind == kind
        assert Plan.model_validate_json(document.plan.model_dump_json()) == document.plan, "it can be kept"
        for between in ("science", "diffusion-training"):
            document.set_kind(between, model=RUNS)
        document.set_kind(plan.workload.kind, model=RUNS)
        assert document.plan.workload == plan.workload


def test_what_was_changed_meanwhile_stays(serving, qapp):
    """Also by way of a kind that has no such field."""
    document = PlanDocument(serving)
    for kind in ("training", "science", "training"):
        document.set_kind(kind, model=RUNS)
    document.set_value(FIELDS["training.tensor_parallel"], 4)
    for kind in ("diffusion", "serving"):
        document.set_kind(kind, model=RUNS)
    brought: Any = document.plan.workload
    assert brought.tensor_parallel == 4


def test_a_value_that_the_other_kind_does_not_take_is_left_out():
    trained = Plan(workload=Training(model=RUNS, micro_batch=None, global_batch=512, deadline_s=43_200))
    images: Any = with_kind(trained, "diffusion-training").workload
    assert (images.micro_batch, images.global_batch) == (1, 512)


def test_goals_are_not_those_of_another_kind():
    trained = Plan(workload=Training(model=RUNS, tokens=1e9, deadline_s=43_200))
    images: Any = with_kind(trained, "diffusion").workload
    assert images.deadline_s is None
    simulated: Any = with_kind(Plan(workload=Diffusion(steps=40, frames=16)), "science").workload
    assert simulated.steps is None, "the steps of an image are no steps to be done"
    drawn: Any = with_kind(Plan(workload=Science(steps=5000)), "diffusion").workload
    assert drawn.steps is None


@pytest.mark.parametrize("target", WORKLOADS)
def test_a_kind_begins_with_a_model_that_it_runs(target, shipped_catalog):
    kind = target.model_fields["kind"].default
    for plan in plans_of_all_kinds():
        runs = model_of(with_kind(plan, kind, model=RUNS).workload)
        own = model_of(plan.workload)
        assert (runs is None) == ("model" not in target.model_fields)
        if (
            runs is not None
            and runs.catalog_id is not None
            and (own is None or own.catalog_id in shipped_catalog.models)
        ):
            assert shipped_catalog.models[runs.catalog_id].kind in models_of(target)


def test_the_document_brings_an_earlier_kind_back(serving, qapp):
    document = PlanDocument(serving)
    document.set_kind("training")
    document.set_kind("serving")
    brought: Any = document.plan.workload
    assert brought.kind == "serving"
    assert brought.concurrency == serving.workload.concurrency
    document.undo()
    assert document.plan.workload.kind == "training"


@pytest.mark.parametrize(
    ("key", "typed", "offered"),
    [
        ("serving.input_tokens", "0", "1"),
        ("serving.input_tokens", "20M", "10,000,000"),
        ("serving.input_tokens", "12.4", "12"),
        ("serving.input_tokens", "", "2,000"),
        ("serving.input_tokens", "many", ""),
        ("serving.max_length", "", ""),
        ("serving.ttft_goal_s", "-1", "0.000001"),
        ("serving.memory_utilisation", "1.5", "1"),
    ],
)
def test_what_cannot_be_used_comes_with_what_can(key, typed, offered):
    assert suggestion(typed, FIELDS[key], Display()) == offered


def test_adapter_fields_apply_to_adapters(training):
    rank, base = FIELDS["training.lora_rank"], FIELDS["training.base_precision"]
    assert applies(rank, training.workload)
    assert not applies(base, training.workload)
    assert applies(base, training.workload.model_copy(update={"method": Method.QLORA}))
    assert not applies(rank, training.workload.model_copy(update={"method": Method.FULL}))


def test_the_budget_of_a_job_applies_to_every_kind_that_has_jobs():
    budget = next(field for key, field in FIELDS.items() if key.endswith("budget_usd_per_job"))
    construct: Any = [w.model_construct for w in WORKLOADS]
    without = {made.kind for made in (of() for of in construct) if not applies(budget, made)}
    assert without == {"serving"}


def test_a_change_touches_only_what_it_changes(serving):
    found = serving.model_copy(
        update={
            "machine": MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=2, per_node=2),
            "workload": serving.workload.model_copy(update={"tensor_parallel": 2}),
        }
    )
    smaller = found.model_copy(update={"workload": found.workload.model_copy(update={"concurrency": 11})})
    changed: Any = with_change(serving, found, smaller)
    assert changed.workload.concurrency == 11
    assert changed.workload.tensor_parallel is None
    assert changed.machine is None
    larger = smaller.model_copy(update={"machine": MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=4, per_node=4)})
    assert with_change(serving, found, larger).machine == larger.machine


def test_differences_of_two_kinds_compare_what_both_have(serving):
    trained = with_kind(serving, "training")
    found = difference(serving, trained)
    assert found.kinds == ("serving", "training")
    assert found.differences == ()
    assert not found.same
    assert difference(serving, serving).same


def test_a_number_that_is_typed_is_one_step(serving):
    stack = UndoStack()
    plans = [serving, *(with_value(serving, FIELDS["serving.input_tokens"], n) for n in (4, 40, 400))]
    for before, after in pairwise(plans):
        stack.push(before, after, msg("field.serving.input_tokens"), "a")
    step = stack.undo()
    assert step is not None
    assert (step.before, step.after) == (plans[0], plans[3])
    assert stack.undo() is None
    assert stack.redo() == step


def test_leaving_the_field_ends_the_step(serving):
    stack = UndoStack()
    first = with_value(serving, FIELDS["serving.input_tokens"], 4)
    second = with_value(serving, FIELDS["serving.input_tokens"], 40)
    stack.push(serving, first, msg("field.serving.input_tokens"), "a")
    stack.close_step()
    stack.push(first, second, msg("field.serving.input_tokens"), "a")
    step = stack.undo()
    assert step is not None
    assert step.before == first


def test_typing_back_to_where_it_was_leaves_no_step(serving):
    stack = UndoStack()
    other = with_value(serving, FIELDS["serving.input_tokens"], 4)
    stack.push(serving, other, msg("field.serving.input_tokens"), "a")
    stack.push(other, serving, msg("field.serving.input_tokens"), "a")
    assert stack.undo_step is None


def test_a_new_change_forgets_what_was_undone(serving, qapp):
    document = PlanDocument(serving)
    document.set_value(FIELDS["serving.input_tokens"], 4)
    document.undo()
    redone: Any = document.redo_name
    assert redone == msg("field.serving.input_tokens")
    document.set_value(FIELDS["serving.output_tokens"], 4)
    assert document.redo_name is None
    assert document.undo_name == msg("field.serving.output_tokens")


def test_a_sample_that_is_changed_is_no_sample(qapp):
    sample = read_plan(shipped("resources") / "sample" / "sample.gpuplan")
    document = PlanDocument(sample)
    document.set_value(FIELDS["serving.input_tokens"], 4)
    changed: Any = document.plan
    assert not changed.sample
    document.undo()
    assert document.plan.sample
