"""The palette finds the person's plans and the presets, in both languages, and leads to them."""

from types import SimpleNamespace
from typing import Any

from gpuplanner.store.plans import PlanShelf
from gpuplanner.ui.places import Location
from gpuplanner.ui.plan_place.palette import PlanProvider


def test_plans_and_presets_are_found(appearance, workspace, went):
    context: Any = SimpleNamespace(appearance=appearance, workspace=workspace, go=went.append)
    provider = PlanProvider(context, "plan")
    plan = workspace.presets["chat-8b"].model_copy(update={"name": "Rollout for the help desk"})
    plan_id, _ = PlanShelf(workspace.store).add(plan)
    assert [item.title for item in provider.find("")] == ["Rollout for the help desk"]
    best = max(provider.find("help desk"), key=lambda item: item.score)
    best.run()
    assert went == [Location("plan", f"plan/{plan_id}")]
    chinese = max(provider.find("长文档"), key=lambda item: item.score)
    chinese.run()
    assert went[-1] == Location("plan", "preset/documents-32b")


def test_a_preset_is_found_by_the_id_that_the_command_line_has(appearance, workspace, went):
    context: Any = SimpleNamespace(appearance=appearance, workspace=workspace, go=went.append)
    best = max(PlanProvider(context, "plan").find("chat-70b"), key=lambda item: item.score)
    assert best.id == "preset.chat-70b"
