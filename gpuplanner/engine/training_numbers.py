"""The numbers of one training run, or of a million layouts at once: memory by phase, time by operator, rates.

`training_numbers(model, software, hardware, layout)` is all there is. Its inputs are structs of numbers:

- `ModelNumbers` (`training_model.model_numbers(architecture, workload)`), floats;
- `SoftwareNumbers` (`training_software.software_numbers(workload, machine, efficiencies)`), floats;
- `HardwareNumbers` (`training_hardware.hardware_numbers(machine, efficiencies)`), floats or arrays;
- `LayoutNumbers` (`training_layouts.layout_of` and `layouts_of`), floats or arrays: batch, degrees, what is sharded.

Fields that are arrays have one length; a result is an array where something that it depends on is one. Memory is that
of the fullest GPU, time that of the one that the others wait for. Nothing is rejected here: a layout that does not
divide (heads by TP, ranks by EP) gets numbers too, so a search filters those out first.
"""

from dataclasses import dataclass

from gpuplanner.engine.formulas.elementwise import Number, maximum, minimum
from gpuplanner.engine.formulas.training_time import (
    flops_utilisation,
    hardware_flops_per_token,
    model_flops_per_token,
    tokens_per_s_per_gpu,
    training_tokens_per_s,
)
from gpuplanner.engine.training_inputs import HardwareNumbers, LayoutNumbers, SoftwareNumbers
from gpuplanner.engine.training_memory import MemoryNumbers, memory_numbers
from gpuplanner.engine.training_model import ModelNumbers
from gpuplanner.engine.training_split import Split, split
from gpuplanner.engine.training_time import TimeNumbers, time_numbers


@dataclass(frozen=True, slots=True)
class TrainingNumbers:
    """What a run comes to. `mfu` and `hfu` are of the dense 16-bit peak.

    Attention is counted without its mask, as is usual; but in layers with a window, no more tokens than it shows.
    """

    split: Split
    memory: MemoryNumbers
    time: TimeNumbers
    tokens_per_s: Number
    tokens_per_s_per_gpu: Number
    flops_per_token: Number
    mfu: Number
    hfu: Number


def training_numbers(
    model: ModelNumbers, software: SoftwareNumbers, hardware: HardwareNumbers, layout: LayoutNumbers
) -> TrainingNumbers:
    """Memory, time and rates of a run; see the module's docstring."""
    part = split(model, hardware, layout)
    memory = memory_numbers(model, software, layout, part)
    time = time_numbers(model, software, hardware, layout, part, memory.kept)
    tokens_per_s = training_tokens_per_s(layout.global_batch, layout.sequence_length, time.step)
    seen = minimum(model.window / layout.sequence_length, 1.0)
    pair_flops = model.pair_flops + model.windowed_pair_flops * seen
    flops = model_flops_per_token(1.0 - model.frozen, model.active_parameters, pair_flops, layout.sequence_length)
    again = maximum(layout.full_recomputation, layout.selective_recomputation * software.selective_matrices)
    done = hardware_flops_per_token(flops, again, model.active_parameters, pair_flops, layout.sequence_length)
    return TrainingNumbers(
        split=part,
        memory=memory,
        time=time,
        tokens_per_s=tokens_per_s,
        tokens_per_s_per_gpu=tokens_per_s_per_gpu(tokens_per_s, hardware.gpus),
        flops_per_token=flops,
        mfu=flops_utilisation(tokens_per_s, flops, hardware.gpus, software.wide_flop_per_s),
        hfu=flops_utilisation(tokens_per_s, done, hardware.gpus, software.wide_flop_per_s),
    )
