"""Memory that PyTorch did not get although it holds enough: what it keeps is in pieces."""

from gpuplanner.acceptance.check import lines_of
from gpuplanner.acceptance.diagnosis.finding import Cause, Certainty, Looking, Signs
from gpuplanner.acceptance.saying import text

_GIB = 2.0**30


def fragmented(looking: Looking) -> Signs | None:
    """More lies reserved and unused than was asked for: no piece of it is large enough."""
    for failed in looking.evidence.out_of_memory:
        held, used, wanted = failed.reserved_bytes, failed.allocated_bytes, failed.wanted_bytes
        if held is None or used is None or wanted is None or held - used < wanted:
            continue
        values = {"wanted": _size(wanted), "spare": _size(held - used)}
        shown = {name: text(value) for name, value in values.items()}
        return Signs(Certainty.LIKELY, lines_of([failed], "wanted_bytes", "reserved_bytes"), shown)
    return None


def _size(count: float) -> str:
    return f"{count / _GIB:.2f} GiB"


CAUSES = (Cause("memory_fragmented", fragmented),)
