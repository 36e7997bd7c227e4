"""Places a row of training benchmarks of other networks: detection, translation, language models, speech, recommending.

Each benchmark has its own published network and settings; the table `vision_tasks` holds what one item of it takes.
What they compute is counted as that of networks that see images: multiply-adds, activations, weights. Pure.
"""

import re
from dataclasses import replace

from gpuplanner.catalog.efficiency import Efficiency
from gpuplanner.catalog.entries import Gpu
from gpuplanner.catalog.networks import Operators, VisionNetwork
from gpuplanner.engine.links import all_reduce_seconds_on
from gpuplanner.engine.validation.cells import count, positive
from gpuplanner.engine.validation.rows import Row, ValidationContext
from gpuplanner.engine.validation.vision_rows import PlacedVision, gpu_of, machine_of, precision_of
from gpuplanner.engine.vision_inputs import SIXTEEN_BITS, gpu_numbers, network_numbers
from gpuplanner.figures import Rung
from gpuplanner.messages import InputError, msg
from gpuplanner.workload.vision import Vision, VisionJob, VisionOptimizer

TABLE = "vision_tasks"
TASKS = (
    (r"^ssd", "ssd"),
    (r"^bert_base", "bert_base_squad"),
    (r"^bert_large_squad", "bert_large_squad"),
    (r"^bert_large inference", "bert_large_squad"),
    (r"^bert_large", "bert_large"),
    (r"^gnmt", "gnmt"),
    (r"^ncf", "ncf"),
    (r"^tacotron2", "tacotron2"),
    (r"^waveglow", "waveglow"),
    (r"^transformer-?xl_?base", "transformerxlbase"),
    (r"^transformer-?xl_?large", "transformerxllarge"),
)
"""Benchmarks by the names that rows print."""
FINE_TUNED = {"bert_large": "bert_large_squad"}
"""What a benchmark is where a row says no length of sequence: rows of fine-tuning say none."""
SEQUENCE = re.compile(r"seq (\d{1,6})")
PER_GPU = frozenset({"NVIDIA/DeepLearningExamples"})
"""Sources whose batch is that of one GPU; others give that of all."""
OTHER_SERVER = re.compile(r"DGX-1 ")
"""A heading under which the rows are of V100s, whatever the row's own column says."""
LATER_SERVER = re.compile(r"DGX A100 \(.x A100 80GB\)")
USUAL_BATCH = 32.0


def task_of(row: Row) -> str:
    """The benchmark of a row. Raises InputError for one that is not known."""
    printed = row.text("task").lower()[:100]
    for pattern, task in TASKS:
        if re.match(pattern, printed):
            return FINE_TUNED.get(task, task) if not SEQUENCE.search(row.text("unit")) else task
    raise InputError(msg("validation.benchmark_not_modelled", benchmark=row.text("task")[:40]))


def rate_of(row: Row) -> float:
    """Items a second of all GPUs."""
    return row.required("measured_throughput")


def placed_task(row: Row, context: ValidationContext) -> PlacedVision:
    """The row's network on its machine.

    Raises InputError for a benchmark or a GPU that is not known, MissingFactError where its speed is not.
    """
    task = task_of(row)
    known = context.efficiencies.constants(TABLE, task)
    gpus = count(row, "n_gpus") or 1
    gpu = _gpu(row, context)
    machine = machine_of(gpu, gpus)
    job = VisionJob.INFERENCE if "inference" in row.text("task") else VisionJob.TRAINING
    work = Vision(job=job, precision=precision_of(row, "amp"), optimizer=VisionOptimizer.ADAMW, fused_attention=False)
    network = _network(task, known, row)
    usual = network_numbers(network, work, context.efficiencies)
    trained = usual.trained
    wide = work.precision not in SIXTEEN_BITS
    numbers = replace(
        usual,
        layers=0.0,
        compute_factor=known["compute_factor"],
        bytes_per_activation=known["trained_bytes"] / (1.0 if trained else known["trained_to_eager"]),
        width_factor=known["wide_factor"] if wide and known["wide_factor"] else usual.width_factor,
        host_s=known["host_s"] / (1.0 if trained else known["trained_to_eager"]),
        rung=Rung.SAME_GPU,
    )
    total = positive(row, "batch") or USUAL_BATCH * gpus
    samples = total if row.source in PER_GPU else total / gpus
    exchange = float(all_reduce_seconds_on(machine, known["exchanged_parameters"] * 4.0, context.efficiencies))
    return PlacedVision(
        task,
        network,
        work,
        machine,
        max(samples, 1.0) * known["items_per_sample"],
        numbers,
        gpu_numbers(machine, work, context.efficiencies),
        exchange if trained else 0.0,
    )


def _gpu(row: Row, context: ValidationContext) -> Gpu:
    if OTHER_SERVER.search(row.text("system")):
        return context.names.gpu("V100 SXM2 32GB")
    if LATER_SERVER.search(row.text("system")):
        return context.names.gpu("A100 SXM4 80GB")
    return gpu_of(row, context)


def _network(task: str, known: Efficiency, row: Row) -> VisionNetwork:
    """The network of an item. Sequences of another length than the usual take more, attention with the square."""
    said = SEQUENCE.search(row.text("unit"))
    longer = float(said.group(1)) / known["tokens"] if said and known["tokens"] else 1.0
    return VisionNetwork(
        name=task,
        parameters=known["parameters"],
        macs=known["macs"] * longer + known["attention_macs"] * longer**2,
        activations=known["activations"] * longer + known["attention_activations"] * longer**2,
        image_px=224,
        operators=Operators.MIXED,
    )
