"""What the terms follow from that no fact gives as they are: counted, split or added up on the way. A table only.

A term means the same in every formula, so what it is made of is known by its name; no source is claimed for its value.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuplanner.figures import Certainty


@dataclass(frozen=True, slots=True)
class Basis:
    """What a term follows from. `note`: the message that says it; it may speak of `{model}`."""

    certainty: Certainty
    note: str


FROM_MODEL = Basis(Certainty.EXACT, "explain.counted")
FROM_PLAN = Basis(Certainty.USER, "explain.follows_from_plan")
FROM_LAYOUT = Basis(Certainty.USER, "explain.follows_from_layout")
FROM_FORMATS = Basis(Certainty.EXACT, "explain.follows_from_formats")
FROM_METHOD = Basis(Certainty.EXACT, "explain.follows_from_method")
FROM_FIGURES = Basis(Certainty.CALIBRATED, "explain.follows_from_figures")
FROM_CALIBRATIONS = Basis(Certainty.CALIBRATED, "explain.follows_from_calibrations")
FROM_RULES = Basis(Certainty.RULE, "explain.follows_from_rules")
ASSUMED_PCIE = Basis(Certainty.RULE, "explain.pcie_assumed")
TRIED = Basis(Certainty.USER, "explain.tried")

_TERMS: Mapping[Basis, tuple[str, ...]] = {
    FROM_MODEL: (
        "activation_bytes",
        "active_parameters",
        "all_heads",
        "attention_bytes",
        "attention_parameters",
        "bytes_per_token",
        "cache_bytes",
        "cache_elements",
        "cache_shards",
        "copied_bytes",
        "dense_parameters",
        "dispatch_width",
        "embedding_bytes",
        "end_parameters",
        "expert_bytes",
        "expert_parameters",
        "experts",
        "experts_per_token",
        "flops_per_pair",
        "gathered_layer_parameters",
        "head_bytes",
        "heads",
        "inner_width",
        "layer_active_parameters",
        "largest_matrix_parameters",
        "layer_bytes",
        "layer_parameters",
        "layers",
        "loading_bytes",
        "mlp_bytes",
        "mlp_parameters",
        "moe_layers",
        "pair_flops",
        "parameters",
        "payload_bytes",
        "plain_parameters",
        "read_bytes",
        "quantised_parameters",
        "read_weight_bytes",
        "sequence_bytes",
        "server_weight_bytes",
        "split_bytes",
        "split_traffic_bytes",
        "stage_layers",
        "state_bytes",
        "state_shards",
        "stepped_parameters",
        "trained_parameters",
        "weight_file_bytes",
        "whole_bytes",
        "whole_traffic_bytes",
        "window",
    ),
    FROM_PLAN: (
        "concurrency",
        "counted_share",
        "frame_pixels",
        "length",
        "length_share",
        "micro_batches",
        "new_tokens",
        "output_tokens",
        "pixels",
        "prompt_tokens",
        "replica_sequences",
        "rollout_share",
        "sequence_length",
        "sequences",
        "tokens",
    ),
    FROM_LAYOUT: (
        "attention_ranks",
        "base_shards",
        "batch_samples",
        "data_parallel",
        "dense_copies",
        "dense_shards",
        "expert_parallel",
        "expert_shards",
        "expert_tensor",
        "group_reduces",
        "groups",
        "in_flight",
        "items_per_step",
        "members",
        "members_per_node",
        "micro_batch",
        "nodes",
        "ranks",
        "reduces",
        "residual_shards",
        "shares",
        "tensor_parallel",
    ),
    FROM_FORMATS: (
        "bits_per_element",
        "bits_per_weight",
        "bytes_over_pcie",
        "bytes_per_copy",
        "bytes_per_end",
        "bytes_per_gathered",
        "bytes_per_gradient",
        "bytes_per_quantised",
        "bytes_per_score",
        "bytes_per_state",
        "bytes_per_weight",
        "element_bytes",
        "face_bytes",
        "step_bytes_per_parameter",
    ),
    FROM_METHOD: (
        "dispatches",
        "gathers",
        "layer_collectives",
        "loss_passes",
        "messages",
        "passes",
        "ring_passes",
        "sequences_per_sample",
    ),
    FROM_FIGURES: (
        "communication_s",
        "compute_time_share",
        "hbm_time_share",
        "layers_s",
        "loss_moved_bytes",
        "moved_bytes",
        "pool_bytes",
        "recomputed_attention",
        "recomputed_share",
        "span_share",
        "tokens_per_s",
        "window_s",
        "wire_s",
    ),
    FROM_CALIBRATIONS: (
        "efficiency",
        "latency_s",
        "launch_s",
        "launch_s_per_layer",
        "link_bytes_per_s",
        "network_bytes_per_s",
        "network_efficiency",
        "network_latency_s",
        "saved_copies",
        "utilisation",
    ),
    FROM_RULES: (
        "pinned_bytes",
        "session_bytes",
        "surfaces",
    ),
    ASSUMED_PCIE: ("pcie_bytes_per_s",),
    TRIED: ("tried",),
}

BASES: Mapping[str, Basis] = {term: basis for basis, terms in _TERMS.items() for term in terms}
"""The basis of each term that has one."""
