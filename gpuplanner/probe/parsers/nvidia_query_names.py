"""The names by which `nvidia-smi --query-gpu` and `--query-compute-apps` call things, old and new. Reads nothing.

From the lists that `--help-query-gpu` prints (drivers 470 to 610), with the second name where it gives one.
"""

from gpuplanner.probe.parsers.nvidia_labels import Convert
from gpuplanner.probe.parsers.nvidia_values import bus_id, count, device_id, mask, mib, set_or_not, version
from gpuplanner.probe.values import number, words, yes

_ECC = "ecc.errors"

_ROWS: tuple[tuple[str, Convert, tuple[str, ...]], ...] = (
    ("driver_version", version, ("driver_version", "kmd_version")),
    ("index", count, ("index",)),
    ("name", words, ("name", "gpu_name")),
    ("serial", words, ("serial", "gpu_serial")),
    ("uuid", words, ("uuid", "gpu_uuid")),
    ("pci_bus_id", bus_id, ("pci.bus_id", "gpu_bus_id")),
    ("pci_device_id", device_id, ("pci.device_id",)),
    ("pci_subsystem_id", device_id, ("pci.sub_device_id",)),
    ("pcie_gen_current", count, ("pcie.link.gen.current", "pcie.link.gen.gpucurrent")),
    ("pcie_gen_max", count, ("pcie.link.gen.max",)),
    ("pcie_gen_gpu_max", count, ("pcie.link.gen.gpumax",)),
    ("pcie_gen_host_max", count, ("pcie.link.gen.hostmax",)),
    ("pcie_width_current", count, ("pcie.link.width.current",)),
    ("pcie_width_max", count, ("pcie.link.width.max",)),
    ("display_active", set_or_not, ("display_active",)),
    ("persistence_mode", set_or_not, ("persistence_mode",)),
    ("addressing_mode", words, ("addressing_mode",)),
    ("driver_model", words, ("driver_model.current",)),
    ("vbios", words, ("vbios_version",)),
    ("inforom", words, ("inforom.img", "inforom.image")),
    ("recovery_action", words, ("gpu_recovery_action",)),
    ("fan_percent", number, ("fan.speed",)),
    ("pstate", words, ("pstate",)),
    ("throttle_reasons", mask, ("clocks_event_reasons.active",)),
    ("memory_total_mib", mib, ("memory.total",)),
    ("memory_reserved_mib", mib, ("memory.reserved",)),
    ("memory_used_mib", mib, ("memory.used",)),
    ("memory_free_mib", mib, ("memory.free",)),
    ("compute_mode", words, ("compute_mode",)),
    ("compute_capability", words, ("compute_cap",)),
    ("utilization_percent", number, ("utilization.gpu",)),
    ("utilization_memory_percent", number, ("utilization.memory",)),
    ("utilization_encoder_percent", number, ("utilization.encoder",)),
    ("utilization_decoder_percent", number, ("utilization.decoder",)),
    ("ecc_mode", set_or_not, ("ecc.mode.current",)),
    ("ecc_mode_pending", set_or_not, ("ecc.mode.pending",)),
    ("ecc_corrected_volatile", count, (f"{_ECC}.corrected.volatile.total",)),
    ("ecc_uncorrected_volatile", count, (f"{_ECC}.uncorrected.volatile.total",)),
    ("ecc_corrected_aggregate", count, (f"{_ECC}.corrected.aggregate.total",)),
    ("ecc_uncorrected_aggregate", count, (f"{_ECC}.uncorrected.aggregate.total",)),
    ("ecc_sram_uncorrected_aggregate", count, (f"{_ECC}.uncorrected.aggregate.sram",)),
    ("ecc_sram_threshold_exceeded", yes, (f"{_ECC}.uncorrected.aggregate.sram.thresholdexceeded",)),
    ("retired_single_bit", count, ("retired_pages.single_bit_ecc.count", "retired_pages.sbe")),
    ("retired_double_bit", count, ("retired_pages.double_bit.count", "retired_pages.dbe")),
    ("retired_pending", yes, ("retired_pages.pending",)),
    ("remapped_correctable", count, ("remapped_rows.correctable", "remapped_rows.sbe")),
    ("remapped_uncorrectable", count, ("remapped_rows.uncorrectable", "remapped_rows.dbe")),
    ("remap_pending", yes, ("remapped_rows.pending",)),
    ("remap_failed", yes, ("remapped_rows.failure",)),
    ("temperature_c", number, ("temperature.gpu",)),
    ("temperature_margin_c", number, ("temperature.gpu.tlimit",)),
    ("temperature_memory_c", number, ("temperature.memory",)),
    ("power_draw_w", number, ("power.draw", "power.draw.instant", "gpu.power.draw.instant")),
    ("power_draw_average_w", number, ("power.draw.average", "gpu.power.draw.average")),
    ("power_limit_w", number, ("power.limit", "gpu.power.requested_limit")),
    ("power_limit_enforced_w", number, ("enforced.power.limit", "gpu.power.current_limit")),
    ("power_limit_default_w", number, ("power.default_limit", "gpu.power.default_limit")),
    ("power_limit_min_w", number, ("power.min_limit", "gpu.power.min_limit")),
    ("power_limit_max_w", number, ("power.max_limit", "gpu.power.max_limit")),
    ("module_power_draw_w", number, ("module.power.draw.instant", "module.power.draw.average")),
    ("module_power_limit_w", number, ("module.enforced.power.limit", "module.power.current_limit")),
    ("clock_graphics_mhz", number, ("clocks.current.graphics", "clocks.gr")),
    ("clock_sm_mhz", number, ("clocks.current.sm", "clocks.sm")),
    ("clock_memory_mhz", number, ("clocks.current.memory", "clocks.mem")),
    ("clock_video_mhz", number, ("clocks.current.video", "clocks.video")),
    ("clock_application_graphics_mhz", number, ("clocks.applications.graphics", "clocks.applications.gr")),
    ("clock_application_memory_mhz", number, ("clocks.applications.memory", "clocks.applications.mem")),
    ("clock_default_graphics_mhz", number, ("clocks.default_applications.graphics", "clocks.default_applications.gr")),
    ("clock_default_memory_mhz", number, ("clocks.default_applications.memory", "clocks.default_applications.mem")),
    ("clock_max_graphics_mhz", number, ("clocks.max.graphics", "clocks.max.gr")),
    ("clock_max_sm_mhz", number, ("clocks.max.sm",)),
    ("clock_max_memory_mhz", number, ("clocks.max.memory", "clocks.max.mem")),
    ("mig_mode", set_or_not, ("mig.mode.current",)),
    ("mig_mode_pending", set_or_not, ("mig.mode.pending",)),
    ("fabric_state", words, ("fabric.state",)),
    ("fabric_status", words, ("fabric.status",)),
    ("fabric_clique", words, ("fabric.cliqueid",)),
    ("fabric_cluster", words, ("fabric.clusteruuid",)),
)

GPU_NAMES: dict[str, tuple[str, Convert]] = {
    known: (field, convert) for field, convert, names in _ROWS for known in names
}
APP_NAMES: dict[str, tuple[str, Convert]] = {
    "gpu_uuid": ("gpu_uuid", words),
    "gpu_bus_id": ("gpu_bus_id", bus_id),
    "pid": ("pid", count),
    "process_name": ("name", words),
    "name": ("name", words),
    "used_gpu_memory": ("memory_used_mib", mib),
    "used_memory": ("memory_used_mib", mib),
}
OTHER_FAMILIES = ("clocks_event_reasons", "clocks_event_reasons_counters", "remapped_rows", "fabric", "ecc")
"""First parts of names that belong to a group, which a GPU's tree puts together."""


def plain_name(header: str) -> str:
    """A column's name without its unit, in lower case, the throttle reasons by their name since driver 535."""
    bare = header.split("[", 1)[0].strip().lower()
    return bare.replace("clocks_throttle_reasons", "clocks_event_reasons", 1)
