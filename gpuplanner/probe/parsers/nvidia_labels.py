"""What `nvidia-smi -q` and its XML call each thing of a GPU: one table from their paths to fields. Reads nothing.

Both print one tree. A path is written in lower case with "_" between the words of a label: "PCIe Generation" below
"GPU Link Info" below "PCI" is `pci/gpu_link_info/pcie_generation`; the XML's names are in that form already.
"""

from collections.abc import Callable
from typing import Any

from gpuplanner.probe.parsers.nvidia_values import (
    bus_id,
    count,
    device_id,
    mask,
    mib,
    set_or_not,
    version,
    virtualization,
)
from gpuplanner.probe.values import number, words, yes

Convert = Callable[[str], Any]

_LINKS = ("pci/gpu_link_info", "pci/pci_gpu_link_info")
_POWER = ("power_readings", "gpu_power_readings", "gpu_power_readings/gpu_ceiling_power_limit")
_REMAPPED = "remapped_rows"

_ROWS: tuple[tuple[str, Convert, tuple[str, ...]], ...] = (
    ("name", words, ("product_name",)),
    ("brand", words, ("product_brand",)),
    ("architecture", words, ("product_architecture",)),
    ("display_active", set_or_not, ("display_active",)),
    ("persistence_mode", set_or_not, ("persistence_mode",)),
    ("addressing_mode", words, ("addressing_mode",)),
    ("mig_mode", set_or_not, ("mig_mode/current", "mig_mode/current_mig")),
    ("mig_mode_pending", set_or_not, ("mig_mode/pending", "mig_mode/pending_mig")),
    ("driver_model", words, ("driver_model/current", "driver_model/current_dm")),
    ("serial", words, ("serial_number", "serial")),
    ("uuid", words, ("gpu_uuid", "uuid")),
    ("minor_number", count, ("minor_number",)),
    ("vbios", words, ("vbios_version",)),
    ("board_id", words, ("board_id",)),
    ("part_number", words, ("board_part_number",)),
    ("inforom", words, ("inforom_version/image_version", "inforom_version/img_version")),
    ("gsp_firmware", version, ("gsp_firmware_version",)),
    ("virtualization", virtualization, ("gpu_virtualization_mode/virtualization_mode",)),
    ("host_vgpu_mode", words, ("gpu_virtualization_mode/host_vgpu_mode",)),
    (
        "licence_product",
        words,
        (
            "vgpu_software_licensed_product/product_name",
            "vgpu_software_licensed_product/licensed_product_name",
            "grid_licensed_product/product_name",
        ),
    ),
    ("recovery_action", words, ("gpu_recovery_action",)),
    ("drain_and_reset_recommended", yes, ("gpu_reset_status/drain_and_reset_recommended",)),
    ("module_id", count, ("module_id",)),
    ("channel_repair_pending", yes, ("ecc_errors/channel_repair_pending",)),
    ("tpc_repair_pending", yes, ("ecc_errors/tpc_repair_pending",)),
    ("unrepairable_memory", yes, ("ecc_errors/unrepairable_memory",)),
    ("pci_bus_id", bus_id, ("pci/bus_id", "pci/pci_bus_id")),
    ("pci_device_id", device_id, ("pci/device_id", "pci/pci_device_id")),
    ("pci_subsystem_id", device_id, ("pci/sub_system_id", "pci/pci_sub_system_id")),
    ("pcie_gen_max", count, (f"{_LINKS[0]}/pcie_generation/max", f"{_LINKS[1]}/pcie_gen/max_link_gen")),
    (
        "pcie_gen_current",
        count,
        (
            f"{_LINKS[0]}/pcie_generation/current",
            f"{_LINKS[1]}/pcie_gen/current_link_gen",
            f"{_LINKS[0]}/pcie_generation/device_current",
            f"{_LINKS[1]}/pcie_gen/device_current_link_gen",
        ),
    ),
    (
        "pcie_gen_gpu_max",
        count,
        (f"{_LINKS[0]}/pcie_generation/device_max", f"{_LINKS[1]}/pcie_gen/max_device_link_gen"),
    ),
    ("pcie_gen_host_max", count, (f"{_LINKS[0]}/pcie_generation/host_max", f"{_LINKS[1]}/pcie_gen/max_host_link_gen")),
    ("pcie_width_max", count, (f"{_LINKS[0]}/link_width/max", f"{_LINKS[1]}/link_widths/max_link_width")),
    ("pcie_width_current", count, (f"{_LINKS[0]}/link_width/current", f"{_LINKS[1]}/link_widths/current_link_width")),
    ("pcie_replays", count, ("pci/replays_since_reset", "pci/replay_counter")),
    ("pcie_replay_rollovers", count, ("pci/replay_number_rollovers", "pci/replay_rollover_counter")),
    ("pcie_sent_kib_per_s", number, ("pci/tx_throughput", "pci/tx_util")),
    ("pcie_received_kib_per_s", number, ("pci/rx_throughput", "pci/rx_util")),
    ("fan_percent", number, ("fan_speed",)),
    ("pstate", words, ("performance_state",)),
    ("throttle_reasons", mask, ("clocks_throttle_reasons", "clocks_event_reasons")),
    ("memory_total_mib", mib, ("fb_memory_usage/total",)),
    ("memory_reserved_mib", mib, ("fb_memory_usage/reserved",)),
    ("memory_used_mib", mib, ("fb_memory_usage/used",)),
    ("memory_free_mib", mib, ("fb_memory_usage/free",)),
    ("bar1_total_mib", mib, ("bar1_memory_usage/total",)),
    ("bar1_used_mib", mib, ("bar1_memory_usage/used",)),
    ("compute_mode", words, ("compute_mode",)),
    ("utilization_percent", number, ("utilization/gpu", "utilization/gpu_util")),
    ("utilization_memory_percent", number, ("utilization/memory", "utilization/memory_util")),
    ("utilization_encoder_percent", number, ("utilization/encoder", "utilization/encoder_util")),
    ("utilization_decoder_percent", number, ("utilization/decoder", "utilization/decoder_util")),
    ("ecc_mode", set_or_not, ("ecc_mode/current", "ecc_mode/current_ecc")),
    ("ecc_mode_pending", set_or_not, ("ecc_mode/pending", "ecc_mode/pending_ecc")),
    ("ecc_sram_threshold_exceeded", yes, ("ecc_errors/aggregate/sram_threshold_exceeded",)),
    (
        "retired_single_bit",
        count,
        ("retired_pages/single_bit_ecc", "retired_pages/multiple_single_bit_retirement/retired_count"),
    ),
    (
        "retired_double_bit",
        count,
        ("retired_pages/double_bit_ecc", "retired_pages/double_bit_retirement/retired_count"),
    ),
    (
        "retired_pending",
        yes,
        (
            "retired_pages/pending",
            "retired_pages/pending_page_blacklist",
            "retired_pages/pending_retirement",
            "retired_pages/pending_blacklist",
        ),
    ),
    ("remapped_correctable", count, (f"{_REMAPPED}/correctable_error", f"{_REMAPPED}/remapped_row_corr")),
    ("remapped_uncorrectable", count, (f"{_REMAPPED}/uncorrectable_error", f"{_REMAPPED}/remapped_row_unc", _REMAPPED)),
    ("remap_pending", yes, (f"{_REMAPPED}/pending", f"{_REMAPPED}/remapped_row_pending")),
    ("remap_failed", yes, (f"{_REMAPPED}/remapping_failure_occurred", f"{_REMAPPED}/remapped_row_failure")),
    ("temperature_c", number, ("temperature/gpu_current_temp", "temperature/gpu_temp", "temperature/gpu")),
    (
        "temperature_margin_c",
        number,
        ("temperature/gpu_t_limit_temp", "temperature/gpu_current_t_limit_temp", "temperature/gpu_temp_tlimit"),
    ),
    ("temperature_memory_c", number, ("temperature/memory_current_temp", "temperature/memory_temp")),
    ("temperature_shutdown_c", number, ("temperature/gpu_shutdown_temp", "temperature/gpu_temp_max_threshold")),
    ("temperature_slowdown_c", number, ("temperature/gpu_slowdown_temp", "temperature/gpu_temp_slow_threshold")),
    (
        "temperature_max_operating_c",
        number,
        ("temperature/gpu_max_operating_temp", "temperature/gpu_temp_max_gpu_threshold"),
    ),
    (
        "temperature_memory_max_c",
        number,
        ("temperature/memory_max_operating_temp", "temperature/gpu_temp_max_mem_threshold"),
    ),
    (
        "temperature_shutdown_margin_c",
        number,
        ("temperature/gpu_shutdown_t_limit_temp", "temperature/gpu_temp_max_tlimit_threshold"),
    ),
    (
        "temperature_slowdown_margin_c",
        number,
        ("temperature/gpu_slowdown_t_limit_temp", "temperature/gpu_temp_slow_tlimit_threshold"),
    ),
    (
        "power_draw_w",
        number,
        tuple(
            f"{section}/{label}"
            for section in _POWER[:2]
            for label in ("power_draw", "instantaneous_power_draw", "instant_power_draw")
        ),
    ),
    ("power_draw_average_w", number, ("gpu_power_readings/average_power_draw",)),
    (
        "power_limit_w",
        number,
        tuple(f"{section}/{label}" for section in _POWER for label in ("power_limit", "current_power_limit")),
    ),
    ("power_limit_default_w", number, tuple(f"{section}/default_power_limit" for section in _POWER)),
    ("power_limit_min_w", number, tuple(f"{section}/min_power_limit" for section in _POWER)),
    ("power_limit_max_w", number, tuple(f"{section}/max_power_limit" for section in _POWER)),
    ("power_limit_enforced_w", number, ("power_readings/enforced_power_limit",)),
    (
        "module_power_draw_w",
        number,
        tuple(
            f"module_power_readings/{label}"
            for label in ("power_draw", "instantaneous_power_draw", "instant_power_draw", "average_power_draw")
        ),
    ),
    ("module_power_limit_w", number, ("module_power_readings/current_power_limit",)),
    ("clock_graphics_mhz", number, ("clocks/graphics", "clocks/graphics_clock")),
    ("clock_sm_mhz", number, ("clocks/sm", "clocks/sm_clock")),
    ("clock_memory_mhz", number, ("clocks/memory", "clocks/mem_clock")),
    ("clock_video_mhz", number, ("clocks/video", "clocks/video_clock")),
    (
        "clock_application_graphics_mhz",
        number,
        ("applications_clocks/graphics", "applications_clocks/graphics_clock"),
    ),
    ("clock_application_memory_mhz", number, ("applications_clocks/memory", "applications_clocks/mem_clock")),
    (
        "clock_default_graphics_mhz",
        number,
        ("default_applications_clocks/graphics", "default_applications_clocks/graphics_clock"),
    ),
    (
        "clock_default_memory_mhz",
        number,
        ("default_applications_clocks/memory", "default_applications_clocks/mem_clock"),
    ),
    ("clock_max_graphics_mhz", number, ("max_clocks/graphics", "max_clocks/graphics_clock")),
    ("clock_max_sm_mhz", number, ("max_clocks/sm", "max_clocks/sm_clock")),
    ("clock_max_memory_mhz", number, ("max_clocks/memory", "max_clocks/mem_clock")),
    ("clock_max_video_mhz", number, ("max_clocks/video", "max_clocks/video_clock")),
    ("fabric_state", words, ("fabric/state",)),
    ("fabric_status", words, ("fabric/status",)),
    ("fabric_clique", words, ("fabric/cliqueid",)),
    ("fabric_cluster", words, ("fabric/clusteruuid",)),
)

