"""The card "Questions": asked of the real engine, typed into, answered anew when the plan changes."""

import pytest

from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.store.settings import LANGUAGE
from gpuplanner.ui.plan_place.questions.catalogue import INPUTS, QUESTIONS, question, questions_of
from gpuplanner.workload.plan import MachineChoice
from gpuplanner.workspace import Workspace
from tests.ui.checks import clipped, missing_glyphs
from tests.ui.screenshots import picture


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    workspace = Workspace(tmp_path_factory.mktemp("home"))
    yield workspace
    workspace.store.close()


@pytest.fixture
def card(open_page, settled, real, qtbot):
    page = open_page("preset/chat-8b", store=real)
    settled(page)
    shown = page.results.questions
    qtbot.waitUntil(lambda: bool(questions_of(page.presenter.plan)) and shown.isVisibleTo(page))
    return shown


@pytest.fixture
def answered(qtbot):
    """Asks, and waits for the answer or the problem."""

    def ask(card, question_id, **typed):
        before = card.view.answer
        card.ask(question_id)
        for name, text in typed.items():
            edit = card.fields[name].box.edit
            edit.setText(text)
            edit.textEdited.emit(text)
        qtbot.waitUntil(
            lambda: (card.view.answer is not before and card.view.isVisibleTo(card)) or card.problem.isVisibleTo(card),
            timeout=10_000,
        )
        return card.view.answer

    return ask


@pytest.mark.parametrize("language", Language)
def test_every_question_and_input_has_its_words(language):
    translator = Translator(language)
    assert all(translator.has(f"answers.question.{asked.id}") for asked in QUESTIONS)
    assert all(translator.has(f"answers.input.{name}") for name in INPUTS)
    assert {name for asked in QUESTIONS for name in asked.inputs} == set(INPUTS)
    assert all(translator.has(f"answers.card.type_{asked.needs}") for asked in QUESTIONS if asked.needs)


def test_a_plan_is_asked_only_what_makes_sense(real):
    of = {
        name: {asked.id for asked in questions_of(real.presets[name])} for name in ("chat-8b", "pretrain-7b", "stencil")
    }
    assert "day" in of["chat-8b"]
    assert "checkpoints" not in of["chat-8b"]
    assert {"checkpoints", "nvlink"} <= of["pretrain-7b"]
    assert of["stencil"] == {"slice", "energy", "cost"}


@pytest.mark.parametrize("preset", ["chat-8b", "pretrain-7b"])
def test_every_question_that_is_offered_can_be_asked(real, preset):
    machine = MachineChoice(gpu_id="nvidia-a100-sxm4-80gb", gpus=8)
    plan = real.presets[preset].model_copy(update={"machine": machine})
    for asked in questions_of(plan):
        typed = {"peak": 20.0, "usd_per_hour": 16.0}
        answer = real.answer(plan, question(asked, typed, plan, real.slicing))
        assert answer.says.id


def test_an_answer_is_shown_and_its_figures_explain_themselves(card, answered, qtbot):
    answer = answered(card, "load", storage_rate="4")
    assert answer.question == "load"
    assert card.typed == {"storage_rate": 4e9}
    assert "4.00 GB/s" in [link.value_text() for link in card.view.links()]
    link = card.view.links()[2]
    link.click()
    assert card.view.explained is answer.lines[2].figure
    assert card.view.tree.isVisibleTo(card)
    assert card.view.tree.model().rowCount() == 1


def test_what_is_needed_is_asked_for_before_anything_is_worked_out(card, answered):
    card.ask("day")
    assert not card.view.isVisibleTo(card)
    assert "busiest hour" in card._hint.text()
    answer = answered(card, "day", peak="30")
    assert answer.question == "day"
    assert answer.table is not None


def test_another_plan_is_answered_anew_and_another_kind_drops_the_question(card, answered, open_page, settled, qtbot):
    page = card.window()
    first = answered(card, "load")
    page.presenter.document.set_machine(MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=2))
    settled(page)
    qtbot.waitUntil(lambda: card.view.answer is not first, timeout=10_000)
    page.visit("preset/stencil")
    settled(page)
    assert card.choice.current() == ""
    assert not card.view.isVisibleTo(card)


def test_a_problem_is_one_sentence(card, answered):
    page = card.window()
    page.presenter.document.set_machine(MachineChoice(gpu_id="nvidia-rtx-4090"))
    card.show_estimate(card._workspace.estimate(page.presenter.plan))
    answered(card, "slice")
    assert card.problem.isVisibleTo(card)
    assert not card.view.isVisibleTo(card)


def test_a_fault_of_our_own_is_not_hidden(card):
    with pytest.raises(ZeroDivisionError):
        card._failed(ZeroDivisionError())
    card._failed(InputError(card._hint._says))
    assert card.problem.isVisibleTo(card)


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize(("name", "typed"), [("split", {}), ("nvlink", {}), ("cost", {"idle": "10"})])
def test_nothing_is_clipped_in_either_language(
    card, answered, appearance, screenshots_dir, name, typed, language, qtbot
):
    appearance.choose(LANGUAGE, language.value)
    page = card.window()
    page.presenter.document.set_machine(MachineChoice(gpu_id="nvidia-a100-sxm4-80gb", gpus=4))
    card.show_estimate(card._workspace.estimate(page.presenter.plan))
    answered(card, name, **typed)
    qtbot.waitUntil(lambda: clipped(card) == [], timeout=3000)
    assert missing_glyphs(card) == []
    assert picture(card).save(str(screenshots_dir / f"questions-{name}-{language.value}.png"))
