"""What to run: encoding, decoding or transcoding video on the GPU's video engines. A type and its defaults only."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from gpuplanner.units import Unit
from gpuplanner.workload.said import Said
from gpuplanner.workload.wizard import ask


class VideoJob(StrEnum):
    """TRANSCODE: decode and encode; ENCODE: frames that the GPU renders or receives; DECODE: frames for a model."""

    TRANSCODE = "transcode"
    ENCODE = "encode"
    DECODE = "decode"


class VideoCodec(StrEnum):
    """How video is compressed."""

    H264 = "h264"
    HEVC = "hevc"
    AV1 = "av1"
    VP9 = "vp9"


class EncodedCodec(StrEnum):
    """What a GPU's encoder can write at most."""

    H264 = "h264"
    HEVC = "hevc"
    AV1 = "av1"


class Effort(StrEnum):
    """How much the encoder tries: presets P1–P3, P4–P5, P6–P7 of NVENC."""

    FAST = "fast"
    BALANCED = "balanced"
    BEST = "best"


class FrameSize(StrEnum):
    """Frames of a stream, 16:9."""

    P720 = "720p"
    P1080 = "1080p"
    P1440 = "1440p"
    P2160 = "2160p"
    P4320 = "4320p"


class Transcoding(Said):
    """Streams of one kind. `renditions`: sizes that are written of each stream, each with half the pixels of the last.

    `streams`: live at once; `video_hours`: of files in all.
    """

    kind: Literal["transcoding"] = "transcoding"
    job: VideoJob = Field(VideoJob.TRANSCODE, json_schema_extra=ask("use"))
    read_codec: VideoCodec = Field(VideoCodec.H264, json_schema_extra=ask("use"))
    written_codec: EncodedCodec = Field(EncodedCodec.HEVC, json_schema_extra=ask("use"))
    frame_size: FrameSize = Field(FrameSize.P1080, json_schema_extra=ask("use"))
    frames_per_s: float = Field(30, ge=1e-3, le=10_000, json_schema_extra=ask("use", Unit.PER_S))
    ten_bit: bool = Field(False, json_schema_extra=ask("use", advanced=True))
    renditions: int = Field(1, ge=1, le=16, json_schema_extra=ask("use", Unit.COUNT))

    streams: int | None = Field(None, ge=1, le=10_000_000, json_schema_extra=ask("goals", Unit.COUNT))
    video_hours: float | None = Field(None, ge=1e-6, le=1e12, json_schema_extra=ask("goals", Unit.COUNT))
    deadline_s: float | None = Field(None, ge=1, le=1e11, json_schema_extra=ask("goals", Unit.SECOND, control="days"))

    effort: Effort = Field(Effort.BALANCED, json_schema_extra=ask("way"))
