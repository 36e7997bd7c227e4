"""Writes what `fit_vision` found into the tables vision, vision_relatives and vision_tasks."""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.catalog.networks import Operators
from gpuplanner.engine.vision_relatives import OPERATORS_OF
from gpuplanner.figures import Rung
from tests.accuracy.least_squares import Vector

FOLDER = Path(__file__).resolve().parents[2] / "catalogs" / "efficiency"
MOST = 0.97
"""No kernel reaches more of a peak."""
GROWTH = {
    Operators.ATTENTION: (1.07, 1.34),
    Operators.MIXED: (1.03, 1.12),
}
"""How multiply-adds and activations grow with the area: of networks that come in several sizes of image."""
LAYERS = {
    Operators.CONVOLUTION: (36, 0.3), Operators.GROUPED: (40, 0.3), Operators.DEPTHWISE: (85, 0.2),
    Operators.ATTENTION: (35, 0.2), Operators.WINDOWED: (45, 0.27), Operators.MIXED: (60, 0.25),
}  # fmt: skip
"""Layers of a network of 1 GMAC, and how they grow: through ResNet-18 … 152, EfficientNet-B0 … B7, ViT-S … H, Swin."""
FUSED_HELD = {Operators.ATTENTION: 0.7}
"""Of what a training keeps, without the scores of attention: ViT-B at 224 pixels has 40 MB of them of 124 an image."""


def relatives_lines(
    families: Mapping[str, Vector],
    counts: Counter[str],
    modes: Mapping[str, set[str]],
    kept: Mapping[str, float],
    live: Mapping[str, float],
    ratios: Mapping[str, tuple[float, float]],
    usual: Mapping[Operators, Mapping[str, float]],
) -> list[str]:
    """The entries of the table of relatives; what a family was not measured in follows from what it was."""
    lines = []
    for name in sorted(families):
        operators = OPERATORS_OF.get(name)
        if operators is None:
            continue
        own, seen = usual[operators], modes[name]
        factor, eager, compiled, trained = (float(x) for x in families[name][:4])
        if "trained" not in seen:
            trained = eager * own["trained_to_eager"]
        if "eager" not in seen:
            eager = trained / own["trained_to_eager"]
        if "compiled" not in seen:
            compiled = eager * own["compiled_bytes"] / own["eager_bytes"]
        values = {
            "compute_factor": factor, "eager_bytes": eager, "compiled_bytes": compiled, "trained_bytes": trained,
            "kept_bytes": kept.get(name, own["kept_bytes"]), "live_bytes": live.get(name, own["live_bytes"]),
            "macs_per_activation": ratios.get(name, (own["macs_per_activation"], own["activation_power"]))[0],
            "activation_power": ratios.get(name, (own["macs_per_activation"], own["activation_power"]))[1],
        }  # fmt: skip
        lines.append(f"  - {{variant: {name}, points: {counts[name]}, source: fit, values: {_values(values)}}}")
    return lines


def usual_values(
    families: Mapping[str, Vector],
    modes: Mapping[str, set[str]],
    kept: Mapping[str, float],
    live: Mapping[str, float],
    ratios: Mapping[str, tuple[float, float]],
) -> dict[Operators, dict[str, float]]:
    """What is usual for each kind of operators: the middle of its families."""

    def middle(values: list[float], otherwise: float) -> float:
        return math.exp(float(np.median(np.log(values)))) if values else otherwise

    def ratio(names: list[str]) -> list[float]:
        return [float(families[n][3] / families[n][1]) for n in names if {"eager", "trained"} <= modes[n]]

    unfused = [n for n in families if OPERATORS_OF.get(n) not in {None, Operators.ATTENTION}]
    overall = middle(ratio(unfused), 4.6)
    found = {}
    for operators in Operators:
        own = [n for n in families if OPERATORS_OF.get(n) is operators]
        to_eager = overall if operators is Operators.ATTENTION else middle(ratio(own), overall)
        macs_growth, activations_growth = GROWTH.get(operators, (1.0, 1.0))
        layers, layer_growth = LAYERS[operators]
        found[operators] = {
            "compute_factor": middle([float(families[n][0]) for n in own], 1.0),
            "eager_bytes": middle([float(families[n][1]) for n in own if "eager" in modes[n]], 16.0),
            "compiled_bytes": middle([float(families[n][2]) for n in own if "compiled" in modes[n]], 7.0),
            "trained_bytes": middle([float(families[n][3]) for n in own if "trained" in modes[n]], 70.0),
            "kept_bytes": middle([kept[n] for n in own if n in kept], 5.0),
            "live_bytes": middle([live[n] for n in own if n in live], 0.5),
            "macs_per_activation": middle([ratios[n][0] for n in own if n in ratios], 350.0),
            "activation_power": middle([ratios[n][1] for n in own if n in ratios], 0.75),
            "trained_to_eager": to_eager, "macs_growth": macs_growth, "activations_growth": activations_growth,
            "layers_at_gmac": layers, "layer_growth": layer_growth,
            "spared_share": FUSED_HELD.get(operators, 1.0),
        }  # fmt: skip
    return found


