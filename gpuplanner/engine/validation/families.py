"""Which family a file of measurements belongs to, and its rows turned into outcomes, none dropped. Reads no files."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pydantic import ValidationError

from gpuplanner.engine.validation.baselines import with_baselines
from gpuplanner.engine.validation.collectives import BANDWIDTHS
from gpuplanner.engine.validation.diffusion import DiffusionRows
from gpuplanner.engine.validation.diffusion_training import DiffusionTrainingRows
from gpuplanner.engine.validation.kv_pools import KvPools
from gpuplanner.engine.validation.matrices import MatrixRows
from gpuplanner.engine.validation.rendering import RenderingRows
from gpuplanner.engine.validation.rows import Family, Outcome, Row, ValidationContext, refusal
from gpuplanner.engine.validation.serving import ServingRows
from gpuplanner.engine.validation.speech import SpeechRows
from gpuplanner.engine.validation.training import TRAINING
from gpuplanner.engine.validation.vision import VISION
from gpuplanner.facts import MissingFactError
from gpuplanner.messages import InputError, Message, msg, shortened

FAMILIES: tuple[Family, ...] = (
    ServingRows(),
    KvPools(),
    MatrixRows(),
    *TRAINING,
    *VISION,
    BANDWIDTHS,
    SpeechRows(),
    DiffusionRows(),
    DiffusionTrainingRows(),
    RenderingRows(),
)
"""Every kind of file that is recognised."""
LETTERED = re.compile(r"(.*\d)[a-z]")
LONGEST_ID = 80
MOST_SIBLINGS = 26
LONGEST_CELL = 4_000
"""Characters: several times the longest note of the public files. What is longer is a file put into a cell."""


def recognise(file: str, columns: Iterable[str], families: Sequence[Family] = FAMILIES) -> Family:
    """The family whose columns are all in the header; of several the one with the most columns.

    Raises InputError that names the file and the columns of the nearest family that it lacks.
    """
    header = {column.strip() for column in columns}
    found = [family for family in families if family.columns <= header]
    if found:
        return max(found, key=lambda family: len(family.columns))
    nearest = max(families, key=lambda family: len(family.columns & header) / len(family.columns))
    missing = ", ".join(sorted(nearest.columns - header))
    raise InputError(msg("validation.unknown_columns", file=file, nearest=nearest.name, missing=missing))


def validate_rows(file: str, rows: Sequence[Mapping[str, str]], context: ValidationContext) -> list[Outcome]:
    """The outcomes of all rows of one file, in order, with the baselines that its rows give each other.

    Raises InputError when the file has no rows or its columns are not recognised.
    """
    if not rows:
        raise InputError(msg("validation.no_rows", file=file))
    family = recognise(file, rows[0])
    plain = [Row(file, line, cells) for line, cells in enumerate(rows, start=2)]
    found = [outcome for row in with_siblings(plain) for outcome in row_outcomes(row, family, context)]
    return with_baselines(found)


def with_siblings(rows: Sequence[Row]) -> list[Row]:
    """The rows of a file, each knowing those whose ids differ in a last letter alone ("KV16a", "KV16b")."""
    together: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if lettered := LETTERED.fullmatch(row.id[:LONGEST_ID]):
            together[lettered.group(1)].append(row)
    kin = {row.line: group for group in together.values() if len(group) <= MOST_SIBLINGS for row in group}
    return [replace(row, siblings=tuple(r for r in kin.get(row.line, ()) if r is not row)) for row in rows]


def row_outcomes(row: Row, family: Family, context: ValidationContext) -> list[Outcome]:
    """The outcomes of one row: at least one, with `refused` for each filled cell that got no number."""
    long = next((name for name, cell in row.cells.items() if len(cell) > LONGEST_CELL), None)
    if long is not None:
        cells = {name: shortened(cell) for name, cell in row.cells.items()}
        why = msg("validation.cell_too_long", column=shortened(long, 40), most=LONGEST_CELL)
        return [refusal(Row(row.file, row.line, cells), family.name, family.metrics[0], why)]
    found: list[Outcome] = []
    why = msg("validation.no_number")
    try:
        found.extend(outcome for outcome in family.predict(row, context) if outcome.is_possible)
    except InputError as error:
        why = error.message
    except MissingFactError as error:
        why = msg("validation.missing_fact", subject=error.subject, fact=error.fact)
    except ValidationError as error:
        why = _beyond(error)
    told = {outcome.metric for outcome in found}
    name = found[0].family if found else family.name
    left = [metric for metric in family.metrics if row.text(metric) and metric not in told]
    found += [refusal(row, name, metric, why) for metric in left]
    if not found:
        found = [refusal(row, name, family.metrics[0], msg("validation.nothing_measured"))]
    return found


def _beyond(error: ValidationError) -> Message:
    """The refusal of a row whose sizes, each a number, are beyond what a model or a plan can have."""
    first = error.errors(include_url=False)[0]
    contradiction = first.get("ctx", {}).get("error")
    if isinstance(contradiction, InputError):
        return contradiction.message
    field = ".".join(str(part) for part in first["loc"])
    return msg("validation.beyond_limits", field=field, value=shortened(str(first.get("input")), 40))
