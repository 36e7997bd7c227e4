"""What our own measuring program brings, over driver libraries with recorded rates, is judged as a check judges it."""

import json

import pytest

from gpuplanner.probe.inspecting import inspect
from gpuplanner.probe.measuring import Measured
from gpuplanner.probe.transports.programs import MEASURE
from tests.acceptance.judged import judge
from tests.probe.native_libraries import compiled_libraries, libraries, start

__all__ = ["compiled_libraries", "libraries", "start"]


@pytest.fixture
def evidence(libraries, start):
    """What a measurement brings of a machine whose libraries do as they are told."""

    def run(*sources, **settings):
        libraries.put("cuda", "nvml", *sources)
        measured = Measured("node")
        for frame in start(MEASURE, {"limit_s": 60.0, "even_if_busy": False}, **settings).frames():
            measured.take(json.loads(json.dumps(frame)))
        return inspect(measured.run(whole=True).results[0].output()).evidence

    return run


@pytest.mark.parametrize(("bus", "verdict"), [(470, "pass"), (360, "warn"), (120, "fail")])
def test_the_all_reduce_that_tier_b_measures_is_judged(evidence, libraries, bus, verdict):
    found = evidence("nccl", gpus=8, name="NVIDIA H100 80GB HBM3", bus_gb_per_s=bus)
    judged = judge("allreduce", collectives=found.collectives, gpus=found.gpus)
    assert judged is not None
    assert (judged.verdict.value, judged.measured.values["text"]) == (verdict, f"{bus}.0 GB/s")
    # In place, and no more than what is promised to a GPU's owner.
    assert libraries.most_bytes() == 512 << 20
