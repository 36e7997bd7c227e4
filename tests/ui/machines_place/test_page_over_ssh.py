"""The page over a real SSH server: logins asked as cards, Stop, two machines at once, a network that breaks, keys."""

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from gpuplanner.probe.recording import written
from gpuplanner.probe.transports.askpass import Asked, Question
from gpuplanner.ui.machines_place.errands import Ways
from gpuplanner.ui.machines_place.machine_list import state_of
from gpuplanner.ui.machines_place.page import MachinesPage
from gpuplanner.ui.machines_place.place import machines_place
from gpuplanner.ui.places import Location, Place
from gpuplanner.workspace import Workspace
from tests.probe import sshd
from tests.probe.native_libraries import SOURCES, compiler
from tests.probe.sshd import PASSWORD, Keys, Server
from tests.ui.checks import Flashes
from tests.ui.gallery import gallery_places

CODE = "424242"
NAP = f"6{os.getpid()}.7"
"""Seconds that the slow tool sleeps: as no other program does, nor the same test in another process."""


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    sshd.needed()
    return Keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """One quick tool, and one that hangs."""
    folder = tmp_path_factory.mktemp("tools")
    for name, says in {"nvidia-smi": "echo 'GPU 0: NVIDIA L40S (UUID: GPU-0)'", "lspci": f"exec sleep {NAP}"}.items():
        (folder / name).write_text(f"#!/bin/sh\n{says}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def quick_tools(tools, tmp_path_factory):
    folder = tmp_path_factory.mktemp("quick")
    shutil.copy(tools / "nvidia-smi", folder / "nvidia-smi")
    return folder


@pytest.fixture(scope="module")
def hanging(keys, tools, tmp_path_factory):
    made = Server(tmp_path_factory.mktemp("server") / "s", keys, tools=tools).start()
    yield made
    made.stop()


@pytest.fixture
def opened(open_session, tmp_path):
    """The page over a configuration of SSH."""
    workspace = Workspace(tmp_path / "home")
    shown: list[Any] = []

    def open_over(extra: tuple[str, ...]) -> MachinesPage:
        place = machines_place()
        there = Place(place.id, place.icon, place.title, lambda context: MachinesPage(context, Ways(extra)))
        shown.append(open_session((there,), workspace))
        page = shown[0].window.current_page()
        assert isinstance(page, MachinesPage)
        return page

    yield open_over
    for session in shown:
        session.window.close()
    workspace.store.close()


def add(page: MachinesPage, name: str) -> None:
    page.host.set_value(name)
    page.host.box.edit.returnPressed.emit()


def ready(page: MachinesPage, qtbot, name: str) -> None:
    """Add a host and wait for the end of its connection test."""
    add(page, name)
    session = page.presenter.current
    qtbot.waitUntil(lambda: not session.busy, timeout=15000)
    assert not session.unreachable, session.problem


def sleepers() -> list[int]:
    """Processes of the tool that hangs."""
    found = []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = command.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", NAP.encode()]:
            found.append(int(command.parent.name))
    return found


def ended(page: MachinesPage) -> int:
    return sum(state.result is not None for state in page.presenter.current.commands)


def test_a_password_and_a_one_time_code_are_asked_as_cards(keys, quick_tools, opened, qtbot, tmp_path):
    if not sshd.namespace_possible():
        pytest.skip("a login that asks for a code needs root and a mount namespace")
    module = tmp_path / "pam_code.so"
    subprocess.run([compiler(), "-shared", "-fPIC", "-o", str(module), str(SOURCES / "pam_code.c")], check=True)
    module.chmod(0o755)
    server = Server(
        tmp_path / "server", keys, {"KbdInteractiveAuthentication": "yes", "PasswordAuthentication": "no"},
        tools=quick_tools, pam=f"auth required {module} {PASSWORD} {CODE}",
    ).start()  # fmt: skip
    try:
        page = opened(server.client(IdentityFile="none", PreferredAuthentications="keyboard-interactive"))
        add(page, "node")
        for kind, answer in ((Asked.PASSWORD, PASSWORD), (Asked.CODE, CODE)):
            qtbot.waitUntil(
                lambda kind=kind: [_kind(each.pending.question) for each in page.questions] == [kind], timeout=15000
            )
            (card,) = page.questions
            assert card.box is not None
            assert card.box.edit.echoMode() is card.box.edit.EchoMode.Password
            card.box.edit.setText(answer)
            card.box.edit.returnPressed.emit()
        session = page.presenter.current
        qtbot.waitUntil(lambda: not session.busy, timeout=15000)
        assert not session.unreachable, session.problem
        assert page.questions == []
        page.run()
        # Over the connection that is kept: nobody is asked again.
        qtbot.waitUntil(lambda: session.shown.acceptance is not None or bool(page.questions), timeout=20000)
        assert page.questions == []
        assert session.shown.acceptance is not None
        # The run is kept, and nothing of what was typed is: neither in the files nor in the recording.
        assert session.shown.run_id is not None
        files = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
        kept = [path.read_bytes() for path in files] + [written(page.presenter.history.read(1)).encode()]
        assert len(kept) >= 2
        assert not [secret for secret in (PASSWORD, CODE) for content in kept if secret.encode() in content]
    finally:
        server.stop()


def _kind(question: Any) -> Asked | None:
    return question.kind if isinstance(question, Question) else None


def test_stop_ends_what_runs_there_within_two_seconds_and_keeps_what_came(hanging, opened, qtbot):
    page = opened(hanging.client())
    ready(page, qtbot, "node")
    page.run()
    session = page.presenter.current
    qtbot.waitUntil(lambda: bool(sleepers()) and ended(page) > 0, timeout=20000)
    began = time.monotonic()
    page.running.stop.click()
    qtbot.waitUntil(lambda: not session.busy and not sleepers(), timeout=2000)
    assert time.monotonic() - began < 2
    qtbot.waitUntil(lambda: session.shown.acceptance is not None, timeout=10000)
    assert session.run is not None
    assert not session.run.whole
    assert any(result.id == "nvidia_smi_list" or b"L40S" in result.out for result in session.run.results)


def test_a_run_that_begins_before_the_end_of_the_test_was_heard_is_not_forgotten(hanging, opened, qtbot):
    page = opened(hanging.client())
    add(page, "node")
    session = page.presenter.current
    probe = session._probe
    assert probe is not None
    while probe.outcome is None:  # Without a turn of this thread's event loop nobody hears of it.
        time.sleep(0.01)
    page.run()
    assert session.tiers == ()
    qtbot.waitUntil(lambda: not session.busy, timeout=5000)
    page.run()
    qtbot.waitUntil(lambda: bool(sleepers()), timeout=20000)
    assert session.busy
    page.running.stop.click()
    qtbot.waitUntil(lambda: not session.busy and not sleepers(), timeout=2000)


def test_a_network_that_breaks_keeps_what_came_and_says_so(keys, tools, opened, qtbot, tmp_path):
    # A server of its own: some keep whoever was cut off from coming back for a while.
    server = Server(tmp_path / "server", keys, tools=tools).start()
    page = opened(server.client())
    ready(page, qtbot, "node")
    page.run()
    session = page.presenter.current
    qtbot.waitUntil(lambda: bool(sleepers()) and ended(page) > 3, timeout=20000)
    server.end_sessions()
    try:
        qtbot.waitUntil(lambda: session.shown.acceptance is not None, timeout=10000)
        assert page.problem.isVisible()
        assert session.problem is not None
        assert page.checks.table.rows.total > 5
        assert page.views.current() == "checks"
        qtbot.waitUntil(lambda: not sleepers(), timeout=2000)
    finally:
        server.stop()


@pytest.fixture
def other(keys, quick_tools, tmp_path):
    made = Server(tmp_path / "other", keys, tools=quick_tools).start()
    yield made
    made.stop()


def test_a_question_of_one_machine_while_another_one_runs(hanging, other, opened, qtbot, tmp_path):
    client = hanging.client()
    unknown = other.client("other", StrictHostKeyChecking="ask", UserKnownHostsFile=str(tmp_path / "none"))
    both = tmp_path / "config"
    both.write_text("".join(Path(each[1]).read_text(encoding="utf-8") for each in (client, unknown)), encoding="utf-8")
    page = opened(("-F", str(both)))
    ready(page, qtbot, "node")
    page.run()
    busy = page.presenter.current
    qtbot.waitUntil(lambda: bool(sleepers()), timeout=20000)
    add(page, "other")
    asking = page.presenter.current
    qtbot.waitUntil(lambda: len(page.questions) == 1, timeout=15000)
    assert asking is not busy
    assert busy.busy
    # The question belongs to its machine; the list says that it waits while another one is in sight.
    page._choose(page.presenter.sessions.index(busy))
    assert page.questions == []
    assert state_of(asking)[1].id == "machinesui.state.asks"
    page._choose(page.presenter.sessions.index(asking))
    page.questions[0].yes.click()
    qtbot.waitUntil(lambda: not asking.busy, timeout=15000)
    assert not asking.unreachable, asking.problem
    assert busy.busy
    page._choose(page.presenter.sessions.index(busy))
    page.running.stop.click()
    qtbot.waitUntil(lambda: not busy.busy and not sleepers(), timeout=2000)


def test_a_question_is_told_while_another_place_is_in_sight(other, open_session, qtbot, tmp_path):
    extra = other.client("other", StrictHostKeyChecking="ask", UserKnownHostsFile=str(tmp_path / "none"))
    workspace = Workspace(tmp_path / "home")
    place = machines_place()
    there = Place(place.id, place.icon, place.title, lambda context: MachinesPage(context, Ways(extra)))
    session = open_session((there, gallery_places()[0]), workspace)
    try:
        page = session.window.current_page()
        add(page, "other")
        session.window.go(Location(gallery_places()[0].id, ""))
        qtbot.waitUntil(lambda: len(page.questions) == 1, timeout=15000)
        notice = session.notices.kept[-1]
        assert "other" in session.appearance.text(notice.message)
        notice.action.run()
        assert session.window.current_page() is page
        assert page.questions[0].isVisible()
        assert len([each for each in session.notices.kept if each.message == notice.message]) == 1
        page.questions[0].no.click()
        qtbot.waitUntil(lambda: not page.presenter.current.busy, timeout=15000)
        assert page.presenter.current.unreachable
    finally:
        session.window.close()
        workspace.store.close()


def test_the_live_card_asks_in_the_page(keys, quick_tools, opened, qtbot, tmp_path):
    server = Server(tmp_path / "server", keys, tools=quick_tools).start()
    try:
        page = opened(server.client(StrictHostKeyChecking="ask", UserKnownHostsFile=str(tmp_path / "none")))
        add(page, "node")
        session = page.presenter.current
        page.presenter.current.stop()
        qtbot.waitUntil(lambda: not session.busy, timeout=5000)
        page.live.start.click()
        qtbot.waitUntil(lambda: len(page.questions) == 1, timeout=15000)
        page.questions[0].yes.click()
        qtbot.waitUntil(lambda: not page.live.watching.is_empty, timeout=15000)
        assert page.questions == []
        page.live.start.click()
        assert not page.live.watching.running
    finally:
        server.stop()


def test_from_a_host_to_the_raw_output_by_keyboard_alone(keys, quick_tools, opened, qtbot, tmp_path, qapp):
    flashes = Flashes(qapp)
    server = Server(tmp_path / "server", keys, tools=quick_tools).start()
    try:
        page = opened(server.client(StrictHostKeyChecking="ask", UserKnownHostsFile=str(tmp_path / "none")))
        page.window().activateWindow()
        qtbot.waitUntil(page.window().isActiveWindow)
        page.list.rows[-1].setFocus()
        press(Qt.Key.Key_Tab)
        assert focused() is page.host.box.edit
        QTest.keyClicks(focused(), "node")
        press(Qt.Key.Key_Return)
        session = page.presenter.current
        qtbot.waitUntil(lambda: len(page.questions) == 1, timeout=15000)
        # The keyboard stands on refusing: who accepts goes one step back.
        qtbot.waitUntil(page.questions[0].no.hasFocus)
        press(Qt.Key.Key_Backtab)
        assert focused() is page.questions[0].yes
        press(Qt.Key.Key_Space)
        qtbot.waitUntil(lambda: not session.busy, timeout=15000)
        press(Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
        qtbot.waitUntil(lambda: session.shown.acceptance is not None, timeout=20000)
        tab_to(page.checks.table)
        press(Qt.Key.Key_Down)
        while not page.checks.evidence:
            press(Qt.Key.Key_Down)
        qtbot.waitUntil(page.checks.evidence[0].isVisible)
        press(Qt.Key.Key_Tab)
        assert focused() is page.checks.evidence[0]
        press(Qt.Key.Key_Return)
        assert page.views.current() == "raw"
        assert page.raw.text.hasFocus()
        assert page.raw.text.textCursor().selectedText() != ""
        # A window that flashes up takes the keyboard away.
        assert flashes.stop() == []
    finally:
        flashes.stop()
        server.stop()


def focused() -> QWidget:
    widget = QApplication.focusWidget()
    assert widget is not None, "the keyboard is nowhere"
    return widget


def press(key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    QTest.keyClick(focused(), key, modifier)


def tab_to(widget: QWidget) -> None:
    for _ in range(60):
        if focused() is widget:
            return
        press(Qt.Key.Key_Tab)
    raise AssertionError(f"Tab does not reach {widget}")
