"""Every setting of every server changes a figure, or the estimate says that it does not."""

from typing import Any

import pytest

from gpuplanner.engine import serving_idle
from gpuplanner.engine.estimate import Estimate
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.machines import bare
from gpuplanner.engine.serving_flags import FLAGS, SETTINGS, heeded, ignored
from gpuplanner.engine.serving_numbers import serving_numbers
from gpuplanner.figures import explained, recording
from gpuplanner.messages import Language, Translator
from gpuplanner.units import GB
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.serving import Server, Serving
from gpuplanner.workload.wizard import asked

MODELS = {"dense": "meta-llama/Meta-Llama-3.1-8B", "experts": "mistralai/Mixtral-8x7B-v0.1"}
CHANGED: dict[str, Any] = {
    "weight_precision": "q8_0", "kv_precision": "q8_0", "input_tokens": 3000, "output_tokens": 700, "concurrency": 8,
    "request_rate": 2.0, "max_length": 9000, "shared_prefix_tokens": 1000, "tensor_parallel": 2,
    "pipeline_parallel": 2, "expert_parallel": True, "attention_ranks": 2, "memory_utilisation": 0.7,
    "max_batched_tokens": 700, "max_sequences": 3, "chunked_prefill": False, "eager": True,
    "cpu_offload_bytes": 3 * GB, "host_memory_bytes_per_s": 50 * GB, "speculation": "n-gram",
    "draft_model": "meta-llama/Llama-3.2-1B", "draft_tokens": 2, "acceptance_rate": 0.45,
    "disaggregated": True, "prefill_workers": 3, "prefill_tensor_parallel": 2,
}  # fmt: skip
"""For each setting of a plan another value than its default."""
BESIDE: dict[str, dict[str, Any]] = {
    "request_rate": {"concurrency": None},
    "pipeline_parallel": {"tensor_parallel": 2, "pipeline_parallel": 1},
    "disaggregated": {"tensor_parallel": 2},
    "prefill_workers": {"tensor_parallel": 1, "disaggregated": True, "concurrency": 200},
    "prefill_tensor_parallel": {"tensor_parallel": 1, "disaggregated": True},
    "draft_tokens": {"speculation": "n-gram"},
    "acceptance_rate": {"speculation": "n-gram"},
}
"""What else a plan must say for the setting to have a meaning."""
GOALS = {"ttft_goal_s", "tpot_goal_s"}
"""Goals are judged, and change no figure when they are kept."""
SAID = {"serving.no_such_flag", "serving.flag_changes_nothing", "serving.no_experts"}


@pytest.fixture
def serve(shipped_catalog, shipped_efficiencies):
    def run(model: str, **fields: Any) -> Estimate:
        given: dict[str, Any] = {"model": ModelChoice(catalog_id=model), "concurrency": 16, "tensor_parallel": 4}
        workload = Serving(**{**given, **fields})
        machine = bare(shipped_catalog.gpus["nvidia-h100-sxm5-80gb"], 4)
        return estimate(
            Plan(workload=workload), shipped_catalog.models[model].architecture, machine, shipped_efficiencies
        )

    return run


def figures(made: Estimate) -> tuple[Any, ...]:
    """Everything that is shown as a number, and the way that was taken."""
    memory = made.memory
    shown = {name: figure.value for name, figure in made.metrics.items()} | {
        part.id: part.figure.value for part in made.time
    }
    held = [(p.id, q.id, q.figure.value) for p in memory.phases for q in p.parts]
    way = made.way
    return shown, held, memory.needed.value, memory.reserved.value, way.tensor_parallel, way.pipeline_parallel


def test_each_setting_of_a_plan_is_tried():
    fields = {name for name, _, _ in asked(Serving)} - {"model", "server"} - GOALS
    assert fields == set(CHANGED)
    assert set(SETTINGS) <= fields
    assert all(set(flags) <= set(SETTINGS) for flags in FLAGS.values())


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("server", Server)
@pytest.mark.parametrize("setting", CHANGED)
def test_a_setting_changes_a_figure_or_is_said_not_to(serve, server, setting, kind):
    beside: dict[str, Any] = {"server": server, **BESIDE.get(setting, {})}
    plain = serve(MODELS[kind], **beside)
    made = serve(MODELS[kind], **{**beside, setting: CHANGED[setting]})
    said = [m for m in made.remarks if m.id in SAID]
    if setting in SETTINGS and setting not in FLAGS[server]:
        assert [m.id for m in said] == ["serving.no_such_flag"]
        assert figures(made) == figures(plain)
    else:
        assert (figures(made) != figures(plain)) is not bool(said), (setting, said)
    for language in Language:
        for message in said:
            assert "{" not in Translator(language).text(message)


@pytest.mark.parametrize("server", Server)
def test_what_a_server_has_no_flag_for_is_left_out_of_its_plan(server):
    everything = Serving(model=ModelChoice(catalog_id="m"), server=server, **{name: CHANGED[name] for name in SETTINGS})
    assert set(ignored(everything)) == set(SETTINGS) - set(FLAGS[server])
    assert ignored(heeded(everything)) == ()


def test_prompts_that_are_not_cut_are_a_matter_of_long_ones(serve):
    """SGLang's chunk is 8,192 tokens: shorter prompts are computed whole in any case."""
    asked_for = {"server": Server.SGLANG, "chunked_prefill": False, "concurrency": 4, "max_sequences": 16}
    short = serve(MODELS["dense"], input_tokens=2000, **asked_for)
    long = serve(MODELS["dense"], input_tokens=40_000, **asked_for)
    assert "serving.flag_changes_nothing" in {m.id for m in short.remarks} - {m.id for m in long.remarks}
    cut = serve(MODELS["dense"], input_tokens=40_000, **{**asked_for, "chunked_prefill": None})
    activations = [next(p.figure.value for p in m.memory.phases[1].parts if p.id == "activations") for m in (cut, long)]
    assert activations[1] > 2 * activations[0]


def test_working_a_plan_out_without_a_setting_is_no_part_of_its_explanation(serve, monkeypatch):
    """Recorded, the trials take most of the time of an estimate, and nobody is shown them."""
    trials: list[bool] = []

    def watched(*numbers: Any) -> Any:
        trials.append(explained(False, lambda: True))
        return serving_numbers(*numbers)

    monkeypatch.setattr(serving_idle, "serving_numbers", watched)
    with recording():
        serve(MODELS["dense"], max_batched_tokens=700, max_sequences=3)
    assert trials == [False, False]
