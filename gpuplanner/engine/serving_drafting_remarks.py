"""What has to be said of drafting: what a step gives, what it gains or costs, what was assumed; which layers idle."""

from collections.abc import Iterator

from gpuplanner.catalog.architecture import ModelArchitecture, Part
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.parameters import active_parameters
from gpuplanner.engine.formulas.weights import stored_bytes
from gpuplanner.engine.serving_drafting import TABLE
from gpuplanner.engine.serving_drafting_flags import drafting_flags
from gpuplanner.engine.serving_flags import heeded
from gpuplanner.engine.serving_inputs import DraftNumbers
from gpuplanner.engine.serving_model import bits_by_part
from gpuplanner.engine.serving_numbers import ServingNumbers
from gpuplanner.engine.serving_steps import tokens_per_step
from gpuplanner.figures import unrecorded
from gpuplanner.messages import Message, msg
from gpuplanner.units import Display, Unit, digits, percent, show, show_bytes, show_duration
from gpuplanner.workload.drafted import DraftedModel
from gpuplanner.workload.serving import Serving, Speculation

WORTH_SAYING = 0.005
"""A share of the time per token that shows when it is printed."""


def drafting_remarks(
    workload: Serving,
    model: ModelArchitecture,
    draft: DraftNumbers,
    efficiencies: Efficiencies,
    result: ServingNumbers,
    plain: ServingNumbers,
) -> Iterator[Message]:
    """`plain`: the same way of serving without drafts."""
    with unrecorded():
        given = float(tokens_per_step(draft))
    rate = percent(float(draft.acceptance_rate))
    yield msg("serving.drafting", drafts=int(draft.draft_tokens), tokens=f"{given:.2f}", rate=rate)
    if workload.acceptance_rate is None:
        usual = efficiencies.constants(TABLE, workload.speculation.value)
        low, high = percent(usual["low"]), percent(usual["high"])
        yield msg("serving.drafting_assumed", rate=rate, low=low, high=high, source=usual.source.citation)
    if not (result.saturated or plain.saturated):
        other = float(plain.tpot_s)
        gain = 1.0 - float(result.tpot_s) / other
        if abs(gain) >= WORTH_SAYING:
            yield _compared(str(show_duration(other)), gain)
    yield msg("serving.start_drafting", flags=drafting_flags(workload, int(draft.draft_tokens)))
    if workload.speculation is Speculation.MODEL and isinstance(model, DraftedModel):
        sizes = active_parameters(model.draft), active_parameters(model)
        if sizes[0] >= sizes[1]:
            own_size, other_size = (str(show(size, Unit.PARAMETER, Display())) for size in sizes)
            yield msg("serving.draft_larger", draft=model.draft.name, own=own_size, model=model.name, others=other_size)
        own, others = model.draft.vocabulary, model.vocabulary
        if own != others:
            yield msg("serving.draft_vocabulary", draft=model.draft.name, own=own, model=model.name, others=others)


def _compared(other: str, gain: float) -> Message:
    """What drafting does to the time per token: a share of it, or how many times as long it is where that is twice."""
    if gain <= -1.0:
        return msg("serving.drafting_costs_times", other=other, times=digits(1.0 - gain, 2))
    said = "serving.drafting_gains" if gain > 0 else "serving.drafting_costs"
    return msg(said, other=other, percent=percent(round(abs(gain), 2)))


def idle_layers(workload: Serving, model: ModelArchitecture, efficiencies: Efficiencies) -> Iterator[Message]:
    """Prediction layers that the model's files bring and that its server leaves there, since it drafts otherwise.

    vLLM, SGLang and TensorRT-LLM load them with the drafter only, transformers and llama.cpp skip them (their loaders'
    lists of tensors to leave out, 2025; from memory).
    """
    if model.extra_parameters and heeded(workload).speculation is not Speculation.MTP:
        bits = bits_by_part(model, workload.weight_precision, efficiencies)[Part.EXTRA.value]
        size = float(stored_bytes(float(model.extra_parameters), bits))
        yield msg("serving.prediction_layers_idle", size=str(show_bytes(size, Display())))
