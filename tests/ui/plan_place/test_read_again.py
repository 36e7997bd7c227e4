"""Reading one's own files again makes the pages anew: what could be undone of the plan still can be."""

import pytest

from gpuplanner.messages import msg
from gpuplanner.ui.places import Location
from gpuplanner.ui.plan_place.page import plan_place
from gpuplanner.workload.plan import MachineChoice
from gpuplanner.workspace import Workspace

H100 = MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=1, per_node=1)


@pytest.fixture
def session(open_session, qtbot, tmp_path):
    workspace = Workspace(tmp_path / "home")
    opened = open_session(places=(plan_place(),), workspace=workspace)
    opened.begin()
    qtbot.waitUntil(lambda: opened._begun, timeout=20_000)
    opened.window.go(Location("plan", "preset/chat-8b"))
    yield opened
    opened.window.close()
    workspace.store.close()


def read_again(session, qtbot):
    before = session.window.page("plan")
    session.read_again()
    qtbot.waitUntil(lambda: session.window.page("plan") is not before, timeout=20_000)
    return session.window.page("plan").presenter


def test_undo_and_redo_go_on(session, qtbot):
    presenter = session.window.page("plan").presenter
    presenter.document.set_machine(H100)
    presenter.document.set_name("Mine")
    presenter.document.undo()
    qtbot.waitUntil(lambda: presenter.autosave.clean, timeout=10_000)
    plan = presenter.plan

    renewed = read_again(session, qtbot)
    assert renewed is not presenter
    assert renewed.plan.workload == plan.workload
    assert (renewed.plan.machine, renewed.plan.name) == (plan.machine, plan.name)
    assert renewed.document.redo_name == msg("planui.name")
    renewed.document.undo()
    assert renewed.plan.machine is None
    renewed.document.redo()
    assert renewed.plan.machine == H100


def test_what_is_of_another_plan_is_not_taken_over(session, qtbot):
    presenter = session.window.page("plan").presenter
    presenter.document.set_machine(H100)
    carried = presenter.carried()
    presenter.open_preset("chat-70b")
    presenter.carry_on(carried)
    assert presenter.document.undo_name is None
