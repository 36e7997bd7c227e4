"""Plans of serving and training that nobody would make: refused in a sentence, or an estimate of sense."""

import math
import random
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from pydantic.fields import FieldInfo

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.changes import advised
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Constraints, MachineChoice, Plan
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Training
from tests.engine.any_plans import any_constraints, any_machine, any_of, limits, sensible_estimates


@pytest.mark.parametrize("kind", [Serving, Training])
@pytest.mark.parametrize("seed", range(4))
def test_any_plan_is_refused_in_a_sentence_or_estimated_with_sense(
    kind: type[Serving] | type[Training], seed: int, shipped_catalog: Catalog, shipped_efficiencies: Efficiencies
) -> None:
    dice = random.Random(f"{kind.__name__} {seed}")
    known = [model for model in shipped_catalog.models.values() if model.architecture]

    def draw() -> tuple[Plan, Any]:
        model = dice.choice(known)
        workload = any_of(dice, kind, model=ModelChoice(catalog_id=model.id))
        constraints = any_constraints(dice)
        plan = Plan(workload=workload, constraints=constraints, machine=any_machine(dice, shipped_catalog))
        return plan, model.architecture

    for at, (made, model) in enumerate(sensible_estimates(draw, shipped_catalog, shipped_efficiencies), 1):
        if at % 5 == 0:
            helped = advised(made, model, shipped_efficiencies, shipped_catalog.gpus)
            assert all(change.headline is None or math.isfinite(change.headline.value) for change in helped.changes)


def numbers() -> Sequence[tuple[str, FieldInfo]]:
    kinds = (Serving, Training, Constraints, MachineChoice)
    return [
        (f"{kind.__name__}.{name}", info)
        for kind in kinds
        for name, info in kind.model_fields.items()
        if {int, float} & {info.annotation, *get_args(info.annotation)}
    ]


@pytest.mark.parametrize(("name", "info"), numbers())
def test_every_number_of_a_plan_has_an_upper_limit(name: str, info: FieldInfo) -> None:
    assert limits(info)[1] < math.inf, name
