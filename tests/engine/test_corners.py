"""Every number of every kind of work at its least and its most: estimated with sense, or refused in a sentence.

numpy's own warnings are errors here: a division by nothing or an overflow is a limit that a field lacks.
"""

import json
import math
import os
import random
import types
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gpuplanner.engine.estimate import Estimate
from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import WORKLOADS, Constraints, MachineChoice, Plan, Workload, model_of
from gpuplanner.workspace import Workspace
from tests.cli.test_json_faults import MACHINES

PLANS_EACH = 60
ROUNDS = int(os.environ.get("GPUPLANNER_FUZZ", "1"))
"""`make fuzz` asks for many."""
ENGLISH = Translator(Language.ENGLISH)
KINDS = (*WORKLOADS, Constraints, MachineChoice)


def kinds_of(info: FieldInfo) -> set[Any]:
    annotation = info.annotation
    parts = get_args(annotation) if get_origin(annotation) in {Union, types.UnionType} else (annotation,)
    return {get_args(part)[0] if get_origin(part) is not None and get_args(part) else part for part in parts}


def bounds(info: FieldInfo) -> tuple[float | None, float | None, bool]:
    """Least, most, and whether the least itself is left out."""
    found: dict[str, float] = {}
    for part in info.metadata:
        found |= {n: getattr(part, n) for n in ("ge", "gt", "le", "lt") if getattr(part, n, None) is not None}
    return found.get("ge", found.get("gt")), found.get("le", found.get("lt")), "gt" in found or "lt" in found


def numbers(kind: type[BaseModel]) -> dict[str, FieldInfo]:
    return {name: info for name, info in kind.model_fields.items() if {int, float} & kinds_of(info)}


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_every_number_has_a_least_and_a_most_that_it_may_be(kind: type[BaseModel]) -> None:
    for name, info in numbers(kind).items():
        least, most, left_out = bounds(info)
        assert least is not None, name
        assert most is not None, name
        assert not left_out, f"{name}: what is above nothing has no least number; say it with ge and le"


def corner(dice: random.Random, kind: type[BaseModel], usual: BaseModel) -> dict[str, Any]:
    """Some numbers at one of their limits or very small, some choices as they come, the rest as in a usual plan."""
    changed: dict[str, Any] = {}
    for name, info in kind.model_fields.items():
        if dice.random() < 0.55:
            continue
        found = kinds_of(info)
        if name in numbers(kind):
            least, most, _ = bounds(info)
            assert least is not None
            assert most is not None
            tiny = 1e-300 if float in found and least == 0 else least
            changed[name] = dice.choice([least, most, tiny, getattr(usual, name)])
        elif bool in found:
            changed[name] = dice.random() < 0.5
        elif get_origin(info.annotation) is not Literal:
            choices = [each for each in found if isinstance(each, type) and issubclass(each, StrEnum)]
            changed[name] = dice.choice(list(choices[0])) if choices else getattr(usual, name)
    return changed


def check(made: Estimate) -> None:
    for name, figure in made.metrics.items():
        assert all(math.isfinite(value) and value >= 0 for value in (figure.low, figure.value, figure.high)), name
    for part in made.time:
        assert math.isfinite(part.figure.value), part.id
        assert part.figure.value >= 0, part.id


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


def usual_of(kind: type[Workload], workspace: Workspace) -> Workload:
    return next(plan.workload for plan in workspace.presets.values() if type(plan.workload) is kind)


def corners(kind: type[Workload], seed: str, times: int, workspace: Workspace) -> int:
    """How many of so many plans could be estimated."""
    dice, estimated = random.Random(f"{kind.__name__} {seed}"), 0
    usual = usual_of(kind, workspace)
    said: list[str] = []
    models = [model.id for model in workspace.catalog.models.values() if model.architecture is not None]
    for _ in range(times):
        changed = corner(dice, kind, usual)
        if model_of(usual) is not None and kind.__name__ in {"Serving", "Training"} and dice.random() < 0.5:
            changed["model"] = ModelChoice(catalog_id=dice.choice(models))
        content = usual.model_dump() | changed
        plan: Plan | None = None
        try:
            plan = Plan(workload=kind.model_validate(content), machine=dice.choice(MACHINES))
            with np.errstate(all="raise", under="ignore"):
                made = workspace.estimate(plan)
                check(made)
                if estimated % 8 == 0:
                    workspace.advised(made)
        except InputError as refused:
            said.append(ENGLISH.text(refused.message))
            continue
        except (ArithmeticError, AssertionError) as wrong:
            found = json.dumps(plan.model_dump(mode="json", exclude_defaults=True)) if plan else str(content)
            raise AssertionError(f"{type(wrong).__name__} {wrong}: {found}") from wrong
        estimated += 1
    assert all(0 < len(sentence) < 600 for sentence in said)
    return estimated


@pytest.mark.parametrize("seed", range(ROUNDS))
@pytest.mark.parametrize("kind", WORKLOADS, ids=lambda k: k.__name__)
def test_work_at_its_limits_is_estimated_or_refused(kind: type[Workload], seed: int, workspace: Workspace) -> None:
    assert corners(kind, str(seed), PLANS_EACH, workspace) > 0


def test_a_slow_host_memory_is_no_division_by_nothing(workspace: Workspace, tmp_path: Path) -> None:
    usual = usual_of(WORKLOADS[0], workspace)
    with pytest.raises(ValueError, match="host_memory_bytes_per_s"):
        type(usual).model_validate(usual.model_dump() | {"host_memory_bytes_per_s": 1e-300})
