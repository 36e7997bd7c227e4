"""The card of causes: the likeliest in full, the others as a line that opens; and what it says where there is none."""

import pytest
from PySide6.QtGui import QGuiApplication

from gpuplanner.acceptance.check import CheckRule, Judgement
from gpuplanner.acceptance.checking import Acceptance, CheckResult
from gpuplanner.acceptance.diagnosis.finding import Certainty, Finding
from gpuplanner.acceptance.promised import NOTHING
from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.machines.evidence import of_text
from gpuplanner.messages import msg
from gpuplanner.probe.evidence.record import Seen
from gpuplanner.ui.machines_place.cause.card import CauseCard
from gpuplanner.ui.machines_place.shown import Shown
from gpuplanner.ui.notices import Notices
from gpuplanner.ui.places import Context
from tests.ui.checks import clipped, missing_glyphs, nameless
from tests.ui.screenshots import each_look

LINE = "LnkSta:\tSpeed 16GT/s,   Width x8 (downgraded) <img src='x'>"


def finding(name: str, *, lines: int = 1, ask: bool = True) -> Finding:
    return Finding(
        id=name,
        cause=msg("check.text", text=f"GPU 5 sits on a ×8 link: {name}."),
        certainty=Certainty.SHOWN,
        lines=tuple(Seen(source="lspci", line=41 + at, text=LINE) for at in range(lines)),
        confirm=f"lspci -vv -s 9b:00.0 # {name}",
        fix=msg("check.text", text="Reseat the riser of slot 5."),
        ask=msg("check.text", text="Please replace the riser.") if ask else None,
        source="a source",
        explains=("pcie.width",),
    )


def acceptance(*failing: str) -> Acceptance:
    slow = Judgement(Verdict.FAIL, msg("check.text", text="slow"))
    results = [CheckResult(CheckRule(each, 1, "B", ""), slow) for each in failing]
    return Acceptance(NOTHING, tuple(results))


def shown(*findings: Finding, failing: tuple[str, ...] = ()) -> Shown:
    return Shown("node", "saved", of_text("GPU 0: NVIDIA L40S (UUID: GPU-0)", "pasted"), acceptance(*failing),
                 findings=findings)  # fmt: skip


@pytest.fixture
def card(qtbot, appearance, settings, jobs):
    made = CauseCard(Context(appearance, settings, jobs, Notices(), lambda _where: None, None))
    qtbot.addWidget(made)
    made.resize(460, 500)
    made.show()
    return made


def test_the_first_cause_is_open_and_the_others_open_by_a_click(card):
    card.show_machine(shown(finding("first", lines=6), finding("second", ask=False)))
    first, second = card.findings
    assert (first.is_open, second.is_open) == (True, False)
    assert "5" in first.says.text()
    assert card._appearance.text("check.name.pcie.width") in first.note.text()
    assert len(first.lines) == 4
    assert second.lines == []
    second.opener.click()
    assert second.is_open
    assert [line.text() for line in second.lines] == [""]
    second.opener.click()
    assert not second.is_open
    assert not card.none.isVisible()


def test_a_line_leads_to_the_raw_output_and_the_command_is_copied(card, qtbot):
    card.show_machine(shown(finding("first")))
    with qtbot.waitSignal(card.evidenceWanted) as wanted:
        card.findings[0].lines[0].click()
    assert wanted.args == ["lspci", 41]
    card.findings[0].confirm.copy.click()
    assert QGuiApplication.clipboard().text() == "lspci -vv -s 9b:00.0 # first"


def test_what_a_machine_printed_is_no_html_in_a_tooltip(card):
    card.show_machine(shown(finding("first")))
    tip = card.findings[0].lines[0].toolTip()
    assert "<img" not in tip
    assert "&lt;img" in tip


def test_without_a_cause_it_says_so_and_what_would_tell_of_a_rate_that_is_too_low(card):
    card.show_machine(Shown("node", "ssh"))
    assert card.isHidden()
    card.show_machine(shown())
    assert card.none.isVisible()
    assert card._telling.count() == 0
    card.show_machine(shown(failing=("flops", "pcie.width")))
    assert not card.none.isVisible()
    assert card._appearance.text("check.name.flops") in card.unexplained.text()
    assert card._appearance.text("check.name.pcie.width") not in card.unexplained.text()
    assert card._telling.count() > 1
    card.show_machine(shown(finding("first")))
    assert card._telling.count() == 0


def test_it_reads_well_in_every_look(card, appearance):
    card.show_machine(shown(finding("first", lines=6), finding("second"), failing=("flops",)))
    for look in each_look(appearance):
        for check in (clipped, missing_glyphs, nameless):
            assert check(card) == [], look
