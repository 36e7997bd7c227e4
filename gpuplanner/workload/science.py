"""What to run: classical scientific computing, by its kind and size. A type and its defaults only."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from gpuplanner.units import Unit
from gpuplanner.workload.arithmetic import Arithmetic
from gpuplanner.workload.said import Said
from gpuplanner.workload.wizard import ask


class Problem(StrEnum):
    """The kinds of scientific work, told apart by what they need of a GPU.

    DENSE: factorising a matrix (HPL, quantum chemistry); STENCIL: a grid whose points look at their neighbours (flow,
    climate, seismics); SPARSE: a solver's iteration with a sparse matrix; FFT: a transform in three dimensions and
    back; PARTICLES: molecular dynamics; NETWORK: a neural network over measurements, such as basecalling.
    """

    DENSE = "dense"
    STENCIL = "stencil"
    SPARSE = "sparse"
    FFT = "fft"
    PARTICLES = "particles"
    NETWORK = "network"


class Science(Said):
    """One problem, worked on step by step: a factorisation, a time step, an iteration, a transform, a batch.

    `elements`: points of the grid or of the transform, rows, particles, items of a batch, or the order of a dense
    matrix. `values_each`: numbers kept at a point, nonzeros of a row, neighbours of a particle, fields transformed,
    or multiplications of a network for one item; a dense matrix has none. `arithmetic` None: what such work is usually
    done in. `split`: all GPUs share one problem; else each has one of its own.
    """

    kind: Literal["science"] = "science"
    problem: Problem = Field(Problem.STENCIL, json_schema_extra=ask("use"))
    arithmetic: Arithmetic | None = Field(None, json_schema_extra=ask("use"))
    elements: float = Field(1e9, ge=1, le=1e18, json_schema_extra=ask("use", Unit.COUNT))
    values_each: float = Field(8, ge=1, le=1e15, json_schema_extra=ask("use", Unit.COUNT))

    steps: float | None = Field(None, ge=1, le=1e18, json_schema_extra=ask("goals", Unit.COUNT))
    deadline_s: float | None = Field(None, ge=1, le=1e11, json_schema_extra=ask("goals", Unit.SECOND, control="days"))
    rate_goal: float | None = Field(None, ge=1e-9, le=1e15, json_schema_extra=ask("goals", Unit.PER_S))

    split: bool = Field(True, json_schema_extra=ask("way"))
