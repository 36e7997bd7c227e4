"""Runs the program that measures through PyTorch beside us, and tells its results. Loads no PyTorch itself.

Standard library only, Python 3.6 and later.
"""

import importlib.util
import json
import sys
from typing import Any, Dict

from gpuplanner.probe.there.collect import Run
from gpuplanner.probe.there.report import Report

TORCH_LIMIT_S = 45.0
LEAST_LEFT_S = 15.0
"""Loading PyTorch alone takes up to ten seconds."""


def measure_torch(report: Report, program: str, names: Dict[int, int]) -> None:
    """Run it with the Python that runs us, where that has PyTorch. Raises Ended.

    `names`: the GPUs' numbers by CUDA's.
    """
    report.progress("torch", None)
    if importlib.util.find_spec("torch") is None:
        report.failed("no_library", "torch", what="torch")
        return
    if report.left_s() < LEAST_LEFT_S:
        report.failed("out_of_time", "", what="torch")
        return
    report.conditions.begin(*names.values())
    run = Run(
        {
            "id": "torch", "argv": [sys.executable, "-B", "-c", program], "limit_bytes": 1 << 20,
            "limit_s": min(TORCH_LIMIT_S, report.left_s()),
        }
    )  # fmt: skip
    run.run(report.stop)
    report.leave()
    for line in b"".join(run.parts["out"]).decode("utf-8", "replace").splitlines():
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict):
            _tell(report, said, names)
    if run.outcome != "ended" or run.code != 0:
        lines = b"".join(run.parts["err"]).decode("utf-8", "replace").strip().splitlines()
        report.failed("library_error", "torch: %s" % (lines[-1][:300] if lines else run.outcome), what="torch")


def _tell(report: Report, said: Dict[str, Any], names: Dict[int, int]) -> None:
    gpu = names.get(said.get("gpu", -1))
    if gpu is None:
        return
    if "flop" in said:
        # Loading takes seconds and one GPU works at a time: only what was seen of it while it worked is of its rate.
        during = report.conditions.seen_of(gpu, said["began_s"], said["ended_s"])
        report.rate(
            gpu, said["dtype"], said["path"], said["flop"], said["seconds"], said["count"], said["size"], during
        )
    else:
        report.failed("library_error", "%s: %s" % (said.get("what"), said.get("said")), gpu=gpu, what="torch")
