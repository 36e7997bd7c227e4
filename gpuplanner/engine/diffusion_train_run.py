"""One optimizer step of training a diffusion model, worked out on one GPU: memory by phase, time by part."""

from dataclasses import dataclass

from gpuplanner.catalog.efficiency import Efficiencies, Efficiency
from gpuplanner.catalog.networks import DiffusionNetwork
from gpuplanner.engine.diffusion_pipeline import (
    Sizes,
    codec_precision,
    encoding_peak,
    latents_of,
    prompt_seconds,
    stages_seconds,
    text_precision,
)
from gpuplanner.engine.diffusion_rates import BITS, TABLE, Rates, pass_seconds, rates_of
from gpuplanner.engine.diffusion_stages import denoiser_stages, encoder_stages
from gpuplanner.engine.diffusion_work import Grids, denoising_peak, grids_of, pass_of
from gpuplanner.engine.estimate import Limit
from gpuplanner.engine.formulas import diffusion as formulas
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.formulas.gemm import read_seconds
from gpuplanner.engine.formulas.items import item_launch_seconds
from gpuplanner.engine.formulas.training_memory import process_overhead_bytes
from gpuplanner.engine.links import all_reduce_seconds_on
from gpuplanner.engine.machine import Machine
from gpuplanner.workload.diffusion import Diffusion, DiffusionPrecision
from gpuplanner.workload.diffusion_training import DiffusionMethod, DiffusionTraining, StateSharding
from gpuplanner.workload.training import AttentionKernel

STATES = "training_states"
UPDATED_BYTES = 12.0
"""An update reads a parameter and its gradient and writes the parameter, each of 4 bytes; states come on top, twice."""
ADAPTER_ELEMENT_BYTES = 4.0
"""Adapters are kept and computed in FP32 beside a base of 16 bits."""
EMA_BYTES = 12.0
"""An average reads itself and the parameter, and writes itself."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a plan trains, in numbers. `micro_batches`: passes of one GPU for each optimizer step."""

    trained: Number
    weight_bits: float
    is_pure: bool
    sizes: Sizes
    grids: Grids
    micro_batches: float
    backward_passes: float
    recomputed_passes: float

    @property
    def bytes_each(self) -> float:
        """Of a gradient or a trained weight."""
        return 2.0 if self.is_pure else 4.0


def run_of(work: DiffusionTraining, network: DiffusionNetwork, machine: Machine) -> Run:
    """The numbers of a plan on a machine."""
    frames = work.frames or network.frames
    sizes = Sizes(work.width or network.width, work.height or network.height, frames, 1, False)
    grids = grids_of(denoiser_stages(network.denoiser), latents_of(sizes, network))
    adapters = work.method is DiffusionMethod.LORA
    width = sum(stage.adapted_width for stage in grids.stages)
    trained = (
        formulas.attention_adapter_parameters(float(work.lora_rank), width) if adapters else network.denoiser.parameters
    )
    stored = stored_precision(work)
    batch = work.global_batch or work.micro_batch * machine.gpus
    return Run(
        trained=trained,
        weight_bits=BITS[stored],
        is_pure=not adapters and stored is not DiffusionPrecision.FP32,
        sizes=sizes,
        grids=grids,
        micro_batches=max(batch / (work.micro_batch * machine.gpus), 1.0),
        backward_passes=1.0 if adapters else 2.0,
        recomputed_passes=1.0 if work.checkpointing else 0.0,
    )


def stored_precision(work: DiffusionTraining) -> DiffusionPrecision:
    """What the denoiser's weights are kept in."""
    if work.weight_precision is not None:
        return work.weight_precision
    return DiffusionPrecision.FP32 if work.method is DiffusionMethod.FULL else work.precision


def as_generation(work: DiffusionTraining) -> Diffusion:
    """The same model, sizes and formats as making a micro-batch of images: the frozen components are the same."""
    return Diffusion(
        model=work.model,
        precision=work.precision,
        width=work.width,
        height=work.height,
        frames=work.frames,
        at_once=work.micro_batch,
        runtime=work.runtime,
        attention=work.attention,
        guidance=False,
    )


