"""Predictions over everything that is supported, kept, and how new ones differ: presets and models × GPUs × how many.

Run as `make accuracy-diff` (`python -m tests.accuracy.surface [--keep]`). Says for each preset and number how many
predictions moved, by how much, and which moved most; `--keep` makes the new ones those that are kept.
"""

import argparse
import csv
import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.estimate import Estimate
from gpuplanner.facts import MissingFactError
from gpuplanner.messages import InputError
from gpuplanner.units import GIB
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workspace import Workspace

KEPT = Path(__file__).resolve().parent / "surface.csv"
COUNTS = (1, 8)
LEAST_MEMORY = 16 * GIB
MODELS = (
    "Qwen/Qwen2.5-1.5B",
    "meta-llama/Meta-Llama-3.1-8B",
    "Qwen/Qwen3-32B",
    "meta-llama/Meta-Llama-3.1-70B",
    "mistralai/Mixtral-8x7B-v0.1",
    "deepseek-ai/DeepSeek-V3",
)
VARIED = ("chat-8b", "finetune-8b")
"""Presets that are asked for other models too."""
HEADLINES = (
    "tpot_s", "ttft_s", "output_tokens_per_s", "tokens_per_s", "step_s", "items_per_s", "images_per_s", "frames_per_s",
    "seconds_per_item", "energy_j",
)  # fmt: skip
"""Metrics that are kept, the first two of them that a plan has."""
DIGITS = 4
UNMOVED = 10.0**-DIGITS * 6
"""Two numbers of so many digits are the same up to this."""
MOST_SHOWN = 10
Key = tuple[str, str, str, str, str]
"""Preset, model ("" for its own), GPU, how many, number."""


@dataclass(frozen=True, slots=True)
class Change:
    """A prediction that is another, one that is new ("" before) or one that is gone."""

    key: Key
    before: str
    after: str

    @property
    def log(self) -> float | None:
        """ln(after / before), where both are numbers."""
        try:
            return math.log(float(self.after) / float(self.before))
        except (ValueError, ZeroDivisionError):
            return None


def predictions(workspace: Workspace, gpus: Sequence[Gpu]) -> Iterator[tuple[Key, str]]:
    """Every number of every plan on these GPUs; a plan that is refused says so by the id of the reason."""
    for name, model, plan in plans(workspace):
        for gpu in gpus:
            for count in COUNTS:
                for what, value in numbers(workspace, plan, gpu.id, count).items():
                    yield (name, model, gpu.id, str(count), what), value


def plans(workspace: Workspace) -> Iterator[tuple[str, str, Plan]]:
    """The presets, and some of them with other models."""
    for name, plan in sorted(workspace.presets.items()):
        yield name, "", plan
        for model in MODELS if name in VARIED else ():
            workload = plan.workload.model_copy(update={"model": ModelChoice(catalog_id=model)})
            yield name, model, plan.model_copy(update={"workload": workload})


def numbers(workspace: Workspace, plan: Plan, gpu: str, count: int) -> dict[str, str]:
    """What is kept of one plan on one machine."""
    on = plan.model_copy(update={"machine": MachineChoice(gpu_id=gpu, gpus=count)})
    try:
        made = workspace.estimate(on)
    except InputError as error:
        return {"refused": error.message.id}
    except MissingFactError as error:
        return {"refused": error.fact}
    return told(made)


def told(made: Estimate) -> dict[str, str]:
    """The verdict, the memory and the first metrics of an estimate."""
    found = {"fit": made.fit.value, "needed_gib": _digits(made.memory.needed.value / GIB)}
    for name in [name for name in HEADLINES if name in made.metrics][:2]:
        found[name] = _digits(made.metrics[name].value)
    return found


def _digits(value: float) -> str:
    return f"{value:.{DIGITS}g}"


def sampled(workspace: Workspace) -> list[Gpu]:
    """The GPUs that are asked for: those with memory for a model."""
    known = ((gpu, gpu.known(GpuProperty.MEMORY_BYTES)) for _, gpu in sorted(workspace.catalog.gpus.items()))
    return [gpu for gpu, memory in known if memory is not None and memory.value >= LEAST_MEMORY]


def kept() -> dict[Key, str]:
    """What is kept: a line a plan and machine, with its numbers as "name=value name=value"."""
    found: dict[Key, str] = {}
    with KEPT.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for pair in row["numbers"].split("; "):
                name, _, value = pair.partition("=")
                found[row["preset"], row["model"], row["gpu"], row["gpus"], name] = value
    return found


def keep(new: Mapping[Key, str]) -> None:
    """Keep these."""
    lines: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for (*plan, name), value in sorted(new.items()):
        preset, model, gpu, gpus = plan
        lines[preset, model, gpu, gpus].append(f"{name}={value}")
    with KEPT.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("preset", "model", "gpu", "gpus", "numbers"))
        writer.writerows((*key, "; ".join(pairs)) for key, pairs in lines.items())


def changes(before: Mapping[Key, str], after: Mapping[Key, str]) -> list[Change]:
    """What differs."""
    found = [Change(key, before.get(key, ""), after.get(key, "")) for key in sorted({*before, *after})]
    return [c for c in found if c.before != c.after and (c.log is None or abs(c.log) > UNMOVED)]


def shown(found: Sequence[Change], asked: int) -> Iterator[str]:
    """The difference in words: by preset and number, then what moved most."""
    yield f"{len(found)} of {asked} predictions differ"
    groups: dict[tuple[str, str], list[Change]] = defaultdict(list)
    for change in found:
        groups[change.key[0], change.key[4]].append(change)
    for (preset, what), own in sorted(groups.items()):
        logs = [log for change in own if (log := change.log) is not None]
        moved = f"median {math.exp(median(logs)) - 1:+.1%}, from {math.exp(min(logs)) - 1:+.1%}" if logs else ""
        moved += f" to {math.exp(max(logs)) - 1:+.1%}" if logs else ""
        other = f"{len(own) - len(logs)} became another word, are new or gone" if len(logs) < len(own) else ""
        yield f"  {preset:16} {what:22} {len(own):5}  {'; '.join(part for part in (moved, other) if part)}"
    most = sorted(found, key=lambda change: -abs(change.log or 0.0))[:MOST_SHOWN]
    yield from (f"  {' '.join(c.key)}: {c.before or 'nothing'} → {c.after or 'nothing'}" for c in most)


def main(arguments: Sequence[str]) -> int:
    """Say what differs; with --keep keep the new predictions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true")
    wanted = parser.parse_args(arguments)
    workspace = Workspace(KEPT.parent / "no such home")
    new = dict(predictions(workspace, sampled(workspace)))
    if KEPT.exists():
        sys.stdout.write("\n".join(shown(changes(kept(), new), len(new))) + "\n")
    if wanted.keep:
        keep(new)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
