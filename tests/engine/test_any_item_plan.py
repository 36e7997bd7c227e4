"""Plans of speech, rendering, video and science that nobody would make: refused in a sentence, or an estimate of sense.

What a plan is drawn from and what is checked of an estimate is that of `test_any_plan`.
"""

import json
import random
from typing import Any

import pytest

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.changes import advised
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.machines import machine_of
from gpuplanner.messages import InputError
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Constraints, Plan
from gpuplanner.workload.rendering import Rendering
from gpuplanner.workload.science import Science
from gpuplanner.workload.speech import Speech
from gpuplanner.workload.transcoding import Transcoding
from tests.engine.test_any_plan import (
    PLANS_EACH,
    any_machine,
    any_of,
    check_figures,
    check_memory,
    check_sentence,
    check_way,
)

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
    estimated = 0
    for _ in range(PLANS_EACH):
        fixed: dict[str, Any] = {}
        if kind is Speech:
            fixed = {"model": ModelChoice(catalog_id=dice.choice(speech))}
        subject: Any = None
        if kind is Rendering:
            subject = shipped_catalog.gpus[dice.choice(list(shipped_catalog.gpus))]
            fixed = {"known_gpu": subject.id}
        workload = any_of(dice, kind, **fixed)
        if isinstance(workload, Speech):
            subject = shipped_catalog.models[workload.model.catalog_id or ""].architecture
        constraints = any_of(dice, Constraints) if dice.random() < 0.3 else Constraints()
        plan = Plan(workload=workload, constraints=constraints, machine=any_machine(dice, shipped_catalog))
        assert plan.machine is not None
        try:
            machine = machine_of(plan.machine, shipped_catalog, shipped_catalog.currencies)
            made = estimate(plan, subject, machine, shipped_efficiencies)
        except InputError as refused:
            check_sentence(refused)
            continue
        estimated += 1
        for check in (check_figures, check_memory, check_way):
            try:
                check(made)
            except AssertionError as wrong:
                raise AssertionError(json.dumps(plan.model_dump(mode="json", exclude_defaults=True))) from wrong
        if estimated % 20 == 0:
            advised(made, subject, shipped_efficiencies, shipped_catalog.gpus)
    assert estimated >= 10
