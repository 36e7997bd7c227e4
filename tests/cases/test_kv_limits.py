"""Public cases of KV caches that did not fit, by their ids: what a server's log said, and what we say of that run."""

from dataclasses import replace
from typing import Any

import pytest

from gpuplanner.catalog.architecture import AttentionKind, ModelArchitecture
from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.changes import advised
from gpuplanner.engine.estimate import Estimate, Fit
from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.formulas.hybrid_pool import page_bytes, page_tokens, request_pages
from gpuplanner.engine.formulas.kv_cache import pool_tokens
from gpuplanner.engine.formulas.serving_pool import pool_bytes
from gpuplanner.engine.formulas.weights import layers_of_fullest_stage
from gpuplanner.engine.machines import bare, choice_of
from gpuplanner.engine.serving_inputs import ModelNumbers, ServerNumbers, WayNumbers
from gpuplanner.engine.serving_machine import server_numbers
from gpuplanner.engine.serving_memory import longest_request_tokens, reserved_sequence_bytes, sequence_bytes
from gpuplanner.engine.serving_model import model_numbers
from gpuplanner.engine.validation.kv_layouts import Layout, kept_by
from gpuplanner.engine.validation.kv_shapes import cache_of_text
from gpuplanner.messages import Language, Translator
from gpuplanner.units import GIB, MIB
from gpuplanner.workload.measurement_log import parse_measurement
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan, model_of
from gpuplanner.workload.precision import KvPrecision, WeightPrecision
from gpuplanner.workload.serving import Server, Serving

LLAMA_8B = "meta-llama/Meta-Llama-3.1-8B"
QWEN_14B = "Qwen/Qwen2.5-14B"
ONE_TOKEN = {"output_tokens": 1, "concurrency": 1}


class Bench:
    """What the tests ask: an estimate, or the cache of a model under a server's flags."""

    def __init__(self, catalog: Catalog, efficiencies: Efficiencies) -> None:
        self.catalog, self.efficiencies = catalog, efficiencies

    def architecture(self, model: str) -> ModelArchitecture:
        found = self.catalog.models[model].architecture
        assert found is not None
        return found

    def serve(self, model: str, gpu: str, length: int, count: int = 1, **fields: Any) -> Estimate:
        """A plan whose longest request is of `length` tokens."""
        asked = ONE_TOKEN | {"input_tokens": length - 1} | fields
        workload = Serving(model=ModelChoice(catalog_id=model), max_length=length, **asked)
        machine = bare(self.catalog.gpus[gpu], count)
        plan = Plan(workload=workload, machine=choice_of(machine))
        return estimate(plan, self.architecture(model), machine, self.efficiencies)

    def run(self, shape: ModelArchitecture, gpu: str, length: int, **fields: Any) -> Estimate:
        """A plan with a model of one's own."""
        asked = ONE_TOKEN | {"input_tokens": length - 1} | fields
        workload = Serving(model=ModelChoice(architecture=shape), max_length=length, **asked)
        machine = bare(self.catalog.gpus[gpu], 1)
        return estimate(Plan(workload=workload, machine=choice_of(machine)), shape, machine, self.efficiencies)

    def advice(self, made: Estimate) -> set[str]:
        """What is proposed for a plan, by the ids of the sentences."""
        choice = model_of(made.plan.workload)
        shape = self.architecture(choice.catalog_id or "" if choice else "")
        found = advised(made, shape, self.efficiencies, self.catalog.gpus)
        return {change.what.id for change in found.changes}

    def model(self, model: str, kv: str | None = None) -> ModelNumbers:
        return model_numbers(self.architecture(model), None, kv, self.efficiencies)

    def server(self, chunk: float) -> ServerNumbers:
        workload = Serving(model=ModelChoice(catalog_id=LLAMA_8B))
        flags = server_numbers(workload, self.catalog.gpus["nvidia-h100-sxm5-80gb"], self.efficiencies)
        return replace(flags, max_batched_tokens=chunk)

    def need(
        self, numbers: ModelNumbers, length: int, tensor: int = 1, pipeline: int = 1, chunk: float = 2048
    ) -> float:
        """Bytes that one request of `length` tokens reserves on the fullest GPU."""
        way = WayNumbers(float(tensor), float(pipeline), 1.0)
        stage = layers_of_fullest_stage(numbers.layers, float(pipeline))
        return float(reserved_sequence_bytes(numbers, self.server(chunk), way, stage, float(length)))

    def longest(self, numbers: ModelNumbers, pool: float, tensor: int = 1, chunk: float = 2048) -> float:
        way = WayNumbers(float(tensor), 1.0, 1.0)
        return float(longest_request_tokens(numbers, self.server(chunk), way, numbers.layers, pool))

    def per_token(self, numbers: ModelNumbers, tensor: int = 1) -> float:
        way = WayNumbers(float(tensor), 1.0, 1.0)
        return float(sequence_bytes(numbers, way, numbers.layers, 1.0, with_state=False))


