"""Places a row of vision measurements: its network, machine and way of running. Pure.

A row gives the sizes of its network, or names one of the catalog. Where it counts no activations (training rows do not)
they are those of the same network in the catalog, or as many a multiply-add as its relatives have.
"""

import re
from dataclasses import dataclass

from gpuplanner.catalog.entries import Gpu
from gpuplanner.catalog.networks import Operators, VisionNetwork
from gpuplanner.engine.links import all_reduce_seconds_on
from gpuplanner.engine.machine import Host, Machine
from gpuplanner.engine.machines import bare
from gpuplanner.engine.validation.cells import count, needed, positive
from gpuplanner.engine.validation.rows import Row, ValidationContext
from gpuplanner.engine.vision_inputs import (
    GpuNumbers,
    NetworkNumbers,
    gpu_numbers,
    network_numbers,
)
from gpuplanner.engine.vision_relatives import OPERATORS_OF, relatives_of
from gpuplanner.messages import InputError, msg
from gpuplanner.units import GB
from gpuplanner.workload.vision import Vision, VisionJob, VisionPrecision, VisionRuntime

PRECISIONS = (
    (r"^(amp|fp16|float16|half|mixed)", VisionPrecision.FP16),
    (r"^(bf16|bfloat16)", VisionPrecision.BF16),
    (r"^(fp32/tf32|tf32)", VisionPrecision.TF32),
    (r"^(fp32|float32)", VisionPrecision.FP32),
)
"""Formats as rows print them."""
SUBMITTERS = re.compile(r"^(?:LambdaCloud|Lambda|DellTexas|Dell|SMC|1CC|RAIDZ1|HPE|NVIDIA)\s+", re.IGNORECASE)
MULTIPLE = re.compile(r"^\d{1,4}\s?x\s?", re.IGNORECASE)
"""Who lent a machine, and how many GPUs it has, before the name of the GPU."""
WHICH = ((r"^V100( 16 ?GB)?$", "V100 SXM2 16GB"), (r"^V100 32 ?GB$", "V100 SXM2 32GB"), (r"^A100$", "A100 SXM4 40GB"))
"""Names that several boards share, and the one in the servers that such tables are made on."""
AUDITED = re.compile(r"\(MLPerf[^)]*\)")
"""Runs whose kernels the submitters fused and tuned by hand: as a compiler does at best."""
REFERENCE = {
    "retinanet_resnext50": "mlperf/retinanet",
    "unet3d": "mlperf/unet3d",
    "ssd": "mlperf/retinanet",
    "resnet": "timm/resnet50",
}
FOLDERS = ("timm", "torchvision", "ultralytics", "mlperf")
ONE_PROCESS_LOGS = frozenset({"retinanet"})
"""Reference networks whose log tells the images of one GPU a second, not of all."""
LARGEST_NODE = 8
NETWORK_PER_GPU = {"Hopper": 50 * GB, "Blackwell": 50 * GB, "Ampere": 25 * GB, "Ada Lovelace": 25 * GB}
OTHER_NETWORK_PER_GPU = 6.25 * GB
"""Bytes a second: reference designs have a port of 400 Gb/s for each H100, of 200 for each A100 or L40S."""
UNFUSED = re.compile(r"^(pt)?(1|0)[.\d]|^pt1\d\d?$")
"""PyTorch before 2.0 has no fused attention."""
USUAL_BATCH = 256


@dataclass(frozen=True, slots=True)
class PlacedVision:
    """A row as the engine can estimate it. `batch`: images of one GPU; `exchange_s`: of all gradients, if not hidden;
    `rate_of_one`: the row's rate is that of one GPU.
    """

    name: str
    network: VisionNetwork
    work: Vision
    machine: Machine
    batch: float
    numbers: NetworkNumbers
    gpu: GpuNumbers
    exchange_s: float
    rate_of_one: bool = False


