"""Rendering: a known frame on other GPUs by scores and by class, and the memory that no link adds up by itself."""

from typing import Any

import pytest

from gpuplanner.catalog.names import names_of
from gpuplanner.engine.estimate import Estimate, Fit
from gpuplanner.engine.machines import bare
from gpuplanner.engine.rendering import estimate_rendering
from gpuplanner.engine.rendering_speed import relative_speed
from gpuplanner.engine.validation.names import ResolvedNames
from gpuplanner.engine.validation.rendering import RenderingRows
from gpuplanner.engine.validation.rows import Row, ValidationContext
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung
from gpuplanner.messages import InputError
from gpuplanner.units import GB
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workload.rendering import Renderer, Rendering
from gpuplanner.workspace import Workspace

RTX4090 = "nvidia-rtx-4090"
RTX5090 = "nvidia-rtx-5090"
A100 = "nvidia-a100-sxm4-80gb"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


def plan_of(gpu: str = RTX4090, gpus: int = 1, **fields: Any) -> Plan:
    return Plan(workload=Rendering(**fields), machine=MachineChoice(gpu_id=gpu, gpus=gpus, per_node=min(gpus, 8)))


def frame_s(made: Estimate) -> float:
    return made.metrics["frame_s"].value


def remarks(made: Estimate) -> set[str]:
    return {message.id for message in made.remarks}


def test_the_known_gpu_takes_what_is_known(opened: Workspace) -> None:
    made = opened.estimate(plan_of(known_frame_s=300.0, fixed_frame_s=20.0))
    figure = made.metrics["frame_s"]
    assert figure.value == pytest.approx(300)
    assert figure.rung is Rung.SAME_GPU
    assert made.metrics["relative_speed"].value == 1


@pytest.mark.parametrize(("minutes_4090", "minutes_5090"), [(22, 15), (48, 34)])
def test_frames_of_v_ray_scale_as_published(opened: Workspace, minutes_4090: float, minutes_5090: float) -> None:
    made = opened.estimate(
        plan_of(RTX5090, renderer=Renderer.V_RAY, known_frame_s=60.0 * minutes_4090, fixed_frame_s=0.0)
    )
    assert frame_s(made) == pytest.approx(60.0 * minutes_5090, rel=0.05)
    assert made.metrics["frame_s"].low < 60.0 * minutes_5090 < made.metrics["frame_s"].high


def test_without_two_scores_the_range_is_wide_and_said(opened: Workspace) -> None:
    scored = opened.estimate(plan_of(RTX5090))
    classed = opened.estimate(plan_of("nvidia-l40s"))
    assert "rendering.no_score" in remarks(classed)
    assert "rendering.no_score" not in remarks(scored)
    wide, narrow = (made.metrics["frame_s"] for made in (classed, scored))
    assert wide.high / wide.low > 2 * narrow.high / narrow.low
    assert wide.rung is Rung.ROOFLINE


def test_gpus_for_computing_trace_on_other_cores(opened: Workspace) -> None:
    made = opened.estimate(plan_of(A100))
    assert "rendering.no_tracing_cores" in remarks(made)
    assert frame_s(made) > 2 * frame_s(opened.estimate(plan_of("nvidia-l40s")))


def test_the_part_of_the_cpu_is_no_faster_anywhere(opened: Workspace) -> None:
    made = opened.estimate(plan_of(RTX5090, known_frame_s=300.0, fixed_frame_s=299.0))
    assert frame_s(made) == pytest.approx(299 + 1 / 1.376, rel=0.001)
    assert frame_s(opened.estimate(plan_of(RTX5090, known_frame_s=5.0, fixed_frame_s=10.0))) == 10


def test_memory_does_not_add_up_unless_the_scene_is_spread_over_nvlink(opened: Workspace) -> None:
    scene = {"scene_bytes": 100e9}
    whole = opened.estimate(plan_of(A100, 8, **scene))
    spread = opened.estimate(plan_of(A100, 8, pooled=True, **scene))
    assert (whole.fit, spread.fit) == (Fit.DOES_NOT_FIT, Fit.FITS)
    assert spread.memory.needed.value == pytest.approx(100e9 * (0.2 + 0.8 / 8) + 0.7 * GB)
    assert "rendering.copied" in remarks(whole)
    assert "rendering.pooled" in remarks(spread)
    bridgeless = opened.estimate(plan_of(RTX4090, 2, pooled=True, **scene))
    assert "rendering.nothing_pooled" in remarks(bridgeless)
    assert bridgeless.memory.needed.value > 100e9
    changes = opened.advised(whole).changes
    assert any(isinstance(c.plan.workload, Rendering) and c.plan.workload.pooled for c in changes)


def test_gpus_that_share_a_frame_end_sooner_and_do_no_more(opened: Workspace) -> None:
    apart = opened.estimate(plan_of(RTX4090, 4, fixed_frame_s=0.0))
    together = opened.estimate(plan_of(RTX4090, 4, fixed_frame_s=0.0, together=True))
    assert frame_s(apart) / 4 < frame_s(together) < frame_s(apart) / 3
    assert together.metrics["frames_per_s"].value < apart.metrics["frames_per_s"].value
    assert "rendering.alone" in remarks(opened.estimate(plan_of(together=True)))


