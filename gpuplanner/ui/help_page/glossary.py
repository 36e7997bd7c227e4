"""The words of the field that the glossary explains, in both languages. No Qt."""

from dataclasses import dataclass

from gpuplanner.messages import Message


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


GLOSSARY = tuple(
    Term(word)
    for word in (
        "vram", "gib", "hbm", "dense", "accumulate", "kv_cache", "prefill", "decode", "ttft", "tpot", "concurrency",
        "gqa", "moe", "quantisation", "tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel",
        "zero", "recomputation", "lora", "mfu", "nvlink", "busbw", "mig", "spot",
    )
)  # fmt: skip
"""In the order in which a reader meets them."""
