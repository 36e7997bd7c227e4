"""Networks that see images: properties over the catalog, what was measured, and what every option changes."""

import random
from dataclasses import replace
from typing import Any

import pytest

from gpuplanner.catalog.networks import Operators, VisionNetwork
from gpuplanner.engine.estimate import Estimate, Fit, Limit
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.machines import bare
from gpuplanner.engine.vision import estimate_vision
from gpuplanner.engine.vision_relatives import OPERATORS_OF, relatives_of
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung
from gpuplanner.messages import InputError
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workload.vision import Vision, VisionJob, VisionPrecision, VisionRuntime
from gpuplanner.workspace import Workspace
from tests.engine.any_plans import any_machine, any_of, sensible_estimates

H100 = "nvidia-h100-sxm5-80gb"
RTX3090 = "nvidia-rtx-3090"
RESNET, VIT, YOLO = "torchvision/resnet50", "torchvision/vit_l_16", "ultralytics/yolov8m"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


def plan_of(model: str = RESNET, gpu: str = H100, gpus: int = 1, **fields: Any) -> Plan:
    work = Vision(model=ModelChoice(catalog_id=model), **fields)
    return Plan(workload=work, machine=MachineChoice(gpu_id=gpu, gpus=gpus, per_node=min(gpus, 8)))


def value(made: Estimate, metric: str) -> float:
    return made.metrics[metric].value


def test_resnet50_is_as_fast_as_audited_runs_were(opened: Workspace) -> None:
    """MLPerf v4.0: 57,000 images a second on eight H100, 63,600 on eight H200, with fused kernels."""
    made = opened.estimate(plan_of(gpus=8, job="training", batch=400, runtime="compiled"))
    assert value(made, "images_per_s") == pytest.approx(57_000, rel=0.15)
    assert made.metrics["images_per_s"].low < 57_000 < made.metrics["images_per_s"].high


def test_what_moves_through_memory_decides_not_the_peak(opened: Workspace) -> None:
    """The error of estimators that only count FLOP: a depthwise network reaches a small part of the peak."""
    small = opened.estimate(plan_of("timm/mobilenetv3_large_100", batch=512))
    large = opened.estimate(plan_of(VIT, batch=128, runtime="compiled"))
    assert (small.limits[0][0], large.limits[0][0]) == (Limit.HBM, Limit.COMPUTE)
    assert dict(small.limits)[Limit.COMPUTE] < 0.2


@pytest.mark.parametrize("field", ["batch", "image_px", "macs", "activations", "parameters"])
@pytest.mark.parametrize("job", list(VisionJob))
def test_more_of_anything_is_never_faster_nor_smaller(opened: Workspace, field: str, job: VisionJob) -> None:
    """Over the whole catalog, two GPUs of each."""
    network = opened.catalog.models[RESNET].network
    base = {"batch": 8, "image_px": 224, "macs": 4e9, "activations": 1e7, "parameters": 2.5e7}
    compared = 0
    for gpu in opened.catalog.gpus.values():
        made = []
        for factor in (1, 3):
            fields: dict[str, Any] = {field: base[field] * factor}
            work = Vision(job=job, **({"batch": 8} | fields))
            try:
                made.append(estimate_vision(Plan(workload=work), network, bare(gpu, 2), opened.efficiencies))
            except (MissingFactError, InputError):
                break
        else:
            less, more = made
            compared += 1
            assert value(more, "vision_step_s") >= value(less, "vision_step_s") > 0
            assert more.memory.needed.value >= less.memory.needed.value > 0
    assert compared > 60


def test_every_network_of_the_catalog_is_estimated(opened: Workspace) -> None:
    found = 0
    for model in opened.catalog.models.values():
        if isinstance(model.network, VisionNetwork):
            made = opened.estimate(plan_of(model.id, job="training", batch=1))
            assert 0 < value(made, "images_per_s") < 1e5, model.id
            assert made.memory.needed.low < made.memory.needed.value < made.memory.needed.high
            found += 1
    assert found > 200


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        (RESNET, {"precision": "tf32"}),
        (RESNET, {"precision": "fp32"}),
        (RESNET, {"runtime": "compiled"}),
        (RESNET, {"job": "training", "recompute": True}),
        (RESNET, {"job": "training", "optimizer": "adamw"}),
        (VIT, {"fused_attention": False}),
        (VIT, {"job": "training", "fused_attention": False}),
        (RESNET, {"operators": "depthwise"}),
        (RESNET, {"image_px": 448}),
        (RESNET, {"data": "gpu"}),
        (RESNET, {"data": "ready"}),
        (RESNET, {"image_bytes": 1e6}),
        (RESNET, {"images": 1e6}),
        (RESNET, {"job": "training", "images": 1e6, "epochs": 3}),
        (RESNET, {"deadline_s": 10.0, "images": 1e9}),
        (RESNET, {"rate_goal": 1e9}),
        (RESNET, {"latency_goal_s": 1e-6}),
    ],
)
def test_every_option_changes_a_figure(opened: Workspace, model: str, fields: dict[str, Any]) -> None:
    job = fields.get("job", "inference")
    usual = {"images": fields["images"]} if "epochs" in fields or "deadline_s" in fields else {}
    plain, other = opened.estimate(plan_of(model, job=job, **usual)), opened.estimate(plan_of(model, **fields))
    assert _figures(plain) != _figures(other)


