"""Plans on machines that questions are asked about."""

from collections.abc import Callable
from typing import Any

import pytest

from gpuplanner.engine.answers.answer import Answer
from gpuplanner.engine.answers.answering import Question, answered
from gpuplanner.engine.machines import machine_of
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Framework, Training

LLAMA_8B = "meta-llama/Meta-Llama-3.1-8B"
LLAMA_70B = "meta-llama/Llama-3.1-70B"
Ask = Callable[..., Answer]


@pytest.fixture(scope="session")
def ask(shipped_catalog: Any, shipped_efficiencies: Any) -> Ask:
    """Asks a question: of a workload on so many GPUs of a type, or on an instance."""

    def asked(question: Question, workload: Any, explained: bool = False, **machine: Any) -> Answer:
        choice = MachineChoice(**machine)
        plan = Plan(workload=workload, machine=choice)
        subject = shipped_catalog.models[workload.model.catalog_id].architecture
        made = machine_of(choice, shipped_catalog, shipped_catalog.currencies)
        return answered(question, plan, subject, made, shipped_efficiencies, explained=explained)

    return asked


def serving(model: str = LLAMA_8B, **fields: Any) -> Serving:
    """A server with some clients."""
    return Serving(model=ModelChoice(catalog_id=model), **{"input_tokens": 1000, "output_tokens": 200} | fields)


def training(**fields: Any) -> Training:
    """Pre-training of a small model."""
    said = {"method": "pretraining", "framework": Framework.MEGATRON, "global_batch": 1024, "tokens": 1e11}
    return Training(model=ModelChoice(catalog_id=LLAMA_8B), **said | fields)


def figures(answer: Answer) -> dict[str, Any]:
    """The figures of an answer by the id of their line."""
    return {line.id: line.figure for line in answer.lines}


@pytest.fixture(scope="session")
def server() -> Callable[..., Serving]:
    """See `serving`."""
    return serving


@pytest.fixture(scope="session")
def trainer() -> Callable[..., Training]:
    """See `training`."""
    return training


@pytest.fixture(scope="session")
def by_line() -> Callable[[Answer], dict[str, Any]]:
    """See `figures`."""
    return figures
