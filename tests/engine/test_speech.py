"""Transcribing speech: windows, batches, beams and programs, and the published numbers that they have to agree with."""

from typing import Any

import pytest

from gpuplanner.catalog.names import names_of
from gpuplanner.engine.estimate import Estimate, Fit
from gpuplanner.engine.machines import bare
from gpuplanner.engine.speech import RUNS, VENDORS, estimate_speech
from gpuplanner.engine.validation.names import ResolvedNames
from gpuplanner.engine.validation.rows import Row, ValidationContext
from gpuplanner.engine.validation.speech import SpeechRows, work_of
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung
from gpuplanner.messages import InputError
from gpuplanner.units import GB, GIB
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workload.speech import Speech, SpeechEngine, SpeechPrecision
from gpuplanner.workspace import Workspace

L4 = "nvidia-l4"
LARGE = "openai/whisper-large-v3"


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


def plan_of(gpu: str = L4, gpus: int = 1, model: str = LARGE, **fields: Any) -> Plan:
    work = Speech(model=ModelChoice(catalog_id=model), **fields)
    return Plan(workload=work, machine=MachineChoice(gpu_id=gpu, gpus=gpus, per_node=min(gpus, 8)))


def seconds(made: Estimate) -> float:
    return made.metrics["recording_s"].value


def gib(made: Estimate) -> float:
    return made.memory.needed.value / GIB


@pytest.mark.parametrize(
    ("engine", "model", "gigabytes"),
    [
        (SpeechEngine.OPENAI, "openai/whisper-tiny", 1),
        (SpeechEngine.OPENAI, "openai/whisper-base", 1),
        (SpeechEngine.OPENAI, "openai/whisper-small", 2),
        (SpeechEngine.OPENAI, "openai/whisper-medium", 5),
        (SpeechEngine.OPENAI, LARGE, 10),
    ],
)
def test_the_programs_own_table_of_memory(
    opened: Workspace, engine: SpeechEngine, model: str, gigabytes: float
) -> None:
    """What the README of openai/whisper asks for, from tiny to large, in whole gigabytes."""
    made = opened.estimate(plan_of(model=model, engine=engine, precision=SpeechPrecision.CAST, batch=1))
    assert made.memory.needed.value / GB == pytest.approx(gigabytes, abs=0.5 + 0.1 * gigabytes)


def test_windows_of_a_batch_share_the_decoders_weights_and_launches(opened: Workspace) -> None:
    alone, together = (opened.estimate(plan_of(batch=batch)) for batch in (1, 8))
    assert 3 < seconds(alone) / seconds(together) < 8
    assert 0.2 < (gib(together) - gib(alone)) / 7 < 0.5


def test_a_few_layers_of_decoder_are_many_times_faster(opened: Workspace) -> None:
    whole, turbo = (opened.estimate(plan_of(model=f"{LARGE}{more}", batch=1)) for more in ("", "-turbo"))
    assert 3 < seconds(whole) / seconds(turbo) < 9


def test_a_recording_shorter_than_a_window_takes_one(opened: Workspace) -> None:
    short, window, two = (opened.estimate(plan_of(audio_s=s, batch=1)) for s in (5.0, 28.0, 29.0))
    assert seconds(short) < seconds(window) < seconds(two)
    assert "speech.few_windows" in {message.id for message in opened.estimate(plan_of(audio_s=10.0)).remarks}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"engine": SpeechEngine.OPENAI, "batch": 8}, "speech.no_batch"),
        ({"engine": SpeechEngine.WHISPER_CPP, "batch": 2}, "speech.no_batch"),
        ({"engine": SpeechEngine.TRANSFORMERS, "precision": SpeechPrecision.INT8}, "speech.no_precision"),
        ({"precision": SpeechPrecision.CAST}, "speech.no_precision"),
        ({"gpu": "amd-mi300x"}, "speech.vendor"),
    ],
)
def test_what_a_program_cannot_do_is_refused(opened: Workspace, fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError) as raised:
        opened.estimate(plan_of(**fields))
    assert raised.value.message.id == reason


def test_only_models_of_whispers_form_are_planned(opened: Workspace) -> None:
    model = opened.catalog.models["meta-llama/Meta-Llama-3.1-8B"].architecture
    assert model is not None
    with pytest.raises(InputError) as raised:
        estimate_speech(Plan(workload=Speech()), model, bare(opened.catalog.gpus[L4], 1), opened.efficiencies)
    assert raised.value.message.id == "speech.not_whisper"


