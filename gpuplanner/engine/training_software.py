"""The numbers of training software: bytes by framework and optimizer, efficiencies by GPU; looked up once a plan."""

from gpuplanner.catalog.efficiency import Efficiencies, Efficiency
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.links import host_link_bytes_per_s
from gpuplanner.engine.machine import Machine, MeasuredParts
from gpuplanner.engine.powered import powered
from gpuplanner.engine.serving_machine import reached
from gpuplanner.engine.serving_model import format_bits
from gpuplanner.engine.training_inputs import SoftwareNumbers
from gpuplanner.figures import Rung, kept
from gpuplanner.messages import InputError, msg
from gpuplanner.workload.precision import ComputePrecision, WeightPrecision
from gpuplanner.workload.training import (
    ADAPTERS,
    AttentionKernel,
    Framework,
    Method,
    Offload,
    Sharding,
    Training,
)

STATES, FRAMEWORKS, RATES = "training_states", "training_frameworks", "training_rates"
LAUNCH, ROLLOUT_SERVER = "launch", "vllm"
RATE_OF = {
    ComputePrecision.FP32: GpuProperty.FP32_FLOP_PER_S,
    ComputePrecision.TF32: GpuProperty.TF32_FLOP_PER_S,
    ComputePrecision.BF16: GpuProperty.BF16_FLOP_PER_S,
    ComputePrecision.FP16: GpuProperty.FP16_FLOP_PER_S,
    ComputePrecision.FP8: GpuProperty.FP8_FLOP_PER_S,
    ComputePrecision.NVFP4: GpuProperty.FP4_FLOP_PER_S,
}
WIDTH_OF = {
    ComputePrecision.FP32: "32 bits",
    ComputePrecision.TF32: "32 bits",
    ComputePrecision.BF16: "16 bits",
    ComputePrecision.FP16: "16 bits",
    ComputePrecision.FP8: "8 bits",
    ComputePrecision.NVFP4: "4 bits",
}
SIXTEEN_BITS = "16 bits"
UNMEASURED = MeasuredParts(None, None, None, "", "")
WIDE = {ComputePrecision.FP8: ComputePrecision.BF16, ComputePrecision.NVFP4: ComputePrecision.BF16}
"""In which format attention and the output projection are computed where the matrices are not."""
FULL_WIDTH = {ComputePrecision.FP32, ComputePrecision.TF32}
FULL_WIDTH_BYTES = 4.0
"""A number in FP32; TF32 rounds it only inside the tensor cores."""
WORD_BYTES = 2.0
"""A number in 16 bits, in which weights and activations also cross the links where matrices are computed in fewer."""
ALL_TOKENS = 1e30
EXCHANGES_HEADS = frozenset({Framework.DEEPSPEED})
"""Whose context parallelism is Ulysses; Megatron's and PyTorch's send keys and values around a ring."""
SIZES = (
    "sequence_length", "global_batch", "micro_batch", "mean_tokens", "completion_tokens", "tokens", "samples",
    "deadline_s",
)  # fmt: skip
"""Settings of how much is trained on, which no number of the software depends on."""
POWERED = frozenset({"matrix_utilisation", "flash_utilisation"})
"""Shares of a peak that a board with less power than its chip can use does not reach."""


def rung_of(workload: Training, gpu: Gpu, efficiencies: Efficiencies) -> Rung:
    """How near the measurements are that the rates of this GPU in this format come from."""
    return efficiencies.find(RATES, gpu, WIDTH_OF[workload.precision]).rung


def software_numbers(workload: Training, machine: Machine, efficiencies: Efficiencies) -> SoftwareNumbers:
    """The numbers of the framework, optimizer and formats of `workload` on the GPUs of `machine`.

    Raises InputError when the catalog has no rate for the GPU in the format that is asked for, MissingFactError when
    something is offloaded over a link to the host of which nothing is known.
    """
    asked = workload.model_copy(update=dict.fromkeys(SIZES))
    return _numbers(asked, machine.gpu, float(machine.gpu_fraction), efficiencies, machine.parts)


