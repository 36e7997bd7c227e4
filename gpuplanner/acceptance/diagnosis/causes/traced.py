"""Why GPUs were idle while a program was traced (Nsight Systems), and what its threads stood in (py-spy)."""

import re
from collections.abc import Callable

from gpuplanner.acceptance.check import MOST_LINES, lines_of
from gpuplanner.acceptance.diagnosis.finding import Cause, Certainty, Looking, Signs
from gpuplanner.acceptance.saying import text
from gpuplanner.messages import MessageValue
from gpuplanner.probe.evidence.record import Seen
from gpuplanner.probe.evidence.traces import GpuTrace, IdleCause, ThreadStack, WaitingFor
from gpuplanner.units import percent

_WAITS_FOR_WORKERS = re.compile(r"^_(?:try_)?get_data\b.*\bdataloader\.py")
_LOADS_ITSELF = re.compile(r"^fetch\b.*\bdata/_utils/fetch\.py")
_WAITS_FOR_PEERS = re.compile(
    r"^(?:barrier|monitored_barrier|all_\w+|reduce\w*|broadcast\w*|recv)\b.*\bdistributed_c10d\.py"
)
_HELPERS = re.compile(r"^(?:_worker_loop|_pin_memory_loop|do_one_step)\b")
"""Frames of the data loader's own processes and threads: to wait for data there is their work."""


def _idle_in(certainty: Certainty, *kinds: WaitingFor) -> Callable[[Looking], Signs | None]:
    """Most of the time in which a GPU did nothing the program was in one of these."""

    def look(looking: Looking) -> Signs | None:
        for trace in looking.evidence.traces:
            found = [cause for cause in trace.causes if cause.waiting_for in kinds]
            seconds = sum(cause.seconds or 0 for cause in found)
            span, idle = trace.span_seconds or 0, trace.idle_seconds or 0
            rule = looking.rule
            if span > 0 and idle >= rule["idle_share"] * span and seconds >= rule["main_share"] * idle:
                return Signs(certainty, _lines(trace, found), _values(trace, found, seconds / idle, idle / span))
        return None

    return look


def _values(trace: GpuTrace, found: list[IdleCause], of_idle: float, of_span: float) -> dict[str, MessageValue]:
    longest = max(found, key=lambda cause: cause.seconds or 0)
    ranges = trace.ranges or {}
    return {
        "gpu": text(trace.gpu_index if trace.gpu_index is not None else "?"),
        "share": text(percent(of_span)),
        "part": text(percent(of_idle)),
        "call": text(longest.name or max(ranges, key=lambda name: ranges[name], default="–")),
    }


def _lines(trace: GpuTrace, found: list[IdleCause]) -> tuple[Seen, ...]:
    shown = (
        *lines_of([trace], "idle_seconds", "span_seconds"),
        *lines_of(found, "seconds"),
        *lines_of([trace], "ranges"),
    )
    return shown[:MOST_LINES]


def launches(looking: Looking) -> Signs | None:
    """Kernels that take less time than it takes to launch one, with gaps as short between them."""
    rule = looking.rule
    for trace in looking.evidence.traces:
        kernel, gap, gaps = trace.kernel_median_us, trace.gap_median_us, trace.gaps
        span, idle = trace.span_seconds or 0, trace.idle_seconds or 0
        if kernel is None or gap is None or span <= 0 or idle < rule["idle_share"] * span:
            continue
        short = kernel <= rule["kernel_us"] and gap <= rule["gap_us"]
        # The gaps themselves make up the idle time, and not a few long ones among them.
        if short and (gaps or 0) * gap * 1e-6 >= rule["main_share"] * idle:
            return Signs(
                Certainty.SHOWN,
                lines_of([trace], "kernel_median_us", "gap_median_us", "idle_seconds", "span_seconds"),
                {
                    "gpu": text(trace.gpu_index if trace.gpu_index is not None else "?"),
                    "share": text(percent(idle / span)),
                    "kernel": text(f"{kernel:.1f} µs"),
                    "gap": text(f"{gap:.1f} µs"),
                },
            )
    return None


def _standing_in(looking: Looking, where: re.Pattern[str]) -> list[ThreadStack]:
    return [
        thread
        for thread in looking.evidence.threads
        if any(where.match(frame) for frame in thread.frames)
        and not any(_HELPERS.match(frame) for frame in thread.frames)
    ]


def stacks_of_data(looking: Looking) -> Signs | None:
    """The thread that drives the GPU waits for a batch, or makes it itself. One moment alone proves little."""
    waiting, loading = (_standing_in(looking, where) for where in (_WAITS_FOR_WORKERS, _LOADS_ITSELF))
    found = waiting or loading
    if not found:
        return None
    return Signs(
        Certainty.LIKELY if len(found) > 1 else Certainty.POSSIBLE,
        lines_of(found, "innermost", "state"),
        {"count": len(found), "frame": text(found[0].innermost or "–")},
        sentence="cause" if waiting else "itself",
    )


def stacks_of_peers(looking: Looking) -> Signs | None:
    """Threads wait in a collective for other processes."""
    found = _standing_in(looking, _WAITS_FOR_PEERS)
    if not found:
        return None
    return Signs(
        Certainty.POSSIBLE,
        lines_of(found, "innermost", "state"),
        {"count": len(found), "frame": text(found[0].innermost or "–")},
    )


CAUSES = (
    Cause("many_launches", launches),
    Cause("idle_in_program", _idle_in(Certainty.LIKELY, "no_cuda_call", "operating_system")),
    Cause("idle_in_synchronization", _idle_in(Certainty.SHOWN, "synchronization")),
    Cause("idle_in_allocation", _idle_in(Certainty.SHOWN, "memory_allocation")),
    Cause("idle_in_copies", _idle_in(Certainty.SHOWN, "memory_copy")),
    Cause("idle_in_loading", _idle_in(Certainty.SHOWN, "module_loading")),
    Cause("stands_in_data", stacks_of_data),
    Cause("stands_in_collective", stacks_of_peers),
)
