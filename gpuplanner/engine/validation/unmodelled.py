"""Files of measurements whose workload kind the engine has no model for yet: recognised, and refused row by row."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpuplanner.engine.validation.rows import Outcome, Row, ValidationContext
from gpuplanner.messages import InputError, msg


@dataclass(frozen=True, slots=True)
class Unmodelled:
    """A family that refuses each row. The name of its workload kind is message `validation.kind.<kind>`."""

    name: str
    kind: str
    columns: frozenset[str]
    metrics: tuple[str, ...]

    def predict(self, row: Row, context: ValidationContext) -> Iterator[Outcome]:  # noqa: ARG002 -- what every family takes
        """Raises InputError that says which kind of work is not modelled."""
        raise InputError(msg("validation.not_modelled", kind=msg(f"validation.kind.{self.kind}")))


def _family(name: str, kind: str, metrics: tuple[str, ...], *columns: str) -> Unmodelled:
    return Unmodelled(name, kind, frozenset((*metrics, *columns)), metrics)


UNMODELLED = (_family("rendering", "rendering", ("value",), "benchmark", "api", "unit"),)
"""The kinds that follow: rendering."""
