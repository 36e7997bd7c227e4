"""Samples that are not packed: they never come cheaper than packed ones, and only their own tokens are counted."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplanner.engine.estimate import Estimate
from gpuplanner.engine.formulas.padding import passed_share, passed_tokens, sample_span
from gpuplanner.engine.machine import Host
from gpuplanner.engine.machines import bare
from gpuplanner.engine.training import estimate_training
from gpuplanner.units import GB
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.training import Framework, Method, Training, TrainingObjective

MODELS = (
    "meta-llama/Llama-2-7b-hf",
    "meta-llama/Meta-Llama-3-70B",
    "mistralai/Mixtral-8x7B-v0.1",
    "Qwen/Qwen2-7B",
    "deepseek-ai/DeepSeek-V3",
)


@pytest.fixture(scope="module")
def estimated(shipped_catalog, shipped_efficiencies):
    gpu = shipped_catalog.gpus["nvidia-h100-sxm5-80gb"]
    machine = replace(bare(gpu, 8, 8), host=Host(network_bytes_per_s=400 * GB))

    def made(name: str, **wanted: object) -> Estimate:
        settings = {"global_batch": 256, "micro_batch": 2, "sharding": "fsdp", "recomputation": "full", **wanted}
        model = shipped_catalog.models[name].architecture
        workload = Training(model=ModelChoice(architecture=model), **settings)
        return estimate_training(Plan(workload=workload), model, machine, shipped_efficiencies)

    return made


@given(
    model=st.sampled_from(MODELS),
    method=st.sampled_from(Method),
    framework=st.sampled_from(Framework),
    objective=st.sampled_from([TrainingObjective.NEXT_TOKEN, TrainingObjective.DPO]),
    length=st.sampled_from([256, 1024, 4096, 32_768]),
    micro=st.sampled_from([1, 2, 4]),
    share=st.one_of(st.none(), st.floats(0.01, 1.0)),
)
def test_padding_never_saves_anything(estimated, model, method, framework, objective, length, micro, share):
    mean = None if share is None else max(int(share * length), 1)
    asked = {"method": method, "framework": framework, "objective": objective, "mean_tokens": mean}
    asked |= {"sequence_length": length, "micro_batch": micro, "expert_parallel": 1}
    packed, padded = (
        estimated(model, packed=p, tensor_parallel=1, pipeline_parallel=1, context_parallel=1, **asked)
        for p in (True, False)
    )
    assert padded.memory.needed.value >= packed.memory.needed.value
    assert padded.memory.reserved.value >= packed.memory.reserved.value
    assert padded.metrics["tokens_per_s"].value <= packed.metrics["tokens_per_s"].value * (1 + 1e-9)
    assert padded.metrics["mfu"].value <= padded.metrics["hfu"].value <= 1


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("method", Method)
def test_ragged_batches_take_more_memory(estimated, model, method):
    packed, padded = (estimated(model, method=method, packed=p) for p in (True, False))
    assert padded.memory.needed.value > packed.memory.needed.value


def test_tokens_a_second_leave_padding_out_and_say_so(estimated):
    made = [estimated(MODELS[0], packed=False, sequence_length=2048, mean_tokens=m) for m in (2048, 512, None)]
    full, short, unknown = (e.metrics["tokens_per_s"].value for e in made)
    assert short < 0.75 * full
    assert unknown == pytest.approx(full / 2)
    said = [{remark.id for remark in e.remarks} for e in made]
    assert "training.useful_tokens" in said[1]
    assert "training.useful_tokens_assumed" in said[2]


def test_an_unknown_mean_widens_the_range(estimated):
    packed, known, unknown = (
        estimated(MODELS[0], packed=p, mean_tokens=m).metrics["tokens_per_s"]
        for p, m in ((True, None), (False, 3000), (False, None))
    )
    widths = [figure.high / figure.low for figure in (packed, known, unknown)]
    assert widths == sorted(widths)
    assert widths[2] > 3 * widths[0]


def test_a_job_of_samples_takes_as_long_whatever_is_assumed_of_their_tokens(estimated):
    """So many steps, each padded to the limit."""
    made = estimated(MODELS[0], packed=False, samples=1e6)
    assert made.metrics["job_s"].value == pytest.approx(1e6 / 256 * made.metrics["step_s"].value)


def test_a_micro_batch_is_padded_to_its_longest_sample():
    assert passed_share(0.25, 1) == 0.25
    assert passed_share(0.5, 3) == 0.75
    assert passed_share(1.0, 8) == 1
    assert passed_share(0.25, 1e9) == pytest.approx(1)
    assert passed_tokens(4096, 0.75) == 3072
    assert sample_span(2048, 0.75) == 1536
