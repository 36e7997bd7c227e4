"""Every option of a training plan changes a figure, or a remark says that it does not; none is silently ignored."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import pytest
from pydantic.fields import FieldInfo

from gpuplanner.engine.estimate import Estimate
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.machine import Host
from gpuplanner.engine.machines import bare
from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.units import GB
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.precision import WeightPrecision
from gpuplanner.workload.training import Training

DENSE, MIXTURE = "meta-llama/Llama-2-7b-hf", "mistralai/Mixtral-8x7B-v0.1"
GPU = "nvidia-b200-180gb"
USUAL: dict[str, Any] = {
    "framework": "megatron", "sharding": "zero1", "recomputation": "none", "micro_batch": 1,
    "tensor_parallel": 1, "pipeline_parallel": 1, "context_parallel": 1, "expert_parallel": 1,
}  # fmt: skip
BESIDE: Mapping[str, dict[str, Any]] = {
    "lora_rank": {"method": "lora"},
    "lora_targets": {"method": "lora"},
    "base_precision": {"method": "lora"},
    "reference_model": {"objective": "dpo"},
    "mean_tokens": {"packed": False},
    "completion_tokens": {"objective": "grpo"},
    "rollout": {"objective": "grpo", "rollout_gpus": 8},
    "rollout_memory_share": {"objective": "grpo"},
    "rollout_gpus": {"objective": "grpo", "rollout": "other-gpus", "nodes": 1, "global_batch": 84},
    "sequence_parallel": {"tensor_parallel": 4},
    "virtual_pipeline": {"pipeline_parallel": 4},
    "deadline_s": {"tokens": 1e12},
    "compiled": {"framework": "fsdp"},
    "fused_loss": {"framework": "hugging-face"},
    "data": {"vcpus": 1},
    "vcpus": {"data": "text"},
    "workers": {"data": "text"},
}
"""What a plan has to be for an option to mean something."""
NUMBERS: Mapping[str, tuple[float, ...]] = {
    "lora_rank": (64,),
    "sequence_length": (2048,),
    "global_batch": (128,),
    "micro_batch": (2,),
    "mean_tokens": (1000,),
    "completion_tokens": (512,),
    "tokens": (1e9,),
    "samples": (1e6,),
    "deadline_s": (60.0,),
    "tensor_parallel": (2,),
    "pipeline_parallel": (2,),
    "virtual_pipeline": (2,),
    "context_parallel": (2,),
    "expert_parallel": (2,),
    "rollout_memory_share": (0.5,),
    "rollout_gpus": (2,),
    "storage_bytes_per_s": (1e4,),
    "vcpus": (1,),
    "workers": (1,),
}
ASKED = {n: i for n, i in Training.model_fields.items() if n not in {"kind", "model"}}
DEFAULT_BASE = WeightPrecision.BF16
"""What a base beside LoRA has where nobody says."""
ONLY_BESIDE = (
    "lora_rank", "lora_targets", "base_precision", "reference_model", "mean_tokens", "samples", "completion_tokens",
    "rollout", "rollout_memory_share", "rollout_gpus", "sharding", "sequence_parallel", "virtual_pipeline",
)  # fmt: skip
"""Options that mean something only beside others."""


def values_of(name: str, info: FieldInfo) -> Iterator[Any]:
    kind: Any = info.annotation
    if get_origin(kind) in {Union, UnionType}:
        kind = next(a for a in get_args(kind) if a is not NoneType)
    if kind is bool:
        yield not info.default
    elif isinstance(kind, type) and issubclass(kind, StrEnum):
        yield from (value for value in kind if value not in {info.default, USUAL.get(name), DEFAULT_BASE})
    else:
        yield from NUMBERS[name]


OPTIONS = [(name, value) for name, info in ASKED.items() for value in values_of(name, info)]


@pytest.fixture(scope="module")
def estimated(shipped_catalog, shipped_efficiencies):
    def made(name: str = DENSE, nodes: int = 2, **wanted: object) -> Estimate:
        machine = replace(bare(shipped_catalog.gpus[GPU], 8, nodes), host=Host(network_bytes_per_s=400 * GB))
        model = shipped_catalog.models[name].architecture
        workload = Training(model=ModelChoice(architecture=model), **(USUAL | wanted))
        return estimate(Plan(workload=workload), model, machine, shipped_efficiencies)

    return made


def figures(made: Estimate) -> dict[str, float]:
    found = {name: figure.value for name, figure in made.metrics.items()}
    found |= {f"{p.id}.{part.id}": part.figure.value for p in made.memory.phases for part in p.parts}
    found |= {f"time.{part.id}": part.figure.value for part in made.time}
    return found | {"unmet": float(len(made.unmet))}


def said(made: Estimate) -> set[str]:
    return {str(Translator(Language.ENGLISH).text(remark)) for remark in made.remarks}


def ids(option: Any) -> str:
    return str(getattr(option, "value", option))


@pytest.mark.parametrize(("name", "value"), OPTIONS, ids=ids)
def test_an_option_changes_a_figure_or_a_remark_says_that_it_does_not(estimated, name, value):
    model = MIXTURE if name == "expert_parallel" else DENSE
    beside = BESIDE.get(name, {})
    before, after = estimated(model, **beside), estimated(model, **(beside | {name: value}))
    assert figures(before) != figures(after) or said(after) - said(before)


@pytest.mark.parametrize("name", ONLY_BESIDE)
def test_an_option_that_means_nothing_in_a_plan_is_named_in_both_languages(estimated, name):
    value = next(iter(values_of(name, ASKED[name])))
    plain = {"tokens": 1e9} if name == "samples" else {}
    if name == "mean_tokens":
        value = 4096
    if name == "sharding":
        plain, value = {"tensor_parallel": 8, "pipeline_parallel": 2}, "zero1"
    made = estimated(**(plain | {name: value}))
    wanted = {"training.base_precision_ignored"} if name == "base_precision" else {"training.option_unused"}
    told = [remark for remark in made.remarks if remark.id in wanted]
    assert told
    for language in Language:
        assert Translator(language).text(told[0])


def test_a_plan_that_sets_nothing_is_not_lectured(estimated):
    assert "training.option_unused" not in {remark.id for remark in estimated(sharding=None).remarks}


def test_a_format_of_frozen_weights_is_ignored_where_nothing_is_frozen(estimated):
    """Not even the host's needs follow it."""
    plain, asked = estimated(method="full"), estimated(method="full", base_precision="nf4")
    assert figures(plain) == figures(asked)
    assert [n.need.value for n in plain.host] == [n.need.value for n in asked.host]
    assert "training.base_precision_ignored" in {remark.id for remark in asked.remarks}


def test_an_option_that_no_layout_can_follow_is_refused(estimated):
    with pytest.raises(InputError):
        estimated(tensor_parallel=7)
