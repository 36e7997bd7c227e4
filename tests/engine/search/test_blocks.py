"""Ways that are computed in one block with those of other machines come to what each machine's come to alone."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpuplanner.engine.kinds import KINDS
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.machines import catalog_machines
from gpuplanner.engine.search.result import Candidate
from gpuplanner.engine.search.space import Computed, Prepared
from gpuplanner.facts import MissingFactError
from gpuplanner.messages import InputError
from gpuplanner.workspace import Workspace

PRESETS = (
    "apart-70b", "chat-70b", "chat-8b", "desktop-32b", "documents-32b", "drafted-70b", "finetune-8b", "laptop-8b",
    "lora-70b", "moe-deepseek", "pretrain-7b", "qlora-8b",
)  # fmt: skip
EVERY = 9
"""One machine of so many: of each hardware there are several offers."""
ENOUGH = 20


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def machines(opened: Workspace) -> list[Machine]:
    offers = catalog_machines(opened.catalog, opened.rates())
    return [offer for offer in offers if isinstance(offer, Machine)][::EVERY]


def prepared_on(space: Any, machines: list[Machine]) -> Iterator[Prepared]:
    for machine in machines:
        try:
            prepared = space.prepare(machine)
        except (InputError, MissingFactError):
            continue
        if prepared is not None:
            yield prepared


def amounts(computed: Computed) -> Iterator[tuple[str, Any]]:
    for check in computed.checks:
        yield f"{check.broken} value", check.value
        yield f"{check.broken} limit", check.limit
    yield "nodes", computed.nodes
    if computed.job_s is not None:
        yield "job_s", computed.job_s


def told(candidate: Candidate) -> dict[str, float]:
    return {**candidate.metrics, "free": candidate.free_bytes}


@pytest.mark.parametrize("name", PRESETS)
def test_a_machine_in_a_block_comes_to_what_it_comes_to_alone(
    name: str, opened: Workspace, machines: list[Machine]
) -> None:
    plan = opened.presets[name]
    space = KINDS[plan.workload.kind].space(plan, opened.subject(plan.workload), opened.efficiencies)
    block = sorted(prepared_on(space, machines), key=lambda prepared: prepared.kin)
    assert len(block) > ENOUGH
    for prepared, beside in zip(block, space.compute(block), strict=True):
        (alone,) = space.compute([prepared])
        for (what, one), (_, other) in zip(amounts(beside), amounts(alone), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=0.0, err_msg=what)
        if beside.results is None:
            assert alone.results is None
            continue
        for place in {0, len(beside.nodes) // 2, len(beside.nodes) - 1} if len(beside.nodes) else ():
            one, other = (space.candidate(prepared.machine, each, place) for each in (beside, alone))
            assert told(one) == pytest.approx(told(other), rel=1e-12)
            assert (one.fit, one.way) == (other.fit, other.way)
