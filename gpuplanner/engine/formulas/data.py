"""Data on their way to a step: read from storage, prepared by the CPU, and what of that a step has to wait for.

Data of the next steps are read and prepared while a step runs, so that only what takes longer than the step shows.
"""

from gpuplanner.engine.formulas.elementwise import Number, maximum, minimum
from gpuplanner.figures import formula
from gpuplanner.units import Unit

MOHAN = "Mohan et al., Analyzing and mitigating data stalls in DNN training, VLDB 2021"


@formula(Unit.BYTE_PER_S, "items_per_s · bytes_per_item")
def data_bytes_per_s(items_per_s: Number, bytes_per_item: Number) -> Number:
    """What all nodes together read so that no step waits."""
    return items_per_s * bytes_per_item


@formula(Unit.COUNT, "items_per_step · gpus_per_node", "every GPU works on items of its own")
def items_of_node(items_per_step: Number, gpus_per_node: Number) -> Number:
    """Items that one node works on in a step; `items_per_step`: of one GPU."""
    return items_per_step * gpus_per_node


@formula(
    Unit.TOKEN,
    "global_batch · sequences_per_sample · (sequence_length - completion_tokens) · counted_share / reading_nodes",
    "padding and what is generated are not read",
)
def tokens_of_node(
    global_batch: Number,
    sequences_per_sample: Number,
    sequence_length: Number,
    completion_tokens: Number,
    counted_share: Number,
    reading_nodes: Number,
) -> Number:
    """Tokens that one node reads for a step. Of nodes that share a sample one reads it whole."""
    read = sequence_length - completion_tokens
    return global_batch * sequences_per_sample * read * counted_share / reading_nodes


@formula(Unit.BYTE_PER_S, "storage_bytes_per_s / reading_nodes", "a file system that all nodes share")
def shared_read_rate(storage_bytes_per_s: Number, reading_nodes: Number) -> Number:
    """What one node reads of a storage that serves all of them."""
    return storage_bytes_per_s / reading_nodes


@formula(Unit.SECOND, "node_items · bytes_per_item / storage_bytes_per_s")
def data_read_seconds(node_items: Number, bytes_per_item: Number, storage_bytes_per_s: Number) -> Number:
    """Time to read the data of one step; `storage_bytes_per_s`: what one node gets."""
    return node_items * bytes_per_item / storage_bytes_per_s


@formula(Unit.SECOND, "max(data_read_s - hidden_s, 0)", MOHAN)
def read_wait_seconds(data_read_s: Number, hidden_s: Number) -> Number:
    """What of reading a step waits for; `hidden_s`: the step that goes on meanwhile."""
    return maximum(data_read_s - hidden_s, 0.0)


@formula(
    Unit.PER_S,
    "1 / (frames / cropped_per_core_s + item_bytes / decoded_bytes_per_core_s)",
    "decoding follows what is stored, cropping and varying what the network sees",
)
def images_per_core_second(
    frames: Number, cropped_per_core_s: Number, item_bytes: Number, decoded_bytes_per_core_s: Number
) -> Number:
    """Images, or clips of so many frames, that one core decodes, crops and varies in a second."""
    return 1.0 / (frames / cropped_per_core_s + item_bytes / decoded_bytes_per_core_s)


@formula(Unit.COUNT, "vcpus / threads_per_core")
def host_cores(vcpus: Number, threads_per_core: Number) -> Number:
    """Physical cores behind so many threads."""
    return vcpus / threads_per_core


@formula(
    Unit.COUNT,
    "min(max(cores - gpus_per_node · cores_per_rank, 0), worker_processes)",
    "each GPU's own process keeps some cores busy",
)
def cores_beside(cores: Number, gpus_per_node: Number, cores_per_rank: Number, worker_processes: Number) -> Number:
    """Cores that are left to prepare data while the GPUs work."""
    return minimum(maximum(cores - gpus_per_node * cores_per_rank, 0.0), worker_processes)


@formula(
    Unit.SECOND,
    "max(node_items / items_per_core_s - cores_beside · hidden_s, 0) / min(cores, worker_processes)",
    MOHAN,
)
def prepare_wait_seconds(
    node_items: Number,
    items_per_core_s: Number,
    cores_beside: Number,
    hidden_s: Number,
    cores: Number,
    worker_processes: Number,
) -> Number:
    """What of preparing a step waits for: work that the cores beside do not do in time, then done by all."""
    left = maximum(node_items / items_per_core_s - cores_beside * hidden_s, 0.0)
    return left / minimum(cores, worker_processes)


@formula(
    Unit.SECOND,
    "max(read_wait_s, prepare_wait_s) + (1 - prefetched) · min(read_wait_s, prepare_wait_s)",
    "data that are prepared are read at the same time, unless one process does both",
)
def data_wait_seconds(read_wait_s: Number, prepare_wait_s: Number, prefetched: Number) -> Number:
    """What a step waits for its data. `prefetched` 1: processes of their own read and prepare ahead."""
    longer, shorter = maximum(read_wait_s, prepare_wait_s), minimum(read_wait_s, prepare_wait_s)
    return longer + (1.0 - prefetched) * shorter


@formula(Unit.SECOND, "computed_step_s + data_wait_s")
def fed_step_seconds(computed_step_s: Number, data_wait_s: Number) -> Number:
    """A step with what it waits for its data."""
    return computed_step_s + data_wait_s
