"""Image and clip models: counts against published parameters, properties over sizes and options, what is said."""

import random
from collections.abc import Iterable
from typing import Any

import pytest

from gpuplanner.catalog.diffusion_parts import DiffusionTransformer
from gpuplanner.catalog.networks import DiffusionNetwork
from gpuplanner.engine.diffusion import estimate_diffusion
from gpuplanner.engine.diffusion_pipeline import latents_of, sizes_of, step_pass, tiled
from gpuplanner.engine.diffusion_stages import decoder_stages, denoiser_stages, encoder_stages
from gpuplanner.engine.diffusion_training import estimate_diffusion_training
from gpuplanner.engine.estimate import Estimate, Fit, Limit
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.explaining import explanation
from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.machines import bare
from gpuplanner.engine.validation.families import recognise, row_outcomes
from gpuplanner.engine.validation.rows import Row
from gpuplanner.facts import MissingFactError
from gpuplanner.messages import InputError, Language, Message, Translator
from gpuplanner.workload.diffusion import Diffusion, DiffusionPrecision
from gpuplanner.workload.diffusion_training import DiffusionTraining
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workspace import Workspace
from tests.engine.any_plans import any_value, check_figures, check_memory, check_way

SD15, SDXL = "stable-diffusion-v1-5 UNet", "stable-diffusion-xl-base-1.0 UNet"
FLUX, WAN, COG = "FLUX.1-dev", "Wan2.1-T2V-14B", "CogVideoX-5b"
H100, RTX4090, V100 = "nvidia-h100-sxm5-80gb", "nvidia-rtx-4090", "nvidia-v100-sxm2-16gb"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


def network(opened: Workspace, model: str) -> DiffusionNetwork:
    found = opened.catalog.models[model].network
    assert isinstance(found, DiffusionNetwork)
    return found


def made(opened: Workspace, model: str = SDXL, gpu: str = H100, gpus: int = 1, **fields: Any) -> Estimate:
    work = Diffusion(model=ModelChoice(catalog_id=model), **fields)
    machine = bare(opened.catalog.gpus[gpu], gpus)
    return estimate_diffusion(Plan(workload=work), network(opened, model), machine, opened.efficiencies)


def trained(opened: Workspace, model: str = SDXL, gpu: str = H100, gpus: int = 1, **fields: Any) -> Estimate:
    work = DiffusionTraining(model=ModelChoice(catalog_id=model), **fields)
    machine = bare(opened.catalog.gpus[gpu], gpus)
    return estimate_diffusion_training(Plan(workload=work), network(opened, model), machine, opened.efficiencies)


def seconds(found: Estimate) -> float:
    return sum(part.figure.value for part in found.time)


def parts(found: Estimate, phase: str) -> dict[str, float]:
    return next({p.id: p.figure.value for p in each.parts} for each in found.memory.phases if each.id == phase)


def said(found: Estimate) -> set[str]:
    return {remark.id for remark in found.remarks}


def weights(network: DiffusionNetwork) -> float:
    """What the grids add up to; weights that image and text tokens share are counted once."""
    stages = denoiser_stages(network.denoiser)
    shared = 0.0
    if isinstance(network.denoiser, DiffusionTransformer):
        single = zip(network.denoiser.blocks, stages, strict=True)
        shared = sum(stage.text_weights for blocks, stage in single if blocks.attends == "single")
    return sum(s.linear_weights + s.conv_weights + s.text_weights for s in stages) - shared


@pytest.mark.parametrize(("model", "tolerance"), [(SD15, 0.04), (SDXL, 0.02), ("Wan2.1-T2V-14B", 0.03)])
def test_the_grids_add_up_to_the_published_parameters(opened, model, tolerance):
    """What is left out are norms, biases and the embedding of time."""
    found = network(opened, model)
    assert weights(found) == pytest.approx(found.denoiser.parameters, rel=tolerance)
    assert weights(found) < found.denoiser.parameters


def test_no_network_counts_more_than_it_has(opened):
    """Modulation by the time step is not multiplied at every position: up to a third of a transformer."""
    for model in opened.catalog.models.values():
        if isinstance(model.network, DiffusionNetwork):
            assert 0.6 < weights(model.network) / model.network.denoiser.parameters < 1.0, model.id


