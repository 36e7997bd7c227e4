"""What was measured there by a tool or by us. Rates in 10⁹ bytes/s one way unless said otherwise."""

from typing import Literal

from gpuplanner.probe.evidence.record import Record

Path = Literal[
    "host_to_device",
    "device_to_host",
    "device_memory",
    "device_to_device",
    "host_memory",
    "disk_read",
    "disk_write",
    "network",
]


class Bandwidth(Record):
    """A rate measured on a path. `source`, `target`: indices of GPUs; `bytes`: of one copy; `method`: who did the copy.

    `both_ways`: that both directions ran at once and are added up. `device_memory` counts what is read plus written
    where `counts_both` says so. `pcie_gen`, `pcie_width`, `throttle_reasons`: lowest link and all reasons (NVML's bits)
    that were seen while it ran, of the source where there are two GPUs; `target_throttle_reasons`: of its target then.
    """

    path: Path
    tool: str | None = None
    method: str | None = None
    source: int | None = None
    target: int | None = None
    bytes: float | None = None
    gb_per_s: float | None = None
    both_ways: bool | None = None
    counts_both: bool | None = None
    latency_us: float | None = None
    p2p_enabled: bool | None = None
    pcie_gen: int | None = None
    pcie_width: int | None = None
    throttle_reasons: int | None = None
    target_throttle_reasons: int | None = None


class CollectiveRow(Record):
    """A row of nccl-tests or a like table. `bytes`: of the message; rates in 10⁹ bytes/s; `wrong`: wrong results."""

    collective: str | None = None
    bytes: float | None = None
    kind: str | None = None
    operation: str | None = None
    in_place: bool | None = None
    time_us: float | None = None
    algorithm_gb_per_s: float | None = None
    bus_gb_per_s: float | None = None
    wrong: int | None = None


class CollectiveRun(Record):
    """A whole run: who took part, and its rows. `average_bus_gb_per_s`: nccl-tests' own mean over all sizes.

    `gpu_names`: each name once. `hosts`: None where not every rank is listed.
    """

    collective: str | None = None
    ranks: int | None = None
    hosts: int | None = None
    gpu_names: tuple[str, ...] = ()
    nccl_version: str | None = None
    average_bus_gb_per_s: float | None = None
    out_of_bounds: int | None = None
    rows: tuple[CollectiveRow, ...] = ()


class MatrixRate(Record):
    """Matrix multiplication. `dtype`: "bf16", "fp8"…; `path`: torch, cublas, superbench, hpl, ptx_mma, and ptx_fma,
    which multiplies and adds in registers. `clock_sm_mhz`, `power_w`, `throttle_reasons`: lowest clock, highest power
    and all reasons (NVML's bits) that were seen while it ran.
    """

    gpu_index: int | None = None
    dtype: str | None = None
    m: int | None = None
    n: int | None = None
    k: int | None = None
    tflop_per_s: float | None = None
    path: str | None = None
    clock_sm_mhz: float | None = None
    power_w: float | None = None
    throttle_reasons: int | None = None


class DiskRate(Record):
    """A job of fio or a like tool. Rates in 10⁹ bytes/s; latencies in microseconds."""

    job: str | None = None
    operation: str | None = None
    block_bytes: float | None = None
    queue_depth: int | None = None
    direct: bool | None = None
    gb_per_s: float | None = None
    operations_per_s: float | None = None
    latency_mean_us: float | None = None
    latency_p99_us: float | None = None
    path: str | None = None


class Diagnostic(Record):
    """A test of a diagnostic tool: dcgmi, gcm, AWS or Azure checks. `result` as printed."""

    tool: str | None = None
    test: str | None = None
    entity: str | None = None
    result: str | None = None
    said: str | None = None


class Sample(Record):
    """One moment of one GPU (or, without an index, of the host), as dmon, pmon or a live panel takes it.

    `at_s`: seconds since the first sample where the tool gives a time, else the number of the sample.
    """

    at_s: float | None = None
    gpu_index: int | None = None
    utilization_percent: float | None = None
    memory_percent: float | None = None
    encoder_percent: float | None = None
    decoder_percent: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    memory_temperature_c: float | None = None
    clock_sm_mhz: float | None = None
    clock_memory_mhz: float | None = None
    memory_used_mib: float | None = None
    pcie_received_mb_per_s: float | None = None
    pcie_sent_mb_per_s: float | None = None
    nvlink_received_mb_per_s: float | None = None
    nvlink_sent_mb_per_s: float | None = None
    throttle_reasons: int | None = None
    pstate: str | None = None
