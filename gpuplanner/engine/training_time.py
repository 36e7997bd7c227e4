"""Time of one training step by operator, and the communication that stays exposed. Numbers only."""

from dataclasses import dataclass

from gpuplanner.engine.feed import NOTHING, Waits, waits
from gpuplanner.engine.formulas.attention import attention_flops, mean_attended_tokens
from gpuplanner.engine.formulas.data import fed_step_seconds, tokens_of_node
from gpuplanner.engine.formulas.elementwise import Number, always, maximum, minimum, where
from gpuplanner.engine.formulas.gemm import matrix_flops, multiply_seconds, narrow_columns, padded_parameters
from gpuplanner.engine.formulas.optimizer import offloaded_step_seconds, optimizer_seconds
from gpuplanner.engine.formulas.pipeline import bubble_seconds, pipelined_step_seconds
from gpuplanner.engine.formulas.training_time import (
    attention_training_seconds,
    cast_moved_bytes,
    compute_seconds,
    dequantise_seconds,
    elementwise_seconds,
    kernel_launch_seconds,
    launch_wait_seconds,
    layer_launch_seconds,
    layer_matrix_seconds,
    loss_moved_bytes,
    matrix_seconds,
    micro_batch_seconds,
    moved_activation_bytes,
    offloaded_weights_seconds,
    over_micro_batches,
    overlap_window_seconds,
    slowest_stage_seconds,
    training_step_seconds,
    unhidden_seconds,
)
from gpuplanner.engine.training_communication import communication_numbers
from gpuplanner.engine.training_inputs import HardwareNumbers, LayoutNumbers, SoftwareNumbers
from gpuplanner.engine.training_memory import ActivationNumbers
from gpuplanner.engine.training_model import ModelNumbers
from gpuplanner.engine.training_split import Split

FUSED_LOSS_BYTES = 4.0
"""Made for each logit when the loss is fused: the logit and its gradient in 16 bits."""
LAYER_MATRICES = 4.0
"""In a layer: into attention (queries, keys and values as one) and out of it, into the MLP (gate and up) and out."""
LOSS_PASSES = 2.0
"""What the loss makes is written once and read once."""


@dataclass(frozen=True, slots=True)
class TimeNumbers:
    """Seconds of one optimizer step on the GPU that the others wait for; parts add up to `step`.

    `read`, `prepare`: what it waits for its data.
    """

    matrices: Number
    attention: Number
    elementwise: Number
    launch: Number
    dequantise: Number
    tensor: Number
    context: Number
    experts: Number
    gather: Number
    send: Number
    fetch: Number
    bubble: Number
    reduce: Number
    optimizer: Number
    offload: Number
    overhead: Number
    rollout: Number
    read: Number
    prepare: Number
    step: Number

    @property
    def waits(self) -> Waits:
        """What of the step is waiting for data."""
        return Waits(self.read, self.prepare, self.read + self.prepare)

    @property
    def busy(self) -> Number:
        """The step without that."""
        return self.step - self.read - self.prepare


@dataclass(frozen=True, slots=True)
class ComputeNumbers:
    """Seconds of one micro-batch on the slowest stage; `waiting`: of these the GPU waits for the CPU."""

    matrices: Number
    attention: Number
    elementwise: Number
    waiting: Number
    dequantise: Number
    computing: Number


@dataclass(frozen=True, slots=True)
class _Step:
    """What a step is added up from: exposed seconds of one micro-batch, and of the step what comes once.

    `one`: all of a micro-batch; `busy`: the step without waiting for data.
    """

    work: ComputeNumbers
    tensor: Number
    context: Number
    experts: Number
    gather: Number
    send: Number
    fetch: Number
    one: Number
    reduce: Number
    optimizer: Number
    offload: Number
    busy: Number


