"""A way of serving worked out beside the plan's own, to compare: no explanation leads to it."""

from functools import lru_cache

from gpuplanner.engine.serving_inputs import GpuNumbers, LoadNumbers, ModelNumbers, ServerNumbers, WayNumbers
from gpuplanner.engine.serving_memory import MemoryNumbers
from gpuplanner.engine.serving_numbers import ServingNumbers, serving_numbers
from gpuplanner.figures import unrecorded


@lru_cache(maxsize=256)
def tried_numbers(
    model: ModelNumbers,
    gpu: GpuNumbers,
    server: ServerNumbers,
    load: LoadNumbers,
    way: WayNumbers,
    memory: MemoryNumbers | None = None,
) -> ServingNumbers:
    """`serving_numbers` of floats, kept for plans that differ only in what they do not depend on."""
    with unrecorded():
        return serving_numbers(model, gpu, server, load, way, memory)
