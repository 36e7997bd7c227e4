"""Numbers of a training run at the edges of what a plan may ask for: long windows, links that are not known."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.estimating import explain
from gpuplanner.engine.explaining import explanation
from gpuplanner.engine.machines import bare
from gpuplanner.engine.training import estimate_training
from gpuplanner.engine.training_model import model_numbers
from gpuplanner.engine.training_run import training_run
from gpuplanner.engine.training_software import RATE_OF
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Certainty, Step
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.precision import ComputePrecision
from gpuplanner.workload.training import (
    AttentionKernel,
    Framework,
    Method,
    Offload,
    Recomputation,
    Sharding,
    Training,
)

WINDOWED = "mistralai/Mistral-7B-v0.1"
"""All its layers see 4,096 tokens."""


@pytest.fixture(scope="module")
def estimated(shipped_catalog: Catalog, shipped_efficiencies: Efficiencies) -> Callable[..., dict[str, float]]:
    def run(gpu: Gpu, name: str = WINDOWED, **wanted: object) -> dict[str, float]:
        fields = {"model": ModelChoice(catalog_id=name), "global_batch": 64, "micro_batch": 1, **wanted}
        model = shipped_catalog.models[name].architecture
        assert model is not None
        plan = Plan(workload=Training.model_validate(fields))
        made = estimate_training(plan, model, bare(gpu, 1), shipped_efficiencies)
        return {name: figure.value for name, figure in made.metrics.items()}

    return run


def test_a_window_is_not_counted_as_if_it_saw_everything(
    shipped_catalog: Catalog, estimated: Callable[..., dict[str, float]]
) -> None:
    """Counted whole, a long sequence would come to a utilisation of a hundred times the peak."""
    gpu = shipped_catalog.gpus["nvidia-h100-sxm5-80gb"]
    within, beyond = (estimated(gpu, sequence_length=tokens)["mfu"] for tokens in (4096, 4096 * 256))
    assert 0 < beyond < 1.2 * within
    assert within < 0.8


def test_latent_attention_is_trained_with_the_keys_and_values_that_the_latent_is_made_into(
    shipped_catalog: Catalog,
) -> None:
    """DeepSeek-V3: 128 heads of 192 for queries and keys and 128 for values, not the 576 and 512 of its cache."""
    name = "deepseek-ai/DeepSeek-V3"
    model = shipped_catalog.models[name].architecture
    assert model is not None
    numbers = model_numbers(model, Training(model=ModelChoice(catalog_id=name), global_batch=8))
    assert numbers.pair_flops == 61 * 2 * 128 * (192 + 128)


def test_eight_bits_save_multiplying_and_cost_casting(
    shipped_catalog: Catalog, shipped_efficiencies: Efficiencies
) -> None:
    """So that the gain over 16 bits is between 1.1 and 1.8, never 2."""
    name = "meta-llama/Meta-Llama-3.1-8B"
    model = shipped_catalog.models[name].architecture
    assert model is not None
    gpu = shipped_catalog.gpus["nvidia-h100-sxm5-80gb"]
    steps, moved = [], []
    for precision in (ComputePrecision.BF16, ComputePrecision.FP8):
        workload = Training(
            model=ModelChoice(catalog_id=name), global_batch=64, micro_batch=1, precision=precision,
            framework=Framework.MEGATRON, sequence_length=8192, recomputation=Recomputation.NONE,
        )  # fmt: skip
        run = training_run(workload, model, bare(gpu, 8), shipped_efficiencies)
        steps.append(float(run.numbers.time.busy))
        moved.append(float(run.numbers.time.elementwise))
    assert 1.1 < steps[0] / steps[1] < 1.8
    assert moved[1] > moved[0]


def test_nothing_is_hidden_where_nothing_overlaps(shipped_catalog: Catalog, shipped_efficiencies: Efficiencies) -> None:
    """Exchanges count whole then; on one GPU there are none, and the option is said to change nothing."""
    name = "meta-llama/Meta-Llama-3.1-8B"
    model = shipped_catalog.models[name].architecture
    assert model is not None
    gpu = shipped_catalog.gpus["nvidia-h100-sxm5-80gb"]
    for gpus in (8, 1):
        plans = [
            Plan(workload=Training(
                model=ModelChoice(catalog_id=name), method=Method.LORA, global_batch=64, micro_batch=1,
                overlapped=overlapped, sharding=Sharding.ZERO1,
            ))
            for overlapped in (True, False)
        ]  # fmt: skip
        hides, waits = (estimate_training(plan, model, bare(gpu, gpus), shipped_efficiencies) for plan in plans)
        assert (waits.metrics["step_s"].value > hides.metrics["step_s"].value) is (gpus > 1)
        assert any("overlapped" in str(remark) for remark in waits.remarks) is (gpus == 1)


def unlinked(catalog: Catalog) -> Gpu:
    """A GPU of which neither a link nor its PCIe is known."""
    return catalog.gpus["aws-trainium1"]


def test_a_gpu_whose_links_are_not_known_trains_alone(
    shipped_catalog: Catalog, estimated: Callable[..., dict[str, float]]
) -> None:
    found = estimated(unlinked(shipped_catalog), precision=ComputePrecision.FP32)
    assert found["step_s"] > 0
    assert found["tokens_per_s"] > 0


def test_nothing_is_offloaded_over_a_link_of_which_nothing_is_known(
    shipped_catalog: Catalog, estimated: Callable[..., dict[str, float]]
) -> None:
    with pytest.raises(MissingFactError, match="pcie"):
        estimated(unlinked(shipped_catalog), precision=ComputePrecision.FP32, offload=Offload.OPTIMIZER)


@pytest.mark.parametrize("name", ["intel-gaudi2", "nvidia-gh200-96gb"])
def test_a_link_to_other_gpus_does_not_lead_to_the_host(
    shipped_catalog: Catalog, estimated: Callable[..., dict[str, float]], name: str
) -> None:
    gpu = shipped_catalog.gpus[name]
    assert gpu.known(GpuProperty.LINK_BYTES_PER_S)
    assert estimated(gpu)["step_s"] > 0
    with pytest.raises(MissingFactError) as refused:
        estimated(gpu, offload=Offload.OPTIMIZER)
    assert refused.value.fact == GpuProperty.PCIE_BYTES_PER_S.value


def test_a_known_pcie_generation_gives_a_rate_that_is_marked_as_assumed(
    shipped_catalog: Catalog, shipped_efficiencies: Efficiencies
) -> None:
    whole = shipped_catalog.gpus["nvidia-a100-sxm4-80gb"]
    unknown = {GpuProperty.PCIE_BYTES_PER_S, GpuProperty.PCIE_LANES}
    partly = replace(whole, properties={k: v for k, v in whole.properties.items() if k not in unknown})
    model = shipped_catalog.models[WINDOWED].architecture
    assert model is not None
    work = Training(
        model=ModelChoice(catalog_id=WINDOWED), framework=Framework.DEEPSPEED, offload=Offload.ALL, micro_batch=1
    )
    made = [explain(Plan(workload=work), model, bare(gpu, 1), shipped_efficiencies) for gpu in (whole, partly)]
    steps = [estimate.metrics["step_s"].value for estimate in made]
    assert steps[0] == pytest.approx(steps[1])
    said = [{remark.id for remark in estimate.remarks} for estimate in made]
    assert ["training.pcie_assumed" in remarks for remarks in said] == [False, True]
    rows = [row for row in explanation(made[1].metrics["step_s"]) if row.term == "pcie_bytes_per_s"]
    assert {row.origin.certainty for row in rows if row.origin} == {Certainty.RULE}


UTILISED = ("nvidia-a100-sxm4-80gb", "nvidia-h100-sxm5-80gb", "nvidia-b200-180gb", "nvidia-rtx-4090")


@given(
    gpu=st.sampled_from(UTILISED),
    model=st.sampled_from(
        [WINDOWED, "meta-llama/Llama-2-7b-hf", "FacebookAI/roberta-large", "mistralai/Mixtral-8x7B-v0.1"]
    ),
    precision=st.sampled_from(ComputePrecision),
    method=st.sampled_from(Method),
    framework=st.sampled_from(Framework),
    attention=st.sampled_from(AttentionKernel),
    recomputation=st.sampled_from(Recomputation),
    length=st.sampled_from([1, 512, 8192, 131_072, 1_000_000, 10_000_000]),
)
def test_no_more_is_computed_than_the_gpu_can(
    shipped_catalog: Catalog,
    estimated: Callable[..., dict[str, float]],
    gpu: str,
    model: str,
    precision: ComputePrecision,
    method: Method,
    framework: Framework,
    attention: AttentionKernel,
    recomputation: Recomputation,
    length: int,
) -> None:
    """However long the sequence: what is counted is what is computed, at the share that kernels reach."""
    chip = shipped_catalog.gpus[gpu]
    assume(chip.known(RATE_OF[precision]) is not None)
    wanted = {"method": method, "framework": framework, "attention": attention, "recomputation": recomputation}
    found = estimated(chip, model, sequence_length=length, precision=precision, **wanted)
    assert 0 < found["mfu"] <= found["hfu"] < 1


def steps(step: Step | None) -> Iterator[Step]:
    """A call and all that led to it."""
    if step is not None:
        yield step
        for argument in step.arguments:
            yield from steps(argument.step)


@pytest.mark.parametrize(
    ("framework", "formula"),
    [(Framework.DEEPSPEED, "context_exchange_seconds"), (Framework.FSDP, "ring_seconds")],
)
def test_ranks_that_share_a_sequence_exchange_heads_or_go_around_a_ring(
    shipped_catalog: Catalog, shipped_efficiencies: Efficiencies, framework: Framework, formula: str
) -> None:
    name = "meta-llama/Llama-2-7b-hf"
    model = shipped_catalog.models[name].architecture
    assert model is not None

    def exchange_s(ranks: int) -> float:
        asked = Training(
            model=ModelChoice(catalog_id=name), framework=framework, sequence_length=65536, global_batch=8,
            micro_batch=1, context_parallel=ranks, tensor_parallel=1, pipeline_parallel=1,
        )  # fmt: skip
        machine = bare(shipped_catalog.gpus["nvidia-a100-sxm4-80gb"], 8)
        made = explain(Plan(workload=asked), model, machine, shipped_efficiencies)
        return next(
            float(step.value) for step in steps(made.metrics["step_s"].derivation) if step.formula.id == formula
        )

    two, eight = exchange_s(2), exchange_s(8)
    # Around the ring everybody's keys and values pass everybody; what is exchanged shrinks with each rank's part.
    assert (eight < 0.6 * two) == (framework is Framework.DEEPSPEED)
