"""Estimates video work on the encoders and decoders of NVIDIA GPUs: what they can do, how many streams, what limits.

Which codecs an engine has is a fact; how fast it is a rule of thumb with a wide range: presets and content decide.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.estimate import Estimate, Goal, Limit
from gpuplanner.engine.formulas import transcoding as formulas
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.formulas.gpu_memory import slice_memory_bytes
from gpuplanner.engine.formulas.items import batch_bytes, items_per_second
from gpuplanner.engine.formulas.training_memory import process_overhead_bytes
from gpuplanner.engine.goals import goals_of
from gpuplanner.engine.host import Duty
from gpuplanner.engine.items import ItemNames, Step, estimate_items
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.ranges import Spread
from gpuplanner.engine.serving_machine import usable_bytes
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Certainty, Figure, Rung
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.units import Unit
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.transcoding import Effort, EncodedCodec, FrameSize, Transcoding, VideoCodec, VideoJob

TABLE = "transcoding"
NAMES = ItemNames("video_second", "video_second_s", "video_s_per_s", "video_s_per_s_per_gpu")
STREAMS = "live_streams"
NVIDIA = "NVIDIA"
PIXELS: Mapping[FrameSize, float] = {
    FrameSize.P720: 1280.0 * 720.0,
    FrameSize.P1080: 1920.0 * 1080.0,
    FrameSize.P1440: 2560.0 * 1440.0,
    FrameSize.P2160: 3840.0 * 2160.0,
    FrameSize.P4320: 7680.0 * 4320.0,
}
HOUR_S = 3600.0
BITS_PER_PIXEL = 0.1
"""Compressed video of usual quality; H.264 takes more, HEVC and AV1 less."""


def estimate_transcoding(plan: Plan, _subject: None, machine: Machine, efficiencies: Efficiencies) -> Estimate:
    """The estimate of a plan on a machine.

    Raises InputError when the GPU has no such engine or its engine not this codec, MissingFactError when the catalog
    does not say how many engines or how much memory it has.
    """
    work = plan.workload
    if not isinstance(work, Transcoding):
        raise TypeError("estimate_transcoding takes plans of video work only")
    gpu, fraction = machine.gpu, float(machine.gpu_fraction)
    if machine.slice is not None:
        raise InputError(msg("transcoding.slice", profile=machine.slice.profile))
    pixels = PIXELS[work.frame_size]
    found: dict[str, tuple[Number, Limit]] = {}
    if work.job is not VideoJob.ENCODE:
        rate = decoder_rate(gpu, work.read_codec, work.ten_bit, efficiencies)
        decoders = gpu.value(GpuProperty.NVDEC)
        found["decode"] = (formulas.decode_seconds(work.frames_per_s, pixels, decoders, fraction, rate), Limit.VIDEO)
    if work.job is not VideoJob.DECODE:
        rate = encoder_rate(gpu, work.written_codec, work.effort, work.ten_bit, efficiencies)
        encoders = gpu.value(GpuProperty.NVENC)
        written = formulas.written_pixels(pixels, float(work.renditions))
        found["encode"] = (formulas.encode_seconds(work.frames_per_s, written, encoders, fraction, rate), Limit.VIDEO)
    slower = max(found, key=lambda name: float(found[name][0]))
    spread = _spread(efficiencies, "time range", "transcoding.why_time")
    video_second_s = found[slower][0]
    process = efficiencies.constants(TABLE, "process")
    kept = _streams_of_a_gpu(work, machine, video_second_s)
    step = Step(
        usable_bytes=slice_memory_bytes(usable_bytes(gpu, efficiencies), fraction),
        bytes_by_phase={
            "run": {
                "streams": batch_bytes(_stream_bytes(work, efficiencies), kept),
                "overhead": process_overhead_bytes(process["context_bytes"], process["communicator_bytes"], 1.0),
            }
        },
        seconds={slower: found[slower]},
        items=1.0,
        memory_spread=_spread(efficiencies, "memory range", "transcoding.why_memory"),
        time_spread=spread,
    )
    goals = list(goals_of(None, NAMES.rate, work.deadline_s))
    if work.streams is not None:
        goals.append(Goal("rate", STREAMS, float(work.streams), Unit.COUNT, at_least=True))
    return estimate_items(
        plan,
        machine,
        step,
        NAMES,
        in_all=work.video_hours * HOUR_S if work.video_hours is not None else None,
        goals=goals,
        metrics={STREAMS: _live_streams(work, machine, video_second_s, spread, efficiencies)},
        remarks=tuple(_remarks(work, machine, efficiencies)),
    )


def encoder_rate(gpu: Gpu, codec: EncodedCodec, effort: Effort, ten_bit: bool, efficiencies: Efficiencies) -> Number:
    """Pixels a second of one encoder. Raises InputError when the GPU has none, or none for this codec."""
    engine = _engine(gpu, GpuProperty.NVENC, f"encode {codec.value}", codec.value, efficiencies)
    depth = efficiencies.constants(TABLE, "depth")["encode"] if ten_bit else 1.0
    return formulas.encoder_pixels_per_s(engine, efficiencies.constants(TABLE, "effort")[effort.value], depth)


def decoder_rate(gpu: Gpu, codec: VideoCodec, ten_bit: bool, efficiencies: Efficiencies) -> Number:
    """Pixels a second of one decoder. Raises InputError when the GPU has none, or none for this codec."""
    engine = _engine(gpu, GpuProperty.NVDEC, f"decode {codec.value}", codec.value, efficiencies)
    return formulas.decoder_pixels_per_s(engine, efficiencies.constants(TABLE, "depth")["decode"] if ten_bit else 1.0)


def _engine(gpu: Gpu, engines: GpuProperty, variant: str, codec: str, efficiencies: Efficiencies) -> float:
    if gpu.vendor != NVIDIA:
        raise InputError(msg("transcoding.vendor", gpu=gpu.name))
    if gpu.value(engines) == 0:
        raise InputError(msg(f"transcoding.no_{engines.value}", gpu=gpu.name))
    try:
        rate = efficiencies.find(TABLE, gpu, variant)["engine_pixels_per_s"]
    except MissingFactError:
        rate = 0.0
    if rate == 0:
        name = msg(f"choice.video-codec.{codec}")
        raise InputError(msg(f"transcoding.codec_{engines.value}", gpu=gpu.name, codec=name))
    return rate


def _live_streams(
    work: Transcoding, machine: Machine, video_second_s: Number, spread: Spread, efficiencies: Efficiencies
) -> Figure:
    """How many live streams fit at the expected rate, and at the ends of its range."""

    def streams(second_s: float) -> float:
        each = items_per_second(1.0, 1.0, second_s)
        whole = formulas.whole_streams(each, machine.gpus)
        sessions = _session_limit(work, machine.gpu, efficiencies)
        if sessions is None:
            return float(whole)
        return float(formulas.allowed_streams(whole, float(machine.nodes), sessions, float(work.renditions)))

    second_s = float(video_second_s)
    ends = (streams(second_s * spread.high), streams(second_s * spread.low))
    value = streams(video_second_s if isinstance(video_second_s, float) else second_s)
    return Figure(value, Unit.COUNT, Certainty.RULE, *ends, spread.rung, spread.why)


def _session_limit(work: Transcoding, gpu: Gpu, efficiencies: Efficiencies) -> float | None:
    """Encoding sessions that the driver allows at once in a system; None without a limit."""
    if work.job is VideoJob.DECODE or not is_geforce(gpu):
        return None
    return efficiencies.constants(TABLE, "geforce")["sessions"]


def is_geforce(gpu: Gpu) -> bool:
    """Whether the driver limits the card's encoding sessions; it does on GeForce alone."""
    return "GeForce" in gpu.name


