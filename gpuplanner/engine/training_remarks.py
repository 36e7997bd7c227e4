"""What a person should know about a training estimate beside its numbers: messages only, each with its reason."""

from collections.abc import Iterator, Mapping

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.engine.estimate import Goal
from gpuplanner.engine.links import assumed_pcie_generation
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.training_layouts import splits_base
from gpuplanner.engine.training_numbers import TrainingNumbers
from gpuplanner.engine.training_rollout import trainer_gpus
from gpuplanner.engine.training_unused import unused
from gpuplanner.engine.training_ways import TrainingWay
from gpuplanner.figures import Figure
from gpuplanner.messages import Message, msg
from gpuplanner.units import Unit, percent, show_duration
from gpuplanner.workload.training import (
    AttentionKernel,
    Method,
    Offload,
    Optimizer,
    Recomputation,
    Rollout,
    Sharding,
    Training,
    TrainingObjective,
)

FROZEN = {Method.LORA, Method.QLORA}
LAUNCH_SHARE = 0.2
"""From this share of a step on it is worth saying that the GPU waits for the CPU."""
LOSS_SHARE = 0.15
"""From this share of the memory on it is worth saying that a fused loss would save it."""


def remarks(
    workload: Training, model: ModelArchitecture, way: TrainingWay, numbers: TrainingNumbers, machine: Machine
) -> tuple[Message, ...]:
    """The remarks that apply, most important first."""
    found = [msg("training.which_memory")]
    trainers = trainer_gpus(workload, machine.gpus_per_node, machine.nodes)
    data_parallel = trainers // (way.tensor_parallel * way.pipeline_parallel * way.context_parallel)
    if workload.method in FROZEN and data_parallel > 1 and not splits_base(workload, way.sharding):
        zero3 = way.sharding is Sharding.ZERO3
        found.append(msg("training.base_not_sharded" if zero3 else "training.base_replicated", ranks=data_parallel))
    heads = model.groups[0].attention.heads
    if heads and heads % way.tensor_parallel:
        found.append(msg("training.heads_not_divided", heads=heads, tensor=way.tensor_parallel))
    done = int(numbers.split.micro_batches * way.micro_batch * data_parallel)
    if done != workload.global_batch:
        found.append(msg("training.batch_rounded", batch=workload.global_batch, done=done))
    if way.recomputation is Recomputation.FULL and way.recomputed_share < 1:
        found.append(msg("training.recomputed_in_part", share=percent(way.recomputed_share)))
    generation = assumed_pcie_generation(machine.gpu)
    if workload.offload is not Offload.NONE and generation is not None:
        found.append(msg("training.pcie_assumed", gpu=machine.gpu.name, generation=generation))
    if workload.optimizer is Optimizer.PAGED_ADAMW_8BIT and workload.method not in FROZEN:
        found.append(msg("training.paged_states"))
    if not workload.fused_loss and numbers.memory.kept.loss > LOSS_SHARE * numbers.memory.needed:
        found.append(msg("training.loss_is_large", vocabulary=model.vocabulary))
    if numbers.time.launch > LAUNCH_SHARE * numbers.time.step:
        found.append(msg("training.waits_for_cpu", share=percent(float(numbers.time.launch / numbers.time.step))))
    if workload.deadline_s is not None and workload.tokens_in_all is None:
        found.append(msg("training.deadline_of_what"))
    found += _padding(workload, numbers)
    found += _objective(workload, numbers)
    if way.expert_parallel > 1:
        found.append(msg("training.router_is_even", experts=way.expert_parallel))
    found += unused(workload, way, data_parallel)
    if model.max_positions is not None and workload.sequence_length > model.max_positions:
        found.append(msg("training.beyond_positions", tokens=workload.sequence_length, most=model.max_positions))
    return tuple(found)


def _objective(workload: Training, numbers: TrainingNumbers) -> Iterator[Message]:
    """What DPO and GRPO add, and what of them is not counted."""
    if workload.objective is TrainingObjective.DPO:
        yield msg("training.dpo_pairs")
    if workload.has_reference:
        yield msg("training.reference_is_base" if workload.method in FROZEN else "training.reference_copy")
    if workload.objective is TrainingObjective.GRPO:
        same = workload.rollout is Rollout.SAME_GPUS
        share = percent(float(numbers.time.rollout / numbers.time.step))
        yield msg(
            "training.rollout_same" if same else "training.rollout_apart", share=share, tokens=workload.generated_tokens
        )
        yield msg("training.rollout_not_counted")


def _padding(workload: Training, numbers: TrainingNumbers) -> Iterator[Message]:
    """What samples that do not fill their sequence cost, and which tokens are counted."""
    if workload.packed:
        if workload.mean_tokens is not None and workload.sample_share < 1:
            whole = workload.attention is AttentionKernel.MATH
            yield msg("training.documents_seen_whole" if whole else "training.documents_apart")
        return
    yield msg("training.longest_decides", tokens=workload.sequence_length)
    mean = round(workload.sample_share * workload.sequence_length)
    share = percent(workload.sample_share / float(numbers.split.passed_share))
    known = workload.mean_tokens is not None
    yield msg("training.useful_tokens" if known else "training.useful_tokens_assumed", mean=mean, share=share)


def deadline_goals(workload: Training) -> tuple[Goal, ...]:
    """The deadline, where the job has an end."""
    if workload.deadline_s is None or workload.tokens_in_all is None:
        return ()
    return (Goal("deadline", "job_s", workload.deadline_s, Unit.SECOND),)


def unmet(workload: Training, metrics: Mapping[str, Figure]) -> tuple[Message, ...]:
    """The deadline, when the job takes longer or how long it takes cannot be told."""
    said = []
    for goal in deadline_goals(workload):
        job, deadline = metrics.get(goal.metric), str(show_duration(goal.limit))
        if job is None:
            said.append(msg("training.deadline_unknown", deadline=deadline))
        elif not goal.met(job.value):
            said.append(msg("training.deadline_missed", job=str(show_duration(job.value)), deadline=deadline))
    return tuple(said)