def step_seconds(
    model: ModelNumbers,
    software: SoftwareNumbers,
    hardware: HardwareNumbers,
    layout: LayoutNumbers,
    part: Split,
    kept: ActivationNumbers,
    rollout_s: Number = 0.0,
) -> Number:
    """Time of one step alone, which is what layouts are compared by; see `time_numbers`."""
    busy_s = _step(model, software, hardware, layout, part, kept, rollout_s).busy
    return _fed(busy_s, _waits(hardware, layout, busy_s))


def time_numbers(
    model: ModelNumbers,
    software: SoftwareNumbers,
    hardware: HardwareNumbers,
    layout: LayoutNumbers,
    part: Split,
    kept: ActivationNumbers,
    rollout_s: Number = 0.0,
) -> TimeNumbers:
    """Time of one step; see `training_numbers`. `rollout_s`: generating what it trains on, before it."""
    found = _step(model, software, hardware, layout, part, kept, rollout_s)
    work, times = found.work, part.micro_batches
    waited = _waits(hardware, layout, found.busy)
    return TimeNumbers(
        matrices=_repeated(work.matrices, times),
        attention=_repeated(work.attention, times),
        elementwise=_repeated(work.elementwise, times),
        launch=_repeated(work.waiting, times),
        dequantise=_repeated(work.dequantise, times),
        tensor=_repeated(found.tensor, times),
        context=_repeated(found.context, times),
        experts=_repeated(found.experts, times),
        gather=_repeated(found.gather, times),
        send=_repeated(found.send, times),
        fetch=_repeated(found.fetch, times),
        bubble=bubble_seconds(found.one, layout.pipeline_parallel, layout.virtual_pipeline),
        reduce=found.reduce,
        optimizer=found.optimizer,
        offload=found.offload,
        overhead=software.overhead_s,
        rollout=rollout_s,
        read=waited.read,
        prepare=waited.prepare,
        step=_fed(found.busy, waited),
    )


def _step(
    model: ModelNumbers,
    software: SoftwareNumbers,
    hardware: HardwareNumbers,
    layout: LayoutNumbers,
    part: Split,
    kept: ActivationNumbers,
    rollout_s: Number,
) -> _Step:
    work = _compute(model, software, hardware, layout, part, kept)
    talk = communication_numbers(model, software, hardware, layout, part)
    busy = overlap_window_seconds(work.computing, work.dequantise)
    tensor = _exposed(talk.tensor, software.tensor_hidden, busy)
    context = _exposed(talk.context, 1.0, work.attention)
    experts = _exposed(talk.experts, software.expert_hidden, busy)
    gather = _exposed(talk.sharded, software.gather_hidden, busy)
    send = _exposed(talk.send, software.data_hidden, busy)
    fetch = _fetch(software, hardware, layout, part)
    one = micro_batch_seconds(work.computing, work.dequantise, tensor, context, experts, gather, send, fetch)
    times = part.micro_batches
    pipelined = pipelined_step_seconds(one, times, layout.pipeline_parallel, layout.virtual_pipeline)
    often = where(layout.shard_gradients > 0, times, 1.0)
    reduce = _repeated(_exposed(talk.reduce, software.data_hidden, busy), often)
    optimizer, offload = _update(software, hardware, layout, part)
    busy_s = training_step_seconds(pipelined, reduce, optimizer, offload, software.overhead_s, rollout_s)
    return _Step(work, tensor, context, experts, gather, send, fetch, one, reduce, optimizer, offload, busy_s)


def _fed(busy_s: Number, waited: Waits) -> Number:
    return busy_s if waited is NOTHING else fed_step_seconds(busy_s, waited.whole)


def _exposed(communication_s: Number, hidden_share: Number, window_s: Number) -> Number:
    """What nothing hides; of what a layout has nothing of there is nothing to explain either."""
    return 0.0 if always(communication_s, 0.0) else unhidden_seconds(communication_s, hidden_share, window_s)


def _repeated(part_s: Number, micro_batches: Number) -> Number:
    return 0.0 if always(part_s, 0.0) else over_micro_batches(part_s, micro_batches)


