"""Bytes on disk and the rates to move them: weights, checkpoints, data. Nothing here knows a file system."""

from gpuplanner.engine.formulas.elementwise import Number, maximum
from gpuplanner.figures import formula
from gpuplanner.units import Unit


@formula(Unit.BYTE, "system_disk_bytes + weight_file_bytes + checkpoints_kept · checkpoint_bytes + data_bytes")
def storage_bytes(
    system_disk_bytes: Number,
    weight_file_bytes: Number,
    checkpoints_kept: Number,
    checkpoint_bytes: Number,
    data_bytes: Number,
) -> Number:
    """Room for the system with its container, the weights as files, the checkpoints that are kept, and the data."""
    return system_disk_bytes + weight_file_bytes + checkpoints_kept * checkpoint_bytes + data_bytes


@formula(Unit.BYTE, "trained_parameters · checkpoint_bytes_per_parameter")
def checkpoint_bytes(trained_parameters: Number, checkpoint_bytes_per_parameter: Number) -> Number:
    """One checkpoint from which training can go on: weights and optimizer states of what is trained."""
    return trained_parameters * checkpoint_bytes_per_parameter


@formula(Unit.BYTE, "tokens · bytes_per_stored_token")
def token_file_bytes(tokens: Number, bytes_per_stored_token: Number) -> Number:
    """Tokenised data on disk."""
    return tokens * bytes_per_stored_token


@formula(Unit.BYTE_PER_S, "weight_file_bytes / load_goal_s")
def load_rate(weight_file_bytes: Number, load_goal_s: Number) -> Number:
    """The storage rate that loads the weights within the goal."""
    return weight_file_bytes / load_goal_s


@formula(Unit.BYTE_PER_S, "max(checkpoint_bytes / stall_goal_s, tokens_per_s · bytes_per_stored_token)")
def training_storage_rate(
    checkpoint_bytes: Number, stall_goal_s: Number, tokens_per_s: Number, bytes_per_stored_token: Number
) -> Number:
    """The storage rate that writes a checkpoint within the goal and feeds the data, whichever asks for more."""
    return maximum(checkpoint_bytes / stall_goal_s, tokens_per_s * bytes_per_stored_token)


@formula(Unit.BYTE_PER_S, "checkpoint_bytes / checkpoint_s + items_per_s · bytes_per_item")
def item_storage_rate(
    checkpoint_bytes: Number, checkpoint_s: Number, items_per_s: Number, bytes_per_item: Number
) -> Number:
    """Rate at which a checkpoint is written in time and the items of all nodes are read meanwhile."""
    return checkpoint_bytes / checkpoint_s + items_per_s * bytes_per_item
