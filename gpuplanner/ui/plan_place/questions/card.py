"""The card "Questions" of the Plan place: a question, what is typed in for it, its answer. Works nothing out itself."""

from collections.abc import Mapping
from typing import Any, Protocol

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QGridLayout, QSizePolicy

from gpuplanner.engine.answers.answer import Answer
from gpuplanner.engine.answers.answering import Question
from gpuplanner.engine.estimate import Estimate
from gpuplanner.messages import InputError, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.background import Cancel, Jobs, Latest
from gpuplanner.ui.fields.choice_box import ChoiceBox
from gpuplanner.ui.fields.number_field import NumberField
from gpuplanner.ui.plan_place.questions.answer_view import AnswerView
from gpuplanner.ui.plan_place.questions.catalogue import INPUTS, Asked, question, questions_of
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.card import Card
from gpuplanner.ui.widgets.label import Ink, Label
from gpuplanner.ui.widgets.notice_box import NoticeBox
from gpuplanner.ui.widgets.segmented import Option
from gpuplanner.workload.plan import Plan

_COLUMNS = 2


class Answering(Protocol):
    """What answers: the workspace."""

    def answer(self, plan: Plan, question: Question, *, explained: bool = False) -> Answer: ...

    def slicing(self, plan: Plan, usd_per_hour: float | None) -> Any: ...


class QuestionsCard(Card):
    """Asks again when the plan changes, as long as a question is chosen."""

    def __init__(self, appearance: Appearance, workspace: Answering, jobs: Jobs) -> None:
        super().__init__(appearance, msg("answers.card"), msg("answers.card.note"))
        self._appearance = appearance
        self._workspace = workspace
        self._answers = Latest(jobs)
        self._plan: Plan | None = None
        self._offered: tuple[Asked, ...] = ()
        self._asked: Asked | None = None
        self._typed: dict[str, float] = {}
        self.choice = ChoiceBox(appearance)
        self.fields: dict[str, NumberField] = {}
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(10)
        self._hint = Label(appearance, msg("answers.card.choose"), ink=Ink.MUTED, wrap=True)
        self.problem = NoticeBox(appearance, "", Verdict.WARN)
        self.view = AnswerView(appearance)
        self.body.addWidget(self.choice)
        self.body.addLayout(self._grid)
        for widget in (self._hint, self.problem, self.view):
            self.body.addWidget(widget)
        self.problem.hide()
        self.view.hide()
        self.choice.chosen.connect(self.ask)
        appearance.languageChanged.connect(self._name_choice)
        self._name_choice()

    def _name_choice(self) -> None:
        self.choice.setAccessibleName(self._appearance.text("answers.card.choose"))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    @property
    def typed(self) -> Mapping[str, float]:
        """What was typed in for the question, in base units."""
        return self._typed

    def show_estimate(self, estimate: Estimate) -> None:
        """Offer the questions of another plan, and ask the one that is chosen again."""
        if estimate.plan == self._plan:
            return
        self._plan = estimate.plan
        offered = questions_of(estimate.plan)
        if offered != self._offered:
            self._offered = offered
            self.choice.set_options([Option(one.id, msg(f"answers.question.{one.id}")) for one in offered])
            if self._asked not in offered:
                self._choose(None)
        self._run()

    def ask(self, question_id: str) -> None:
        """Ask another question."""
        self._choose(next((one for one in self._offered if one.id == question_id), None))
        self._run()

    def stop(self) -> None:
        """Ask nothing any more."""
        self._answers.cancel()

    def _choose(self, asked: Asked | None) -> None:
        self._asked = asked
        self._typed = {}
        for field in self.fields.values():
            self._grid.removeWidget(field)
            field.hide()
            field.deleteLater()
        self.fields = {name: self._field(name) for name in (asked.inputs if asked else ())}
        for at, field in enumerate(self.fields.values()):
            self._grid.addWidget(field, at // _COLUMNS, at % _COLUMNS)
        self.choice.choose(asked.id if asked else "")
        self.view.hide()
        self.problem.hide()

    def _field(self, name: str) -> NumberField:
        empty = msg("answers.card.needed" if self._asked and self._asked.needs == name else "answers.card.empty")
        field = NumberField(self._appearance, msg(f"answers.input.{name}"), INPUTS[name], empty=empty)
        field.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        field.changed.connect(lambda value, name=name: self._changed(name, value))
        return field

    def _changed(self, name: str, value: float | None) -> None:
        self._typed.pop(name, None)
        if value is not None:
            self._typed[name] = value
        self._run()

    def _run(self) -> None:
        asked, plan = self._asked, self._plan
        self._answers.cancel()
        waits = asked is None or (bool(asked.needs) and asked.needs not in self._typed)
        self._hint.setVisible(waits)
        self._hint.say(msg(f"answers.card.type_{asked.needs}") if asked and waits else msg("answers.card.choose"))
        if asked is None or plan is None or waits:
            return
        typed, workspace = dict(self._typed), self._workspace

        def work(_cancel: Cancel) -> Answer:
            return workspace.answer(plan, question(asked, typed, plan, workspace.slicing), explained=True)

        self._answers.run(work, self._show, self._failed)

    def _show(self, answer: Answer) -> None:
        self.problem.hide()
        self.view.show_answer(answer)
        self.view.show()

    def _failed(self, fault: Exception) -> None:
        if not isinstance(fault, InputError):
            raise fault
        self.view.hide()
        self.problem.say(fault.message, Verdict.WARN)
        self.problem.show()
