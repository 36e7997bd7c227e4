"""Where a plan's operators lie below the roof of a machine, and what the plan expects of it beside what was seen."""

import pytest

from gpuplanner.engine.estimate import Estimate, Limit
from gpuplanner.machines.expecting import expected_of_plan
from gpuplanner.machines.rates.chart import Role
from gpuplanner.machines.rates.operators import operators
from gpuplanner.machines.rates.reading import known_of, rates_of
from gpuplanner.machines.rates.roofline import roofline
from gpuplanner.machines.rates.utilization import utilization
from gpuplanner.messages import Message
from gpuplanner.probe.evidence import Evidence
from gpuplanner.probe.evidence.measured import MatrixRate
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workspace import Workspace
from tests.acceptance.judged import H100, gpus, promising
from tests.machines.rated import H100_SXM, absent, copies, known, lines


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return Workspace(tmp_path_factory.mktemp("home"))


def planned(workspace: Workspace, preset: str, gpus: int = 1) -> Plan:
    choice = MachineChoice(gpu_id=H100_SXM.id, gpus=gpus, per_node=gpus)
    return workspace.presets[preset].model_copy(update={"machine": choice})


def explained(workspace: Workspace, preset: str, gpus: int = 1) -> Estimate:
    return workspace.explained(planned(workspace, preset, gpus))


@pytest.mark.parametrize("preset", ["chat-8b", "pretrain-7b", "diffusion-flux", "vision-resnet50-training", "stencil"])
def test_no_operator_lies_above_the_roof(workspace, preset):
    found = operators(explained(workspace, preset, 8))
    assert found
    for each in found:
        assert 0 <= each.flop_per_s <= 989e12
        if each.moved_bytes:
            assert each.moved_bytes / each.seconds <= 3.35e12 * (1 + 1e-9)
    assert len({ids for each in found for ids in each.ids}) == sum(len(each.ids) for each in found)


def test_a_decode_step_multiplies_each_weight_once_for_each_request(workspace):
    made = explained(workspace, "chat-8b")
    weights = operators(made)[0]
    assert weights.ids == ("weights_read", "multiply")
    rows = made.metrics["resident_sequences"].value
    # Two FLOP a weight and request, two bytes a weight.
    assert weights.flop / weights.moved_bytes == pytest.approx(rows, rel=0.01)
    shown = sum(part.figure.value for part in made.time if part.id in weights.ids)
    assert weights.seconds == pytest.approx(shown)


def test_the_roof_has_measured_ceilings_where_something_was_measured(workspace):
    evidence = Evidence(
        bandwidths=copies("device_memory", {0: 3000.0}, counts_both=True, bytes=2**28),
        matrix_rates=(MatrixRate(gpu_index=0, dtype="bf16", tflop_per_s=780.0, path="torch"),),
    )
    of_plan = known(promising(H100), gpu=H100_SXM, planned=explained(workspace, "chat-8b"))
    chart = roofline(evidence, of_plan)
    memory, bf16 = lines(chart, Role.MEASURED)
    assert memory.points[1].y / memory.points[1].x == pytest.approx(3.0)
    assert {point.y for point in bf16.points} == {780.0}
    slope, flat = lines(chart, Role.PEAK)
    assert slope.points[1].y == pytest.approx(flat.points[0].y)
    assert flat.points[1].y == 989.0
    [points] = lines(chart, Role.PLANNED)
    assert len(points.points) > 1
    assert absent(chart) == ["flop"]


def test_without_measurements_the_engine_gives_the_ceilings_and_without_a_plan_there_is_no_roof(workspace):
    of_plan = known(promising(H100), gpu=H100_SXM, planned=explained(workspace, "pretrain-7b", 8))
    chart = roofline(Evidence(), of_plan)
    assert lines(chart, Role.MEASURED) == []
    assert len(lines(chart, Role.EXPECTED)) == 2
    # The engine counts no bytes of these, so that they lie somewhere on a line.
    spans = lines(chart, Role.PLANNED)
    assert all(len({point.y for point in span.points}) == 1 and len(span.points) == 2 for span in spans)
    assert roofline(Evidence(), known(promising(H100), gpu=H100_SXM)) is None


def test_shares_of_a_plan_stand_beside_those_seen(workspace):
    made = explained(workspace, "chat-8b")
    seen = {0: {"utilization_percent": 71.0, "memory_percent": 40.0, "power_w": 350.0, "nvlink_sent_mb_per_s": 4500.0}}
    chart = utilization(seen, known(promising(H100), gpu=H100_SXM, planned=made))
    assert chart is not None
    names = [label.id.removeprefix("rates.share.") for label in chart.labels if isinstance(label, Message)]
    [measured] = lines(chart, Role.MEASURED)
    of = {names[int(point.x)]: point.y for point in measured.points}
    assert of == {"busy": 71.0, "memory": 40.0, "power": 50.0, "link": pytest.approx(1.0)}
    [expected] = lines(chart, Role.EXPECTED)
    shares = {names[int(point.x)]: point for point in expected.points}
    busy = shares["busy"]
    assert (busy.low or 0) <= busy.y <= (busy.high or 0)
    assert 0 < shares["power"].y <= 100
    limits = dict(made.limits)
    assert shares["memory"].y == pytest.approx(100 * limits[Limit.HBM])
    assert shares["memory"].high == pytest.approx(100 * (limits[Limit.HBM] + limits[Limit.COMPUTE]))
    assert absent(chart) == ["compute"]
    idle = utilization({0: {"utilization_percent": 0.0}}, known(promising(H100), planned=made))
    assert "idle" in absent(idle)


def test_a_plan_that_cannot_be_estimated_is_said_to_be_why(workspace):
    plan = planned(workspace, "live-video")
    evidence = Evidence(
        gpus=gpus(1),
        bandwidths=copies("device_memory", {0: 3000.0}, counts_both=True),
        matrix_rates=(MatrixRate(gpu_index=0, dtype="bf16", tflop_per_s=780.0, path="torch"),),
    )
    promised = expected_of_plan(plan, workspace)
    for seen in (evidence, Evidence(gpus=gpus(1))):
        charts = {chart.id: chart for chart in rates_of(seen, known_of(workspace, seen, promised, plan)).charts}
        assert absent(charts["roofline"]) == ["no_estimate"]
