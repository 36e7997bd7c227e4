"""What runs on a machine, in the page: states of commands, and what they printed."""


def test_a_command_of_the_run_opens_what_it_printed_and_without_a_run_nothing_is_queued(session, qtbot):
    page = session.window.current_page()
    machine = page.presenter.current
    states = [page.running.table.rows.row(at).cells[1] for at in range(page.running.table.rows.total)]
    assert set(states) == {None}
    page.run()
    assert all(page.running.table.rows.row(at).cells[1] is not None for at in range(page.running.table.rows.total))
    qtbot.waitUntil(lambda: machine.shown.acceptance is not None, timeout=15000)
    page.views.choose("run")
    page._go("run")
    page.running.table.rowOpened.emit("smi.topo")
    assert page.views.current() == "raw"
    assert page.raw.choice.current() == "nvidia-smi topo -m"
    assert "GPU0" in page.raw.text.toPlainText()
