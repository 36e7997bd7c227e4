"""Places a row of training measurements: its model from the sizes it gives, its machine, its workload and layout. Pure.

What a row leaves open (recomputation, degrees) stays open: the engine chooses it as it would for a person.
"""

import re
from contextlib import suppress
from dataclasses import dataclass, replace

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.links import pcie_bytes_per_s
from gpuplanner.engine.machine import Host, Machine, Topology
from gpuplanner.engine.training_ways import TrainingWay
from gpuplanner.engine.validation.cells import count, needed, positive
from gpuplanner.engine.validation.rows import Row, ValidationContext
from gpuplanner.engine.validation.training_models import model_of_row
from gpuplanner.facts import Fact, Known, Source
from gpuplanner.messages import InputError, msg
from gpuplanner.units import GB, GIB, Unit
from gpuplanner.workload.machine_counts import MOST_GPUS, MOST_PER_NODE
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.precision import ComputePrecision, WeightPrecision
from gpuplanner.workload.training import (
    AttentionKernel,
    Framework,
    LoraTargets,
    Method,
    Offload,
    Optimizer,
    Recomputation,
    Sharding,
    Training,
)

NVLINK_DOMAIN_GPUS = 64
"""GPUs of an NVL72 rack that jobs use: 72 do not divide into powers of two."""
METHODS = {"pretrain": Method.PRETRAINING, "full_ft": Method.FULL, "lora": Method.LORA, "qlora": Method.QLORA}
SHARDINGS = {
    "none": Sharding.DDP,
    "none (ddp)": Sharding.DDP,
    "zero0": Sharding.DDP,
    "zero1": Sharding.ZERO1,
    "zero2": Sharding.ZERO2,
    "zero3": Sharding.ZERO3,
    "fsdp": Sharding.FSDP,
    "hsdp": Sharding.HSDP,
}
FRAMEWORKS = (
    (r"deepspeed zero|accelerate.*deepspeed", Framework.DEEPSPEED),
    (r"megatron|nemo|ngc|nvidia|mxnet|transformer engine|llmq|cuda", Framework.MEGATRON),
    (
        r"hf |hf\+|hugging|peft|trl|llama-?factory|axolotl|unsloth|swift|transformers|qlora|litgpt",
        Framework.HUGGING_FACE,
    ),
    (r"deepspeed", Framework.DEEPSPEED),
    (r"fsdp|torchtitan|litgpt|lit-gpt|open_lm|maxtext|paxml|jax|torchtune|composer|pytorch|nanogpt", Framework.FSDP),
)
"""The first pattern that a framework's printed name matches decides."""
FUSED_LOSS = r"ce-fusion|fused.*ce\b|liger|cut.?cross"
FUSED_FRAMEWORKS = r"llmq|litgpt|unsloth|llm-foundry"
PURE_16_BITS = r"bf16-true|pure"
NETWORKS = (
    (r"8x ?400|8x connectx-7|8x nvidia quantum-2|400 gb/s per gpu", 400 * GB),
    (r"3200 ?gb", 400 * GB),
    (r"8x ?200", 200 * GB),
    (r"1600 ?gb", 200 * GB),
    (r"4x connectx-7|4x ?400", 200 * GB),
    (r"800 ?gb", 100 * GB),
    (r"4x ?100|2xbf3 400", 50 * GB),
    (r"roce|rdma|infiniband", 200 * GB),
)
"""Bytes a second of a node's compute network by what a row prints of it."""
NETWORK_BY_GENERATION = {"Volta": 50 * GB, "Ampere": 200 * GB, "Hopper": 400 * GB, "Blackwell": 400 * GB}
"""Where a row says nothing: reference designs have one port for each GPU, of 200 Gb/s beside A100, 400 beside H100."""
FIRST_OVERLAPPED_YEAR = 2023
"""When Megatron-LM began to reduce gradients beside the backward pass (`--overlap-grad-reduce`)."""
AUDITED_CHUNKS = 6
"""Chunks of a pipeline stage in MLPerf submissions of GPT-3, whose large runs have few micro-batches a rank."""
DEFAULT_NETWORK = 25 * GB
MEASURED_MEMORY = {GpuProperty.MEMORY_REPORTED_BYTES, GpuProperty.MEMORY_USABLE_BYTES}
MEAN_LENGTH = re.compile(r"mean ~?(\d{1,7}) tok")


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """A row as the engine can estimate it. `way` is None where the row leaves its layout open.

    `data_parallel`: where only batch and accumulation are stated, the ranks that follow from them with a micro-batch of
    one; the engine chooses among layouts with so many. `mean_length`: tokens of the mean sample where samples are not
    packed, else the sequence length.
    """

    workload: Training
    model: ModelArchitecture
    machine: Machine
    way: TrainingWay | None
    mean_length: int
    data_parallel: int | None = None


