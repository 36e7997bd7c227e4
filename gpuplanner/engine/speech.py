"""Estimates transcribing speech: windows of audio through an encoder, then one token after the other for each.

Kernels of the decoder are small, so that the program matters as much as the GPU: how it launches them, whether windows
are batched, and how it keeps the caches of a beam.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.efficiency import Efficiencies, Efficiency
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.arithmetic import peak_flop_per_s
from gpuplanner.engine.estimate import Estimate, Limit
from gpuplanner.engine.feed import Sample, feed_of
from gpuplanner.engine.formulas import speech as formulas
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.formulas.gemm import multiply_seconds, read_seconds
from gpuplanner.engine.formulas.gpu_memory import slice_memory_bytes
from gpuplanner.engine.formulas.training_memory import process_overhead_bytes
from gpuplanner.engine.formulas.weights import stored_bytes
from gpuplanner.engine.goals import goals_of
from gpuplanner.engine.host import Duty
from gpuplanner.engine.items import ItemNames, Step, estimate_items
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.ranges import Spread, unmeasured
from gpuplanner.engine.serving_machine import usable_bytes
from gpuplanner.engine.speech_model import FRAMES, SpeechNumbers, speech_numbers
from gpuplanner.figures import Rung
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.workload.arithmetic import Arithmetic
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.speech import Speech, SpeechEngine, SpeechPrecision

TABLE = "speech"
NAMES = ItemNames("recording", "recording_s", "audio_s_per_s", "audio_s_per_s_per_gpu")
STORED_BITS: Mapping[SpeechPrecision, float] = {
    SpeechPrecision.FP32: 32.0,
    SpeechPrecision.CAST: 32.0,
    SpeechPrecision.FP16: 16.0,
    SpeechPrecision.INT8: 8.0,
}
RUNS: Mapping[SpeechEngine, frozenset[SpeechPrecision]] = {
    SpeechEngine.OPENAI: frozenset({SpeechPrecision.FP32, SpeechPrecision.CAST, SpeechPrecision.FP16}),
    SpeechEngine.FASTER_WHISPER: frozenset({SpeechPrecision.FP32, SpeechPrecision.FP16, SpeechPrecision.INT8}),
    SpeechEngine.WHISPER_CPP: frozenset({SpeechPrecision.FP32, SpeechPrecision.FP16, SpeechPrecision.INT8}),
    SpeechEngine.TRANSFORMERS: frozenset({SpeechPrecision.FP32, SpeechPrecision.FP16}),
    SpeechEngine.SERVER: frozenset({SpeechPrecision.FP16}),
}
"""The formats in which each program keeps the weights."""
VENDORS: Mapping[SpeechEngine, frozenset[str]] = {
    SpeechEngine.OPENAI: frozenset({"NVIDIA", "AMD"}),
    SpeechEngine.FASTER_WHISPER: frozenset({"NVIDIA"}),
    SpeechEngine.WHISPER_CPP: frozenset({"NVIDIA", "AMD", "Intel"}),
    SpeechEngine.TRANSFORMERS: frozenset({"NVIDIA", "AMD"}),
    SpeechEngine.SERVER: frozenset({"NVIDIA", "AMD"}),
}
"""On whose GPUs each program is known to run; CTranslate2, which faster-whisper rests on, is CUDA alone."""
AUDIO_BYTES_PER_S = 16_000.0
"""Compressed audio of 128 kbit/s."""
HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class SpeechRun:
    """One recording on one GPU: bytes by phase, seconds by part with what limits them; `rows`: windows at a time."""

    bytes_by_phase: Mapping[str, Mapping[str, Number]]
    seconds: Mapping[str, tuple[Number, Limit]]
    windows: float
    rows: float
    notes: tuple[Message, ...] = field(default=())


def estimate_speech(plan: Plan, model: ModelArchitecture, machine: Machine, efficiencies: Efficiencies) -> Estimate:
    """The estimate of a plan on a machine.

    Raises InputError when the model is not of Whisper's form or the program cannot run so, MissingFactError when the
    GPU's memory, its bandwidth or its peak in this precision is not known.
    """
    work = plan.workload
    if not isinstance(work, Speech):
        raise TypeError("estimate_speech takes plans of speech only")
    fraction = float(machine.gpu_fraction)
    run = speech_run(work, speech_numbers(model), machine.gpu, fraction, efficiencies)
    step = Step(
        usable_bytes=slice_memory_bytes(usable_bytes(machine.gpu, efficiencies), fraction),
        bytes_by_phase=run.bytes_by_phase,
        seconds=run.seconds,
        items=float(work.audio_s),
        memory_spread=spread_of(efficiencies, "memory range", "speech.why_memory"),
        time_spread=time_spread(work.engine, efficiencies),
        exact_parts=frozenset({"weights"}),
        at_once=int(run.rows),
        feed=feed_of(work, Sample(AUDIO_BYTES_PER_S), machine, efficiencies),
    )
    goals = goals_of(work.rate_goal, NAMES.rate, work.deadline_s, work.latency_goal_s, NAMES.each)
    return estimate_items(
        plan,
        machine,
        step,
        NAMES,
        in_all=work.audio_hours * HOUR_S if work.audio_hours is not None else None,
        goals=goals,
        remarks=run.notes,
    )


def speech_run(work: Speech, model: SpeechNumbers, gpu: Gpu, fraction: float, efficiencies: Efficiencies) -> SpeechRun:
    """What one recording takes. Raises InputError when the program has no such precision or batch."""
    engine = efficiencies.constants(TABLE, work.engine.value)
    habits = efficiencies.constants(TABLE, f"{work.engine.value} habits")
    common = efficiencies.constants(TABLE, "decoding")
    _refuse(work, gpu, habits)
    element_bytes = 4.0 if work.precision is SpeechPrecision.FP32 else 2.0
    windows = formulas.audio_windows(float(work.audio_s), habits["advance_s"])
    across = habits["across"] > 0
    rows = float(work.batch) if across else float(min(float(work.batch), float(windows)))
    beams = float(work.beam)
    batches = formulas.shared_batches(windows, rows) if across else formulas.window_batches(windows, rows)
    tokens = formulas.window_tokens(
        float(work.tokens_per_audio_s),
        float(work.audio_s),
        habits["advance_s"],
        common["longest_factor"] if rows > 1 and not across else 1.0,
        common["prompt_tokens"],
    )
    weights = stored_bytes(model.parameters, STORED_BITS[work.precision])
    copies = beams if habits["beam_copies"] else 1.0
    cross = formulas.cross_cache_bytes(rows, copies, FRAMES, model.decoder_layers, model.hidden, element_bytes)
    text = formulas.text_cache_bytes(rows, beams, tokens, model.decoder_layers, model.hidden, element_bytes)
    cast = efficiencies.constants(TABLE, "cast")["cast_share"] if work.precision is SpeechPrecision.CAST else 0.0
    held: dict[str, Number] = {
        "weights": weights,
        "casts": formulas.cast_copies_bytes(weights, cast),
        "overhead": process_overhead_bytes(engine["context_bytes"], 0.0, 1.0),
    }
    working = formulas.encoder_working_bytes(
        rows, FRAMES, model.hidden, model.heads, habits["scores_kept"], element_bytes
    )
    return SpeechRun(
        bytes_by_phase={
            "encode": held | {"working": working},
            "decode": held
            | {"audio_cache": cross, "text_cache": formulas.held_text_bytes(text, habits["text_held_share"])},
        },
        seconds=_seconds(
            work,
            model,
            gpu,
            fraction,
            efficiencies,
            _Decoding(rows, beams, batches, tokens, cross, text),
            _launch(work.engine, gpu, efficiencies),
            common,
        ),
        windows=float(windows),
        rows=rows,
        notes=tuple(_notes(work, float(windows))),
    )


@dataclass(frozen=True, slots=True)
class _Decoding:
    """How a recording is cut up, and the caches that each step reads."""

    rows: float
    beams: float
    batches: Number
    tokens: Number
    cross_bytes: Number
    text_bytes: Number


def _seconds(
    work: Speech,
    model: SpeechNumbers,
    gpu: Gpu,
    fraction: float,
    efficiencies: Efficiencies,
    cut: _Decoding,
    launch: tuple[float, float],
    common: Efficiency,
) -> dict[str, tuple[Number, Limit]]:
    arithmetic = Arithmetic.TF32 if work.precision is SpeechPrecision.FP32 else Arithmetic.FP16
    peak = peak_flop_per_s(gpu, arithmetic)[0] * fraction
    hbm = efficiencies.find("hbm", gpu)
    rate = gpu.value(GpuProperty.HBM_BYTES_PER_S) * fraction
    encoded = formulas.encoder_flops(
        cut.rows, FRAMES, model.encoder_parameters, model.cross_parameters, model.encoder_layers, model.hidden
    )
    encode_s = multiply_seconds(encoded, peak, common["encode_share"])
    steps = formulas.decoder_steps(cut.batches, cut.tokens)
    read = stored_bytes(model.decoder_parameters, STORED_BITS[work.precision])
    native = work.precision is not SpeechPrecision.INT8
    read_s = read_seconds(read, rate, hbm["share" if native else "converted_share"])
    flops = formulas.decoder_flops(model.decoder_parameters, cut.rows, cut.beams)
    multiply_s = multiply_seconds(flops, peak, common["multiply_share"])
    cached = formulas.mean_cache_bytes(cut.cross_bytes, cut.text_bytes)
    return {
        "encoder": (formulas.encoder_seconds(cut.batches, encode_s), Limit.COMPUTE),
        "decoder": (
            formulas.decoder_weight_seconds(steps, read_s, multiply_s),
            Limit.HBM if read_s >= multiply_s else Limit.COMPUTE,
        ),
        "audio_attention": (
            formulas.decoder_cache_seconds(steps, read_seconds(cached, rate, hbm["cache_share"])),
            Limit.HBM,
        ),
        "launch": (
            formulas.step_launch_seconds(steps, model.decoder_layers, *launch),
            Limit.LATENCY,
        ),
    }


def _launch(engine: SpeechEngine, gpu: Gpu, efficiencies: Efficiencies) -> tuple[float, float]:
    """Seconds of a decoder layer and of a step beside them; a server's layers are launched as those of others are."""
    own = efficiencies.constants(TABLE, engine.value)
    habits = efficiencies.constants(TABLE, f"{engine.value} habits")
    layer_s = efficiencies.find("launch", gpu, "vllm")["layer_s"] if engine is SpeechEngine.SERVER else own["layer_s"]
    return layer_s, habits["step_host_s"]


