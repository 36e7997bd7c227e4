"""What one node must offer beside its GPUs: CPU threads, memory, network. Rules of thumb, and said to be so."""

from gpuplanner.engine.formulas.elementwise import Number, ceil
from gpuplanner.figures import formula
from gpuplanner.units import Unit

VLLM_CPUS = "vLLM documentation, optimization: one physical core per GPU worker, API server and engine core"
FAULTS = "Kokolis et al., Revisiting reliability in large-scale machine learning research clusters, HPCA 2025"


@formula(
    Unit.COUNT,
    "threads_per_core · (server_cores + gpus_per_node + tokens_per_s / tokens_per_core_s)",
    VLLM_CPUS,
)
def serving_vcpus(
    threads_per_core: Number,
    server_cores: Number,
    gpus_per_node: Number,
    tokens_per_s: Number,
    tokens_per_core_s: Number,
) -> Number:
    """CPU threads of a server: its own processes, one busy core a GPU, and cores that turn tokens into text and back.

    `tokens_per_s`: prompt and output tokens of one node.
    """
    return ceil(threads_per_core * (server_cores + gpus_per_node + tokens_per_s / tokens_per_core_s))


@formula(Unit.BYTE, "system_bytes + gpus_per_node · process_bytes + pinned_bytes + offload_bytes + loading_bytes")
def host_memory_bytes(
    system_bytes: Number,
    gpus_per_node: Number,
    process_bytes: Number,
    pinned_bytes: Number,
    offload_bytes: Number,
    loading_bytes: Number,
) -> Number:
    """Host memory of one node: the system, one process a GPU, pinned buffers, what is offloaded, what loading holds."""
    return system_bytes + gpus_per_node * process_bytes + pinned_bytes + offload_bytes + loading_bytes


@formula(
    Unit.BYTE, "trained_parameters · offload_bytes_per_parameter · offload_copies / nodes", "DeepSpeed ZeRO-Offload"
)
def offloaded_bytes(
    trained_parameters: Number, offload_bytes_per_parameter: Number, offload_copies: Number, nodes: Number
) -> Number:
    """Model states that one node keeps in host memory; `offload_copies` above 1 for staging buffers."""
    return trained_parameters * offload_bytes_per_parameter * offload_copies / nodes


@formula(Unit.BYTE_PER_S, "node_network_bytes_per_s · network_s / (hidden_share · rest_of_step_s)")
def network_rate_to_hide(
    node_network_bytes_per_s: Number, network_s: Number, hidden_share: Number, rest_of_step_s: Number
) -> Number:
    """The rate at which the network takes `hidden_share` of the rest of a step.

    `network_s` is what it takes at `node_network_bytes_per_s`.
    """
    return node_network_bytes_per_s * network_s / (hidden_share * rest_of_step_s)


@formula(Unit.SECOND, "gpu_seconds_between_failures / gpus", FAULTS)
def seconds_between_failures(gpu_seconds_between_failures: Number, gpus: Number) -> Number:
    """Mean time between failures that stop a job on so many GPUs."""
    return gpu_seconds_between_failures / gpus


@formula(Unit.SECOND, "(2 · checkpoint_s · between_failures_s)^0.5", "Young, CACM 17 (1974) 530")
def checkpoint_interval_seconds(checkpoint_s: Number, between_failures_s: Number) -> Number:
    """How often to write a checkpoint so that writing and repeating lost work cost least together."""
    return (2.0 * checkpoint_s * between_failures_s) ** 0.5


@formula(Unit.COUNT, "threads_per_core · (gpus_per_node · cores_per_rank + items_per_s / items_per_core_s)")
def preparing_vcpus(
    threads_per_core: Number,
    gpus_per_node: Number,
    cores_per_rank: Number,
    items_per_s: Number,
    items_per_core_s: Number,
) -> Number:
    """CPU threads of a node: what each process keeps busy, and cores that prepare its items: decode, crop, resample."""
    return ceil(threads_per_core * (gpus_per_node * cores_per_rank + items_per_s / items_per_core_s))