@pytest.mark.parametrize(
    ("field", "less", "more"),
    [
        ("audio_s", 600.0, 6000.0),
        ("tokens_per_audio_s", 3.0, 6.0),
        ("beam", 1, 5),
        ("precision", SpeechPrecision.FP16, SpeechPrecision.FP32),
        ("model", ModelChoice(catalog_id="openai/whisper-small"), ModelChoice(catalog_id=LARGE)),
    ],
)
def test_more_of_anything_is_never_quicker_or_smaller(opened: Workspace, field: str, less: Any, more: Any) -> None:
    """Over the whole catalog and every program that runs it."""
    compared = 0
    for gpu in opened.catalog.gpus.values():
        for engine in SpeechEngine:
            if gpu.vendor not in VENDORS[engine] or SpeechPrecision.FP32 not in RUNS[engine]:
                continue
            made = []
            for value in (less, more):
                work = Speech(**{"engine": engine, "batch": 1, field: value})
                model = opened.catalog.models[work.model.catalog_id or ""].architecture
                assert model is not None
                try:
                    made.append(estimate_speech(Plan(workload=work), model, bare(gpu, 1), opened.efficiencies))
                except MissingFactError:
                    break
            else:
                compared += 1
                assert seconds(made[1]) >= seconds(made[0]) > 0, (gpu.id, engine)
                assert made[1].memory.needed.value >= made[0].memory.needed.value > 0
    assert compared > 200


def test_a_job_has_a_time_and_a_goal_of_live_audio(opened: Workspace) -> None:
    made = opened.estimate(plan_of(audio_hours=100.0, rate_goal=1e6, latency_goal_s=1.0))
    assert made.metrics["job_s"].value == pytest.approx(360_000 / made.metrics["audio_s_per_s"].value)
    assert {message.id for message in made.unmet} == {"items.goal_missed.rate", "items.goal_missed.latency"}
    assert made.metrics["recording_s"].rung is Rung.OTHER_ARCHITECTURE
    server = opened.estimate(plan_of(engine=SpeechEngine.SERVER, batch=64))
    assert server.metrics["recording_s"].rung is Rung.ROOFLINE


def test_what_is_too_large_is_helped_by_smaller_batches_and_formats(opened: Workspace) -> None:
    made = opened.estimate(plan_of("nvidia-rtx-3070", batch=32))
    assert made.fit is Fit.DOES_NOT_FIT
    changed = [change.plan.workload for change in opened.advised(made).changes]
    assert any(isinstance(work, Speech) and work.batch < 32 for work in changed)


ROW = {
    "id": "s1", "source": "a/b", "engine": "faster-whisper 1.1.0", "model": "whisper-large-v2", "precision": "fp16",
    "gpu": "RTX 3070 Ti", "n_gpus": "1", "audio_s": "780", "batch": "1", "beam": "5", "time_s": "63", "rtfx": "12.4",
    "samples_per_s": "", "peak_mem_gb": "4.419",
}  # fmt: skip


@pytest.fixture
def context(opened: Workspace) -> ValidationContext:
    names = ResolvedNames(opened.catalog, names_of(opened.catalog))
    return ValidationContext(names, opened.efficiencies, opened.catalog.gpus, opened.catalog.models)


def test_a_row_is_predicted_cell_by_cell(context: ValidationContext) -> None:
    found = {o.metric: o for o in SpeechRows().predict(Row("f.csv", 2, ROW), context)}
    assert set(found) == {"time_s", "rtfx", "peak_mem_gb"}
    for outcome in found.values():
        assert isinstance(outcome.measured, float)
        assert outcome.predicted == pytest.approx(outcome.measured, rel=0.15)
    assert found["time_s"].ideal is not None
    assert found["time_s"].ideal < 63


def test_a_row_without_the_length_of_the_audio_gets_no_time(context: ValidationContext) -> None:
    row = Row("f.csv", 2, ROW | {"audio_s": "", "rtfx": ""})
    with pytest.raises(InputError) as raised:
        list(SpeechRows().predict(row, context))
    assert raised.value.message.id == "validation.empty_cell"


@pytest.mark.parametrize(
    ("cells", "engine", "precision", "batch", "beam"),
    [
        ({"engine": "openai/whisper v20240930"}, SpeechEngine.OPENAI, SpeechPrecision.FP16, 1, 5),
        ({"engine": "openai/whisper v20230918"}, SpeechEngine.OPENAI, SpeechPrecision.CAST, 1, 5),
        ({"engine": "vLLM (MLPerf)", "beam": "", "batch": ""}, SpeechEngine.SERVER, SpeechPrecision.FP16, 128, 1),
        ({"engine": "whisper.cpp v1.7.2 (FA)"}, SpeechEngine.WHISPER_CPP, SpeechPrecision.FP16, 1, 5),
    ],
)
def test_programs_as_rows_print_them(
    cells: dict[str, str], engine: SpeechEngine, precision: SpeechPrecision, batch: int, beam: int
) -> None:
    work = work_of(Row("f.csv", 2, ROW | cells))
    assert (work.engine, work.precision, work.batch, work.beam) == (engine, precision, batch, beam)


def test_an_unknown_program_is_refused() -> None:
    with pytest.raises(InputError):
        work_of(Row("f.csv", 2, ROW | {"engine": "a new program"}))
