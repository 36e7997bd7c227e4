"""Plans of speech, rendering, video and science that nobody would make: refused in words, or estimated with sense."""

import random
from typing import Any

import pytest

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.changes import advised
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.rendering import Rendering
from gpuplanner.workload.science import Science
from gpuplanner.workload.speech import Speech
from gpuplanner.workload.transcoding import Transcoding
from tests.engine.any_plans import any_constraints, any_machine, any_of, sensible_estimates

KINDS = (Speech, Rendering, Science, Transcoding)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_any_plan_is_refused_in_a_sentence_or_estimated_with_sense(
    kind: type[Speech | Rendering | Science | Transcoding],
    seed: int,
    shipped_catalog: Catalog,
    shipped_efficiencies: Efficiencies,
) -> None:
    dice = random.Random(f"{kind.__name__} {seed}")
    speech = [model.id for model in shipped_catalog.models.values() if model.kind == "speech"]

    def draw() -> tuple[Plan, Any]:
        fixed: dict[str, Any] = {}
        subject: Any = None
        if kind is Speech:
            fixed = {"model": ModelChoice(catalog_id=dice.choice(speech))}
        if kind is Rendering:
            subject = shipped_catalog.gpus[dice.choice(list(shipped_catalog.gpus))]
            fixed = {"known_gpu": subject.id}
        workload = any_of(dice, kind, **fixed)
        if isinstance(workload, Speech):
            subject = shipped_catalog.models[workload.model.catalog_id or ""].architecture
        constraints = any_constraints(dice)
        return Plan(workload=workload, constraints=constraints, machine=any_machine(dice, shipped_catalog)), subject

    for at, (made, subject) in enumerate(sensible_estimates(draw, shipped_catalog, shipped_efficiencies), 1):
        if at % 20 == 0:
            advised(made, subject, shipped_efficiencies, shipped_catalog.gpus)