def _refuse(work: Speech, gpu: Gpu, habits: Efficiency) -> None:
    name = msg(f"choice.speech-engine.{work.engine.value}")
    if gpu.vendor not in VENDORS[work.engine]:
        raise InputError(msg("speech.vendor", engine=name, gpu=gpu.name))
    if work.precision not in RUNS[work.engine]:
        precision = msg(f"choice.speech-precision.{work.precision.value}")
        raise InputError(msg("speech.no_precision", engine=name, precision=precision))
    if work.batch > habits["most_rows"]:
        raise InputError(msg("speech.no_batch", engine=name))


def _notes(work: Speech, windows: float) -> Iterator[Message]:
    if work.engine is SpeechEngine.SERVER:
        yield msg("speech.shared_batch")
    elif work.batch > windows:
        yield msg("speech.few_windows", windows=int(windows), batch=work.batch)
    yield msg("speech.only_whisper")


def changes(made: Estimate, work: Speech) -> Iterator[tuple[Message, dict[str, Any]]]:
    """Where memory is short fewer windows at a time, a smaller beam, a smaller format; where time is, more windows."""
    if made.memory.free < 0:
        if work.batch > 1:
            yield msg("change.speech_batch", count=work.batch // 2), {"batch": work.batch // 2}
        if work.precision is SpeechPrecision.CAST:
            yield msg("change.speech_precision", precision="FP16"), {"precision": SpeechPrecision.FP16}
        if work.precision is not SpeechPrecision.INT8 and SpeechPrecision.INT8 in RUNS[work.engine]:
            yield msg("change.speech_precision", precision="INT8"), {"precision": SpeechPrecision.INT8}
    if work.beam > 1 and (made.unmet or made.memory.free < 0):
        yield msg("change.greedy"), {"beam": 1}
    if made.unmet and work.engine is not SpeechEngine.FASTER_WHISPER:
        yield (
            msg("change.faster_whisper"),
            {
                "engine": SpeechEngine.FASTER_WHISPER,
                "precision": SpeechPrecision.FP16,
                "batch": max(work.batch, 8),
            },
        )
    elif made.unmet and work.batch < 64:
        yield msg("change.speech_batch", count=work.batch * 2), {"batch": work.batch * 2}


def duty(made: Estimate, model: ModelArchitecture, _efficiencies: Efficiencies) -> Duty:
    """The weights and the audio that are read; a core turns some minutes of audio into spectra in a second."""
    work = made.plan.workload
    rate = made.metrics.get(NAMES.rate)
    if not isinstance(work, Speech):
        raise TypeError("duty takes estimates of speech only")
    bits = STORED_BITS[work.precision]
    return Duty(
        serving=False,
        weight_file_bytes=float(stored_bytes(speech_numbers(model).parameters, bits)),
        items_per_s=rate.value if rate else 0.0,
        bytes_per_item=AUDIO_BYTES_PER_S,
        items_per_core_s=AUDIO_PER_CORE_S,
        data_bytes=AUDIO_BYTES_PER_S * HOUR_S * (work.audio_hours or 0.0),
    )


AUDIO_PER_CORE_S = 300.0
"""Seconds of audio that one core decodes and turns into spectra in a second; a rule of thumb."""


def time_spread(engine: SpeechEngine, efficiencies: Efficiencies) -> Spread:
    """The range of times: of a program that no measurement is of, that of a number without any."""
    if engine is SpeechEngine.SERVER:
        return unmeasured(efficiencies, msg("speech.why_unmeasured"))
    return spread_of(efficiencies, "time range", "speech.why_time")


def spread_of(efficiencies: Efficiencies, variant: str, why: str) -> Spread:
    """A range of this kind's figures: one table on one GPU stands behind it."""
    found = efficiencies.constants(TABLE, variant)
    return Spread(found["low"], found["high"], Rung.OTHER_ARCHITECTURE, msg(why))
