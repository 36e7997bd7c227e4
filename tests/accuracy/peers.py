"""Asks other estimators for the carried measurements that they cover, and keeps what they say in `peers.csv`.

Run as `PYTHON tests/accuracy/peers.py [PEER…]` with the Python of a throw-away environment that has the peers
(llm-analysis, aiconfigurator, ridgepoint, kvfit, vramcalc) installed; nothing of gpuplanner is imported, and gpuplanner
needs none of them. What a row leaves open stands at the peer's own default. Rows of peers that are not asked for stay.
"""

import contextlib
import csv
import importlib
import json
import logging
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MEASUREMENTS = HERE.parents[1] / "catalogs" / "measurements"
KEPT = HERE / "peers.csv"
HEADER = ("peer", "version", "file", "id", "metric", "predicted")
GIB, GB, MS = 2.0**30, 1e9, 1e3
Row = Mapping[str, str]
Said = tuple[str, str, str, float]
"""File, id and column of a measured number, and what the peer says in the column's unit."""


def rows(file: str) -> list[dict[str, str]]:
    """The carried rows of a file."""
    with (MEASUREMENTS / f"{file}.csv").open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def number(row: Row, name: str, usual: float = 0.0) -> float:
    """A cell as a number."""
    return float(row[name]) if row.get(name) else usual


def count(row: Row, name: str, usual: int = 0) -> int:
    """A cell as a whole number."""
    return int(number(row, name, usual))


TRAINED_ON = {
    ("H100 SXM", "80"): "h100-sxm-80gb",
    ("A100 SXM", "80"): "a100-sxm-80gb",
    ("A100 SXM", "40"): "a100-sxm-40gb",
    ("V100 SXM", "32"): "v100-sxm-32gb",
    ("V100 SXM", "16"): "v100-sxm-16gb",
}
EFFICIENCY = 0.5
"""llm-analysis wants the utilisation from its user; its own source says that Megatron reaches about so much."""
STAGES = {"zero1": 1, "zero2": 2, "zero3": 3, "fsdp": 3}
RECOMPUTED = {"full": 2, "selective": 1}


