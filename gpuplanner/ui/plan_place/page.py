"""The page of the Plan place: lays out wizard, results and machines, and wires them to the presenter."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFileDialog, QMenu, QScrollArea, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.entries import Rule
from gpuplanner.engine.estimate import Change
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.machines import choice_of
from gpuplanner.messages import InputError, MessageValue, msg
from gpuplanner.ui.background import Coalescer
from gpuplanner.ui.places import Context, Heading, Location, Page, PageAction, Place
from gpuplanner.ui.plan_place.captions import machine_offer, machine_title
from gpuplanner.ui.plan_place.defaults import automatic_values
from gpuplanner.ui.plan_place.difference_view import DifferenceView
from gpuplanner.ui.plan_place.fields import Field
from gpuplanner.ui.plan_place.intake import ELSEWHERE, PLAN_SUFFIX, takes
from gpuplanner.ui.plan_place.machine_rows import row_id
from gpuplanner.ui.plan_place.machines_view import MachinesView
from gpuplanner.ui.plan_place.picker import PickAction, Picker, PickItem
from gpuplanner.ui.plan_place.pickers import choice_of_row, limit_items, machine_items, model_items, model_size
from gpuplanner.ui.plan_place.presenter import PlanPresenter
from gpuplanner.ui.plan_place.results_view import ResultsView
from gpuplanner.ui.plan_place.start_view import StartView
from gpuplanner.ui.plan_place.wizard_view import NameField, WizardView
from gpuplanner.ui.settings import WINDOW
from gpuplanner.ui.tokens import GAP, Verdict
from gpuplanner.ui.widgets.button import ButtonKind
from gpuplanner.ui.widgets.menus import pop_up
from gpuplanner.ui.widgets.notice_box import NoticeBox
from gpuplanner.ui.widgets.scrolling import scrolling
from gpuplanner.ui.widgets.segmented import Option, Segmented
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice

PLAN_PLACE = "plan"
WIZARD_WIDTH, RESULTS_WIDTH, MACHINES_WIDTH = 278, 530, 396
_LEAST_WIDTHS = (250, 420, 320)
THREE_COLUMNS = sum(_LEAST_WIDTHS) + 2 * GAP
_SPLIT = WINDOW + "plan.split"
_RESULTS, _MACHINES = "results", "machines"
_PLAN, _START, _DIFFERENCE = range(3)
_MARGIN = GAP + 2


def plan_place() -> Place:
    """The place as the window shows it."""
    return Place(PLAN_PLACE, "sliders-horizontal", msg("planui.title"), PlanPage, takes=takes)


class PlanPage(Page):
    """Wizard, results and machines beside each other; where there is no room results and machines take turns."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        appearance = self._appearance = context.appearance
        self.presenter = PlanPresenter(
            context.workspace, context.jobs, context.settings, context.notices, appearance, self
        )
        self._side = _RESULTS
        self._name = NameField(appearance)
        self.wizard = WizardView(appearance, self._offered)
        self.results = ResultsView(appearance, self._rules, self._copied)
        self.machines = MachinesView(appearance, context.settings)
        self.start_view = StartView(appearance, self.presenter.presets)
        self.difference = DifferenceView(appearance, self.presenter.model_name, self._machine_name)
        self._banners = QVBoxLayout()
        self._banners.setContentsMargins(_MARGIN, 0, _MARGIN, 0)
        self._banners.setSpacing(8)
        self._sides = Segmented(
            appearance,
            [Option(_RESULTS, msg("planui.side.results")), Option(_MACHINES, msg("planui.side.machines"))],
            _RESULTS,
            msg("planui.side"),
        )
        self._sides.chosen.connect(self._choose_side)
        self._splitter = self._lay_out_columns()
        self._stack = QStackedWidget()
        self._plan_area = self._plan_widget()
        self._stack.addWidget(self._plan_area)
        self._stack.addWidget(scrolling(self.start_view))
        self._stack.addWidget(self._padded(self.difference))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._stack)
        self._keep_split = Coalescer(self._save_split, self, 400)
        self._wire()
        self.presenter.start()

    # --- What the window asks -----------------------------------------------------------------------------------------

    def heading(self) -> Heading:
        presenter = self.presenter
        if not presenter.is_open:
            return Heading(msg("planui.title"), actions=(self._open_action(), self._new_action()))
        return Heading(presenter.plan.name or msg("planui.unnamed"), self._saved_note(), actions=self._actions())

    def path(self) -> str:
        return self.presenter.path

    def visit(self, path: str) -> None:
        self.presenter.visit(path)

    def panes(self) -> Sequence[QWidget]:
        if not self.presenter.is_open:
            return (self.start_view,)
        return (self.wizard, self.results, self.machines)

    def leave(self) -> bool:
        if self._stack.currentIndex() == _DIFFERENCE:
            self._show_stack()
            return True
        return self.wizard.leave()

    def dropped(self, paths: Sequence[str]) -> bool:
        if not paths or any(Path(path).suffix.lower() in ELSEWHERE for path in paths):
            return False
        self.presenter.take_files(paths)
        return True

    def pasted(self, text: str) -> bool:
        self.presenter.take_text(text)
        return True

    def focus_first(self) -> None:
        row = self.wizard.model_row if self.presenter.is_open else None
        (row if row is not None else self.start_view.new_button).setFocus(Qt.FocusReason.OtherFocusReason)

    def close_page(self) -> None:
        self.presenter.close()

    # --- Actions ------------------------------------------------------------------------------------------------------

    def _actions(self) -> tuple[PageAction, ...]:
        document = self.presenter.document
        undo, redo = document.undo_name, document.redo_name
        pins = len(self.presenter.pins)
        return (
            PageAction(
                "undo",
                msg("planui.undo"),
                document.undo,
                icon="undo-2",
                shortcut="Ctrl+Z",
                enabled=undo is not None,
            ),
            PageAction(
                "redo",
                msg("planui.redo.named", what=redo) if redo else msg("planui.redo"),
                document.redo,
                icon="redo-2",
                shortcut="Ctrl+Shift+Z",
                enabled=redo is not None,
                in_bar=False,
            ),
            PageAction("more", msg("planui.plan_menu"), self._open_menu, icon="ellipsis"),
            PageAction("plans", msg("planui.plans"), self._show_plans, icon="file-text", in_bar=False),
            PageAction("duplicate", msg("planui.duplicate"), self._duplicate, icon="copy", in_bar=False),
            PageAction(
                "save_as", msg("planui.save_as"), self._save_as, icon="download", shortcut="Ctrl+Shift+S", in_bar=False
            ),
            PageAction("machine", msg("planui.machine.choose"), self._pick_machine, icon="gpu", in_bar=False),
            PageAction(
                "difference", msg("planui.difference.with"), self._open_differences, icon="git-compare", in_bar=False
            ),
            PageAction(
                "compare",
                msg("planui.compare", count=pins) if pins else msg("planui.compare.none"),
                self._compare,
                ButtonKind.PRIMARY if pins > 1 else ButtonKind.PLAIN,
                enabled=pins > 1,
            ),
            self._open_action(in_bar=False),
            self._new_action(in_bar=False),
        )

    def _open_action(self, *, in_bar: bool = True) -> PageAction:
        return PageAction("open", msg("planui.start.open"), self._choose_file, icon="folder-open", in_bar=in_bar)

    def _new_action(self, *, in_bar: bool = True) -> PageAction:
        return PageAction("new", msg("planui.start.new"), self._new, icon="plus", shortcut="Ctrl+N", in_bar=in_bar)

    def _open_menu(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for action in self._actions():
            if action.id in {"redo", "duplicate", "save_as", "plans", "new", "open"}:
                entry = menu.addAction(self._appearance.text(action.label), action.run)
                entry.setEnabled(action.enabled)
        others = [plan for plan in self.presenter.shelved() if plan.id != self.presenter.autosave.plan_id]
        inner = menu.addMenu(self._appearance.text("planui.difference.with"))
        inner.setEnabled(bool(others))
        self._fill_differences(inner)
        menu.popup(self.mapToGlobal(self.rect().topRight()) - QPoint(menu.sizeHint().width() + _MARGIN, 4))

    def _open_differences(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._fill_differences(menu)
        pop_up(menu, self._name)

    def _fill_differences(self, menu: QMenu) -> None:
        for plan in self.presenter.shelved():
            if plan.id != self.presenter.autosave.plan_id:
                name = plan.name or self._appearance.text("planui.unnamed")
                menu.addAction(name.replace("&", "&&"), lambda wanted=plan.id: self.show_difference(wanted))

    def show_difference(self, plan_id: str) -> None:
        """Show how the open plan differs from another one of the shelf."""
        other = self.presenter.shelved_plan(plan_id)
        if other is not None:
            self.difference.show_plans(self.presenter.plan, other)
            self._stack.setCurrentIndex(_DIFFERENCE)

    def _show_plans(self) -> None:
        self.presenter.show_start()

    def _new(self) -> None:
        self.presenter.new_plan(self._appearance.text("planui.new_name"), "serving")

    def _duplicate(self) -> None:
        name = self.presenter.plan.name or self._appearance.text("planui.unnamed")
        self.presenter.duplicate(self._appearance.text("planui.copy_of", name=name))

    def _save_as(self) -> None:
        usual = (self.presenter.plan.name or "plan").replace("/", "-").replace("\\", "-")[:80]
        title = self._appearance.text("planui.save_as")
        path, _ = QFileDialog.getSaveFileName(self, title, f"{usual}{PLAN_SUFFIX}", f"gpuplanner (*{PLAN_SUFFIX})")
        if path:
            self.presenter.save_as(Path(path))

    def _choose_file(self) -> None:
        paths, _ = QFileDialog.getOpenFileNames(self, self._appearance.text("planui.start.open"))
        if paths:
            self.presenter.take_files(paths)

    def _compare(self) -> None:
        self._context.go(Location("compare", ",".join(row_id(choice) for choice in self.presenter.pins)))

    # --- Pickers ------------------------------------------------------------------------------------------------------

    def _pick_model(self) -> None:
        row = self.wizard.model_row
        if row is None:
            return
        picker = Picker(
            self._appearance,
            lambda query: model_items(self.presenter.models(), query, self._appearance),
            msg("planui.model.search"),
            msg("planui.model.nothing"),
            (PickAction(msg("planui.model.open"), "folder-open", self._choose_file),),
            parent=row.button,
        )
        picker.picked.connect(lambda model_id: self.presenter.set_model(ModelChoice(catalog_id=model_id)))
        picker.open_below(row.button, 420)

    def _pick_machine(self) -> None:
        owner = self.results.verdict.machine_button
        picker = Picker(
            self._appearance,
            lambda query: machine_items(self.presenter.catalog, query, self._appearance),
            msg("planui.machine.search"),
            msg("planui.nothing_found"),
            parent=owner,
        )
        picker.picked.connect(lambda item: self.presenter.document.set_machine(choice_of_row(item)))
        picker.open_below(owner, 460)

    def _offered(self, field: Field, query: str) -> Sequence[PickItem]:
        return limit_items(field, self.presenter.catalog, query)

    # --- Showing ------------------------------------------------------------------------------------------------------

    def _show_path(self) -> None:
        self._show_stack()
        self.headingChanged.emit()
        self.moved.emit(self.path())

    def _show_stack(self) -> None:
        self._stack.setCurrentIndex(_PLAN if self.presenter.is_open else _START)

    def _show_shelf(self) -> None:
        if not self.presenter.is_open:
            self.start_view.show_plans(self.presenter.shelved())

    def _show_plan(self) -> None:
        plan = self.presenter.plan
        self.wizard.show_plan(plan)
        self._name.show_name(plan.name)
        self._show_model()
        self._show_automatic()
        self.headingChanged.emit()

    def _show_model(self) -> None:
        row = self.wizard.model_row
        if row is not None:
            choice = self.presenter.plan.workload.model
            size = model_size(choice, self.presenter.catalog, self._appearance)
            row.show_model(self.presenter.model_name(choice), size)

    def _show_automatic(self) -> None:
        workload = self.presenter.plan.workload
        found = automatic_values(
            workload,
            self.presenter.outcome.worked.estimate,
            self._architecture(workload.model),
            self.presenter.efficiencies,
            self._appearance,
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
        if searched is not None and searched.current and searched.result is not None:
            self.workSaid.emit(
                msg(
                    "planui.searched",
                    ways=f"{searched.result.configurations:,}",
                    ms=f"{searched.seconds * 1000:,.0f}",
                )
            )

    def _show_pins(self) -> None:
        self.machines.show_pins(self.presenter.pins)
        self.headingChanged.emit()

    def _show_banners(self) -> None:
        while (item := self._banners.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for banner in self.presenter.banners:
            box = NoticeBox(
                self._appearance,
                banner.message,
                banner.verdict,
                banner.actions[0] if banner.actions else None,
                closable=banner.closable,
            )
            if banner.closable:
                box.closed.connect(lambda wanted=banner.id: self.presenter.close_banner(wanted))
            self._banners.addWidget(box)
        self._banners.setContentsMargins(_MARGIN, _MARGIN if self.presenter.banners else 0, _MARGIN, 0)

    def _show_why(self) -> None:
        self._results_area.ensureWidgetVisible(self.results.why, 0, 20)

    def _catalog_read(self) -> None:
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

    def _apply(self, change: Change) -> None:
        estimate = self.presenter.outcome.worked.estimate
        if estimate is not None:
            self.presenter.apply(change, estimate.plan)

    def _choose_machine(self, machine: Machine) -> None:
        self.presenter.document.set_machine(choice_of(machine))

    def _copied(self) -> None:
        self._context.notices.say(msg("planui.copied"), Verdict.PASS)

    # --- Looking up ---------------------------------------------------------------------------------------------------

    def _rules(self) -> Mapping[str, Rule]:
        catalog = self.presenter.catalog
        return {rule.id: rule for rule in catalog.rules} if catalog is not None else {}

    def _architecture(self, choice: ModelChoice) -> ModelArchitecture | None:
        if choice.architecture is not None:
            return choice.architecture
        catalog = self.presenter.catalog
        model = catalog.models.get(choice.catalog_id) if catalog is not None else None
        return model.architecture if model is not None else None

    def _machine_name(self, choice: MachineChoice | None) -> MessageValue:
        if choice is None:
            return msg("planui.machine.best_found")
        try:
            machine = self._context.workspace.machine(choice)
        except InputError as fault:
            return fault.message
        return f"{machine_title(machine)} · {self._appearance.said(machine_offer(machine))}"

    # --- Laying out ---------------------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._choose_columns()

    def _lay_out_columns(self) -> QSplitter:
        left = QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.wizard)
        column.addStretch(1)
        self._wizard_area = scrolling(left)
        self._results_area: QScrollArea = scrolling(self.results)
        splitter = QSplitter(Qt.Orientation.Horizontal)
        splitter.setHandleWidth(GAP)
        splitter.setChildrenCollapsible(False)
        for widget, least in zip((self._wizard_area, self._results_area, self.machines), _LEAST_WIDTHS, strict=True):
            widget.setMinimumWidth(least)
            splitter.addWidget(widget)
        splitter.setStretchFactor(0, 0)
        splitter.setStretchFactor(1, 1)
        splitter.setStretchFactor(2, 0)
        kept = self._context.settings.kept(_SPLIT)
        known = isinstance(kept, list) and len(kept) == 3 and all(isinstance(n, int) and n > 0 for n in kept)
        splitter.setSizes(kept if known else [WIZARD_WIDTH, RESULTS_WIDTH, MACHINES_WIDTH])
        return splitter

    def _plan_widget(self) -> QWidget:
        holder = QWidget()
        inner = QVBoxLayout()
        inner.setContentsMargins(_MARGIN, _MARGIN, _MARGIN, _MARGIN)
        inner.setSpacing(10)
        inner.addWidget(self._sides, 0, Qt.AlignmentFlag.AlignRight)
        inner.addWidget(self._splitter, 1)
        layout = QVBoxLayout(holder)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(self._banners)
        layout.addLayout(inner, 1)
        return holder

    def _padded(self, card: QWidget) -> QWidget:
        holder = QWidget()
        layout = QVBoxLayout(holder)
        layout.setContentsMargins(_MARGIN, _MARGIN, _MARGIN, _MARGIN)
        layout.addWidget(card)
        layout.addStretch(1)
        return scrolling(holder)

    def _choose_side(self, side: str) -> None:
        self._side = side
        self._choose_columns()

    def _choose_columns(self) -> None:
        wide = self.width() - 2 * _MARGIN >= THREE_COLUMNS
        self._sides.setVisible(not wide)
        self._results_area.setVisible(wide or self._side == _RESULTS)
        self.machines.setVisible(wide or self._side == _MACHINES)

    def _save_split(self) -> None:
        if self._results_area.isVisible() and self.machines.isVisible():
            self._context.settings.keep(_SPLIT, self._splitter.sizes())

    def _wire(self) -> None:
        presenter, appearance = self.presenter, self._appearance
        self.wizard.edited.connect(self._edited)
        self.wizard.left.connect(presenter.document.close_step)
        self.wizard.kindChosen.connect(presenter.document.set_kind)
        self.wizard.modelWanted.connect(self._pick_model)
        self._name.renamed.connect(presenter.document.set_name)
        self._name.editingFinished.connect(presenter.document.close_step)
        self.wizard.put_first(self._name)
        presenter.document.changed.connect(self._show_plan)
        presenter.document.undoChanged.connect(self.headingChanged)
        presenter.pathChanged.connect(self._show_path)
        presenter.pathChanged.connect(self._show_shelf)
        presenter.shelfChanged.connect(self._show_shelf)
        presenter.savedChanged.connect(self.headingChanged)
        presenter.bannersChanged.connect(self._show_banners)
        presenter.pinsChanged.connect(self._show_pins)
        presenter.catalogRead.connect(self._catalog_read)
        presenter.outcome.workedChanged.connect(self._show_worked)
        presenter.outcome.searchedChanged.connect(self._show_searched)
        self.results.changes.chosen.connect(self._apply)
        self.results.verdict.machineWanted.connect(self._pick_machine)
        self.results.verdict.foundWanted.connect(lambda: presenter.document.set_machine(None))
        self.results.whyShown.connect(self._show_why)
        self.machines.chosen.connect(self._choose_machine)
        self.machines.pinned.connect(presenter.toggle_pin)
        self.machines.copied.connect(lambda _count: self._copied())
        self.difference.closed.connect(self._show_stack)
        self.start_view.newWanted.connect(self._new)
        self.start_view.fileWanted.connect(self._choose_file)
        self.start_view.presetWanted.connect(presenter.open_preset)
        self.start_view.planWanted.connect(presenter.open_shelved)
        self.start_view.pinToggled.connect(presenter.pin)
        self.start_view.removeWanted.connect(presenter.remove)
        self._splitter.splitterMoved.connect(self._keep_split.call)
        for signal in (appearance.languageChanged, appearance.displayChanged):
            signal.connect(self._show_plan_again)

    def _show_plan_again(self) -> None:
        if self.presenter.is_open:
            self._show_plan()
        else:
            self.headingChanged.emit()
