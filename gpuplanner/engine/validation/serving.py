"""The family of serving measurements: offline throughput, servers under a fixed concurrency, single streams, memory."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpuplanner.engine.formulas import serving_pool
from gpuplanner.engine.ranges import Spread, widened
from gpuplanner.engine.serving_figures import Spreads, rate_figure, spreads_of, time_figure, with_certain_part
from gpuplanner.engine.serving_figures import beside_weights as beside
from gpuplanner.engine.serving_numbers import ServingNumbers
from gpuplanner.engine.validation.rows import Outcome, Row, ValidationContext, outcome_of, refusal
from gpuplanner.engine.validation.serving_options import ONE_DRAFT, may_have_drafted
from gpuplanner.engine.validation.serving_rows import LMDEPLOY, PlacedRow, placed
from gpuplanner.figures import Figure
from gpuplanner.messages import msg
from gpuplanner.units import GIB, Unit

FIRST, TOKEN, OUTPUT, TOTAL, PREFILL, MEMORY = (
    "ttft_ms",
    "tpot_ms",
    "measured_output_tok_s",
    "measured_total_tok_s",
    "measured_prefill_tok_s",
    "peak_mem_gb",
)
KINDS = {
    "online": "serving online",
    "offline_throughput": "serving offline",
    "prefill": "serving prefill",
    "decode": "serving single stream",
    "single_stream": "serving single stream",
}
MS = 1e3
MEDIAN_STEP = re.compile(r"50th percentile token")
"""A median over tokens is that of a step in which no prompt is computed."""
RATE_HELD = 0.88
"""MLPerf's Server scenario: requests come at random and nearly all must be answered in time, so the rate stays so far
below that of a list (median over systems of v4.1 that have both)."""
WHOLE_MEMORY_SHARE = LMDEPLOY
"""Up to 0.2 its pool was a share of the whole memory, whatever the weights left; it is what was measured."""
TOTAL_OVER_GPUS = re.compile(r"total over gpu", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ServingRows:
    """Rows of serving runs, each with the metrics that it fills."""

    name: str = "serving"
    columns: frozenset[str] = frozenset({"mode", "isl", "osl", FIRST, TOKEN, OUTPUT, PREFILL, MEMORY})
    metrics: tuple[str, ...] = (FIRST, TOKEN, OUTPUT, TOTAL, PREFILL, MEMORY)

    def predict(self, row: Row, context: ValidationContext) -> Iterator[Outcome]:
        """An outcome for each measured cell; see `rows.Family`."""
        place = placed(row, context)
        family = KINDS.get(row.text("mode"), self.name)
        result = place.result()
        alone = place.load.concurrency == 1
        spreads = spreads_of(context.efficiencies, place.found.rung, alone, server=place.profile)
        if may_have_drafted(row, place.model):
            spreads = _drafted_or_not(spreads)
        prompt_s, token_s, per_s = _ideals(place, result)
        ideals = {FIRST: prompt_s * MS, TOKEN: token_s * MS, PREFILL: place.load.input_tokens / prompt_s, OUTPUT: per_s}
        kin = f"{place.machine.gpu.id} {place.precision} {place.way.tensor_parallel:g}"
        for metric in self.metrics:
            if not row.text(metric):
                continue
            if place.finite and metric in {FIRST, TOKEN}:
                yield refusal(row, family, metric, msg("serving.load_not_stated"))
                continue
            figure, scale = _figure(row, metric, place, result, spreads)
            ideal = float(ideals.get(metric, 0.0))
            yield outcome_of(row, family, metric, figure, scale=scale, kin=kin, ideal=ideal)


def _drafted_or_not(spreads: Spreads) -> Spreads:
    """The spreads of a row that does not say whether tokens were drafted: then a step may have given two."""
    why = msg("validation.drafting_not_stated")

    def either(spread: Spread) -> Spread:
        return widened(spread, min(1.0 / ONE_DRAFT / spread.low, 1.0), 1.0, why)

    return replace(spreads, token=either(spreads.token), rate=either(spreads.rate))


def _figure(row: Row, metric: str, place: PlacedRow, result: ServingNumbers, spreads: Spreads) -> tuple[Figure, float]:
    """The engine's figure for a column and the factor into the column's unit."""
    gpus = float(place.way.gpus)
    share = 1.0 / gpus if row.text("per_gpu") == "1" else 1.0
    steady = float(place.server.offline_share) if place.finite else 1.0
    steady *= RATE_HELD if place.finite and row.text("mode") == "online" else 1.0
    if metric == FIRST:
        return time_figure(result.ttft_s, spreads.first_token), MS
    if metric == TOKEN:
        own_step = MEDIAN_STEP.search(row.text("notes"))
        return time_figure(result.step.total_s if own_step else result.tpot_s, spreads.token), MS
    if metric == PREFILL:
        return rate_figure(result.prefill_tokens_per_s, Unit.TOKEN_PER_S, spreads.prompt), 1.0
    if metric == MEMORY:
        return _memory(row, place, result, spreads, gpus)
    if metric == TOTAL:
        both = place.load.input_tokens + place.load.output_tokens
        return rate_figure(result.request_per_s * both * steady, Unit.TOKEN_PER_S, spreads.rate), share
    if row.text("mode") == "decode" or row.text(PREFILL):
        decoding = result.resident * place.way.replicas / result.step.total_s
        return rate_figure(decoding, Unit.TOKEN_PER_S, spreads.rate), share
    return rate_figure(result.output_tokens_per_s * steady, Unit.TOKEN_PER_S, spreads.rate), share


def _memory(row: Row, place: PlacedRow, result: ServingNumbers, spreads: Spreads, gpus: float) -> tuple[Figure, float]:
    """What the work needs, or what the server takes where its pool is what was measured.

    Software that spreads layers over GPUs prints the sum over them.
    """
    numbers = result.memory
    cache = serving_pool.live_cache_bytes(
        result.resident, numbers.sequence_bytes, place.way.attention_ranks, numbers.pool_bytes
    )
    if place.profile == WHOLE_MEMORY_SHARE:
        cache = place.server.free_share * place.found.numbers.usable_bytes
    amount = serving_pool.needed_bytes(numbers.fixed_bytes, cache)
    summed = TOTAL_OVER_GPUS.search(row.text("notes")) or float(place.way.pipeline_parallel) > 1
    scale = (gpus if summed else 1.0) / GIB
    return with_certain_part(amount, beside(numbers), Unit.BYTE, spreads.beside_weights), scale


def _ideals(place: PlacedRow, result: ServingNumbers) -> tuple[float, float, float]:
    """Seconds for a prompt and for a token, and output tokens a second, with every rate at its datasheet peak."""
    gpu, step, prefill, load = place.found.numbers, result.step, result.prefill, place.load
    prompt = float(prefill.compute_s * gpu.utilisation)
    reading = float(step.weights_s * gpu.hbm_share + step.cache_s * gpu.cache_share)
    token = max(reading, float(step.compute_s * gpu.utilisation))
    resident, answer = float(result.resident), float(load.output_tokens)
    return prompt, token, resident * float(place.way.replicas) * answer / (resident * prompt + answer * token)