def placed(row: Row, context: ValidationContext) -> PlacedRow:
    """The row placed. Raises InputError that says what the row lacks or names that is not known."""
    gpu = _gpu(row, context)
    method = METHODS.get(row.text("kind"))
    if method is None:
        raise InputError(msg("validation.unknown_value", column="kind", text=row.text("kind")[:40]))
    model = model_of_row(row, context)
    gpus = count(row, "n_gpus", MOST_GPUS) or 1
    machine = _machine(row, gpu, gpus)
    workload = _workload(row, model, method, gpus, gpu)
    mean = MEAN_LENGTH.search(row.text("notes"))
    unpacked = row.text("packed") == "0" and mean is not None
    return PlacedRow(
        workload=workload,
        model=model,
        machine=machine,
        way=_way(row, workload, machine, gpus),
        mean_length=int(mean.group(1)) if unpacked and mean else workload.sequence_length,
        data_parallel=_data_parallel(row, workload, gpus),
    )


def framework_of(text: str) -> Framework:
    """The framework that a printed name stands for. Raises InputError for one that is not known."""
    printed = text.lower()
    for pattern, framework in FRAMEWORKS:
        if re.search(pattern, printed):
            return framework
    raise InputError(msg("validation.unknown_value", column="framework", text=text[:40]))


def _gpu(row: Row, context: ValidationContext) -> Gpu:
    """The GPU that a row names; with the row's memory size where the catalog has that chip with another one only."""
    printed = row.text("gpu")
    if not printed:
        raise InputError(msg("validation.empty_cell", column="gpu"))
    size = positive(row, "gpu_mem_gb")
    if size is None:
        return context.names.gpu(printed)
    try:
        return context.names.gpu(printed, size * GIB)
    except InputError:
        with suppress(InputError):
            return context.names.gpu(f"{printed} {size:g}GB")
        other = re.match(r"(.+?) \d+ ?GB", printed)
        if other is None:
            raise
        return _with_memory(context.names.gpu(other.group(1)), size * GIB)


def _with_memory(gpu: Gpu, memory_bytes: float) -> Gpu:
    source = Source("row", "the measurement's own row")
    own = Known(Fact(memory_bytes, Unit.BYTE, source))
    kept = {k: v for k, v in gpu.properties.items() if k not in MEASURED_MEMORY}
    return replace(gpu, properties={**kept, GpuProperty.MEMORY_BYTES: own})


