"""How long calls take in time of the processor, and how quick the core is on which they were timed. No limits."""

import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np

from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.machines import catalog_machines
from gpuplanner.engine.search.space import Prepared
from gpuplanner.facts import MissingFactError
from gpuplanner.messages import InputError
from gpuplanner.workload.plan import Plan
from gpuplanner.workspace import Workspace

ROWS, PASSES = 32_768, 50


REFERENCE_PER_S = 3.2e9
"""Element operations a second of the reference loop on one core of the machine that the limits were set on."""


def reference_per_s() -> float:
    """Element operations a second of plain NumPy over blocks that fit the second-level cache."""
    a = np.linspace(1.0, 2.0, ROWS)
    b = np.linspace(2.0, 3.0, ROWS)

    def run() -> None:
        for _ in range(PASSES):
            np.divide(np.maximum(a * b + a, b), a)

    return 4 * PASSES * ROWS / least_seconds(run, 5)


def least_seconds(run: Callable[[], Any], rounds: int, calls: int = 1) -> float:
    """Seconds of one call, the least of several rounds of so many calls, after one that nobody times."""
    run()
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(calls):
            run()
        taken.append((time.process_time() - start) / calls)
    return min(taken)


def ways_per_s(workspace: Workspace, plan: Plan, rounds: int = 5) -> float:
    """Ways of running that are worked out in a second, in full blocks of every machine of the catalog."""
    space = KINDS[plan.workload.kind].space(plan, workspace.subject(plan.workload), workspace.efficiencies)
    machines = (offer for offer in catalog_machines(workspace.catalog, workspace.rates()) if isinstance(offer, Machine))
    found: list[Prepared] = []
    for machine in machines:
        try:
            prepared = space.prepare(machine)
        except (InputError, MissingFactError):
            continue
        if prepared is not None:
            found.append(prepared)
    once = sum(prepared.rows for prepared in found)
    found = sorted(found * -(-space.block_rows // once), key=lambda prepared: prepared.kin)
    blocks: list[list[Prepared]] = [[]]
    for prepared in found:
        if sum(each.rows for each in blocks[-1]) + prepared.rows > space.block_rows and blocks[-1]:
            blocks.append([])
        blocks[-1].append(prepared)
    return sum(p.rows for p in found) / least_seconds(lambda: [space.compute(block) for block in blocks], rounds)


NEW_FIELD = {"serving": "input_tokens", "training": "sequence_length"}
"""What is changed of a workload so that nothing of it was ever worked out."""


def never_seen(plan: Plan) -> Iterator[Plan]:
    """The same plan with one token less, and less each time: nothing kept from another plan helps."""
    field = NEW_FIELD[plan.workload.kind]
    for value in count(getattr(plan.workload, field) - 1, -1):
        yield plan.model_copy(update={"workload": plan.workload.model_copy(update={field: value})})
