"""What holds in the fields that a plan leaves open: the server's own flags, the model's format, what the search found.

Said muted in the empty field, so that "automatic" is never a riddle. Knows no widget; estimates nothing.
"""

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.catalog.networks import DiffusionNetwork, Network, VisionNetwork
from gpuplanner.engine.estimate import Estimate, Way
from gpuplanner.facts import MissingFactError
from gpuplanner.quantities import byte_rate
from gpuplanner.ui.appearance import Appearance
from gpuplanner.ui.plan_place.wizard.fields import choice_text
from gpuplanner.workload.plan import Workload
from gpuplanner.workload.precision import WeightPrecision
from gpuplanner.workload.reads_data import ReadsData, Storage
from gpuplanner.workload.serving import Serving, Speculation
from gpuplanner.workload.training import Recomputation, Sharding

_DEGREES = ("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel", "micro_batch")
_OF_THE_CARD = ("width", "height", "frames", "steps")
"""What an image or clip is where the plan does not say it; see `DiffusionNetwork`."""
_TABLE, _SPECULATION = "servers", "speculation"


def automatic_values(
    workload: Workload,
    estimate: Estimate | None,
    model: ModelArchitecture | None,
    efficiencies: Efficiencies | None,
    appearance: Appearance,
    network: Network | None = None,
) -> dict[str, str]:
    """By field name the value that holds while the field is empty; fields of which nothing is known are left out."""
    found: dict[str, str] = {}
    if model is not None and model.weight_quantisation in set(WeightPrecision):
        stored = appearance.text(choice_text(WeightPrecision(model.weight_quantisation)))
        found["weight_precision"] = stored
    found["base_precision"] = appearance.text(choice_text(WeightPrecision.NF4))
    if isinstance(network, DiffusionNetwork):
        found |= {name: f"{getattr(network, name):,}" for name in _OF_THE_CARD}
    if isinstance(network, VisionNetwork):
        found["image_px"] = f"{network.image_px:,}"
    if isinstance(workload, Serving):
        found["max_length"] = f"{workload.input_tokens + workload.output_tokens:,}"
        if efficiencies is not None:
            found |= _server_flags(workload, estimate, efficiencies)
            found |= _drafting(workload, efficiencies)
    if estimate is not None and estimate.plan.workload.kind == workload.kind:
        found |= _way(estimate.way, appearance)
        found |= _host(workload, estimate, appearance)
    return found


def _host(workload: Workload, estimate: Estimate, appearance: Appearance) -> dict[str, str]:
    """What reads and prepares data as far as it is known: nothing is assumed of a machine that says nothing."""
    if not isinstance(workload, ReadsData):
        return {}
    unknown = appearance.text("planui.not_stated")
    threads = estimate.machine.host.vcpus
    rate = next((need.offered for need in estimate.host if need.id == "storage_rate"), None)
    nodes = 1 if workload.data_storage is Storage.SHARED else estimate.machine.nodes
    return {
        "vcpus": unknown if threads is None else f"{threads:,.0f}",
        "storage_bytes_per_s": unknown if rate is None else byte_rate().show(rate / nodes, appearance.display),
        "workers": appearance.text("planui.as_many_as_cores"),
    }


def _way(way: Way, appearance: Appearance) -> dict[str, str]:
    found = {name: f"{getattr(way, name):,}" for name in _DEGREES}
    if way.prefill_workers:
        found["prefill_workers"] = f"{way.prefill_workers:,}"
        found["prefill_tensor_parallel"] = f"{way.prefill_tensor_parallel or way.tensor_parallel:,}"
    choices = way.choices or {}
    for name, kind in (("sharding", Sharding), ("recomputation", Recomputation)):
        if choices.get(name) in {choice.value for choice in kind}:
            found[name] = appearance.text(choice_text(kind(choices[name])))
    return found


def _drafting(workload: Serving, efficiencies: Efficiencies) -> dict[str, str]:
    """The rules of thumb of what drafts; nothing where nothing does."""
    if workload.speculation is Speculation.NONE:
        return {}
    usual = efficiencies.constants(_SPECULATION, workload.speculation.value)
    return {"draft_tokens": f"{usual['draft_tokens']:.0f}", "acceptance_rate": f"{usual['acceptance_rate'] * 100:g}"}


def _server_flags(workload: Serving, estimate: Estimate | None, efficiencies: Efficiencies) -> dict[str, str]:
    try:
        flags = efficiencies.constants(_TABLE, workload.server.value)
        found = {"memory_utilisation": f"{flags['memory_share'] * flags['free_share']:g}"}
        memory = estimate.machine.gpu.known(GpuProperty.MEMORY_BYTES) if estimate is not None else None
        if memory is not None:
            size = "large" if memory.value >= flags["large_gpu_bytes"] else "small"
            found["max_batched_tokens"] = f"{flags[f'{size}_batched_tokens']:,.0f}"
            found["max_sequences"] = f"{flags[f'{size}_sequences']:,.0f}"
    except (MissingFactError, KeyError):
        return {}
    return found