def _fetch(software: SoftwareNumbers, hardware: HardwareNumbers, layout: LayoutNumbers, part: Split) -> Number:
    """Weights from the host, where they are left there."""
    if always(layout.offload_weights, 0.0):
        return 0.0  # nothing to explain
    return offloaded_weights_seconds(
        (part.dense_parameters + part.expert_parameters)
        * software.word_bytes
        * layout.offload_weights
        / part.shard_members,
        layout.full_recomputation,
        hardware.pcie_bytes_per_s,
        software.pcie_efficiency,
    )


def read_tokens(hardware: HardwareNumbers, layout: LayoutNumbers) -> tuple[Number, Number]:
    """Tokens that one node reads for a step, and how many nodes read tokens of their own."""
    reading = minimum(hardware.gpus / hardware.gpus_per_node, layout.data_parallel)
    tokens = tokens_of_node(
        layout.global_batch,
        layout.sequences_per_sample,
        layout.sequence_length,
        layout.completion_tokens,
        layout.useful_share,
        reading,
    )
    return tokens, reading


def _waits(hardware: HardwareNumbers, layout: LayoutNumbers, busy_s: Number) -> Waits:
    """What a step waits for the tokens that it trains on."""
    if hardware.feed is None:
        return NOTHING
    return waits(hardware.feed, *read_tokens(hardware, layout), busy_s)


def _compute(
    model: ModelNumbers,
    software: SoftwareNumbers,
    hardware: HardwareNumbers,
    layout: LayoutNumbers,
    part: Split,
    kept: ActivationNumbers,
) -> ComputeNumbers:
    again, attention_again = recomputed_shares(software, layout)
    matrices = _matrices(model, software, layout, part, again)
    reference = layout.reference_passes
    attention = attention_training_seconds(_attention(model, software, layout, part), reference, attention_again)
    dispatched: Number = 0.0
    if model.dispatch_width:
        routed = part.passed_tokens * model.dispatch_width * software.word_bytes
        dispatched = routed * software.expert_passes / layout.tensor_parallel
    moved = moved_activation_bytes(kept.layer, part.passed_share, dispatched, part.stage_layers)
    logits = where(part.passed_tokens > software.loss_chunk_tokens, FUSED_LOSS_BYTES, software.bytes_per_logit)
    loss = loss_moved_bytes(LOSS_PASSES, part.passed_tokens, model.vocabulary, logits, layout.tensor_parallel)
    casts: Number = 0.0
    if not always(software.cast_traffic, 0.0):
        casts = cast_moved_bytes(
            software.cast_traffic,
            part.passed_tokens,
            part.stage_layers,
            model.inner_width,
            layout.tensor_parallel,
            LAYER_MATRICES,
            model.hidden,
            model.dispatch_width,
        )
    elementwise = elementwise_seconds(
        moved, software.passes, casts, again, reference, loss, hardware.hbm_bytes_per_s, software.hbm_efficiency
    )
    each = layer_launch_seconds(software.launch_s, model.mixed_share, software.expert_launch_s)
    launch = kernel_launch_seconds(part.stage_layers, each, again, reference)
    dequantise: Number = 0.0
    if model.frozen:
        quantised = (part.dense_parameters - part.plain_parameters) * (software.frozen_weight_bytes < 2)
        dequantise = dequantise_seconds(
            quantised, software.dequantised_traffic, again, reference, hardware.hbm_bytes_per_s, software.hbm_efficiency
        )
    computing = compute_seconds(matrices, attention, elementwise, launch)
    waiting = launch_wait_seconds(launch, matrices, attention, elementwise)
    return ComputeNumbers(matrices, attention, elementwise, waiting, dequantise, computing)


