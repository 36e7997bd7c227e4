"""Serving in numbers: arrays give what floats give, quickly; and pools and lengths invert each other."""

import time
from dataclasses import fields, is_dataclass, replace
from math import inf

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpuplanner.engine.machines import bare
from gpuplanner.engine.ranges import unmeasured
from gpuplanner.engine.serving_inputs import LoadNumbers, WayNumbers, stack, take
from gpuplanner.engine.serving_machine import gpu_numbers, server_numbers
from gpuplanner.engine.serving_memory import longest_request_tokens, reserved_sequence_bytes
from gpuplanner.engine.serving_model import model_numbers
from gpuplanner.engine.serving_numbers import ServingNumbers, load_numbers, serving_numbers
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung
from gpuplanner.messages import msg
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.serving import Server, Serving

H100 = "nvidia-h100-sxm5-80gb"
MODELS = (
    "meta-llama/Meta-Llama-3.1-8B",
    "mistralai/Mixtral-8x7B-v0.1",
    "deepseek-ai/DeepSeek-V3",
    "openai/gpt-oss-120b",
    "google/gemma-3-27b-it",
    "Qwen/Qwen3-Next-80B-A3B",
)


def leaves(value, prefix=""):
    for field in fields(value):
        found = getattr(value, field.name)
        if is_dataclass(found):
            yield from leaves(found, f"{prefix}{field.name}.")
        elif found is not None:
            yield f"{prefix}{field.name}", found


def computable(catalog, efficiencies, workload):
    """GPU and server numbers of every GPU of the catalog that has the facts."""
    found = []
    for gpu in catalog.gpus.values():
        try:
            machine = bare(gpu, 8)
            numbers = gpu_numbers(machine, "bf16", workload.server.value, False, efficiencies).numbers
            found.append((numbers, server_numbers(workload, gpu, efficiencies)))
        except (MissingFactError, ValueError):
            continue
    return found


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("asked", [{"concurrency": 48}, {"concurrency": None, "request_rate": 3.0}])
@pytest.mark.parametrize("server", [Server.VLLM, Server.SGLANG, Server.TENSORRT_LLM, Server.LLAMA_CPP])
def test_arrays_give_what_floats_give_over_the_whole_catalog(
    shipped_catalog, shipped_efficiencies, model, asked, server
):
    workload = Serving(model=ModelChoice(catalog_id=model), server=server, **asked)
    known = computable(shipped_catalog, shipped_efficiencies, workload)
    assert len(known) > 80
    numbers = model_numbers(shipped_catalog.models[model].architecture, None, None, shipped_efficiencies)
    load = load_numbers(workload)
    degrees = [(1.0, 1.0, 8.0), (2.0, 1.0, 4.0), (4.0, 2.0, 1.0), (8.0, 1.0, 1.0)]
    index = np.repeat(np.arange(len(known)), len(degrees))
    columns = np.array(degrees * len(known)).T
    many = serving_numbers(
        numbers,
        take(stack([gpu for gpu, _ in known]), index),
        take(stack([flags for _, flags in known]), index),
        load,
        WayNumbers(*columns),
    )
    for row in range(0, len(index), 7):
        gpu, flags = known[index[row]]
        one = serving_numbers(numbers, gpu, flags, load, WayNumbers(*(float(c[row]) for c in columns)))
        for (name, each), (_, all_of_them) in zip(leaves(one), leaves(many), strict=True):
            whole = np.broadcast_to(all_of_them, len(index))
            assert whole[row] == pytest.approx(each, rel=1e-12, nan_ok=False), name


@pytest.mark.alone
def test_a_million_ways_a_second(shipped_catalog, shipped_efficiencies):
    """One core, blocks that fit its cache; the fastest of several, since the machine that tests run on is shared."""
    workload = Serving(model=ModelChoice(catalog_id=MODELS[0]), concurrency=48)
    known = computable(shipped_catalog, shipped_efficiencies, workload)
    rows = 32_768
    index = np.arange(rows) % len(known)
    gpus = take(stack([gpu for gpu, _ in known]), index)
    servers = take(stack([flags for _, flags in known]), index)
    tensor = np.resize([1.0, 2.0, 4.0, 8.0], rows)
    way = WayNumbers(tensor, np.ones(rows), 8.0 / tensor)
    numbers = model_numbers(shipped_catalog.models[MODELS[0]].architecture, None, None, shipped_efficiencies)
    load = load_numbers(workload)
    best = inf
    for _ in range(12):
        start = time.process_time()
        serving_numbers(numbers, gpus, servers, load, way)
        best = min(best, time.process_time() - start)
    assert rows / best > 1e6


