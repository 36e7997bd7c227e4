"""Carries the public measurements beside a checkout into `catalogs/measurements/`: facts and sources, no sentences.

Run as `python -m tests.accuracy.carry_measurements` from the root of the checkout. Each file keeps its columns but
those that were computed from others; a source becomes a number of `sources.csv`; of free notes only the terms stay that
a validation family reads. The result is the same for the same input.
"""

import csv
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from gpuplanner.engine.validation.rows import GROUP_COLUMN, SOURCE_COLUMNS, Row

ROOT = Path(__file__).resolve().parents[2]
FROM = ROOT.parent / "shared" / "validation"
TO = ROOT / "catalogs" / "measurements"
SOURCES = "sources"
NOTES = "notes"
COMPUTED = frozenset(
    {
        "calc_active_params_b", "calc_model_tflops_per_gpu", "calc_mfu_vs_bf16_peak_pct", "dims_source", "ratio",
        "derived_gib_or_tokens", "dev_pct", "holdout", "tokens_per_s_origin", "raw_olympic_mean_min",
    }
)  # fmt: skip
"""Columns that follow from others, or that say how the collection was made."""
COMPUTED_IN = {"inference_vision": frozenset({"step_ms"}), "mlperf_training": frozenset({"host_cpu"})}
"""The same in one file; and what nothing in the engine depends on."""
TERMS: Mapping[str, tuple[str, ...]] = {
    "inference_llm": (
        r"static|genai-perf c1|single-stream", r"MLPerf", r"sharegpt", r"gemm=\w+", r"attention_dp=\d+",
        r"seq_len \d+", r"50th percentile token", r"total over gpu", r"outlier|confidence=low", r"genai-perf",
    ),
    "inference_llm_online": (
        r"MLPerf", r"gemm=\w+", r"attention_dp=\d+", r"aiperf|\bid=(?!\d)", r"outlier|confidence=low",
    ),
    "training_llm": (
        r"mean ~?\d+ tok", r"submission config", r"mla", r"ce-fusion|fused[^;]*ce\b|liger|cut.?cross", r"gate",
        r"up_proj", r"all linear", r"mlp", r"k_proj", r"o_proj", r"q,v", r"v_proj", r"not LoRA|LoRA \(emb\)",
        r"peft_type=\w+", r"--offload-residual", r"vs fp8|vs 1979|fp8 peak",
        r"include full recompute|incl\. recompute|hardware tflops|tflops hardware|recompute counted",
    ),
    "inference_diffusion": (
        r"MLPerf", r"TensorRT", r"torch\.compile", r"stable-fast \(", r"AITemplate", r"OneFlow", r"xformers=[01]",
        r"nominal \d+ GB", r"(?:sequential[_ -])?(?:cpu|model)[_ -](?:cpu[_ -])?offload", r"vae[_ -]slicing",
        r"\btiling\b",
    ),
    "training_diffusion": (
        r"trainable \d+", r"grad ckpt True", r"\bEMA\b", r"dreambooth", r"(?<=; )\w{3,12}$",
    ),
    "achievable_bandwidth": (r"^(?:bfloat16|bf16|fp16|fp8_block|fp8|nvfp4|fp4|int8_wo|int4_wo|int8|sq)(?=;)",),
}  # fmt: skip
"""By file, what the families read in notes, case aside. A family that reads more says it here."""


def terms(file: str, notes: str) -> str:
    """The terms of a note that a family reads, each once, as "a; b"."""
    found = (m.group(0) for pattern in TERMS.get(file, ()) for m in re.finditer(pattern, notes, re.IGNORECASE))
    return "; ".join(dict.fromkeys(found))


class Numbered:
    """Sources by number, in the order in which they are met."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def __call__(self, citation: str) -> str:
        return str(self._known.setdefault(citation, len(self._known) + 1)) if citation else ""

    def rows(self) -> Iterable[dict[str, str]]:
        """Number and citation."""
        return ({"source": str(number), "citation": citation} for citation, number in self._known.items())


def carried(file: str, rows: Sequence[Mapping[str, str]], numbered: Numbered) -> list[dict[str, str]]:
    """The rows of one file with what stays of them."""
    return [_carried(Row(file, number, row), numbered) for number, row in enumerate(rows, start=2)]


def _carried(row: Row, numbered: Numbered) -> dict[str, str]:
    left = COMPUTED | COMPUTED_IN.get(row.file, frozenset()) | set(SOURCE_COLUMNS)
    kept = {name: cell for name, cell in row.cells.items() if name not in left}
    if any(name in row.cells for name in SOURCE_COLUMNS):
        citation = next((row.text(name) for name in SOURCE_COLUMNS if row.text(name)), "")
        kept |= {GROUP_COLUMN: row.source, "source": numbered(citation)}
    if NOTES in kept:
        kept[NOTES] = terms(row.file, kept[NOTES])
    return kept


def write(name: str, rows: Sequence[Mapping[str, str]]) -> None:
    """One file, the columns of its first row."""
    with (TO / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> int:
    """Carry every file over."""
    if not FROM.is_dir():
        sys.stdout.write("the public measurements are not beside this checkout\n")
        return 1
    numbered = Numbered()
    for path in sorted(FROM.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        write(path.stem, carried(path.stem, rows, numbered))
    write(SOURCES, list(numbered.rows()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
