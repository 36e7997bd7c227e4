"""What a measured run would be kept as: a load that no plan can have is refused by field, value and bound."""

import pytest

from gpuplanner.messages import InputError, Message
from gpuplanner.workload.machine_counts import MOST_PER_NODE
from gpuplanner.workload.measurement_log import parse_measurement
from gpuplanner.workload.plan import MachineChoice
from gpuplanner.workspace import Workspace

H100 = MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=1)
BENCH = '{{"output_throughput": 2500, "completed": 1, "total_output_tokens": 500, {load}}}'


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path)


@pytest.fixture
def plan(workspace):
    return workspace.presets["chat-8b"].model_copy(update={"machine": H100})


@pytest.mark.parametrize(
    ("text", "field", "given"),
    [
        (BENCH.format(load='"max_concurrency": 2000000'), "concurrency", "2000000"),
        (BENCH.format(load='"total_input_tokens": 1000000000'), "input_tokens", "1000000000"),
        (BENCH.format(load='"request_rate": 1e9'), "request_rate", "1000000000.0"),
        (BENCH.format(load='"request_rate": 1e-9'), "request_rate", "1e-09"),
        ("Avg generation throughput: 2500.0 tokens/s, Running: 999999999 reqs", "concurrency", "999999999"),
    ],
)
def test_a_load_that_no_plan_can_have_is_named_with_its_value_and_bound(workspace, plan, text, field, given):
    with pytest.raises(InputError) as refused:
        workspace.understood(parse_measurement(text, "bench"), "bench", plan)
    message = refused.value.message
    assert message.id == "plan.bad_field"
    assert message.values["file"] == "bench"
    assert message.values["field"] == f"workload → {field}"
    problem = message.values["problem"]
    assert isinstance(problem, Message)
    assert problem.values["given"] == given
    assert problem.values["limit"]


def table(ranks, hosts=1):
    lines = [
        f"#  Rank {rank} Group 0 Pid 1 on host{rank % hosts} device {rank % 8} [0x18] NVIDIA H100 80GB HBM3"
        for rank in range(ranks)
    ]
    return "\n".join([*lines, " 8589934592  2147483648  float  sum  -1  36000.0  238.6  447.5  0  36100  238  447 0"])


@pytest.mark.parametrize(("ranks", "hosts"), [(1, 1), (16, 2), (256, 32)])
def test_only_a_table_of_one_node_is_taken(workspace, ranks, hosts):
    with pytest.raises(InputError) as refused:
        workspace.understood(parse_measurement(table(ranks, hosts), "nccl.txt"), "nccl.txt", None)
    assert refused.value.message.id == "own.link.one_node"


def test_a_node_of_more_gpus_than_one_can_have_is_refused(workspace):
    many = parse_measurement(table(MOST_PER_NODE + 1), "nccl.txt")
    with pytest.raises(InputError) as refused:
        workspace.understood(many, "nccl.txt", None)
    assert refused.value.message.values["field"] == "per_node"
