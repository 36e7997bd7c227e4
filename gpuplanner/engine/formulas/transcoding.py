"""How long the video engines of a GPU take for a second of video, and what its streams keep in memory."""

from gpuplanner.engine.formulas.elementwise import Number, floor, minimum
from gpuplanner.figures import formula
from gpuplanner.units import Unit


@formula(Unit.COUNT, "frame_pixels · (2 - 0.5^(renditions - 1))", "each rendition has half the pixels of the last")
def written_pixels(frame_pixels: Number, renditions: Number) -> Number:
    """Pixels that are encoded of each frame, all renditions together."""
    return frame_pixels * (2.0 - 0.5 ** (renditions - 1.0))


@formula(Unit.PER_S, "engine_pixels_per_s · effort_factor · depth_factor", "")
def encoder_pixels_per_s(engine_pixels_per_s: Number, effort_factor: Number, depth_factor: Number) -> Number:
    """Pixels that one encoder writes in a second with this preset and depth."""
    return engine_pixels_per_s * effort_factor * depth_factor


@formula(Unit.PER_S, "engine_pixels_per_s · depth_factor", "")
def decoder_pixels_per_s(engine_pixels_per_s: Number, depth_factor: Number) -> Number:
    """Pixels that one decoder reads in a second at this depth."""
    return engine_pixels_per_s * depth_factor


@formula(Unit.SECOND, "frames_per_s · pixels / (nvenc · gpu_fraction · pixels_per_s)", "streams share the encoders")
def encode_seconds(
    frames_per_s: Number, pixels: Number, nvenc: Number, gpu_fraction: Number, pixels_per_s: Number
) -> Number:
    """Time of all encoders of a GPU for a second of video."""
    return frames_per_s * pixels / (nvenc * gpu_fraction * pixels_per_s)


@formula(Unit.SECOND, "frames_per_s · pixels / (nvdec · gpu_fraction · pixels_per_s)", "streams share the decoders")
def decode_seconds(
    frames_per_s: Number, pixels: Number, nvdec: Number, gpu_fraction: Number, pixels_per_s: Number
) -> Number:
    """Time of all decoders of a GPU for a second of video."""
    return frames_per_s * pixels / (nvdec * gpu_fraction * pixels_per_s)


@formula(Unit.COUNT, "floor(video_s_per_s_per_gpu) · gpus", "a stream stays on one GPU")
def whole_streams(video_s_per_s_per_gpu: Number, gpus: Number) -> Number:
    """Live streams that the engines of all GPUs keep up with."""
    return floor(video_s_per_s_per_gpu) * gpus


@formula(Unit.COUNT, "min(whole_streams, nodes · floor(sessions / renditions))", "the driver's limit is for a system")
def allowed_streams(whole_streams: Number, nodes: Number, sessions: Number, renditions: Number) -> Number:
    """Live streams that the driver lets through; each rendition is a session."""
    return minimum(whole_streams, nodes * floor(sessions / renditions))


@formula(Unit.BYTE, "surfaces · pixels · pixel_bytes + session_bytes", "")
def stream_bytes(surfaces: Number, pixels: Number, pixel_bytes: Number, session_bytes: Number) -> Number:
    """What one stream keeps in GPU memory: frames of reference and in flight, and its sessions."""
    return surfaces * pixels * pixel_bytes + session_bytes