@pytest.fixture
def bench(shipped_catalog, shipped_efficiencies) -> Bench:
    return Bench(shipped_catalog, shipped_efficiencies)


def pool(made: Estimate) -> float:
    return made.metrics["kv_pool_tokens"].value * made.metrics["kv_bytes_per_token"].value


def parts(made: Estimate) -> dict[str, float]:
    return {part.id: part.figure.value for phase in made.memory.phases for part in phase.parts}


def parse_percent(shown: object) -> float:
    """The share that a sentence names, as a number."""
    return float(str(shown).rstrip("% ")) / (100 if "%" in str(shown) else 1)


OLD = {"chunked_prefill": False, "memory_utilisation": 0.9, "eager": True}
"""vLLM 0.6 without chunked prefill, whose CUDA graphs were not taken off the pool."""


def test_kv01_an_8b_on_24_gb(bench):
    made = bench.serve(LLAMA_8B, "nvidia-rtx-3090", 20_000, **OLD)
    assert pool(made) == pytest.approx(3.81 * GIB, rel=0.03)
    assert made.metrics["kv_pool_tokens"].value == pytest.approx(31_232, rel=0.03)
    assert made.metrics["max_concurrency"].value == pytest.approx(1.56, rel=0.03)
    assert made.fit is not Fit.DOES_NOT_FIT


def test_kv02_a_longer_limit_leaves_a_smaller_pool(bench):
    refused = bench.serve(LLAMA_8B, "nvidia-rtx-3090", 29_000, **OLD)
    assert refused.fit is Fit.DOES_NOT_FIT
    assert refused.metrics["kv_pool_tokens"].value == pytest.approx(23_648, rel=0.03)
    assert "change.batched_tokens" in bench.advice(refused)
    runs = bench.serve(LLAMA_8B, "nvidia-rtx-3090", 35_000, **(OLD | {"chunked_prefill": True}), max_batched_tokens=512)
    assert runs.fit is not Fit.DOES_NOT_FIT


def test_kv03_fp8_halves_the_cache_and_a_longer_limit_the_pool(bench):
    numbers = bench.model("Qwen/Qwen3-30B-A3B", "fp8")
    assert bench.per_token(numbers) == 49_152
    assert bench.need(numbers, 221_000) == pytest.approx(10.12 * GIB, rel=0.001)
    assert bench.longest(numbers, 5.59 * GIB) == pytest.approx(122_080, rel=0.001)
    fields = {
        "weight_precision": WeightPrecision.FP8,
        "kv_precision": KvPrecision.FP8,
        "chunked_prefill": False,
        "memory_utilisation": 0.95,
        "eager": True,
    }
    shorter, longer = (
        bench.serve("Qwen/Qwen3-30B-A3B", "nvidia-rtx-a6000", length, **fields) for length in (100_000, 221_000)
    )
    assert pool(shorter) - pool(longer) == pytest.approx((10.55 - 5.59) * GIB, rel=0.08)
    assert longer.fit is Fit.DOES_NOT_FIT


def test_kv04_each_stage_keeps_its_own_layers(bench):
    numbers = bench.model("Qwen/Qwen3-Coder-30B-A3B-Instruct")
    whole = bench.need(numbers, 262_144)
    assert whole == pytest.approx(24.0 * GIB, rel=1e-3)
    way, server = WayNumbers(1.0, 2.0, 1.0), bench.server(2048)
    small, large = (float(reserved_sequence_bytes(numbers, server, way, n, 262_144.0)) for n in (16.0, 32.0))
    assert small == pytest.approx(8.0 * GIB, rel=1e-3)
    assert large == pytest.approx(16.0 * GIB, rel=1e-3)
    assert bench.longest(numbers, 3.18 * GIB) == pytest.approx(34_736, rel=0.001)


