"""The family of measured matrix multiplications: the rate that one shape reaches in one format. Pure."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.formulas.gemm import matrix_flop_per_s
from gpuplanner.engine.serving_figures import spread_of
from gpuplanner.engine.validation.cells import needed, positive
from gpuplanner.engine.validation.rows import Outcome, Row, ValidationContext, outcome_of
from gpuplanner.figures import Certainty, Figure
from gpuplanner.messages import InputError, msg
from gpuplanner.units import GB, TERA, Unit

MEASURED = "measured_tflops"
KINDS = (
    (r"^(bf16|bfloat16|fp16)", "bf16", 16.0),
    (r"^(tf32|fp32)", "tf32", 32.0),
    (r"^fp8", "fp8", 8.0),
    (r"^(nvfp4|fp4|mxfp4)", "fp4", 4.5),
    (r"^(sq|int8)$", "int8", 8.0),
    (r"^int8_wo", "weight only", 8.0),
    (r"^int4_wo", "weight only", 4.15625),
)
"""Formats as the rows print them: the arithmetic, and bits per weight."""
SIZES = (None, 80 * GB, 40 * GB, 96 * GB, 32 * GB, 141 * GB)
"""Memory sizes to tell variants apart by, where they have the same rate and the row does not say."""


@dataclass(frozen=True, slots=True)
class MatrixRows:
    """Rows of measured matrix multiplications."""

    name: str = "achievable_compute"
    columns: frozenset[str] = frozenset({MEASURED, "datasheet_dense_tflops", "shape", "dtype"})
    metrics: tuple[str, ...] = (MEASURED,)

    def predict(self, row: Row, context: ValidationContext) -> Iterator[Outcome]:
        """The rate of the row's shape; see `rows.Family`."""
        shape = shape_of(row, context)
        found = context.efficiencies.find("gemm", shape.gpu, f"kernel {shape.kind}")
        hbm = context.efficiencies.find("hbm", shape.gpu)
        rate = shape.flop_per_s(
            found["utilisation"], found["padding_tokens"], hbm["share"], found["overlap_loss"], found["floor_s"]
        )
        spread = spread_of(context.efficiencies, "matrix multiplication", found.rung)
        value = float(rate)
        figure = Figure(
            value,
            Unit.FLOP_PER_S,
            Certainty.CALIBRATED,
            value / spread.high,
            value / spread.low,
            spread.rung,
            spread.why,
        )
        kin = f"{shape.gpu.id} {shape.kind}"
        yield outcome_of(row, self.name, MEASURED, figure, scale=1.0 / TERA, kin=kin, ideal=shape.peak / TERA)


@dataclass(frozen=True, slots=True)
class Shape:
    """One multiplication of (rows × depth) with (depth × columns) on a GPU in one arithmetic."""

    gpu: Gpu
    kind: str
    bits: float
    peak: float
    rows: float
    columns: float
    depth: float

    def flop_per_s(
        self, utilisation: float, padding_tokens: float, hbm_share: float, overlap_loss: float, floor_s: float
    ) -> Number:
        """The rate that it reaches with these efficiencies."""
        hbm = self.gpu.value(GpuProperty.HBM_BYTES_PER_S)
        return matrix_flop_per_s(
            self.rows,
            self.columns,
            self.depth,
            self.bits,
            self.peak,
            utilisation,
            padding_tokens,
            hbm,
            hbm_share,
            overlap_loss,
            floor_s,
        )


def shape_of(row: Row, context: ValidationContext) -> Shape:
    """What a row multiplies. Raises InputError when it names a GPU, a shape or a format that is not known."""
    gpu = _gpu(row, context)
    kind, bits = kind_of(row.text("dtype"), "dtype")
    printed = re.fullmatch(r"(\d{1,9})x(\d{1,9})x(\d{1,9})", row.text("shape"))
    if printed is None:
        raise InputError(msg("validation.unknown_value", column="shape", text=row.text("shape")[:40]))
    rows, columns, depth = map(float, printed.groups())
    return Shape(gpu, kind, bits, needed(row, "datasheet_dense_tflops", positive) * TERA, rows, columns, depth)


def _gpu(row: Row, context: ValidationContext) -> Gpu:
    for memory in SIZES:
        with suppress(InputError):
            return context.names.gpu(row.text("gpu"), memory)
    return context.names.gpu(row.text("gpu"))


def kind_of(printed: str, column: str) -> tuple[str, float]:
    """The arithmetic of a format as a row prints it in `column`, and bits per weight. Raises InputError for others."""
    for pattern, kind, bits in KINDS:
        if re.search(pattern, printed.lower()):
            return kind, bits
    raise InputError(msg("validation.unknown_value", column=column, text=printed[:40]))
