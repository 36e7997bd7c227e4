"""Samples that do not fill their sequence: what is padded, what is computed for nothing, which tokens count. Pure."""

from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.figures import formula
from gpuplanner.units import Unit

LONGEST = "the longest of n samples whose lengths follow F(x) = x^a on [0, 1], with the a that gives the mean"


@formula(
    Unit.RATIO,
    "batch_samples · length_share / (1 + (batch_samples - 1) · length_share)",
    LONGEST,
)
def passed_share(length_share: Number, batch_samples: Number) -> Number:
    """Share of a full sequence that a micro-batch passes for each sample, when all are padded to its longest one.

    `length_share`: the mean sample over the longest that is allowed; 1 where sequences are full. A micro-batch of one
    pads nothing; a large one pads to the limit.
    """
    return batch_samples * length_share / (1.0 + (batch_samples - 1.0) * length_share)


@formula(Unit.TOKEN, "tokens · passed_share", "padding is computed like any other token")
def passed_tokens(tokens: Number, passed_share: Number) -> Number:
    """Tokens of a micro-batch that are computed on average, padding included; `tokens` would be all of them full."""
    return tokens * passed_share


@formula(Unit.TOKEN, "sequence_length · span_share", "")
def sample_span(sequence_length: Number, span_share: Number) -> Number:
    """Tokens over which attention goes at once: the padded sample, or one document of a packed sequence."""
    return sequence_length * span_share