def test_the_autoencoder_adds_up_exactly(opened):
    codec = network(opened, SD15).codec
    counted = sum(s.linear_weights + s.conv_weights for s in (*encoder_stages(codec), *decoder_stages(codec)))
    assert counted == pytest.approx(codec.parameters, rel=0.002)


def test_a_step_of_sdxl_is_six_tera_operations_each_with_and_without_the_prompt(opened):
    found, work = network(opened, SDXL), Diffusion(model=ModelChoice(catalog_id=SDXL), width=1024, height=1024)
    once = step_pass(
        work.model_copy(update={"guidance": False}), found, _sizes(work, found, False), opened.efficiencies
    )
    both = step_pass(work, found, _sizes(work, found, True), opened.efficiencies)
    assert float(once.flops) == pytest.approx(6.3e12, rel=0.06)
    assert float(both.attention_flops) == pytest.approx(2 * float(once.attention_flops))


def _sizes(work: Diffusion, found: DiffusionNetwork, guided: bool) -> Any:
    return sizes_of(work.model_copy(update={"guidance": guided}), found)


def test_a_clip_has_its_first_frame_alone_and_four_in_each_latent_after(opened):
    found = network(opened, WAN)
    latents = latents_of(_sizes(Diffusion(model=ModelChoice(catalog_id=WAN)), found, True), found)
    assert latents.frames == 21
    assert latents.pixels == 1280 / 8 * 720 / 8


@pytest.mark.parametrize("model", [SD15, SDXL, FLUX, WAN, COG])
@pytest.mark.parametrize(
    ("field", "less", "more"),
    [("width", 512, 1024), ("height", 512, 1024), ("steps", 10, 20), ("at_once", 1, 4), ("frames", 5, 17)],
)
def test_more_of_anything_takes_longer_and_no_less_memory(opened, model, field, less, more):
    base = {"width": 512, "height": 512, "frames": 1, "steps": 20}
    small, large = (made(opened, model, **(base | {field: value})) for value in (less, more))
    assert seconds(large) > seconds(small) > 0
    assert large.memory.needed.value >= small.memory.needed.value > 0


def test_over_the_whole_catalog_more_pixels_are_never_quicker(opened):
    compared = 0
    for gpu in opened.catalog.gpus:
        try:
            small, large = (made(opened, SD15, gpu, width=side, height=side, precision="fp16") for side in (512, 1024))
        except (MissingFactError, InputError):
            continue
        compared += 1
        assert seconds(large) > seconds(small) > 0
        assert large.memory.needed.value > small.memory.needed.value > 0
    assert compared > 60


def test_attention_grows_with_the_square_of_the_pixels(opened):
    small, large = (made(opened, FLUX, width=side, height=side) for side in (1024, 2048))
    once, four = (next(p.figure.value for p in e.time if p.id == "attention") for e in (small, large))
    assert 10 < four / once < 16


def test_guidance_doubles_the_work_unless_it_is_built_in(opened):
    plain, guided = (made(opened, SDXL, at_once=8, guidance=g, runtime="tensorrt") for g in (False, None))
    assert 1.8 < seconds(guided) / seconds(plain) < 2.05
    assert "diffusion.guided_anyway" in said(made(opened, FLUX, guidance=True))


def test_waiting_components_and_layers_give_memory_for_time(opened):
    everything, components, layers = (
        made(opened, FLUX, RTX4090, offload=offload) for offload in ("none", "model", "sequential")
    )
    assert everything.fit is Fit.DOES_NOT_FIT
    assert layers.fit is Fit.FITS
    assert everything.memory.needed.value > components.memory.needed.value > layers.memory.needed.value
    assert seconds(everything) < seconds(components) < seconds(layers)
    assert layers.limits[0][0] is Limit.LINK
    assert components.memory.needed.value > network(opened, FLUX).denoiser.parameters * 2


def test_the_decoder_decides_memory_at_high_resolution_and_tiles_cap_it(opened):
    whole = made(opened, SDXL, width=2048, height=2048)
    tiles = made(opened, SDXL, width=2048, height=2048, vae_tiling=True)
    assert whole.memory.peak_phase == "decode_latents"
    assert parts(tiles, "decode_latents")["activations"] == pytest.approx(
        parts(whole, "decode_latents")["activations"] / 4
    )
    assert seconds(tiles) > seconds(whole)
    assert "diffusion.tile_holds_all" in said(made(opened, SDXL, width=1024, height=1024, vae_tiling=True))