def training_phases(
    work: DiffusionTraining, network: DiffusionNetwork, machine: Machine, efficiencies: Efficiencies
) -> dict[str, dict[str, Number]]:
    """Bytes by phase and part: the end of the forward pass, the end of the backward pass, the optimizer's step."""
    run, made = run_of(work, network, machine), as_generation(work)
    sharded = work.sharding is not StateSharding.DDP
    shards = float(machine.gpus) if sharded else 1.0
    held = 1.0 if work.sharding is not StateSharding.ZERO3 else float(machine.gpus)
    states = efficiencies.constants(STATES, f"optimizer {work.optimizer.value}")
    pure = 0.5 if run.is_pure else 1.0
    process = efficiencies.constants(TABLE, "process")
    common: dict[str, Number] = {
        "denoiser": formulas.denoiser_weight_bytes(network.denoiser.parameters, run.weight_bits) / held,
        "adapters": 0.0 if work.method is DiffusionMethod.FULL else formulas.trained_bytes(run.trained, 4.0, 1.0),
        "optimizer": formulas.trained_bytes(run.trained, _state_bytes(states, pure), shards),
        "average": formulas.trained_bytes(run.trained, run.bytes_each * work.ema, held),
        "overhead": process_overhead_bytes(
            process["context_bytes"], process["communicator_bytes"], float(machine.gpus)
        ),
        **_frozen(work, network, made),
    }
    gradients = formulas.trained_bytes(run.trained, run.bytes_each, shards)
    kept = activation_bytes(work, run, efficiencies)
    if not work.cached:
        kept = max(kept, encoding_peak(made, network, run.sizes, efficiencies))
    copied = states["copy_share"] if not states["pure"] else 1.0
    copy = formulas.trained_bytes(run.trained, copied * run.bytes_each, shards)
    early = gradients if run.micro_batches > 1 else 0.0
    return {
        "forward": {**common, "gradients": early, "activations": kept, "cast": _cast_bytes(work, network, run)},
        "backward": {**common, "gradients": gradients, "activations": kept, "cast": _cast_bytes(work, network, run)},
        "step": {**common, "gradients": gradients, "step_copy": copy},
    }


def _state_bytes(states: Efficiency, pure: float) -> float:
    """Optimizers of pure 16 bits are said to be so; others keep what the weights are kept in."""
    return states["state_bytes"] * (1.0 if states["pure"] else pure)


def _frozen(work: DiffusionTraining, network: DiffusionNetwork, made: Diffusion) -> dict[str, Number]:
    """Text encoders and autoencoder, where they run beside training."""
    if work.cached:
        return {}
    text = sum(encoder.parameters for encoder in network.text_encoders)
    return {
        "text_encoder": formulas.text_encoder_weight_bytes(text, BITS[text_precision(made)]),
        "codec": formulas.codec_weight_bytes(
            network.codec.parameters, BITS[codec_precision(network.codec, work.precision)]
        ),
    }


def _cast_bytes(work: DiffusionTraining, network: DiffusionNetwork, run: Run) -> Number:
    """Automatic mixed precision keeps 16-bit copies of trained FP32 weights for a whole pass."""
    mixed = work.method is DiffusionMethod.FULL and run.weight_bits > BITS[work.precision]
    return formulas.denoiser_weight_bytes(network.denoiser.parameters, BITS[work.precision]) if mixed else 0.0


def activation_bytes(work: DiffusionTraining, run: Run, efficiencies: Efficiencies) -> Number:
    """Activations at the end of the forward pass, with the scores of the widest attention where they are written."""
    held = efficiencies.constants(TABLE, "training")
    wide = work.precision is DiffusionPrecision.FP32
    stages, positions = run.grids.stages, run.grids.attending
    samples, each = float(work.micro_batch), 4.0 if wide else 2.0
    if work.checkpointing:
        kept = formulas.checkpointed_bytes(
            samples,
            each,
            held["saved_share"],
            tuple(s.block_elements for s in stages),
            tuple(s.live_elements for s in stages),
            positions,
        )
    else:
        kept = formulas.saved_activation_bytes(
            samples, each, held["saved_share"], tuple(s.saved_elements for s in stages), positions
        )
    if work.method is DiffusionMethod.LORA:
        layer = tuple(s.layer_adapted for s in stages)
        kept = kept + formulas.adapter_live_bytes(samples, ADAPTER_ELEMENT_BYTES, layer, positions)
    if work.attention is AttentionKernel.FLASH:
        return kept
    return kept + denoising_peak(run.grids, samples, each, 0.0, 2.0)


