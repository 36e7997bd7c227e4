"""The verdict as the window marks it: software that does not run is never "fits", whatever its memory."""

from dataclasses import replace

import pytest

from gpuplanner.engine.estimate import Fit
from gpuplanner.messages import msg
from gpuplanner.ui.plan_place.results.verdict_card import VerdictCard
from gpuplanner.ui.plan_place.verdicts import verdict_of
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.label import Ink
from gpuplanner.ui.widgets.verdict_tag import VerdictTag
from gpuplanner.workload.plan import MachineChoice

REFUSAL = msg("limits.support.format", software="vLLM", precision="EXL2-4.0", source="")
DOUBT = msg("limits.support.no_vendor", software="LMDeploy", gpu="MI300X")


@pytest.mark.parametrize("fit", Fit)
def test_what_does_not_run_is_marked_as_a_failure(fit):
    mark, word = verdict_of(fit, carried=False)
    assert mark is Verdict.FAIL
    assert word.id == ("fit.does_not_fit" if fit is Fit.DOES_NOT_FIT else "fit.does_not_run")
    assert verdict_of(fit)[1].id == f"fit.{fit.name.lower()}"


def test_the_card_says_that_it_does_not_run_and_marks_a_doubt_as_none(appearance, workspace, qtbot):
    plan = workspace.presets["chat-8b"]
    plan = plan.model_copy(update={"machine": MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=1, per_node=1)})
    made = replace(workspace.estimate(plan), fit=Fit.FITS)
    card = VerdictCard(appearance)
    qtbot.addWidget(card)
    tag = card.findChild(VerdictTag)
    card.show_estimate(replace(made, unmet=(REFUSAL,)), found=False)
    assert "Does not run" in tag.accessibleName()
    assert [line.foregroundRole() for line in card._lines if "EXL2" in line.text()] == [Ink.FAIL.value]
    card.show_estimate(replace(made, unmet=(DOUBT,)), found=False)
    assert "Does not run" not in tag.accessibleName()
    assert [line.foregroundRole() for line in card._lines if "LMDeploy" in line.text()] == [Ink.TEXT.value]
