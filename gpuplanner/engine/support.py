"""Whether the software of a workload is known to run on a GPU. Says no only with a reason; speed is not judged here.

What is known stands in `catalogs/compatibility`, each row with its source.
"""

from dataclasses import dataclass

from gpuplanner.catalog.entries import Gpu
from gpuplanner.catalog.software import Software
from gpuplanner.facts import Source
from gpuplanner.messages import Message, msg
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Training
from gpuplanner.workload.vision import Vision

TRAINING = "training"
PYTORCH = "transformers"
"""Of programs of its own a network that sees images needs only what this one runs on."""


@dataclass(frozen=True, slots=True)
class Needs:
    """What a workload needs to run: a program, and where it asks for one a format of weights or of what it computes in.

    `program` as `catalogs/compatibility` calls it, `called` as people do.
    """

    program: str
    called: Message
    weight_format: str | None = None
    computes_in: str | None = None


def serving_needs(workload: Serving) -> Needs:
    """The server, and the format that the weights are asked for in."""
    program = workload.server.value
    return Needs(program, msg(f"limits.software.{program}"), weight_format=workload.weight_precision)


def training_needs(workload: Training) -> Needs:
    """The frameworks of training, and the format of the matrix products."""
    return Needs(TRAINING, msg(f"limits.software.{TRAINING}"), computes_in=workload.precision.value)


def vision_needs(_workload: Vision) -> Needs:
    """PyTorch alone."""
    return Needs(PYTORCH, msg("limits.software.pytorch"))


def unsupported(gpu: Gpu, needs: Needs | None, known: Software) -> Message | None:
    """Why the workload's software or precision is not known to run on this GPU, and who says so; None when it is.

    Of a program that nothing is known of at all, nothing is said.
    """
    if needs is None or needs.program not in known.names():
        return None
    name = needs.called
    not_loaded = known.not_loaded.get(needs.program)
    if needs.weight_format is not None and not_loaded is not None and needs.weight_format in not_loaded.formats:
        precision = needs.weight_format.upper()
        return msg("limits.support.format", software=name, precision=precision, source=_said(not_loaded.source))
    runs = known.runs.get((needs.program, gpu.vendor))
    if runs is None:
        return msg("limits.support.no_vendor", software=name, gpu=gpu.name)
    if runs.least_capability is None:
        if gpu.architecture in runs.architectures:
            return None
        return msg("limits.support.vendor", software=name, gpu=gpu.name, source=_said(runs.source))
    capability = _capability(gpu)
    if capability is None:
        return msg("limits.support.unknown_capability", gpu=gpu.name)
    if capability < runs.least_capability:
        return _too_old(gpu, name, runs.least_capability, runs.source)
    needed = known.precisions.get(needs.computes_in or "")
    if needed is not None and capability < needed.value:
        return _too_old(gpu, msg(f"limits.precision.{needs.computes_in}"), needed.value, needed.source)
    return None


def _too_old(gpu: Gpu, name: Message, least: float, source: Source) -> Message:
    """A capability always has its minor version, which tells 8.0 from 8.6."""
    return msg(
        "limits.support.capability",
        software=name,
        least=f"{least:.1f}",
        gpu=gpu.name,
        capability=gpu.compute_capability,
        source=_said(source),
    )


def _said(source: Source) -> Message:
    """A source with its date, or that it was remembered."""
    known = "memory" if source.from_memory else "document"
    return msg(f"limits.support.from_{known}", citation=source.citation, date=source.date or source.accessed)


def _capability(gpu: Gpu) -> float | None:
    """9.0 for "9.0"; minor versions have one digit."""
    try:
        return float(gpu.compute_capability)
    except ValueError:
        return None
