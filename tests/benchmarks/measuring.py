"""How long calls take in time of the processor, and how quick the core is on which they were timed. No limits."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

ROWS, PASSES = 32_768, 50


REFERENCE_PER_S = 3.2e9
"""Element operations a second of the reference loop on one core of the machine that the limits were set on."""


def reference_per_s() -> float:
    """Element operations a second of plain NumPy over blocks that fit the second-level cache."""
    a = np.linspace(1.0, 2.0, ROWS)
    b = np.linspace(2.0, 3.0, ROWS)

    def run() -> None:
        for _ in range(PASSES):
            np.divide(np.maximum(a * b + a, b), a)

    return 4 * PASSES * ROWS / least_seconds(run, 5)


def least_seconds(run: Callable[[], Any], rounds: int, calls: int = 1) -> float:
    """Seconds of one call, the least of several rounds of so many calls, after one that nobody times."""
    run()
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(calls):
            run()
        taken.append((time.process_time() - start) / calls)
    return min(taken)
