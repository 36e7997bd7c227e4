"""How prompts wait for each other: in a burst, at random, in step, for other groups. Nothing of what a pass takes."""

from gpuplanner.engine.formulas.elementwise import Number, maximum, minimum
from gpuplanner.figures import formula
from gpuplanner.units import Unit


@formula(
    Unit.SECOND,
    "work_s + passes · moe_layers · prompt_moe_layer_s",
    "measured: first tokens of mixtures come later than their work and wait for each other, while other tokens go on",
)
def with_start_seconds(work_s: Number, passes: Number, moe_layers: Number, prompt_moe_layer_s: Number) -> Number:
    """Time of a prompt as other prompts meet it: its work, and what its layers of experts take longer to start.

    In that the GPU goes on with the steps of others: the time per token of DeepSeek's runs shows the work alone.
    """
    return work_s + passes * moe_layers * prompt_moe_layer_s


@formula(
    Unit.COUNT,
    "max(min(max_batched_tokens · attention_ranks / prompt_tokens, sequences · (1 - static_batches)), 1)",
    "requests that arrive at once fill their passes",
)
def burst_prompts(
    max_batched_tokens: Number,
    prompt_tokens: Number,
    sequences: Number,
    static_batches: Number,
    attention_ranks: Number = 1.0,
) -> Number:
    """Prompts in one pass where all residents ask at once; those of a static batch are counted by their passes."""
    fit = max_batched_tokens * attention_ranks / prompt_tokens
    return maximum(minimum(fit, sequences * (1.0 - static_batches)), 1.0)


@formula(
    Unit.RATIO,
    "max(prefill_s - launch_s, prefill_s / together) / prefill_s",
    "kernels of a pass are started once, however many prompts are in it",
)
def full_pass_cost(prefill_s: Number, launch_s: Number, together: Number) -> Number:
    """What a prompt costs in a pass of `together` of them, as a share of its own pass: its work is not less there.

    `launch_s`: what starting its kernels adds to its work.
    """
    return maximum(prefill_s - launch_s, prefill_s / together) / prefill_s


@formula(
    Unit.COUNT,
    "burst_share · ((others + 1 + together) · full_pass_cost - 2) + max(1 - 2 · burst_share, 0) · min(others ·"
    " prefill_share_s / (2 · output_tokens · step_s), others / 2) + min(convoy_prompts, others), others = max(sequences"
    " - 1, 0)",
    "those who ask at once wait for half of all, the others as Pollaczek and Khinchine say",
)
def prompts_ahead(
    burst_share: Number,
    sequences: Number,
    together: Number,
    full_pass_cost: Number,
    prefill_share_s: Number,
    output_tokens: Number,
    step_s: Number,
    convoy_prompts: Number,
) -> Number:
    """Prompts of others that are computed before the first token of a request, or in the pass of its own prompt.

    `burst_share`: half the share of requests that arrive at once with those of all other residents, whose prompts are
    then computed `together` in a pass: the mean of n such is (n + together) / 2 prompts. 0.05 where each client asks
    ten times and all start at once, as benchmarks do; 0.5 where equal lengths keep them in step on a server that
    computes prompts first. The others come at random times, onto a server that prompts take a part of. In a closed
    loop of clients that part is `others · prefill_share_s` of a cycle, the rest of which is `output_tokens · step_s`.
    `convoy_prompts`: prompts in the passes that are under way when a client asks again just after it was answered,
    where equal lengths have all clients do that one after the other.
    """
    others = maximum(sequences - 1.0, 0.0)
    burst = burst_share * ((others + 1.0 + together) * full_pass_cost - 2.0)
    queue = minimum(others * prefill_share_s / (2.0 * output_tokens * step_s), 0.5 * others)
    return burst + maximum(1.0 - 2.0 * burst_share, 0.0) * queue + minimum(convoy_prompts, others)


@formula(
    Unit.SECOND,
    "min(balance_steps · step_s, (attention_ranks - 1) / request_per_s) / 2",
    "TensorRT-LLM, attention_dp_config (enable_balance, timeout_iters): prompts wait until each group has one",
)
def balance_seconds(balance_steps: Number, step_s: Number, attention_ranks: Number, request_per_s: Number) -> Number:
    """Mean time that a prompt waits for prompts of the other groups that attend for themselves, at most some steps.

    The first of them waits longest, the last not at all.
    """
    return 0.5 * minimum(balance_steps * step_s, (attention_ranks - 1.0) / request_per_s)
