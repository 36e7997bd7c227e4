"""What a machine is held against, by the names that a person gives."""

import pytest

from gpuplanner.acceptance.verdicts import Verdict
from gpuplanner.machines.evidence import of_files, of_text
from gpuplanner.machines.expecting import expected, expected_of_plan, plan_named
from gpuplanner.machines.judging import judge
from gpuplanner.messages import InputError
from gpuplanner.probe.recording import written
from gpuplanner.probe.results import CommandResult, Run
from gpuplanner.store.plan_files import write_plan
from gpuplanner.workload.plan import MachineChoice
from gpuplanner.workspace import Workspace

_LIST = "".join(
    f"GPU {at}: NVIDIA H100 80GB HBM3 (UUID: GPU-0000000{at}-1111-2222-3333-444444444444)\n" for at in range(8)
)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return Workspace(tmp_path_factory.mktemp("home"))


def test_an_instance_promises_its_gpus_and_its_host(workspace):
    promised = expected("p5.48xlarge", workspace)
    assert (promised.gpu_count, promised.cpus) == (8, 192)
    assert promised.gpu is not None
    assert "h100" in promised.gpu.id


def test_a_plan_promises_its_machine(workspace):
    plan = workspace.sample()
    by_name = expected("p5.48xlarge", workspace)
    chosen = plan.model_copy(update={"machine": MachineChoice(instance_id=workspace.resolve("p5.48xlarge").id)})
    assert expected_of_plan(chosen, workspace).gpu == by_name.gpu


@pytest.mark.parametrize(
    ("name", "said"),
    [("Llama 3.1 8B", "machine.is_a_model"), ("H20000", ""), ("no-such.gpuplan", "")],
)
def test_what_promises_nothing_is_refused_with_a_reason(workspace, name, said):
    with pytest.raises(InputError) as fault:
        expected(name, workspace)
    assert fault.value.message.id == said or not said


def test_a_plan_is_named_by_its_file_or_as_a_preset(workspace, tmp_path):
    path = tmp_path / "my.gpuplan"
    write_plan(path, workspace.presets["chat-8b"])
    named = plan_named(str(path), workspace)
    assert named is not None
    assert named.workload == workspace.presets["chat-8b"].workload
    assert plan_named("chat-8b", workspace) == workspace.presets["chat-8b"]
    assert plan_named("8x H100 SXM", workspace) is None


def test_a_plan_without_a_machine_promises_nothing(workspace):
    plan = workspace.sample().model_copy(update={"machine": None})
    with pytest.raises(InputError) as fault:
        expected_of_plan(plan, workspace)
    assert fault.value.message.id == "machine.plan_without_machine"


def test_pasted_text_is_judged_as_a_file_of_it_is(workspace, tmp_path):
    file = tmp_path / "list.txt"
    file.write_text(_LIST, encoding="utf-8")
    pasted, saved = of_text(_LIST, "pasted"), of_files([file])
    assert pasted.root is None
    assert [gpu.uuid for gpu in pasted.evidence.gpus] == [gpu.uuid for gpu in saved.evidence.gpus]
    wanted = expected("p5.48xlarge", workspace)
    verdicts = [
        {result.id: result.judgement.verdict for result in judge(workspace, machine, wanted).results}
        for machine in (pasted, saved)
    ]
    assert verdicts[0] == verdicts[1]
    assert Verdict.PASS in verdicts[0].values()


def test_a_pasted_recording_says_who_ran_it(workspace):
    result = CommandResult("smi.list", ("nvidia-smi", "-L"), 0, "ended", _LIST.encode(), b"", 0.1, 0.0)
    machine = of_text(written(Run("node-1", 0.0, (result,), root=True)), "pasted")
    assert machine.root is True
    assert len(machine.evidence.gpus) == 8
    assert [run.target for run in machine.runs] == ["node-1"]


def test_text_of_no_tool_is_refused():
    with pytest.raises(InputError) as fault:
        of_text("good morning", "pasted")
    assert fault.value.message.id == "machine.nothing_recognised"