def test_kv06_a_latent_cache_is_not_split(bench):
    numbers = bench.model("mistralai/Mistral-Small-4-119B-2603")
    assert bench.per_token(numbers, tensor=2) == bench.per_token(numbers) == 23_040
    assert bench.need(numbers, 1_048_576, tensor=2) == pytest.approx(22.5 * GIB, rel=1e-6)
    assert bench.longest(numbers, 17.39 * GIB, tensor=2) == pytest.approx(810_208, rel=0.001)


def test_kv07_an_8b_with_its_whole_context(bench):
    assert bench.need(bench.model(LLAMA_8B), 131_072) == 16 * GIB


def test_kv08_the_longest_that_fits_is_always_told(bench):
    shape = cache_of_text("12L 8kv 64 bf16", 16.0)
    assert shape is not None
    numbers = replace(bench.model(LLAMA_8B), layers=12.0, cache=shape.cache)
    assert bench.per_token(numbers) == 24_576
    assert bench.longest(numbers, 9.97 * GIB) == pytest.approx(435_600, rel=0.01)


def test_kv09_windows_take_little_beside_full_attention(bench):
    numbers = bench.model("openai/gpt-oss-120b")
    assert bench.need(numbers, 131_072, chunk=1024) == pytest.approx(4.54 * GIB, rel=0.002)
    made = bench.serve("openai/gpt-oss-120b", "nvidia-h100-sxm5-80gb", 131_072, memory_utilisation=0.9)
    assert made.fit is Fit.TIGHT
    assert "change.utilisation" in bench.advice(made)


def test_kv10_a_vision_model_sets_memory_aside(bench):
    made = bench.serve("Qwen/Qwen3-VL-30B-A3B-Instruct", "nvidia-a100-sxm4-80gb", 262_144, memory_utilisation=0.9)
    assert made.fit is Fit.DOES_NOT_FIT
    assert bench.need(bench.model("Qwen/Qwen3-VL-30B-A3B-Instruct"), 262_144) == pytest.approx(24.0 * GIB, rel=1e-3)
    assert made.metrics["max_length"].value == pytest.approx(87_840, rel=0.02)


AWQ = {"weight_precision": WeightPrecision.AWQ, "max_batched_tokens": 2048}


def test_kv11_a_14b_in_four_bits_on_an_a10g(bench):
    made = bench.serve(QWEN_14B, "nvidia-a10g", 4096, **AWQ, memory_utilisation=0.9)
    assert parts(made)["weights"] == pytest.approx(9.38 * GIB, rel=0.01)
    assert parts(made)["graphs"] == pytest.approx(0.79 * GIB, rel=0.1)
    assert pool(made) == pytest.approx(9.1 * GIB, rel=0.05)
    assert made.metrics["kv_pool_tokens"].value == pytest.approx(49_696, rel=0.05)
    assert made.metrics["max_concurrency"].value == pytest.approx(12.13, rel=0.05)
    assert made.memory.reserved.value == pytest.approx(20_762 * MIB, rel=0.05)


def test_kv12_half_of_the_memory_leaves_next_to_nothing(bench):
    made = bench.serve(QWEN_14B, "nvidia-a10g", 16_384, **AWQ, memory_utilisation=0.5)
    assert made.fit is Fit.DOES_NOT_FIT
    assert pool(made) == pytest.approx(0.18 * GIB, abs=0.15 * GIB)
    assert bench.need(bench.model(QWEN_14B), 16_384) == 3.0 * GIB


def test_kv12_the_pool_that_the_log_printed_holds_976_tokens(bench):
    assert bench.longest(bench.model(QWEN_14B), 0.18 * GIB) == pytest.approx(976, abs=16)


