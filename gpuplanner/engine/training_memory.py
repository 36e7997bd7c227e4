"""Memory of the fullest GPU while training, by part and by phase. Numbers only; texts and verdicts are elsewhere."""

from dataclasses import dataclass, replace

from gpuplanner.engine.formulas.activations import (
    inner_bytes_per_token,
    kept_activation_bytes,
    kept_layer_bytes,
    layer_activation_bytes,
    loss_bytes,
    residual_bytes_per_token,
    workspace_beyond_loss_bytes,
    workspace_bytes,
)
from gpuplanner.engine.formulas.elementwise import Number, always, maximum, where
from gpuplanner.engine.formulas.lora import dequantised_bytes, frozen_base_bytes
from gpuplanner.engine.formulas.training_memory import (
    allocated_bytes,
    allocator_bytes,
    bucket_bytes,
    cast_bytes,
    early_gradient_bytes,
    frozen_weight_bytes,
    gather_bytes,
    gradient_bytes,
    held_share,
    hole_bytes,
    optimizer_bytes,
    phase_tensor_bytes,
    process_bytes,
    process_overhead_bytes,
    resident_weight_bytes,
    step_copy_bytes,
)
from gpuplanner.engine.training_inputs import LayoutNumbers, SoftwareNumbers
from gpuplanner.engine.training_model import ModelNumbers
from gpuplanner.engine.training_split import Split

NOTHING = 0.0


@dataclass(frozen=True, slots=True)
class StateNumbers:
    """Bytes of model states on the fullest GPU, and of the buffers that come with them.

    `weights`: what is trained; `base`: frozen weights; `reference`: a copy that is compared with; `cast`: 16-bit
    copies to compute with; `early_gradients`: those that are there before the backward pass.
    """

    weights: Number
    base: Number
    reference: Number
    cast: Number
    gradients: Number
    early_gradients: Number
    optimizer: Number
    step_copy: Number
    gathered: Number
    buckets: Number


@dataclass(frozen=True, slots=True)
class ActivationNumbers:
    """Bytes that one rank of the fullest stage keeps for the backward pass, and what comes and goes with it.

    `layer`: all that one layer would keep of a micro-batch; `late_workspace`: the workspace beyond the loss.
    """

    layer: Number
    activations: Number
    workspace: Number
    late_workspace: Number
    loss: Number


@dataclass(frozen=True, slots=True)
class MemoryNumbers:
    """Memory of the fullest GPU: parts, phases, and the numbers that people measure.

    `allocated`: tensors at the peak; `reserved`: with what the allocator keeps cached; `needed`: what has to fit, with
    the allocator's unavoidable `holes`, the `overhead` of the process and the `rollout` beside it;
    `shown`: as nvidia-smi shows it.
    """

    states: StateNumbers
    kept: ActivationNumbers
    load: Number
    forward: Number
    backward: Number
    reduce: Number
    step: Number
    allocated: Number
    holes: Number
    overhead: Number
    rollout: Number
    reserved: Number
    needed: Number
    shown: Number


def memory_numbers(
    model: ModelNumbers,
    software: SoftwareNumbers,
    layout: LayoutNumbers,
    part: Split,
    rollout_held: Number = NOTHING,
    states: StateNumbers | None = None,
) -> MemoryNumbers:
    """Memory of the fullest GPU in each phase; see `training_numbers`.

    `rollout_held`: bytes that a server takes which generates on the same GPU; `states`: where they are known already.
    """
    states = states or _states(model, software, layout, part)
    kept = _activations(model, software, layout, part)
    frozen = frozen_weight_bytes(states.base, states.reference)
    load, forward, backward, reduce, step = _phases(states, kept, frozen)
    allocated = allocated_bytes(load, forward, backward, reduce, step)
    stays = states.weights, frozen, states.optimizer
    gathers = (states.gathered > 0) * 1.0
    holes = hole_bytes(held_share(software.lost_share, software.sharded_lost_share, gathers), allocated, *stays)
    cached = hole_bytes(held_share(software.cached_share, software.sharded_cached_share, gathers), allocated, *stays)
    ranks = part.data_members * layout.tensor_parallel * layout.pipeline_parallel
    overhead = process_overhead_bytes(software.context_bytes, software.communicator_bytes, ranks)
    return MemoryNumbers(
        states=states,
        kept=kept,
        load=load,
        forward=forward,
        backward=backward,
        reduce=reduce,
        step=step,
        allocated=allocated,
        holes=holes,
        overhead=overhead,
        rollout=rollout_held,
        reserved=allocator_bytes(allocated, cached),
        needed=process_bytes(allocated, holes, overhead, rollout_held),
        shown=process_bytes(allocated, cached, overhead, rollout_held),
    )


def _phases(
    states: StateNumbers, kept: ActivationNumbers, frozen: Number
) -> tuple[Number, Number, Number, Number, Number]:
    """Bytes of tensors while weights are loaded, in the forward and backward pass, in the reduction and in the step."""
    load = phase_tensor_bytes(
        states.weights, frozen, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING
    )
    forward = phase_tensor_bytes(
        states.weights,
        frozen,
        states.cast,
        states.early_gradients,
        states.optimizer,
        kept.activations,
        NOTHING,
        NOTHING,
        states.gathered,
        NOTHING,
        NOTHING,
    )
    backward = phase_tensor_bytes(
        states.weights,
        frozen,
        states.cast,
        states.early_gradients,
        states.optimizer,
        kept.activations,
        kept.late_workspace,
        kept.loss,
        states.gathered,
        states.buckets,
        NOTHING,
    )
    reduce = phase_tensor_bytes(
        states.weights,
        frozen,
        states.cast,
        states.gradients,
        states.optimizer,
        kept.layer,
        kept.workspace,
        NOTHING,
        states.gathered,
        states.buckets,
        NOTHING,
    )
    step = phase_tensor_bytes(
        states.weights,
        frozen,
        NOTHING,
        states.gradients,
        states.optimizer,
        NOTHING,
        NOTHING,
        NOTHING,
        NOTHING,
        states.buckets,
        states.step_copy,
    )
    return load, forward, backward, reduce, step


