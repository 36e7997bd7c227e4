"""The card "Questions": asked of the real engine, typed into, answered anew when the plan changes."""

import pytest
from PySide6.QtWidgets import QLabel

from gpuplanner.cli import ask_arguments
from gpuplanner.cli.parser import Parser
from gpuplanner.messages import InputError, Language, Translator, msg
from gpuplanner.store.settings import LANGUAGE
from gpuplanner.ui.plan_place.questions.catalogue import QUESTIONS, question, questions_of
from gpuplanner.ui.plan_place.questions.inputs import INPUTS, Choice
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
    assert {name for asked in QUESTIONS for name in (*asked.inputs, *asked.more)} == set(INPUTS)
    options = {(name, option) for name, kind in INPUTS.items() if isinstance(kind, Choice) for option in kind.options}
    assert all(translator.has(f"answers.input.{name}.{option}") for name, option in options)
    assert all(translator.has(f"answers.card.type_{asked.waits_for}") for asked in QUESTIONS if asked.needs)


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked.id)
def test_the_card_takes_what_the_command_line_takes(asked):
    parser = Parser(prog="ask")
    getattr(ask_arguments, {"slice": "slices"}.get(asked.id, asked.id))(parser, lambda message, **_values: message)
    other_names = {"restart_minutes": "restart", "repair_hours": "repair"}
    if asked.id == "slice":
        other_names["usd_per_hour"] = "usd_per_gpu_hour"
    taken = {other_names.get(name, name) for name in vars(parser.parse_args([]))}
    assert {*asked.inputs, *asked.more} == taken


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


def test_where_the_weights_lie_can_be_chosen(card, answered, qtbot):
    local = answered(card, "load")
    box = card.fields["storage"].box
    assert box.current() == "local"
    box.setCurrentIndex(box.findData("object"))
    box.activated.emit(box.currentIndex())
    qtbot.waitUntil(lambda: card.view.answer is not local, timeout=10_000)
    assert card.typed == {"storage": "object"}
    rates = {line.id: line.figure.value for answer in (local, card.view.answer) for line in answer.lines}
    assert rates["load.rate"] < next(line.figure.value for line in local.lines if line.id == "load.rate")


def test_the_rates_of_a_day_can_be_typed_in(card, answered):
    given = ", ".join(str(hour / 2) for hour in range(24))
    answer = answered(card, "day", rates=given)
    assert card.typed == {"rates": tuple(hour / 2 for hour in range(24))}
    assert answer.question == "day"
    assert answer.table.rows[-1].cells[0].value == 11.5


@pytest.mark.parametrize(("text", "says"), [("1 2 3", "24"), ("1, two", "two"), ("-1," * 24, "0")])
def test_rates_that_are_no_day_say_so_at_once(card, text, says):
    card.ask("day")
    field = card.fields["rates"]
    field.box.edit.setText(text)
    field.changed.emit(text)
    assert says in field._below.text()
    assert "rates" not in card.typed
    assert not card.view.isVisibleTo(card)


def test_what_is_seldom_wanted_stands_behind_a_button(card, answered, qtbot):
    answered(card, "load")
    assert not card.fields["engine_start"].isVisibleTo(card)
    card.more.click()
    assert card.fields["engine_start"].isVisibleTo(card)
    before = card.view.answer
    edit = card.fields["engine_start"].box.edit
    edit.setText("7")
    edit.textEdited.emit("7")
    qtbot.waitUntil(lambda: card.view.answer is not before, timeout=10_000)
    assert next(line.figure.value for line in card.view.answer.lines if line.id == "load.engine") == 7.0
    card.ask("nvlink")
    assert not card.more.isVisibleTo(card)


def test_few_columns_stand_beside_each_other(card, answered):
    answered(card, "day", peak="30")
    texts = [label.text() for label in card.view.findChildren(QLabel)]
    assert {"Hours", "Requests", "Replicas"} <= set(texts)


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
    card._failed(InputError(msg("answers.card.type_peak")))
    assert card.problem.isVisibleTo(card)


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize(
    ("name", "typed"), [("split", {}), ("nvlink", {}), ("cost", {"idle": "10"}), ("day", {"peak": "20"})]
)
def test_nothing_is_clipped_in_either_language(
    card, answered, appearance, screenshots_dir, name, typed, language, qtbot
):
    appearance.choose(LANGUAGE, language.value)
    page = card.window()
    page.presenter.document.set_machine(MachineChoice(gpu_id="nvidia-a100-sxm4-80gb", gpus=4))
    card.show_estimate(card._workspace.estimate(page.presenter.plan))
    answered(card, name, **typed)
    card.more.click()
    qtbot.waitUntil(lambda: clipped(card) == [], timeout=3000)
    assert missing_glyphs(card) == []
    assert picture(card).save(str(screenshots_dir / f"questions-{name}-{language.value}.png"))
