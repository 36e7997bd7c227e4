"""A model's numbers as a plan serves it, with what drafts its tokens, and how far figures of that can be trusted."""

from collections.abc import Callable
from dataclasses import replace

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.drafters import drafter_of
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.ranges import Spread, widened
from gpuplanner.engine.serving_figures import Spreads
from gpuplanner.engine.serving_flags import heeded
from gpuplanner.engine.serving_inputs import DraftNumbers, ModelNumbers
from gpuplanner.engine.serving_model import model_numbers, precision_of
from gpuplanner.engine.serving_numbers import ServingNumbers
from gpuplanner.figures import Rung, kept
from gpuplanner.messages import msg
from gpuplanner.units import percent
from gpuplanner.workload.precision import KvPrecision
from gpuplanner.workload.serving import Serving, Speculation

TABLE = "speculation"
AT_ONCE = frozenset({Speculation.MEDUSA})
"""What drafts all tokens of a step in one pass."""
FURTHEST = 10.0
"""By how much the ends of what is accepted may widen a range."""


def served_numbers(model: ModelArchitecture, workload: Serving, efficiencies: Efficiencies) -> ModelNumbers:
    """The numbers of a plan's model, with what drafts for it where its server can.

    Raises InputError for a number format that is not known, or when nothing can draft as the plan says.
    """
    numbers = model_numbers(model, workload.weight_precision, workload.kv_precision, efficiencies)
    return with_drafter(numbers, model, precision_of(model, workload.weight_precision), workload, efficiencies)


def with_drafter(
    numbers: ModelNumbers, model: ModelArchitecture, precision: str, workload: Serving, efficiencies: Efficiencies
) -> ModelNumbers:
    """The numbers of a model in a format, with what drafts for it where the plan's server can. Raises as above."""
    understood = heeded(workload)
    if understood.speculation is Speculation.NONE:
        return numbers
    asked = understood.draft_tokens, understood.acceptance_rate, understood.kv_precision
    return replace(numbers, draft=_draft(model, precision, understood.speculation, *asked, efficiencies))


@kept(64)
def _draft(
    model: ModelArchitecture,
    precision: str,
    method: Speculation,
    draft_tokens: int | None,
    acceptance_rate: float | None,
    kv_precision: KvPrecision | None,
    efficiencies: Efficiencies,
) -> DraftNumbers:
    usual = efficiencies.constants(TABLE, method.value)
    tokens = usual["draft_tokens"] if draft_tokens is None else float(draft_tokens)
    rate = usual["acceptance_rate"] if acceptance_rate is None else acceptance_rate
    heads = efficiencies.constants(TABLE, "heads").values
    found = drafter_of(model, method, precision, tokens, heads)
    if found is None:
        return DraftNumbers(tokens, rate, 0.0, usual["lookup_s"])
    runs, holds = (
        model_numbers(shape, found.precision or None, kv_precision, efficiencies) for shape in (found.runs, found.holds)
    )
    passes = 1.0 if method in AT_ONCE else tokens
    return DraftNumbers(tokens, rate, passes, usual["lookup_s"], runs, holds, found.reads_prompt)


def drafting_spreads(
    spreads: Spreads,
    workload: Serving,
    numbers: ModelNumbers,
    result: ServingNumbers,
    efficiencies: Efficiencies,
    with_numbers: Callable[[ModelNumbers], ServingNumbers],
) -> Spreads:
    """The spreads of times and rates where tokens are drafted: no row of measurements tells of it.

    `with_numbers`: what the run comes to where more or fewer drafts are accepted; its memory stays as it is.

    As wide as those of the passes, times what a step takes beside them; and where the plan does not say how much is
    accepted, times what less or more of it would make of each time.
    """
    draft = numbers.draft
    if draft is None:
        return spreads
    beside = efficiencies.constants(TABLE, "unmeasured")
    usual = efficiencies.constants(TABLE, workload.speculation.value)
    least, most = result, result
    why = msg("serving.why.drafting")
    if workload.acceptance_rate is None:
        why = msg("serving.why.acceptance", low=percent(usual["low"]), high=percent(usual["high"]))
        least, most = (
            with_numbers(replace(numbers, draft=replace(draft, acceptance_rate=usual[end]))) for end in ("low", "high")
        )

    def wider(spread: Spread, time: Callable[[ServingNumbers], Number]) -> Spread:
        quick, slow = _ratio(time(most), time(result)), _ratio(time(least), time(result))
        wide = widened(spread, beside["low"] * min(quick, 1.0), beside["high"] * max(slow, 1.0), why)
        return replace(wide, rung=Rung.ROOFLINE)

    return replace(
        spreads,
        token=wider(spreads.token, lambda numbers: numbers.tpot_s),
        first_token=wider(spreads.first_token, lambda numbers: numbers.ttft_s),
        rate=wider(spreads.rate, lambda numbers: 1.0 / numbers.output_tokens_per_s),
    )


def _ratio(one: Number, other: Number) -> float:
    """How many times one time is the other, within what still says something; times of a server that is behind grow
    without end.
    """
    ratio = float(one) / float(other)
    return min(max(ratio, 1.0 / FURTHEST), FURTHEST) if ratio > 0 else FURTHEST
