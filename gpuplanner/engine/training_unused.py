"""Options of a training plan that change nothing as it is, or count as another: said, so that nobody waits for them."""

from collections.abc import Iterator

from gpuplanner.engine.training_ways import TrainingWay
from gpuplanner.messages import Message, msg
from gpuplanner.workload.precision import ComputePrecision, WeightPrecision
from gpuplanner.workload.training import ADAPTERS, Method, Rollout, Sharding, Training, TrainingObjective


def unused(workload: Training, way: TrainingWay, ranks: int) -> Iterator[Message]:
    """A message for each option that was set and changes nothing in this way over so many data-parallel ranks."""
    for name in meaningless(workload, way, ranks):
        if getattr(workload, name) == Training.model_fields[name].default:
            continue
        if name == "base_precision":
            yield msg("training.base_precision_ignored")
        else:
            yield msg("training.option_unused", option=msg(f"field.training.{name}"))
    if way.sharding is Sharding.HSDP and way.nodes == 1:
        yield msg("training.hybrid_on_one_node")
    if workload.precision is ComputePrecision.FP16:
        yield msg("training.fp16_as_bf16")
    if workload.method in ADAPTERS and workload.base_precision is WeightPrecision.FP16:
        yield msg("training.base_fp16")
    if workload.method is Method.PRETRAINING:
        yield msg("training.pretraining_as_full")


def meaningless(workload: Training, way: TrainingWay, ranks: int) -> Iterator[str]:
    """Names of the options that mean something only beside others, which this plan does not have."""
    if workload.method not in ADAPTERS:
        yield from ("lora_rank", "lora_targets", "base_precision")
    if workload.objective is TrainingObjective.NEXT_TOKEN:
        yield "reference_model"
    if workload.objective is not TrainingObjective.GRPO:
        yield from ("completion_tokens", "rollout", "rollout_memory_share", "rollout_gpus")
    elif workload.rollout is Rollout.SAME_GPUS:
        yield "rollout_gpus"
    else:
        yield "rollout_memory_share"
    if workload.mean_tokens is not None and workload.mean_tokens >= workload.sequence_length:
        yield "mean_tokens"
    if workload.tokens is not None:
        yield "samples"
    if ranks == 1:
        yield "sharding"
    if ranks == way.tensor_parallel == way.pipeline_parallel == way.context_parallel == 1:
        yield "overlapped"
    if way.tensor_parallel == 1:
        yield "sequence_parallel"
    if way.pipeline_parallel == 1:
        yield "virtual_pipeline"