@pytest.mark.parametrize(
    ("gpu", "tokens"),
    [("nvidia-a100-sxm4-40gb", 163_168), ("nvidia-rtx-a6000", 221_824), ("nvidia-h100-nvl-94gb", 545_456)],
    ids=["KV13a", "KV13b", "KV13c"],
)
def test_kv13_the_same_job_on_three_cards(bench, gpu, tokens):
    made = bench.serve(LLAMA_8B, gpu, 32_768)
    assert made.metrics["kv_pool_tokens"].value == pytest.approx(tokens, rel=0.05)


def test_kv14_a_hybrid_holds_more_requests_than_its_tokens_say(bench):
    """vLLM with one token drafted ahead and prefix caching: 13 attention layers, each page as large as a state."""
    full, linear = (
        next(g.attention for g in bench.architecture("Qwen/Qwen3.5-122B-A10B").groups if g.attention.kind is kind)
        for kind in (AttentionKind.FULL, AttentionKind.LINEAR)
    )
    layer_bytes = float(full.cache_elements_per_token)
    convolved = 2 * 16 * 128 + 64 * 128
    state = linear.state_bytes + 2 * convolved
    tokens = page_tokens(state, layer_bytes, 16.0)
    page = page_bytes(tokens, layer_bytes, 12.0 + 1.0)
    held = 24.05 * GIB // page
    requests = held / request_pages(262_144.0, tokens, 1.0, 36 / 12, 3.0)
    assert requests == pytest.approx(6.42, abs=0.005)
    assert held // (1 + 3) * tokens == 482_080
    plain = 24.05 * GIB / bench.need(bench.model("Qwen/Qwen3.5-122B-A10B", KvPrecision.FP8), 262_144)
    assert plain == pytest.approx(24.05 / 3, rel=0.06)


def test_kv16_a_window_is_reserved_with_its_chunk(bench):
    shape = cache_of_text("10 global 4x512 + 50 window 16x256 w1024 chunk8192", 16.0)
    assert shape is not None
    numbers = replace(bench.model(LLAMA_8B), layers=60.0, cache=shape.cache)
    for length, need in ((8192, 6.89), (32_768, 9.54), (65_536, 12.04)):
        assert bench.need(numbers, length, chunk=8192) == pytest.approx(need * GIB, rel=0.005)
    assert bench.longest(numbers, 7.25 * GIB, chunk=8192) == 8624


def test_kv17_a_window_model_over_four_gpus(bench):
    numbers = bench.model("openai/gpt-oss-20b")
    assert bench.need(numbers, 131_072, tensor=4, chunk=2048) == pytest.approx(0.763 * GIB, rel=0.01)


def test_kv18_a_7b_at_118k(bench):
    numbers = bench.model("Qwen/Qwen2.5-7B")
    assert bench.per_token(numbers) == 57_344
    assert bench.need(numbers, 118_000) == pytest.approx(6.30 * GIB, rel=0.005)
    assert bench.longest(numbers, 6.11 * GIB) == pytest.approx(114_432, rel=0.005)


def test_kv19_the_stage_that_attends_most_decides(bench):
    """The log tells no layout. Four stages of Kimi-K3 over eight ranks reserve what it prints, to the last digit."""
    shape, server = bench.architecture("moonshotai/Kimi-K3"), bench.server(2048)
    kept = kept_by(shape, Layout(8, 4), (None, "bf16"), server, bench.efficiencies)
    assert kept.request_bytes(1_048_576) == pytest.approx(7.89 * GIB, abs=0.005 * GIB)
    assert kept.longest_tokens(4.0 * GIB) == pytest.approx(530_432, rel=0.005)
    whole = kept_by(shape, Layout(8, 1), (None, "bf16"), server, bench.efficiencies)
    assert whole.request_bytes(1_048_576) > 3 * 7.89 * GIB


def test_kv20_a_lower_share_falls_off_a_cliff(bench):
    """Weights take most of a reduced share: the pool falls much faster than the share does."""
    pools = [
        pool(bench.serve("Qwen/Qwen3-30B-A3B", "nvidia-a100-sxm4-80gb", 8192, memory_utilisation=share))
        for share in (0.95, 0.9, 0.85, 0.8, 0.75)
    ]
    assert pools == sorted(pools, reverse=True)
    assert pools[-1] < 0.25 * pools[0]


