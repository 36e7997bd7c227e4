"""What is aimed at, by family and column. Nothing is computed here."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """What is aimed at: the median deviation over sources; where they are said too, the ninetieth percentile, and the
    median of every single source."""

    what: str
    family: str
    metric: str
    median: float
    p90: float | None = None
    each_source: float | None = None


TARGETS = (
    Target("KV cache bytes per token", "kv_cache", "kv_bytes_per_token_per_gpu", 0.005),
    Target("decode time per token, dense models, real servers", "serving online, dense", "tpot_ms", 0.10, 0.30),
    Target("decode time per token, mixtures, real servers", "serving online, mixtures", "tpot_ms", 0.10, 0.30),
    Target("time to first token, dense models", "serving online, dense", "ttft_ms", 0.25),
    Target("time to first token, mixtures", "serving online, mixtures", "ttft_ms", 0.25),
    Target("maximum serving throughput", "serving offline", "measured_output_tok_s", 0.15),
    Target("single-stream decode", "serving single stream", "measured_output_tok_s", 0.12),
    Target("pre-training step time", "training_llm, pre-training", "measured_step_s", 0.08, each_source=0.15),
    Target("fine-tuning throughput", "training_llm, fine-tuning", "measured_tokens_per_s_per_gpu", 0.20),
    Target("training peak memory, pre-training", "training_llm, pre-training", "measured_peak_mem_gb", 0.07),
    Target("training peak memory, fine-tuning", "training_llm, fine-tuning", "measured_peak_mem_gb", 0.07),
    Target("longest sequence that fits", "training_fit_limits", "max_seq_len_that_fits", 0.20),
    Target("diffusion, time of an image", "inference_diffusion", "s_per_image", 0.20),
    Target("diffusion, iterations a second", "inference_diffusion", "it_per_s", 0.20),
    Target("diffusion, memory", "inference_diffusion", "peak_mem_gb", 0.10),
    Target("diffusion training", "training_diffusion", "measured_img_per_s", 0.20),
    Target("vision, inference", "inference_vision", "measured_img_per_s", 0.20),
    Target("vision, training", "training_vision", "measured_img_per_s", 0.20),
    Target("speech, time", "speech", "time_s", 0.20),
    Target("speech, memory", "speech", "peak_mem_gb", 0.10),
    Target("collective bus bandwidth by size", "achievable_bandwidth", "measured_GBps", 0.10),
)
"""The table of aims; |ln| of 0.10 is about 10 %."""


def plot_name(family: str, metric: str) -> str:
    """The file of a plot."""
    return f"{family}_{metric}".replace(", ", "_").replace(" ", "_").replace("-", "_") + ".svg"
