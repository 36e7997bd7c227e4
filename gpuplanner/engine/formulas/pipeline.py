"""How layers and micro-batches are divided over pipeline stages, what that keeps in memory, what time it leaves idle.

The schedule is one-forward-one-backward, interleaved over `virtual_pipeline` chunks of each stage where there are some.
"""

from gpuplanner.engine.formulas.elementwise import Number, ceil, minimum, where
from gpuplanner.figures import formula
from gpuplanner.units import Unit

NARAYANAN = "Narayanan et al., Efficient large-scale language model training on GPU clusters, SC 2021"
KORTHIKANTI = "Korthikanti et al., Reducing activation recomputation in large transformer models, MLSys 2023"


@formula(Unit.COUNT, "ceil(global_batch / (micro_batch · data_parallel))", NARAYANAN)
def micro_batches(global_batch: Number, micro_batch: Number, data_parallel: Number) -> Number:
    """Forward and backward passes of one rank in an optimizer step (gradient accumulation); at least one."""
    return ceil(global_batch / (micro_batch * data_parallel))


@formula(Unit.COUNT, "ceil(layers / pipeline_parallel)", NARAYANAN)
def layers_per_stage(layers: Number, pipeline_parallel: Number) -> Number:
    """Layers of the fullest pipeline stage."""
    return ceil(layers / pipeline_parallel)


@formula(
    Unit.COUNT,
    "min(micro_batches, pipeline_parallel · (1 + (pipeline_parallel - 1) / (pipeline_parallel · virtual_pipeline)"
    " where virtual_pipeline > 1))",
    KORTHIKANTI,
)
def micro_batches_in_flight(micro_batches: Number, pipeline_parallel: Number, virtual_pipeline: Number) -> Number:
    """Micro-batches whose activations the first stage keeps at once, in those of a whole stage."""
    interleaved = (pipeline_parallel - 1.0) / virtual_pipeline * (virtual_pipeline > 1)
    return minimum(micro_batches, pipeline_parallel + interleaved)


@formula(
    Unit.COUNT,
    "min(micro_batches, pipeline_parallel - (pipeline_parallel - 1) / virtual_pipeline where virtual_pipeline > 1,"
    " else 1)",
    KORTHIKANTI,
)
def micro_batches_in_flight_last(micro_batches: Number, pipeline_parallel: Number, virtual_pipeline: Number) -> Number:
    """Micro-batches whose activations the last stage keeps at once: one, and more chunks when they are interleaved."""
    interleaved = pipeline_parallel - (pipeline_parallel - 1.0) / virtual_pipeline
    return minimum(micro_batches, where(virtual_pipeline > 1, interleaved, 1.0))


@formula(Unit.SECOND, "micro_batch_s · (micro_batches + (pipeline_parallel - 1) / virtual_pipeline)", NARAYANAN)
def pipelined_step_seconds(
    micro_batch_s: Number, micro_batches: Number, pipeline_parallel: Number, virtual_pipeline: Number
) -> Number:
    """All micro-batches of a step with the time in which the pipeline fills and drains."""
    return micro_batch_s * (micro_batches + (pipeline_parallel - 1.0) / virtual_pipeline)


@formula(Unit.SECOND, "micro_batch_s · (pipeline_parallel - 1) / virtual_pipeline", NARAYANAN)
def bubble_seconds(micro_batch_s: Number, pipeline_parallel: Number, virtual_pipeline: Number) -> Number:
    """Time of a step in which a stage waits for the pipeline to fill and drain."""
    return micro_batch_s * (pipeline_parallel - 1.0) / virtual_pipeline