def test_tiles_overlap_by_a_quarter():
    assert tiled(512, 512) == 512
    assert tiled(1024, 512) == 512 + 512 + 256


def test_slices_decode_one_image_of_a_batch(opened):
    together, sliced = (made(opened, SD15, at_once=8, vae_slicing=s) for s in (False, True))
    ratio = parts(together, "decode_latents")["activations"] / parts(sliced, "decode_latents")["activations"]
    assert ratio == pytest.approx(8)
    assert "diffusion.slicing_alone" in said(made(opened, SD15, vae_slicing=True))


def test_eight_bits_save_memory_in_pytorch_and_time_in_an_engine(opened):
    wide = made(opened, FLUX, precision="bf16")
    eager = made(opened, FLUX, precision="fp8")
    assert seconds(eager) == pytest.approx(seconds(wide))
    assert "diffusion.stored_only.eager" in said(eager)
    assert parts(eager, "denoise")["denoiser"] * 2 == pytest.approx(parts(wide, "denoise")["denoiser"])
    engines = [made(opened, FLUX, precision=p, runtime="tensorrt") for p in ("bf16", "fp8")]
    assert seconds(engines[1]) < seconds(engines[0])


def test_fused_kernels_help_most_where_launches_are_waited_for(opened):
    gains = []
    for at_once in (1, 32):
        eager, engine = (made(opened, SD15, at_once=at_once, runtime=r) for r in ("eager", "tensorrt"))
        gains.append(seconds(eager) / seconds(engine))
    assert gains[0] > gains[1] > 1


def test_plain_attention_writes_its_scores(opened):
    flash, plain = (made(opened, SD15, attention=a) for a in ("flash", "math"))
    assert seconds(plain) > seconds(flash)
    assert parts(plain, "denoise")["activations"] > parts(flash, "denoise")["activations"]


def test_a_gpu_without_bf16_says_so(opened):
    assert "diffusion.no_bf16" in said(made(opened, SD15, V100))


def test_several_frames_of_a_model_of_images_are_said(opened):
    assert "diffusion.no_video" in said(made(opened, SDXL, frames=16))


def test_gpus_make_images_of_their_own(opened):
    one, eight = (made(opened, SDXL, gpus=n).metrics["generated_per_s"].value for n in (1, 8))
    assert eight == pytest.approx(8 * one)


def test_what_nobody_measured_has_a_wider_range(opened):
    unet, transformer = (made(opened, model).metrics["image_batch_s"] for model in (SDXL, FLUX))
    assert transformer.high / transformer.value > unet.high / unet.value
    assert transformer.why is not None
    assert transformer.why.id == "diffusion.why_transformer"


def test_flux_on_a_24_gb_card_is_told_what_makes_it_fit(opened):
    found = made(opened, FLUX, RTX4090)
    assert found.fit is Fit.DOES_NOT_FIT
    advised = opened.advised(found)
    assert advised.changes
    assert all(change.fit is not Fit.DOES_NOT_FIT for change in advised.changes)


def proposed(found: Estimate) -> Iterable[tuple[Message, dict[str, Any]]]:
    return KINDS[found.plan.workload.kind].changes(found, found.plan.workload)


def test_nothing_is_proposed_where_it_fits(opened):
    found = made(opened, SD15)
    assert found.fit is Fit.FITS
    assert list(proposed(found)) == []


def test_a_goal_of_time_that_is_missed_is_told_what_is_quicker(opened):
    found = made(opened, FLUX, latency_goal_s=0.1, offload="sequential")
    assert {message.id for message in found.unmet} == {"items.goal_missed.latency"}
    quicker = {message.id for message, _ in proposed(found)}
    assert {"change.compiled", "change.fused_engine", "change.no_offload"} <= quicker
    slow = trained(opened, SDXL, rate_goal=1e6)
    quicker = {message.id for message, _ in proposed(slow)}
    assert {"change.compiled", "change.no_recomputation"} <= quicker


