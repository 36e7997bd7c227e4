"""The words of the field that the glossary explains, in both languages, and which word a number is about. No Qt."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuplanner.messages import Message

_PATH = "term/"


@dataclass(frozen=True, slots=True)
class Term:
    """A word and what it means."""

    id: str

    @property
    def name(self) -> Message:
        """The word."""
        return Message(f"ui.term.{self.id}")

    @property
    def meaning(self) -> Message:
        """What it means, in a sentence or two."""
        return Message(f"ui.term.{self.id}.meaning")

    @property
    def path(self) -> str:
        """Where the help page explains it."""
        return _PATH + self.id


GLOSSARY = tuple(
    Term(word)
    for word in (
        "vram", "gib", "hbm", "dense", "accumulate", "intensity", "tdp", "compute_capability", "parameters", "context",
        "kv_cache", "prefill", "decode", "ttft", "tpot", "request_time", "throughput", "concurrency", "step_time",
        "gqa", "moe", "quantisation", "tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel",
        "speculation", "acceptance", "mtp", "disaggregation",
        "zero", "recomputation", "lora", "mfu", "data_wait", "nvlink", "rdma", "busbw", "mig", "on_demand", "spot",
        "per_gib", "per_mtoken", "per_item", "job", "region",
    )
)  # fmt: skip
"""In the order in which a reader meets them."""
_BY_ID = {term.id: term for term in GLOSSARY}
_WORDS: Mapping[str, tuple[str, ...]] = {
    "vram": ("memory_bytes", "memory_type", "gpu_memory_each", "gpu_memory_total", "memory_total"),
    "hbm": ("hbm_bytes_per_s", "hbm_total"),
    "dense": (
        "bf16_flop_per_s", "fp16_flop_per_s", "fp8_flop_per_s", "fp4_flop_per_s", "int8_flop_per_s", "tf32_flop_per_s",
        "fp32_flop_per_s", "fp64_flop_per_s", "fp64_tensor_flop_per_s", "bf16_total",
    ),
    "intensity": ("flop_per_byte",),
    "tdp": ("power_w",),
    "compute_capability": ("compute_capability",),
    "parameters": ("parameters",),
    "moe": ("active_parameters", "experts"),
    "context": ("max_positions",),
    "kv_cache": ("kv_bytes_per_token", "kv_elements_per_token", "kv"),
    "nvlink": ("link_bytes_per_s", "link_kind", "interconnect"),
    "rdma": ("rdma", "network_bit_per_s"),
    "mig": ("mig_slices", "gpu_fraction"),
    "on_demand": ("price", "gpu_price", "usd_per_hour", "usd_per_month", "price_date", "offers"),
    "spot": ("spot_price", "spot"),
    "per_gib": ("price_per_gib", "price_per_tflops"),
    "region": ("region", "offer_region"),
    "ttft": ("ttft_s",),
    "tpot": ("tpot_s",),
    "request_time": ("request_s",),
    "throughput": (
        "output_tokens_per_s", "tokens_per_s", "items_per_s", "images_per_s", "generated_per_s", "audio_s_per_s",
        "science_steps_per_s", "video_s_per_s", "live_streams", "relative_speed",
    ),
    "step_time": (
        "step_s", "item_step_s", "image_batch_s", "diffusion_step_s", "vision_step_s", "recording_s", "frame_s",
        "science_step_s",
    ),
    "mfu": ("mfu",),
    "job": ("job_s", "job_usd"),
    "per_mtoken": ("usd_per_mtoken",),
    "per_item": (
        "usd_per_kitem", "usd_per_kimage", "usd_per_kgenerated", "usd_per_kaudio_s", "usd_per_kframe", "usd_per_kstep",
        "usd_per_kvideo_s",
    ),
}  # fmt: skip
_OF = {number: _BY_ID[word] for word, numbers in _WORDS.items() for number in numbers}


def term_of(number: str) -> Term | None:
    """The word that explains a column of the catalog or a metric of an estimate, None where its title says it all."""
    return _OF.get(number)


def term_of_path(path: str) -> Term | None:
    """The word that a path of the help page leads to."""
    return _BY_ID.get(path.removeprefix(_PATH)) if path.startswith(_PATH) else None