def test_kv21_the_cache_format_is_the_first_lever(bench):
    """The model is not named, so what is compared is what each format gains."""
    lengths = [
        bench.longest(bench.model("Qwen/Qwen3.5-27B", kv), 9.67 * GIB)
        for kv in (KvPrecision.BF16, KvPrecision.FP8, KvPrecision.INT4)
    ]
    assert lengths[1] / lengths[0] == pytest.approx(265_122 / 139_200 * 9.67 / 9.28, rel=0.05)
    assert lengths[2] / lengths[0] == pytest.approx(502_667 / 139_200, rel=0.05)


def test_kv22_a_servers_log_says_the_pool_and_the_bytes_of_a_token():
    """The model is not named, so that nothing more than what the log says can be held to it."""
    log = (
        "Available KV cache memory: 10.78 GiB\n"
        "GPU KV cache size: 342,528 tokens\n"
        "Maximum concurrency for 65,536 tokens per request: 5.23x\n"
    )
    run = parse_measurement(log, "vllm.log")
    assert run.metrics["kv_pool_tokens"] == 342_528
    assert run.metrics["kv_bytes_per_token"] / 1000 == pytest.approx(33.8, abs=0.05)
    assert pool_tokens(10.78 * GIB, run.metrics["kv_bytes_per_token"]) == pytest.approx(342_528)


def test_kv23_a_pool_is_shared_by_all_requests(bench):
    per_token = 2.95 * GIB / 75_456
    assert pool_tokens(2.95 * GIB, per_token * 8192) == pytest.approx(9.2, rel=0.01)


def test_kv25_a_small_pool_beside_another_program(bench):
    numbers = bench.model("Qwen/Qwen2.5-1.5B")
    assert bench.per_token(numbers) == 28_672
    assert pool_tokens(0.56 * GIB, bench.per_token(numbers)) == pytest.approx(20_992, rel=0.01)


def test_kv26_a_2b_with_its_default_context_does_not_start(bench):
    """The log counts 29 layers where the model has 28: one more that drafts tokens keeps a cache like the others."""
    made = bench.serve("Qwen/Qwen3-VL-2B-Instruct", "nvidia-a10g", 262_144)
    assert made.fit is Fit.DOES_NOT_FIT
    shape = bench.architecture("Qwen/Qwen3-VL-2B-Instruct")
    kept = kept_by(shape, Layout(draft_layers=1), (None, "bf16"), bench.server(2048), bench.efficiencies)
    assert kept.bytes_per_token == 118_784
    assert kept.request_bytes(262_144) == 29.0 * GIB
    assert kept.longest_tokens(12.33 * GIB) == pytest.approx(111_440, rel=0.0005)


@pytest.mark.xfail(reason="7 % too much, 0.8 GiB: the largest matrix that GPTQ's kernel unpacks is 0.17 GiB of it")
def test_kv27_an_mha_model_in_four_bits(bench):
    fields = {"weight_precision": WeightPrecision.GPTQ, **OLD}
    made = bench.serve("Qwen/Qwen1.5-7B", "nvidia-rtx-3090", 32_768, **fields)
    assert made.fit is Fit.DOES_NOT_FIT
    assert made.metrics["kv_pool_tokens"].value == pytest.approx(24_320, rel=0.05)


def test_kv28_a_72b_with_a_wide_cache(bench):
    """The share is not told. With vLLM's default the weights alone leave less than the log's pool, so it was higher."""
    made = {
        share: bench.serve(
            "Qwen/Qwen1.5-72B",
            "nvidia-a100-sxm4-80gb",
            32_768,
            2,
            tensor_parallel=2,
            **(OLD | {"memory_utilisation": share}),
        )
        for share in (0.9, 0.98)
    }
    assert all(one.fit is Fit.DOES_NOT_FIT for one in made.values())
    assert made[0.98].metrics["kv_bytes_per_token"].value == 1_310_720
    assert made[0.98].metrics["kv_pool_tokens"].value == pytest.approx(4464, rel=0.15)
    usable = 79.2 * GIB
    assert 0.9 * usable - parts(made[0.9])["weights"] < 4464 * 1_310_720