@pytest.mark.parametrize(
    ("renderer", "gpu"),
    [
        (Renderer.OCTANE, "amd-radeon-rx-6900-xt"),
        (Renderer.CYCLES, "amd-mi300x"),
        (Renderer.V_RAY, "amd-mi300x"),
    ],
)
def test_where_a_renderer_does_not_run_is_refused(opened: Workspace, renderer: Renderer, gpu: str) -> None:
    with pytest.raises(InputError) as raised:
        opened.estimate(plan_of(gpu, renderer=renderer))
    assert raised.value.message.id == "rendering.vendor"


def test_an_unknown_gpu_of_the_known_frame_is_refused(opened: Workspace) -> None:
    with pytest.raises(InputError):
        opened.estimate(plan_of(known_gpu="rtx-9090"))


@pytest.mark.parametrize("renderer", Renderer)
def test_speeds_are_each_others_inverse_over_the_catalog(opened: Workspace, renderer: Renderer) -> None:
    known, compared = opened.catalog.gpus[RTX4090], 0
    for gpu in opened.catalog.gpus.values():
        try:
            there = float(relative_speed(renderer, known, gpu, opened.efficiencies).value)
            back = float(relative_speed(renderer, gpu, known, opened.efficiencies).value)
        except (InputError, MissingFactError):
            continue
        compared += 1
        assert there * back == pytest.approx(1), gpu.id
        assert 0 < there < 3
    assert compared > 60


@pytest.mark.parametrize("field", ["known_frame_s", "scene_bytes"])
def test_more_of_anything_is_never_better(opened: Workspace, field: str) -> None:
    known, compared = opened.catalog.gpus[RTX4090], 0
    for gpu in opened.catalog.gpus.values():
        try:
            less, more = (
                estimate_rendering(Plan(workload=Rendering(**{field: value})), known, bare(gpu, 2), opened.efficiencies)
                for value in (100.0, 1e4)
            )
        except (InputError, MissingFactError):
            continue
        compared += 1
        assert frame_s(more) >= frame_s(less) > 0
        assert more.memory.needed.value >= less.memory.needed.value > 0
    assert compared > 60


def test_a_job_has_a_time_and_the_search_ranks_by_it(opened: Workspace) -> None:
    work = Rendering(frames=3000, deadline_s=86400.0, scene_bytes=12e9)
    found = opened.search(Plan(workload=work))
    assert found.candidates
    assert all(c.metrics["job_s"] <= 86400 for c in found.candidates)


@pytest.fixture(scope="module")
def context(opened: Workspace) -> ValidationContext:
    names = ResolvedNames(opened.catalog, names_of(opened.catalog))
    return ValidationContext(names, opened.efficiencies, opened.catalog.gpus, opened.catalog.models)


ROW = {
    "id": "r1", "source": "a page", "benchmark": "OctaneBench", "gpu": "RTX 4090 Laptop", "n_gpus": "1", "api": "",
    "metric": "median of 63 results", "value": "776.91", "unit": "OB points",
}  # fmt: skip


def test_a_score_is_expected_from_those_of_other_gpus(context: ValidationContext) -> None:
    (outcome,) = RenderingRows().predict(Row("f.csv", 2, ROW), context)
    assert outcome.predicted != pytest.approx(776.91)
    assert outcome.low is not None
    assert outcome.high is not None
    assert outcome.low < 776.91 < outcome.high
    two = next(iter(RenderingRows().predict(Row("f.csv", 2, ROW | {"n_gpus": "2"}), context)))
    assert isinstance(outcome.predicted, float)
    assert two.predicted == pytest.approx(2 * outcome.predicted)


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"metric": "max of 63 results"}, "rendering.extreme"),
        ({"benchmark": "V-Ray GPU production frame", "metric": "frame time: interior"}, "rendering.frame_of_others"),
        ({"benchmark": "NVEncC 1080p", "unit": "fps", "metric": "speed"}, "validation.unknown_value"),
    ],
)
def test_what_a_row_does_not_give_is_refused(context: ValidationContext, cells: dict[str, str], reason: str) -> None:
    with pytest.raises(InputError) as raised:
        list(RenderingRows().predict(Row("f.csv", 2, ROW | cells), context))
    assert raised.value.message.id == reason


def test_an_encoders_speed_follows_codec_and_depth(context: ValidationContext) -> None:
    cells = {"benchmark": "NVEncC HEVC 1080p", "gpu": "RTX 2080 Ti", "metric": "encode speed", "unit": "fps"}
    (eight,) = RenderingRows().predict(Row("f.csv", 2, ROW | cells), context)
    (ten,) = RenderingRows().predict(Row("f.csv", 2, ROW | cells | {"benchmark": "NVEnc HEVC 10-bit 1080p"}), context)
    assert isinstance(eight.predicted, float)
    assert isinstance(ten.predicted, float)
    assert 150 < ten.predicted < eight.predicted < 400
