"""Tells what a measurement brings, how far it is and what failed, and says when to leave. Measures nothing itself.

Standard library only, Python 3.6 and later.
"""

import threading
import time
from typing import Any, Callable, Dict, Optional, Sequence

from gpuplanner.probe.there.collect import Tell
from gpuplanner.probe.there.conditions import Conditions
from gpuplanner.probe.there.cuda import ENDS_CONTEXT, CudaFault, Device, Ended
from gpuplanner.probe.there.libraries import LibraryFault


class Report:
    """Where one run of the measuring program tells everything. `only`: the steps that are wanted, all where empty."""

    def __init__(self, tell: Tell, stop: threading.Event, limit_s: float, only: Sequence[str] = ()) -> None:
        self.tell = tell
        self.stop = stop
        self.conditions = Conditions(None, {})
        self._only = frozenset(only)
        self._end = time.monotonic() + limit_s
        self._done = 0
        self._steps = 1

    def wants(self, what: str) -> bool:
        """Whether a step is to be done."""
        return not self._only or what in self._only

    def expect(self, steps: int) -> None:
        """How many steps there will be, for what is said of progress."""
        self._steps = max(1, steps)

    def passed(self, steps: int) -> None:
        """These steps are left out."""
        self._done += steps

    def left_s(self) -> float:
        """Seconds until the time is over."""
        return self._end - time.monotonic()

    def leave(self) -> None:
        """Raises Ended when it is time to leave."""
        if self.stop.is_set():
            raise Ended("stopped")
        if self.left_s() < 0:
            raise Ended("out_of_time")

    def progress(self, what: str, gpu: Optional[int]) -> None:
        """A step begins. Raises Ended."""
        self.leave()
        told = {"frame": "measuring", "what": what, "gpu": gpu, "share": min(1.0, self._done / float(self._steps))}
        self._done += 1
        self.tell(told)

    def failed(self, reason: str, said: str, gpu: Optional[int] = None, what: str = "") -> bool:
        """Something was not measured, and why. Gives False."""
        self.tell({"frame": "failed", "reason": reason, "said": said, "gpu": gpu, "what": what})
        return False

    def tried(self, step: Callable[[], None], what: str, gpu: Optional[int], device: Device) -> bool:
        """Do a step; where it fails, say why. An error that ends the context ends what this GPU can do."""
        if device.dead:
            return self.failed(device.dead, "", gpu=gpu, what=what)
        try:
            step()
            return True
        except (CudaFault, LibraryFault) as fault:
            if fault.reason in ENDS_CONTEXT:
                device.dead = fault.reason
            return self.failed(fault.reason, fault.said, gpu=gpu, what=what)

    def bandwidth(
        self, path: str, source: Optional[int], target: Optional[int], size: int, moved: int, seconds: float,
        count: int, method: str, p2p_enabled: Optional[bool] = None, both_ways: bool = False,
    ) -> None:  # fmt: skip
        """Copies of `size` bytes, of which each moved so many."""
        self.result(
            "bandwidth", seconds, count, path=path, source=source, target=target, bytes=size, method=method,
            p2p_enabled=p2p_enabled, both_ways=both_ways, counts_both=path == "device_memory",
            rates={"gb_per_s": moved / 1e9},
        )  # fmt: skip

    def rate(
        self, gpu: int, dtype: str, path: str, flop: float, seconds: float, count: int, size: Optional[int],
        during: Optional[Dict[str, Any]] = None,
    ) -> None:  # fmt: skip
        """Arithmetic of one GPU, of square matrices of a size where there are any. `during`: as `result` takes it."""
        self.result(
            "matrix", seconds, count, gpu=gpu, dtype=dtype, path=path, m=size, n=size, k=size,
            rates={"tflop_per_s": flop / 1e12}, during=during,
        )  # fmt: skip

    def result(
        self, kind: str, seconds: float, count: int, rates: Dict[str, float],
        during: Optional[Dict[str, Any]] = None, **fields: Any,
    ) -> None:  # fmt: skip
        """One result. `rates`: what one piece of the work is, to be divided by its seconds.

        `during`: the conditions meanwhile, where they are not all that was seen since they were begun.
        """
        told: Dict[str, Any] = {"frame": "result", "kind": kind, "seconds": seconds, "repetitions": count}
        told.update({name: value for name, value in fields.items() if value is not None})
        if seconds > 0:
            told.update({name: amount / seconds for name, amount in rates.items()})
        else:
            told["reason"] = "no_time_passed"
        told["during"] = self.conditions.seen() if during is None else during
        self.tell(told)
