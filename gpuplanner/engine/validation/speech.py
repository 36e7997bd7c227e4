"""The family of transcription measurements: time, real-time factor and memory of one recording on one GPU. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.engine.estimate import Estimate
from gpuplanner.engine.machines import bare
from gpuplanner.engine.speech import NAMES, estimate_speech
from gpuplanner.engine.speech_model import speech_numbers
from gpuplanner.engine.validation.cells import count, positive
from gpuplanner.engine.validation.rows import Outcome, Row, ValidationContext, outcome_of
from gpuplanner.messages import InputError, msg, shortened
from gpuplanner.units import GIB
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.speech import Speech, SpeechEngine, SpeechPrecision

ENGINES = (
    (r"faster[-_ ]?whisper|ctranslate|whisperx", SpeechEngine.FASTER_WHISPER),
    (r"whisper\.cpp", SpeechEngine.WHISPER_CPP),
    (r"transformers|insanely|hugging ?face|\bhf\b", SpeechEngine.TRANSFORMERS),
    (r"vllm|tensorrt|trt|mlperf", SpeechEngine.SERVER),
    (r"openai", SpeechEngine.OPENAI),
)
"""The first pattern that the printed name of the program matches decides."""
PRECISIONS = (
    (r"^(fp16|f16|bf16|half|float16)", SpeechPrecision.FP16),
    (r"^int8|^q8", SpeechPrecision.INT8),
    (r"^(fp32|f32|float32|tf32)", SpeechPrecision.FP32),
)
MLPERF = re.compile(r"mlperf", re.IGNORECASE)
MLPERF_AUDIO_S = 30.0
"""Samples of its Whisper benchmark are put together to windows of 30 s."""
SERVER_BATCH = 128
KEPT_HALF_SINCE = re.compile(r"v?2024(0[7-9]|1\d)|v?202[5-9]")
"""The table of late 2024 shows less memory for openai/whisper than its FP32 weights alone take; earlier ones more."""
RATES = ("samples_per_s", "rtfx")


@dataclass(frozen=True, slots=True)
class SpeechRows:
    """Rows of one recording, or of samples a second; see `rows.Family`."""

    name: str = "speech"
    columns: frozenset[str] = frozenset({"time_s", "samples_per_s", "rtfx", "peak_mem_gb", "audio_s", "beam"})
    metrics: tuple[str, ...] = ("time_s", "samples_per_s", "rtfx", "peak_mem_gb")

    def predict(self, row: Row, context: ValidationContext) -> Iterator[Outcome]:
        """Each filled cell from one estimate. Memory is compared in GiB, as the sources' tools print it."""
        model = context.names.model(row.text("model"))
        if model.architecture is None:
            raise InputError(msg("speech.not_whisper", model=model.name))
        work = work_of(row)
        gpus = count(row, "n_gpus") or 1
        machine = bare(context.names.gpu(row.text("gpu")), gpus)
        made = estimate_speech(Plan(workload=work), model.architecture, machine, context.efficiencies)
        kin = f"{machine.gpu.id} {work.precision.value}"
        ideal = ideal_seconds(work, model.architecture, made)
        each, rate = made.metrics[NAMES.each], made.metrics[NAMES.rate]
        if row.text("peak_mem_gb"):
            yield outcome_of(row, self.name, "peak_mem_gb", made.memory.needed, scale=1.0 / GIB)
        if not row.text("audio_s") and not _is_mlperf(row):
            if any(row.text(name) for name in ("time_s", *RATES)):
                raise InputError(msg("validation.empty_cell", column="audio_s"))
            return
        if row.text("time_s"):
            yield outcome_of(row, self.name, "time_s", each, kin=kin, ideal=ideal)
        if row.text("rtfx"):
            best = work.audio_s * gpus / ideal
            yield outcome_of(row, self.name, "rtfx", rate, kin=kin, ideal=best)
        if row.text("samples_per_s"):
            yield outcome_of(
                row, self.name, "samples_per_s", rate, scale=1.0 / work.audio_s, kin=kin, ideal=gpus / ideal
            )


def work_of(row: Row) -> Speech:
    """What a row transcribes, and with what. Raises InputError for a program or a format that is not known.

    Without a beam it is greedy where a server runs, five elsewhere, as the programs do by themselves.
    """
    printed = row.text("engine")
    engine = next((e for pattern, e in ENGINES if re.search(pattern, printed.lower())), None)
    if engine is None:
        raise InputError(msg("validation.unknown_value", column="engine", text=shortened(printed, 40)))
    text = row.text("precision").lower() or SpeechPrecision.FP16.value
    precision = next((p for pattern, p in PRECISIONS if re.search(pattern, text)), None)
    if precision is None:
        raise InputError(msg("validation.unknown_value", column="precision", text=shortened(text, 40)))
    if engine is SpeechEngine.OPENAI and precision is SpeechPrecision.FP16:
        dated = KEPT_HALF_SINCE.search(f"{printed} {row.text('date')}")
        precision = SpeechPrecision.FP16 if dated else SpeechPrecision.CAST
    server = engine is SpeechEngine.SERVER
    audio_s = positive(row, "audio_s") or MLPERF_AUDIO_S
    return Speech(
        engine=engine,
        precision=precision,
        batch=count(row, "batch", 1024) or (SERVER_BATCH if server else 1),
        beam=count(row, "beam", 64) or (1 if server else 5),
        audio_s=audio_s,
    )


def ideal_seconds(work: Speech, model: ModelArchitecture, made: Estimate) -> float:
    """Reading the decoder's weights for every token at the nominal rate, and nothing else."""
    numbers = speech_numbers(model)
    read = 2.0 * numbers.decoder_parameters / made.machine.gpu.value(GpuProperty.HBM_BYTES_PER_S)
    return work.audio_s * work.tokens_per_audio_s * read / work.batch


def _is_mlperf(row: Row) -> bool:
    return bool(MLPERF.search(" ".join((row.text("engine"), row.text("source"), row.text("notes")))))
