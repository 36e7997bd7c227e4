"""What a transformer is made of, as far as memory and time depend on it. Types only; counting is in `parameters.py`.

A model is a few groups of equal layers. Sizes are those of the whole model, before any sharding.
"""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from gpuplanner.messages import InputError, msg, without_controls

LAYERS: Final = 4096
"""Most layers that are accepted: the deepest published model has a few hundred."""
WIDTH: Final = 2**24
"""Largest width of a layer, of a vocabulary and the like."""
POSITIONS: Final = 2**40
"""Largest context length that is accepted."""
HEADS: Final = 2**16
"""Most attention heads or experts of a layer."""
_LONGEST_NAME = 200

Width = Annotated[int, Field(ge=0, le=WIDTH, strict=True)]
Heads = Annotated[int, Field(ge=0, le=HEADS, strict=True)]
Shards = Annotated[int, Field(ge=1, le=HEADS, strict=True)]
Positions = Annotated[int, Field(ge=1, le=POSITIONS, strict=True)]
Elements = Annotated[int, Field(ge=0, le=2**48, strict=True)]
"""Numbers or bytes of one layer's cache or state; the widest published one keeps under a million for a token."""
Parameters = Annotated[int, Field(ge=0, le=10**15, strict=True)]
"""Weights of a part: the largest published models have some 10¹² in all."""
Name = Annotated[str, Field(max_length=_LONGEST_NAME), AfterValidator(without_controls)]


class Frozen(BaseModel):
    """Base of the catalog's value types: immutable, and nothing unknown is accepted."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class AttentionKind(StrEnum):
    """How a layer mixes tokens, and so what it must keep for each of them."""

    FULL = "full"
    SLIDING = "sliding"
    MLA = "mla"
    LINEAR = "linear"
    NONE = "none"


INDEX_BITS = 8.25
"""Of one number of an indexer's keys: FP8 with a 4-byte scale for 128 of them (DeepSeek-V3.2)."""


class Attention(Frozen):
    """Token mixing of one layer.

    `cache_elements_per_token`: numbers kept for each token in the KV cache of this layer (K and V of all KV heads; the
    latent and its rotary part for MLA; plus an indexer's keys); 0 for linear and state-space layers.
    `cache_shards`: over how many tensor-parallel ranks these numbers can be split (the KV heads; 1 for MLA: copied).
    `index_elements_per_token`: how many of them are an indexer's keys, which servers keep at `INDEX_BITS` whatever the
    KV precision.
    `state_elements`: numbers kept for each sequence whatever its length (recurrent state, convolution window);
    `state_bytes`: their size in the formats that the model asks for; `state_shards`: how far they can be split.
    `expanded_head_dim`, `expanded_value_head_dim`: of latent attention, the sizes of a head whose keys and values are
    made from the latent first, as for training and for prompts; 0 where they are those of the cache.
    `top_k_tokens`: past tokens that a sparse attention reads for each new one; None where it reads them all.
    `parameters`: weights of the projections, with biases and norms inside the attention;
    `unquantised_parameters`: those of them (biases, norms, convolutions) that no weight quantisation converts.
    """

    kind: AttentionKind
    heads: Heads = 0
    kv_heads: Heads = 0
    head_dim: Width = 0
    value_head_dim: Width = 0
    expanded_head_dim: Width = 0
    expanded_value_head_dim: Width = 0
    window: Positions | None = None
    cache_elements_per_token: Elements = 0
    cache_shards: Shards = 1
    index_elements_per_token: Elements = 0
    state_elements: Elements = 0
    state_bytes: Elements = 0
    state_shards: Shards = 1
    top_k_tokens: Positions | None = None
    parameters: Parameters = 0
    unquantised_parameters: Parameters = 0

    @model_validator(mode="after")
    def _parts_within_the_whole(self) -> "Attention":
        _within("index_elements_per_token", self.index_elements_per_token, self.cache_elements_per_token)
        _within("unquantised_parameters", self.unquantised_parameters, self.parameters)
        return self


