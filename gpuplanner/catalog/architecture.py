"""What a transformer is made of, as far as memory and time depend on it. Types only; counting is in `parameters.py`.

A model is a few groups of equal layers. Sizes are those of the whole model, before any sharding.
"""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class Frozen(BaseModel):
    """Base of the catalog's value types: immutable, and nothing unknown is accepted."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class AttentionKind(StrEnum):
    """How a layer mixes tokens, and so what it must keep for each of them."""

    FULL = "full"
    SLIDING = "sliding"
    MLA = "mla"
    LINEAR = "linear"
    NONE = "none"


class Attention(Frozen):
    """Token mixing of one layer.

    `cache_elements_per_token`: numbers kept for each token in the KV cache of this layer (K and V of all KV heads; the
    latent and its rotary part for MLA; plus an indexer's keys); 0 for linear and state-space layers.
    `cache_shards`: over how many tensor-parallel ranks these numbers can be split (the KV heads; 1 for MLA: copied).
    `index_elements_per_token`: how many of them are an indexer's keys, which servers keep in FP8 (a 4-byte scale for
    each 128) whatever the KV precision.
    `state_elements`: numbers kept for each sequence whatever its length (recurrent state, convolution window);
    `state_bytes`: their size in the formats that the model asks for; `state_shards`: how far they can be split.
    `top_k_tokens`: past tokens that a sparse attention reads for each new one; None where it reads them all.
    `parameters`: weights of the projections, with biases and norms inside the attention;
    `unquantised_parameters`: those of them (biases, norms, convolutions) that no weight quantisation converts.
    """

    kind: AttentionKind
    heads: int = Field(0, ge=0)
    kv_heads: int = Field(0, ge=0)
    head_dim: int = Field(0, ge=0)
    value_head_dim: int = Field(0, ge=0)
    window: int | None = Field(None, ge=1)
    cache_elements_per_token: int = Field(0, ge=0)
    cache_shards: int = Field(1, ge=1)
    index_elements_per_token: int = Field(0, ge=0)
    state_elements: int = Field(0, ge=0)
    state_bytes: int = Field(0, ge=0)
    state_shards: int = Field(1, ge=1)
    top_k_tokens: int | None = Field(None, ge=1)
    parameters: int = Field(0, ge=0)
    unquantised_parameters: int = Field(0, ge=0)


class Mlp(Frozen):
    """The feed-forward part of one layer. For a mixture of experts `intermediate` is that of one routed expert.

    `parameters`: all that is resident, router and shared experts included; `active_parameters`: what one token uses.
    `shared_parameters`: the shared experts, or a dense path beside the experts, that every token uses.
    `unquantised_parameters`: router, gates, biases and norms, which no weight quantisation converts; in `parameters`,
    not in `expert_parameters` and `shared_parameters`.
    """

    intermediate: int = Field(0, ge=0)
    gated: bool = True
    experts: int = Field(0, ge=0)
    experts_per_token: int = Field(0, ge=0)
    shared_intermediate: int = Field(0, ge=0)
    expert_parameters: int = Field(0, ge=0, description="weights of one routed expert")
    shared_parameters: int = Field(0, ge=0)
    parameters: int = Field(0, ge=0)
    active_parameters: int = Field(0, ge=0)
    unquantised_parameters: int = Field(0, ge=0)


class LayerGroup(Frozen):
    """`count` equal layers. `norm_parameters` are those outside of attention and MLP, for one layer.

    `encoder`: the layers stand in the encoder of an encoder-decoder. `cross_attention`: what a decoder layer reads the
    encoder's output with; its cache holds the input's tokens, once for each sequence.
    """

    count: int = Field(ge=1)
    attention: Attention
    mlp: Mlp
    norm_parameters: int = Field(0, ge=0)
    encoder: bool = False
    cross_attention: Attention | None = None


class Role(StrEnum):
    """What a model is used as; an encoder keeps no KV cache."""

    DECODER = "decoder"
    ENCODER = "encoder"
    ENCODER_DECODER = "encoder-decoder"


class Part(StrEnum):
    """The kinds of weights that a quantisation can treat apart."""

    EMBEDDING = "embedding"
    HEAD = "head"
    ATTENTION = "attention"
    LINEAR_ATTENTION = "linear attention"
    MLP = "mlp"
    EXPERTS = "experts"
    SHARED_EXPERTS = "shared experts"
    UNQUANTISED = "unquantised"
    TOWER = "tower"
    EXTRA = "extra"


class StoredPart(Frozen):
    """How a part of the weights is stored in the published files.

    `bits_per_weight`: its exact size there, scales included, where the weight files themselves were read.
    """

    part: Part
    precision: str
    bits_per_weight: float | None = Field(None, gt=0, le=64)


class ModelArchitecture(Frozen):
    """A language model's shape.

    `embedding_parameters`: the token (and position) embedding; `head_parameters`: the output projection, 0 when tied.
    `tower_parameters`: vision or audio encoders that are loaded beside the language model.
    `extra_parameters`: resident weights that plain decoding does not use, such as multi-token-prediction layers.
    `weight_quantisation`: how most weights are stored as published ("bf16", "fp8", "nvfp4", "mxfp4", "int4", …);
    `stored_parts`: the parts of them that are stored otherwise. `kv_quantisation`: the KV cache's format that the files
    bring scales for, "" when none. `notes`: ids of messages on what could not be known from the configuration.
    """

    name: str
    family: str
    role: Role = Role.DECODER
    hidden: int = Field(ge=1)
    vocabulary: int = Field(ge=1)
    groups: tuple[LayerGroup, ...] = Field(min_length=1)
    tied_embeddings: bool = False
    embedding_parameters: int = Field(0, ge=0)
    head_parameters: int = Field(0, ge=0)
    final_norm_parameters: int = Field(0, ge=0)
    tower_parameters: int = Field(0, ge=0)
    extra_parameters: int = Field(0, ge=0)
    max_positions: int | None = Field(None, ge=1)
    weight_quantisation: str = "bf16"
    stored_parts: tuple[StoredPart, ...] = ()
    kv_quantisation: str = ""
    notes: tuple[str, ...] = ()

    @property
    def layers(self) -> int:
        """All layers of all groups."""
        return sum(group.count for group in self.groups)

    @property
    def is_moe(self) -> bool:
        """Whether any layer routes tokens to experts."""
        return any(group.mlp.experts for group in self.groups)
