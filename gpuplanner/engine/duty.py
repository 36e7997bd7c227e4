"""What a run asks of its host, taken from its estimate: weights on disk, tokens a second, what is trained."""

from gpuplanner.catalog.architecture import ModelArchitecture, Part
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.parameters import parameters_by_part
from gpuplanner.engine.estimate import Estimate
from gpuplanner.engine.formulas.weights import stored_bytes
from gpuplanner.engine.host import TABLE, Duty
from gpuplanner.engine.serving_flags import heeded
from gpuplanner.engine.serving_model import bits_by_part
from gpuplanner.engine.training_layouts import splits_base
from gpuplanner.engine.training_model import model_numbers
from gpuplanner.engine.training_run import text_sample
from gpuplanner.figures import kept
from gpuplanner.workload.precision import WeightPrecision
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import ADAPTERS, Method, Offload, Sharding, Training

WRAPPED = frozenset({Sharding.FSDP, Sharding.HSDP})
"""Ways of sharding for which one process reads the checkpoint whole, and the others take their parts from it.

Accelerate's documentation of FSDP (`cpu_ram_efficient_loading`); without it every process would hold all of it.
"""


@kept(64)
def weight_file_bytes(
    model: ModelArchitecture, precision: WeightPrecision | str | None, efficiencies: Efficiencies
) -> float:
    """Bytes of the weights as files, towers and layers that decoding does not use included."""
    bits = bits_by_part(model, precision, efficiencies)
    parts = parameters_by_part(model)
    return sum(float(stored_bytes(float(parts[part]), bits[part.value])) for part in Part)


def serving_duty(made: Estimate, model: ModelArchitecture, efficiencies: Efficiencies) -> Duty:
    """The duty of a server. A rate that the estimate does not have (what does not fit has none) counts as 0."""
    workload = made.plan.workload
    if not isinstance(workload, Serving):
        raise TypeError("serving_duty takes estimates of serving only")
    output = made.metrics.get("output_tokens_per_s")
    prompt_share = workload.input_tokens / workload.output_tokens
    return Duty(
        serving=True,
        weight_file_bytes=weight_file_bytes(model, workload.weight_precision, efficiencies),
        tokens_per_s=output.value * (1 + prompt_share) if output else 0.0,
        offload_bytes=heeded(workload).cpu_offload_bytes * made.machine.gpus,
    )


def training_duty(made: Estimate, model: ModelArchitecture, efficiencies: Efficiencies) -> Duty:
    """The duty of a training run; see `serving_duty`."""
    workload = made.plan.workload
    if not isinstance(workload, Training):
        raise TypeError("training_duty takes estimates of training only")
    rate = made.metrics.get("tokens_per_s")
    quantised = WeightPrecision.NF4 if workload.method is Method.QLORA else None
    precision = (workload.base_precision or quantised) if workload.method in ADAPTERS else None
    each = efficiencies.constants(TABLE, f"checkpoint {workload.optimizer.value}")["bytes_per_parameter"]
    files = weight_file_bytes(model, precision, efficiencies)
    sharding = Sharding((made.way.choices or {})["sharding"])
    return Duty(
        serving=False,
        weight_file_bytes=files,
        tokens_per_s=rate.value if rate else 0.0,
        trained_parameters=model_numbers(model, workload).trained_parameters,
        checkpoint_bytes_per_parameter=each,
        data_tokens=workload.tokens_in_all or 0.0,
        offload=workload.offload,
        offload_bytes=_frozen_in_host_memory(workload, sharding, files, made.machine.gpus),
        loaded_whole=sharding in WRAPPED and workload.method is not Method.PRETRAINING,
        items_per_core_s=text_sample(workload, efficiencies).per_core_s,
    )


def _frozen_in_host_memory(workload: Training, sharding: Sharding, files: float, gpus: int) -> float:
    """A frozen base that is offloaded, of all ranks: once where they split it, else once for each of them."""
    if workload.offload is not Offload.ALL or workload.method not in ADAPTERS:
        return 0.0
    return files if splits_base(workload, sharding) else files * gpus
