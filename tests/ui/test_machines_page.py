"""The Machines place: a host is added and its questions are answered in the page; what a run brings is checked."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QWidget

from gpuplanner.ui.machines_place.checks_view import LOOKS
from gpuplanner.ui.machines_place.errands import Ways
from gpuplanner.ui.machines_place.page import MachinesPage
from gpuplanner.ui.machines_place.place import machines_place
from gpuplanner.ui.places import Place
from gpuplanner.workspace import Workspace
from tests.probe import sshd
from tests.probe.sshd import Keys, Server
from tests.ui.checks import clipped, missing_glyphs, nameless, where
from tests.ui.screenshots import each_look


@pytest.fixture
def workspace(tmp_path):
    made = Workspace(tmp_path / "home")
    yield made
    made.store.close()


def opened(open_session, workspace, ways=None):
    place = machines_place()
    shown = Place(place.id, place.icon, place.title, lambda context: MachinesPage(context, ways))
    return open_session((shown,), workspace)


def test_a_host_is_added_asked_about_run_and_checked(open_session, workspace, qtbot, tmp_path):
    sshd.needed()
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "nvidia-smi").write_text("#!/bin/sh\necho 'GPU 0: NVIDIA L40S (UUID: GPU-0)'\n", encoding="utf-8")
    (tools / "nvidia-smi").chmod(0o755)
    server = Server(tmp_path / "server", Keys(tmp_path), tools=tools).start()
    known = tmp_path / "none"
    extra = server.client(StrictHostKeyChecking="ask", UserKnownHostsFile=str(known))
    session = opened(open_session, workspace, Ways(extra))
    page = session.window.current_page()
    try:
        page.host.set_value("node")
        page.host.box.edit.returnPressed.emit()
        qtbot.waitUntil(lambda: len(page.questions) == 1, timeout=15000)
        assert "SHA256:" in page.questions[0].says.text()
        page.questions[0].yes.click()
        machine = page.presenter.current
        qtbot.waitUntil(lambda: not machine.busy, timeout=15000)
        assert not machine.unreachable, machine.problem
        page.run()
        qtbot.waitUntil(lambda: machine.shown.acceptance is not None, timeout=30000)
        assert page.checks.table.rows.total == len(machine.shown.acceptance.results) > 10
        assert page.views.current() == "checks"
    finally:
        session.window.close()
        server.stop()


def test_it_reads_well_in_every_look_and_a_check_opens_and_closes(open_session, workspace, qtbot, tmp_path):
    session = opened(open_session, workspace)
    page = session.window.current_page()
    saved = tmp_path / "smi.txt"
    saved.write_text("GPU 0: NVIDIA L40S (UUID: GPU-0)\nGPU 1: NVIDIA L40S (UUID: GPU-1)\n", encoding="utf-8")
    assert page.dropped([str(saved)])
    qtbot.waitUntil(lambda: page.presenter.current.shown.acceptance is not None, timeout=15000)
    result = page.presenter.current.shown.acceptance.results[0]
    page.checks.table.choose(result.id)
    assert page.checks.detail.isVisible()
    for look in each_look(session.appearance):
        for complaints in (clipped(session.window), missing_glyphs(session.window), nameless(session.window)):
            assert complaints == [], look
    assert page.list.rows[0]._name == session.appearance.text("machinesui.kind.here")
    session.window.resize(1100, 700)
    qtbot.wait(50)
    assert page.checks.table.horizontalScrollBar().maximum() == 0
    assert page.leave()
    assert not page.checks.detail.isVisible()
    tag = page.checks.tags[result.judgement.verdict]
    tag.click()
    assert all(page.checks.table.rows.row(at).cells[3] is tag.judged for at in range(page.checks.table.rows.total))
    assert set(LOOKS) == set(page.checks.tags)


def test_the_column_of_cards_is_there_for_what_can_be_watched_only(open_session, workspace, qtbot, tmp_path):
    session = opened(open_session, workspace)
    page = session.window.current_page()
    assert not page.beside.isHidden()
    file = tmp_path / "list.txt"
    file.write_text("GPU 0: NVIDIA L40S (UUID: GPU-0)\n", encoding="utf-8")
    page.dropped([str(file)])
    qtbot.waitUntil(lambda: page.presenter.current.shown.acceptance is not None, timeout=15000)
    assert page.beside.isHidden()
    # Nothing can be run in a file.
    assert page._to_run.isHidden()
    assert "run" not in {action.id for action in page.heading().actions}
    page._choose(0)
    assert not page._to_run.isHidden()
    assert "run" in {action.id for action in page.heading().actions}
    assert not page.beside.isHidden()


def test_what_a_machine_printed_is_nowhere_html(open_session, workspace, qtbot, tmp_path):
    hostile = "<b>NVIDIA</b> <img src='file:///x.png'> H100 80GB\u202e"
    file = tmp_path / "<i>smi<b>.txt"
    file.write_text(
        "".join(f"GPU {at}: {hostile} (UUID: GPU-{at})\n" for at in range(2))
        + f"[1000.000000] NVRM: Xid (PCI:0000:c1:00): 79, pid=100, name={hostile}, GPU has fallen off the bus.\n",
        encoding="utf-8",
    )
    session = opened(open_session, workspace)
    page = session.window.current_page()
    assert page.dropped([str(file)])
    qtbot.waitUntil(lambda: page.presenter.current.shown.acceptance is not None, timeout=15000)
    qtbot.waitUntil(lambda: bool(page.cause.findings))
    shown = [each for each in page.presenter.current.shown.acceptance.results if each.judgement.lines]
    assert shown
    for result in shown[:6]:
        page.checks.table.choose(result.id)
        page.cause.findings[0].set_open(is_open=True)
        for widget in session.window.findChildren(QWidget):
            assert not (isinstance(widget, QLabel) and widget.textFormat() is not Qt.TextFormat.PlainText), where(
                widget
            )
            for tag in ("<b>", "<img", "<i>"):
                assert tag not in widget.toolTip(), where(widget)
