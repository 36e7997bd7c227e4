"""Numbers of a training run at the edges of what a plan may ask for: long windows, links that are not known."""

from collections.abc import Callable

import pytest

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu
from gpuplanner.engine.machines import bare
from gpuplanner.engine.training import estimate_training
from gpuplanner.facts import MissingFactError
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.plan import Plan
from gpuplanner.workload.precision import ComputePrecision
from gpuplanner.workload.training import Offload, Training

WINDOWED = "mistralai/Mistral-7B-v0.1"
"""All its layers see 4,096 tokens."""


@pytest.fixture(scope="module")
def estimated(shipped_catalog: Catalog, shipped_efficiencies: Efficiencies) -> Callable[..., dict[str, float]]:
    def run(gpu: Gpu, gpus: int = 1, nodes: int = 1, **wanted: object) -> dict[str, float]:
        fields = {"model": ModelChoice(catalog_id=WINDOWED), "global_batch": 64, "micro_batch": 1, **wanted}
        model = shipped_catalog.models[WINDOWED].architecture
        assert model is not None
        plan = Plan(workload=Training.model_validate(fields))
        made = estimate_training(plan, model, bare(gpu, gpus, nodes), shipped_efficiencies)
        return {name: figure.value for name, figure in made.metrics.items()}

    return run


def test_a_window_is_not_counted_as_if_it_saw_everything(
    shipped_catalog: Catalog, estimated: Callable[..., dict[str, float]]
) -> None:
    """Counted whole, a long sequence would come to a utilisation of a hundred times the peak."""
    gpu = shipped_catalog.gpus["nvidia-h100-sxm5-80gb"]
    within, beyond = (estimated(gpu, sequence_length=tokens)["mfu"] for tokens in (4096, 4096 * 256))
    assert 0 < beyond < 1.2 * within
    assert within < 0.8


def unlinked(catalog: Catalog) -> Gpu:
    """A GPU of which neither a link nor its PCIe is known."""
    return catalog.gpus["aws-trainium1"]


def test_a_gpu_whose_links_are_not_known_trains_alone(
    shipped_catalog: Catalog, estimated: Callable[..., dict[str, float]]
) -> None:
    found = estimated(unlinked(shipped_catalog), precision=ComputePrecision.FP32)
    assert found["step_s"] > 0
    assert found["tokens_per_s"] > 0


def test_nothing_is_offloaded_over_a_link_of_which_nothing_is_known(
    shipped_catalog: Catalog, estimated: Callable[..., dict[str, float]]
) -> None:
    with pytest.raises(MissingFactError, match="pcie"):
        estimated(unlinked(shipped_catalog), precision=ComputePrecision.FP32, offload=Offload.OPTIMIZER)