def placed_vision(row: Row, context: ValidationContext, job: VisionJob) -> PlacedVision:
    """The row's network on its machine.

    Raises InputError or MissingFactError where a size, the GPU or its speed is not known.
    """
    gpus = count(row, "n_gpus") or 1
    audited = AUDITED.search(row.text("model")) is not None
    gpu = gpu_of(row, context)
    machine = machine_of(gpu, gpus)
    network = network_of(row, context)
    compiled = audited or row.text("compile") in {"1", "true", "dynamo"}
    work = Vision(
        job=job,
        image_px=count(row, "img_size", 65536) if network.macs else None,
        batch=1,
        precision=precision_of(row, "fp16" if audited else ""),
        runtime=VisionRuntime.COMPILED if compiled else VisionRuntime.EAGER,
        fused_attention=UNFUSED.match(row.text("torch")) is None,
    )
    numbers = network_numbers(network, work, context.efficiencies)
    total = positive(row, "batch") or USUAL_BATCH * gpus
    if total < gpus:
        raise InputError(msg("validation.shared_samples"))
    exchange = float(all_reduce_seconds_on(machine, network.parameters * 4.0, context.efficiencies))
    return PlacedVision(
        row.text("model"),
        network,
        work,
        machine,
        total / gpus,
        numbers,
        gpu_numbers(machine, work, context.efficiencies),
        exchange if job is VisionJob.TRAINING else 0.0,
        audited and network.relatives in ONE_PROCESS_LOGS,
    )


def gpu_of(row: Row, context: ValidationContext) -> Gpu:
    """The GPU that a row names, whoever lent it and however many there are."""
    text = re.sub(r"\s+", " ", row.text("gpu"))[:200]
    if not text:
        raise InputError(msg("validation.empty_cell", column="gpu"))
    text = MULTIPLE.sub("", SUBMITTERS.sub("", MULTIPLE.sub("", text)))
    for pattern, full in WHICH:
        if re.match(pattern, text, re.IGNORECASE):
            text = full
    return context.names.gpu(text)


def machine_of(gpu: Gpu, gpus: int) -> Machine:
    """Nodes of eight GPUs, or one of as many as there are, with the network that such nodes have."""
    nodes = gpus // LARGEST_NODE if gpus % LARGEST_NODE == 0 else 1
    per_node = gpus // nodes
    made = bare(gpu, per_node, nodes)
    rate = NETWORK_PER_GPU.get(gpu.architecture, OTHER_NETWORK_PER_GPU) * per_node
    return Machine(gpu, per_node, nodes, made.topology, made.link_bytes_per_s, Host(network_bytes_per_s=rate))


def precision_of(row: Row, otherwise: str = "") -> VisionPrecision:
    """What a row computes in. Raises InputError for a format that is not known."""
    printed = (row.text("precision") or otherwise).lower()
    for pattern, precision in PRECISIONS:
        if re.match(pattern, printed):
            return precision
    raise InputError(msg("validation.unknown_value", column="precision", text=printed[:40]))


def network_of(row: Row, context: ValidationContext) -> VisionNetwork:
    """The network by the sizes that the row gives, else the catalog's of that name."""
    printed = row.text("model")[:200]
    name = AUDITED.sub("", printed).strip()
    base = name.partition(".")[0]
    known = _catalog_network(base, context)
    macs = positive(row, "gmacs")
    size = count(row, "img_size", 65536)
    if macs is None:
        if known is None:
            raise InputError(msg("validation.empty_cell", column="gmacs"))
        return known
    family = relatives_of(base)
    macs *= 1e9
    told = positive(row, "macts")
    pixels = needed(row, "img_size", lambda r, c: count(r, c, 65536)) if size is None else size
    parameters = positive(row, "params_m")
    if parameters is None and known is None:
        raise InputError(msg("validation.empty_cell", column="params_m"))
    if told is not None:
        activations = told * 1e6
    else:
        activations = known.activations * macs / known.macs if known is not None else 0.0
    return VisionNetwork(
        name=base,
        parameters=parameters * 1e6 if parameters is not None else known.parameters if known else 0.0,
        macs=macs,
        activations=activations,
        image_px=pixels,
        operators=OPERATORS_OF.get(family, Operators.MIXED),
        relatives=family,
    )


def _catalog_network(name: str, context: ValidationContext) -> VisionNetwork | None:
    ids = (REFERENCE.get(name, ""), *(f"{folder}/{name}" for folder in FOLDERS))
    for model_id in ids:
        model = context.models.get(model_id)
        if model is not None and isinstance(model.network, VisionNetwork):
            return model.network
    return None