@kept(256)
def _numbers(
    workload: Training, gpu: Gpu, fraction: float, efficiencies: Efficiencies, parts: MeasuredParts | None
) -> SoftwareNumbers:
    if workload.offload is not Offload.NONE:
        host_link_bytes_per_s(gpu)
    states = efficiencies.constants(STATES, workload.framework.value)
    optimizer = efficiencies.constants(STATES, f"optimizer {workload.optimizer.value}")
    habits = efficiencies.constants(FRAMEWORKS, workload.framework.value)
    common = efficiencies.constants(FRAMEWORKS, "any")
    wide_precision = WIDE.get(workload.precision, workload.precision)
    rates, wide = (
        powered(efficiencies.find(RATES, gpu, WIDTH_OF[precision]).values, gpu, common["power_exponent"], POWERED)
        for precision in (workload.precision, wide_precision)
    )
    own = parts or UNMEASURED
    products, wide_products = (
        own.products if WIDTH_OF[precision] == SIXTEEN_BITS else None
        for precision in (workload.precision, wide_precision)
    )
    matrices = reached(rates["matrix_utilisation"], products)
    full_width = workload.precision in FULL_WIDTH
    pure = optimizer["pure"] > 0
    weight_bytes = FULL_WIDTH_BYTES if full_width else WORD_BYTES if pure else states["weight_bytes"]
    plain = full_width or pure
    gradient_bytes = states["eight_bit_gradient_bytes" if workload.precision in WIDE else "gradient_bytes"]
    on_gpu = 1.0 - optimizer["paged"]
    ragged = 0.0 if workload.packed else 1.0
    activation_factor = FULL_WIDTH_BYTES / WORD_BYTES if full_width else 1.0
    flash = workload.attention is AttentionKernel.FLASH
    attention = wide["flash_utilisation"] * habits["attention_share"] if flash else wide["math_utilisation"]
    frozen_bytes, end_bytes = _frozen_bytes(workload, states, efficiencies)
    return SoftwareNumbers(
        word_bytes=FULL_WIDTH_BYTES if full_width else WORD_BYTES,
        weight_bytes=weight_bytes,
        cast_bytes=0.0 if plain else states["cast_bytes"],
        gradient_bytes=weight_bytes if plain else gradient_bytes,
        state_bytes=optimizer["state_bytes"] * on_gpu + (0.0 if plain else states["master_bytes"]),
        step_copy_bytes=states["step_copy_bytes"] * optimizer["copy_share"],
        frozen_weight_bytes=frozen_bytes,
        frozen_end_bytes=end_bytes,
        persistent_gradients=states["persistent_gradients"],
        residual_copies=habits["residual_copies"] * activation_factor,
        saved_copies=habits["saved_copies"] * activation_factor * _saved_share(workload, frozen_bytes, common),
        workspace_copies=habits["workspace_copies"] * activation_factor,
        score_bytes=habits["score_bytes"],
        bytes_per_logit=habits["bytes_per_logit"],
        loss_chunk_tokens=common["loss_chunk_tokens"] if workload.fused_loss else ALL_TOKENS,
        selective_kept=habits["selective_kept"],
        selective_matrices=habits["selective_matrices"],
        selective_attention=habits["selective_attention"],
        gathered_layers=habits["gathered_layers"],
        gathered_parameters=habits["gathered_parameters"],
        bucket_bytes=states["bucket_bytes"],
        bucket_parameters=states["bucket_parameters"],
        reduced_bytes=weight_bytes if plain else min(states["reduced_bytes"], gradient_bytes),
        lost_share=habits["lost_share"] + ragged * common["ragged_lost_share"],
        cached_share=habits["cached_share"] + ragged * common["ragged_cached_share"],
        sharded_lost_share=habits["sharded_lost_share"],
        sharded_cached_share=habits["sharded_cached_share"],
        context_bytes=common["context_bytes"],
        communicator_bytes=common["communicator_bytes"],
        flop_per_s=_rate(gpu, workload.precision) * fraction,
        matrix_utilisation=matrices,
        wide_flop_per_s=_rate(gpu, wide_precision) * fraction,
        wide_utilisation=reached(wide["matrix_utilisation"], wide_products),
        padding_tokens=common["padding_tokens"],
        padding_columns=common["padding_columns"],
        wave_elements=common["wave_elements"],
        cast_traffic=common["cast_traffic"] if workload.precision in WIDE else 0.0,
        attention_utilisation=reached(attention, wide_products),
        expert_utilisation=matrices * rates["expert_share"],
        hbm_efficiency=reached(common["hbm_efficiency"], own.memory),
        passes=habits["passes"] * (habits["compiled_passes"] if workload.compiled else 1.0),
        launch_s=_launch_s(workload, habits),
        expert_passes=common["expert_passes"],
        expert_launch_s=common["expert_launch_s"],
        dequantised_traffic=common["dequantised_traffic"],
        tensor_hidden=habits["tensor_hidden"] if workload.overlapped else 0.0,
        data_hidden=habits["data_hidden"] if workload.overlapped else 0.0,
        gather_hidden=habits["gather_hidden"] if workload.overlapped else 0.0,
        expert_hidden=habits["expert_hidden"] if workload.overlapped else 0.0,
        gather_share=habits["gather_share"],
        overhead_s=habits["overhead_s"],
        host_parameters_per_s=_on_the_cpu(workload, common, efficiencies)["host_parameters_per_s"],
        pcie_efficiency=reached(
            common["pcie_efficiency"], own.host_link if workload.offload is not Offload.NONE else None
        ),
        rollout_layer_s=efficiencies.constants(LAUNCH, ROLLOUT_SERVER)["layer_s"],
        exchanges_heads=float(workload.framework in EXCHANGES_HEADS),
    )