FIELDS: dict[str, tuple[str, Convert]] = {path: (field, convert) for field, convert, paths in _ROWS for path in paths}
SECTIONS = frozenset(path.split("/")[0] for path in FIELDS if "/" in path) | {
    "clocks_event_reasons",
    "clocks_throttle_reasons",
    "clocks_event_reasons_counters",
}
"""The sections whose names say that a text is of this tool."""

SLICE_FIELDS: dict[str, tuple[str, Convert]] = {
    "index": ("device_index", count),
    "gpu_instance_id": ("gpu_instance_id", count),
    "compute_instance_id": ("compute_instance_id", count),
    "device_attributes/shared/multiprocessor_count": ("multiprocessors", count),
    "shared_fb_memory_usage/total": ("memory_total_mib", mib),
    "shared_fb_memory_usage/used": ("memory_used_mib", mib),
    "fb_memory_usage/total": ("memory_total_mib", mib),
    "fb_memory_usage/used": ("memory_used_mib", mib),
}
PROCESS_FIELDS: dict[str, tuple[str, Convert]] = {
    "gpu_instance_id": ("gpu_instance_id", count),
    "compute_instance_id": ("compute_instance_id", count),
    "process_id": ("pid", count),
    "pid": ("pid", count),
    "type": ("kind", words),
    "name": ("name", words),
    "process_name": ("name", words),
    "used_gpu_memory": ("memory_used_mib", mib),
    "used_memory": ("memory_used_mib", mib),
}
