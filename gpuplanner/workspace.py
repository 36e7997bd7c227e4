"""The catalog with a person's overlays, the store and the settings, opened together: what the two faces call.

Holds no window and prints nothing. The store is opened when first used, so that a question from the command line
leaves no file behind. What works things out (the engine, the search, the names) is imported when it is first asked
for: a window is there before it, and a command pays only for what it uses.
"""

import locale
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuplanner import __version__
from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.catalog import Catalog, Rate
from gpuplanner.catalog.efficiency import Efficiencies, read_efficiencies
from gpuplanner.catalog.overlays import overlay_files
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.facts import Source
from gpuplanner.messages import InputError, Language, Message, Translator, msg
from gpuplanner.paths import is_there, shipped
from gpuplanner.store.plan_files import read_plan
from gpuplanner.store.settings import CURRENCY, LANGUAGE, MEMORY, OWN_MEASUREMENTS, RATES, Setting, Settings
from gpuplanner.store.store import FILE_NAME, Store, open_store
from gpuplanner.units import Display, MemoryConvention
from gpuplanner.workload.drafted import drafted
from gpuplanner.workload.measurement_log import COLLECTIVES, PARTS
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import MachineChoice, Plan, Workload, model_of
from gpuplanner.workload.rendering import Rendering
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.wizard import DRAFTING_KINDS, models_of

if TYPE_CHECKING:
    from gpuplanner.catalog.names import Names, Resolution
    from gpuplanner.catalog.search import CatalogIndex
    from gpuplanner.engine.answers.answer import Answer
    from gpuplanner.engine.answers.answering import Question
    from gpuplanner.engine.answers.slicing import Slicing
    from gpuplanner.engine.estimate import Estimate
    from gpuplanner.engine.machine import Machine
    from gpuplanner.engine.own_measurements import Own
    from gpuplanner.engine.own_runs import Understood
    from gpuplanner.engine.search.result import SearchResult
    from gpuplanner.engine.validation.rows import ValidationContext
    from gpuplanner.workload.measurement_log import MeasuredRun

HOME_VARIABLE = "GPUPLANNER_HOME"
MEASUREMENTS = "measurements"
"""The folder of a person's own measurements in their data folder."""
_MOST_NEAR = 3


def home_folder() -> Path:
    """Where a person's plans, settings and overlays are: `GPUPLANNER_HOME`, or the system's place for such files."""
    given = os.environ.get(HOME_VARIABLE)
    if given:
        return Path(given)
    from platformdirs import user_data_path

    return user_data_path("gpuplanner", appauthor=False)


def system_language() -> Language:
    """The language that the environment asks for."""
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if os.environ.get(variable):
            return Language.from_locale(os.environ[variable])
    return Language.from_locale(locale.getlocale()[0])


