"""No amount in the derivation of a figure is below nothing, on machines that are too small as well."""

import pytest

from gpuplanner.cli.explain_command import named_figures
from gpuplanner.engine.explaining import explanation
from gpuplanner.messages import InputError
from gpuplanner.workload.plan import MachineChoice
from gpuplanner.workspace import Workspace


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return Workspace(tmp_path_factory.mktemp("home"))


@pytest.mark.parametrize("gpus", [1, 8])
def test_no_step_of_a_figure_is_negative(workspace, gpus):
    explained = 0
    names = [gpu for gpu in workspace.catalog.gpus if gpu.startswith(("nvidia-l4", "nvidia-t4", "nvidia-h100-sxm5"))]
    for preset, plan in workspace.presets.items():
        for gpu in names:
            machine = MachineChoice(gpu_id=gpu, gpus=gpus, per_node=gpus)
            try:
                made = workspace.explained(plan.model_copy(update={"machine": machine}))
            except InputError:
                continue
            explained += 1
            for name, figure in named_figures(made):
                steps = [row for row in explanation(figure) if row.formula is not None]
                assert all(row.value >= 0 for row in steps), (preset, gpu, name)
    assert explained > len(workspace.presets)
