"""Times estimates and searches of every preset and writes docs/BENCHMARKS.md; `make benchmarks`.

With the path of a Python as its argument (of a throw-away environment that has llm-analysis), that estimator is timed
in the same run. Nothing is tested here: the limits stand in `test_search_speed.py`.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gpuplanner.engine.estimating import estimate
from gpuplanner.engine.search.searching import search
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Framework, Method, Sharding, Training
from gpuplanner.workspace import Workspace
from tests.benchmarks.measuring import NEW_FIELD, least_seconds, never_seen, reference_per_s, ways_per_s

HERE = Path(__file__).resolve().parent
WRITTEN = HERE.parents[1] / "docs" / "BENCHMARKS.md"
MODEL_ID = "meta-llama/Llama-2-70b-hf"
H100S = "aws/p5.48xlarge"
LARGE_GPUS = 10_000


def main() -> None:
    """Measure, and write the table."""
    peer = sys.argv[1] if len(sys.argv) > 1 else ""
    with TemporaryDirectory() as home:
        workspace = Workspace(Path(home))
        lines = [*_presets(workspace), *_large(workspace), *_beside(workspace, peer)]
    core = reference_per_s()
    text = (HERE / "benchmarks.md").read_text(encoding="utf-8")
    WRITTEN.write_text(text.format(core=f"{core / 1e9:.1f}", tables="\n".join(lines)), encoding="utf-8")


def _presets(workspace: Workspace) -> Iterator[str]:
    yield (
        "| plan | kind | one estimate, ms | key to estimate, ms | a new plan, ms | search, ms | ways | ways/s |"
        " ways/s in blocks |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, preset in workspace.presets.items():
        best = workspace.with_best_machine(preset)
        if best is None:
            continue
        plan = preset.model_copy(update={"machine": best.machine})
        one = _estimate_s(workspace, plan)
        typed = least_seconds(partial(_typed, workspace, plan), 20, 3)
        found = _search(workspace, plan)
        taken = least_seconds(partial(_search, workspace, plan), 7)
        new, in_blocks = "", ""
        if plan.workload.kind in NEW_FIELD:
            new = f"{_new_s(workspace, plan) * 1e3:.2f}"
            in_blocks = f"{round(ways_per_s(workspace, preset)):,}"
        yield _row(
            name, plan.workload.kind, f"{one * 1e3:.2f}", f"{typed * 1e3:.2f}", new, f"{taken * 1e3:.0f}",
            found.configurations, round(found.configurations / taken), in_blocks,
        )  # fmt: skip


def _large(workspace: Workspace) -> Iterator[str]:
    yield ""
    yield "| search | ms |"
    yield "|---|---|"
    serving = Serving(model=ModelChoice(catalog_id=MODEL_ID), concurrency=64)
    plan = Plan(workload=serving)
    taken = least_seconds(lambda: _search(workspace, plan), 7)
    yield _row("every machine of the catalog × every way of serving Llama 2 70B", f"{taken * 1e3:.0f}")
    work = _training(10 * LARGE_GPUS)
    large = Plan(workload=work, machine=MachineChoice(instance_id=H100S, nodes=LARGE_GPUS // 8))
    taken = _new_s(workspace, large, 7)
    yield _row(
        f"every layout of Llama 2 70B's pre-training on {LARGE_GPUS:,} H100, the best estimated", f"{taken * 1e3:.1f}"
    )


def _beside(workspace: Workspace, python: str) -> Iterator[str]:
    if not python:
        return
    script = [python, str(HERE / "peer_llm_analysis.py")]
    told = json.loads(subprocess.run(script, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
    machine = MachineChoice(instance_id=H100S)
    fixed = {"tensor_parallel": 8, "pipeline_parallel": 1}
    ours = {
        "training": _training(16).model_copy(
            update=fixed | {"context_parallel": 1, "expert_parallel": 1, "micro_batch": 1, "sharding": Sharding.ZERO1}
        ),
        "serving": Serving(
            model=ModelChoice(catalog_id=MODEL_ID), concurrency=8, input_tokens=512, output_tokens=128, **fixed
        ),
    }
    yield ""
    peer = f"llm-analysis {told['version']}"
    yield f"| Llama 2 70B on 8 H100 | gpuplanner, ms | in a search, ms | {peer}, ms | ours over it | in a search |"
    yield "|---|---|---|---|---|---|"
    for name, workload in ours.items():
        plan = Plan(workload=workload, machine=machine)
        one, many, theirs = _estimate_s(workspace, plan), 1.0 / ways_per_s(workspace, _open(plan)), float(told[name])
        yield _row(
            name, f"{one * 1e3:.2f}", f"{many * 1e3:.5f}", f"{theirs * 1e3:.2f}", f"{one / theirs:.1f}",
            f"{many / theirs:.4f}",
        )  # fmt: skip


def _training(global_batch: int) -> Training:
    return Training(
        model=ModelChoice(catalog_id=MODEL_ID),
        framework=Framework.MEGATRON,
        method=Method.PRETRAINING,
        global_batch=global_batch,
        tokens=1e11,
    )


def _estimate_s(workspace: Workspace, plan: Plan, calls: int = 5) -> float:
    """Seconds of one estimate, with all that the plan leaves open chosen."""
    subject = workspace.subject(plan.workload)
    if plan.machine is None:
        raise ValueError("an estimate needs a machine")
    machine = workspace.machine(plan.machine, plan.constraints.regions)
    return least_seconds(lambda: estimate(plan, subject, machine, workspace.efficiencies), 30, calls)


def _new_s(workspace: Workspace, plan: Plan, rounds: int = 60) -> float:
    """Seconds of one estimate of a plan of which nothing was worked out before."""
    if plan.machine is None:
        raise ValueError("an estimate needs a machine")
    subject, machine = workspace.subject(plan.workload), workspace.machine(plan.machine, plan.constraints.regions)
    plans = never_seen(plan)
    return least_seconds(lambda: estimate(next(plans), subject, machine, workspace.efficiencies), rounds)


def _open(plan: Plan) -> Plan:
    """The same plan with its way left open, as a search has it."""
    names = ("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel", "micro_batch", "sharding")
    left = {name: None for name in names if name in type(plan.workload).model_fields}
    return plan.model_copy(update={"workload": plan.workload.model_copy(update=left)})


def _typed(workspace: Workspace, plan: Plan) -> Any:
    """What follows a key that was pressed: the plan is validated anew and estimated with what stands beside it."""
    return workspace.estimate(Plan.model_validate(plan.model_dump()))


def _search(workspace: Workspace, plan: Plan) -> Any:
    subject = workspace.subject(plan.workload)
    return search(plan, subject, workspace.catalog, workspace.efficiencies, workspace.rates())


def _row(*cells: object) -> str:
    return "| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells) + " |"


if __name__ == "__main__":
    main()