class Workspace:
    """Everything that is open. Made once, where the face is wired; `home` is the folder of `home_folder`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.own_left_out = False
        """Whether the person's own measurements are left out of this session's estimates."""

    @cached_property
    def catalog(self) -> Catalog:
        """The shipped catalog with the person's overlays. What is wrong with these is in its `problems`."""
        overlays = overlay_files(self.home / "overlays")
        if not overlays:
            return load_catalog(shipped("catalogs"))
        today = datetime.now(UTC).date()
        return load_catalog(shipped("catalogs"), overlays, today, _own_rates(self._chosen(RATES)))

    def catalog_changed(self) -> None:
        """The person's own files are others: read them when next asked."""
        for name in ("catalog", "names", "index"):
            self.__dict__.pop(name, None)

    @cached_property
    def efficiencies(self) -> Efficiencies:
        """The calibrated efficiencies that come with the app."""
        return read_efficiencies(shipped("catalogs") / "efficiency")

    @cached_property
    def store(self) -> Store:
        """The person's store, created when first asked for."""
        return open_store(self.home)

    @property
    def store_notes(self) -> tuple[Message, ...]:
        """What went wrong when the store was opened; nothing as long as it was not needed."""
        return self.store.notes if "store" in self.__dict__ else ()

    @cached_property
    def settings(self) -> Settings:
        """The person's settings."""
        return Settings(self.store)

    @property
    def language(self) -> Language:
        """The language that was chosen, or that of the system."""
        chosen = self._chosen(LANGUAGE)
        return system_language() if chosen == "system" else Language(chosen)

    def translator(self) -> Translator:
        """Renders messages in the language of the settings."""
        return Translator(self.language)

    def rates(self) -> Mapping[str, Rate]:
        """Currency rates: the catalog's, and before them the person's own."""
        return {**self.catalog.currencies, **_own_rates(self._chosen(RATES))}

    def display(self) -> Display:
        """How numbers are shown."""
        currency = self._chosen(CURRENCY)
        memory = MemoryConvention(self._chosen(MEMORY))
        rate = self.rates().get(currency)
        if currency == "USD" or rate is None:
            return Display(memory)
        return Display(memory, currency, rate.per_usd, rate.date)

    def architecture(self, choice: ModelChoice) -> ModelArchitecture:
        """The architecture of a plan's model. Raises InputError when the catalog does not have it."""
        if choice.architecture is not None:
            return choice.architecture
        model = self.catalog.models.get(choice.catalog_id or "")
        if model is None:
            raise self._unknown("model", choice.catalog_id or "")
        if model.architecture is None:
            raise InputError(msg("workspace.model_without_architecture", model=model.name))
        return model.architecture

    def subject(self, workload: Workload) -> Any:
        """What a workload runs: an architecture, a network, the GPU of a known frame, or None where it names none.

        Raises InputError when the catalog does not have it, or when the workload cannot run a model of its kind.
        """
        if isinstance(workload, Rendering):
            if workload.known_gpu not in self.catalog.gpus:
                raise self._unknown("gpu", workload.known_gpu)
            return self.catalog.gpus[workload.known_gpu]
        choice = model_of(workload)
        found = None if choice is None else choice.architecture
        if choice is not None and found is None:
            model = self.catalog.models.get(choice.catalog_id or "")
            if model is not None and model.kind not in models_of(type(workload)):
                raise InputError(msg("workspace.model_of_another_kind", model=model.name))
            if model is not None and model.network is not None:
                return model.network
            found = self.architecture(choice)
        if found is not None and isinstance(workload, Serving) and workload.drafting_model is not None:
            return drafted(found, self._drafting(workload.drafting_model))
        return found

    def _drafting(self, model_id: str) -> ModelArchitecture:
        model = self.catalog.models.get(model_id)
        if model is not None and model.kind not in DRAFTING_KINDS:
            raise InputError(msg("workspace.draft_of_another_kind", model=model.name))
        return self.architecture(ModelChoice(catalog_id=model_id))

    def machine(
        self, choice: MachineChoice, regions: Collection[str] = (), network_bits_per_s: float | None = None
    ) -> "Machine":
        """The machine of a plan; prices of `regions` count first. Raises InputError when the catalog has it not.

        `network_bits_per_s`: what the network of a node is taken to be where it is not known.
        """
        if choice.instance_id is not None and choice.instance_id not in self.catalog.instances:
            raise self._unknown("instance", choice.instance_id)
        if choice.gpu_id is not None and choice.gpu_id not in self.catalog.gpus:
            raise self._unknown("gpu", choice.gpu_id)
        from gpuplanner.engine.machines import machine_of

        return machine_of(choice, self.catalog, self.rates(), regions, network_bits_per_s)

    def stamped(self, plan: Plan) -> Plan:
        """The plan with the app's version and the catalog's hash that it is being worked out with."""
        return plan.model_copy(update={"app_version": __version__, "catalog_hash": self.catalog.hash})

    def estimate(self, plan: Plan) -> "Estimate":
        """The estimate of a plan on the machine it names. Raises InputError when it names none or an unknown one."""
        from gpuplanner.engine import estimating

        return estimating.estimate(plan, *self._subject(plan), self.efficiencies, self.catalog.rules, self.own_in_use())

    @cached_property
    def _own_read(self) -> "tuple[tuple[Own, ...], tuple[Message, ...]]":
        from gpuplanner.store.own_measurements import read_own

        return read_own(self.home)

    @property
    def own_measurements(self) -> "tuple[Own, ...]":
        """What the person measured and keeps; read once, and again after `measurements_changed`."""
        return self._own_read[0]

    @property
    def own_problems(self) -> tuple[Message, ...]:
        """What of the person's measurements cannot be used and is left out; nothing while none are read."""
        return self._own_read[1] if "_own_read" in self.__dict__ else ()

    def read_own_measurements(self) -> tuple[Message, ...]:
        """Read the person's measurements where there are any, and say what is left out of them."""
        return self._own_read[1] if is_there(self.home / MEASUREMENTS) else ()

    def measurements_changed(self) -> None:
        """The measurements were added to or removed."""
        self.__dict__.pop("_own_read", None)

    def own_in_use(self) -> "tuple[Own, ...]":
        """The person's measurements that count now: those that are not switched off, unless all are left out."""
        if self.own_left_out or not is_there(self.home / MEASUREMENTS) or self._chosen(OWN_MEASUREMENTS) == "off":
            return ()
        return tuple(measurement for measurement in self.own_measurements if measurement.used)

    def understood(self, run: "MeasuredRun", name: str, plan: Plan | None, gpu: str = "") -> "Understood":
        """What a measured run would be kept as: of this plan, or of the links of GPUs that the table or `gpu` names.

        Raises InputError where it says nothing of this plan, or what cannot be of it.
        """
        from gpuplanner.engine.own_runs import (
            links_of_run,
            machine_of_links,
            machine_of_parts,
            parts_of_run,
            run_of_plan,
        )
        from gpuplanner.store.own_measurements import new_id

        today = datetime.now(UTC).astimezone().date().isoformat()
        if run.kind == COLLECTIVES:
            found = self.resolve(gpu or run.model, "gpu")
            if found.id is None:
                raise InputError(found.reason)
            machine = self.machine(machine_of_links(run, name, found.id))
            return links_of_run(run, name, today, machine, self.efficiencies, new_id)
        if run.kind == PARTS:
            found = self.resolve(gpu or run.model, "gpu")
            if found.id is None:
                raise InputError(found.reason)
            machine = self.machine(machine_of_parts(run, name, found.id))
            return parts_of_run(run, name, today, machine, self.efficiencies, new_id)
        if plan is None:
            raise InputError(msg("own.of_which_plan", file=name, kind=msg(f"own.kind.{run.kind}")))
        understood = run_of_plan(run, name, today, plan, self._without_own, new_id)
        return replace(understood, doubt=self._another_model(run, name, plan))

    def _another_model(self, run: "MeasuredRun", name: str, plan: Plan) -> Message | None:
        """That a file names another model than the plan, where both are known and differ; else None."""
        choice = model_of(plan.workload)
        named = self.resolve(run.model, "model") if run.model else None
        if choice is None or choice.catalog_id is None or named is None or named.id in {None, choice.catalog_id}:
            return None
        model = self.catalog.models.get(choice.catalog_id)
        planned = model.name if model is not None else choice.catalog_id
        return msg("own.another_model", file=name, model=named.name or run.model, planned=planned)

    def _without_own(self, plan: Plan) -> "Estimate":
        from gpuplanner.engine import estimating

        return estimating.estimate(plan, *self._subject(plan), self.efficiencies, self.catalog.rules)

    def advised(self, made: "Estimate") -> "Estimate":
        """The estimate with the smallest changes that help, where it does not fit or misses a goal."""
        from gpuplanner.engine.changes import advised

        subject, own = self.subject(made.plan.workload), self.own_in_use()
        return advised(made, subject, self.efficiencies, self.catalog.gpus, own)

    def explained(self, plan: Plan) -> "Estimate":
        """The same estimate with the derivation of every figure."""
        from gpuplanner.engine import estimating

        return estimating.explain(plan, *self._subject(plan), self.efficiencies, self.catalog.rules, self.own_in_use())

    def answer(self, plan: Plan, question: "Question", *, explained: bool = False) -> "Answer":
        """The answer to a question about a plan on the machine it names (see `engine/answers`)."""
        from gpuplanner.engine.answers.answering import answered

        own = self.own_in_use()
        return answered(
            question, plan, *self._subject(plan), self.efficiencies, self.catalog.rules, own, explained=explained
        )

    def slicing(self, plan: Plan, usd_per_hour: float | None = None) -> "Slicing":
        """The question which slice of the plan's GPU is enough, with the profiles that this GPU has.

        `usd_per_hour`: of one whole GPU. Raises InputError when the plan names no machine.
        """
        from gpuplanner.engine.answers.slicing import Slicing

        gpu_id = self._subject(plan)[1].gpu.id
        return Slicing(self.names.mig_profiles(gpu_id), self.names.vgpu_boards(gpu_id), usd_per_hour)

    def search(
        self,
        plan: Plan,
        cancelled: Callable[[], bool] = lambda: False,
        progress: Callable[[float], None] = lambda _: None,
        ranged: int | None = None,
    ) -> "SearchResult":
        """Ways of running × machines of the catalog under the plan's constraints.

        `ranged`: how many of the first have ranges, as many as a person looks at where None.
        """
        from gpuplanner.engine.search.searching import MOST_RANGED, search

        subject, own = self.subject(plan.workload), self.own_in_use()
        return search(
            plan,
            subject,
            self.catalog,
            self.efficiencies,
            self.rates(),
            cancelled,
            progress,
            own,
            MOST_RANGED if ranged is None else ranged,
        )

    def with_best_machine(self, plan: Plan) -> Plan | None:
        """The plan on the first machine of its ranking, None when no machine carries it."""
        found = self.search(plan, ranged=0).candidates
        return found[0].plan if found else None

    @cached_property
    def names(self) -> "Names":
        """Resolves names as tools, clouds and people print them."""
        from gpuplanner.catalog.names import names_of

        return names_of(self.catalog)

    @cached_property
    def index(self) -> "CatalogIndex":
        """Search over everything, and the pages of the tables."""
        from gpuplanner.catalog.search import CatalogIndex

        return CatalogIndex(self.catalog)

    def resolve(self, text: str, kind: str | None = None, memory_bytes: float | None = None) -> "Resolution":
        """What a name means."""
        return self.names.resolve(text, kind=kind, memory_bytes=memory_bytes)

    def validation_context(self) -> "ValidationContext":
        """What the validation of measurement files works with."""
        from gpuplanner.engine.validation.names import ResolvedNames
        from gpuplanner.engine.validation.rows import ValidationContext

        return ValidationContext(
            ResolvedNames(self.catalog, self.names), self.efficiencies, self.catalog.gpus, self.catalog.models
        )

    @cached_property
    def presets(self) -> Mapping[str, Plan]:
        """Plans to start from, by name."""
        return {path.stem: read_plan(path) for path in sorted((shipped("resources") / "presets").glob("*.gpuplan"))}

    def sample(self) -> Plan:
        """The plan that shows what the app does, marked as a sample."""
        return read_plan(shipped("resources") / "sample" / "sample.gpuplan")

    def _chosen(self, setting: Setting) -> Any:
        kept = is_there(self.home / FILE_NAME) or "store" in self.__dict__
        return self.settings.get(setting) if kept else setting.default

    def _unknown(self, kind: str, entry_id: str) -> InputError:
        """That the catalog has no entry of an id, with the ids of those that may have been meant."""
        found = self.resolve(entry_id, kind)
        near = [found.id] if found.id else [candidate.id for candidate in found.candidates[:_MOST_NEAR]]
        if near:
            return InputError(msg(f"workspace.unknown_{kind}_near", id=entry_id, near=", ".join(near)))
        return InputError(msg(f"workspace.unknown_{kind}", id=entry_id))

    def _subject(self, plan: Plan) -> "tuple[Any, Machine]":
        if plan.machine is None:
            raise InputError(msg("workspace.no_machine"))
        asked = plan.constraints
        return self.subject(plan.workload), self.machine(plan.machine, asked.regions, asked.network_bits_per_s)


def _own_rates(kept: Any) -> dict[str, Rate]:
    """The person's rates that can be used; what is malformed is passed over."""
    rates: dict[str, Rate] = {}
    for code, rate in kept.items() if isinstance(kept, dict) else ():
        per_usd = rate.get("per_usd") if isinstance(rate, dict) else None
        if isinstance(per_usd, int | float) and not isinstance(per_usd, bool) and 0 < per_usd < 1e9:
            date = str(rate.get("date", ""))
            rates[str(code)] = Rate(str(code), float(per_usd), date, Source("user", "", date, user=True))
    return rates
