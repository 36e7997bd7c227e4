"""Time of a frame from a known frame on a known GPU, by benchmark scores or by class. Looks nothing up."""

from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.figures import formula
from gpuplanner.units import Unit


@formula(Unit.COUNT, "score / known_score", "frames take as much less time as the score is higher")
def relative_speed_by_score(score: Number, known_score: Number) -> Number:
    """How many times as fast as the known GPU a GPU renders, where both have a score of the same benchmark."""
    return score / known_score


@formula(
    Unit.COUNT,
    "(fp32_flop_per_s / known_fp32_flop_per_s)^fp32_exponent · tracing_factor / known_tracing_factor",
    "renderers gain less than FP32 promises, and GPUs without ray-tracing cores trace on the others",
)
def relative_speed_by_class(
    fp32_flop_per_s: Number,
    known_fp32_flop_per_s: Number,
    fp32_exponent: Number,
    tracing_factor: Number,
    known_tracing_factor: Number,
) -> Number:
    """The same where a score is missing."""
    return (fp32_flop_per_s / known_fp32_flop_per_s) ** fp32_exponent * tracing_factor / known_tracing_factor


@formula(Unit.SECOND, "max(known_frame_s - fixed_frame_s, 0) / (relative_speed · gpu_fraction)", "")
def traced_seconds(
    known_frame_s: Number, fixed_frame_s: Number, relative_speed: Number, gpu_fraction: Number
) -> Number:
    """Time of the GPU's part of a frame on one GPU."""
    rest = known_frame_s - fixed_frame_s
    return rest * (rest > 0) / (relative_speed * gpu_fraction)


@formula(
    Unit.SECOND, "traced_s / (1 + (frame_gpus - 1) · scaling_share)", "each GPU more adds a little less than itself"
)
def together_seconds(traced_s: Number, frame_gpus: Number, scaling_share: Number) -> Number:
    """Time of the GPUs' part of a frame that several share."""
    return traced_s / (1.0 + (frame_gpus - 1.0) * scaling_share)


@formula(Unit.SECOND, "traced_s · pooling_factor", "what lies on another GPU is read over NVLink")
def pooled_seconds(traced_s: Number, pooling_factor: Number) -> Number:
    """Time of the GPUs' part of a frame whose scene is spread over several."""
    return traced_s * pooling_factor


@formula(
    Unit.BYTE,
    "scene_bytes · (copied_share + (1 - copied_share) / pool_gpus)",
    "geometry and textures are spread, what every ray needs is copied",
)
def pooled_scene_bytes(scene_bytes: Number, copied_share: Number, pool_gpus: Number) -> Number:
    """What one GPU holds of a scene that is spread over several."""
    return scene_bytes * (copied_share + (1.0 - copied_share) / pool_gpus)


@formula(Unit.COUNT, "known_score · relative_speed", "")
def expected_score(known_score: Number, relative_speed: Number) -> Number:
    """The score that a GPU should have from that of another one."""
    return known_score * relative_speed
