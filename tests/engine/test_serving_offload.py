"""Weights left in host memory: computed by the CPU where the server does so, else read over PCIe; never as sure."""

from collections.abc import Callable
from typing import Any

import pytest

from gpuplanner.engine.estimate import Estimate, Limit
from gpuplanner.engine.estimating import estimate, explain
from gpuplanner.engine.explaining import explanation
from gpuplanner.engine.machines import bare
from gpuplanner.figures import Rung
from gpuplanner.units import GB, GIB
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.serving import Server, Serving

LLAMA_8B, RTX_4090 = "meta-llama/Meta-Llama-3.1-8B", "nvidia-rtx-4090"


@pytest.fixture
def serve(shipped_catalog, shipped_efficiencies):
    def run(made: Callable[..., Estimate] = estimate, **asked: Any) -> Estimate:
        given: dict[str, Any] = {
            "server": Server.LLAMA_CPP, "weight_precision": "q4_k_m", "concurrency": 1, "input_tokens": 500,
            "output_tokens": 200,
        }  # fmt: skip
        workload = Serving(model=ModelChoice(catalog_id=LLAMA_8B), **{**given, **asked})
        model, gpu = shipped_catalog.models[LLAMA_8B].architecture, shipped_catalog.gpus[RTX_4090]
        return made(Plan(workload=workload), model, bare(gpu, 1), shipped_efficiencies)

    return run


def seconds(made: Estimate, part: str) -> float:
    return sum(p.figure.value for p in made.time if p.id == part)


def weights(made: Estimate) -> float:
    return next(p.figure.value for p in made.memory.phases[0].parts if p.id == "weights")


def test_layers_on_the_cpu_take_the_time_of_host_memory_not_of_pcie(serve):
    """2 GB of weights and the cache of their layers at three quarters of 100 GB/s."""
    whole, part = (serve(cpu_offload_bytes=n, host_memory_bytes_per_s=100 * GB) for n in (0.0, 2 * GB))
    assert seconds(part, "fetch") == 0
    assert seconds(part, "host_layers") == pytest.approx(2.3 * GB / 75e9, rel=0.15)
    assert {p.limit for p in part.time if p.id == "host_layers"} == {Limit.CPU}
    assert seconds(part, "weights_read") < seconds(whole, "weights_read")
    assert part.metrics["tpot_s"].value > whole.metrics["tpot_s"].value + 0.02
    assert sum(p.figure.value for p in part.time) == pytest.approx(part.metrics["tpot_s"].value)


def test_twice_the_host_memory_bandwidth_is_half_the_time(serve):
    slow, fast = (serve(cpu_offload_bytes=2 * GB, host_memory_bytes_per_s=n * GB) for n in (50, 100))
    assert seconds(slow, "host_layers") == pytest.approx(2 * seconds(fast, "host_layers"))
    assert "serving.host_memory_assumed" not in {m.id for m in slow.remarks}
    assert "serving.host_memory_assumed" in {m.id for m in serve(cpu_offload_bytes=2 * GB).remarks}


def test_layers_on_the_cpu_keep_their_cache_in_host_memory(serve):
    """Partial offload as a GGUF parser has it: weights and cache of the GPU's layers alone."""
    whole, part = serve(), serve(cpu_offload_bytes=2 * GB)
    assert weights(part) == pytest.approx(weights(whole) - 2 * GB)
    kept = part.metrics["kv_bytes_per_token"].value / whole.metrics["kv_bytes_per_token"].value
    assert 0 < kept < 1
    assert 1 - kept == pytest.approx(2 * GB / (4.58 * GB), rel=0.1)


def test_everything_on_the_cpu_is_still_an_estimate(serve):
    made = serve(cpu_offload_bytes=1000 * GIB)
    assert made.metrics["tpot_s"].value > 0.05
    assert seconds(made, "weights_read") == 0


def test_many_requests_borrow_the_gpu_over_pcie(serve):
    """From 32 rows on llama.cpp copies the weights to the GPU."""
    few, many = (
        serve(cpu_offload_bytes=2 * GB, concurrency=n, max_sequences=n, input_tokens=50, output_tokens=50)
        for n in (8, 48)
    )
    assert (seconds(few, "fetch"), seconds(many, "host_layers")) == (0, 0)
    assert seconds(few, "host_layers") > 0
    assert seconds(many, "fetch") > 0


def test_a_server_that_streams_reads_over_pcie(serve):
    made = serve(server=Server.VLLM, weight_precision="bf16", cpu_offload_bytes=4 * GB)
    assert seconds(made, "fetch") > 0
    assert seconds(made, "host_layers") == 0
    assert "serving.streamed" in {m.id for m in made.remarks}


@pytest.mark.parametrize("server", [Server.VLLM, Server.LLAMA_CPP])
def test_offloaded_times_are_never_on_the_rung_of_measured_ones(serve, server):
    asked = {"server": server, "weight_precision": "bf16" if server is Server.VLLM else "q4_k_m"}
    plain, left = serve(**asked), serve(cpu_offload_bytes=2 * GB, **asked)
    for metric in ("tpot_s", "ttft_s", "output_tokens_per_s"):
        sure, unsure = plain.metrics[metric], left.metrics[metric]
        assert unsure.rung is Rung.ROOFLINE
        assert unsure.high / unsure.low > sure.high / sure.low
    assert plain.metrics["tpot_s"].rung is not Rung.ROOFLINE


def test_the_explanation_of_layers_on_the_cpu_names_every_input(serve):
    made = serve(explain, cpu_offload_bytes=2 * GB)
    figure = next(p.figure for p in made.time if p.id == "host_layers")
    rows = list(explanation(figure))
    assert {r.formula.id for r in rows if r.formula} >= {"host_layers_seconds", "host_layer_share"}
    numbers = [r for r in rows if r.formula is None and isinstance(r.value, int | float) and r.value not in {0, 1}]
    assert sorted({r.term for r in numbers if r.origin is None}) == []
