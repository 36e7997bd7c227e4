"""How one layout divides a model over ranks: what the fullest one holds, shards, groups and where they lie.

Ranks lie in the order TP, CP, DP, PP, as Megatron and torchtitan place them: TP inside a node as far as it goes.
"""

from dataclasses import dataclass, replace

from gpuplanner.engine.formulas.activations import tokens_per_micro_batch
from gpuplanner.engine.formulas.elementwise import Number, always, maximum, minimum, where
from gpuplanner.engine.formulas.moe import busiest_rank_tokens, largest_deviation
from gpuplanner.engine.formulas.padding import passed_share, passed_tokens, sample_span
from gpuplanner.engine.formulas.pipeline import (
    layers_per_stage,
    micro_batches,
    micro_batches_in_flight,
    micro_batches_in_flight_last,
)
from gpuplanner.engine.formulas.training_memory import rank_expert_parameters, stage_parameters
from gpuplanner.engine.training_inputs import HardwareNumbers, LayoutNumbers
from gpuplanner.engine.training_model import ModelNumbers


@dataclass(frozen=True, slots=True)
class Split:
    """What the fullest rank of a layout holds and with whom it works.

    `dense_parameters` and `expert_parameters` of the model, `trained_*` those of them (or the adapters) that it
    updates. `*_shards`: over how many ranks a state is divided. `*_in_node`: ranks of a group in one node.
    `tokens`: of a micro-batch of the longest samples, which decides memory; `passed_tokens`: of a mean one, padding
    included, `passed_share` of the former; `span`: tokens that attention goes over at once; `busiest_share`: what the
    rank with the most chosen experts computes over the mean of its group, were the router even.
    """

    sequence_length: Number
    stage_layers: Number
    spare_layers: Number
    micro_batches: Number
    tokens: Number
    passed_share: Number
    passed_tokens: Number
    span: Number
    busiest_share: Number
    in_flight: Number
    in_flight_last: Number
    residual_shards: Number
    dense_parameters: Number
    expert_parameters: Number
    trained_dense: Number
    trained_experts: Number
    plain_parameters: Number
    data_members: Number
    data_in_node: Number
    expert_copies: Number
    shard_members: Number
    expert_shard_members: Number
    expert_in_node: Number
    expert_tensor: Number
    tensor_in_node: Number
    context_in_node: Number

    def shards(self, switch: Number) -> tuple[Number, Number]:
        """Over how many ranks dense and expert states are divided where `switch` is 1; 1 where it is 0."""
        if always(switch, 0.0):
            return 1.0, 1.0
        dense = 1.0 + switch * (self.shard_members - 1.0)
        if always(self.expert_parameters, 0.0):
            return dense, 1.0  # of a model without experts there is nothing to divide
        return dense, 1.0 + switch * (self.expert_shard_members - 1.0)


def split(model: ModelNumbers, hardware: HardwareNumbers, layout: LayoutNumbers) -> Split:
    """The fullest rank of a layout."""
    tp, pp, cp, ep = (
        layout.tensor_parallel,
        layout.pipeline_parallel,
        layout.context_parallel,
        layout.expert_parallel,
    )
    stage_layers = layers_per_stage(model.layers, pp)
    spare = (stage_layers * pp > model.layers) * 1.0
    whole_ends = model.embedding_parameters + model.head_parameters
    ends = where(pp > 1, max(model.embedding_parameters, model.head_parameters), whole_ends)
    ends = ends + model.other_parameters
    dense = stage_parameters(model.layer_parameters, model.layers, stage_layers, ends, spare, tp)
    data_members = layout.data_parallel * cp
    whole_experts = always(ep, 1.0)
    expert_tensor = tp if whole_experts else where(ep <= data_members, tp, 1.0)
    experts: Number = 0.0
    if model.expert_parameters:
        experts = rank_expert_parameters(model.expert_parameters, stage_layers, model.layers, ep, expert_tensor)
    adapters = model.adapters * stage_layers / model.layers / tp
    frozen = model.frozen > 0
    per_node = hardware.gpus_per_node
    tensor_in_node = minimum(tp, per_node)
    room = maximum(per_node / tp, 1.0)
    data_in_node = minimum(data_members, room)
    expert_copies = data_members if whole_experts else maximum(data_members * tp / (ep * expert_tensor), 1.0)
    in_node = data_members
    if not always(layout.shard_in_node, 0.0):
        in_node = where(layout.shard_in_node > 0, data_in_node, data_members)
    return Split(
        **_micro_batches(model, layout, layout.micro_batch, layout.sequence_length),
        stage_layers=stage_layers,
        spare_layers=spare,
        residual_shards=where(layout.sequence_parallel > 0, tp, 1.0),
        dense_parameters=dense,
        expert_parameters=experts,
        trained_dense=adapters if frozen else dense,
        trained_experts=0.0 if frozen else experts,
        plain_parameters=ends / tp,
        data_members=data_members,
        data_in_node=data_in_node,
        expert_copies=expert_copies,
        shard_members=in_node,
        expert_shard_members=in_node if whole_experts else minimum(expert_copies, in_node),
        expert_in_node=1.0 if whole_experts else minimum(ep, maximum(per_node / expert_tensor, 1.0)),
        expert_tensor=expert_tensor,
        tensor_in_node=tensor_in_node,
        context_in_node=minimum(cp, room),
    )


def resized(
    part: Split, model: ModelNumbers, layout: LayoutNumbers, micro_batch: Number, sequence_length: Number
) -> Split:
    """The same ranks with another micro-batch or other sequences, where nothing else of the layout changes."""
    return replace(part, **_micro_batches(model, layout, micro_batch, sequence_length))


def _micro_batches(
    model: ModelNumbers, layout: LayoutNumbers, micro_batch: Number, sequence_length: Number
) -> dict[str, Number]:
    """What of a `Split` depends on the micro-batch and on the length of its sequences."""
    pp, ep = layout.pipeline_parallel, layout.expert_parallel
    passes = micro_batches(layout.global_batch, micro_batch, layout.data_parallel)
    sequences = micro_batch * layout.sequences_per_sample
    tokens = tokens_per_micro_batch(sequences, sequence_length, layout.context_parallel)
    passed = passed_share(layout.length_share, sequences)
    computed = passed_tokens(tokens, passed)
    busiest: Number = 1.0
    if model.experts and not always(ep, 1.0):
        group = computed * ep
        chosen = busiest_rank_tokens(group, model.experts_per_token, model.experts, ep, largest_deviation(ep))
        busiest = chosen / group
    return {
        "sequence_length": sequence_length,
        "micro_batches": passes,
        "tokens": tokens,
        "passed_share": passed,
        "passed_tokens": computed,
        "span": sample_span(sequence_length, passed * layout.document_share),
        "busiest_share": busiest,
        "in_flight": micro_batches_in_flight(passes, pp, layout.virtual_pipeline),
        "in_flight_last": micro_batches_in_flight_last(passes, pp, layout.virtual_pipeline),
    }
