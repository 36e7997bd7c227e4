"""Why no GPU of a machine is sampled, in a sentence."""

from gpuplanner.messages import Message, msg

_KNOWN = frozenset({"no_library", "driver_not_loaded", "no_permission"})
"""What the sampling program says where NVML does not start (`probe.there.nvml`), and a person can act on."""


def no_gpus(reason: str) -> Message:
    """The sentence for a reason of the sampling program; one that has no sentence is named."""
    return msg(f"live.no_gpus.{reason}") if reason in _KNOWN else msg("live.no_gpus.other", reason=reason)