def _machine(row: Row, gpu: Gpu, gpus: int) -> Machine:
    printed = f"{row.text('intra_node_link')} {row.text('gpu')}".lower()
    per_node = count(row, "gpus_per_node", MOST_PER_NODE) or min(gpus, 8)
    if "nvl72" in printed or gpu.id.lower().startswith(("gb200", "gb300")):
        per_node = NVLINK_DOMAIN_GPUS
    per_node = min(per_node, gpus)
    own = gpu.known(GpuProperty.LINK_BYTES_PER_S)
    switched = own is not None and not gpu.link_is_bridge and "pcie" not in printed
    topology = Topology.SINGLE if per_node == 1 else Topology.SWITCHED if switched else Topology.PCIE
    link = own.value if own is not None and switched else pcie_bytes_per_s(gpu) * (0.25 if "slow" in printed else 1)
    network = _network(row.text("inter_node_link"), gpu) * per_node / 8
    return Machine(gpu, per_node, gpus // per_node, topology, link, Host(network_bytes_per_s=network))


def _network(printed: str, gpu: Gpu) -> float:
    """Bytes a second of eight GPUs' share of the network."""
    for pattern, rate in NETWORKS:
        if re.search(pattern, printed.lower()):
            return rate
    return NETWORK_BY_GENERATION.get(gpu.architecture, DEFAULT_NETWORK)


def _workload(row: Row, model: ModelArchitecture, method: Method, gpus: int, gpu: Gpu) -> Training:
    framework = framework_of(row.text("framework"))
    if framework is Framework.HUGGING_FACE and row.text("sharding").startswith("zero"):
        framework = Framework.DEEPSPEED
    math = row.text("attn_impl").startswith("math")
    precision = _precision(row, gpu)
    notes = f"{row.text('notes')} {row.text('precision')}".lower()
    printed = row.text("framework").lower()
    micro = count(row, "micro_batch") or 0
    ranks = gpus // (_degree(row, "tp") * _degree(row, "pp") * _degree(row, "cp"))
    batch = count(row, "global_batch_seqs") or (micro or 1) * ranks * (count(row, "grad_accum") or 1)
    quant = row.text("quant").lower()
    base = WeightPrecision.GPTQ if "gptq" in quant else WeightPrecision.NF4 if "nf4" in quant else None
    return Training(
        model=ModelChoice(architecture=model),
        method=method,
        lora_rank=count(row, "lora_rank") or 16,
        lora_targets=_targets(row),
        base_precision=base,
        sequence_length=needed(row, "seq_len", count),
        global_batch=batch,
        micro_batch=micro or None,
        packed=row.text("packed") != "0",
        framework=framework,
        precision=precision,
        optimizer=_optimizer(row, framework, printed),
        sharding=SHARDINGS.get(row.text("sharding")),
        recomputation=_recomputation(row.text("activation_ckpt")),
        sequence_parallel=not math or row.text("activation_ckpt").startswith("selective"),
        attention=AttentionKernel.MATH if math else AttentionKernel.FLASH,
        offload=_offload(row.text("offload")),
        fused_loss=bool(re.search(FUSED_LOSS, notes) or re.search(FUSED_FRAMEWORKS, printed)),
        compiled=row.text("compile") == "1" or "jax" in printed,
        tensor_parallel=_stated(row, "tp"),
        pipeline_parallel=_stated(row, "pp"),
        context_parallel=_stated(row, "cp"),
        expert_parallel=_stated(row, "ep"),
        overlapped=not _before_overlap(row),
        virtual_pipeline=count(row, "vpp")
        or (AUDITED_CHUNKS if audited(row) and row.text("kind") == "pretrain" else 1),
    )


def _precision(row: Row, gpu: Gpu) -> ComputePrecision:
    """As printed. MLPerf's logs do not say it; its submissions train in FP8 on GPUs that have it."""
    printed = row.text("precision").lower()
    known = {"fp32": ComputePrecision.FP32, "tf32": ComputePrecision.TF32, "fp16": ComputePrecision.FP16}
    known |= {"bf16": ComputePrecision.BF16, "fp8": ComputePrecision.FP8, "nvfp4": ComputePrecision.NVFP4}
    for name, precision in known.items():
        if printed.startswith(name):
            return precision
    if printed:
        raise InputError(msg("validation.unknown_value", column="precision", text=printed[:40]))
    in_eight_bits = audited(row) and gpu.known(GpuProperty.FP8_FLOP_PER_S) is not None
    return ComputePrecision.FP8 if in_eight_bits else ComputePrecision.BF16


def audited(row: Row) -> bool:
    """Whether a row is of a submission to MLPerf, whose logs say neither its number format nor its layout."""
    return "submission config" in row.text("notes")


def _before_overlap(row: Row) -> bool:
    """Whether a row is of a Megatron-LM that exchanges nothing while it computes: all of them before 2023."""
    printed = row.text("framework").lower()
    year = re.match(r"(\d{4})", row.text("date"))
    return "megatron" in printed and year is not None and int(year.group(1)) < FIRST_OVERLAPPED_YEAR


def _optimizer(row: Row, framework: Framework, printed: str) -> Optimizer:
    text = row.text("optimizer").lower()
    if "8bit" in text or "8-bit" in text:
        return Optimizer.PAGED_ADAMW_8BIT if "paged" in text else Optimizer.ADAMW_8BIT
    if "bf16 m" in text or re.search(PURE_16_BITS, row.text("precision").lower()):
        return Optimizer.ADAMW_BF16
    if framework is Framework.HUGGING_FACE and "peft metamathqa" in printed and row.text("kind") == "full_ft":
        return Optimizer.ADAMW_BF16
    for name in (Optimizer.ADAFACTOR, Optimizer.LION):
        if name.value in text:
            return name
    return Optimizer.ADAMW


def _targets(row: Row) -> LoraTargets:
    notes = f"{row.text('notes')} {row.text('lora_targets')}".lower()
    if any(name in notes for name in ("gate", "up_proj", "all linear", "mlp")):
        return LoraTargets.ALL_LINEAR
    if "k_proj" in notes or "o_proj" in notes:
        return LoraTargets.ATTENTION
    return LoraTargets.QV if "q,v" in notes or "v_proj" in notes else LoraTargets.ALL_LINEAR


def _recomputation(printed: str) -> Recomputation | None:
    if not printed:
        return None
    if printed in {"full", "none"}:
        return Recomputation(printed)
    return Recomputation.SELECTIVE


def _offload(printed: str) -> Offload:
    if "param" in printed.lower():
        return Offload.ALL
    return Offload.OPTIMIZER if "opt" in printed.lower() else Offload.NONE


def _stated(row: Row, name: str) -> int | None:
    return count(row, name, MOST_GPUS)


def _degree(row: Row, name: str) -> int:
    return count(row, name, MOST_GPUS) or 1


def _way(row: Row, workload: Training, machine: Machine, gpus: int) -> TrainingWay | None:
    """The layout as the row states it, or None where it leaves a part open that the engine has to choose."""
    stated = workload.tensor_parallel, workload.pipeline_parallel, workload.sharding, workload.recomputation
    if None in stated or workload.micro_batch is None:
        return None
    tp, pp, cp = _degree(row, "tp"), _degree(row, "pp"), _degree(row, "cp")
    if gpus % (tp * pp * cp):
        raise InputError(msg("validation.layout_does_not_divide", gpus=gpus, tensor=tp, pipeline=pp, context=cp))
    return TrainingWay(
        tensor_parallel=tp,
        pipeline_parallel=pp,
        context_parallel=cp,
        expert_parallel=_degree(row, "ep"),
        micro_batch=workload.micro_batch,
        sharding=workload.sharding or Sharding.DDP,
        recomputation=workload.recomputation or Recomputation.NONE,
        nodes=machine.nodes,
    )


def _data_parallel(row: Row, workload: Training, gpus: int) -> int | None:
    accumulation = count(row, "grad_accum") or 0
    if workload.micro_batch or not accumulation or row.text("tp"):
        return None
    ranks = workload.global_batch // accumulation
    return ranks if ranks and gpus % ranks == 0 else None
