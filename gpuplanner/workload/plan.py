"""A plan: what to run, within which limits, on which machine. What a `.gpuplan` file holds (JSON)."""

from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field, model_validator

from gpuplanner.messages import InputError, msg
from gpuplanner.workload.by_hand import ByHand
from gpuplanner.workload.diffusion import Diffusion
from gpuplanner.workload.diffusion_training import DiffusionTraining
from gpuplanner.workload.machine_counts import MOST_GPUS, MOST_NODES, MOST_PER_NODE
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.rendering import Rendering
from gpuplanner.workload.said import Name, Said
from gpuplanner.workload.science import Science
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.speech import Speech
from gpuplanner.workload.training import Training
from gpuplanner.workload.transcoding import Transcoding
from gpuplanner.workload.vision import Vision

Workload = Annotated[
    Serving | Training | Diffusion | DiffusionTraining | Vision | Speech | Rendering | Science | Transcoding | ByHand,
    Field(discriminator="kind"),
]
WORKLOADS: tuple[type[Workload], ...] = (
    Serving,
    Training,
    Diffusion,
    DiffusionTraining,
    Vision,
    Speech,
    Rendering,
    Science,
    Transcoding,
    ByHand,
)
"""Every workload kind, in the order of the wizard."""


def model_of(workload: Workload) -> ModelChoice | None:
    """The model that a workload runs, None where its kind names none."""
    choice: ModelChoice | None = getattr(workload, "model", None)
    return choice


SHARE = r"^[0-9]{1,3}(/[1-9][0-9]{0,2})?$"
"""A part of one as text: "3/7", "1"."""


class Objective(StrEnum):
    """What a search puts first."""

    COST = "cost"
    TIME = "time"
    FEWEST_GPUS = "fewest-gpus"


class Constraints(Said):
    """What an answer must respect. None and empty mean no limit. Money is in US dollars.

    `network_bits_per_s`: what the network of one node is taken to be, one way, where the catalog does not say it.
    `bare_gpus`: rank GPUs as they are bought (one, two, four or eight in a node), not machines as they are rented.
    `gpu_memory_at_least_bytes`, `gpu_memory_at_most_bytes`: of one GPU as it is sold; "24 GB" may be said in 10⁹ or in
    2³⁰ bytes.
    """

    budget_usd_per_month: float | None = Field(None, ge=0.01, le=1e15)
    budget_usd_per_job: float | None = Field(None, ge=0.01, le=1e15)
    memory_free_share: float = Field(0.05, ge=0, le=0.99)
    max_gpus: int | None = Field(None, ge=1, le=MOST_GPUS)
    providers: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    gpu_memory_at_least_bytes: float | None = Field(None, ge=1, le=1e15)
    gpu_memory_at_most_bytes: float | None = Field(None, ge=1, le=1e15)
    network_bits_per_s: float | None = Field(None, ge=1e6, le=1e15)
    price_known: bool = False
    bare_gpus: bool = False
    objective: Objective = Objective.COST


class GpuSlice(Said):
    """A MIG slice by its profile, with the shares of the GPU that it has, as fractions ("4/8")."""

    profile: str = Field(pattern=r"^[0-9]{1,2}(c\.[0-9]{1,2})?g\.[0-9]{1,4}gb$")
    compute: str = Field(pattern=SHARE)
    memory: str = Field(pattern=SHARE)

    @model_validator(mode="after")
    def _parts_of_one(self) -> "GpuSlice":
        if not (0 < self.compute_share <= 1 and 0 < self.memory_share <= 1):
            raise InputError(msg("plan.problem.slice", profile=self.profile))
        return self

    @property
    def compute_share(self) -> Fraction:
        """The share of the GPU's compute slices."""
        return Fraction(self.compute)

    @property
    def memory_share(self) -> Fraction:
        """The share of its memory and of the bandwidth of that."""
        return Fraction(self.memory)


class MachineChoice(Said):
    """A machine by catalog ids: `nodes` of an instance, or `gpus` bare GPUs of one type in nodes of `per_node`.

    `network_bits_per_s`: of one node, one way; it counts before what the catalog says of an instance.
    With a `slice` the `gpus` are so many slices of that kind, each of which works alone.
    """

    instance_id: str | None = Field(None, max_length=300)
    nodes: int = Field(1, ge=1, le=MOST_NODES)
    gpu_id: str | None = Field(None, max_length=300)
    gpus: int = Field(1, ge=1, le=MOST_GPUS)
    per_node: int = Field(8, ge=1, le=MOST_PER_NODE)
    slice: GpuSlice | None = None
    network_bits_per_s: float | None = Field(None, ge=1e6, le=1e15)

    @model_validator(mode="after")
    def _not_both(self) -> "MachineChoice":
        if self.instance_id is not None and self.gpu_id is not None:
            raise InputError(msg("plan.problem.two_machines"))
        if self.slice is not None and self.gpu_id is None:
            raise InputError(msg("plan.problem.slice_of_nothing"))
        if self.instance_id is not None and self.gpus > 1:
            raise InputError(msg("plan.problem.gpus_of_instance"))
        if self.gpu_id is not None and self.nodes > 1:
            raise InputError(msg("plan.problem.nodes_of_gpus"))
        return self


class Plan(Said):
    """Everything that a person said. `catalog_hash` and `app_version` tell with which facts it was last worked out."""

    format: Literal["gpuplan/1"] = "gpuplan/1"
    name: Name = Field("", max_length=200)
    workload: Workload
    constraints: Constraints = Constraints()
    machine: MachineChoice | None = None
    notes: str = Field("", max_length=100_000)
    catalog_hash: str = Field("", max_length=100)
    app_version: str = Field("", max_length=100)
    sample: bool = False