def llm_analysis() -> Iterator[Said]:
    """Step time of pre-training and full fine-tuning on the GPUs that it ships."""
    analysis = importlib.import_module("llm_analysis.analysis")
    config = importlib.import_module("llm_analysis.config")
    for row in rows("training_llm"):
        gpu = TRAINED_ON.get((row["gpu"], row["gpu_mem_gb"].partition(".")[0]))
        fits = row["kind"] in {"pretrain", "full_ft"} and row["outcome"] == "ok" and not row["n_experts"]
        if gpu is None or not fits or not row["measured_step_s"] or row["precision"] not in {"bf16", "fp16"}:
            continue
        tp, pp, gpus = count(row, "tp", 1), count(row, "pp", 1), count(row, "n_gpus", 1)
        with contextlib.suppress(Exception), contextlib.redirect_stdout(None):
            model = config.ModelConfig(
                name="row", num_layers=count(row, "n_layers"), n_head=count(row, "n_heads"),
                hidden_dim=count(row, "hidden"), vocab_size=count(row, "vocab"), max_seq_len=count(row, "seq_len"),
                num_key_value_heads=count(row, "n_kv_heads"), ffn_embed_dim=count(row, "ffn"),
            )  # fmt: skip
            parallel = config.ParallelismConfig(tp_size=tp, pp_size=pp, dp_size=max(gpus // (tp * pp), 1))
            asked = analysis.LLMAnalysis(
                model, config.get_gpu_config_by_name(gpu), parallelism_config=parallel, flops_efficiency=EFFICIENCY
            )
            said = asked.training(
                batch_size_per_gpu=count(row, "micro_batch", 1),
                global_batch_size=count(row, "global_batch_seqs"),
                seq_len=count(row, "seq_len"),
                activation_recomputation=analysis.ActivationRecomputation(RECOMPUTED.get(row["activation_ckpt"], 0)),
                ds_zero=analysis.DSZeRO(STAGES.get(row["sharding"], 0)),
                mlp_gated_linear_units=row["gated_mlp"] == "1",
            )
            yield "training_llm", row["id"], "measured_step_s", float(said["latency_per_iter"])


SERVED = {
    "deepseek-r1": "deepseek-ai/DeepSeek-R1",
    "llama3.1-8b": "meta-llama/Meta-Llama-3.1-8B",
    "llama3.1-70b": "meta-llama/Meta-Llama-3.1-70B",
    "qwen3-32b": "Qwen/Qwen3-32B",
    "gpt-oss-120b": "openai/gpt-oss-120b",
}
SYSTEMS = {"H100 SXM": "h100_sxm", "H200 SXM": "h200_sxm", "B200": "b200_sxm"}
BACKENDS = {"TensorRT-LLM": "trtllm", "vLLM": "vllm", "SGLang": "sglang"}
EVERY = 24
"""aiconfigurator takes about a second a row, so one in so many is asked for."""
GEMM = {"nan": "bfloat16"}


def aiconfigurator() -> Iterator[Said]:
    """Servers under a fixed concurrency; the newest data of its own for each GPU and server."""
    estimate = importlib.import_module("aiconfigurator.cli.api").cli_estimate
    for row in rows("inference_llm_online")[::EVERY]:
        if row["gpu"] not in SYSTEMS or row["model"] not in SERVED or row["engine"] not in BACKENDS:
            continue
        gpus, tp, experts = (max(count(row, name, 1), 1) for name in ("n_gpus", "tp", "ep"))
        stated = re.search(r"attention_dp=(\d+)", row["notes"])
        shares = int(stated.group(1)) if stated else 1
        replicas = max(gpus // (tp * shares), 1)
        gemm = re.search(r"gemm=(\w+)", row["notes"])
        kind = GEMM.get(gemm.group(1), gemm.group(1)) if gemm else "bfloat16"
        width = max(tp * shares // experts, 1)
        mixture = {"moe_tp_size": width, "moe_ep_size": experts} if row["n_experts"] else {}
        dense = {} if row["n_experts"] else {"gemm_quant_mode": kind}
        with contextlib.suppress(Exception), contextlib.redirect_stdout(None), contextlib.redirect_stderr(None):
            said = estimate(
                SERVED[row["model"]], SYSTEMS[row["gpu"]], backend_name=BACKENDS[row["engine"]],
                isl=count(row, "isl"), osl=count(row, "osl"), tp_size=tp, attention_dp_size=shares,
                batch_size=max(round(number(row, "concurrency_or_batch") / replicas / shares), 1), **mixture, **dense,
            )  # fmt: skip
            yield "inference_llm_online", row["id"], "tpot_ms", float(said.tpot)
            yield "inference_llm_online", row["id"], "ttft_ms", float(said.ttft)


DTYPES = {"bf16": "bf16", "fp16": "fp16", "f16": "fp16", "": "fp16"}


def vramcalc() -> Iterator[Said]:
    """Peak memory of Llama-like models: single streams under transformers, and fine-tuning on one GPU."""
    module = importlib.import_module("vramcalc")
    for row in rows("inference_llm"):
        dtype = DTYPES.get(row["weight_precision"].lower())
        if row["peak_mem_gb"] and dtype and "transformers" in row["engine"].lower() and not row["n_experts"]:
            length = count(row, "isl", 1) + count(row, "osl", 1)
            with contextlib.suppress(Exception):
                said = module.estimate(_arch(module, row), dtype=dtype, seq_len=length, batch=1)
                yield "inference_llm", row["id"], "peak_mem_gb", said.total / GIB
    for row in rows("training_llm"):
        kind = {"full_ft": "full", "lora": "lora"}.get(row["kind"])
        if kind is None or not row["measured_peak_mem_gb"] or row["n_gpus"] != "1" or row["n_experts"]:
            continue
        with contextlib.suppress(Exception):
            said = module.estimate(
                _arch(module, row), mode=kind, dtype=DTYPES[row["precision"]], batch=count(row, "micro_batch", 1),
                seq_len=count(row, "seq_len"), lora_rank=count(row, "lora_rank") or None,
                grad_checkpoint=row["activation_ckpt"] == "full",
            )  # fmt: skip
            unit = GIB if row["mem_unit"] == "GiB" else GB
            yield "training_llm", row["id"], "measured_peak_mem_gb", said.total / unit


def _arch(module: Any, row: Row) -> Any:
    return module.Arch(
        hidden_size=count(row, "hidden"), num_layers=count(row, "n_layers"), num_heads=count(row, "n_heads"),
        num_kv_heads=count(row, "n_kv_heads"), head_dim=count(row, "head_dim"), intermediate_size=count(row, "ffn"),
        vocab_size=count(row, "vocab"), tie_word_embeddings=row.get("tied_embeddings") == "1", attention_bias=False,
        norms_per_layer=2,
    )  # fmt: skip


DEVICES = {
    "H100 SXM": "h100-80gb", "H200 SXM": "h200-141gb", "B200": "b200-192gb", "A100 SXM": "a100-80gb",
    "A100 PCIe": "a100-80gb", "L40S": "l40s-48gb", "RTX 4090": "rtx4090-24gb", "RTX 3090": "rtx3090-24gb",
}  # fmt: skip
WEIGHTS = {"fp16": "fp16", "f16": "fp16", "bf16": "fp16", "fp8": "fp8", "int8": "int8", "q8_0": "q8_0"}
WEIGHTS |= {"q4_k_m": "q4_k", "awq": "int4"}


def ridgepoint() -> Iterator[Said]:
    """Decode speed of one stream."""
    core = importlib.import_module("ridgepoint._core")
    for row in rows("inference_llm"):
        device, dtype = DEVICES.get(row["gpu"]), WEIGHTS.get(row["weight_precision"].lower())
        alone = row["mode"] in {"decode", "single_stream"} and number(row, "concurrency_or_batch", 1) == 1
        if not device or not dtype or not alone or not row["measured_output_tok_s"] or row["n_experts"]:
            continue
        layers, context = count(row, "n_layers"), count(row, "isl", 16) + count(row, "osl", 128)
        parameters = int(number(row, "params_b") * 1e9)
        with contextlib.suppress(Exception):
            said = json.loads(
                core.fit_shape(
                    "row", layers, layers, count(row, "hidden"), parameters, parameters, "gqa",
                    count(row, "head_dim"), count(row, "n_heads"), count(row, "n_kv_heads"), 0, 0, device,
                    count(row, "n_gpus", 1), "llama.cpp" if "llama" in row["engine"].lower() else "vllm", dtype, "fp16",
                    context, count(row, "isl", 16), True,
                )
            )  # fmt: skip
            yield "inference_llm", row["id"], "measured_output_tok_s", float(said["speed"]["decode_tok_s"]["best"])


SHAPE = re.compile(r"^(\d+)L (\d+)kv (\d+)(?: (bf16|fp8))?$")
BYTES = {"": 2.0, "bf16": 2.0, "fp8": 1.0}


def kvfit() -> Iterator[Said]:
    """Bytes of cache a token of plain grouped attention, whose shape the rows print."""
    module = importlib.import_module("kvfit")
    for row in rows("kv_cache"):
        shape = SHAPE.match(row["arch(memory)"])
        if shape is None or not row["kv_bytes_per_token_per_gpu"]:
            continue
        layers, heads, size = (int(shape.group(place)) for place in (1, 2, 3))
        config = {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": layers,
            "num_attention_heads": heads * 4, "num_key_value_heads": heads, "head_dim": size,
            "hidden_size": heads * 4 * size, "intermediate_size": heads * 16 * size, "vocab_size": 32000,
        }  # fmt: skip
        with contextlib.suppress(Exception):
            said = module.estimate_cache(config, context_tokens=1024, kv_bytes=BYTES[shape.group(4) or ""])
            yield "kv_cache", row["id"], "kv_bytes_per_token_per_gpu", float(said.total_bytes) / 1024


PEERS: Mapping[str, Callable[[], Iterator[Said]]] = {
    "llm-analysis": llm_analysis,
    "aiconfigurator": aiconfigurator,
    "ridgepoint": ridgepoint,
    "kvfit": kvfit,
    "vramcalc": vramcalc,
}
"""Peers by the name of their package."""


def main(arguments: list[str]) -> int:
    """Ask the peers named, or all that are installed."""
    logging.disable(logging.CRITICAL)
    kept: list[tuple[str, ...]] = []
    if KEPT.exists():
        with KEPT.open(encoding="utf-8", newline="") as file:
            kept = [tuple(row) for row in csv.reader(file)][1:]
    for name in arguments or list(PEERS):
        said = [(name, version(name), file, i, metric, f"{v:.5g}") for file, i, metric, v in PEERS[name]() if v > 0]
        kept = [*(row for row in kept if row[0] != name), *said]
        sys.stdout.write(f"{name}: {len(said)} numbers\n")
        with KEPT.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([HEADER, *sorted(kept)])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