class Mlp(Frozen):
    """The feed-forward part of one layer. For a mixture of experts `intermediate` is that of one routed expert.

    `parameters`: all that is resident, router and shared experts included; `active_parameters`: what one token uses.
    `shared_parameters`: the shared experts, or a dense path beside the experts, that every token uses.
    `unquantised_parameters`: router, gates, biases and norms, which no weight quantisation converts; in `parameters`,
    not in `expert_parameters` and `shared_parameters`.
    """

    intermediate: Width = 0
    gated: bool = True
    experts: Heads = 0
    experts_per_token: Heads = 0
    shared_intermediate: Width = 0
    expert_parameters: Parameters = Field(0, description="weights of one routed expert")
    shared_parameters: Parameters = 0
    parameters: Parameters = 0
    active_parameters: Parameters = 0
    unquantised_parameters: Parameters = 0

    @model_validator(mode="after")
    def _parts_within_the_whole(self) -> "Mlp":
        _within("experts_per_token", self.experts_per_token, self.experts)
        if self.experts and not self.experts_per_token:
            raise InputError(msg("model.shape.no_expert_used", experts=f"{self.experts:,}"))
        routed = self.experts * self.expert_parameters
        apart = routed + self.shared_parameters + self.unquantised_parameters
        _within("experts · expert_parameters + shared_parameters + unquantised_parameters", apart, self.parameters)
        _within("active_parameters", self.active_parameters, self.parameters)
        return self


class LayerGroup(Frozen):
    """`count` equal layers. `norm_parameters` are those outside of attention and MLP, for one layer.

    `encoder`: the layers stand in the encoder of an encoder-decoder. `cross_attention`: what a decoder layer reads the
    encoder's output with; its cache holds the input's tokens, once for each sequence. `places`: which layers of their
    stack they are, counted from 0; empty where all layers are equal, or where their order is not told.
    """

    count: int = Field(ge=1, le=LAYERS, strict=True)
    places: tuple[Annotated[int, Field(ge=0, lt=LAYERS, strict=True)], ...] = Field((), max_length=LAYERS)
    attention: Attention
    mlp: Mlp
    norm_parameters: Parameters = 0
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


class Note(StrEnum):
    """What could not be known from a configuration. Text: the message of this id."""

    TOWER_NOT_DESCRIBED = "model.note.tower_not_described"
    TOWER_UNKNOWN = "model.note.tower_unknown"
    AUDIO_NOT_COUNTED = "model.note.audio_not_counted"
    SLIDING_HEADS_UNKNOWN = "model.note.sliding_heads_unknown"
    QUANTISATION_UNKNOWN = "model.note.quantisation_unknown"
    TYPE_UNKNOWN = "model.note.type_unknown"


class StoredPart(Frozen):
    """How a part of the weights is stored in the published files.

    `bits_per_weight`: its exact size there, scales included, where the weight files themselves were read.
    """

    part: Part
    precision: Name
    bits_per_weight: float | None = Field(None, ge=0.01, le=64, strict=True)


class ModelArchitecture(Frozen):
    """A language model's shape.

    `embedding_parameters`: the token (and position) embedding; `head_parameters`: the output projection, 0 when tied.
    `tower_parameters`: vision or audio encoders that are loaded beside the language model.
    `extra_parameters`: resident weights that plain decoding does not use, such as multi-token-prediction layers.
    `weight_quantisation`: how most weights are stored as published ("bf16", "fp8", "nvfp4", "mxfp4", "int4", …);
    `stored_parts`: the parts of them that are stored otherwise. `kv_quantisation`: the KV cache's format that the files
    bring scales for, "" when none. `notes`: what could not be known from the configuration.
    """

    name: Name
    family: Name
    role: Role = Role.DECODER
    hidden: int = Field(ge=1, le=WIDTH, strict=True)
    vocabulary: int = Field(ge=1, le=WIDTH, strict=True)
    groups: tuple[LayerGroup, ...] = Field(min_length=1, max_length=LAYERS)
    tied_embeddings: bool = False
    embedding_parameters: Parameters = 0
    head_parameters: Parameters = 0
    final_norm_parameters: Parameters = 0
    tower_parameters: Parameters = 0
    extra_parameters: Parameters = 0
    max_positions: Positions | None = None
    weight_quantisation: Name = "bf16"
    stored_parts: tuple[StoredPart, ...] = Field((), max_length=len(Part))
    kv_quantisation: Name = ""
    notes: tuple[Note, ...] = Field((), max_length=len(Note))

    @model_validator(mode="after")
    def _parts_within_the_whole(self) -> "ModelArchitecture":
        _within("count", self.layers, LAYERS)
        if not any(group.attention.parameters + group.mlp.parameters for group in self.groups):
            raise InputError(msg("model.shape.no_weights"))
        return self

    @property
    def layers(self) -> int:
        """All layers of all groups."""
        return sum(group.count for group in self.groups)

    @property
    def is_moe(self) -> bool:
        """Whether any layer routes tokens to experts."""
        return any(group.mlp.experts for group in self.groups)


def _within(part: str, value: int, whole: int) -> None:
    """Raises InputError when a part, by its name, is larger than what it is a part of."""
    if value > whole:
        raise InputError(msg("model.shape.part_above_whole", part=part, value=f"{value:,}", whole=f"{whole:,}"))
