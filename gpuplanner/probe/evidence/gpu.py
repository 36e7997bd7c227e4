"""What is read of a GPU. Units stand in the names; None is what was not printed."""

from typing import Literal

from gpuplanner.probe.evidence.record import Record

SetOrNot = Literal["Enabled", "Disabled"]
Virtualization = Literal["None", "Pass-Through", "VGPU", "Host VGPU", "Host VSGA"]


class MigDevice(Record):
    """A slice of a GPU as `nvidia-smi -L` or a table lists it. `profile`: "1g.10gb" and the like.

    `placement_start`, `placement_size`: which memory slices of the GPU it takes.
    """

    gpu_index: int | None = None
    device_index: int | None = None
    profile: str | None = None
    uuid: str | None = None
    gpu_instance_id: int | None = None
    compute_instance_id: int | None = None
    memory_total_mib: float | None = None
    memory_used_mib: float | None = None
    multiprocessors: int | None = None
    placement_start: int | None = None
    placement_size: int | None = None


class MigProfile(Record):
    """A size of slice that a GPU can be cut into (`nvidia-smi mig -lgip`). `free`, `total`: how many of it.

    `gpu_instance_id`: of a size of compute instance, the slice that it is a part of (`nvidia-smi mig -lcip`).
    `placements`: the memory slices at which one may begin, each taking `placement_size` of them.
    """

    gpu_index: int | None = None
    gpu_instance_id: int | None = None
    profile: str | None = None
    profile_id: int | None = None
    free: int | None = None
    total: int | None = None
    memory_gib: float | None = None
    multiprocessors: int | None = None
    peer_to_peer: bool | None = None
    placements: tuple[int, ...] = ()
    placement_size: int | None = None


class VirtualGpu(Record):
    """A vGPU that a host gives to a virtual machine (`nvidia-smi vgpu`). `name`: its type, such as "NVIDIA A40-8Q"."""

    gpu_index: int | None = None
    gpu_bus_id: str | None = None
    vgpu_id: int | None = None
    uuid: str | None = None
    name: str | None = None
    vm_name: str | None = None
    guest_driver_version: str | None = None
    licence_status: str | None = None
    memory_total_mib: float | None = None
    memory_used_mib: float | None = None


class Process(Record):
    """A process on a GPU. `kind`: C compute, G graphics, as printed."""

    gpu_index: int | None = None
    gpu_uuid: str | None = None
    gpu_bus_id: str | None = None
    gpu_instance_id: int | None = None
    compute_instance_id: int | None = None
    pid: int | None = None
    kind: str | None = None
    name: str | None = None
    memory_used_mib: float | None = None
    sm_percent: float | None = None
    memory_percent: float | None = None
    encoder_percent: float | None = None
    decoder_percent: float | None = None


class NvLink(Record):
    """One NVLink of a GPU. `gb_per_s`: the signalling rate one way as `nvlink -s` prints it, in 10⁹ bytes/s.

    A record without `link` speaks of all links of its GPU: `active` is False where all are inactive, and absent with
    the reason where the GPU has none or hides them (MIG). `remote`: the bus identifier at the other end. `counters`:
    others that `nvlink -e` prints, by its names ("Symbol Errors", "Tx packets").
    """

    gpu_index: int | None = None
    gpu_uuid: str | None = None
    gpu_bus_id: str | None = None
    link: int | None = None
    active: bool | None = None
    gb_per_s: float | None = None
    remote: str | None = None
    remote_link: int | None = None
    capabilities: dict[str, bool] | None = None
    replay_errors: int | None = None
    recovery_errors: int | None = None
    crc_errors: int | None = None
    counters: dict[str, int] | None = None
    received_kib: float | None = None
    sent_kib: float | None = None


