"""Every figure of every kind of work is exact, or a range that holds it and says why it is as wide."""

from collections.abc import Iterator

import pytest

from gpuplanner.messages import InputError, Language, Translator
from gpuplanner.paths import shipped
from gpuplanner.workload.plan import MachineChoice
from gpuplanner.workspace import Workspace
from tests.engine.any_plans import figures

PRESETS = sorted(path.stem for path in (shipped("resources") / "presets").glob("*.gpuplan"))
MACHINES = (
    MachineChoice(instance_id="aws/p5.48xlarge"),
    MachineChoice(gpu_id="nvidia-l4", gpus=1, per_node=1),
    MachineChoice(gpu_id="nvidia-b200", gpus=8, per_node=8),
)
WITHOUT_WIDTH = ("reserved", "max_micro_batch")
"""A share of the memory that a flag sets; a whole number, of which both ends may be the same."""
TRANSLATORS = [Translator(language) for language in Language]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


def machines(name: str, workspace: Workspace) -> Iterator[MachineChoice]:
    best = workspace.with_best_machine(workspace.presets[name])
    assert best is not None
    assert best.machine is not None
    yield best.machine
    yield from MACHINES


@pytest.mark.parametrize("name", PRESETS)
def test_what_is_not_exact_has_a_range_with_its_reason(name: str, workspace: Workspace) -> None:
    looked_at = 0
    for machine in machines(name, workspace):
        try:
            made = workspace.estimate(workspace.presets[name].model_copy(update={"machine": machine}))
        except InputError:
            continue
        for figure_name, figure in figures(made):
            where = (figure_name, machine.instance_id or machine.gpu_id)
            if figure.exact:
                assert figure.low == figure.value == figure.high, where
                continue
            looked_at += 1
            assert figure.why is not None, where
            assert all(translator.text(figure.why) for translator in TRANSLATORS)
            if figure.value > 0 and figure_name not in WITHOUT_WIDTH:
                assert figure.low < figure.value or figure.value < figure.high, where
    assert looked_at > 3
