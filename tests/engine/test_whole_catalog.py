"""More requests, longer ones and larger models are never quicker nor smaller: on every GPU, and of every model."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.estimate import Estimate, Fit
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.machines import bare, choice_of
from gpuplanner.facts import MissingFactError
from gpuplanner.messages import InputError
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Method, Training

SIZES = ("Qwen/Qwen3-0.6B", "Qwen/Qwen3-1.7B", "Qwen/Qwen3-4B", "Qwen/Qwen3-8B")
SERVED = {"input_tokens": 500, "output_tokens": 100, "concurrency": 2, "tensor_parallel": 1, "pipeline_parallel": 1}
TRAINED = {
    "method": Method.FULL, "sequence_length": 512, "global_batch": 16, "micro_batch": 1, "tensor_parallel": 1,
    "pipeline_parallel": 1, "tokens": 10**9,
}  # fmt: skip
MORE: dict[str, tuple[type[Serving | Training], dict[str, Any], str, int]] = {
    "clients": (Serving, SERVED, "concurrency", 8),
    "longer prompts": (Serving, SERVED, "input_tokens", 4_000),
    "longer answers": (Serving, SERVED, "output_tokens", 800),
    "batch": (Training, TRAINED, "global_batch", 64),
    "longer sequences": (Training, TRAINED, "sequence_length", 2_048),
}
TIMES = ("request_s", "tpot_s", "ttft_s", "step_s")
OF_ANSWERS = ("request_s",)
"""Where answers are longer, prompts come more seldom, so that a token of them waits less for those of others."""
SLACK = 1 - 1e-9
ENOUGH_GPUS, ENOUGH_MODELS = 100, 40


class Estimator:
    """Estimates of one model on one GPU; None where the plan or the GPU is refused, or has no place for it."""

    def __init__(self, catalog: Catalog, efficiencies: Efficiencies) -> None:
        self._catalog, self._efficiencies = catalog, efficiencies

    def __call__(self, kind: type[Serving | Training], gpu: str, model: str, **fields: Any) -> Estimate | None:
        machine = bare(self._catalog.gpus[gpu], 1)
        plan = Plan(workload=kind(model=ModelChoice(catalog_id=model), **fields), machine=choice_of(machine))
        try:
            return estimate(plan, self._catalog.models[model].architecture, machine, self._efficiencies)
        except (MissingFactError, InputError):
            return None


@pytest.fixture(scope="module")
def estimated(shipped_catalog: Catalog, shipped_efficiencies: Efficiencies) -> Estimator:
    return Estimator(shipped_catalog, shipped_efficiencies)


def falls(less: Estimate, more: Estimate, times: Sequence[str] = TIMES) -> Iterator[str]:
    """What more work has less of."""
    if more.memory.needed.value < less.memory.needed.value * SLACK:
        yield "memory"
    if less.fit is Fit.DOES_NOT_FIT and more.fit is not Fit.DOES_NOT_FIT:
        yield "fit"
    for name in times:
        if name in less.metrics and name in more.metrics:
            before, after = less.metrics[name].value, more.metrics[name].value
            if not 0 < before <= after / SLACK:
                yield name


@pytest.mark.parametrize("what", MORE)
def test_more_work_is_never_quicker_nor_smaller_on_any_gpu(
    what: str, estimated: Estimator, shipped_catalog: Catalog
) -> None:
    kind, fields, field, more = MORE[what]
    times = OF_ANSWERS if field == "output_tokens" else TIMES
    told = {}
    for gpu in shipped_catalog.gpus:
        less = estimated(kind, gpu, SIZES[0], **fields)
        larger = estimated(kind, gpu, SIZES[0], **fields | {field: more})
        if less and larger:
            told[gpu] = list(falls(less, larger, times))
    assert len(told) > ENOUGH_GPUS
    assert {gpu: wrong for gpu, wrong in told.items() if wrong} == {}


@pytest.mark.parametrize("what", MORE)
def test_more_work_is_never_quicker_nor_smaller_of_any_model(
    what: str, estimated: Estimator, shipped_catalog: Catalog
) -> None:
    kind, fields, field, more = MORE[what]
    times = OF_ANSWERS if field == "output_tokens" else TIMES
    told = {}
    for id_, model in shipped_catalog.models.items():
        if model.architecture is not None:
            less = estimated(kind, "nvidia-h200-sxm-141gb", id_, **fields)
            larger = estimated(kind, "nvidia-h200-sxm-141gb", id_, **fields | {field: more})
            if less and larger:
                told[id_] = list(falls(less, larger, times))
    assert len(told) > ENOUGH_MODELS
    assert {id_: wrong for id_, wrong in told.items() if wrong} == {}


@pytest.mark.parametrize(("kind", "fields"), [(Serving, SERVED), (Training, TRAINED)])
def test_a_larger_model_is_never_quicker_nor_smaller_on_any_gpu(
    kind: type[Serving | Training], fields: dict[str, Any], estimated: Estimator, shipped_catalog: Catalog
) -> None:
    told = {}
    for gpu in shipped_catalog.gpus:
        sizes = [made for model in SIZES if (made := estimated(kind, gpu, model, **fields))]
        if len(sizes) > 1:
            told[gpu] = [wrong for pair in pairwise(sizes) for wrong in falls(*pair)]
    assert len(told) > ENOUGH_GPUS
    assert {gpu: wrong for gpu, wrong in told.items() if wrong} == {}
