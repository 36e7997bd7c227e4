"""The sizes that nearly every decoder's configuration states, under the names that the families use for them."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuplanner.catalog.architecture import HEADS, LAYERS, POSITIONS
from gpuplanner.catalog.families.fields import Fields

_FULL = "full_attention"
_SLIDING = "sliding_attention"
_CHUNKED = "chunked_attention"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of a decoder."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    max_positions: int | None
    tied: bool


def layer_count(fields: Fields, *names: str) -> int:
    """The number of layers."""
    return fields.whole(*(names or ("num_hidden_layers", "n_layer", "num_layers", "n_layers")), most=LAYERS)


def positions(fields: Fields, *names: str) -> int | None:
    """The longest context that the model was made for, or None where the configuration does not say."""
    names = names or ("max_position_embeddings", "n_positions", "seq_length", "max_seq_len", "model_max_length")
    return fields.whole_or(0, *names, most=POSITIONS) or None


def decoder_sizes(fields: Fields, *, outer: Fields | None = None, tied: bool = False) -> Sizes:
    """Read and check the sizes of a decoder.

    `outer` is the whole configuration where the language model is a part of it; `tied` is what the family does when
    neither says whether the output projection is the embedding.
    """
    hidden = fields.whole("hidden_size", "n_embd", "d_model")
    heads = fields.whole("num_attention_heads", "n_head", "n_heads", most=HEADS)
    kv_heads = fields.whole_or(heads, "num_key_value_heads", "num_kv_heads", "n_head_kv", least=1, most=HEADS)
    head_dim = fields.whole_or(0, "head_dim", "kv_channels", "attention_head_dim")
    if not head_dim:
        head_dim = fields.divisible(hidden, "hidden_size", heads, "num_attention_heads")
    check_kv_heads(fields, heads, kv_heads)
    if outer is not None and outer.has("tie_word_embeddings"):
        tied = outer.flag("tie_word_embeddings", tied)
    return Sizes(
        layers=layer_count(fields),
        hidden=hidden,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        vocabulary=fields.whole("vocab_size", "padded_vocab_size"),
        max_positions=positions(fields),
        tied=fields.flag("tie_word_embeddings", tied),
    )


def check_kv_heads(fields: Fields, heads: int, kv_heads: int, name: str = "num_key_value_heads") -> None:
    """Refuse KV heads that the query heads cannot be shared out among."""
    if kv_heads > heads:
        raise fields.refuse("model.field.kv_heads", name, kv_heads=kv_heads, heads=heads)
    fields.divisible(heads, "num_attention_heads", kv_heads, name)


def layer_windows(fields: Fields, layers: int, full: Sequence[bool], window: int | None) -> list[int | None]:
    """The attention window of each layer; None where it sees everything.

    `full` says which layers see everything when the configuration has no `layer_types`.
    """
    kinds = fields.choices("layer_types", layers, (_FULL, _SLIDING, _CHUNKED))
    sees_all = [kind == _FULL for kind in kinds] if kinds is not None else full
    if window is None and not all(sees_all):
        raise fields.refuse("model.field.missing", "sliding_window")
    return [None if everything else window for everything in sees_all]


def sliding_window(fields: Fields, *names: str) -> int | None:
    """The width of the sliding window, or None when the configuration has none."""
    return fields.whole_or(0, *(names or ("sliding_window",)), most=POSITIONS) or None
