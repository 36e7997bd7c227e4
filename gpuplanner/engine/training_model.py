"""A model as the few numbers that training depends on: sums and means over its layers. Nothing is estimated here."""

from dataclasses import dataclass

from gpuplanner.catalog.architecture import AttentionKind, LayerGroup, ModelArchitecture, Role
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.formulas.lora import adapter_parameters
from gpuplanner.figures import kept
from gpuplanner.workload.training import LoraTargets, Method, Training

FROZEN = {Method.LORA, Method.QLORA}


@dataclass(frozen=True, slots=True)
class ModelNumbers:
    """Sums over all layers unless it says a layer; then it is a mean of them.

    `layer_parameters` without, `expert_parameters` with nothing but routed experts, both resident; of the experts one
    token uses `active_expert_parameters`. `head_matrix`: weights of the output projection whether tied or not.
    `inner_width`: elements that the matrices of a layer put out for one token; `unread_width`: those that only feed
    frozen matrices of 16 bits, whose input no gradient needs (kernels of 4 bits keep it all the same);
    `dispatch_width`: those copied to experts. `pair_flops`: FLOP of one pair of tokens forward,
    `windowed_pair_flops` in layers that see `window` tokens. `mixed_share`: share of the layers that route to experts.
    `trained_share`: share of the matrices whose weights need gradients; `trained_parameters`: what the optimizer
    updates. `adapter_width`: inputs and outputs of the adapted matrices of a layer.
    """

    layers: float
    hidden: float
    vocabulary: float
    layer_parameters: float
    expert_parameters: float
    active_expert_parameters: float
    embedding_parameters: float
    head_parameters: float
    other_parameters: float
    head_matrix: float
    matrix_parameters: float
    largest_layer: float
    largest_matrix: float
    inner_width: float
    unread_width: float
    dispatch_width: float
    experts: float
    experts_per_token: float
    expert_matrices: float
    heads: float
    pair_flops: float
    windowed_pair_flops: float
    window: float
    kv_width: float
    mixed_share: float
    causal: float
    frozen: float
    adapters: float

    @property
    def resident_parameters(self) -> float:
        """All weights, adapters not counted."""
        ends = self.embedding_parameters + self.head_parameters + self.other_parameters
        return self.layer_parameters + self.expert_parameters + ends

    @property
    def active_parameters(self) -> float:
        """Weights that multiply one token, the output projection with them and the embedding not."""
        return self.matrix_parameters + self.active_expert_parameters + self.head_matrix

    @property
    def trained_parameters(self) -> float:
        """What the optimizer updates."""
        return self.adapters if self.frozen else self.resident_parameters


def model_numbers(model: ModelArchitecture, workload: Training) -> ModelNumbers:
    """The numbers of `model` as `workload` trains it."""
    frozen = workload.method in FROZEN
    reads_all = not frozen or workload.method is Method.QLORA
    return _numbers(model, frozen, reads_all, workload.lora_targets, workload.lora_rank)


@kept(64)
def _numbers(model: ModelArchitecture, frozen: bool, reads_all: bool, targets: LoraTargets, rank: int) -> ModelNumbers:
    groups = model.groups
    layers = float(model.layers)
    hidden = float(model.hidden)
    experts_resident = sum(g.count * g.mlp.experts * g.mlp.expert_parameters for g in groups)
    experts_active = sum(g.count * g.mlp.experts_per_token * g.mlp.expert_parameters for g in groups)
    dense = sum(g.count * _dense_parameters(g) for g in groups)
    matrices = sum(g.count * (_dense_parameters(g) - _plain_parameters(g)) for g in groups)
    mixed = [g for g in groups if g.mlp.experts]
    mixed_layers = sum(g.count for g in mixed) or 1
    window = max((g.attention.window or 0 for g in groups), default=0)
    widths = sum(g.count * _adapted_width(g, hidden, targets) for g in groups)
    adapters = float(adapter_parameters(rank, widths)) if frozen else 0.0
    return ModelNumbers(
        layers=layers,
        hidden=hidden,
        vocabulary=float(model.vocabulary),
        layer_parameters=float(dense),
        expert_parameters=float(experts_resident),
        active_expert_parameters=float(experts_active),
        embedding_parameters=float(model.embedding_parameters),
        head_parameters=float(model.head_parameters),
        other_parameters=float(model.final_norm_parameters + model.tower_parameters + model.extra_parameters),
        head_matrix=hidden * model.vocabulary,
        matrix_parameters=float(matrices),
        largest_layer=float(max(_dense_parameters(g) + g.mlp.experts * g.mlp.expert_parameters for g in groups)),
        largest_matrix=float(max(_largest_matrix(g, hidden) for g in groups)),
        inner_width=sum(g.count * _inner_width(g, hidden) for g in groups) / layers,
        unread_width=0.0 if reads_all else sum(g.count * _unread_width(g, hidden, targets) for g in groups) / layers,
        dispatch_width=sum(2.0 * hidden * g.count * g.mlp.experts_per_token for g in groups) / layers,
        experts=sum(g.count * g.mlp.experts for g in mixed) / mixed_layers,
        experts_per_token=sum(g.count * g.mlp.experts_per_token for g in mixed) / mixed_layers,
        expert_matrices=sum(2.0 * g.count * g.mlp.experts_per_token for g in mixed),
        heads=sum(g.count * g.attention.heads for g in groups if _pairs(g)) / layers,
        pair_flops=sum(g.count * _pairs(g) for g in groups if not g.attention.window),
        windowed_pair_flops=sum(g.count * _pairs(g) for g in groups if g.attention.window),
        window=float(window or 1),
        kv_width=sum(g.count * g.attention.cache_elements_per_token for g in groups) / layers,
        mixed_share=sum(g.count for g in mixed) / layers,
        causal=0.0 if model.role is Role.ENCODER else 1.0,
        frozen=1.0 if frozen else 0.0,
        adapters=adapters,
    )


