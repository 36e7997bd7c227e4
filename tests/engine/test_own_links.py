"""What measured links make of estimates on their machine."""

from dataclasses import replace

import pytest

from gpuplanner.engine.estimate import Limit
from gpuplanner.engine.explaining import explanation
from gpuplanner.engine.own_links import PASSED_OVER, OwnLink
from gpuplanner.engine.own_measurements import site_of
from gpuplanner.messages import InputError
from gpuplanner.store.own_measurements import keep_own, read_own
from gpuplanner.units import GIB
from gpuplanner.workload.plan import MachineChoice
from gpuplanner.workspace import Workspace

EIGHT = MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=8)


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path)


@pytest.fixture
def plan(workspace):
    workload = {**workspace.presets["chat-70b"].workload.model_dump(), "tensor_parallel": 8}
    kept = workspace.presets["chat-70b"].model_dump()
    return type(workspace.presets["chat-70b"]).model_validate({**kept, "workload": workload, "machine": EIGHT})


@pytest.fixture
def link(workspace):
    site = site_of(workspace.machine(EIGHT))
    return OwnLink("0123abcd", "nccl.txt", "2026-05-01", site, 330e9, 8e9, 8.0)


def measured(workspace, link):
    home = workspace.home / "measured"
    keep_own(home, link)
    assert read_own(home) == ((link,), ())
    return Workspace(home)


def seconds(made, limit):
    return sum(part.figure.value for part in made.time if part.limit is limit)


def test_slow_links_take_longer_and_nothing_else_does(workspace, plan, link):
    factor = link.factor(workspace.machine(EIGHT), workspace.efficiencies)
    assert factor > 1.1
    before, after = workspace.estimate(plan), measured(workspace, link).estimate(plan)
    assert seconds(after, Limit.LINK) == pytest.approx(factor * seconds(before, Limit.LINK))
    assert seconds(after, Limit.HBM) == pytest.approx(seconds(before, Limit.HBM))
    more = sum(p.figure.value for p in after.time) / sum(p.figure.value for p in before.time)
    assert after.metrics["tpot_s"].value == pytest.approx(before.metrics["tpot_s"].value * more)
    assert any(remark.id == "own.link.applied" for remark in after.remarks)


def test_the_explanation_names_the_table(workspace, plan, link):
    made = measured(workspace, link).explained(plan)
    factor = next(row for row in explanation(made.metrics["tpot_s"]) if row.term == "own_factor")
    assert factor.source == "nccl.txt"


def test_another_machine_is_left_alone(workspace, plan, link):
    other = plan.model_copy(update={"machine": EIGHT.model_copy(update={"gpus": 16})})
    assert measured(workspace, link).estimate(other) == workspace.estimate(other)


def test_links_as_they_are_estimated_change_nothing(workspace, plan, link):
    factor = link.factor(workspace.machine(EIGHT), workspace.efficiencies)
    same = replace(link, bus_bytes_per_s=link.bus_bytes_per_s * factor)
    after = measured(workspace, same).estimate(plan)
    assert after.metrics["tpot_s"].value == pytest.approx(workspace.estimate(plan).metrics["tpot_s"].value)


def test_what_cannot_be_of_this_machine_is_refused(workspace, link):
    machine = workspace.machine(EIGHT)
    with pytest.raises(InputError) as far:
        replace(link, bus_bytes_per_s=1e9).factor(machine, workspace.efficiencies)
    assert far.value.message.id == "own.link.too_far"
    with pytest.raises(InputError):
        replace(link, ranks=1.0).factor(machine, workspace.efficiencies)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"bus_bytes_per_s": 1.0}, "own.link.too_far"),
        ({"bus_bytes_per_s": 5e-324}, "own.link.too_far"),
        ({"message_bytes": 1e308}, "own.link.message_too_large"),
        ({"message_bytes": 81 * GIB}, "own.link.message_too_large"),
        ({"message_bytes": 5e-324}, "own.link.too_far"),
    ],
)
def test_what_was_edited_since_it_was_kept_is_passed_over_for_the_one_before(workspace, plan, link, changed, why):
    own = measured(workspace, replace(link, **changed))
    made = own.estimate(plan)
    assert made.own is None
    assert [remark.values["why"].id for remark in made.remarks if remark.id == PASSED_OVER] == [why]
    assert replace(made, remarks=()) == replace(workspace.estimate(plan), remarks=())
    keep_own(own.home, replace(link, id="89abcdef", date="2026-01-01"))
    assert Workspace(own.home).estimate(plan).own is not None
