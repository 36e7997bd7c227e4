"""Files of measurements with any nonsense in their cells: each row is placed or refused with a reason, none is lost."""

import json
import math
import random
from collections.abc import Mapping

import pytest

from gpuplanner.engine.validation.families import FAMILIES, LONGEST_CELL, recognise, row_outcomes
from gpuplanner.engine.validation.rows import Family, Outcome, Row, ValidationContext
from gpuplanner.engine.validation.summary import summarise
from gpuplanner.messages import Language, Translator
from gpuplanner.workspace import Workspace

TRANSLATORS = [Translator(language) for language in Language]
SERVING = {
    "id": "s", "source_repo_path": "a/b", "engine": "vLLM", "engine_version": "0.6", "model": "Llama-3.1-8B",
    "params_b": "8.03", "n_layers": "32", "hidden": "4096", "n_heads": "32", "n_kv_heads": "8", "head_dim": "128",
    "ffn": "14336", "vocab": "128256", "gpu": "H100 SXM", "gpu_mem_gb": "80", "n_gpus": "1", "tp": "1",
    "weight_precision": "bf16", "mode": "online", "concurrency_or_batch": "8", "isl": "1000", "osl": "200",
    "measured_output_tok_s": "600", "measured_total_tok_s": "", "measured_prefill_tok_s": "", "ttft_ms": "50",
    "tpot_ms": "12", "peak_mem_gb": "20", "notes": "",
}  # fmt: skip
TRAINING = {
    "id": "t", "source_repo_path": "a/b", "kind": "pretrain", "model": "gpt", "params_b": "6.7", "n_layers": "32",
    "hidden": "4096", "n_heads": "32", "vocab": "51200", "seq_len": "2048", "gpu": "H100 SXM", "gpu_mem_gb": "80",
    "n_gpus": "8", "gpus_per_node": "8", "global_batch_seqs": "64", "micro_batch": "2", "grad_accum": "4", "tp": "1",
    "pp": "1", "cp": "1", "ep": "1", "sharding": "fsdp", "framework": "PyTorch FSDP", "precision": "bf16",
    "activation_ckpt": "full", "measured_tokens_per_s_per_gpu": "9000", "measured_step_s": "2",
    "measured_tflops_per_gpu": "400", "measured_mfu_pct": "40", "measured_hfu_pct": "50",
    "measured_peak_mem_gb": "60", "outcome": "ok", "notes": "",
}  # fmt: skip
BANDWIDTH = {
    "what": "allreduce busbw", "gpu_or_system": "8x H100 SXM 80GB", "n_gpus": "8", "n_nodes": "1",
    "message_size": "1 GiB", "measured_GBps": "360", "source": "a/b", "notes": "",
}  # fmt: skip
MATRIX = {
    "gpu": "NVIDIA H100 SXM5 80GB", "dtype": "bf16", "shape": "4096x4096x4096", "measured_tflops": "600",
    "datasheet_dense_tflops": "989", "source": "a/b", "notes": "",
}  # fmt: skip
POOL = {
    "id": "k", "model": "Llama-3.1-8B", "gpu": "RTX 3090 24GB", "n_gpu": "1", "util": "0.9", "max_len": "20000",
    "need_gib": "2.44", "avail_gib": "3.81", "tokens": "31232", "est_max_len": "31232",
    "kv_bytes_per_token_per_gpu": "131072", "arch(memory)": "32L 8kv 128 bf16",
}  # fmt: skip
ROWS = {"serving": SERVING, "training": TRAINING, "bandwidth": BANDWIDTH, "matrix": MATRIX, "pool": POOL}
NONSENSE = [
    "", "nan", "inf", "-inf", "1e999", "-1", "0", "9" * 400, "1e308", "1e-320", "1e-9", "0.5", "3.5", "7", "1e18",
    "100000000", "65536", "\x1b[31m", "\u202e", "{x}{", "x" * 1000, "0x0x0", "99999999999x9x9", "0 KiB", "9e9 GiB",
    "9" * 300 + " GiB", "full", "prefill", "seq_len " + "9" * 3000, "attention_dp=" + "9" * 3000, "exl2 .", "exl2 0",
    "mean ~" + "9" * 3000 + " tok", "mean ~0 tok", "8x " + "9" * 3000 + " GB/s", "0L 0kv 0 bf16",
    "9" * 3000 + "L 8kv 1",    "0L MLA 0", "1 global 0x0 + 0 window 0x0 w0 chunk0",
]  # fmt: skip


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> ValidationContext:
    return Workspace(tmp_path_factory.mktemp("home")).validation_context()


def outcomes_of(cells: Mapping[str, str], context: ValidationContext) -> list[Outcome]:
    return row_outcomes(Row("mine.csv", 2, cells), recognise("mine.csv", cells), context)


def check(outcomes: list[Outcome]) -> None:
    assert outcomes
    for outcome in outcomes:
        for number in (outcome.predicted, outcome.low, outcome.high):
            assert number is None or isinstance(number, str) or (math.isfinite(number) and number >= 0)
        for translator in TRANSLATORS:
            data = outcome.as_data(translator)
            json.dumps(data, allow_nan=False)
            assert len(data["refused"] or "") < 500
            assert (data["refused"] or "").isprintable()


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_good_row_is_placed(row: dict[str, str], context: ValidationContext) -> None:
    """Else the tests below would try nothing."""
    assert any(outcome.refused is None for outcome in outcomes_of(row, context))


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_one_nonsensical_cell_is_placed_or_refused(row: dict[str, str], context: ValidationContext) -> None:
    for column in row:
        for cell in NONSENSE:
            check(outcomes_of({**row, column: cell}, context))


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_several_nonsensical_cells_are_placed_or_refused(row: dict[str, str], context: ValidationContext) -> None:
    dice = random.Random(7)
    found: list[Outcome] = []
    for _ in range(150):
        columns = dice.sample(list(row), 4)
        outcomes = outcomes_of({**row, **{column: dice.choice(NONSENSE) for column in columns}}, context)
        check(outcomes)
        found += outcomes
    assert summarise(found)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_numbers_of_every_family_are_finite_or_text(family: Family, context: ValidationContext) -> None:
    check(outcomes_of(dict.fromkeys(family.columns, "1e999"), context))


@pytest.mark.parametrize("cell", ["1" * 100_000, "(" * 100_000, " " * 100_000 + "x", "1.1." * 25_000])
def test_a_file_in_a_cell_is_refused_before_it_is_searched(cell: str, context: ValidationContext) -> None:
    """A pattern that looks for a number from every place of it would take minutes."""
    for column in POOL:
        found = outcomes_of({**POOL, column: cell}, context)
        assert [outcome.refused.id for outcome in found if outcome.refused] == ["validation.cell_too_long"]
        check(found)
    assert len(cell) > LONGEST_CELL


def test_a_cell_is_bounded_at_a_length_that_is_searched_at_once(context: ValidationContext) -> None:
    for cell in ("1" * LONGEST_CELL, "(" * LONGEST_CELL, "1L MLA " * (LONGEST_CELL // 7)):
        for column in ("arch(memory)", "gpu", "model"):
            check(outcomes_of({**POOL, column: cell}, context))
