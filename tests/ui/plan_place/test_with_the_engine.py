"""The page over the real engine: every preset is worked out, and everything that it shows has a name."""

import pytest

from gpuplanner.engine.explaining import explanation
from gpuplanner.messages import Language, Translator
from gpuplanner.paths import shipped
from gpuplanner.store.plan_files import read_plan
from gpuplanner.store.settings import LANGUAGE
from gpuplanner.ui.settings import MemorySettings
from gpuplanner.workload.plan import WORKLOADS
from tests.ui.checks import clipped, missing_glyphs
from tests.ui.screenshots import settle

OF_EACH_KIND = {
    read_plan(path).workload.kind: path.stem for path in sorted((shipped("resources") / "presets").glob("*.gpuplan"))
}
PRESETS = sorted(
    {"sample", "apart-70b", "chat-8b", "moe-deepseek", "laptop-8b", "pretrain-7b", "qlora-8b", *OF_EACH_KIND.values()}
)


def test_there_is_a_preset_of_each_kind():
    assert set(OF_EACH_KIND) == {workload.model_fields["kind"].default for workload in WORKLOADS}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_worked_out_without_a_problem(qtbot, open_page, settled, real, preset, settings):
    page = open_page(f"preset/{preset}", store=real)
    settled(page)
    outcome = page.presenter.outcome
    assert outcome.worked.problem is None
    assert outcome.searched.problem is None
    assert outcome.worked.estimate is not None
    assert len(outcome.searched.result.candidates) + len(outcome.searched.result.rejections) > 500
    qtbot.waitUntil(lambda: clipped(page) == [], timeout=3000)
    assert missing_glyphs(page) == []


@pytest.mark.parametrize("language", Language)
def test_no_form_is_wider_than_its_column(qtbot, open_page, settled, real, settings, appearance, language):
    appearance.choose(LANGUAGE, language.value)
    page = open_page(store=real)
    for preset in real.presets:
        page.visit(f"preset/{preset}")
        settle()
        assert page.presenter.plan.workload == real.presets[preset].workload
        area = page.columns._wizard_area
        assert 0 < area.widget().minimumSizeHint().width() <= area.viewport().width(), preset
    settled(page)


@pytest.mark.parametrize("language", Language)
def test_a_gpu_that_was_picked_is_read_whole(qtbot, open_page, settled, real, settings, appearance, language):
    appearance.choose(LANGUAGE, language.value)
    page = open_page("preset/animation", store=real)
    settled(page)
    row = page.wizard.row("rendering.known_gpu")
    qtbot.waitUntil(lambda: row.frame.control.width() >= row.wanted_width(), timeout=3000)


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("preset", PRESETS)
def test_everything_in_an_estimate_has_a_name(real, preset, language):
    plan = real.sample() if preset == "sample" else real.presets[preset]
    made = real.explained(plan if plan.machine else real.with_best_machine(plan))
    translator = Translator(language)
    wanted = {f"metric.{name}" for name in made.metrics} | {f"host.{need.id}" for need in made.host}
    wanted |= {f"limit.{limit.value}" for limit, _ in made.limits}
    wanted |= {f"step.{made.step_name}", f"planui.step_name.{made.step_name}"}
    wanted |= {f"phase.{phase.id}" for phase in made.memory.phases}
    wanted |= {f"part.{part.id}" for part in made.time}
    wanted |= {f"part.{part.id}" for phase in made.memory.phases for part in phase.parts}
    for figure in (*made.metrics.values(), made.memory.needed, made.memory.reserved):
        wanted |= {row.name_id for row in explanation(figure)}
    assert {name for name in wanted if not translator.has(name)} == set()


def test_settings_of_the_page_are_forgotten_with_the_layout(open_page, settings):
    assert isinstance(settings, MemorySettings)
    page = open_page("preset/chat-8b")
    page.columns._save()
    assert settings.kept("window.plan.split") is not None
    settings.forget("window.")
    assert settings.kept("window.plan.split") is None
