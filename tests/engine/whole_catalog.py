"""Plans of every kind over every model and every kind of machine of the catalog, some of them or all. Tests import it.

`make test` takes a sample that is the same each time and meets every model and every kind of machine; `make walk` asks
for every pair of them.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.machines import catalog_machines
from gpuplanner.engine.own_measurements import site_of
from gpuplanner.messages import InputError
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workspace import Workspace

WALK = bool(os.environ.get("GPUPLANNER_WALK"))
MACHINES_EACH = 2
"""So many machines stand beside each model in the sample; more where there are fewer models than that takes."""
WITHOUT_MODEL = ("animation", "flow", "live-video", "stencil")
"""Presets whose work names no model."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Pair:
    """Work on a machine, and what it runs."""

    name: str
    plan: Plan
    subject: Any
    machine: Machine


def machine_kinds(catalog: Catalog) -> list[Machine]:
    """One offer of each kind of machine: GPU, how many in a node and how they are linked, with and without network."""
    found: dict[tuple[object, ...], Machine] = {}
    for offer in catalog_machines(catalog, catalog.currencies):
        if isinstance(offer, Machine):
            found.setdefault((site_of(offer), offer.host.network_bytes_per_s is None), offer)
    return [found[key] for key in sorted(found)]


def paired(first: Sequence[T], machines: Sequence[Machine], start: int = 0) -> Iterator[tuple[T, Machine]]:
    """Every one with every machine, or each with some of them so that all of both are met."""
    if WALK:
        yield from ((one, machine) for one in first for machine in machines)
        return
    each = max(MACHINES_EACH, -(-len(machines) // len(first)))
    for at, one in enumerate(first):
        yield from ((one, machines[(start + at * each + more) % len(machines)]) for more in range(each))


def pairs(workspace: Workspace, preset: str, start: int = 0) -> list[Pair]:
    """The work of a preset with the models of its kind that can be planned so, on machines of the catalog."""
    plan = workspace.presets[preset]
    machines = machine_kinds(workspace.catalog)
    subjects: list[tuple[str, Plan, Any]] = []
    if preset in WITHOUT_MODEL:
        subjects.append((preset, plan, workspace.subject(plan.workload)))
    else:
        for model in sorted(workspace.catalog.models):
            fields = plan.workload.model_dump() | {"model": ModelChoice(catalog_id=model).model_dump()}
            try:
                other = plan.model_validate({**plan.model_dump(), "workload": fields})
                subjects.append((model, other, workspace.subject(other.workload)))
            except (ValidationError, InputError):
                continue  # of another kind, or without what this work needs to know
    return [Pair(name, other, subject, m) for (name, other, subject), m in paired(subjects, machines, start)]
