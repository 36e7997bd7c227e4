"""What the Plan place knows of the catalog: nothing until it has been read beside the window, then its entries."""

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QObject, Signal

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Model, Rule
from gpuplanner.catalog.networks import Network
from gpuplanner.catalog.parameters import total_parameters
from gpuplanner.ui.background import Cancel, Jobs
from gpuplanner.ui.plan_place.plan_workspace import PlanWorkspace
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.wizard import MODEL_KINDS


class PlanCatalog(QObject):
    """`read` is emitted once, when the catalog is there; until then every answer is empty."""

    read = Signal()

    def __init__(self, workspace: PlanWorkspace, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.catalog: Any = None
        self.efficiencies: Efficiencies | None = None
        jobs.run(self._read, self._was_read, urgent=True)

    def models(self, control: str) -> Sequence[Model]:
        """The models that can be planned with, of the kinds that a control offers; see `wizard.MODEL_KINDS`."""
        if self.catalog is None:
            return ()
        kinds = MODEL_KINDS[control]
        return [m for m in self.catalog.models.values() if m.plannable and m.kind in kinds]

    def model_name(self, choice: ModelChoice) -> str:
        """The name of a chosen model; its id as long as no name is known."""
        if choice.architecture is not None:
            return choice.architecture.name
        model = self._model(choice)
        return model.name if model is not None else choice.catalog_id or ""

    def parameters(self, choice: ModelChoice) -> float:
        """How many parameters a chosen model has; 0 when not known."""
        if choice.architecture is not None:
            return float(total_parameters(choice.architecture))
        model = self._model(choice)
        return float(model.parameters.value) if model is not None else 0.0

    def model_kind(self, choice: ModelChoice) -> str:
        """The catalog's kind of a chosen model; that of a file is a decoder, and empty is what is not known."""
        if choice.architecture is not None:
            return "decoder"
        model = self._model(choice)
        return model.kind if model is not None else ""

    def architecture(self, choice: ModelChoice) -> ModelArchitecture | None:
        """The architecture of a chosen model."""
        if choice.architecture is not None:
            return choice.architecture
        model = self._model(choice)
        return model.architecture if model is not None else None

    def network(self, choice: ModelChoice) -> Network | None:
        """The network of a chosen model that is none of language."""
        model = self._model(choice)
        return model.network if model is not None else None

    def rules(self) -> Mapping[str, Rule]:
        """The rules of thumb by id."""
        return {rule.id: rule for rule in self.catalog.rules} if self.catalog is not None else {}

    def _model(self, choice: ModelChoice) -> Model | None:
        return self.catalog.models.get(choice.catalog_id) if self.catalog is not None else None

    def _read(self, _cancel: Cancel) -> tuple[Any, Efficiencies]:
        return self._workspace.catalog, self._workspace.efficiencies

    def _was_read(self, found: tuple[Any, Efficiencies]) -> None:
        self.catalog, self.efficiencies = found
        self.read.emit()