def _streams_of_a_gpu(work: Transcoding, machine: Machine, video_second_s: Number) -> float:
    """Streams in the memory of one GPU: as many as it keeps up with, no more than asked for, and one at least."""
    most = max(float(1.0 / float(video_second_s) // 1), 1.0)
    return most if work.streams is None else min(most, float(-(-work.streams // machine.gpus)))


def _stream_bytes(work: Transcoding, efficiencies: Efficiencies) -> Number:
    each = efficiencies.constants(TABLE, "stream")
    reads, writes = work.job is not VideoJob.ENCODE, work.job is not VideoJob.DECODE
    surfaces = (each["decode_surfaces"] if reads else 0.0) + (each["encode_surfaces"] * 2.0 if writes else 0.0)
    pixel_bytes = each["deep_pixel_bytes"] if work.ten_bit else each["pixel_bytes"]
    sessions = (1.0 if reads else 0.0) + (float(work.renditions) if writes else 0.0)
    return formulas.stream_bytes(surfaces, PIXELS[work.frame_size], pixel_bytes, sessions * each["session_bytes"])


def _remarks(work: Transcoding, machine: Machine, efficiencies: Efficiencies) -> Iterator[Message]:
    gpu = machine.gpu
    sessions = _session_limit(work, gpu, efficiencies)
    if sessions is not None:
        yield msg("transcoding.sessions", gpu=gpu.name, count=int(sessions))
    yield msg("transcoding.driver_library")
    if work.job is VideoJob.ENCODE:
        yield msg("transcoding.graphics")
    if machine.gpu_fraction < 1:
        yield msg("transcoding.shared_engines")


def changes(made: Estimate, work: Transcoding) -> Iterator[tuple[Message, dict[str, Any]]]:
    """A faster preset and fewer renditions where the streams are too many."""
    if not made.unmet:
        return
    if work.job is not VideoJob.DECODE and work.effort is not Effort.FAST:
        yield msg("change.video_effort"), {"effort": Effort.FAST}
    if work.job is not VideoJob.DECODE and work.renditions > 1:
        yield msg("change.renditions", count=work.renditions // 2), {"renditions": work.renditions // 2}


def duty(made: Estimate, _subject: None, _efficiencies: Efficiencies) -> Duty:
    """What is read of compressed video; the video engines leave the CPU little to do."""
    work = made.plan.workload
    rate = made.metrics.get(NAMES.rate)
    if not isinstance(work, Transcoding) or work.job is VideoJob.ENCODE or rate is None:
        return Duty(serving=False, weight_file_bytes=0.0)
    each = PIXELS[work.frame_size] * work.frames_per_s * BITS_PER_PIXEL / 8.0
    data = each * HOUR_S * (work.video_hours or 0.0)
    return Duty(serving=False, weight_file_bytes=0.0, items_per_s=rate.value, bytes_per_item=each, data_bytes=data)


def _spread(efficiencies: Efficiencies, variant: str, why: str) -> Spread:
    found = efficiencies.constants(TABLE, variant)
    return Spread(found["low"], found["high"], Rung.ROOFLINE, msg(why))
