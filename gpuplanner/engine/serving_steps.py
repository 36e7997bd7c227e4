"""A step of serving: a token for each request, or several where tokens are drafted and verified; and a prompt's passes.

Pure arithmetic on floats or arrays; what a pass takes stands in `serving_passes.py`.
"""

from dataclasses import replace

from gpuplanner.engine.formulas import serving_time, speculation
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.serving_exchange import GroupReach
from gpuplanner.engine.serving_inputs import DraftNumbers, GpuNumbers, ModelNumbers, ServerNumbers, WayNumbers
from gpuplanner.engine.serving_memory import last_stage
from gpuplanner.engine.serving_passes import PASS_PARTS, PassNumbers, decode_pass, prefill_pass


def decode_step(
    model: ModelNumbers,
    gpu: GpuNumbers,
    server: ServerNumbers,
    way: WayNumbers,
    group: GroupReach,
    sequences: Number,
    context: Number,
) -> PassNumbers:
    """A step for `sequences` requests that have `context` tokens behind them on average; its parts are for one token.

    Where tokens are drafted the model works on all of a request's drafts at once, reading weights and cache as often as
    for one token.
    """
    rows = serving_time.decode_rows(sequences, way.pipeline_parallel, server.stages_overlap)
    draft = model.draft
    if draft is None:
        return decode_pass(model, gpu, server, way, group, rows, rows, sequences, context)
    given = tokens_per_step(draft)
    checked = speculation.verified_rows(rows, draft.draft_tokens)
    verify = decode_pass(model, gpu, server, way, group, checked, rows, sequences, context)
    drafter_s: Number = 0.0
    if draft.runs is not None:
        own = decode_pass(draft.runs, gpu, beside(server), last_stage(way), group, rows, rows, sequences, context)
        drafter_s = own.total_s
    drafting_s = speculation.drafting_seconds(draft.drafter_passes, drafter_s, draft.lookup_s, sequences)
    whole_s = speculation.speculative_step_seconds(verify.total_s, drafting_s)
    parts = {name: speculation.seconds_per_token(getattr(verify, name), given) for name in PASS_PARTS}
    return replace(
        verify,
        **parts,
        drafting_s=speculation.seconds_per_token(drafting_s, given),
        total_s=speculation.seconds_per_token(whole_s, given),
        whole_s=whole_s,
    )


def prompt_passes(
    model: ModelNumbers,
    gpu: GpuNumbers,
    server: ServerNumbers,
    way: WayNumbers,
    group: GroupReach,
    prompt: Number,
    prefix: Number,
    sequences: Number,
    output_tokens: Number,
) -> tuple[PassNumbers, Number, Number]:
    """`prefill_pass`, and after it what drafts reading the same prompt."""
    draft = model.draft
    steps = output_tokens
    if draft is not None:
        steps = speculation.answer_steps(output_tokens, tokens_per_step(draft))
    found = prefill_pass(model, gpu, server, way, group, prompt, prefix, sequences, steps)
    if draft is None or draft.runs is None or not draft.reads_prompt:
        return found
    prefill, passes, lone = found
    own, _, own_lone = prefill_pass(
        draft.runs, gpu, beside(server), last_stage(way), group, prompt, prefix, sequences, steps
    )
    total = speculation.prefill_with_drafter_seconds(prefill.total_s, own.total_s)
    alone = total if way.plain else speculation.prefill_with_drafter_seconds(lone, own_lone)
    return replace(prefill, total_s=total, whole_s=total, drafting_s=own.total_s), passes, alone


def tokens_per_step(draft: DraftNumbers) -> Number:
    """Tokens that a step gives each request on average."""
    return speculation.expected_tokens(draft.acceptance_rate, draft.draft_tokens)


def beside(server: ServerNumbers) -> ServerNumbers:
    """The server as what drafts meets it: it is scheduled with the model, and none of it is left in host memory."""
    return replace(server, step_s=0.0, sequence_s=0.0, offload_bytes=0.0)
