"""Fits the share of the nominal memory rate that FP64 streams reach, GPU by GPU, to the published gpu-stream results.

Run as `python -m tests.accuracy.fit_science [--write]` from the root of the checkout. The general entry is the median
over GPUs; what it misses by, GPU by GPU, is what a GPU without a measurement of its own has to expect.
"""

import argparse
import csv
import math
import re
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

from gpuplanner.catalog.names import names_of
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.engine.validation.names import ResolvedNames
from gpuplanner.messages import InputError
from gpuplanner.units import GB

ROOT = Path(__file__).resolve().parents[2]
ROWS = ROOT.parent / "shared" / "validation" / "achievable_bandwidth.csv"
TABLE = ROOT / "catalogs" / "efficiency" / "science.yaml"
MEASURED = {"HBM (scale)", "HBM (triad)"}
MEMORY = re.compile(r"(\d+) ?GB")
NAMED = {"A100 80GB": "A100-SXM4-80GB", "V100 PCIe/SXM": "V100-SXM2-16GB", "H200": "H200 SXM"}
"""What stands for boards that the rows do not tell apart: they have the same memory."""
LINES = r"(?:  - \{.*?variant: stream, .*\n)+"


def shares() -> dict[str, dict[str, list[float]]]:
    """Measured over theoretical bandwidth by chip and GPU."""
    catalog = load_catalog(ROOT / "catalogs")
    names = ResolvedNames(catalog, names_of(catalog))
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with ROWS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["what"] not in MEASURED or not row["theoretical_GBps"]:
                continue
            name = row["gpu_or_system"].partition(" (")[0]
            printed = MEMORY.search(name)
            try:
                gpu = names.gpu(NAMED.get(name, name), float(printed[1]) * GB if printed else None)
            except InputError as refused:
                sys.stderr.write(f"{name}: {refused.message.id}\n")
                continue
            found[gpu.chip][gpu.id].append(float(row["measured_GBps"]) / float(row["theoretical_GBps"]))
    return found


def main() -> None:
    """Print the fit, and with `--write` put it into the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    by_gpu = {(chip, gpu): median(v) for chip, gpus in sorted(shares().items()) for gpu, v in gpus.items()}
    lines = [_line("", len(by_gpu), median(by_gpu.values()))]
    for chip in dict.fromkeys(chip for chip, _ in by_gpu):
        own = [share for (of, _), share in by_gpu.items() if of == chip]
        lines.append(_line(f'chip: "{chip}", ', 2 * len(own), median(own)))
    for (chip, gpu), share in by_gpu.items():
        left_out = median(other for key, other in by_gpu.items() if key != (chip, gpu))
        sys.stdout.write(f"{gpu:36} {share:.3f}  left out {math.log(left_out / share):+.3f}\n")
        lines.append(_line(f"gpu: {gpu}, ", 2, share))
    if arguments.write:
        text, count = re.subn(LINES, "\n".join(lines) + "\n", TABLE.read_text(encoding="utf-8"), count=1)
        if count != 1:
            raise LookupError(TABLE.name)
        TABLE.write_text(text, encoding="utf-8")


def _line(holder: str, points: int, share: float) -> str:
    values = f"{{hbm_share: {share:.3f}}}"
    return f"  - {{{holder}variant: stream, points: {points}, source: gpu-benches, values: {values}}}"


if __name__ == "__main__":
    main()
