"""Measures the way between this machine and the one that asks: the round trip, and bytes a second in either direction.

Standard library only, Python 3.6 and later. It is the SSH connection that is measured, as the program finds it: with
what encryption takes, with what else is on the line. It says nothing of the machine's own network.
"""

import base64
import os
import time
from typing import Optional

from gpuplanner.probe.there.collect import Listening
from gpuplanner.probe.there.report import Report

ROUNDS_OF_ONE = 9
LEAST_BYTES_SENT, MOST_BYTES_SENT = 1 << 16, 1 << 26
LONG_ENOUGH_S = 0.5
NO_ANSWER_S = 8.0
PIECE_BYTES = 48 << 10


def measure_channel(report: Report, listening: Listening) -> None:
    """Ask the other side for bytes, and send it some. Raises Ended."""
    report.progress("channel", None)
    rounds = sorted(filter(None, (_asked(report, listening, 1) for _ in range(ROUNDS_OF_ONE))))
    if not rounds:
        report.failed("no_answer", "", what="channel")
        return
    trip = rounds[len(rounds) // 2]
    for method, way in (("to_machine", _received), ("from_machine", _sent)):
        size = LEAST_BYTES_SENT
        while True:
            seconds = way(report, listening, size)
            if seconds is None:
                report.failed("no_answer", method, what="channel")
                return
            if seconds > LONG_ENOUGH_S or size >= MOST_BYTES_SENT:
                break
            size *= 4
        # The question, or the answer, was on its way for half a round trip each.
        took = max(seconds - trip, seconds / 10)
        report.tell(
            {
                "frame": "result", "kind": "bandwidth", "path": "network", "method": method, "bytes": size,
                "gb_per_s": size / took / 1e9, "latency_us": trip * 1e6, "seconds": seconds,
            }
        )  # fmt: skip


def _asked(report: Report, listening: Listening, size: int) -> Optional[float]:
    """Seconds until so many bytes have come that were asked for; None where they do not."""
    before, began = listening.heard_bytes, time.perf_counter()
    report.tell({"frame": "ask", "bytes": size})
    while listening.heard_bytes < before + size:
        report.leave()
        if time.perf_counter() - began > NO_ANSWER_S:
            return None
        time.sleep(0.0002)  # Another thread counts what comes; shorter would take the interpreter from it.
    return time.perf_counter() - began


def _received(report: Report, listening: Listening, size: int) -> Optional[float]:
    return _asked(report, listening, size)


def _sent(report: Report, listening: Listening, size: int) -> Optional[float]:
    """Seconds until so many bytes have been taken there and that was answered."""
    filler = base64.b64encode(os.urandom(PIECE_BYTES)).decode("ascii")
    began = time.perf_counter()
    for _ in range(size // len(filler) + 1):
        report.leave()
        report.tell({"frame": "filler", "data": filler})
    answered = _asked(report, listening, 1)
    if answered is None:
        return None
    took = time.perf_counter() - began
    # Whole pieces were sent.
    return took * size / (len(filler) * (size // len(filler) + 1))
