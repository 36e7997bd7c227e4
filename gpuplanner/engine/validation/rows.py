"""One measured number against one computed number: the types that the validation families share. Nothing is read here.

A family is a module (or object) that recognises a CSV by its columns and turns each row into outcomes. It raises
`InputError` or `MissingFactError` for a row that it cannot place; the frame (`families.py`) turns that into refused
outcomes, so no row is dropped.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu, Model
from gpuplanner.figures import Figure, Rung
from gpuplanner.messages import InputError, Message, Translator, msg, shortened

LARGEST = 1e18
"""No count, size or rate of a measurement comes near this."""
GROUP_COLUMN = "source_group"
SOURCE_COLUMNS = ("source", "source_repo_path")
"""Columns that name where a row was published; `GROUP_COLUMN` already says which rows belong together."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a CSV as text, by column. `line` is its number in the file, the header being line 1.

    `siblings`: the other rows of one publication's runs, which say once what is the same for all of them.
    """

    file: str
    line: int
    cells: Mapping[str, str]
    siblings: "tuple[Row, ...]" = ()

    @property
    def id(self) -> str:
        """The row's own id, or its line number where the file gives none."""
        return self.text("id") or str(self.line)

    @property
    def source(self) -> str:
        """The publication that the row is from, without the page, the version or the file inside of it."""
        if self.text(GROUP_COLUMN):
            return self.text(GROUP_COLUMN)
        printed = next((self.text(name) for name in SOURCE_COLUMNS if self.text(name)), "")
        for mark in ("@", ":", " ", "("):
            printed = printed.partition(mark)[0] or printed
        return "/".join(printed.split("/")[:2])

    def text(self, name: str) -> str:
        """The cell as text; empty when the row or the file does not have it."""
        return (self.cells.get(name) or "").strip()

    def number(self, name: str) -> float | None:
        """The cell as a number from 0 to `LARGEST`, None when it is empty.

        Raises InputError naming the column for anything else.
        """
        printed = self.text(name)
        if not printed:
            return None
        try:
            value = float(printed)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise InputError(msg("validation.not_a_number", column=name, text=shortened(printed, 40)))
        if not 0 <= value <= LARGEST:
            raise InputError(msg("validation.beyond", column=name, text=shortened(printed, 40), most=f"{LARGEST:,.0f}"))
        return value

    def required(self, name: str) -> float:
        """The cell as such a number. Raises InputError naming the column when it is empty or no number."""
        value = self.number(name)
        if value is None:
            raise InputError(msg("validation.empty_cell", column=name))
        return value


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured and what the engine says. `metric` is the name of the measured column.

    `measured` and `predicted` are in the unit of that column; texts ("ok", "oom") where the column is a verdict.
    `ideal`: the same metric with every rate at its datasheet peak, and `kin`: with which rows it may be compared (GPU,
    kind and precision); together they give the constant-utilisation baseline, filled by `baselines.py`.
    """

    file: str
    id: str
    family: str
    source: str
    metric: str
    measured: float | str
    predicted: float | str | None = None
    low: float | None = None
    high: float | None = None
    rung: Rung | None = None
    refused: Message | None = None
    baseline: float | None = None
    ideal: float | None = None
    kin: str = ""

    @property
    def is_possible(self) -> bool:
        """Whether the numbers are such as a quantity can have."""
        numbers = (n for n in (self.predicted, self.low, self.high) if n is not None and not isinstance(n, str))
        return all(math.isfinite(n) for n in numbers)

    @property
    def log_ratio(self) -> float | None:
        """ln(predicted / measured), where both are positive numbers."""
        if isinstance(self.predicted, str) or isinstance(self.measured, str) or self.predicted is None:
            return None
        if self.predicted <= 0 or self.measured <= 0:
            return None
        return math.log(self.predicted) - math.log(self.measured)

    def as_data(self, translator: Translator) -> dict[str, Any]:
        """The outcome for JSON, a fixed shape; `refused` is the reason as text, None for a row that was placed."""
        return {
            "file": self.file,
            "id": self.id,
            "metric": self.metric,
            "measured": self.measured,
            "predicted": self.predicted,
            "low": self.low,
            "high": self.high,
            "rung": self.rung.value if self.rung else None,
            "refused": translator.text(self.refused) if self.refused else None,
        }


class Names(Protocol):
    """Finds catalog entries by what sources print. Raises InputError when a name is unknown or ambiguous."""

    def gpu(self, text: str, memory_bytes: float | None = None) -> Gpu:
        """The GPU that `text` names; the memory size tells variants apart."""
        ...

    def model(self, text: str) -> Model:
        """The model that `text` names."""
        ...


@dataclass(frozen=True)
class ValidationContext:
    """What the families work with. `names` remembers what it resolved, since files repeat a few names many times."""

    names: Names
    efficiencies: Efficiencies
    gpus: Mapping[str, Gpu] = field(default_factory=dict)
    models: Mapping[str, Model] = field(default_factory=dict)


class Family(Protocol):
    """One kind of CSV. A module with these names is a family.

    `columns`: those by which a file is recognised (all must be in its header; the family with the most wins).
    `metrics`: the measured columns that it predicts.
    """

    @property
    def name(self) -> str: ...
    @property
    def columns(self) -> frozenset[str]: ...
    @property
    def metrics(self) -> tuple[str, ...]: ...

    def predict(self, row: Row, context: ValidationContext) -> Iterator[Outcome]:
        """An outcome for each measured cell of the row that is filled.

        Raises InputError or MissingFactError when the whole row cannot be placed.
        """
        ...


def outcome_of(
    row: Row, family: str, metric: str, figure: Figure | float, *, scale: float = 1.0, kin: str = "", ideal: float = 0.0
) -> Outcome:
    """The outcome for a numeric column; the figure times `scale` is in the column's unit. `ideal` 0 means none.

    Nothing is as far from every number: a measured 0 is no measurement, and is refused.
    """
    measured = row.required(metric)
    if measured == 0:
        return refusal(row, family, metric, msg("validation.measured_nothing", column=metric))
    value, low, high, rung = (
        (figure.value, figure.low, figure.high, figure.rung)
        if isinstance(figure, Figure)
        else (figure, figure, figure, None)
    )
    return Outcome(
        row.file,
        row.id,
        family,
        row.source,
        metric,
        measured,
        value * scale,
        low * scale,
        high * scale,
        rung,
        ideal=ideal or None,
        kin=kin,
    )


def refusal(row: Row, family: str, metric: str, why: Message) -> Outcome:
    """The outcome for a cell that the engine gives no number for, with the reason."""
    measured: float | str | None
    try:
        measured = row.number(metric)
    except InputError:
        measured = None
    measured = row.text(metric) if measured is None else measured
    return Outcome(row.file, row.id, family, row.source, metric, measured, refused=why)
