"""The lists with one entry for each layer, which any family's configuration may hold: their length. Reads no values.

A family looks only at the lists that it knows, so a list that contradicts the number of layers would pass unseen in
another one. Knows no family.
"""

from gpuplanner.catalog.architecture import LAYERS
from gpuplanner.catalog.families.fields import Fields

PER_LAYER = (
    "attn_type_list",
    "attention_types",
    "block_configs",
    "compress_ratios",
    "hybrid_layer_pattern",
    "indexer_types",
    "layer_types",
    "layers_block_type",
    "mlp_layer_types",
    "moe_layer_freq",
    "no_rope_layers",
    "sparse_attention_freq",
)
"""Names under which published configurations list something for each layer."""
LAYER_COUNTS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers")
PREDICTED_COUNTS = ("num_nextn_predict_layers", "mtp_num_hidden_layers")
LANGUAGE_MODELS = ("text_config", "llm_config", "language_config")
"""The part of a configuration in which a wrapped language model stands."""


def check_layer_lists(fields: Fields) -> None:
    """Refuse a configuration whose list of layers is as long as neither its layers nor these and the predicted ones.

    Raises InputError that names the family and the list.
    """
    _check(fields)
    for name in LANGUAGE_MODELS:
        if fields.is_mapping(name):
            _check(fields.inside(name))


def _check(fields: Fields) -> None:
    if not fields.has(*LAYER_COUNTS):
        return
    layers = fields.whole(*LAYER_COUNTS, most=LAYERS)
    predicted = fields.whole_or(0, *PREDICTED_COUNTS, most=LAYERS)
    for name in PER_LAYER:
        if not fields.is_list(name):
            continue
        entries = fields.entries(name)
        if entries < layers:
            raise fields.refuse("model.field.short_list", name, entries=entries, layers=layers)
        if entries not in {layers, layers + predicted}:
            raise fields.refuse("model.field.long_list", name, entries=entries, layers=layers)