def _matrices(
    model: ModelNumbers, software: SoftwareNumbers, layout: LayoutNumbers, part: Split, again: Number
) -> Number:
    """All multiplications of one micro-batch with matrices, forward, backward and computed again."""
    tokens, tp, padding = part.passed_tokens, layout.tensor_parallel, software.padding_tokens
    share = part.stage_layers / model.layers
    hidden, columns = model.hidden, software.padding_columns
    wider = narrow_columns(columns, software.wave_elements, tokens, padding)
    weights = padded_parameters(model.matrix_parameters, wider, hidden, LAYER_MATRICES * model.layers, tp)
    dense = matrix_flops(weights * share, tokens, padding, tp)
    experts_s: Number = 0.0
    if model.active_expert_parameters:
        expert_padding = padding * model.experts / maximum(model.experts_per_token, 1.0) / layout.expert_parallel
        experts = padded_parameters(model.active_expert_parameters, columns, hidden, model.expert_matrices, 1.0)
        routed = matrix_flops(experts * share, tokens * part.busiest_share, expert_padding, tp)
        experts_s = multiply_seconds(routed, software.flop_per_s, software.expert_utilisation)
    head = matrix_flops(model.head_matrix, tokens, padding, tp)
    dense_s = multiply_seconds(dense, software.flop_per_s, software.matrix_utilisation)
    head_s = multiply_seconds(head, software.wide_flop_per_s, software.wide_utilisation)
    layers_s = layer_matrix_seconds(dense_s, experts_s)
    forward_s = slowest_stage_seconds(layers_s, head_s, part.spare_layers, part.stage_layers)
    return matrix_seconds(forward_s, 1.0 - model.frozen, layout.reference_passes, layers_s, again)


def _attention(model: ModelNumbers, software: SoftwareNumbers, layout: LayoutNumbers, part: Split) -> Number:
    """Attention of one micro-batch forward. Kernels that write the whole matrix, and encoders, skip nothing of it."""
    tokens, tp = part.passed_tokens, layout.tensor_parallel
    share = part.stage_layers / model.layers
    seen, windowed = attended_tokens(model, part.span, maximum(layout.math_attention, 1.0 - model.causal))
    flops = attention_flops(0.0, tokens, seen, model.pair_flops * share, tp)
    if model.windowed_pair_flops:
        flops = attention_flops(flops, tokens, windowed, model.windowed_pair_flops * share, tp)
    return multiply_seconds(flops, software.wide_flop_per_s, software.attention_utilisation)


def recomputed_shares(software: SoftwareNumbers, layout: LayoutNumbers) -> tuple[Number, Number]:
    """Of the layers' matrices and of attention, the shares that are computed again in the backward pass."""
    full, selective = layout.full_recomputation, layout.selective_recomputation
    again = maximum(full, selective * software.selective_matrices)
    return again, maximum(full, selective * software.selective_attention)


def attended_tokens(model: ModelNumbers, span: Number, unmasked: Number) -> tuple[Number, Number]:
    """Earlier tokens that one looks at on average where `span` tokens go at once: in most layers, and in windowed ones.

    `unmasked` 1: every token looks at all of them, whatever the window.
    """
    pairs = span * (1.0 + unmasked)
    seen = mean_attended_tokens(pairs, 0.0, pairs)
    if not model.windowed_pair_flops:
        return seen, 0.0
    return seen, mean_attended_tokens(pairs, 0.0, where(unmasked > 0, pairs, model.window))


def _update(
    software: SoftwareNumbers, hardware: HardwareNumbers, layout: LayoutNumbers, part: Split
) -> tuple[Number, Number]:
    """The optimizer step on the GPU, and through the host where its states are there."""
    shards = part.shards(layout.shard_optimizer)
    stepped = part.trained_dense / shards[0] + part.trained_experts / shards[1]
    touched = 2.0 * (software.state_bytes + software.weight_bytes) + software.gradient_bytes
    here = stepped * (1.0 - layout.offload_optimizer)
    optimizer = optimizer_seconds(here, touched, hardware.hbm_bytes_per_s, software.hbm_efficiency)
    if always(layout.offload_optimizer, 0.0):
        return optimizer, 0.0
    offload = offloaded_step_seconds(
        stepped * layout.offload_optimizer,
        software.host_parameters_per_s,
        software.word_bytes,
        hardware.pcie_bytes_per_s,
        software.pcie_efficiency,
    )
    return optimizer, offload
