"""Fits what the programs that run Whisper take beside its arithmetic to the public rows: launches and memory.

Run as `python -m tests.accuracy.fit_speech [--write]` from the root of the checkout. All rows are of one source and one
GPU, so that no source can be left out; `--left-out` leaves out one row of faster-whisper at a time, which tests the
mechanism over batch and precision, not over GPUs.
"""

import argparse
import csv
import math
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.efficiency import Efficiencies, read_efficiencies
from gpuplanner.catalog.names import names_of
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.engine.speech import speech_run
from gpuplanner.engine.speech_model import speech_numbers
from gpuplanner.engine.validation.names import ResolvedNames
from gpuplanner.engine.validation.rows import Row
from gpuplanner.engine.validation.speech import work_of
from gpuplanner.units import GIB
from tests.accuracy.table_files import set_value

ROOT = Path(__file__).resolve().parents[2]
ROWS = ROOT.parent / "shared" / "validation" / "speech.csv"
TABLE = "speech"


@dataclass(frozen=True)
class Case:
    """One row: what its time and its memory leave for the program, and what goes into them beside."""

    id: str
    engine: str
    layer_steps: float
    other_s: float
    seconds: float
    other_bytes: float
    memory_bytes: float

    @property
    def layer_s(self) -> float:
        """What a layer took, if everything else is right."""
        return max((self.seconds - self.other_s) / self.layer_steps, 1e-6)

    @property
    def process_bytes(self) -> float:
        """What the program took, if everything else is right."""
        return max(self.memory_bytes - self.other_bytes, 1e6)


def cases(catalog: Catalog, efficiencies: Efficiencies) -> list[Case]:
    """The rows with a time and an amount of memory."""
    names = ResolvedNames(catalog, names_of(catalog))
    found = []
    with ROWS.open(encoding="utf-8", newline="") as file:
        for line, cells in enumerate(csv.DictReader(file), start=2):
            row = Row(ROWS.name, line, cells)
            if not (row.text("audio_s") and row.text("time_s") and row.text("peak_mem_gb")):
                continue
            work, model = work_of(row), names.model(row.text("model")).architecture
            assert model is not None
            numbers = speech_numbers(model)
            run = speech_run(work, numbers, names.gpu(row.text("gpu")), 1.0, efficiencies)
            own = efficiencies.constants(TABLE, work.engine.value)
            host_s = efficiencies.constants(TABLE, f"{work.engine.value} habits")["step_host_s"]
            launch_s = float(run.seconds["launch"][0])
            steps = launch_s / (numbers.decoder_layers * own["layer_s"] + host_s)
            layer_steps = steps * numbers.decoder_layers
            total_s = sum(float(seconds) for seconds, _ in run.seconds.values())
            total = max(sum(map(float, parts.values())) for parts in run.bytes_by_phase.values())
            found.append(
                Case(
                    row.id,
                    work.engine.value,
                    layer_steps,
                    total_s - layer_steps * own["layer_s"],
                    row.required("time_s"),
                    total - own["context_bytes"],
                    row.required("peak_mem_gb") * GIB,
                )
            )
    return found


def main() -> None:
    """Print the fit and what each row misses by, and with `--write` put the fit into the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--left-out", action="store_true")
    arguments = parser.parse_args()
    by_engine: dict[str, list[Case]] = defaultdict(list)
    for case in cases(load_catalog(ROOT / "catalogs"), read_efficiencies(ROOT / "catalogs" / "efficiency")):
        by_engine[case.engine].append(case)
    for engine, own in by_engine.items():
        for case in own:
            others = [c for c in own if c is not case] if arguments.left_out and len(own) > 1 else own
            seconds = case.other_s + case.layer_steps * median(c.layer_s for c in others)
            memory = case.other_bytes + median(c.process_bytes for c in others)
            sys.stdout.write(
                f"{case.id} {engine:16} time {math.log(seconds / case.seconds):+.3f}"
                f"  memory {math.log(memory / case.memory_bytes):+.3f}\n"
            )
        if arguments.write:
            set_value(TABLE, {"variant": engine}, "layer_s", median(c.layer_s for c in own))
            set_value(TABLE, {"variant": engine}, "context_bytes", median(c.process_bytes for c in own))


if __name__ == "__main__":
    main()
