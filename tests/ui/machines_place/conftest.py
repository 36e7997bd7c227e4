"""The Machines page over a recorded machine, in a window."""

import pytest

from gpuplanner.ui.machines_place.page import MachinesPage
from gpuplanner.ui.machines_place.place import machines_place
from gpuplanner.ui.places import Place
from gpuplanner.workspace import Workspace
from tests.ui.machines_place.recorded_machine import RecordedWays
from tests.ui.resting import rest


@pytest.fixture
def session(open_session, tmp_path, qtbot):
    workspace = Workspace(tmp_path / "home")
    place = machines_place()
    shown = Place(place.id, place.icon, place.title, lambda context: MachinesPage(context, RecordedWays()))
    session = open_session((shown,), workspace)
    rest(session, qtbot)
    yield session
    session.window.close()
    workspace.store.close()
