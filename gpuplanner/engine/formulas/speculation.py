"""Speculative decoding: what a step that drafts and verifies gives and takes. Nothing of servers or of how drafts come.

Whether it pays is no rule here: verifying costs what a pass of so many more rows costs, which is little while the pass
waits for memory and all of it once it computes.
"""

from gpuplanner.engine.formulas.elementwise import Number, expm1, log, maximum, minimum
from gpuplanner.figures import formula
from gpuplanner.units import Unit

LEVIATHAN = (
    "Leviathan, Kalman, Matias, Fast Inference from Transformers via Speculative Decoding, 2023 (arXiv:2211.17192)"
)
ALMOST_ONE = 1.0 - 2.0**-53
"""The float below 1: where every draft is accepted, the sum of the powers is their number."""
ALMOST_NONE = 1e-300


@formula(Unit.TOKEN, "(1 - acceptance_rate^(draft_tokens + 1)) / (1 - acceptance_rate)", LEVIATHAN)
def expected_tokens(acceptance_rate: Number, draft_tokens: Number) -> Number:
    """Tokens that one step gives each request on average: the accepted drafts, and one of the model's own.

    `acceptance_rate`: with which probability a drafted token is accepted when those before it were.
    """
    rate = minimum(maximum(acceptance_rate, ALMOST_NONE), ALMOST_ONE)
    # As it stands the difference of a power and 1 loses its digits where nearly all is accepted.
    return expm1((draft_tokens + 1.0) * log(rate)) / (rate - 1.0)


@formula(Unit.TOKEN, "rows · (draft_tokens + 1)", "drafts are verified beside the token that is certain")
def verified_rows(rows: Number, draft_tokens: Number) -> Number:
    """Rows of the pass that verifies what was drafted for `rows` requests."""
    return rows * (draft_tokens + 1.0)


@formula(
    Unit.SECOND, "drafter_passes · drafter_s + lookup_s · sequences", "drafts come one after the other, or all at once"
)
def drafting_seconds(drafter_passes: Number, drafter_s: Number, lookup_s: Number, sequences: Number) -> Number:
    """Time in which a step drafts. `drafter_s`: one pass of what drafts; `lookup_s`: the CPU's, for each request."""
    return drafter_passes * drafter_s + lookup_s * sequences


@formula(Unit.SECOND, "verify_s + drafting_s", "the model waits for the drafts, and they for the model")
def speculative_step_seconds(verify_s: Number, drafting_s: Number) -> Number:
    """Time of a step that drafts and verifies."""
    return verify_s + drafting_s


@formula(Unit.SECOND, "part_s / tokens_per_step", "a step gives each request several tokens")
def seconds_per_token(part_s: Number, tokens_per_step: Number) -> Number:
    """Time of a step, or of a part of it, for one token of a request."""
    return part_s / tokens_per_step


@formula(Unit.COUNT, "output_tokens / tokens_per_step", "")
def answer_steps(output_tokens: Number, tokens_per_step: Number) -> Number:
    """Steps in which one answer is given."""
    return output_tokens / tokens_per_step


@formula(Unit.SECOND, "prefill_s + drafter_s", "what drafts has to read the prompt too")
def prefill_with_drafter_seconds(prefill_s: Number, drafter_s: Number) -> Number:
    """Time of a prompt that the model reads, and then what drafts."""
    return prefill_s + drafter_s


@formula(Unit.BYTE, "weight_bytes + drafter_bytes", "split over the ranks as the model is")
def weights_with_drafter_bytes(weight_bytes: Number, drafter_bytes: Number) -> Number:
    """Weights on the fullest GPU, those of what drafts included."""
    return weight_bytes + drafter_bytes


@formula(Unit.COUNT, "stage_layers + drafter_layers", "what drafts runs on the last pipeline stage")
def layers_with_drafter(stage_layers: Number, drafter_layers: Number) -> Number:
    """Layers of the fullest stage, those of what drafts included."""
    return stage_layers + drafter_layers


@formula(Unit.BYTE, "cache_bytes + drafter_cache_bytes", "both caches come out of one pool")
def cache_with_drafter_bytes(cache_bytes: Number, drafter_cache_bytes: Number) -> Number:
    """Cache of one request on the fullest GPU, that of what drafts included."""
    return cache_bytes + drafter_cache_bytes


@formula(
    Unit.BYTE,
    "state_bytes · (draft_tokens + 1)",
    "vLLM, v1/kv_cache_interface.py, MambaSpec: a state for each drafted token, to go back to where one is rejected",
)
def kept_states_bytes(state_bytes: Number, draft_tokens: Number) -> Number:
    """State of linear-attention and state-space layers of one request while its drafts are verified."""
    return state_bytes * (draft_tokens + 1.0)
