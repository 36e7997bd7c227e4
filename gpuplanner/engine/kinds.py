"""The workload kinds that the engine knows: for each its estimate, its search, what it asks of a host, what to show.

A new kind is a type in `workload/`, a module here, and one entry of `KINDS`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine import by_hand, diffusion, diffusion_training, rendering, science, speech, transcoding, vision
from gpuplanner.engine.data_advice import with_data_changes
from gpuplanner.engine.duty import serving_duty, training_duty
from gpuplanner.engine.estimate import Estimate
from gpuplanner.engine.host import Duty
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.proposals import Changes, serving_changes, training_changes
from gpuplanner.engine.search.one_by_one import OneByOne
from gpuplanner.engine.search.serving import ServingSpace
from gpuplanner.engine.search.space import Space
from gpuplanner.engine.search.training import TrainingSpace
from gpuplanner.engine.serving import estimate_serving
from gpuplanner.engine.serving_remarks import lengths_unmet
from gpuplanner.engine.support import Needs, serving_needs, training_needs, vision_needs
from gpuplanner.engine.training import estimate_training
from gpuplanner.messages import Message
from gpuplanner.units import Unit
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.science import Science
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Training

W = TypeVar("W")
HOURLY = ("usd_per_hour", Unit.MONEY_PER_HOUR)
JOB = (("job_s", Unit.SECOND), ("job_usd", Unit.MONEY))

Estimator = Callable[[Plan, Any, Machine, Efficiencies], Estimate]
"""The second argument is what the workload runs: an architecture, a network, a GPU, or None where it names none."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One workload kind. `headline`: the metric that a change is judged by at a glance.

    `columns`: metrics by which machines are compared, most important first; `front`: those that stand beside the
    verdict, for each of three places the first that is known; `capacity`: how much the machine could do;
    `aside`: what machines can be compared by too.

    `needs`: the software that is needed; `inputs`: what a person gives, as formulas call it; `rate_goal`: the items a
    second that are asked for; `room_is_all`: no time is asked for, so that it is enough to hold the run;
    `unmet_anywhere`: what of a workload with its model no machine can do.
    """

    estimate: Estimator
    space: Callable[[Plan, Any, Efficiencies], Space]
    duty: Callable[[Estimate, Any, Efficiencies], Duty]
    changes: Changes
    headline: str
    columns: tuple[tuple[str, Unit], ...]
    front: tuple[tuple[str, ...], ...]
    capacity: tuple[str, ...]
    aside: tuple[tuple[str, Unit], ...] = ()
    needs: Callable[[Any], Needs | None] = lambda _workload: None
    inputs: Callable[[Any], Mapping[str, Any]] = lambda workload: workload.model_dump()
    rate_goal: Callable[[Any], float | None] = lambda _workload: None
    room_is_all: Callable[[Any], bool] = lambda _workload: False
    unmet_anywhere: Callable[[Any, Any], Iterator[Message]] = lambda _workload, _subject: iter(())


def _as(wanted: type[W], plan: Plan) -> W:
    """The workload of a plan, which is of the kind that was looked up."""
    if not isinstance(plan.workload, wanted):
        raise TypeError(f"{plan.workload.kind} is not {wanted.__name__}")
    return plan.workload


def _rate_goal(workload: Any) -> float | None:
    goal: float | None = workload.rate_goal
    return goal


def _one_by_one(
    estimator: Estimator, rate: str, splits: Callable[[Plan], bool] = lambda _: False
) -> Callable[[Plan, Any, Efficiencies], Space]:
    return lambda plan, subject, efficiencies: OneByOne(plan, subject, efficiencies, estimator, rate, splits(plan))


def _of_items(
    estimator: Estimator,
    rate: str,
    duty: Callable[[Estimate, Any, Efficiencies], Duty],
    changes: Changes,
    shown: tuple[tuple[str, Unit], tuple[str, Unit], str],
    splits: Callable[[Plan], bool] = lambda _: False,
    needs: Callable[[Any], Needs | None] = lambda _workload: None,
) -> Kind:
    """A kind that works in items of which a person asks so many a second, `rate`.

    `shown`: the two metrics that tell most, and what a thousand items cost.
    """
    first, second, usd = shown
    return Kind(
        estimator,
        _one_by_one(estimator, rate, splits),
        duty,
        changes,
        rate,
        (first, second, *JOB, (usd, Unit.MONEY), HOURLY),
        ((first[0],), ("job_s", second[0]), ("job_usd", usd)),
        (rate,),
        needs=needs,
        rate_goal=_rate_goal,
    )


KINDS: Mapping[str, Kind] = {
    "serving": Kind(
        estimate_serving,
        lambda plan, model, efficiencies: ServingSpace(plan, _as(Serving, plan), model, efficiencies),
        serving_duty,
        serving_changes,
        "output_tokens_per_s",
        (
            ("tpot_s", Unit.SECOND),
            ("ttft_s", Unit.SECOND),
            ("output_tokens_per_s", Unit.TOKEN_PER_S),
            ("usd_per_mtoken", Unit.MONEY_PER_MTOKEN),
            HOURLY,
        ),
        (("tpot_s",), ("ttft_s",), ("usd_per_mtoken", "output_tokens_per_s")),
        ("output_tokens_per_s", "resident_sequences", "max_concurrency", "max_length"),
        needs=serving_needs,
        unmet_anywhere=lengths_unmet,
    ),
    "training": Kind(
        estimate_training,
        lambda plan, model, efficiencies: TrainingSpace(plan, _as(Training, plan), model, efficiencies),
        training_duty,
        with_data_changes(training_changes),
        "tokens_per_s",
        (("step_s", Unit.SECOND), ("tokens_per_s", Unit.TOKEN_PER_S), *JOB, HOURLY),
        (("step_s",), ("job_s", "tokens_per_s"), ("job_usd", "usd_per_mtoken", "mfu")),
        ("tokens_per_s", "mfu", "max_micro_batch", "max_sequence"),
        aside=(("mfu", Unit.RATIO), ("usd_per_mtoken", Unit.MONEY_PER_MTOKEN)),
        needs=training_needs,
        inputs=lambda workload: workload.model_dump() | {"tokens": workload.tokens_in_all},
        room_is_all=lambda workload: workload.deadline_s is None,
    ),
    "diffusion": _of_items(
        diffusion.estimate_diffusion,
        diffusion.NAMES.rate,
        diffusion.duty,
        diffusion.changes,
        (("image_batch_s", Unit.SECOND), ("generated_per_s", Unit.PER_S), "usd_per_kgenerated"),
    ),
    "diffusion-training": Kind(
        diffusion_training.estimate_diffusion_training,
        _one_by_one(diffusion_training.estimate_diffusion_training, diffusion_training.NAMES.rate),
        diffusion_training.duty,
        with_data_changes(diffusion_training.changes),
        diffusion_training.NAMES.rate,
        (("images_per_s", Unit.PER_S), ("diffusion_step_s", Unit.SECOND), *JOB, HOURLY),
        (("diffusion_step_s",), ("job_s", "images_per_s"), ("job_usd", "usd_per_kimage")),
        ("images_per_s",),
        rate_goal=_rate_goal,
    ),
    "vision": _of_items(
        vision.estimate_vision,
        vision.NAMES.rate,
        vision.duty,
        with_data_changes(vision.changes),
        (("images_per_s", Unit.PER_S), ("vision_step_s", Unit.SECOND), "usd_per_kimage"),
        needs=vision_needs,
    ),
    "speech": _of_items(
        speech.estimate_speech,
        speech.NAMES.rate,
        speech.duty,
        with_data_changes(speech.changes),
        (("recording_s", Unit.SECOND), ("audio_s_per_s", Unit.PER_S), "usd_per_kaudio_s"),
    ),
    "rendering": Kind(
        rendering.estimate_rendering,
        _one_by_one(rendering.estimate_rendering, rendering.NAMES.rate),
        rendering.duty,
        rendering.changes,
        rendering.NAMES.rate,
        (
            ("frame_s", Unit.SECOND),
            ("relative_speed", Unit.COUNT),
            *JOB,
            ("usd_per_kframe", Unit.MONEY),
            HOURLY,
        ),
        (("frame_s",), ("job_s", "frames_per_s"), ("job_usd", "usd_per_kframe")),
        ("frames_per_s",),
    ),
    "science": _of_items(
        science.estimate_science,
        science.NAMES.rate,
        science.duty,
        science.changes,
        (("science_step_s", Unit.SECOND), ("science_steps_per_s", Unit.PER_S), "usd_per_kstep"),
        lambda plan: _as(Science, plan).split,
    ),
    "transcoding": Kind(
        transcoding.estimate_transcoding,
        _one_by_one(transcoding.estimate_transcoding, transcoding.NAMES.rate),
        transcoding.duty,
        transcoding.changes,
        transcoding.STREAMS,
        (
            (transcoding.STREAMS, Unit.COUNT),
            ("video_s_per_s", Unit.PER_S),
            *JOB,
            ("usd_per_kvideo_s", Unit.MONEY),
            HOURLY,
        ),
        ((transcoding.STREAMS,), ("job_s", "video_s_per_s"), ("job_usd", "usd_per_kvideo_s")),
        (transcoding.STREAMS,),
    ),
    "by-hand": _of_items(
        by_hand.estimate_by_hand,
        by_hand.NAMES.rate,
        by_hand.duty,
        with_data_changes(by_hand.changes),
        (("item_step_s", Unit.SECOND), ("items_per_s", Unit.PER_S), "usd_per_kitem"),
    ),
}
