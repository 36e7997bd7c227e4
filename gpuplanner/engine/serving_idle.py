"""Which settings of a serving plan come to nothing: those that the server does not have or that change no figure.

The second are found by working the plan out without each of them: nothing is guessed.
"""

from collections.abc import Iterator

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.serving_drafting import served_numbers
from gpuplanner.engine.serving_flags import FLAGS, heeded, ignored, is_set, without
from gpuplanner.engine.serving_inputs import LoadNumbers, ModelNumbers, WayNumbers
from gpuplanner.engine.serving_machine import gpu_numbers, server_numbers
from gpuplanner.engine.serving_model import precision_of
from gpuplanner.engine.serving_numbers import ServingNumbers, serving_numbers
from gpuplanner.figures import unrecorded
from gpuplanner.messages import Message, msg
from gpuplanner.workload.serving import Serving, Speculation

DEGREES = frozenset(
    {
        "tensor_parallel",
        "pipeline_parallel",
        "expert_parallel",
        "attention_ranks",
        "disaggregated",
        "prefill_workers",
        "prefill_tensor_parallel",
    }
)
"""Settings that the way itself shows."""

DRAFTING = frozenset({"speculation", "draft_model", "draft_tokens", "acceptance_rate"})
"""Settings that change what the model's numbers are."""

FOLLOWS = {
    "draft_model": "speculation", "draft_tokens": "speculation", "acceptance_rate": "speculation",
    "prefill_workers": "disaggregated", "prefill_tensor_parallel": "disaggregated",
}  # fmt: skip
"""Settings of which nothing is said where their server has not what they belong to."""


def _chooses(workload: Serving, name: str) -> bool:
    """Whether a setting names the model that drafts, which nothing could be worked out without."""
    return name == "draft_model" and workload.speculation is Speculation.MODEL


def idle_settings(
    workload: Serving,
    architecture: ModelArchitecture,
    machine: Machine,
    efficiencies: Efficiencies,
    model: ModelNumbers,
    load: LoadNumbers,
    way: WayNumbers,
    result: ServingNumbers,
) -> Iterator[Message]:
    """A message for each setting of the plan that its server does not have, or that changes no figure."""
    server = msg(f"limits.software.{workload.server}")
    left = ignored(workload)
    for name in left:
        if FOLLOWS.get(name) in left:
            continue
        if name == "speculation" and name in FLAGS[workload.server]:
            yield msg(
                "serving.no_such_drafting", server=server, method=msg(f"choice.speculation.{workload.speculation}")
            )
        else:
            yield msg("serving.no_such_flag", server=server, field=msg(f"field.serving.{name}"))
    understood = heeded(workload)
    precision = precision_of(architecture, workload.weight_precision)
    for name in FLAGS[workload.server]:
        if name in DEGREES or not is_set(understood, name) or _chooses(understood, name):
            continue
        plan = without(understood, name)
        if name in DRAFTING:
            same = name != "speculation" and served_numbers(architecture, plan, efficiencies) == model
        else:
            gpu = gpu_numbers(machine, precision, plan.server, plan.eager, efficiencies).numbers
            server_without = server_numbers(plan, machine.gpu, efficiencies, parts=machine.parts)
            with unrecorded():
                same = serving_numbers(model, gpu, server_without, load, way) == result
        if same:
            yield msg("serving.flag_changes_nothing", server=server, field=msg(f"field.serving.{name}"))
    for name in ("prefill_workers", "prefill_tensor_parallel"):
        if getattr(understood, name) and not understood.disaggregated:
            yield msg("serving.flag_changes_nothing", server=server, field=msg(f"field.serving.{name}"))
    if understood.expert_parallel and architecture.is_moe and way.expert_parallel == 1:
        yield msg("serving.flag_changes_nothing", server=server, field=msg("field.serving.expert_parallel"))
