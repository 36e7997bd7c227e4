"""The state and the commands of the Plan place: which plan is open, how one gets there, and what is done with it.

It joins the document (edits, undo), its autosave, the outcome (estimate and search) and the person's plans. Knows no
widget.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from gpuplanner.engine.estimate import Change
from gpuplanner.engine.search.result import Candidate
from gpuplanner.messages import InputError, Message, MessageValue, msg, without_controls
from gpuplanner.store.plan_files import write_plan
from gpuplanner.store.plans import PlanShelf, Revision
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.background import Cancel, Jobs
from gpuplanner.ui.notices import NoticeAction, Notices
from gpuplanner.ui.pins import MOST_PINS, PinKind, Pins, candidate_pin
from gpuplanner.ui.plan_place.autosave import Autosave
from gpuplanner.ui.plan_place.banners import CONFLICT, NOT_SAVED, OTHER_CATALOG, Banner, Banners
from gpuplanner.ui.plan_place.document import PlanDocument
from gpuplanner.ui.plan_place.edits import kind_that_runs, runs_same_models, with_change, with_kind
from gpuplanner.ui.plan_place.history.entries import History
from gpuplanner.ui.plan_place.intake import Taken
from gpuplanner.ui.plan_place.measured.asking import MeasuredAsking
from gpuplanner.ui.plan_place.measured.counting import OwnInUse
from gpuplanner.ui.plan_place.outcome import Outcome
from gpuplanner.ui.plan_place.own_plans import OwnPlans
from gpuplanner.ui.plan_place.plan_catalog import PlanCatalog
from gpuplanner.ui.plan_place.plan_workspace import PlanWorkspace
from gpuplanner.ui.plan_place.taking import Taking
from gpuplanner.ui.plan_place.undo import UndoStack
from gpuplanner.ui.plan_titles import Titles
from gpuplanner.ui.settings import WINDOW, Settings
from gpuplanner.ui.tokens import Verdict
from gpuplanner.workload.measurement_log import COLLECTIVES, PARTS, MeasuredRun
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan, model_of
from gpuplanner.workload.serving import Serving

LAST_PLAN = WINDOW + "plan"
PLAN, PRESET, WITH = "plan/", "preset/", "with/"
"""What a path begins with: a plan of the shelf, a preset, or `with/gpu|instance|model/<id>`."""
SAMPLE = "sample"


@dataclass(frozen=True, slots=True)
class Carried:
    """A plan that was open, and what could be undone of it."""

    path: str
    plan: Plan
    history: UndoStack


class PlanPresenter(QObject):
    """Signals tell what changed; views read the properties."""

    pathChanged = Signal()
    """Another plan is shown, or the start page."""
    pinsChanged = Signal()
    savedChanged = Signal()

    def __init__(
        self,
        workspace: PlanWorkspace,
        jobs: Jobs,
        settings: Settings,
        notices: Notices,
        appearance: Appearance,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._appearance = appearance
        self._workspace = workspace
        self._jobs = jobs
        self._settings = settings
        self._notices = notices
        self._preset = ""
        self._open = False
        self._shelf = PlanShelf(workspace.store)
        self.facts = PlanCatalog(workspace, jobs, self)
        self.banners = Banners(self)
        self.pins = Pins(settings)
        self.plans = OwnPlans(self._shelf, notices, self)
        self.presets: Mapping[str, Plan] = {SAMPLE: workspace.sample(), **workspace.presets}
        """Plans to start from, the sample first."""
        self.titles = Titles(appearance, self.presets)
        self.document = PlanDocument(self.presets[SAMPLE], self)
        self.autosave = Autosave(self._shelf, jobs, workspace.stamped, self)
        self.outcome = Outcome(workspace, jobs, self)
        self.history = History(self._shelf, workspace, jobs, self)
        self.taking = Taking(jobs, notices, workspace, self)
        self.taking.taken.connect(self._taken)
        self.measured = MeasuredAsking(workspace, jobs, notices, self)
        self.own = OwnInUse(workspace, jobs, self)
        self.measured.kept.connect(self.own.expect)
        self.own.changed.connect(self._count_anew)
        self.document.changed.connect(self._changed)
        self.autosave.saved.connect(self._saved)
        self.autosave.failed.connect(self._not_saved)
        self.autosave.overtaken.connect(self._overtaken)

    # --- What is shown ------------------------------------------------------------------------------------------------

    @property
    def plan(self) -> Plan:
        """The open plan."""
        return self.document.plan

    @property
    def is_open(self) -> bool:
        """Whether a plan is shown; else the start page is."""
        return self._open

    @property
    def path(self) -> str:
        """Where the person is: `plan/<id>`, `preset/<id>`, or nothing for the start page."""
        if not self._open:
            return ""
        return PLAN + self.autosave.plan_id if self.autosave.plan_id else PRESET + self._preset

    @property
    def title(self) -> MessageValue:
        """What the open plan is called; one of our names in the language in use."""
        return self.titles.of(self.plan.name)

    # --- Opening ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Go where the person was last: that plan or preset, or the start page."""
        last = self._settings.kept(LAST_PLAN, "")
        self.visit(last if isinstance(last, str) else "")

    def visit(self, path: str) -> None:
        """Go to a path; what it names and is not there any more leads to the start page."""
        if self._open and path == self.path:
            return
        if path.startswith(PLAN) and self.open_shelved(path.removeprefix(PLAN)):
            return
        if path.startswith(PRESET) and path.removeprefix(PRESET) in self.presets:
            self.open_preset(path.removeprefix(PRESET))
            return
        if path.startswith(WITH) and self._plan_with(path.removeprefix(WITH)):
            return
        self.show_start()

    def _plan_with(self, path: str) -> bool:
        """Take a GPU, an instance or a model of the catalog into the open plan, or into a new one."""
        kind, _, entry_id = path.partition("/")
        if not entry_id or kind not in {"gpu", "instance", "model"}:
            return False
        if not self._open:
            last = self._settings.kept(LAST_PLAN, "")
            if not (isinstance(last, str) and last.startswith(PLAN) and self.open_shelved(last.removeprefix(PLAN))):
                self._ensure_open()
        if kind == "model":
            self._run_model(ModelChoice(catalog_id=entry_id))
        elif kind == "gpu":
            self.document.set_machine(MachineChoice(gpu_id=entry_id, gpus=1, per_node=1))
        else:
            self.document.set_machine(MachineChoice(instance_id=entry_id))
        return True

    def show_start(self) -> None:
        """Show the start page. The open plan is kept as it is."""
        self.autosave.flush()
        self.outcome.stop()
        self._open = False
        self._arrived()

    def open_shelved(self, plan_id: str) -> bool:
        """Open a plan of the shelf at its newest revision. Tells whether it is there."""
        self.autosave.flush()
        try:
            newest = self._shelf.latest(plan_id)
        except InputError as fault:
            self._notices.say(fault.message, Verdict.FAIL)
            return False
        if newest is None:
            if self._shelf.holds(plan_id):
                self._notices.say(msg("store.plan_unreadable"), Verdict.FAIL)
            return False
        if newest.passed_over:
            self._notices.say(msg("store.older_revision", count=newest.passed_over), Verdict.WARN)
        with suppress(InputError):
            # Only the order of the list depends on it; a full disk must not keep a plan closed.
            self._shelf.opened(plan_id)
        self._show(newest.plan, plan_id, newest.id)
        return True

    def open_preset(self, name: str) -> None:
        """Open a preset. It becomes a plan of the person's own with the first change."""
        self._preset = name
        plan = self.presets[name]
        plan = plan if plan.name else plan.model_copy(update={"name": self.preset_name(name)})
        self._show(plan, "", 0)

    def restore(self, revision: Revision) -> None:
        """Take an earlier state of the open plan as its newest one; it can be undone."""
        label = msg("planui.history.restored")
        self.document.replace(revision.plan.model_copy(update={"sample": False}), label)

    def preset_name(self, name: str) -> str:
        """What a preset is called."""
        return self._appearance.text(f"preset.{name}")

    def add(self, plan: Plan) -> None:
        """Put a new plan on the shelf and open it."""
        self.autosave.flush()
        if plan.sample and not plan.name:
            plan = plan.model_copy(update={"name": self.preset_name(SAMPLE)})
        try:
            plan_id, revision = self._shelf.add(self._workspace.stamped(plan))
        except InputError as fault:
            self._show(plan, "", 0)
            self._not_saved(fault.message)
            return
        self._show(plan, plan_id, revision)
        self.plans.changed.emit()

    def new_plan(self, name: str, kind: str, runs: ModelChoice | None = None) -> None:
        """A new plan of a kind, with the usual values; without a model with that of the sample."""
        model = self._usual_model
        usual = with_kind(
            Plan(name=name, workload=Serving(model=model)), kind, parameters=self.facts.parameters(runs or model)
        )
        if runs is not None:
            usual = usual.model_copy(update={"workload": usual.workload.model_copy(update={"model": runs})})
        self.add(usual)

    def duplicate(self, name: str) -> None:
        """A copy of the open plan under another name; the copy is then open."""
        self.add(self.plan.model_copy(update={"name": without_controls(name)[:200], "sample": False}))

    def save_as(self, path: Path) -> None:
        """Write the open plan into a file, in another thread."""
        plan = self._workspace.stamped(self.plan)

        def work(_cancel: Cancel) -> None:
            write_plan(path, plan)

        def failed(fault: Exception) -> None:
            if not isinstance(fault, InputError):
                raise fault
            self._notices.say(fault.message, Verdict.FAIL)

        self._jobs.run(
            work, lambda _none: self._notices.say(msg("planui.written", file=path.name), Verdict.PASS), failed
        )

    def _taken(self, taken: Taken) -> None:
        if taken.plan is not None:
            self.add(taken.plan)
        elif taken.model is not None:
            self._ensure_open()
            self._run_model(taken.model)
        elif taken.machine is not None:
            self._ensure_open()
            self.document.set_machine(taken.machine)
        for run in taken.runs:
            self._ask_about(run, taken.name)

    def _run_model(self, choice: ModelChoice) -> None:
        """Run a model in the open plan; in a new one where the open plan is of a kind that runs no such models."""
        kind = kind_that_runs(self.facts.model_kind(choice), self.plan)
        if kind is None or kind == self.plan.workload.kind:
            self.set_model(choice)
            return
        self.new_plan(self.facts.model_name(choice), kind, choice)
        self._notices.say(msg("planui.new_for_model", kind=msg(f"planui.kind.{kind}")), Verdict.INFO)

    def _ask_about(self, run: MeasuredRun, name: str) -> None:
        """Ask whether a measurement of the open plan is to be kept; measured links need no plan of their kind."""
        if not self._open and run.kind not in {COLLECTIVES, PARTS}:
            self._notices.say(msg("own.of_which_plan", file=name, kind=msg(f"own.kind.{run.kind}")), Verdict.WARN)
            return
        self._ensure_open()
        self.measured.ask(run, name, self.plan)

    def _count_anew(self) -> None:
        if self._open:
            self.outcome.work_out(self.plan)

    def _ensure_open(self) -> None:
        if not self._open:
            self.new_plan(self._appearance.text("planui.new_name"), "serving")

    # --- Going on after the catalog was read anew ---------------------------------------------------------------------

    def carried(self) -> "Carried | None":
        """The open plan with what can be undone, for the presenter that follows this one."""
        return Carried(self.path, self.plan, self.document.history) if self._open else None

    def carry_on(self, carried: "Carried") -> None:
        """Go on with what could be undone, if the same plan is open in the same state."""
        if self._open and self.path == carried.path and _unstamped(self.plan) == _unstamped(carried.plan):
            self.document.go_on(carried.history)

    # --- Commands on the plan -----------------------------------------------------------------------------------------

    def apply(self, change: Change, estimated: Plan) -> None:
        """Make one of the smallest changes, found for `estimated`; it can be undone.

        Only what it changes is changed: neither what the search filled in, nor what was edited meanwhile.
        """
        self.document.replace(with_change(self.plan, estimated, change.plan), change.what)

    def set_kind(self, kind: str) -> None:
        """Plan another kind of workload; see `with_kind`."""
        model = model_of(self.plan.workload)
        if model is None or not runs_same_models(self.plan.workload, kind):
            model = self._usual_model
        self.document.set_kind(kind, self.facts.parameters(model), self._usual_model)

    @property
    def _usual_model(self) -> ModelChoice:
        """The language model to begin with: that of the sample."""
        model = model_of(self.presets[SAMPLE].workload)
        if model is None:
            raise TypeError("the sample runs a model")
        return model

    def set_model(self, choice: ModelChoice) -> None:
        """Run another model."""
        if choice != model_of(self.plan.workload):
            workload = self.plan.workload.model_copy(update={"model": choice})
            plan = self.plan.model_copy(update={"workload": workload})
            self.document.replace(plan, msg(f"field.{workload.kind}.model"))

    def pinned(self) -> frozenset[str]:
        """The ids of the pinned machines, of this plan's ranking and of others."""
        return frozenset(pin.id for pin in self.pins.all() if pin.kind is PinKind.CANDIDATE)

    def toggle_pin(self, candidate: Candidate) -> None:
        """Take a machine with its numbers into the comparison, or out of it."""
        estimate = None
        with suppress(InputError):
            # Without ranges it can be compared all the same.
            estimate = self._workspace.estimate(candidate.plan)
        if not self.pins.toggle(candidate_pin(candidate, self.plan, estimate)):
            self._notices.say(msg("planui.pins_full", most=MOST_PINS), Verdict.WARN)
        self.pinsChanged.emit()

    # --- What is said above the plan ----------------------------------------------------------------------------------

    def _overtaken(self, other: Revision) -> None:
        take = NoticeAction(msg("planui.conflict.take"), lambda: self._adopt(other))
        self.banners.say(Banner(CONFLICT, msg("planui.conflict"), Verdict.WARN, (take,)))

    def _adopt(self, other: Revision) -> None:
        self.banners.close(CONFLICT)
        self.document.replace(other.plan, msg("planui.conflict.taken"))

    def _not_saved(self, reason: Message) -> None:
        again = NoticeAction(msg("planui.try_again"), self.autosave.retry)
        self.banners.say(Banner(NOT_SAVED, reason, Verdict.FAIL, (again,), closable=False))
        self.savedChanged.emit()

    # --- Inside -------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """The window closes: keep what has not been kept."""
        self.outcome.stop()
        self.measured.close()
        self.own.close()
        self._workspace.store.hurry(hurried=False)
        self.autosave.flush(patient=True)

    def _show(self, plan: Plan, plan_id: str, revision: int) -> None:
        self.autosave.follow(plan_id, revision, None if plan_id else plan)
        self.banners.keep_only(NOT_SAVED if self.autosave.problem is not None else "")
        self._open = True
        self._compare_editions(plan)
        self.document.open(plan)
        self._arrived()

    def _compare_editions(self, plan: Plan) -> None:
        """Say when a plan was last worked out with other facts than those at hand."""
        catalog = self.facts.catalog
        if plan.catalog_hash and catalog is not None and plan.catalog_hash != catalog.hash:
            # Read when it is needed: the window is there sooner without.
            from gpuplanner.catalog.overlays import same_edition

            says = msg("planui.other_catalog", date=catalog.date)
            if same_edition(plan.catalog_hash, catalog.hash):
                says = msg("planui.other_own_files")
            self.banners.say(Banner(OTHER_CATALOG, says, Verdict.INFO))

    def _arrived(self) -> None:
        self._settings.keep(LAST_PLAN, self.path)
        self.pathChanged.emit()
        self.savedChanged.emit()

    def _changed(self, label: str) -> None:
        if label:
            self.autosave.keep(self.plan, label)
            self.savedChanged.emit()
        if self._open:
            self.outcome.work_out(self.plan)
            self.measured.plan_changed(self.plan)

    def _saved(self) -> None:
        if self.autosave.problem is None:
            self.banners.close(NOT_SAVED)
        if self._settings.kept(LAST_PLAN, "") != self.path:
            self._arrived()
        self.plans.changed.emit()
        self.savedChanged.emit()


def _unstamped(plan: Plan) -> Plan:
    """A plan without what it was last worked out with: it is stamped when it is kept."""
    return plan.model_copy(update={"catalog_hash": "", "app_version": ""})
