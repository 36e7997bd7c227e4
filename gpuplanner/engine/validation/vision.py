"""Families of measurements of networks that see images, and of training benchmarks of other networks beside them."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpuplanner.engine.formulas.items import item_step_seconds, items_per_second
from gpuplanner.engine.ranges import Spread, certainty_on
from gpuplanner.engine.serving_machine import worst
from gpuplanner.engine.validation.rows import Outcome, Row, ValidationContext, outcome_of
from gpuplanner.engine.validation.vision_rows import PlacedVision, placed_vision
from gpuplanner.engine.validation.vision_tasks import placed_task
from gpuplanner.engine.vision import memory_spread, needed_bytes, time_spread
from gpuplanner.engine.vision_numbers import step_seconds
from gpuplanner.figures import Figure
from gpuplanner.units import GB, Unit
from gpuplanner.workload.vision import VisionJob

IMAGES, MEMORY, OTHER = "measured_img_per_s", "measured_peak_mem_gb", "measured_throughput"


@dataclass(frozen=True, slots=True)
class VisionRows:
    """Rows of one job: `training`, or else inference."""

    name: str
    training: bool
    columns: frozenset[str]
    metrics: tuple[str, ...]

    def predict(self, row: Row, context: ValidationContext) -> Iterator[Outcome]:
        """Images a second and peak memory; see `rows.Family`."""
        place = placed_vision(row, context, VisionJob.TRAINING if self.training else VisionJob.INFERENCE)
        if row.text(IMAGES):
            yield _rate(row, self.name, IMAGES, place, context)
        if self.training and row.text(MEMORY):
            spread = memory_spread(context.efficiencies, place.numbers.rung)
            needed = needed_bytes(place.numbers, place.batch, float(place.machine.gpus), context.efficiencies)
            yield outcome_of(row, self.name, MEMORY, _figure(float(needed) / GB, Unit.BYTE, spread))


@dataclass(frozen=True, slots=True)
class OtherTrainingRows:
    """Rows of detection, translation, language, speech and recommending benchmarks."""

    name: str = "training_other"
    columns: frozenset[str] = frozenset({OTHER, "task", "unit"})
    metrics: tuple[str, ...] = (OTHER,)

    def predict(self, row: Row, context: ValidationContext) -> Iterator[Outcome]:
        """Items a second; see `rows.Family`."""
        yield _rate(row, self.name, OTHER, placed_task(row, context), context, "vision tasks")


def _rate(
    row: Row, family: str, metric: str, place: PlacedVision, context: ValidationContext, of: str = "vision"
) -> Outcome:
    step = step_seconds(place.numbers, place.gpu, place.batch, place.exchange_s)
    gpus = 1.0 if place.rate_of_one else float(place.machine.gpus)
    seconds = item_step_seconds((step.whole,))
    rate = float(items_per_second(gpus, place.batch, seconds))
    spread = time_spread(context.efficiencies, worst(place.numbers.rung, place.gpu.rung), of)
    ideal = float(gpus * place.gpu.flop_per_s / (2.0 * place.numbers.image_macs * place.numbers.passes))
    kin = f"{place.machine.gpu.id} {place.work.job} {place.work.precision}"
    figure = Figure(
        rate, Unit.PER_S, certainty_on(spread.rung), rate / spread.high, rate / spread.low, spread.rung, spread.why
    )
    return outcome_of(row, family, metric, figure, kin=kin, ideal=ideal)


def _figure(value: float, unit: Unit, spread: Spread) -> Figure:
    low, high = value * spread.low, value * spread.high
    return Figure(value, unit, certainty_on(spread.rung), low, high, spread.rung, spread.why)


VISION = (
    VisionRows("inference_vision", False, frozenset({IMAGES, "gmacs", "macts", "batch"}), (IMAGES,)),
    VisionRows("training_vision", True, frozenset({IMAGES, MEMORY, "gmacs", "n_gpus", "batch"}), (IMAGES, MEMORY)),
    OtherTrainingRows(),
)
