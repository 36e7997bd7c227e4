"""How many times as fast as another GPU a GPU renders: by two scores of one benchmark, else by class. No frames."""

from dataclasses import dataclass

from gpuplanner.catalog.efficiency import Efficiencies, Efficiency
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.formulas import rendering as formulas
from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.ranges import Spread
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung
from gpuplanner.messages import InputError, msg
from gpuplanner.workload.rendering import Renderer

TABLE = "rendering"
CUDA_ALONE = frozenset({Renderer.V_RAY, Renderer.OCTANE, Renderer.OTHER})
"""What these render on of a data centre's GPUs; Cycles also has HIP for RDNA and oneAPI for Xe."""
TRACES_SINCE = {"NVIDIA": 7.5}
"""The compute capability from which on consumer and workstation GPUs have ray-tracing cores."""
WITHOUT_CORES = frozenset({"GA100", "GH100", "GB100", "GB110"})
"""Chips for computing alone, which have none."""
TRACING = {"AMD": ("RDNA2", "RDNA3", "RDNA4"), "Intel": ("Xe",)}


@dataclass(frozen=True, slots=True)
class RelativeSpeed:
    """`value`: times the known GPU; `spread`: of the time of a frame; `scored`: whether both GPUs have a score."""

    value: Number
    spread: Spread
    scored: bool


def relative_speed(renderer: Renderer, known: Gpu, gpu: Gpu, efficiencies: Efficiencies) -> RelativeSpeed:
    """How a GPU compares with the known one.

    Raises InputError when the renderer does not run on one of them, MissingFactError when neither scores nor FP32 rates
    are known.
    """
    for one in (known, gpu):
        _refuse(renderer, one)
    own, other = (score_of(renderer, one, efficiencies) for one in (gpu, known))
    if gpu.id == known.id:
        return RelativeSpeed(1.0, _spread(efficiencies, "same range", Rung.SAME_GPU, "rendering.why_same"), True)
    if own is not None and other is not None:
        value = formulas.relative_speed_by_score(own["score"], other["score"])
        published = own.points > 0 and other.points > 0
        rung, why = (Rung.OTHER_ARCHITECTURE, "score") if published else (Rung.ROOFLINE, "remembered")
        spread = _spread(efficiencies, "score range", rung, f"rendering.why_{why}")
        return RelativeSpeed(value, spread, True)
    value = formulas.relative_speed_by_class(
        gpu.value(GpuProperty.FP32_FLOP_PER_S),
        known.value(GpuProperty.FP32_FLOP_PER_S),
        efficiencies.constants(TABLE, "class")["fp32_exponent"],
        tracing_factor(gpu, efficiencies),
        tracing_factor(known, efficiencies),
    )
    return RelativeSpeed(value, _spread(efficiencies, "class range", Rung.ROOFLINE, "rendering.why_class"), False)


def score_of(renderer: Renderer, gpu: Gpu, efficiencies: Efficiencies) -> Efficiency | None:
    """The published score of a GPU in the benchmark of a renderer; None where the catalog has none."""
    try:
        return efficiencies.find(TABLE, gpu, renderer.value)
    except MissingFactError:
        return None


def has_tracing_cores(gpu: Gpu) -> bool:
    """Whether the GPU traces rays in hardware."""
    if gpu.chip in WITHOUT_CORES:
        return False
    if gpu.vendor in TRACES_SINCE:
        try:
            return float(gpu.compute_capability) >= TRACES_SINCE[gpu.vendor]
        except ValueError:
            return False
    return gpu.architecture.startswith(TRACING.get(gpu.vendor, ("-",)))


def tracing_factor(gpu: Gpu, efficiencies: Efficiencies) -> float:
    """What its speed is worth beside that of a GPU with ray-tracing cores."""
    return efficiencies.constants(TABLE, "traced" if has_tracing_cores(gpu) else "untraced")["tracing_factor"]


def _refuse(renderer: Renderer, gpu: Gpu) -> None:
    if gpu.vendor == "NVIDIA":
        return
    name = msg(f"choice.renderer.{renderer.value}")
    runs = gpu.vendor in TRACING and gpu.architecture.startswith(("RDNA", "Xe"))
    if renderer in CUDA_ALONE or not runs:
        raise InputError(msg("rendering.vendor", renderer=name, gpu=gpu.name))


def _spread(efficiencies: Efficiencies, variant: str, rung: Rung, why: str) -> Spread:
    found = efficiencies.constants(TABLE, variant)
    return Spread(found["low"], found["high"], rung, msg(why))
