"""What the start-up logs of serving programs, PyTorch's out-of-memory lines and NCCL's log say."""

from typing import Literal

from gpuplanner.probe.evidence.record import Record


class ServerStart(Record):
    """vLLM's or SGLang's start-up. Memory in bytes of one GPU; `kv_tokens`: of the whole pool; `max_concurrency`: as it
    prints it; `max_requests`: how many it runs at once.

    `too_long`: that it refused, since one request of `max_model_len` tokens does not fit the pool.
    """

    server: str | None = None
    version: str | None = None
    model: str | None = None
    weight_bytes: float | None = None
    peak_activation_bytes: float | None = None
    non_torch_bytes: float | None = None
    graph_bytes: float | None = None
    kv_bytes: float | None = None
    gpu_blocks: int | None = None
    cpu_blocks: int | None = None
    block_tokens: int | None = None
    kv_tokens: int | None = None
    max_model_len: int | None = None
    max_concurrency: float | None = None
    max_requests: int | None = None
    too_long: bool | None = None
    largest_len: int | None = None
    needed_bytes: float | None = None
    available_bytes: float | None = None
    memory_share: float | None = None
    tensor_parallel: int | None = None
    load_seconds: float | None = None


class OutOfMemory(Record):
    """PyTorch's sentence. All bytes; `process_bytes`: of this program; `allocated`, `reserved`: of PyTorch."""

    gpu_index: int | None = None
    wanted_bytes: float | None = None
    total_bytes: float | None = None
    free_bytes: float | None = None
    process_bytes: float | None = None
    allocated_bytes: float | None = None
    reserved_bytes: float | None = None


class NcclLog(Record):
    """NCCL's own log. `transports`: how often each way between ranks was chosen ("P2P/CUMEM", "SHM", "NET/IB/0")."""

    version: str | None = None
    ranks: int | None = None
    nodes: int | None = None
    channels: int | None = None
    nvls: bool | None = None
    network: str | None = None
    adapters: tuple[str, ...] = ()
    gpu_direct_rdma: bool | None = None
    peer_access_off: bool | None = None
    plugin: str | None = None
    transports: dict[str, int] | None = None
    settings: dict[str, str] | None = None
    warnings: tuple[str, ...] = ()
    algorithm: Literal["Ring", "Tree", "NVLS", "NVLSTree", "CollNet"] | None = None