def _figures(made: Estimate) -> Any:
    return (
        {name: figure.value for name, figure in made.metrics.items()},
        made.memory.needed.value,
        tuple(need.need.value for need in made.host),
        made.unmet,
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"recompute": True}, "vision.no_recompute"),
        ({"epochs": 2}, "vision.no_epochs"),
        ({"optimizer": "adamw"}, "vision.no_optimizer"),
        ({"fused_attention": False}, "vision.no_attention"),
        ({"job": "training", "latency_goal_s": 1.0}, "vision.no_latency"),
    ],
)
def test_an_option_without_effect_says_so(opened: Workspace, fields: dict[str, Any], said: str) -> None:
    assert said in {remark.id for remark in opened.estimate(plan_of(**fields)).remarks}


def test_a_compiler_spares_traffic_and_half_the_bits_spare_more(opened: Workspace) -> None:
    eager, compiled, wide = (
        value(opened.estimate(plan_of(batch=256, **fields)), "images_per_s")
        for fields in ({}, {"runtime": VisionRuntime.COMPILED}, {"precision": VisionPrecision.TF32})
    )
    assert wide < eager < compiled < 3 * eager


def test_training_takes_gradients_states_and_kept_activations(opened: Workspace) -> None:
    inference = opened.estimate(plan_of(batch=64))
    training = opened.estimate(plan_of(batch=64, job="training"))
    recomputed = opened.estimate(plan_of(batch=64, job="training", recompute=True))
    assert inference.memory.needed.value < recomputed.memory.needed.value < training.memory.needed.value
    assert value(training, "images_per_s") < value(inference, "images_per_s") / 2.5
    assert value(recomputed, "images_per_s") < value(training, "images_per_s")


def test_the_largest_batch_that_timm_could_train_is_about_the_largest_that_fits(opened: Workspace) -> None:
    """On 24 GB: between 16 and 256 of ViT-L/16 whose attention writes its scores; 128 of ResNet-50, not 1,024."""
    fits = {
        (model, batch): opened.estimate(plan_of(model, RTX3090, job="training", batch=batch, fused_attention=False)).fit
        for model, batch in ((VIT, 16), (VIT, 256), (RESNET, 128), (RESNET, 1024))
    }
    assert Fit.DOES_NOT_FIT not in {fits[VIT, 16], fits[RESNET, 128]}
    assert {fits[VIT, 256], fits[RESNET, 1024]} == {Fit.DOES_NOT_FIT}


def test_what_does_not_fit_gets_the_smallest_changes(opened: Workspace) -> None:
    made = opened.advised(opened.estimate(plan_of(gpu=RTX3090, job="training", batch=1024)))
    assert made.fit is Fit.DOES_NOT_FIT
    assert made.changes
    assert made.changes[0].plan.workload.model_dump()["batch"] in {512, 256}
    assert "change.vision_recompute" in {change.what.id for change in made.changes}


def test_gpus_share_out_images_and_wait_for_gradients(opened: Workspace) -> None:
    one = value(opened.estimate(plan_of(job="training", batch=64)), "images_per_s")
    eight = opened.estimate(plan_of(job="training", batch=64, gpus=8))
    assert 6 * one < value(eight, "images_per_s") < 8 * one
    assert Limit.LINK in dict(eight.limits)
    assert value(opened.estimate(plan_of(batch=64, gpus=8)), "images_per_s") == pytest.approx(
        8 * value(opened.estimate(plan_of(batch=64)), "images_per_s")
    )


def test_few_images_at_once_wait_for_launches(opened: Workspace) -> None:
    made = opened.estimate(plan_of(batch=1))
    assert made.limits[0][0] is Limit.CPU
    assert value(made, "vision_step_s") > 1e-3


def test_a_network_of_ones_own_takes_what_is_usual_and_says_so(opened: Workspace) -> None:
    known = opened.estimate(plan_of())
    own = opened.estimate(plan_of(YOLO, macs=2e10, parameters=1e7, operators=Operators.DEPTHWISE))
    assert known.metrics["images_per_s"].rung is Rung.SAME_GPU
    assert own.metrics["images_per_s"].rung is Rung.OTHER_ARCHITECTURE
    assert "vision.no_relatives" in {remark.id for remark in own.remarks}
    figure, other = known.metrics["images_per_s"], own.metrics["images_per_s"]
    assert other.high / other.low > figure.high / figure.low


