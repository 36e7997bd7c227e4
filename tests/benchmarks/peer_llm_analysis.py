"""Times llm-analysis on one training and one serving estimate of Llama 2 70B on 8 H100; writes them as JSON.

Run with the Python of a throw-away environment that has llm-analysis; nothing of gpuplanner is imported.
"""

import contextlib
import json
import logging
import sys
import time
from importlib import import_module
from importlib.metadata import version

ROUNDS, CALLS = 7, 5


def main() -> None:
    """Time both, least of several rounds, in time of the processor."""
    logging.disable(logging.CRITICAL)
    analysis, config = import_module("llm_analysis.analysis"), import_module("llm_analysis.config")
    model = config.ModelConfig(
        name="llama-2-70b", num_layers=80, n_head=64, hidden_dim=8192, vocab_size=32000, max_seq_len=4096,
        num_key_value_heads=8, ffn_embed_dim=4 * 8192,  # it takes whole multiples of the width only
    )  # fmt: skip
    asked = analysis.LLMAnalysis(
        model,
        config.get_gpu_config_by_name("h100-sxm-80gb"),
        parallelism_config=config.ParallelismConfig(tp_size=8, pp_size=1, dp_size=1),
        flops_efficiency=0.5,
        hbm_memory_efficiency=0.7,
    )

    def train() -> None:
        asked.training(batch_size_per_gpu=1, global_batch_size=16, seq_len=4096, mlp_gated_linear_units=True)

    def serve() -> None:
        asked.inference(batch_size_per_gpu=8, seq_len=512, num_tokens_to_generate=128)

    told: dict[str, str | float] = {"version": version("llm-analysis")}
    for name, run in (("training", train), ("serving", serve)):
        with contextlib.redirect_stdout(None), contextlib.suppress(SystemExit):
            run()
            best = []
            for _ in range(ROUNDS):
                start = time.process_time()
                for _ in range(CALLS):
                    run()
                best.append((time.process_time() - start) / CALLS)
            told[name] = min(best)
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