class Gpu(Record):
    """One GPU, of any vendor. `of_attached`: how many the driver has, where the text shows fewer than these.
    `breaks_off`: that the text ends in the middle of this GPU, or behind it where others may follow.

    Identity: `pci_device_id` and `pci_subsystem_id` are "0xDDDDVVVV" in capitals (device, then vendor), `pci_bus_id`
    "00000000:10:1C.0" in capitals with a domain of 8 digits. `state`: "ok", "lost", "needs reset", "error".
    Throttle reasons are NVML's bit mask. PCIe generations and widths are counts; `pcie_gen_max` is what card and slot
    can do together, `pcie_gen_gpu_max` and `pcie_gen_host_max` each of them. Power and temperature in W and °C; the
    margins of slowdown and shutdown are the values of `temperature_margin_c` at which they happen. `licence_told_on`:
    the day (ISO 8601) on which a text with a licence's expiry says that it was printed.
    """

    index: int | None = None
    name: str | None = None
    vendor: Literal["nvidia", "amd", "intel", "tenstorrent", "other"] | None = None
    uuid: str | None = None
    serial: str | None = None
    part_number: str | None = None
    board_id: str | None = None
    architecture: str | None = None
    brand: str | None = None
    compute_capability: str | None = None
    multiprocessors: int | None = None
    minor_number: int | None = None
    state: Literal["ok", "lost", "needs reset", "error"] | None = None
    recovery_action: str | None = None
    drain_and_reset_recommended: bool | None = None
    module_id: int | None = None
    of_attached: int | None = None
    breaks_off: bool | None = None

    pci_bus_id: str | None = None
    pci_device_id: str | None = None
    pci_subsystem_id: str | None = None
    kernel_driver: str | None = None
    driver_version: str | None = None
    driver_model: str | None = None
    cuda_version: str | None = None
    vbios: str | None = None
    inforom: str | None = None
    gsp_firmware: str | None = None

    memory_total_mib: float | None = None
    memory_reserved_mib: float | None = None
    memory_used_mib: float | None = None
    memory_free_mib: float | None = None
    bar1_total_mib: float | None = None
    bar1_used_mib: float | None = None

    pcie_gen_current: int | None = None
    pcie_gen_max: int | None = None
    pcie_gen_gpu_max: int | None = None
    pcie_gen_host_max: int | None = None
    pcie_width_current: int | None = None
    pcie_width_max: int | None = None
    pcie_replays: int | None = None
    pcie_replay_rollovers: int | None = None
    pcie_received_kib_per_s: float | None = None
    pcie_sent_kib_per_s: float | None = None

    mig_mode: SetOrNot | None = None
    mig_mode_pending: SetOrNot | None = None
    ecc_mode: SetOrNot | None = None
    ecc_mode_pending: SetOrNot | None = None
    persistence_mode: SetOrNot | None = None
    compute_mode: str | None = None
    display_active: SetOrNot | None = None
    addressing_mode: str | None = None
    confidential_compute: str | None = None

    virtualization: Virtualization | None = None
    host_vgpu_mode: str | None = None
    vgpu_types: tuple[str, ...] = ()
    licence_product: str | None = None
    licence_status: str | None = None
    licence_expiry: str | None = None
    licence_told_on: str | None = None

    ecc_corrected_volatile: int | None = None
    ecc_uncorrected_volatile: int | None = None
    ecc_corrected_aggregate: int | None = None
    ecc_uncorrected_aggregate: int | None = None
    ecc_sram_uncorrected_aggregate: int | None = None
    ecc_sram_threshold_exceeded: bool | None = None
    remapped_correctable: int | None = None
    remapped_uncorrectable: int | None = None
    remap_pending: bool | None = None
    remap_failed: bool | None = None
    remap_banks: dict[str, int] | None = None
    retired_single_bit: int | None = None
    retired_double_bit: int | None = None
    retired_pending: bool | None = None
    channel_repair_pending: bool | None = None
    tpc_repair_pending: bool | None = None
    unrepairable_memory: bool | None = None

    power_draw_w: float | None = None
    power_draw_average_w: float | None = None
    power_limit_w: float | None = None
    power_limit_default_w: float | None = None
    power_limit_min_w: float | None = None
    power_limit_max_w: float | None = None
    power_limit_enforced_w: float | None = None
    module_power_draw_w: float | None = None
    module_power_limit_w: float | None = None

    temperature_c: float | None = None
    temperature_margin_c: float | None = None
    temperature_memory_c: float | None = None
    temperature_slowdown_c: float | None = None
    temperature_shutdown_c: float | None = None
    temperature_max_operating_c: float | None = None
    temperature_memory_max_c: float | None = None
    temperature_slowdown_margin_c: float | None = None
    temperature_shutdown_margin_c: float | None = None
    fan_percent: float | None = None

    pstate: str | None = None
    throttle_reasons: int | None = None
    throttle_microseconds: dict[str, int] | None = None
    clock_graphics_mhz: float | None = None
    clock_sm_mhz: float | None = None
    clock_memory_mhz: float | None = None
    clock_video_mhz: float | None = None
    clock_application_graphics_mhz: float | None = None
    clock_application_memory_mhz: float | None = None
    clock_default_graphics_mhz: float | None = None
    clock_default_memory_mhz: float | None = None
    clock_max_graphics_mhz: float | None = None
    clock_max_sm_mhz: float | None = None
    clock_max_memory_mhz: float | None = None
    clock_max_video_mhz: float | None = None

    utilization_percent: float | None = None
    utilization_memory_percent: float | None = None
    utilization_encoder_percent: float | None = None
    utilization_decoder_percent: float | None = None

    fabric_state: str | None = None
    fabric_status: str | None = None
    fabric_clique: str | None = None
    fabric_cluster: str | None = None
    fabric_health: dict[str, str] | None = None

    numa_node: int | None = None
    cpu_affinity: str | None = None
