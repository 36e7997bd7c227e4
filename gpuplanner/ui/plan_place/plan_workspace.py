"""What the Plan place asks of the workspace. Types only."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.estimate import Estimate
from gpuplanner.engine.own_runs import Understood
from gpuplanner.engine.search.result import SearchResult
from gpuplanner.store.store import Store
from gpuplanner.workload.measurement_log import MeasuredRun
from gpuplanner.workload.plan import Plan


class PlanWorkspace(Protocol):
    """What of the workspace this place uses."""

    @property
    def catalog(self) -> Any: ...

    @property
    def efficiencies(self) -> Efficiencies: ...

    @property
    def store(self) -> Store: ...

    @property
    def presets(self) -> Mapping[str, Plan]: ...

    def sample(self) -> Plan: ...

    def stamped(self, plan: Plan) -> Plan: ...

    def estimate(self, plan: Plan) -> Estimate: ...

    def explained(self, plan: Plan) -> Estimate: ...

    def advised(self, made: Estimate) -> Estimate: ...

    def search(self, plan: Plan, cancelled: Callable[[], bool]) -> SearchResult: ...

    def resolve(self, text: str) -> Any: ...

    @property
    def home(self) -> Path: ...

    def understood(self, run: MeasuredRun, name: str, plan: Plan | None) -> Understood: ...

    def own_in_use(self) -> Sequence[object]: ...

    def measurements_changed(self) -> None: ...
