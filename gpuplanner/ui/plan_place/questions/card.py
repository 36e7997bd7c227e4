"""The card "Questions" of the Plan place: a question, what is typed in for it, its answer. Works nothing out itself."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QGridLayout, QSizePolicy, QWidget

from gpuplanner.engine.answers.answer import Answer
from gpuplanner.engine.answers.answering import Question
from gpuplanner.engine.estimate import Estimate
from gpuplanner.messages import InputError, msg
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.background import Cancel, Jobs, Latest
from gpuplanner.ui.fields.choice_box import ChoiceBox
from gpuplanner.ui.fields.field import Field
from gpuplanner.ui.plan_place.questions.answer_view import AnswerView
from gpuplanner.ui.plan_place.questions.catalogue import Asked, question, questions_of
from gpuplanner.ui.plan_place.questions.inputs import INPUTS, Given, Rates, Typed, make_field
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.button import Button, ButtonKind
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
        self._typed: dict[str, Given] = {}
        self._open = False
        self.choice = ChoiceBox(appearance, empty=msg("answers.card.choose"))
        self.fields: dict[str, Field] = {}
        self._plain, self._seldom = QWidget(), QWidget()
        self.more = Button(appearance, "", ButtonKind.QUIET, icon="chevron-down", small=True)
        self.more.clicked.connect(self._toggle)
        self._hint = Label(appearance, "", ink=Ink.MUTED, wrap=True)
        self.problem = NoticeBox(appearance, "", Verdict.WARN)
        self.view = AnswerView(appearance)
        for widget in (self.choice, self._plain, self.more, self._seldom, self._hint, self.problem, self.view):
            self.body.addWidget(widget)
        self.body.setAlignment(self.more, Qt.AlignmentFlag.AlignLeft)
        for widget in (self._plain, self.more, self._seldom, self._hint, self.problem, self.view):
            widget.hide()
        self.choice.chosen.connect(self.ask)
        appearance.languageChanged.connect(self._name_choice)
        self._name_choice()

    def _name_choice(self) -> None:
        self.choice.setAccessibleName(self._appearance.text("answers.card.choose"))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    @property
    def typed(self) -> Typed:
        """What was typed in or chosen for the question, in base units."""
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
        self._open = False
        self.fields = {}
        self._plain = self._laid_out(self._plain, asked.inputs if asked else ())
        self._seldom = self._laid_out(self._seldom, asked.more if asked else ())
        self._show_more()
        self.choice.choose(asked.id if asked else "")
        self.view.hide()
        self.problem.hide()

    def _laid_out(self, before: QWidget, names: Sequence[str]) -> QWidget:
        """The fields of these inputs, two beside each other, in the place of those that stood there."""
        holder = QWidget()
        grid = QGridLayout(holder)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(10)
        for column in range(_COLUMNS):
            grid.setColumnStretch(column, 1)
        at = 0
        for name in names:
            field = self.fields[name] = self._field(name)
            wide = isinstance(INPUTS[name], Rates)
            at += at % _COLUMNS if wide else 0
            grid.addWidget(field, at // _COLUMNS, at % _COLUMNS, 1, _COLUMNS if wide else 1, Qt.AlignmentFlag.AlignTop)
            at += _COLUMNS if wide else 1
        self.body.replaceWidget(before, holder)
        before.hide()
        before.deleteLater()
        holder.setVisible(bool(names))
        return holder

    def _field(self, name: str) -> Field:
        needed = self._asked is not None and name == self._asked.waits_for
        field, given = make_field(self._appearance, name, msg(f"answers.card.{'needed' if needed else 'empty'}"))
        field.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        given.connect(partial(self._changed, name))
        return field

    def _toggle(self) -> None:
        self._open = not self._open
        self._show_more()

    def _show_more(self) -> None:
        seldom = self._asked.more if self._asked is not None else ()
        self.more.setVisible(bool(seldom))
        self.more.say(msg("planui.less") if self._open else msg("planui.more", count=len(seldom)))
        self.more.set_icon("chevron-up" if self._open else "chevron-down")
        self._seldom.setVisible(self._open and bool(seldom))

    def _changed(self, name: str, value: Given | None) -> None:
        self._typed.pop(name, None)
        if value is not None:
            self._typed[name] = value
        self._run()

    def _run(self) -> None:
        asked, plan = self._asked, self._plan
        self._answers.cancel()
        waits = asked is not None and not asked.can_be_asked(self._typed)
        self._hint.setVisible(waits)
        if asked is None or plan is None:
            return
        if waits:
            self._hint.say(msg(f"answers.card.type_{asked.waits_for}"))
            self.view.hide()
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
