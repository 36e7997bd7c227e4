"""What to run: turning speech into text with Whisper and models like it. A type and its defaults only."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from gpuplanner.units import Unit
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.reads_data import ReadsData
from gpuplanner.workload.wizard import ask


class SpeechEngine(StrEnum):
    """The program that transcribes. SERVER: vLLM or TensorRT-LLM, which batch windows of several recordings."""

    OPENAI = "openai-whisper"
    FASTER_WHISPER = "faster-whisper"
    WHISPER_CPP = "whisper.cpp"
    TRANSFORMERS = "transformers"
    SERVER = "server"


class SpeechPrecision(StrEnum):
    """How weights are kept and multiplied. CAST: kept in FP32 and turned into FP16 as they are used."""

    FP32 = "fp32"
    CAST = "fp16-cast"
    FP16 = "fp16"
    INT8 = "int8"


class Speech(ReadsData):
    """Recordings of `audio_s` each, one after the other on each GPU. `batch`: windows of a recording at a time.

    `beam`: texts that are followed at once (1: greedy). `tokens_per_audio_s`: how much is said. `audio_hours`: of all
    recordings. `rate_goal`: seconds of audio that all GPUs together have to transcribe in a second.
    """

    kind: Literal["speech"] = "speech"
    model: ModelChoice = Field(
        ModelChoice(catalog_id="openai/whisper-large-v3"), json_schema_extra=ask("model", control="speech-model")
    )
    audio_s: float = Field(3600, ge=1e-3, le=1e7, json_schema_extra=ask("use", Unit.SECOND))
    tokens_per_audio_s: float = Field(4, ge=1e-3, le=14, json_schema_extra=ask("use", Unit.TOKEN_PER_S, advanced=True))

    audio_hours: float | None = Field(None, ge=1e-6, le=1e12, json_schema_extra=ask("goals", Unit.COUNT))
    deadline_s: float | None = Field(None, ge=1, le=1e11, json_schema_extra=ask("goals", Unit.SECOND, control="days"))
    latency_goal_s: float | None = Field(None, ge=1e-6, le=1e9, json_schema_extra=ask("goals", Unit.SECOND))
    rate_goal: float | None = Field(None, ge=1e-9, le=1e12, json_schema_extra=ask("goals", Unit.PER_S))

    engine: SpeechEngine = Field(SpeechEngine.FASTER_WHISPER, json_schema_extra=ask("way"))
    precision: SpeechPrecision = Field(SpeechPrecision.FP16, json_schema_extra=ask("way"))
    batch: int = Field(8, ge=1, le=1024, json_schema_extra=ask("way", Unit.COUNT))
    beam: int = Field(5, ge=1, le=64, json_schema_extra=ask("way", Unit.COUNT))