def _dense_parameters(group: LayerGroup) -> float:
    """One layer without its routed experts."""
    cross = group.cross_attention.parameters if group.cross_attention else 0
    shared = group.mlp.parameters - group.mlp.experts * group.mlp.expert_parameters
    return float(group.attention.parameters + cross + shared + group.norm_parameters)


def _plain_parameters(group: LayerGroup) -> float:
    """Norms and biases of one layer: they are kept and updated but multiply nothing."""
    return float(group.norm_parameters + group.attention.unquantised_parameters)


def _inner_width(group: LayerGroup, hidden: float) -> float:
    """Outputs of one layer's matrices for one token. Latent attention's full keys and values are made anew from the
    latent, as all recipes for such models do, and so are not kept.
    """
    width = (_dense_parameters(group) - _plain_parameters(group)) / hidden
    return width + group.mlp.experts_per_token * group.mlp.expert_parameters / hidden


def _unread_width(group: LayerGroup, hidden: float, targets: LoraTargets) -> float:
    """Of a layer with a frozen base, what feeds frozen matrices alone: where the MLP carries no adapter, the output of
    its norm and the input of its last matrix. What attention reads is kept for its kernel or for the adapters.
    """
    if targets is LoraTargets.ALL_LINEAR:
        return 0.0
    mlp = group.mlp
    return hidden + max(mlp.experts_per_token, mlp.experts == 0) * mlp.intermediate + mlp.shared_intermediate


def _pairs(group: LayerGroup) -> float:
    """FLOP of one pair of tokens in one layer, forward: a product of query and key, and one with the value.

    Latent attention multiplies expanded keys and values: only a server that decodes multiplies with the latent itself.
    """
    attention = group.attention
    if attention.kind in {AttentionKind.LINEAR, AttentionKind.NONE}:
        return 0.0
    key = attention.expanded_head_dim or attention.head_dim
    value = attention.expanded_value_head_dim or attention.value_head_dim or key
    return 2.0 * attention.heads * (key + value)


def _largest_matrix(group: LayerGroup, hidden: float) -> float:
    mlp = group.mlp
    widest = max(mlp.intermediate, mlp.shared_intermediate, group.attention.heads * group.attention.head_dim)
    return hidden * widest


def _adapted_width(group: LayerGroup, hidden: float, targets: LoraTargets) -> float:
    """Inputs and outputs of the matrices of one layer that carry an adapter; every routed expert has its own."""
    attention = group.attention
    query = attention.heads * attention.head_dim
    value = (attention.kv_heads or attention.heads) * (attention.value_head_dim or attention.head_dim)
    key = (attention.kv_heads or attention.heads) * attention.head_dim
    width = (hidden + query) + (hidden + value)
    if targets is LoraTargets.QV:
        return width
    output = attention.heads * (attention.value_head_dim or attention.head_dim)
    width += (hidden + key) + (output + hidden)
    if targets is LoraTargets.ATTENTION:
        return width
    mlp = group.mlp
    matrices = 3 if mlp.gated else 2
    inner = mlp.experts * mlp.intermediate + mlp.shared_intermediate if mlp.experts else mlp.intermediate
    copies = max(mlp.experts, 1) + (1 if mlp.experts and mlp.shared_intermediate else 0)
    return width + matrices * (copies * hidden + inner)


def quantised_parameters(model: ModelNumbers) -> tuple[Number, Number]:
    """Of a frozen base: weights in the layers' matrices, and those that stay as they are (ends, norms)."""
    quantised = model.matrix_parameters + model.expert_parameters
    return quantised, model.resident_parameters - quantised
