"""Video work: what each generation's engines can do, how many streams, and the limits that surprise people."""

from typing import Any

import pytest

from gpuplanner.engine.estimate import Estimate, Limit
from gpuplanner.engine.machines import bare
from gpuplanner.engine.search.result import Broken
from gpuplanner.engine.transcoding import estimate_transcoding
from gpuplanner.facts import MissingFactError
from gpuplanner.messages import InputError
from gpuplanner.workload.plan import GpuSlice, MachineChoice, Plan
from gpuplanner.workload.transcoding import Effort, EncodedCodec, FrameSize, Transcoding, VideoCodec, VideoJob
from gpuplanner.workspace import Workspace

L4 = "nvidia-l4"
RTX4090 = "nvidia-rtx-4090"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


def plan_of(gpu: str = L4, gpus: int = 1, **fields: Any) -> Plan:
    return Plan(workload=Transcoding(**fields), machine=MachineChoice(gpu_id=gpu, gpus=gpus, per_node=min(gpus, 8)))


def streams(made: Estimate) -> float:
    return made.metrics["live_streams"].value


def second_s(made: Estimate) -> float:
    return made.metrics["video_second_s"].value


@pytest.mark.parametrize(
    ("gpu", "fields", "reason"),
    [
        ("nvidia-h100-sxm5-80gb", {"job": VideoJob.ENCODE}, "transcoding.no_nvenc"),
        ("nvidia-a100-sxm4-80gb", {"job": VideoJob.TRANSCODE}, "transcoding.no_nvenc"),
        ("nvidia-b200-180gb", {"job": VideoJob.ENCODE}, "transcoding.no_nvenc"),
        ("nvidia-a100-sxm4-80gb", {"job": VideoJob.DECODE, "read_codec": VideoCodec.AV1}, "transcoding.codec_nvdec"),
        ("nvidia-t4", {"job": VideoJob.DECODE, "read_codec": VideoCodec.AV1}, "transcoding.codec_nvdec"),
        ("nvidia-a40", {"job": VideoJob.ENCODE, "written_codec": EncodedCodec.AV1}, "transcoding.codec_nvenc"),
        ("amd-mi300x", {"job": VideoJob.DECODE}, "transcoding.vendor"),
    ],
)
def test_an_engine_that_a_gpu_has_not_is_refused(
    opened: Workspace, gpu: str, fields: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InputError) as raised:
        opened.estimate(plan_of(gpu, **fields))
    assert raised.value.message.id == reason


def test_gpus_without_an_encoder_still_decode(opened: Workspace) -> None:
    made = opened.estimate(plan_of("nvidia-h100-sxm5-80gb", job=VideoJob.DECODE, read_codec=VideoCodec.AV1))
    assert streams(made) > 50
    assert made.limits[0][0] is Limit.VIDEO


def test_the_driver_limits_the_sessions_of_a_geforce_in_a_system_whatever_the_cards(opened: Workspace) -> None:
    one, four = (opened.estimate(plan_of(RTX4090, gpus, frame_size=FrameSize.P720)) for gpus in (1, 4))
    professional = opened.estimate(plan_of("nvidia-rtx-6000-ada", 4, frame_size=FrameSize.P720))
    assert streams(one) == streams(four) == 8
    assert streams(professional) > 60
    assert streams(opened.estimate(plan_of(RTX4090, renditions=4))) == 2
    assert "transcoding.sessions" in {message.id for message in one.remarks}
    decoding = opened.estimate(plan_of(RTX4090, job=VideoJob.DECODE, frame_size=FrameSize.P720))
    assert streams(decoding) > 8


@pytest.mark.parametrize(
    ("field", "less", "more"),
    [
        ("frame_size", FrameSize.P1080, FrameSize.P2160),
        ("frames_per_s", 30.0, 60.0),
        ("renditions", 1, 3),
        ("ten_bit", False, True),
        ("effort", Effort.FAST, Effort.BALANCED),
        ("effort", Effort.BALANCED, Effort.BEST),
    ],
)
def test_more_of_anything_takes_longer_on_every_gpu(opened: Workspace, field: str, less: Any, more: Any) -> None:
    compared, slower = 0, 0
    for gpu in opened.catalog.gpus.values():
        try:
            first, second = (
                estimate_transcoding(Plan(workload=Transcoding(**{field: v})), None, bare(gpu, 1), opened.efficiencies)
                for v in (less, more)
            )
        except (InputError, MissingFactError):
            continue
        compared += 1
        assert second_s(second) >= second_s(first) > 0, gpu.id
        slower += second_s(second) > second_s(first)
        assert streams(second) <= streams(first)
    assert compared > 40
    assert slower > compared / 2, "where decoders decide, encoders do not"


def test_memory_grows_with_the_streams_that_are_kept(opened: Workspace) -> None:
    few, many = (opened.estimate(plan_of(streams=count, job=VideoJob.DECODE)) for count in (4, 40))
    assert many.memory.needed.value > few.memory.needed.value > 0


def test_a_job_of_files_has_a_time_and_a_goal_of_streams_is_judged(opened: Workspace) -> None:
    made = opened.estimate(plan_of(video_hours=1000.0, deadline_s=86400.0, streams=1000))
    rate = made.metrics["video_s_per_s"].value
    assert made.metrics["job_s"].value == pytest.approx(3.6e6 / rate)
    assert "items.goal_missed.rate" in {message.id for message in made.unmet}
    assert made.metrics["live_streams"].high > made.metrics["live_streams"].low


def test_the_search_says_why_gpus_without_an_encoder_are_out(opened: Workspace) -> None:
    found = opened.search(Plan(workload=Transcoding(streams=50)))
    assert found.candidates
    assert all(c.metrics["live_streams"] >= 50 for c in found.candidates)
    reasons = {r.reason.id for r in found.rejections if r.broken is Broken.SUPPORT}
    assert {"transcoding.no_nvenc", "transcoding.vendor"} <= reasons


def test_a_slice_of_a_gpu_has_no_engines(opened: Workspace) -> None:
    part = GpuSlice(profile="3g.40gb", compute="3/7", memory="4/8")
    choice = MachineChoice(gpu_id="nvidia-a100-sxm4-80gb", slice=part)
    with pytest.raises(InputError) as raised:
        opened.estimate(Plan(workload=Transcoding(job=VideoJob.DECODE), machine=choice))
    assert raised.value.message.id == "transcoding.slice"
