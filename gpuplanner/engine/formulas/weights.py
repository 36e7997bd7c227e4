"""Bytes that weights take, and what is read of them. Formats and their bits per weight are data; no tables here."""

from gpuplanner.engine.formulas.elementwise import Number, ceil, maximum, minimum
from gpuplanner.figures import formula
from gpuplanner.units import Unit


@formula(Unit.BYTE, "parameters · bits_per_weight / 8", "published block formats, scales and zero points included")
def stored_bytes(parameters: Number, bits_per_weight: Number) -> Number:
    """Bytes of `parameters` weights in a format of `bits_per_weight` bits, its scales and zero points included."""
    return parameters * bits_per_weight / 8.0


@formula(
    Unit.BYTE,
    "dense_copies · (max(head_bytes, embedding_bytes) + min(head_bytes, embedding_bytes) · (pipeline_parallel ≤ 1) +"
    " beside_bytes)",
    "the first stage has the embedding, the last one the output projection",
)
def edge_bytes(
    head_bytes: Number,
    embedding_bytes: Number,
    beside_bytes: Number,
    pipeline_parallel: Number,
    dense_copies: Number = 1.0,
) -> Number:
    """Weights beside the layers on the stage that has most of them; `beside_bytes`: towers for pictures and sound."""
    one, other = maximum(head_bytes, embedding_bytes), minimum(head_bytes, embedding_bytes)
    return dense_copies * (one + other * (pipeline_parallel <= 1) + beside_bytes)


@formula(
    Unit.RATIO,
    "computes_on_host · min(offload_bytes · layers / ((layer_bytes / tensor_parallel + copied_bytes) · stage_layers),"
    " 1)",
    "whole layers are left in host memory; those of the fullest stage",
)
def host_layer_share(
    offload_bytes: Number,
    layer_bytes: Number,
    copied_bytes: Number,
    layers: Number,
    stage_layers: Number,
    tensor_parallel: Number,
    computes_on_host: Number,
) -> Number:
    """Share of a GPU's layers that the CPU works on, since their weights lie in host memory.

    `computes_on_host`: 1 where it does, 0 where their weights come to the GPU.
    """
    held = (layer_bytes / tensor_parallel + copied_bytes) * stage_layers / layers
    return computes_on_host * minimum(offload_bytes / held, 1.0)


NO_LAYERS = 1e-6
"""Of the layers that a GPU works on; never none, so that what its pool holds stays a number."""


@formula(
    Unit.COUNT, "max(stage_layers · (1 - host_share), 0.000001)", "layers on the CPU keep their cache in host memory"
)
def gpu_layers(stage_layers: Number, host_share: Number) -> Number:
    """Layers of a stage that the GPU works on, where the CPU has the others."""
    return maximum(stage_layers * (1.0 - host_share), NO_LAYERS)


@formula(
    Unit.BYTE,
    "attention_bytes · attention_ranks + mlp_bytes · dense_copies + expert_bytes",
    "groups that attend for themselves each hold attention whole, and some servers the dense parts too",
)
def layer_matrix_bytes(
    attention_bytes: Number, attention_ranks: Number, mlp_bytes: Number, dense_copies: Number, expert_bytes: Number
) -> Number:
    """Matrices of all layers, as often as the ranks of a replica hold them."""
    return attention_bytes * attention_ranks + mlp_bytes * dense_copies + expert_bytes


@formula(Unit.COUNT, "ceil(layers / pipeline_parallel)", "layers are spread evenly over the stages")
def layers_of_fullest_stage(layers: Number, pipeline_parallel: Number) -> Number:
    """Layers of the pipeline stage that has most of them."""
    return ceil(layers / pipeline_parallel)


@formula(
    Unit.BYTE,
    "max((layer_bytes · stage_layers / layers + edge_bytes) / tensor_parallel"
    " + copied_bytes · stage_layers / layers - offload_bytes, 0)",
    "Megatron-style tensor parallelism: matrices are split, norms and routers copied",
)
def weight_bytes_per_gpu(
    layer_bytes: Number,
    copied_bytes: Number,
    edge_bytes: Number,
    layers: Number,
    stage_layers: Number,
    tensor_parallel: Number,
    offload_bytes: Number = 0.0,
) -> Number:
    """Weights on the fullest GPU.

    `layer_bytes`: matrices of all layers, split over the tensor-parallel ranks; `copied_bytes`: what every rank of a
    stage has whole; `edge_bytes`: embedding, output projection and towers of the stage that has most of them;
    `offload_bytes`: what each GPU leaves in host memory.
    """
    share = stage_layers / layers
    resident = (layer_bytes * share + edge_bytes) / tensor_parallel + copied_bytes * share
    return maximum(resident - offload_bytes, 0.0)