def gpu_lines(
    reach: Mapping[str, Vector],
    steps: Mapping[str, Vector],
    measured: Mapping[str, Counter[str]],
    gpus: Mapping[str, Gpu],
) -> list[str]:
    """The entries of compute and memory: each GPU, each chip, each architecture, any."""
    tf32 = {g for g in reach if gpus[g].known(GpuProperty.TF32_FLOP_PER_S) is not None}
    both = {g: counted.total() for g, counted in measured.items()}
    sixteen = {g: counted["16 bits"] for g, counted in measured.items()}
    wide = {g: counted["tf32"] for g, counted in measured.items() if g in tf32}
    vector = {g: counted["tf32"] for g, counted in measured.items() if g not in tf32}
    mean = math.exp(float(np.mean([math.log(reach[g][1]) for g in vector])))
    return [
        *_ladder_lines("compute 16 bits", "utilisation", 0, sixteen, reach, steps, gpus),
        *_ladder_lines("compute tf32", "utilisation", 1, wide, reach, steps, gpus),
        *(_reach("compute vector", f"gpu: {g}, ", n, "utilisation", reach[g][1]) for g, n in sorted(vector.items())),
        _reach("compute vector", "", sum(vector.values()), "utilisation", mean),
        *_ladder_lines("memory", "hbm_share", 2, both, reach, steps, gpus),
    ]


def _ladder_lines(
    variant: str,
    name: str,
    place: int,
    points: Mapping[str, int],
    reach: Mapping[str, Vector],
    steps: Mapping[str, Vector],
    gpus: Mapping[str, Gpu],
) -> list[str]:
    def line(holder: str, count: int, value: float) -> str:
        return _reach(variant, holder, count, name, min(value, MOST))

    known = {gpu: count for gpu, count in points.items() if count}
    chips: Counter[str] = Counter()
    architectures: Counter[str] = Counter()
    for gpu, count in known.items():
        chips[gpus[gpu].chip or gpus[gpu].architecture] += count
        architectures[gpus[gpu].architecture] += count
    return [
        *(line(f"gpu: {gpu}, ", count, reach[gpu][place]) for gpu, count in sorted(known.items())),
        *(line(f"chip: {chip}, ", count, steps[chip][place]) for chip, count in sorted(chips.items())),
        *(
            line(f"architecture: {a}, ", count, steps[f"architecture {a}"][place])
            for a, count in sorted(architectures.items())
        ),
        line("", sum(known.values()), steps[""][place]),
    ]


def _reach(variant: str, holder: str, points: int, name: str, value: float) -> str:
    return f"  - {{variant: {variant}, {holder}points: {points}, source: fit, values: {{{name}: {value:.4g}}}}}"


def _values(values: Mapping[str, float]) -> str:
    return "{" + ", ".join(f"{name}: {value:.4g}" for name, value in values.items()) + "}"


def operators_lines(usual: Mapping[Operators, Mapping[str, float]], counts: Mapping[Operators, int]) -> list[str]:
    """The entries of networks without relatives."""
    return [
        f"  - {{variant: operators {kind}, points: {counts[kind]}, source: fit, values: {_values(values)}}}"
        for kind, values in usual.items()
    ]


def range_lines(of: str, spreads: Mapping[Rung, tuple[float, float]], points: Mapping[Rung, int]) -> list[str]:
    """The entries of the ranges of times or memory, by rung."""
    lines = []
    for rung, (low, high) in spreads.items():
        name = json.dumps(f"{of}, {rung.value}")
        values = f"{{low: {low:.3f}, high: {high:.3f}}}"
        lines.append(f"  - {{variant: {name}, points: {points[rung]}, source: fit, values: {values}}}")
    return lines


GENERATED = re.compile(r"  - \{variant: (compute |memory, |operators |\"vision(?: tasks)?, |\"memory, )")


def write_vision(lines: list[str], hidden: tuple[float, float], width_factor: float) -> None:
    """Replace the fitted entries of the table vision; the others stay."""
    path = FOLDER / "vision.yaml"
    text = path.read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if not GENERATED.match(line)]
    start = kept.index("entries:") + 1
    text = "\n".join([*kept[:start], *lines, *kept[start:]]) + "\n"
    for variant, share in zip(("exchange", "exchange network"), hidden, strict=True):
        text = re.sub(rf"(variant: {variant}, .*?hidden_share: )[\d.]+", rf"\g<1>{share:.3g}", text)
    text = re.sub(r"(variant: 32 bits.*?width_factor: )[\d.]+", rf"\g<1>{width_factor:.4g}", text)
    path.write_text(text, encoding="utf-8")


RELATIVES_HEAD = """\
# Families of networks that were measured (by the names of timm): compute_factor, what they take more than their
# multiply-adds say; bytes moved an activation, in 16 bits: eager and compiled, one pass, and trained, a whole step
# without a compiler; bytes held an activation at the peak of a training (kept) and of inference (live);
# multiply-adds an activation. Written by tests/accuracy/fit_vision.py.
sources:
  fit: {citation: "fit to huggingface/pytorch-image-models, results (RTX 3090 and 4090)", date: "2022–2024"}
entries:
"""


def write_relatives(lines: list[str]) -> None:
    """The whole table of relatives."""
    (FOLDER / "vision_relatives.yaml").write_text(RELATIVES_HEAD + "\n".join(lines) + "\n", encoding="utf-8")


def write_tasks(families: Mapping[str, Vector], counts: Mapping[str, int]) -> None:
    """The fitted values of the table of tasks."""
    path = FOLDER / "vision_tasks.yaml"
    text = path.read_text(encoding="utf-8")
    for name, values in families.items():
        new = {"compute_factor": values[0], "trained_bytes": values[3], "host_s": values[4]}
        for key, value in new.items():
            text = re.sub(rf"(variant: {name}, .*?\b{key}: )[^,}}]+", rf"\g<1>{value:.4g}", text)
        text = re.sub(rf"(variant: {name}, points: )\d+", rf"\g<1>{counts[name]}", text)
    path.write_text(text, encoding="utf-8")


def grouped_modes(pairs: list[tuple[str, str]]) -> dict[str, set[str]]:
    """In which modes each family was measured."""
    found: dict[str, set[str]] = defaultdict(set)
    for family, mode in pairs:
        found[family].add(mode)
    return found
