"""The verdict as the window marks it: software that does not run is never "fits", whatever its memory."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from PySide6.QtGui import QPalette

from gpuplanner.engine.estimate import Change, Fit, Goal, Outcome
from gpuplanner.messages import msg
from gpuplanner.ui.plan_place.results.changes_card import ChangeRow
from gpuplanner.ui.plan_place.results.figure_flow import FigureFlow
from gpuplanner.ui.plan_place.results.memory_card import MemoryCard
from gpuplanner.ui.plan_place.results.verdict_card import VerdictCard
from gpuplanner.ui.plan_place.results.verdict_line import VerdictLine
from gpuplanner.ui.plan_place.verdicts import verdict_of
from gpuplanner.ui.tokens import MARKS, Verdict
from gpuplanner.ui.widgets.clickable import Clickable
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.verdict_tag import VerdictTag
from gpuplanner.workload.plan import MachineChoice

REFUSAL = msg("limits.support.format", software="vLLM", precision="EXL2-4.0", source="")
DOUBT = msg("limits.support.no_vendor", software="LMDeploy", gpu="MI300X")


@pytest.mark.parametrize("outcome", Outcome)
def test_only_what_fits_and_keeps_its_goals_is_marked_as_a_pass(outcome):
    mark, word = verdict_of(outcome)
    assert (mark is Verdict.PASS) == (outcome is Outcome.FITS)
    assert (mark in {Verdict.PASS, Verdict.WARN}) == outcome.carries
    assert (mark is Verdict.UNKNOWN) == (outcome is Outcome.UNKNOWN)
    assert word.id == f"fit.{outcome.name.lower()}"


def inks(card: VerdictCard, word: str) -> list[QPalette.ColorRole]:
    """The colours of the sentences with a word in them."""
    return [label.foregroundRole() for label in card.findChildren(Label) if word in label.text()]


def test_the_card_says_that_it_does_not_run_and_marks_a_doubt_as_none(appearance, workspace, qtbot):
    plan = workspace.presets["chat-8b"]
    plan = plan.model_copy(update={"machine": MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=1, per_node=1)})
    made = replace(workspace.estimate(plan), fit=Fit.FITS)
    card = VerdictCard(appearance)
    qtbot.addWidget(card)
    tag = card.findChild(VerdictTag)
    assert isinstance(tag, VerdictTag)
    card.show_estimate(replace(made, unmet=(REFUSAL,)), found=False)
    assert "Does not run" in tag.accessibleName()
    assert inks(card, "EXL2") == [Ink.FAIL.value]
    card.show_estimate(replace(made, unmet=(DOUBT,)), found=False)
    assert "Does not run" not in tag.accessibleName()
    assert inks(card, "LMDeploy") == [Ink.TEXT.value]


def test_the_card_says_that_a_goal_is_missed_may_be_missed_or_cannot_be_told(appearance, workspace, qtbot):
    plan = workspace.presets["chat-8b"]
    plan = plan.model_copy(update={"machine": MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=1, per_node=1)})
    made = replace(workspace.estimate(plan), fit=Fit.FITS, goals=(), unmet=())
    token = made.metrics["tpot_s"]
    near = Goal("tpot", "tpot_s", (token.value + token.high) / 2, token.unit)
    card = VerdictCard(appearance)
    qtbot.addWidget(card)
    tag = card.findChild(VerdictTag)
    assert isinstance(tag, VerdictTag)
    for said, word, other in (
        ("Misses the goal", "1 ms", replace(made, unmet=(msg("serving.missed.tpot_s", value="12 ms", goal="1 ms"),))),
        ("Cannot tell", "30 d", replace(made, unmet=(msg("training.deadline_unknown", deadline="30 d"),))),
        ("May miss the goal", "the range", replace(made, goals=(near,))),
    ):
        card.show_estimate(other, found=False)
        assert said in tag.accessibleName()
        assert inks(card, word)


def test_the_line_says_the_whole_verdict_however_long_the_reason_is(appearance, workspace, qtbot):
    plan = workspace.presets["chat-8b"]
    plan = plan.model_copy(update={"machine": MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=512, per_node=8)})
    long = msg(
        "serving.missed.tpot_s", value="12 ms, which is a long time", goal="1 ms, which is shorter than all others"
    )
    line = VerdictLine(appearance)
    qtbot.addWidget(line)
    line.resize(420, line.height())
    for unmet in ((long,), ()):
        line.show_estimate(replace(workspace.estimate(plan), fit=Fit.FITS, unmet=unmet))
        line.show()
        qtbot.waitUntil(lambda: line.tag.width() >= line.tag.sizeHint().width())


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.DOES_NOT_FIT])
def test_a_change_is_marked_by_what_it_leads_to_and_not_by_a_colour_alone(appearance, workspace, qtbot, outcome):
    row = ChangeRow(appearance)
    qtbot.addWidget(row)
    row.show_change(Change(msg("planui.machine"), workspace.presets["chat-8b"], Fit.FITS, 1e9, outcome=outcome))
    assert row.mark() == MARKS[verdict_of(outcome)[0]]
    assert (row.mark() == "✓") == (outcome is Outcome.FITS)


@pytest.mark.parametrize(("fit", "said"), [(Fit.FITS, "Free"), (Fit.DOES_NOT_FIT, "Left, not usable")])
def test_memory_that_helps_nobody_is_not_called_free(appearance, workspace, qtbot, fit, said):
    plan = workspace.presets["chat-8b"]
    plan = plan.model_copy(update={"machine": MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=8, per_node=8)})
    card = MemoryCard(appearance)
    qtbot.addWidget(card)
    card.show_estimate(replace(workspace.estimate(plan), fit=fit))
    left = next(key.text() for key in card.bar.findChildren(Clickable) if key.text().startswith(("Free", "Left")))
    assert left.startswith(said)


@pytest.mark.parametrize(
    ("date", "said"), [("", "date not stated"), ("2023-06-05", "years old"), (datetime.now(UTC).date().isoformat(), "")]
)
def test_the_card_says_that_its_price_is_old(appearance, workspace, qtbot, date, said):
    machine = workspace.machine(MachineChoice(instance_id="aws/p4d.24xlarge"))
    priced = replace(machine, price=replace(machine.price, date=date))
    card = VerdictCard(appearance)
    qtbot.addWidget(card)
    plan = workspace.presets["chat-8b"].model_copy(update={"machine": MachineChoice(instance_id="aws/p4d.24xlarge")})
    card.show_estimate(replace(workspace.estimate(plan), machine=priced), found=False)
    flow = card.findChild(FigureFlow)
    assert isinstance(flow, FigureFlow)
    ages = [link.value_text() for link in flow.links() if "Price" in link.accessibleName()]
    assert [said in age for age in ages] == ([True] if said else [])