@pytest.mark.parametrize("model", [SD15, SDXL, FLUX])
def test_adapters_need_less_than_the_whole_and_checkpoints_less_than_everything(opened, model):
    base: dict[str, Any] = {"width": 512, "height": 512, "micro_batch": 2}
    full, lora = (trained(opened, model, method=m, **base) for m in ("full", "lora"))
    kept = trained(opened, model, method="lora", checkpointing=False, **base)
    assert lora.memory.needed.value < full.memory.needed.value
    assert lora.metrics["trained_parameters"].value < full.metrics["trained_parameters"].value / 10
    assert parts(kept, "backward")["activations"] > parts(lora, "backward")["activations"]
    assert seconds(kept) < seconds(lora)


def test_adam_in_fp32_keeps_sixteen_bytes_a_parameter(opened):
    states = parts(trained(opened, SDXL, method="full"), "step")
    each = sum(states[name] for name in ("denoiser", "gradients", "optimizer")) / 2567463684
    assert each == pytest.approx(16)


@pytest.mark.parametrize(
    ("field", "less", "more"),
    [("micro_batch", 1, 4), ("lora_rank", 4, 128), ("width", 512, 1024), ("global_batch", 8, 64)],
)
def test_more_to_train_on_takes_longer_and_no_less_memory(opened, field, less, more):
    small, large = (trained(opened, SDXL, **{field: value}) for value in (less, more))
    assert large.memory.needed.value >= small.memory.needed.value
    if field != "lora_rank":
        assert seconds(large) > seconds(small)


def test_every_option_of_training_changes_a_figure(opened):
    base: dict[str, Any] = {"method": "full", "gpus": 8, "micro_batch": 2, "cached": False}
    plain = trained(opened, SDXL, **base)
    for changed in (
        {"cached": True}, {"ema": True}, {"sharding": "zero2"}, {"sharding": "zero3"}, {"checkpointing": False},
        {"optimizer": "adamw-8bit"}, {"attention": "math"}, {"runtime": "compiled"}, {"precision": "fp32"},
        {"weight_precision": "bf16"}, {"method": "lora"},
    ):  # fmt: skip
        other = trained(opened, SDXL, **(base | changed))
        differs = seconds(other) != seconds(plain) or other.memory.needed.value != plain.memory.needed.value
        assert differs, changed


def test_sharding_shares_out_states(opened):
    needed = [
        trained(opened, SDXL, method="full", gpus=8, cached=True, sharding=s).memory.needed.value
        for s in ("ddp", "zero2", "zero3")
    ]
    assert needed == sorted(needed, reverse=True)
    assert needed[0] > 2 * needed[2]


def test_every_number_is_explained_down_to_the_catalog(opened):
    plan = Plan(workload=Diffusion(model=ModelChoice(catalog_id=SDXL), precision=DiffusionPrecision.FP16))
    searched = opened.search(plan).candidates[0].plan
    explained = opened.explained(searched)
    assert explained.metrics["generated_per_s"].derivation is not None
    assert explained.memory.needed.derivation is not None


def test_the_search_ranks_machines_that_make_images_by_their_cost(opened):
    found = opened.search(Plan(workload=Diffusion(model=ModelChoice(catalog_id=SDXL)))).candidates
    assert len(found) > 50
    assert all(candidate.fit is not Fit.DOES_NOT_FIT for candidate in found)


def outcomes(opened: Workspace, file: str, **cells: str) -> dict[str, Any]:
    context = opened.validation_context()
    row = Row(file, 2, cells)
    return {outcome.metric: outcome for outcome in row_outcomes(row, recognise(file, cells), context)}


def test_a_measured_image_is_predicted_and_its_memory_too(opened):
    found = outcomes(
        opened, "inference_diffusion.csv", model="SD v1.4", res="512x512", steps="30", batch="16", precision="fp16",
        gpu="A100-SXM4-40GB", it_per_s="", s_per_image="0.57", peak_mem_gb="19.8", notes="xformers=1",
    )  # fmt: skip
    for metric in ("s_per_image", "peak_mem_gb"):
        outcome = found[metric]
        assert outcome.refused is None
        assert outcome.low < outcome.predicted < outcome.high
        assert outcome.predicted == pytest.approx(outcome.measured, rel=0.25)


def test_a_slice_of_a_gpu_is_slower_than_the_whole(opened):
    cells = {
        "model": "SD v1.4", "res": "512x512", "steps": "30", "batch": "4", "precision": "fp16", "it_per_s": "",
        "peak_mem_gb": "", "s_per_image": "1",
    }  # fmt: skip
    whole, part = (
        outcomes(opened, "inference_diffusion.csv", gpu=gpu, **cells)["s_per_image"]
        for gpu in ("H100 PCIe", "H100 PCIe MIG 1g.10gb")
    )
    assert part.predicted > 4 * whole.predicted