def test_kv29_what_16_bits_leave_of_24_gb(bench):
    made = bench.serve("Qwen/Qwen1.5-7B", "nvidia-rtx-3090", 32_768, **OLD)
    assert made.fit is Fit.DOES_NOT_FIT
    assert made.metrics["kv_pool_tokens"].value == pytest.approx(7344, rel=0.15)


def test_kv30_the_shortage_is_told_exactly(bench):
    numbers = bench.model("meta-llama/Llama-2-7b-hf")
    assert bench.per_token(numbers) == 524_288
    assert (4096 - 3792) * bench.per_token(numbers) == 152 * MIB


def test_kv31_blocks_are_tokens(bench):
    numbers = bench.model("meta-llama/Meta-Llama-3-70B")
    pool_of_blocks = 378 * bench.server(2048).block_tokens * bench.per_token(numbers)
    assert bench.longest(numbers, float(pool_of_blocks)) == 6048
    assert 8192 - bench.longest(numbers, float(pool_of_blocks)) == 2144


def test_kv32_the_default_context_of_an_8b(bench):
    made = bench.serve(LLAMA_8B, "nvidia-rtx-3090", 131_072)
    assert made.fit is Fit.DOES_NOT_FIT
    assert made.metrics["max_length"].value == pytest.approx(39_024, rel=0.10)


def test_kv33_the_shortest_fix_is_the_length_that_fits(bench):
    """GPU and parallelism of the log are not told: eight A100 that are left with too small a share."""
    fields = {"tensor_parallel": 8, "memory_utilisation": 0.84}
    refused = bench.serve("deepseek-ai/DeepSeek-V2", "nvidia-a100-sxm4-80gb", 163_840, 8, **fields)
    assert refused.fit is Fit.DOES_NOT_FIT
    longest = int(refused.metrics["max_length"].value)
    assert 0 < longest < 163_840
    assert bench.serve("deepseek-ai/DeepSeek-V2", "nvidia-a100-sxm4-80gb", longest, 8, **fields).fit is not refused.fit
    longer = longest + 64
    assert bench.serve("deepseek-ai/DeepSeek-V2", "nvidia-a100-sxm4-80gb", longer, 8, **fields).fit is refused.fit


def test_kv34_a_shortage_names_the_length(bench):
    """The GPU is not told: one whose share leaves less than the length, as the log's did."""
    made = bench.serve("Qwen/Qwen-14B", "nvidia-rtx-a6000", 4096, memory_utilisation=0.61, eager=True)
    assert made.fit is Fit.DOES_NOT_FIT
    assert made.reason.id == "serving.share_too_small"
    longest = made.metrics["max_length"].value
    assert 0 < longest < 4096
    said = Translator(Language.ENGLISH).text(made.reason).replace(",", "")
    assert "4096" in said
    assert f"{longest:.0f}" in said
    assert {"change.length", "change.weight_precision"} <= bench.advice(made)


def test_kv35_the_budget_line_adds_up():
    left = pool_bytes(23.58 * GIB, 0.99, 1.0, 21.21 * GIB, 0.20 * GIB, 0.37 * GIB, 0.0, 1.0)
    assert left == pytest.approx(1.57 * GIB, abs=0.02 * GIB)


def test_kv36_a_request_has_a_fixed_and_a_growing_part(bench):
    """What a request takes, divided by its tokens, is no constant: two lengths give both parts, and these a third."""
    numbers = bench.model("deepseek-ai/DeepSeek-V4-Flash")
    short, long, other = 16_384, 1_048_576, 262_144
    low, high = (bench.need(numbers, length) for length in (short, long))
    per_token = (high - low) / (long - short)
    fixed = low - per_token * short
    assert fixed > 5 * MIB
    assert bench.need(numbers, other) == pytest.approx(fixed + per_token * other, rel=1e-4)
    assert per_token == pytest.approx(bench.per_token(numbers) - 2 * 1024, rel=1e-6)
    assert bench.need(numbers, 128) / 128 > 7 * per_token


def test_kv37_a_smaller_chunk_leaves_a_larger_pool(bench):
    fields = {"tensor_parallel": 2, "memory_utilisation": 0.95, "weight_precision": WeightPrecision.AWQ}
    large, small = (
        pool(bench.serve("Qwen/Qwen3-30B-A3B", "nvidia-rtx-3090", 8192, 2, max_batched_tokens=chunk, **fields))
        for chunk in (64_000, 8192)
    )
    assert small > large + 0.5 * GIB


