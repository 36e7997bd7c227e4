"""Installed tools in the page: looked for, shown, asked for, run; and the Run note says what would run."""

import os

import pytest

from gpuplanner.messages import Language, Translator
from gpuplanner.probe.measuring import step_name
from gpuplanner.probe.there.measure import WITH_GPUS, WITHOUT_GPUS
from gpuplanner.ui.machines_place.asking import Busy, ToolsFound
from gpuplanner.ui.machines_place.errands import Tier
from gpuplanner.ui.machines_place.place import machines_place
from gpuplanner.workspace import Workspace
from tests.ui.checks import clipped, missing_glyphs
from tests.ui.screenshots import each_look


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """Installs a tool that is a script on this machine, on which nothing else of the kind is."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))

    def put(name, body):
        (folder / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
        return folder / name

    return put


@pytest.fixture
def shown(open_session, tmp_path):
    """The page of this machine, and the session it is in."""
    workspace = Workspace(tmp_path / "home")
    session = open_session((machines_place(),), workspace)
    page = session.window.current_page()
    for tier, check in page.tiers.items():
        check.setChecked(tier is Tier.C)
    yield page, session
    session.window.close()
    workspace.store.close()


def waiting(page, kind):
    return lambda: bool(page.questions) and isinstance(page.questions[0].pending.question, kind)


def test_what_would_run_follows_what_is_ticked(shown):
    page, session = shown
    note = page.running.note
    assert note.text().startswith("Tools that are installed there")
    page.tiers[Tier.A].setChecked(True)
    page.tiers[Tier.B].setChecked(True)
    assert "commands that only read, then a measurement of up to 90 s, which loads the GPUs" in note.text()
    whole = note.text()
    page.tiers[Tier.B].setChecked(False)
    page.tiers[Tier.C].setChecked(False)
    assert note.text().endswith("that only read")
    page.tiers[Tier.A].setChecked(False)
    assert note.text() == "Choose what is to run"
    for tier in Tier:
        page.tiers[tier].setChecked(True)
    assert note.text() == whole
    for look in each_look(session.appearance):
        assert clipped(session.window) == [], look


def test_tools_are_shown_before_they_run_and_what_they_say_is_kept(shown, tool, qtbot, tmp_path):
    page, session = shown
    path = tool("dcgmi", f"echo ran >> {tmp_path}/ran; echo 'Successfully ran diagnostic for group.'; sleep 0.6")
    page.run()
    qtbot.waitUntil(waiting(page, ToolsFound), timeout=15000)
    card = page.questions[0]
    assert f"$ {path} diag -r 1" in card.says.text().replace("\u2060", "").replace("\u200b", "")
    assert not (tmp_path / "ran").exists()
    for look in each_look(session.appearance):
        assert (clipped(session.window), missing_glyphs(session.window)) == ([], []), look
    card.yes.click()
    # Nobody can say here whether somebody computes.
    qtbot.waitUntil(waiting(page, Busy), timeout=15000)
    assert not (tmp_path / "ran").exists()
    page.questions[0].yes.click()
    machine = page.presenter.current
    said = session.appearance.text("machinesui.run.measuring", what="X", share="Y", seconds="Z").partition("X")[0]
    qtbot.waitUntil(lambda: machine.measuring is not None, timeout=15000)
    assert page.running.note.text().startswith(f"{said}dcgm-1: Successfully ran diagnostic for group.")
    qtbot.waitUntil(lambda: not machine.busy, timeout=15000)
    assert [(result.id, result.exit_code) for result in machine.run.results] == [("installed.dcgm-1", 0)]
    assert machine.commands[0].result is machine.run.results[0]


def test_a_step_of_the_measurement_is_called_by_its_name():
    translator = Translator(Language.ENGLISH)
    for what in (*WITH_GPUS, *WITHOUT_GPUS):
        name = step_name(what)
        assert name is not None
        assert translator.text(name)
    assert step_name("\x1b[2J") is None


def test_nothing_runs_when_the_question_is_given_up(shown, tool, qtbot, tmp_path):
    page, _ = shown
    tool("dcgmi", f"echo ran >> {tmp_path}/ran")
    page.run()
    qtbot.waitUntil(waiting(page, ToolsFound), timeout=15000)
    page.questions[0].no.click()
    machine = page.presenter.current
    qtbot.waitUntil(lambda: not machine.busy, timeout=15000)
    assert not (tmp_path / "ran").exists()


def test_a_machine_without_tools_says_what_was_looked_for(shown, tool, qtbot):
    page, _ = shown
    page.run()
    machine = page.presenter.current
    qtbot.waitUntil(lambda: not machine.busy, timeout=15000)
    assert machine.problem is not None
    assert machine.problem.id == "machinesui.tools.none"
    assert not machine.unreachable
