"""The names in public measurements, as their sources print them: resolved, or refused for a reason that we know."""

import csv
import sys
from collections import Counter

import pytest

from gpuplanner.catalog.names import Names, names_of
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.paths import shipped

GPU_COLUMNS = ("gpu", "gpu_or_system")

# What no catalog entry is: other products, and rows that do not name theirs.
REFUSED_GPUS = {
    "N/A",
    "(Intel GPU doc)",
    "GPU shared with ComfyUI",
    "24GB (23.58GiB)",
    "4 nodes (GPU type not stated)",
    "Azure NC80adis_H100_v5 (2x H100 NVL 94: memory)",  # an instance, not a GPU
}

# The share of rows that must name one entry, or be honestly ambiguous, by file and column. Vision models are timm's.
LEAST = {
    ("inference_llm.csv", "model"): 0.99,
    ("inference_llm_online.csv", "model"): 1.0,
    ("training_llm.csv", "model"): 0.55,
    ("training_fit_limits.csv", "model"): 1.0,
    ("kv_cache.csv", "model"): 0.65,
    ("inference_diffusion.csv", "model"): 0.75,
    ("speech.csv", "model"): 0.0,
    ("training_diffusion.csv", "model"): 0.3,
    ("inference_vision.csv", "model"): 0.0,
    ("training_vision.csv", "model"): 0.05,
}


@pytest.fixture(scope="module")
def names() -> Names:
    return names_of(load_catalog(shipped("catalogs")))


@pytest.fixture(scope="module")
def printed(shared_dir) -> dict[tuple[str, str], Counter[str]]:
    """How often each name stands in each column of each file."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for path in sorted((shared_dir / "validation").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for column in (*GPU_COLUMNS, "model"):
            if column in rows[0]:
                found[path.name, column] = Counter(row[column] for row in rows if row[column])
    return found


def test_every_gpu_is_known_or_refused_for_a_reason(names, printed):
    refused = set()
    for (_, column), counted in printed.items():
        for name in counted if column in GPU_COLUMNS else ():
            found = names.resolve(name, kind="gpu")
            if found.id is None and not found.reason.id.startswith("names.ambiguous"):
                refused.add(name)
    assert refused == REFUSED_GPUS


def test_how_many_rows_name_a_model(names, printed):
    """Tells the share and the names that are not known; `pytest -rP` shows it."""
    shares = {}
    for (file, column), counted in printed.items():
        if column == "model":
            found = {name: names.resolve(name, kind="model") for name in counted}
            known = sum(
                n
                for name, n in counted.items()
                if found[name].id or found[name].reason.id.startswith("names.ambiguous")
            )
            shares[file, column] = known / counted.total()
            refused = [name for name in counted if not found[name].id]
            sys.stdout.write(f"{file}: {shares[file, column]:.0%} known; not: {', '.join(refused)}\n")
    assert {key: share for key, share in shares.items() if share < LEAST[key]} == {}


def test_memory_decides_where_the_row_states_it(names, shared_dir):
    """Rows of training and serving that state the memory of a GPU name one GPU."""
    unsure = set()
    for name in ("training_llm.csv", "inference_llm.csv"):
        with (shared_dir / "validation" / name).open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if row["gpu"] and row["gpu_mem_gb"] and row["gpu"] not in REFUSED_GPUS:
                    found = names.resolve(row["gpu"], kind="gpu", memory_bytes=float(row["gpu_mem_gb"]) * 1e9)
                    if found.id is None:
                        unsure.add((row["gpu"], row["gpu_mem_gb"]))
    assert unsure <= {("V100 SXM", "16"), ("A100", "80.0"), ("A100", "40.0"), ("A100", "80"), ("A100", "40")}