def test_sizes_that_are_said_are_those_of_the_images_that_are_seen(opened: Workspace) -> None:
    usual = opened.estimate(plan_of(batch=64))
    said = opened.estimate(plan_of(batch=64, macs=4.11e9, activations=1.111e7))
    assert value(said, "images_per_s") == pytest.approx(value(usual, "images_per_s"), rel=0.01)
    large = opened.estimate(plan_of(batch=64, image_px=448))
    same = opened.estimate(plan_of(batch=64, image_px=448, macs=4 * 4.11e9, activations=4 * 1.111e7))
    assert value(same, "images_per_s") == pytest.approx(value(large, "images_per_s"), rel=0.01)
    guessed = opened.estimate(plan_of(batch=64, macs=4.11e9))
    assert value(guessed, "images_per_s") == pytest.approx(value(usual, "images_per_s"), rel=0.25)
    assert "vision.activations_assumed" in {remark.id for remark in guessed.remarks}


def test_a_model_that_sees_nothing_is_refused(opened: Workspace) -> None:
    gpu = opened.catalog.gpus[H100]
    with pytest.raises(InputError) as refused:
        estimate_vision(Plan(workload=Vision()), None, bare(gpu, 1), opened.efficiencies)
    assert refused.value.message.id == "vision.no_network"


def test_cores_are_counted_from_images_decoded(opened: Workspace) -> None:
    needs = {
        data: next(n.need.value for n in opened.estimate(plan_of(batch=256, data=data)).host if n.id == "vcpus")
        for data in ("cpu", "gpu", "ready")
    }
    assert needs["cpu"] > needs["gpu"] > needs["ready"]
    assert needs["cpu"] > 60


def test_sixteen_cores_do_not_feed_eight_gpus_with_imagenet(opened: Workspace) -> None:
    """DAT02 (pytorch/examples issue 387): eight GPUs, 16 threads, low utilisation; 32 cores were advised."""
    plan = plan_of(gpu="nvidia-v100-sxm2-16gb", gpus=8, job="training", batch=64)
    machine = bare(opened.catalog.gpus["nvidia-v100-sxm2-16gb"], 8)
    starved = replace(machine, host=replace(machine.host, vcpus=16.0))
    made = estimate(plan, opened.catalog.models[RESNET].network, starved, opened.efficiencies)
    assert "host.short.vcpus" in {remark.id for remark in made.remarks}
    assert next(need.need.value for need in made.host if need.id == "vcpus") > 32


def test_every_number_is_explained_down_to_its_sources(opened: Workspace) -> None:
    plan = plan_of(gpu="nvidia-a100-sxm4-80gb", job="training", batch=64, gpus=8, images=1e6, epochs=2)
    made = opened.explained(plan)
    assert made.metrics["images_per_s"].derivation is not None
    assert made.memory.needed.derivation is not None
    assert not list(_without_origin(made.metrics["job_s"].derivation))
    assert not list(_without_origin(made.memory.needed.derivation))


def _without_origin(step: Any) -> Any:
    for argument in step.arguments:
        if argument.step is not None:
            yield from _without_origin(argument.step)
        elif argument.origin is None and not isinstance(argument.value, tuple):
            yield argument.name, argument.value


@pytest.mark.parametrize("seed", range(2))
def test_any_plan_is_refused_in_a_sentence_or_estimated_with_sense(opened: Workspace, seed: int) -> None:
    dice = random.Random(f"vision {seed}")
    networks = [m for m in opened.catalog.models.values() if isinstance(m.network, VisionNetwork)]

    def draw() -> tuple[Plan, Any]:
        model = dice.choice(networks)
        work = any_of(dice, Vision, model=ModelChoice(catalog_id=model.id))
        return Plan(workload=work, machine=any_machine(dice, opened.catalog)), model.network

    assert [made for made, _ in sensible_estimates(draw, opened.catalog, opened.efficiencies)]


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("resnet50.tv_in1k", "resnet"),
        ("tf_efficientnetv2_s", "efficientnetv2"),
        ("mobilenetv3_large_100", "mobilenetv3"),
        ("vit_base_patch16_224.augreg", "vit"),
        ("vit_relpos_base_patch16_224", "vit-relpos"),
        ("swinv2_cr_small_224", "swinv2-cr"),
        ("res2net50_26w_4s", "res2net"),
        ("cs3darknet_l", "cs3darknet"),
        ("wide_resnet50_2", "resnet"),
        ("12345", ""),
    ],
)
def test_families_are_known_by_their_names(name: str, family: str) -> None:
    assert relatives_of(name) == family
    assert not family or family in OPERATORS_OF
