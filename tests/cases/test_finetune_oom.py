"""Public cases of fine-tuning that ran out of memory, or did not, by their ids: what the estimate must say of each."""

import pytest

from gpuplanner.catalog.names import names_of
from gpuplanner.engine.estimate import Estimate, Fit
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.machines import bare
from gpuplanner.units import GB, GIB
from gpuplanner.workload.diffusion_training import DiffusionTraining
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.training import Training

NOT = (Fit.DOES_NOT_FIT,)
BORDERLINE = (Fit.TIGHT, Fit.DOES_NOT_FIT)
RUNS = (Fit.FITS, Fit.TIGHT)


@pytest.fixture(scope="module")
def run(shipped_catalog, shipped_efficiencies):
    names = names_of(shipped_catalog)

    def made(model: str, gpu: str, gpus: int, per_node: int | None = None, **wanted: object) -> Estimate:
        architecture = shipped_catalog.models[names.resolve(model, kind="model").id].architecture
        card = shipped_catalog.gpus[names.resolve(gpu, kind="gpu").id]
        per_node = min(per_node or gpus, gpus)
        machine = bare(card, per_node, gpus // per_node)
        settings = {"micro_batch": 1, "global_batch": gpus, "recomputation": "full", **wanted}
        workload = Training(model=ModelChoice(architecture=architecture), **settings)
        return estimate(Plan(workload=workload), architecture, machine, shipped_efficiencies)

    return made


def parts(made: Estimate, phase: str | None = None) -> dict[str, float]:
    found = next(p for p in made.memory.phases if p.id == (phase or made.memory.peak_phase))
    return {part.id: part.figure.value for part in found.parts}


def said(made: Estimate) -> set[str]:
    return {remark.id for remark in made.remarks}


def test_ft01_zero2_needs_the_fp32_copy_of_a_partition_and_zero3_runs(run):
    wanted = {"framework": "deepspeed", "method": "full", "precision": "fp16", "sequence_length": 512}
    zero2 = run("llama-7b", "V100 SXM2 32GB", 8, sharding="zero2", **wanted)
    assert zero2.fit in NOT
    assert parts(zero2, "step")["step_copy"] == pytest.approx(3.14 * GIB, rel=0.01)
    assert run("llama-7b", "V100 SXM2 32GB", 8, sharding="zero3", **wanted).fit in RUNS


def test_ft03_72b_on_16_cards_fails_by_the_copy_and_runs_on_24(run):
    wanted = {"framework": "deepspeed", "method": "full", "precision": "fp16", "sequence_length": 1024}
    made = run("Qwen1.5-72B", "A800 SXM4 80GB", 16, 16, sharding="zero3", **wanted)
    assert made.fit in NOT
    assert parts(made, "step")["step_copy"] == pytest.approx(16.83 * GIB, rel=0.01)
    assert run("Qwen1.5-72B", "A800 SXM4 80GB", 24, 24, sharding="zero3", **wanted).fit in RUNS


def test_ft04_32b_on_seven_cards_needs_87_gib(run):
    wanted = {"framework": "deepspeed", "method": "full", "sequence_length": 1024, "sharding": "zero3"}
    made = run("Qwen2.5-32B", "A800 SXM4 80GB", 7, **wanted)
    step = parts(made, "step")
    assert made.fit in NOT
    states = sum(step[name] for name in ("weights", "gradients", "optimizer"))
    assert states == pytest.approx(69.74 * GIB, rel=0.01)
    assert states + step["step_copy"] == pytest.approx(87.17 * GIB, rel=0.01)
    assert run("Qwen2.5-32B", "A800 SXM4 80GB", 16, 16, **wanted).fit in RUNS


def test_ft06_7b_full_on_one_card_does_not_fit_and_three_with_zero2_do(run):
    assert run("Baichuan2 7B", "A100 SXM4 80GB", 1, method="full", framework="hugging-face").fit in NOT
    wanted = {"method": "full", "framework": "deepspeed", "sharding": "zero2", "sequence_length": 1024}
    assert run("Baichuan2 7B", "A100 SXM4 80GB", 3, **wanted).fit in RUNS


def test_ft07_fp32_weights_and_adam_are_12_bytes_a_parameter(run):
    made = run("llama-7b", "A100 SXM4 80GB", 1, precision="fp32", method="full", framework="fsdp")
    step = parts(made, "step")
    assert made.fit in NOT
    assert step["weights"] + step["optimizer"] == pytest.approx(12 * 6.738e9, rel=0.02)


def test_ft08_1_8b_with_amp_does_not_fit_32_gb(run):
    wanted = {"precision": "fp16", "sequence_length": 256, "framework": "hugging-face", "method": "full"}
    assert run("Qwen-1.8B", "V100 SXM2 32GB", 1, **wanted).fit in NOT


def test_ft09_7b_zero2_on_40_gb_is_tight_with_its_buckets_and_zero3_runs(run):
    wanted = {"framework": "deepspeed", "method": "full", "precision": "fp16", "sequence_length": 512}
    zero2 = run("Qwen1.5-7B", "A100 SXM4 40GB", 8, sharding="zero2", **wanted)
    assert zero2.fit in BORDERLINE
    assert parts(zero2, "step")["buckets"] == pytest.approx(5e9, rel=0.1)
    assert run("Qwen1.5-7B", "A100 SXM4 40GB", 8, sharding="zero3", **wanted).fit in RUNS


def test_ft10_ddp_replicates_a_quantised_base_and_fsdp_splits_it(run):
    wanted = {"framework": "hugging-face", "method": "qlora", "sequence_length": 512}
    ddp = run("Meta-Llama-3-70B", "A10G", 4, sharding="ddp", **wanted)
    assert ddp.fit in NOT
    assert parts(ddp)["base"] > 35 * GIB
    assert "training.base_replicated" in said(ddp)
    assert run("Meta-Llama-3-70B", "A10G", 4, sharding="fsdp", **wanted).fit in RUNS


def test_ft11_70b_with_offload_takes_about_22_gb_a_card(run):
    made = run(
        "Meta-Llama-3-70B", "A10G", 4, framework="hugging-face", method="qlora", sharding="fsdp",
        sequence_length=3072, offload="parameters-and-optimizer",
    )  # fmt: skip
    assert made.fit in RUNS
    assert made.memory.reserved.value == pytest.approx(22 * GB, rel=0.15)


def test_ft11_70b_with_offload_takes_127_gb_of_ram(run):
    made = run(
        "Meta-Llama-3-70B", "A10G", 4, framework="hugging-face", method="qlora", sharding="fsdp",
        sequence_length=3072, offload="parameters-and-optimizer",
    )  # fmt: skip
    ram = next(need for need in made.host if need.id == "ram")
    assert ram.need.value == pytest.approx(127 * GB, rel=0.15)


def test_ft12_one_40_gb_card_holds_70b_only_for_short_sequences(run):
    wanted = {"framework": "deepspeed", "method": "qlora", "sharding": "zero2", "offload": "optimizer"}
    assert run("Llama-2-70b", "A100 SXM4 40GB", 1, sequence_length=2048, **wanted).fit in NOT
    assert run("Llama-2-70b", "A100 SXM4 40GB", 1, sequence_length=512, **wanted).fit is Fit.TIGHT


def test_ft14_lora_of_8b_just_fits_24_gb_at_4k_and_not_at_8k(run):
    wanted = {"framework": "fsdp", "method": "lora", "lora_rank": 8, "lora_targets": "q-v"}
    assert run("Meta-Llama-3-8B", "RTX 4090", 1, sequence_length=4096, **wanted).fit in BORDERLINE
    assert run("Meta-Llama-3-8B", "RTX 4090", 1, sequence_length=8192, **wanted).fit in NOT


def test_ft15_the_longest_sample_decides(run):
    wanted = {
        "framework": "hugging-face", "method": "qlora", "lora_rank": 64, "packed": False, "attention": "math",
        "global_batch": 16,
    }  # fmt: skip
    long = run("Llama-2-13b", "RTX 3090", 1, sequence_length=4096, **wanted)
    assert long.fit in NOT
    assert "training.longest_decides" in said(long)
    assert run("Llama-2-13b", "RTX 3090", 1, sequence_length=512, **wanted).fit in RUNS


def test_ft16_the_logits_of_32k_tokens_do_not_fit_unless_the_loss_is_fused(run):
    wanted = {
        "framework": "deepspeed", "method": "lora", "sharding": "zero3", "sequence_length": 32768,
        "offload": "parameters-and-optimizer",
    }  # fmt: skip
    made = run("Qwen2-7B", "A800 SXM4 80GB", 8, **wanted)
    assert made.fit in NOT
    assert parts(made)["loss"] > 3 * 18.6 * GIB
    assert "training.loss_is_large" in said(made)
    assert run("Qwen2-7B", "A800 SXM4 80GB", 8, fused_loss=True, **wanted).fit in RUNS


@pytest.mark.parametrize(
    ("length", "measured"), [(1024, 6), (2048, 7), (4096, 9), (8192, 12), (16384, 19), (32768, 32)]
)
def test_ft17_qlora_of_7b_by_length(run, length, measured):
    made = run(
        "Llama-2-7b", "A100 SXM4 40GB", 1, framework="hugging-face", method="qlora", lora_rank=8, sequence_length=length
    )
    assert made.fit in RUNS
    assert made.memory.reserved.value == pytest.approx(measured * GB, rel=0.15)


def test_ft17_64k_is_too_long_for_40_gb(run):
    wanted = {"framework": "hugging-face", "method": "qlora", "lora_rank": 8, "sequence_length": 65536}
    assert run("Llama-2-7b", "A100 SXM4 40GB", 1, **wanted).fit in NOT


@pytest.mark.parametrize(("method", "measured"), [("lora", 17), ("qlora", 9)])
def test_ft18_lora_of_7b_with_a_batch_of_four(run, method, measured):
    wanted = {"framework": "hugging-face", "lora_rank": 8, "sequence_length": 1024, "micro_batch": 4, "global_batch": 4}
    made = run("Llama-2-7b", "A100 SXM4 40GB", 1, method=method, **wanted)
    assert made.memory.reserved.value == pytest.approx(measured * GB, rel=0.15)


def test_ft19_lora_of_7b_at_8k_with_zero2(run):
    made = run(
        "Llama-2-7b", "A100 SXM4 80GB", 8, framework="deepspeed", method="lora", sharding="zero2",
        lora_rank=8, lora_targets="attention", sequence_length=8192,
    )  # fmt: skip
    assert made.memory.reserved.value == pytest.approx(25.7 * GB, rel=0.15)


def test_ft21_7b_with_fsdp_on_eight_cards_takes_about_15_gb(run):
    made = run(
        "llama-7b", "A100 SXM4 80GB", 8, framework="fsdp", method="full", sharding="fsdp", sequence_length=1024,
        recomputation="none",
    )  # fmt: skip
    states = made.memory.needed.value - parts(made)["overhead"] - parts(made)["holes"]
    assert states == pytest.approx(14.93 * GB, rel=0.15)


def test_ft22_full_7b_does_not_fit_eight_16_gb_cards(run):
    wanted = {"framework": "fsdp", "method": "full", "sharding": "fsdp", "precision": "fp16", "sequence_length": 512}
    made = run("llama-7b", "V100 SXM2 16GB", 8, **wanted)
    step = parts(made, "step")
    assert made.fit in NOT
    assert step["weights"] + step["gradients"] + step["optimizer"] == pytest.approx(12.55 * GIB, rel=0.01)


@pytest.mark.xfail(
    strict=True, reason="8 hours with PyTorch's own Adam on the CPU; what else made it 58 the issue does not say"
)
def test_ft23_offload_takes_days_not_hours(run):
    made = run(
        "llama-7b", "A100 SXM4 40GB", 4, framework="fsdp", method="full", sharding="fsdp", sequence_length=512,
        micro_batch=2, global_batch=128, offload="parameters-and-optimizer", recomputation="none",
        tokens=52_002 * 3 * 512,
    )  # fmt: skip
    assert made.fit in RUNS
    assert made.metrics["job_s"].high > 24 * 3600


@pytest.mark.xfail(
    strict=True, reason="fits with full recomputation and not without; the issue does not say which it was"
)
@pytest.mark.parametrize("recomputation", ["none", "full"])
def test_ft24_micro_batch_eight_does_not_fit_and_four_does(run, recomputation):
    wanted = {"framework": "fsdp", "method": "full", "sharding": "fsdp", "global_batch": 64, "sequence_length": 2048}
    eight, four = (
        run("MPT-7B", "A100 SXM4 40GB", 8, micro_batch=m, recomputation=recomputation, **wanted) for m in (8, 4)
    )
    assert eight.fit in NOT
    assert four.fit in RUNS


ULYSSES = {
    "framework": "deepspeed", "method": "full", "sequence_length": 32768, "context_parallel": 4, "global_batch": 16,
}  # fmt: skip


def test_ft25_zero2_with_four_ranks_to_a_sequence(run):
    made = run("Llama-2-7b", "A100 SXM4 80GB", 8, sharding="zero2", **ULYSSES)
    assert made.memory.reserved.value == pytest.approx(43.8 * GB, rel=0.2)
    assert made.fit in RUNS


@pytest.mark.xfail(
    strict=True,
    reason="about 24 GB: states divided over all eight ranks; 52.8 is what they take over the two of data parallelism"
    " alone; which group that run had is not reported",
)
def test_ft25_zero3_takes_more_than_zero2_when_the_group_is_small(run):
    made = run("Llama-2-7b", "A100 SXM4 80GB", 8, sharding="zero3", **ULYSSES)
    assert made.memory.reserved.value == pytest.approx(52.8 * GB, rel=0.2)


SPLIT = {"ulysses": {}, "tensor": {"context_parallel": 1, "tensor_parallel": 4}}
FT25_NONE = (
    "18.5 GB more without recomputation would be 17 bytes for each hidden element of 8,192 tokens in each of 32 layers;"
    " what the matrix products alone read and attention keeps is 28, so the run was another than the one told"
)


@pytest.mark.parametrize(
    ("split", "sharding", "recomputation", "reported_gb"),
    [
        ("tensor", "zero2", "full", 32.5),
        ("ulysses", "zero3", "none", 75.2),
        pytest.param("ulysses", "zero2", "none", 62.3, marks=pytest.mark.xfail(strict=True, reason=FT25_NONE)),
        pytest.param("tensor", "zero2", "none", 45.0, marks=pytest.mark.xfail(strict=True, reason=FT25_NONE)),
    ],
)
def test_ft25_memory_of_the_other_runs(run, split, sharding, recomputation, reported_gb):
    wanted = ULYSSES | SPLIT[split] | {"sharding": sharding, "recomputation": recomputation}
    made = run("Llama-2-7b", "A100 SXM4 80GB", 8, **wanted)
    assert made.memory.reserved.value == pytest.approx(reported_gb * GB, rel=0.2)


def test_ft25_times_stand_in_the_ratios_that_were_reported(run):
    """13,000 and 13,194 ms with recomputation, 10,329 and 10,050 without, 16,128 and 12,109 by tensor parallelism.

    The batch is not told, so that only one over another says something.
    """

    def step_s(split: str, sharding: str, recomputation: str) -> float:
        wanted = ULYSSES | SPLIT[split] | {"sharding": sharding, "recomputation": recomputation}
        found: float = run("Llama-2-7b", "A100 SXM4 80GB", 8, **wanted).metrics["step_s"].value
        return found

    base = step_s("ulysses", "zero2", "full")
    reported = {
        ("ulysses", "zero3", "full"): 13_000, ("ulysses", "zero3", "none"): 10_329,
        ("ulysses", "zero2", "none"): 10_050, ("tensor", "zero2", "full"): 16_128, ("tensor", "zero2", "none"): 12_109,
    }  # fmt: skip
    for layout, milliseconds in reported.items():
        assert step_s(*layout) / base == pytest.approx(milliseconds / 13_194, rel=0.2), layout


@pytest.mark.xfail(
    strict=True,
    reason="states are divided over all eight ranks here, so ZeRO-3 takes less than ZeRO-2 and nothing warns of it",
)
def test_ft25_zero3_that_saves_nothing_is_warned_of(run):
    two, three = (
        run("Llama-2-7b", "A100 SXM4 80GB", 8, sharding=sharding, **ULYSSES) for sharding in ("zero2", "zero3")
    )
    assert three.memory.reserved.value >= two.memory.reserved.value


def test_ft32_70b_on_two_24_gb_cards_is_borderline_and_runs_with_offload(run):
    wanted = {"framework": "hugging-face", "method": "qlora", "sharding": "fsdp", "sequence_length": 512}
    assert run("Llama-2-70b", "RTX 3090", 2, optimizer="paged-adamw-8bit", **wanted).fit in BORDERLINE
    assert run("Llama-2-70b", "RTX 3090", 2, offload="parameters-and-optimizer", **wanted).fit in RUNS


def test_est01_model_states_are_not_the_total(run):
    made = run(
        "llama-7b", "A100 SXM4 80GB", 4, framework="deepspeed", method="full", sharding="zero3",
        offload="parameters-and-optimizer", sequence_length=512, recomputation="none",
    )  # fmt: skip
    peak = parts(made)
    states = sum(peak.get(name, 0.0) for name in ("weights", "gradients", "optimizer"))
    assert states < 0.5 * GIB
    assert made.memory.needed.value > 4 * GIB


def test_est02_gathered_layers_stay_the_same_on_more_cards(run):
    wanted = {
        "framework": "deepspeed", "method": "full", "sharding": "zero3", "offload": "parameters-and-optimizer",
        "sequence_length": 512,
    }  # fmt: skip
    two, four = (run("GPT-J 6B", "A100 SXM4 80GB", n, **wanted) for n in (2, 4))
    assert parts(two)["gathered"] == parts(four)["gathered"]
    assert four.memory.needed.value == pytest.approx(two.memory.needed.value, rel=0.05)


def test_ft26_lora_on_an_encoder_saves_little_because_activations_stay(run):
    wanted = {
        "framework": "hugging-face", "sequence_length": 96, "micro_batch": 64, "global_batch": 64,
        "recomputation": "none", "attention": "math", "lora_rank": 8, "lora_targets": "q-v",
    }  # fmt: skip
    full, lora = (run("roberta-large", "A100 SXM4 80GB", 1, method=method, **wanted) for method in ("full", "lora"))
    tensors = [m.memory.needed.value - parts(m)["holes"] - parts(m)["overhead"] for m in (full, lora)]
    assert tensors == pytest.approx([17 * GB, 12 * GB], rel=0.15)
    # In each of 24 layers the MLP's matrices carry no adapter: its norm's output (1,024) and its inner width (4,096)
    # are not kept. All the rest stays.
    dropped = 24 * (64 * 96) * 2 * (1024 + 4096)
    assert parts(lora)["activations"] == pytest.approx(parts(full)["activations"] - dropped, rel=0.01)


GRPO_QLORA = {"framework": "hugging-face", "method": "qlora", "objective": "grpo", "lora_rank": 32, "fused_loss": True}


def test_ft27_grpo_of_8b_takes_about_42_gb_for_eight_generations_and_the_rollout_comes_on_top(run):
    """The documented 42 GB are those of training with 20K tokens of context; its cache of 2.5 GB stands apart there."""
    wanted = {"sequence_length": 20_480, "micro_batch": 8, "global_batch": 8, "completion_tokens": 19_968}
    made = run("Llama-3.1-8B", "H100 SXM5 80GB", 1, **GRPO_QLORA, **wanted)
    assert parts(made)["activations"] == pytest.approx(42 * GB, rel=0.2)
    assert parts(made)["rollout"] == pytest.approx(0.3 * made.memory.usable.value)
    alone = run("Llama-3.1-8B", "H100 SXM5 80GB", 1, **GRPO_QLORA, **(wanted | {"micro_batch": 1}))
    assert alone.memory.needed.value < made.memory.needed.value - 30 * GB


def test_ft28_a_share_of_80_per_cent_for_the_rollout_leaves_too_little_to_train(run):
    wanted = {"sequence_length": 512 + 1024, "completion_tokens": 1024, "micro_batch": 8, "global_batch": 8}
    wanted |= {"fused_loss": False}
    much, less = (
        run("Qwen2.5-7B", "H100 SXM5 80GB", 1, **{**GRPO_QLORA, **wanted}, rollout_memory_share=share)
        for share in (0.8, 0.3)
    )
    assert much.fit in NOT
    assert less.fit in RUNS


@pytest.fixture(scope="module")
def image_run(shipped_catalog, shipped_efficiencies):
    def made(model: str, gpu: str, **wanted: object) -> Estimate:
        network = shipped_catalog.models[model].network
        workload = DiffusionTraining(model=ModelChoice(catalog_id=model), **wanted)
        return estimate(Plan(workload=workload), network, bare(shipped_catalog.gpus[gpu], 1), shipped_efficiencies)

    return made


def test_ft29_flux_lora_needs_42_gb_and_much_host_memory(image_run):
    made = image_run("FLUX.1-dev", "nvidia-a100-sxm4-80gb", width=1024, height=1024, lora_rank=16)
    assert made.memory.needed.value / GIB == pytest.approx(42, rel=0.15)
    assert made.fit in RUNS
    ram = next(need.need for need in made.host if need.id == "ram")
    assert ram.high >= 50 * GB
    kept = image_run("FLUX.1-dev", "nvidia-a100-sxm4-80gb", width=1024, height=1024, checkpointing=False)
    assert kept.fit in NOT


def test_ft30_flux_lora_on_an_fp8_base_fits_a_4090_at_512_and_not_at_1024_by_four(image_run):
    settings = {"weight_precision": "fp8", "cached": True, "lora_rank": 16}
    small = image_run("FLUX.1-dev", "nvidia-rtx-4090", width=512, height=512, **settings)
    assert small.memory.needed.value / GB == pytest.approx(15.3, rel=0.2)
    large = image_run("FLUX.1-dev", "nvidia-rtx-4090", width=1024, height=1024, micro_batch=4, **settings)
    assert (small.fit in RUNS, large.fit in NOT) == (True, True)
    proposed = {message.id for message, _ in KINDS["diffusion-training"].changes(large, large.plan.workload)}
    assert {"change.images_in_pass", "change.resolution"} <= proposed


def test_ft31_sdxl_lora_by_four_spills_on_a_5090_and_one_or_two_do_not(image_run):
    settings = {"width": 1024, "height": 1024, "checkpointing": False, "cached": True}
    four = image_run("stable-diffusion-xl-base-1.0 UNet", "nvidia-rtx-5090", micro_batch=4, **settings)
    assert "diffusion.near_full" in said(four)
    one = image_run("stable-diffusion-xl-base-1.0 UNet", "nvidia-rtx-5090", micro_batch=1, **settings)
    assert one.fit in RUNS
    assert "diffusion.near_full" not in said(one)