def _on_the_cpu(workload: Training, fused: Efficiency, efficiencies: Efficiencies) -> Efficiency:
    """What updates offloaded states: PyTorch's own optimizer beside FSDP, else a fused one as DeepSpeed brings."""
    by_pytorch = workload.framework is Framework.FSDP or (
        workload.framework is Framework.HUGGING_FACE and workload.sharding in {Sharding.FSDP, Sharding.HSDP}
    )
    if workload.offload is Offload.NONE or not by_pytorch:
        return fused
    return efficiencies.constants(FRAMEWORKS, "pytorch on the cpu")


def _saved_share(workload: Training, frozen_bytes: float, common: Efficiency) -> float:
    """Of what a layer saves for its backward pass, how much where the base is frozen or 8 bits are multiplied."""
    share = common["quantised_saved"] if frozen_bytes < 2.0 and workload.method is Method.QLORA else 1.0
    if workload.precision in WIDE:
        share *= common["eight_bit_saved"]
    return share


def _launch_s(workload: Training, habits: Efficiency) -> float:
    """CPU time to launch the kernels of one layer, forward and backward."""
    launch = habits["launch_s"] * (habits["compiled_launch"] if workload.compiled else 1.0)
    return launch * (habits["adapter_launch"] if workload.method in ADAPTERS else 1.0)


def _frozen_bytes(workload: Training, states: Efficiency, efficiencies: Efficiencies) -> tuple[float, float]:
    """Bytes of one frozen weight in the layers' matrices, and in embedding, output projection and norms.

    Beside a quantised base PEFT turns the latter into FP32 (`prepare_model_for_kbit_training`).
    """
    default = WeightPrecision.NF4 if workload.method is Method.QLORA else WeightPrecision.BF16
    kept = format_bits(efficiencies, (workload.base_precision or default).value, is_moe=False)
    matrices = kept["mlp"] / 8.0
    ends = states["quantised_end_bytes"] if matrices < 2.0 else kept["head"] / 8.0
    return matrices, ends


def _rate(gpu: Gpu, precision: ComputePrecision) -> float:
    known = gpu.known(RATE_OF[precision])
    if known is None:
        raise InputError(msg("training.no_rate", gpu=gpu.name, precision=precision.value.upper()))
    return known.value
