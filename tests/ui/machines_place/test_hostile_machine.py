"""A machine whose every name is hostile, in the page: what is copied and saved of it obeys nobody."""

import csv
import io

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel

from gpuplanner.probe.recording import written
from gpuplanner.ui.machines_place.page import MachinesPage
from gpuplanner.ui.machines_place.place import machines_place
from gpuplanner.ui.places import Place
from gpuplanner.ui.table.copying import CopyFormat
from gpuplanner.ui.table.view import DataTable
from gpuplanner.workspace import Workspace
from tests.probe.hostile import hostile_run, wicked_in
from tests.ui.resting import rest

LAID_OUT = "\n\u200b\u2060"
"""Where labels of ours may break, and where they may not."""
VIEWS = ("checks", "run", "raw", "difference")


@pytest.fixture
def page(open_session, tmp_path, qtbot):
    workspace = Workspace(tmp_path / "home")
    place = machines_place()
    session = open_session((Place(place.id, place.icon, place.title, MachinesPage),), workspace)
    rest(session, qtbot)
    path = tmp_path / "=cmd.gpurun"
    path.write_text(written(hostile_run()), encoding="utf-8")
    page = session.window.current_page()
    page.dropped([str(path)])
    qtbot.waitUntil(lambda: page.presenter.current.shown.acceptance is not None, timeout=15000)
    yield page
    session.window.close()
    workspace.store.close()


def test_nothing_of_it_that_is_copied_speaks_to_a_terminal_or_a_spreadsheet(page, qtbot):
    seen = 0
    for view in VIEWS:
        page.views.choose(view)
        page._go(view)
        qtbot.wait(1)
        for table in page.findChildren(DataTable):
            for format_ in CopyFormat:
                table.selectAll()
                table.copy_rows(format_)
                text = QGuiApplication.clipboard().text()
                assert wicked_in(text, "\n\t") == [], (view, format_)
                delimiter = {CopyFormat.TSV: "\t", CopyFormat.CSV: ","}.get(format_)
                if delimiter is not None:
                    cells = [cell for row in csv.reader(io.StringIO(text), delimiter=delimiter) for cell in row]
                    seen += len(cells)
                    assert [cell for cell in cells if cell[:1] in {"=", "@"}] == []
    assert seen > 100


def test_the_clipboard_and_every_label_of_it_are_plain_text(page, qtbot):
    for view in VIEWS:
        page.views.choose(view)
        page._go(view)
        qtbot.wait(1)
        assert [label.text() for label in page.findChildren(QLabel) if wicked_in(label.text(), LAID_OUT)] == []
    for button in (page.raw.copy,):
        button.click()
        assert wicked_in(QGuiApplication.clipboard().text()) == []
    page.running._copy()
    assert wicked_in(QGuiApplication.clipboard().text()) == []
