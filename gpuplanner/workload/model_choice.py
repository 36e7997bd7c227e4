"""Which model a workload runs: one of the catalog by its id, or one read from a file and kept in the plan."""

from pydantic import Field, model_validator

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.messages import InputError, msg
from gpuplanner.workload.said import Said


class ModelChoice(Said):
    """Exactly one of `catalog_id` and `architecture`. `read_from` is the name of the file the latter came from."""

    catalog_id: str | None = Field(None, max_length=300)
    architecture: ModelArchitecture | None = None
    read_from: str = Field("", max_length=300)

    @model_validator(mode="after")
    def _one_of_both(self) -> "ModelChoice":
        if (self.catalog_id is None) == (self.architecture is None):
            raise InputError(msg("plan.problem.one_model"))
        return self
