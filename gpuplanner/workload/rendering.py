"""What to run: rendering frames whose time is known on one GPU. A type and its defaults only."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from gpuplanner.units import GIB, Unit
from gpuplanner.workload.said import Said
from gpuplanner.workload.wizard import ask


class Renderer(StrEnum):
    """The program that renders, and by it which benchmark its GPUs are compared with."""

    CYCLES = "cycles"
    V_RAY = "v-ray"
    OCTANE = "octane"
    OTHER = "other"


class Rendering(Said):
    """Frames like one that takes `known_frame_s` on `known_gpu`, of which `fixed_frame_s` is work of the CPU.

    `scene_bytes`: what the scene takes in GPU memory; `frames`: of the whole job. `together`: all GPUs of a node work
    on one frame; else each has its own. `pooled`: geometry and textures are spread over GPUs that NVLink joins.
    """

    kind: Literal["rendering"] = "rendering"
    renderer: Renderer = Field(Renderer.CYCLES, json_schema_extra=ask("use"))
    known_gpu: str = Field("nvidia-rtx-4090", max_length=300, json_schema_extra=ask("use", control="gpu"))
    known_frame_s: float = Field(300, ge=1e-6, le=1e8, json_schema_extra=ask("use", Unit.SECOND))
    fixed_frame_s: float = Field(10, ge=0, le=1e8, json_schema_extra=ask("use", Unit.SECOND, advanced=True))
    scene_bytes: float = Field(10 * GIB, ge=1, le=1e15, json_schema_extra=ask("use", Unit.BYTE))

    frames: float | None = Field(None, ge=1, le=1e12, json_schema_extra=ask("goals", Unit.COUNT))
    deadline_s: float | None = Field(None, ge=1, le=1e11, json_schema_extra=ask("goals", Unit.SECOND, control="days"))
    frame_goal_s: float | None = Field(None, ge=1e-6, le=1e8, json_schema_extra=ask("goals", Unit.SECOND))

    together: bool = Field(False, json_schema_extra=ask("way"))
    pooled: bool = Field(False, json_schema_extra=ask("way"))
