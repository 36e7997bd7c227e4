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

from gpuplanner.engine.formulas.elementwise import Number, maximum
from gpuplanner.engine.formulas.training_time import (
    attention_flops_per_token,
    flops_utilisation,
    hardware_flops_per_token,
    model_flops_per_token,
    tokens_per_s_per_gpu,
    training_tokens_per_s,
)
from gpuplanner.engine.training_inputs import HardwareNumbers, LayoutNumbers, SoftwareNumbers
from gpuplanner.engine.training_memory import MemoryNumbers, memory_numbers
from gpuplanner.engine.training_model import ModelNumbers
from gpuplanner.engine.training_rollout import RolloutNumbers, rollout_numbers
from gpuplanner.engine.training_split import Split, split
from gpuplanner.engine.training_time import TimeNumbers, attended_tokens, recomputed_shares, time_numbers


@dataclass(frozen=True, slots=True)
class TrainingNumbers:
    """What a run comes to. `mfu` and `hfu` are of the dense peak of the format that matrices are multiplied in.

    `mfu` counts what the model needs for the tokens that count: attention as its mask shows it, nothing of padding and
    nothing twice. `hfu` counts what is computed. Neither can pass the share of the peak that kernels reach.
    """

    split: Split
    memory: MemoryNumbers
    time: TimeNumbers
    tokens_per_s: Number
    tokens_per_s_per_gpu: Number
    flops_per_token: Number
    mfu: Number
    hfu: Number


@dataclass(frozen=True, slots=True)
class RateNumbers:
    """Rates of a run; see `TrainingNumbers`."""

    tokens_per_s: Number
    flops_per_token: Number
    mfu: Number
    hfu: Number


@dataclass(frozen=True, slots=True)
class HeldNumbers:
    """What a run takes of memory, and what that was computed from."""

    split: Split
    rollout: RolloutNumbers
    memory: MemoryNumbers


def training_numbers(
    model: ModelNumbers, software: SoftwareNumbers, hardware: HardwareNumbers, layout: LayoutNumbers
) -> TrainingNumbers:
    """Memory, time and rates of a run; see the module's docstring."""
    return with_rates(model, software, hardware, layout, held_numbers(model, software, hardware, layout))


def held_numbers(
    model: ModelNumbers, software: SoftwareNumbers, hardware: HardwareNumbers, layout: LayoutNumbers
) -> HeldNumbers:
    """Memory alone, which decides whether a layout can run at all."""
    part = split(model, hardware, layout)
    rollout = rollout_numbers(model, software, hardware, layout)
    return HeldNumbers(part, rollout, memory_numbers(model, software, layout, part, rollout.held))


def with_rates(
    model: ModelNumbers,
    software: SoftwareNumbers,
    hardware: HardwareNumbers,
    layout: LayoutNumbers,
    held: HeldNumbers,
) -> TrainingNumbers:
    """Time and rates of layouts of which memory is known, and that with them."""
    part, memory = held.split, held.memory
    time = time_numbers(model, software, hardware, layout, part, memory.kept, held.rollout.seconds)
    rates = rate_numbers(model, software, hardware, layout, part, time.step)
    return TrainingNumbers(
        split=part,
        memory=memory,
        time=time,
        tokens_per_s=rates.tokens_per_s,
        tokens_per_s_per_gpu=tokens_per_s_per_gpu(rates.tokens_per_s, hardware.gpus),
        flops_per_token=rates.flops_per_token,
        mfu=rates.mfu,
        hfu=rates.hfu,
    )


def rate_numbers(
    model: ModelNumbers,
    software: SoftwareNumbers,
    hardware: HardwareNumbers,
    layout: LayoutNumbers,
    part: Split,
    step_s: Number,
) -> RateNumbers:
    """What a step of so many seconds comes to."""
    tokens_per_s = tokens_a_second(layout, layout.useful_share, step_s)
    passed_per_s = tokens_a_second(layout, part.passed_share, step_s)
    trained, reference = 1.0 - model.frozen, layout.reference_passes
    pairs = model.pair_flops, model.windowed_pair_flops
    unmasked = 1.0 - model.causal
    own = layout.sequence_length * layout.useful_share * layout.document_share
    seen, windowed = attended_tokens(model, own, unmasked)
    shown = attention_flops_per_token(pairs[0], seen, pairs[1], windowed)
    flops = model_flops_per_token(trained, reference, model.active_parameters, shown)
    passed, passed_windowed = attended_tokens(model, part.span, maximum(layout.math_attention, unmasked))
    computed = attention_flops_per_token(pairs[0], passed, pairs[1], passed_windowed)
    again, attention_again = recomputed_shares(software, layout)
    active = model.active_parameters
    done = hardware_flops_per_token(
        trained, reference, active, again, active - model.head_matrix, attention_again, computed
    )
    return RateNumbers(
        tokens_per_s=tokens_per_s,
        flops_per_token=flops,
        mfu=flops_utilisation(tokens_per_s, flops, hardware.gpus, software.flop_per_s),
        hfu=flops_utilisation(passed_per_s, done, hardware.gpus, software.flop_per_s),
    )


def tokens_a_second(layout: LayoutNumbers, share: Number, step_s: Number) -> Number:
    """Tokens of a step, so many of each full sequence, over its time."""
    return training_tokens_per_s(
        layout.global_batch, layout.sequences_per_sample, layout.sequence_length, share, step_s
    )