def training_rates(work: DiffusionTraining, machine: Machine, efficiencies: Efficiencies) -> Rates:
    """Rates of the denoiser; weights of 8 bits are turned into 16 first while training."""
    flash = work.attention is AttentionKernel.FLASH
    stored = work.precision if BITS[work.precision] >= BITS[DiffusionPrecision.BF16] else DiffusionPrecision.BF16
    return rates_of(machine.gpu, float(machine.gpu_fraction), stored, work.runtime, efficiencies, flash=flash)


def training_seconds(
    work: DiffusionTraining, network: DiffusionNetwork, machine: Machine, efficiencies: Efficiencies
) -> dict[str, tuple[Number, Limit]]:
    """The parts of one optimizer step of one GPU."""
    run, made = run_of(work, network, machine), as_generation(work)
    rates = training_rates(work, machine, efficiencies)
    held = efficiencies.constants(TABLE, "training")
    padding = efficiencies.constants(TABLE, "arithmetic")["padding_positions"]
    samples = float(work.micro_batch)
    forward = pass_seconds(pass_of(run.grids, samples, padding), rates)
    seconds: dict[str, tuple[Number, Limit]] = {}
    for name, (each, limit) in forward.items():
        whole = formulas.trained_pass_seconds(each, held["backward_cost"], run.backward_passes, run.recomputed_passes)
        seconds[name] = (formulas.repeated_seconds(run.micro_batches, whole), limit)
    if work.method is DiffusionMethod.LORA:
        moved = formulas.adapter_traffic_bytes(
            samples,
            held["adapter_bytes"],
            tuple(s.adapted_width for s in run.grids.stages),
            run.grids.attending,
            run.backward_passes,
            run.recomputed_passes,
        )
        each = read_seconds(moved, rates.hbm_bytes_per_s, rates.hbm_share)
        seconds["adapters"] = (formulas.repeated_seconds(run.micro_batches, each), Limit.HBM)
    if not work.cached:
        text = prompt_seconds(made, network, run.sizes, machine, efficiencies)
        pixels = stages_seconds(encoder_stages(network.codec), made, network, run.sizes, machine, efficiencies)
        seconds["text_encoder"] = (formulas.repeated_seconds(run.micro_batches, text), Limit.COMPUTE)
        seconds["codec"] = (formulas.repeated_seconds(run.micro_batches, pixels), Limit.COMPUTE)
    seconds["update"] = (_update_seconds(work, run, machine, rates, efficiencies), Limit.HBM)
    if work.method is DiffusionMethod.FULL:
        kernels = held["update_launches"] * sum(stage.kernels for stage in run.grids.stages)
        seconds["update_launch"] = (item_launch_seconds(kernels, rates.kernel_s), Limit.CPU)
    if machine.gpus > 1:
        backward = sum((each for each, _ in forward.values()), start=0.0) * run.backward_passes
        exchanged = all_reduce_seconds_on(machine, run.trained * run.bytes_each, efficiencies)
        if work.sharding is StateSharding.ZERO3:
            weights = formulas.denoiser_weight_bytes(network.denoiser.parameters, run.weight_bits)
            exchanged = exchanged + all_reduce_seconds_on(machine, weights, efficiencies) * run.micro_batches
        over = Limit.NETWORK if machine.nodes > 1 else Limit.LINK
        exposed = formulas.exposed_exchange_seconds(exchanged, held["hidden_share"], backward)
        seconds["exchange"] = (exposed, over)
    return seconds


def _update_seconds(
    work: DiffusionTraining, run: Run, machine: Machine, rates: Rates, efficiencies: Efficiencies
) -> Number:
    states = efficiencies.constants(STATES, f"optimizer {work.optimizer.value}")
    shards = 1.0 if work.sharding is StateSharding.DDP else float(machine.gpus)
    each = UPDATED_BYTES + 2.0 * states["state_bytes"] + EMA_BYTES * work.ema
    moved = formulas.trained_bytes(run.trained, each, shards)
    passes = efficiencies.constants(TABLE, "training")["update_passes"]
    return read_seconds(moved, rates.hbm_bytes_per_s, rates.hbm_share, passes)
