"""Whether the software of a workload is known to run on a GPU. Says no only with a reason; speed is not judged here.

What is known stands in `catalogs/compatibility`, each row with its source.
"""

from gpuplanner.catalog.entries import Gpu
from gpuplanner.catalog.software import Software
from gpuplanner.messages import Message, msg
from gpuplanner.workload.plan import Workload
from gpuplanner.workload.serving import Serving
from gpuplanner.workload.training import Training
from gpuplanner.workload.vision import Vision

TRAINING = "training"
PYTORCH = "transformers"
"""Of programs of its own a network that sees images needs only what this one runs on."""


def unsupported(gpu: Gpu, workload: Workload, known: Software) -> Message | None:
    """Why the workload's software or precision is not known to run on this GPU, or None when it is.

    Of a program that nothing is known of at all, nothing is said.
    """
    if not isinstance(workload, Serving | Training | Vision):
        return None
    other = PYTORCH if isinstance(workload, Vision) else TRAINING
    software = workload.server.value if isinstance(workload, Serving) else other
    if software not in known.names():
        return None
    name = msg("limits.software.pytorch" if isinstance(workload, Vision) else f"limits.software.{software}")
    precision = workload.weight_precision if isinstance(workload, Serving) else None
    not_loaded = known.not_loaded.get(software)
    if precision is not None and not_loaded is not None and precision in not_loaded.formats:
        return msg("limits.support.format", software=name, precision=precision.upper())
    runs = known.runs.get((software, gpu.vendor))
    if runs is None:
        return msg("limits.support.vendor", software=name, gpu=gpu.name)
    if runs.least_capability is None:
        known_to_run = gpu.architecture in runs.architectures
        return None if known_to_run else msg("limits.support.vendor", software=name, gpu=gpu.name)
    capability = _capability(gpu)
    if capability is None:
        return msg("limits.support.unknown_capability", gpu=gpu.name)
    if capability < runs.least_capability:
        return _too_old(gpu, name, runs.least_capability)
    if isinstance(workload, Training):
        needed = known.precisions.get(workload.precision.value)
        if needed is not None and capability < needed.value:
            return _too_old(gpu, msg(f"limits.precision.{workload.precision}"), needed.value)
    return None


def _too_old(gpu: Gpu, name: Message, least: float) -> Message:
    return msg("limits.support.capability", software=name, least=least, gpu=gpu.name, capability=gpu.compute_capability)


def _capability(gpu: Gpu) -> float | None:
    """9.0 for "9.0"; minor versions have one digit."""
    try:
        return float(gpu.compute_capability)
    except ValueError:
        return None
