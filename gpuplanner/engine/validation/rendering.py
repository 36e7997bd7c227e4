"""The family of rendering and video measurements: scores of GPUs and encoding speeds. Frames of others are refused."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, log

from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.formulas.rendering import expected_score, relative_speed_by_class
from gpuplanner.engine.ranges import Spread, inverse
from gpuplanner.engine.rendering_speed import TABLE, score_of, tracing_factor
from gpuplanner.engine.transcoding import PIXELS, encoder_rate
from gpuplanner.engine.transcoding import TABLE as VIDEO
from gpuplanner.engine.validation.rows import Outcome, Row, ValidationContext, outcome_of
from gpuplanner.figures import Rung
from gpuplanner.messages import InputError, msg, shortened
from gpuplanner.units import Unit
from gpuplanner.workload.rendering import Renderer
from gpuplanner.workload.transcoding import Effort, EncodedCodec, FrameSize

BENCHMARKS = ((r"octane", Renderer.OCTANE), (r"blender|cycles", Renderer.CYCLES))
"""Benchmarks whose scores have a unit of their own; V-Ray's rows are frames."""
SCORED = re.compile(r"score|result|median|average", re.IGNORECASE)
EXTREMES = re.compile(r"\b(max|min)\b", re.IGNORECASE)
VIDEO_ROW = re.compile(r"nvenc", re.IGNORECASE)
CODECS = ((r"av1", EncodedCodec.AV1), (r"hevc|h\.?265", EncodedCodec.HEVC), (r"h\.?264|avc", EncodedCodec.H264))
SIZES = (
    (r"720p", FrameSize.P720),
    (r"1080p", FrameSize.P1080),
    (r"1440p", FrameSize.P1440),
    (r"2160p|4k", FrameSize.P2160),
)
TEN_BIT = re.compile(r"10[- ]?bit")


@dataclass(frozen=True, slots=True)
class RenderingRows:
    """Rows of benchmark scores; see `rows.Family`."""

    name: str = "rendering"
    columns: frozenset[str] = frozenset({"value", "benchmark", "api", "unit"})
    metrics: tuple[str, ...] = ("value",)

    def predict(self, row: Row, context: ValidationContext) -> Iterator[Outcome]:
        """The score or the speed that is expected of the row's GPU, its own published score left out."""
        benchmark, metric = row.text("benchmark"), row.text("metric")
        if EXTREMES.search(metric):
            raise InputError(msg("rendering.extreme"))
        gpu = context.names.gpu(row.text("gpu"))
        if VIDEO_ROW.search(benchmark):
            yield _encoding(row, gpu, context)
            return
        renderer = next((r for pattern, r in BENCHMARKS if re.search(pattern, benchmark.lower())), None)
        if renderer is None or not SCORED.search(metric):
            raise InputError(msg("rendering.frame_of_others"))
        yield _score(row, gpu, renderer, context)


def _score(row: Row, gpu: Gpu, renderer: Renderer, context: ValidationContext) -> Outcome:
    """The geometric mean of what the scores of other GPUs promise by class; the same for each GPU that runs beside."""
    efficiencies = context.efficiencies
    exponent = efficiencies.constants(TABLE, "class")["fp32_exponent"]
    own_fp32, own_factor = gpu.value(GpuProperty.FP32_FLOP_PER_S), tracing_factor(gpu, efficiencies)
    anchors = [
        (found["score"], other.value(GpuProperty.FP32_FLOP_PER_S), tracing_factor(other, efficiencies))
        for other in context.gpus.values()
        if other.id != gpu.id and (found := score_of(renderer, other, efficiencies)) is not None
    ]
    if renderer is Renderer.OCTANE:
        base = efficiencies.constants(TABLE, "octane definition")
        anchors.append((base["score"], base["fp32_flop_per_s"], base["tracing_factor"]))
    expected = [
        log(float(expected_score(score, relative_speed_by_class(own_fp32, fp32, exponent, own_factor, factor))))
        for score, fp32, factor in anchors
    ]
    if not expected:
        raise InputError(msg("rendering.frame_of_others"))
    found_range = efficiencies.constants(TABLE, "class range")
    spread = Spread(found_range["low"], found_range["high"], Rung.ROOFLINE, msg("rendering.why_class"))
    gpus = row.number("n_gpus") or 1.0
    value = exp(sum(expected) / len(expected)) * gpus
    return outcome_of(row, "rendering", "value", inverse(value, Unit.COUNT, spread), kin=renderer.value, ideal=own_fp32)


def _encoding(row: Row, gpu: Gpu, context: ValidationContext) -> Outcome:
    """Frames a second of one stream, which one encoder writes."""
    printed = f"{row.text('benchmark')} {row.text('metric')}".lower()
    codec = next((c for pattern, c in CODECS if re.search(pattern, printed)), None)
    size = next((s for pattern, s in SIZES if re.search(pattern, printed)), None)
    if codec is None or size is None or row.text("unit") != "fps":
        raise InputError(msg("validation.unknown_value", column="benchmark", text=shortened(printed, 40)))
    rate = encoder_rate(gpu, codec, Effort.BALANCED, bool(TEN_BIT.search(printed)), context.efficiencies)
    found = context.efficiencies.constants(VIDEO, "time range")
    spread = Spread(found["low"], found["high"], Rung.ROOFLINE, msg("transcoding.why_time"))
    value = inverse(float(rate) / PIXELS[size], Unit.PER_S, spread)
    return outcome_of(row, "rendering", "value", value, kin=f"{codec.value} {gpu.architecture}", ideal=1.0)