class Bench:
    """The catalog and the efficiencies under a short name, so that a failing example can be read."""

    def __init__(self, catalog, efficiencies):
        self.catalog, self.efficiencies = catalog, efficiencies

    def __repr__(self):
        return "bench"

    def model(self, name):
        return model_numbers(self.catalog.models[name].architecture, None, None, self.efficiencies)

    def flags(self, workload):
        return server_numbers(workload, self.catalog.gpus[H100], self.efficiencies)

    def gpu(self):
        return gpu_numbers(bare(self.catalog.gpus[H100], 1), "bf16", "vllm", False, self.efficiencies).numbers


@pytest.fixture
def bench(shipped_catalog, shipped_efficiencies):
    return Bench(shipped_catalog, shipped_efficiencies)


@pytest.mark.parametrize("model", MODELS)
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pool=st.floats(1e8, 2e11), tensor=st.sampled_from([1.0, 2.0, 8.0]), chunk=st.sampled_from([512.0, 8192.0]))
def test_the_longest_request_fits_and_a_longer_one_does_not(bench, model, pool, tensor, chunk):
    numbers = bench.model(model)
    server = replace(bench.flags(Serving(model=ModelChoice(catalog_id=model))), max_batched_tokens=chunk)
    way = WayNumbers(tensor, 1.0, 1.0)
    longest = float(longest_request_tokens(numbers, server, way, numbers.layers, pool))

    def takes(length: float) -> float:
        return float(reserved_sequence_bytes(numbers, server, way, numbers.layers, length))

    if longest == inf:
        assert takes(1e9) <= pool * (1 + 1e-9)
        return
    block = float(server.block_tokens)
    if longest >= block:
        assert takes(longest) <= pool * (1 + 1e-9)
    assert takes(longest + 2 * block) > pool


def test_no_number_is_negative(shipped_catalog, shipped_efficiencies):
    workload = Serving(model=ModelChoice(catalog_id=MODELS[0]), concurrency=10_000, max_length=100_000)
    load = load_numbers(workload)
    for model in MODELS:
        numbers = model_numbers(shipped_catalog.models[model].architecture, None, None, shipped_efficiencies)
        for gpu, flags in computable(shipped_catalog, shipped_efficiencies, workload)[::9]:
            result = serving_numbers(numbers, gpu, flags, load, WayNumbers(1.0, 1.0, 1.0))
            for name, found in leaves(result):
                assert found >= 0, (model, name)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rate=st.floats(0.01, 40))
def test_a_rate_keeps_as_many_at_work_as_little_says(bench, rate):
    workload = Serving(model=ModelChoice(catalog_id=MODELS[0]), concurrency=None, request_rate=rate)
    flags, way = bench.flags(workload), WayNumbers(1.0, 1.0, 1.0)
    result: ServingNumbers = serving_numbers(bench.model(MODELS[0]), bench.gpu(), flags, load_numbers(workload), way)
    if result.saturated:
        assert result.request_per_s <= rate
        return
    stay = result.prefill.total_s + workload.output_tokens * result.tpot_s
    assert result.resident == pytest.approx(rate * stay, rel=0.05, abs=0.05)


def test_work_that_waits_in_line_has_the_pool_full(shipped_catalog, shipped_efficiencies):
    workload = Serving(model=ModelChoice(catalog_id=MODELS[0]))
    numbers = model_numbers(shipped_catalog.models[MODELS[0]].architecture, None, None, shipped_efficiencies)
    gpu = shipped_catalog.gpus["nvidia-a100-sxm4-40gb"]
    found = gpu_numbers(bare(gpu, 1), "bf16", "vllm", False, shipped_efficiencies).numbers
    flags = server_numbers(workload, gpu, shipped_efficiencies)
    load = LoadNumbers(4000.0, 1000.0, 0.0, 5000.0, inf, None)
    result = serving_numbers(numbers, found, flags, load, WayNumbers(1.0, 1.0, 1.0))
    assert result.resident == result.places
    assert result.ttft_s == inf


@pytest.mark.parametrize(("kv_precision", "layer_bytes"), [("bf16", 576 * 2 + 132), ("fp8", 576 + 132)])
def test_an_indexer_keeps_a_byte_a_number_and_a_scale_whatever_the_cache_is_kept_in(
    shipped_catalog, shipped_efficiencies, kv_precision, layer_bytes
):
    """DeepSeek-V3.2: 61 layers of a latent of 512 + 64 numbers, and 128 of the indexer with 4 bytes of scale."""
    model = shipped_catalog.models["deepseek-ai/DeepSeek-V3.2"].architecture
    numbers = model_numbers(model, None, kv_precision, shipped_efficiencies)
    assert sum(c.elements * c.bits / 8 for c in numbers.cache) == pytest.approx(61 * layer_bytes)


def test_what_no_measurement_stands_behind_has_a_wide_range(shipped_efficiencies):
    spread = unmeasured(shipped_efficiencies, msg("serving.why.no_measurement"))
    assert (spread.low, spread.high, spread.rung) == (0.4, 2.5, Rung.ROOFLINE)