def test_kv38_two_70b_do_not_share_eight_cards_of_40_gb(bench):
    model = "meta-llama/Meta-Llama-3.1-70B"
    alone = bench.serve(model, "nvidia-a100-sxm4-40gb", 32_768, 8, tensor_parallel=8, memory_utilisation=0.9)
    half = bench.serve(model, "nvidia-a100-sxm4-40gb", 32_768, 8, tensor_parallel=8, memory_utilisation=0.45)
    assert alone.fit is not Fit.DOES_NOT_FIT
    assert half.fit is Fit.DOES_NOT_FIT


def test_kv40_a_small_model_reserves_what_it_does_not_need(bench):
    fields = {"weight_precision": WeightPrecision.AWQ, "memory_utilisation": 0.65}
    small = bench.serve("Qwen/Qwen2.5-3B", "nvidia-rtx-3090", 4096, **fields)
    larger = bench.serve("Qwen/Qwen2.5-7B", "nvidia-rtx-3090", 4096, **fields)
    assert small.memory.needed.value < 4 * GIB
    assert small.memory.reserved.value == pytest.approx(15_982 * MIB, rel=0.05)
    assert larger.memory.reserved.value == pytest.approx(small.memory.reserved.value, rel=0.02)


def test_kv41_the_pool_is_policy(bench):
    made = bench.serve("Qwen/Qwen2.5-1.5B", "nvidia-a100-sxm4-80gb", 2000)
    assert made.memory.reserved.value > 65 * GIB
    assert parts(made)["cache"] == pytest.approx(50 * MIB, rel=0.15)
    assert made.memory.needed.value < 6 * GIB


def test_kv42_there_is_a_window_of_shares(bench):
    """A 64 GB device and a 7B in 16 bits: too little has no room for weights, and room must stay outside the pool."""
    fits = {
        share: bench.serve("Qwen/Qwen2.5-7B", "huawei-ascend-910b3", 4096, memory_utilisation=share).fit
        for share in (0.2, 0.3, 0.4, 0.6, 0.8, 0.9)
    }
    assert fits[0.2] is Fit.DOES_NOT_FIT
    assert all(fits[share] is not Fit.DOES_NOT_FIT for share in (0.3, 0.4, 0.6, 0.8, 0.9))


def test_kv43_a_share_covers_the_weights_too(bench):
    """Two devices of 64 GiB, each with half of the weights."""
    low, high = (
        bench.serve("Qwen/Qwen3-30B-A3B", "amd-mi210", 4096, 2, tensor_parallel=2, memory_utilisation=share)
        for share in (0.1, 0.8)
    )
    assert low.fit is Fit.DOES_NOT_FIT
    assert low.reason.id == "serving.share_below_weights"
    assert parts(low)["weights"] == pytest.approx(28.48 * GIB, rel=0.02)
    assert parse_percent(low.reason.values["least"]) == pytest.approx(0.5, abs=0.05)
    assert high.fit is not Fit.DOES_NOT_FIT


def test_kv44_the_tower_of_a_vision_model_takes_the_pool(bench):
    """The model is not named: one of as many weights, whose 96,000 tokens fit beside them and not beside its tower."""
    fields = {"weight_precision": WeightPrecision.NVFP4, "memory_utilisation": 0.9}
    shape = bench.architecture("Qwen/Qwen3.5-27B")
    seeing, reading = (
        bench.run(one, "nvidia-rtx-5090", 96_000, **fields)
        for one in (shape, shape.model_copy(update={"tower_parameters": 0}))
    )
    assert "serving.tower_memory" in {m.id for m in seeing.remarks}
    assert seeing.fit is Fit.DOES_NOT_FIT
    assert reading.fit is Fit.FITS
    assert 3 * GIB < pool(reading) - pool(seeing) < 5.5 * GIB


def test_the_server_of_these_cases_is_vllm():
    assert Serving(model=ModelChoice(catalog_id=LLAMA_8B)).server is Server.VLLM
