"""The page of the Plan place: lays out wizard, results and machines, and wires them to the presenter."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from gpuplanner.catalog.entries import Gpu
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.machines import choice_of, with_nodes
from gpuplanner.messages import InputError, MessageValue, msg
from gpuplanner.store.plans import Revision
from gpuplanner.ui.catalog_place.own_files import is_own_file
from gpuplanner.ui.notices import NoticeAction
from gpuplanner.ui.places import Context, Heading, Page, Place
from gpuplanner.ui.plan_place.actions import PlanActions
from gpuplanner.ui.plan_place.captions import machine_offer, machine_title
from gpuplanner.ui.plan_place.columns import PlanColumns, padded
from gpuplanner.ui.plan_place.difference.comparing import Comparing
from gpuplanner.ui.plan_place.difference.table import DifferenceTable
from gpuplanner.ui.plan_place.difference.view import DifferenceView
from gpuplanner.ui.plan_place.document import KIND
from gpuplanner.ui.plan_place.history.revision_list import RevisionList
from gpuplanner.ui.plan_place.history.view import HistoryView
from gpuplanner.ui.plan_place.intake import ELSEWHERE, takes
from gpuplanner.ui.plan_place.machines.machines_view import MachinesView
from gpuplanner.ui.plan_place.measured.card import MeasuredCard
from gpuplanner.ui.plan_place.palette import PlanProvider
from gpuplanner.ui.plan_place.picker import PickAction, Picker, PickItem
from gpuplanner.ui.plan_place.pickers import choice_of_row, limit_items, machine_items, model_items, model_size
from gpuplanner.ui.plan_place.presenter import Carried, PlanPresenter
from gpuplanner.ui.plan_place.questions.card import QuestionsCard
from gpuplanner.ui.plan_place.results.results_view import ResultsView
from gpuplanner.ui.plan_place.start_view import StartView
from gpuplanner.ui.plan_place.tab_order import step
from gpuplanner.ui.plan_place.wizard.defaults import automatic_values
from gpuplanner.ui.plan_place.wizard.fields import Field
from gpuplanner.ui.plan_place.wizard.wizard_view import NameField, WizardView
from gpuplanner.ui.tokens import Verdict
from gpuplanner.ui.widgets.scrolling import scrolling
from gpuplanner.units import percent
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, model_of

PLAN_PLACE = "plan"
_PLAN, _START, _DIFFERENCE, _HISTORY = range(4)


def plan_place() -> Place:
    """The place as the window shows it."""
    return Place(
        PLAN_PLACE,
        "sliders-horizontal",
        msg("planui.title"),
        PlanPage,
        takes=takes,
        providers=lambda context: (PlanProvider(context, PLAN_PLACE),),
    )


class PlanPage(Page):
    """Wizard, results and machines beside each other; where there is no room results and machines take turns."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        appearance = self._appearance = context.appearance
        self.presenter = PlanPresenter(
            context.workspace, context.jobs, context.settings, context.notices, appearance, self
        )
        self._name = NameField(appearance)
        self.wizard = WizardView(appearance, self._offered)
        questions = QuestionsCard(appearance, context.workspace, context.jobs)
        self.results = ResultsView(appearance, self.presenter.facts.rules, self._copied, questions)
        self.machines = MachinesView(appearance, context.settings)
        self.start_view = StartView(appearance, self.presenter.presets, self.presenter.titles)
        model_name = self.presenter.facts.model_name
        self.difference = DifferenceView(
            appearance,
            DifferenceTable(appearance, model_name, self._machine_name),
            Comparing(context.workspace, context.jobs, self),
        )
        self.history = HistoryView(
            appearance,
            self.presenter.history,
            RevisionList(appearance, model_name),
            DifferenceTable(appearance, model_name, self._machine_name),
            Comparing(context.workspace, context.jobs, self),
        )
        self.columns = PlanColumns(appearance, context.settings, self.wizard, self.results, self.machines)
        self.measured = MeasuredCard(appearance, self.presenter.measured, model_name, self._gpu)
        self.columns.put_above(self.measured)
        self.columns.keep_in_sight(self.results.line, self.results.verdict)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.columns)
        self._stack.addWidget(scrolling(self.start_view))
        self._stack.addWidget(scrolling(padded(self.difference)))
        self._stack.addWidget(self.history)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._stack)
        self.plan_actions = PlanActions(
            context, self.presenter, self, self._pick_machine, self.show_difference, self.show_history
        )
        self._wire()
        self.presenter.start()

    # --- What the window asks -----------------------------------------------------------------------------------------

    def heading(self) -> Heading:
        presenter = self.presenter
        if not presenter.is_open:
            return Heading(msg("planui.title"), actions=self.plan_actions.start())
        return Heading(presenter.title, self._saved_note(), actions=self.plan_actions.all())

    def path(self) -> str:
        return self.presenter.path

    def visit(self, path: str) -> None:
        self.presenter.visit(path)

    def panes(self) -> Sequence[QWidget]:
        if not self.presenter.is_open:
            return (self.start_view,)
        aside = {_DIFFERENCE: self.difference, _HISTORY: self.history}.get(self._stack.currentIndex())
        if aside is not None:
            return (aside,)
        return (self.wizard, self.results, self.machines)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        # Other places pin and unpin too, and change what was measured.
        self._show_pins()
        self.presenter.own.look()

    def focusNextPrevChild(self, forward: bool) -> bool:
        return step(self, self.panes(), forward=forward) or super().focusNextPrevChild(forward)

    def leave(self) -> bool:
        if self._stack.currentIndex() in {_DIFFERENCE, _HISTORY}:
            self._back_to_plan()
            return True
        return self.wizard.leave()

    def dropped(self, paths: Sequence[str]) -> bool:
        if not paths or any(Path(path).suffix.lower() in ELSEWHERE or is_own_file(path) for path in paths):
            return False
        self.presenter.taking.files(paths)
        return True

    def pasted(self, text: str) -> bool:
        self.presenter.taking.text(text)
        return True

    def focus_first(self) -> None:
        row = self.wizard.model_row if self.presenter.is_open else None
        if row is not None:
            row.take_focus()
        else:
            self.start_view.new_button.setFocus(Qt.FocusReason.OtherFocusReason)

    def close_page(self) -> None:
        self.results.questions.stop()
        self.presenter.close()

    def carried(self) -> Carried | None:
        return self.presenter.carried()

    def carry_on(self, carried: Carried) -> None:
        self.presenter.carry_on(carried)

    def show_difference(self, plan_id: str) -> None:
        """Show how the open plan differs from another one of the shelf."""
        other = self.presenter.plans.newest(plan_id)
        if other is not None:
            titles = (self.presenter.title, self.presenter.titles.of(other.name))
            self.difference.show_plans(self.presenter.plan, other, titles)
            self._stack.setCurrentIndex(_DIFFERENCE)
            self.difference.close_button.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def show_history(self) -> None:
        """Show the earlier states of the open plan."""
        self.presenter.autosave.flush()
        self._stack.setCurrentIndex(_HISTORY)
        self.history.show_plan(self.presenter.plan, self.presenter.autosave.plan_id)
        self.history.take_focus()

    def _restore(self, revision: Revision) -> None:
        self.presenter.restore(revision)
        self._back_to_plan()
        undo = NoticeAction(msg("planui.undo"), self.presenter.document.undo)
        self._context.notices.say(
            msg("planui.history.restored.says", when=self._appearance.moment(revision.made)), Verdict.PASS, undo
        )

    def _back_to_plan(self) -> None:
        self.presenter.history.stop()
        self._show_stack()
        self.focus_first()

    # --- Pickers ------------------------------------------------------------------------------------------------------

    def _pick_model(self) -> None:
        row, model = self.wizard.model_row, model_of(self.presenter.plan.workload)
        if row is None or model is None:
            return
        picker = Picker(
            self._appearance,
            lambda query: model_items(
                self.presenter.facts.models(row.field.ask.control),
                query,
                self._appearance,
                model.catalog_id or "",
                self._context.workspace.resolve,
            ),
            msg("planui.model.search"),
            msg("planui.model.nothing"),
            (PickAction(msg("planui.model.open"), "folder-open", self.plan_actions.choose_file),),
            parent=row.button,
        )
        picker.picked.connect(lambda model_id: self.presenter.set_model(ModelChoice(catalog_id=model_id)))
        picker.open_below(row.button, 420)

    def _pick_machine(self) -> None:
        # It opens below a button that may have been scrolled away.
        self.columns.bring_into_sight(self.results.verdict)
        owner = self.results.verdict.machine_button
        picker = Picker(
            self._appearance,
            lambda query: machine_items(
                self.presenter.facts.catalog, query, self._appearance, self._context.workspace.resolve
            ),
            msg("planui.machine.search"),
            msg("planui.nothing_found"),
            parent=owner,
        )
        picker.picked.connect(lambda item: self.presenter.document.set_machine(choice_of_row(item)))
        picker.open_below(owner, 460)

    def _offered(self, field: Field, query: str) -> Sequence[PickItem]:
        return limit_items(field, self.presenter.facts.catalog, query, self._appearance)

    # --- Showing ------------------------------------------------------------------------------------------------------

    def _show_path(self) -> None:
        self._show_stack()
        self.headingChanged.emit()
        self.moved.emit(self.path())

    def _show_stack(self) -> None:
        self._stack.setCurrentIndex(_PLAN if self.presenter.is_open else _START)

    def _show_shelf(self) -> None:
        if not self.presenter.is_open:
            self.start_view.show_plans(self.presenter.plans.listed())

    def _show_plan(self, change: str = "") -> None:
        plan = self.presenter.plan
        self.wizard.show_plan(plan, another=not change)
        if change in {"", KIND}:
            self.columns.to_top()
        self._name.show_name(self._appearance.said(self.presenter.title) if plan.name else "")
        self._show_model()
        self._show_automatic()
        self.headingChanged.emit()

    def _show_model(self) -> None:
        row, choice = self.wizard.model_row, model_of(self.presenter.plan.workload)
        if row is not None and choice is not None:
            size = model_size(choice, self.presenter.facts.catalog, self._appearance)
            row.show_model(self.presenter.facts.model_name(choice), size)

    def _show_automatic(self) -> None:
        workload = self.presenter.plan.workload
        model = model_of(workload)
        found = automatic_values(
            workload,
            self.presenter.outcome.worked.estimate,
            self.presenter.facts.architecture(model) if model is not None else None,
            self.presenter.facts.efficiencies,
            self._appearance,
            self.presenter.facts.network(model) if model is not None else None,
        )
        self.wizard.show_automatic(found)

    def _show_worked(self) -> None:
        worked = self.presenter.outcome.worked
        self.results.show_worked(worked)
        if worked.current:
            self.machines.show_selected(worked.estimate.machine if worked.estimate else None)
            self._show_automatic()

    def _show_searched(self) -> None:
        searched = self.presenter.outcome.searched
        self.machines.show_searched(searched, self.presenter.plan.workload.kind)
        if searched is None or searched.result is None:
            # What was said of a search before is not of this plan.
            self.workSaid.emit(None)
        elif searched.current:
            self.workSaid.emit(
                msg(
                    "planui.searched",
                    ways=f"{searched.result.configurations:,}",
                    ms=f"{searched.seconds * 1000:,.0f}",
                )
            )

    def _show_pins(self) -> None:
        self.machines.show_pins(self.presenter.pinned())
        self.headingChanged.emit()

    def _show_banners(self) -> None:
        self.columns.show_banners(self.presenter.banners.all(), self.presenter.banners.close)

    def _show_why(self) -> None:
        self.columns.bring_into_sight(self.results.why)

    def _catalog_read(self) -> None:
        headroom = next(
            (r for r in self.presenter.facts.rules().values() if "memory_headroom" in r.bears_on and r.factor), None
        )
        if headroom is not None and headroom.factor is not None:
            says = msg("planui.headroom.rule", share=percent(headroom.factor))
            self.wizard.advise("limits.memory_free_share", says)
        self._show_model()
        self.wizard.refresh()
        if self.presenter.is_open:
            self._show_automatic()

    def _saved_note(self) -> MessageValue:
        if self.presenter.plan.sample:
            return msg("planui.saved.sample")
        if self.presenter.autosave.problem is not None:
            return msg("planui.saved.not")
        if not self.presenter.autosave.plan_id:
            return msg("planui.saved.preset")
        return msg("planui.saved") if self.presenter.autosave.clean else msg("planui.saving")

    # --- Acting -------------------------------------------------------------------------------------------------------

    def _edited(self, field: Field, value: Any) -> None:
        self.presenter.document.set_value(field, value)

    def _choose_machine(self, machine: Machine) -> None:
        self.presenter.document.set_machine(choice_of(machine))

    def _choose_nodes(self, nodes: int) -> None:
        estimate = self.presenter.outcome.worked.estimate
        if estimate is not None:
            self._choose_machine(with_nodes(estimate.machine, nodes))

    def _copied(self) -> None:
        self._context.notices.say(msg("planui.copied"), Verdict.PASS)

    def _gpu(self, gpu_id: str) -> Gpu | None:
        catalog = self.presenter.facts.catalog
        return catalog.gpus.get(gpu_id) if catalog is not None else None

    # --- Looking up ---------------------------------------------------------------------------------------------------

    def _machine_name(self, choice: MachineChoice | None) -> MessageValue:
        if choice is None:
            return msg("planui.machine.best_found")
        try:
            machine = self._context.workspace.machine(choice)
        except InputError as fault:
            return fault.message
        return f"{machine_title(machine)} · {self._appearance.said(machine_offer(machine))}"

    # --- Laying out ---------------------------------------------------------------------------------------------------

    def _wire(self) -> None:
        presenter, appearance = self.presenter, self._appearance
        self.wizard.edited.connect(self._edited)
        self.wizard.left.connect(presenter.document.close_step)
        self.wizard.kindChosen.connect(presenter.set_kind)
        self.wizard.modelWanted.connect(self._pick_model)
        self._name.renamed.connect(presenter.document.set_name)
        self._name.editingFinished.connect(presenter.document.close_step)
        self.wizard.put_first(self._name)
        presenter.document.changed.connect(self._show_plan)
        presenter.document.undoChanged.connect(self.headingChanged)
        presenter.pathChanged.connect(self._show_path)
        presenter.pathChanged.connect(self._show_shelf)
        presenter.plans.changed.connect(self._show_shelf)
        presenter.savedChanged.connect(self.headingChanged)
        presenter.banners.changed.connect(self._show_banners)
        presenter.pinsChanged.connect(self._show_pins)
        presenter.facts.read.connect(self._catalog_read)
        presenter.outcome.workedChanged.connect(self._show_worked)
        presenter.outcome.searchedChanged.connect(self._show_searched)
        self.results.changes.chosen.connect(presenter.apply)
        self.results.verdict.machineWanted.connect(self._pick_machine)
        self.results.verdict.foundWanted.connect(lambda: presenter.document.set_machine(None))
        self.results.nodes.wanted.connect(self._choose_nodes)
        self.results.nodes.left.connect(presenter.document.close_step)
        self.results.line.chosen.connect(lambda: self.columns.bring_into_sight(self.results.verdict))
        self.results.whyShown.connect(self._show_why)
        self.results.explanationWanted.connect(presenter.outcome.explain_now)
        self.machines.chosen.connect(self._choose_machine)
        self.machines.pinned.connect(presenter.toggle_pin)
        self.machines.copied.connect(lambda _count: self._copied())
        self.difference.closed.connect(self._back_to_plan)
        self.history.closed.connect(self._back_to_plan)
        self.history.restored.connect(self._restore)
        self.start_view.newWanted.connect(self.plan_actions.new)
        self.start_view.fileWanted.connect(self.plan_actions.choose_file)
        self.start_view.presetWanted.connect(presenter.open_preset)
        self.start_view.planWanted.connect(presenter.open_shelved)
        self.start_view.pinToggled.connect(presenter.plans.pin)
        self.start_view.removeWanted.connect(presenter.plans.remove)
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._show_plan_again)

    def _show_plan_again(self) -> None:
        if self.presenter.is_open:
            self._show_plan("shown anew")
        else:
            self.headingChanged.emit()