@pytest.mark.parametrize(
    ("model", "reason"),
    [("SD v1.5 + ControlNet", "validation.diffusion.with_more"), ("ResNet-50", "validation.diffusion.no_network")],
)
def test_a_row_of_something_else_is_refused_with_a_reason(opened, model, reason):
    found = outcomes(
        opened, "inference_diffusion.csv", model=model, res="512x512", steps="30", batch="1", precision="fp16",
        gpu="RTX 4090", it_per_s="10", s_per_image="", peak_mem_gb="",
    )  # fmt: skip
    assert found["it_per_s"].refused.id == reason


def test_other_adapters_are_refused_by_name(opened):
    cells = {
        "model": "FLUX.2-klein-base-4B", "kind": "lora", "resolution": "512", "gpu": "L40S", "n_gpus": "1",
        "batch_global": "2", "micro_batch": "2", "precision": "bfloat16", "measured_img_per_s": "",
        "measured_step_s": "0.95", "measured_tflops_per_gpu": "", "measured_tokens_per_s_per_gpu": "",
        "measured_peak_mem_gb": "", "notes": "trainable 76677120; grad ckpt True; LORA",
    }  # fmt: skip
    lora = outcomes(opened, "training_diffusion.csv", **cells)["measured_step_s"]
    assert lora.predicted == pytest.approx(0.95, rel=0.25)
    other = outcomes(opened, "training_diffusion.csv", **(cells | {"notes": "grad ckpt True; BOFT"}))
    assert other["measured_step_s"].refused.id == "validation.diffusion.other_adapter"


def test_mlperf_training_of_stable_diffusion_is_predicted_without_having_been_fitted(opened):
    found = outcomes(
        opened, "mlperf_training.csv", benchmark="stable_diffusion", submitter="x", gpu="NVIDIA H100-SXM5-80GB",
        n_gpus="8", global_batch="256", tracked_throughput_samples_per_s="1085", tracked_step_s="",
    )["tracked_throughput_samples_per_s"]  # fmt: skip
    assert found.predicted == pytest.approx(1085, rel=0.25)


@pytest.mark.parametrize("kind", [Diffusion, DiffusionTraining])
def test_any_plan_is_refused_in_a_sentence_or_estimated_with_sense(opened, kind):
    """Values at their limits on any GPU; what is refused misses a fact of the catalog."""
    dice = random.Random(kind.__name__)
    models = [m for m in opened.catalog.models.values() if isinstance(m.network, DiffusionNetwork)]
    estimated = 0
    for _ in range(300):
        chosen, gpu = dice.choice(models), dice.choice(list(opened.catalog.gpus.values()))
        fields = {
            name: any_value(dice, name, info)
            for name, info in kind.model_fields.items()
            if name not in {"kind", "model"} and dice.random() < 0.6
        }
        fields |= {name: 64.0 for name in fields if name in {"items", "deadline_s", "rate_goal", "latency_goal_s"}}
        plan = Plan(workload=kind(model=ModelChoice(catalog_id=chosen.id), **fields))
        try:
            found = estimate(plan, chosen.network, bare(gpu, dice.choice([1, 2, 8])), opened.efficiencies)
        except (InputError, MissingFactError):
            continue
        estimated += 1
        for check in (check_figures, check_memory, check_way):
            check(found)
    assert estimated > 60


def test_the_derivation_of_memory_names_each_component(opened):
    plan = opened.presets["diffusion-flux"].model_copy(
        update={"machine": MachineChoice(gpu_id=H100, gpus=1, per_node=1)}
    )
    rows = explanation(opened.explained(plan).memory.needed)
    english = Translator(Language.ENGLISH)
    named = {english.text(f"formula.{row.formula.id}") for row in rows if row.formula is not None}
    assert {
        "Weights of the denoising network",
        "Weights of the text encoders",
        "Weights of the autoencoder (VAE)",
    } <= named
    assert {"term.denoiser_parameters", "term.text_encoder_parameters", "term.codec_parameters"} <= {
        row.name_id for row in rows
    }