def with_passes(states: StateNumbers, software: SoftwareNumbers, part: Split) -> StateNumbers:
    """The states of the same layout in another number of micro-batches: what gradients take between them changes."""
    early = early_gradient_bytes(states.gradients, software.persistent_gradients, part.micro_batches)
    return replace(states, early_gradients=early)


def _states(model: ModelNumbers, software: SoftwareNumbers, layout: LayoutNumbers, part: Split) -> StateNumbers:
    trained = part.trained_dense, part.trained_experts
    weight_shards = part.shards(layout.shard_weights)
    gradient_shards = part.shards(layout.shard_gradients)
    optimizer_shards = part.shards(layout.shard_optimizer)
    weights_here, states_here = 1.0 - layout.offload_weights, 1.0 - layout.offload_optimizer
    gradients = gradient_bytes(
        states_here, software.gradient_bytes, trained[0], gradient_shards[0], trained[1], gradient_shards[1]
    )
    layers = part.dense_parameters - part.plain_parameters + part.expert_parameters
    base: Number = NOTHING
    gathered_each = end_each = software.word_bytes
    sharded = layout.shard_weights
    if model.frozen:
        # FSDP wants the weights that it splits in one format.
        end_each = where(layout.shard_base > 0, software.word_bytes, software.frozen_end_bytes)
        gathered_each = software.frozen_weight_bytes
        base_shards = 1.0 + layout.shard_base * (part.shard_members - 1.0)
        base = frozen_base_bytes(
            weights_here,
            layers,
            software.frozen_weight_bytes,
            part.plain_parameters,
            end_each,
            base_shards,
        )
        sharded = layout.shard_base
    reference: Number = NOTHING
    if not always(layout.reference_copy, 0.0):
        reference = resident_weight_bytes(
            layout.reference_copy * weights_here,
            software.word_bytes,
            part.dense_parameters,
            weight_shards[0],
            part.expert_parameters,
            weight_shards[1],
        )
    elsewhere = maximum(sharded * (part.shard_members > 1), layout.offload_weights)
    live = maximum(layers / part.stage_layers * software.gathered_layers, software.gathered_parameters)
    return StateNumbers(
        weights=resident_weight_bytes(
            weights_here, software.weight_bytes, trained[0], weight_shards[0], trained[1], weight_shards[1]
        ),
        base=base,
        reference=reference,
        cast=cast_bytes(software.cast_bytes, trained[0], weight_shards[0], trained[1], weight_shards[1]),
        gradients=gradients,
        early_gradients=early_gradient_bytes(gradients, software.persistent_gradients, part.micro_batches),
        optimizer=optimizer_bytes(
            states_here, software.state_bytes, trained[0], optimizer_shards[0], trained[1], optimizer_shards[1]
        ),
        step_copy=step_copy_bytes(
            states_here, software.step_copy_bytes, trained[0], optimizer_shards[0], trained[1], optimizer_shards[1]
        ),
        gathered=gather_bytes(elsewhere, live, layers, gathered_each, part.plain_parameters, end_each),
        buckets=bucket_bytes(
            software.bucket_bytes,
            software.bucket_parameters,
            trained[0] + trained[1],
            part.data_members,
            layout.shard_weights,
        ),
    )


def _activations(
    model: ModelNumbers, software: SoftwareNumbers, layout: LayoutNumbers, part: Split
) -> ActivationNumbers:
    tp = layout.tensor_parallel
    selective, full = layout.selective_recomputation, layout.full_recomputation
    residual = residual_bytes_per_token(software.residual_copies, model.hidden, part.residual_shards)
    inner = inner_bytes_per_token(
        software.saved_copies,
        model.inner_width,
        model.dispatch_width * part.busiest_share,
        model.unread_width,
        software.score_bytes * layout.math_attention * (1.0 - selective),
        model.heads,
        part.sequence_length,
        tp,
    )
    layer = layer_activation_bytes(part.tokens, residual, inner)
    dropped = selective * (1.0 - software.selective_kept)
    one = kept_layer_bytes(part.tokens, residual, inner, 1.0 - dropped, full, model.hidden, part.residual_shards)
    first = kept_activation_bytes(one, part.stage_layers, part.in_flight)
    last = kept_activation_bytes(one, part.stage_layers, part.in_flight_last)
    loss = loss_bytes(part.tokens, software.loss_chunk_tokens, model.vocabulary, software.bytes_per_logit, tp)
    dequantised = (
        dequantised_bytes(model.largest_matrix / tp, software.frozen_weight_bytes) if model.frozen else NOTHING
    )
    workspace = workspace_bytes(
        layer,
        maximum((full > 0) * 1.0, dropped),
        part.tokens,
        software.workspace_copies,
        model.inner_width,
        tp,
        dequantised,
    )
    ends_fullest = last + loss >= first
    loss = where(ends_fullest, loss, NOTHING)
    return ActivationNumbers(
        layer=layer,
        activations=where(ends_fullest, last, first),
        workspace=workspace,
        late_workspace=workspace_beyond_loss_bytes(workspace, loss),
        loss=loss,
    )
