"""What measured parts of a machine make of estimates on it: memory, products, the link to the host, its drives."""

from dataclasses import replace

import pytest

from gpuplanner.engine.estimate import Limit
from gpuplanner.engine.explaining import explanation
from gpuplanner.engine.own_links import PASSED_OVER, OwnLink
from gpuplanner.engine.own_measurements import site_of
from gpuplanner.engine.own_parts import DISK, HOST_LINK, MEMORY, PRODUCT, OwnParts
from gpuplanner.facts import MissingFactError
from gpuplanner.messages import InputError
from gpuplanner.store.own_measurements import keep_own, read_own, switch_own
from gpuplanner.workload.plan import MachineChoice
from gpuplanner.workspace import Workspace

EIGHT = MachineChoice(gpu_id="nvidia-h100-sxm5-80gb", gpus=8)
TIMES = {"chat-70b": "tpot_s", "pretrain-7b": "step_s"}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    return Workspace(tmp_path_factory.mktemp("home"))


@pytest.fixture
def plan(workspace):
    def made(preset="chat-70b", machine=EIGHT, **fields):
        kept = workspace.presets[preset]
        return kept.model_validate(
            {**kept.model_dump(), "workload": kept.workload.model_dump() | fields, "machine": machine.model_dump()}
        )

    return made


@pytest.fixture
def parts(workspace):
    site = site_of(workspace.machine(EIGHT))
    return OwnParts("0123abcd", "node7.gpurun", "2026-05-01", site, {MEMORY: 2.6e12, PRODUCT: 500e12})


def measured(workspace, *own):
    home = workspace.home / "-".join(str(abs(hash(str(each)))) for each in own)
    for each in own:
        keep_own(home, each)
    assert read_own(home) == (tuple(sorted(own, key=lambda each: each.id)), ())
    return Workspace(home)


def seconds(made, limit):
    return sum(part.figure.value for part in made.time if part.limit is limit)


def width(figure):
    return figure.high / figure.low


def test_a_slow_memory_takes_longer_to_read_and_multiplies_as_before(workspace, plan, parts):
    only = replace(parts, rates={MEMORY: 2.6e12})
    factor = only.factors(workspace.catalog.gpus[EIGHT.gpu_id], workspace.efficiencies)[MEMORY]
    assert factor < 0.95
    asked = plan(tensor_parallel=8, pipeline_parallel=1)
    before, after = workspace.estimate(asked), measured(workspace, only).estimate(asked)
    was, is_ = ({part.id: part.figure.value for part in made.time} for made in (before, after))
    for name in ("weights_read", "cache_read", "between"):
        assert is_[name] == pytest.approx(was[name] / factor)
    for name in ("multiply", "exchange", "launch", "host"):
        assert is_[name] == pytest.approx(was[name])
    assert after.metrics["tpot_s"].value > before.metrics["tpot_s"].value


def test_slow_products_lengthen_a_training_step(workspace, plan, parts):
    only = replace(parts, rates={PRODUCT: 500e12})
    asked = plan("pretrain-7b")
    before, after = workspace.estimate(asked), measured(workspace, only).estimate(asked)
    assert after.metrics["step_s"].value > 1.1 * before.metrics["step_s"].value
    assert after.metrics["mfu"].value < before.metrics["mfu"].value
    # Of work that is multiplied in 8 bits nothing was measured but attention and the output projection.
    eight = plan("pretrain-7b", precision="fp8")
    slower = after.metrics["step_s"].value / before.metrics["step_s"].value
    in_eight = measured(workspace, only).estimate(eight).metrics["step_s"].value
    assert 1.0 < in_eight / workspace.estimate(eight).metrics["step_s"].value < slower


@pytest.mark.parametrize(("preset", "time"), TIMES.items())
def test_parts_as_they_are_estimated_change_nothing_but_how_sure_it_is(workspace, plan, parts, preset, time):
    found = parts.factors(workspace.catalog.gpus[EIGHT.gpu_id], workspace.efficiencies)
    same = replace(parts, rates={name: parts.rates[name] / factor for name, factor in found.items()})
    before, after = workspace.estimate(plan(preset)), measured(workspace, same).estimate(plan(preset))
    assert after.metrics[time].value == pytest.approx(before.metrics[time].value)
    assert width(after.metrics[time]) < width(before.metrics[time])
    assert after.metrics[time].why.id == "own.parts.why"
    low, high = (workspace.efficiencies.constants("own_ranges", f"{family}, same load")[end] for family, end in (
        ("time per token" if preset == "chat-70b" else "training step", "low"),
        ("time per token" if preset == "chat-70b" else "training step", "high"),
    ))  # fmt: skip
    assert (
        after.metrics[time].low <= after.metrics[time].value * low * (1 + 1e-9)
        or width(before.metrics[time]) <= high / low
    )
    assert after.metrics["ttft_s" if preset == "chat-70b" else "max_sequence"].value == pytest.approx(
        before.metrics["ttft_s" if preset == "chat-70b" else "max_sequence"].value
    )


def test_measured_links_narrow_a_range_as_far_as_a_step_exchanges(workspace, plan):
    asked = plan(tensor_parallel=8, pipeline_parallel=1)
    link = OwnLink("0123abcd", "nccl.txt", "2026-05-01", site_of(workspace.machine(EIGHT)), 330e9, 8e9, 8.0)
    factor = link.factor(workspace.machine(EIGHT), workspace.efficiencies)
    same = replace(link, bus_bytes_per_s=link.bus_bytes_per_s * factor)
    before, after = workspace.estimate(asked), measured(workspace, same).estimate(asked)
    assert after.metrics["tpot_s"].value == pytest.approx(before.metrics["tpot_s"].value)
    assert width(after.metrics["tpot_s"]) < width(before.metrics["tpot_s"])
    alone = plan("laptop-8b", MachineChoice(gpu_id=EIGHT.gpu_id, gpus=1))
    assert measured(workspace, same).estimate(alone) == workspace.estimate(alone)


def test_the_explanation_has_a_row_of_its_own_that_names_the_file(workspace, plan, parts):
    own = measured(workspace, parts)
    for preset, time in TIMES.items():
        rows = [row for row in explanation(own.explained(plan(preset)).metrics[time]) if row.term == "own_rate_factor"]
        assert rows
        assert {row.source for row in rows} == {"node7.gpurun"}
    assert not [
        row for row in explanation(workspace.explained(plan()).metrics["tpot_s"]) if row.term == "own_rate_factor"
    ]


def test_it_counts_for_that_very_machine_and_can_be_turned_off(workspace, plan, parts):
    own = measured(workspace, parts)
    assert any(remark.id == "own.parts.applied" for remark in own.estimate(plan()).remarks)
    other = plan(machine=EIGHT.model_copy(update={"gpus": 4, "per_node": 4}))
    assert own.estimate(other) == workspace.estimate(other)
    switch_own(own.home, parts.id, used=False)
    assert Workspace(own.home).estimate(plan()) == workspace.estimate(plan())


@pytest.mark.parametrize("preset", ["chat-70b", "pretrain-7b"])
def test_a_search_takes_the_machine_as_it_was_measured(workspace, preset, parts):
    offers = {
        name: offer for name in workspace.catalog.instances
        if (offer := offer_of(workspace, name)) is not None and site_of(offer) == parts.site
    }  # fmt: skip
    assert len(offers) > 1
    own = measured(workspace, parts)
    asked = workspace.presets[preset].model_copy(update={"machine": None})
    before, after = workspace.search(asked).candidates, own.search(asked).candidates
    one = next(found for found in after if found.machine.instance.id in offers)
    assert one.own is not None
    same = next(found for found in before if found.machine.instance.id == one.machine.instance.id)
    if same.way == one.way:
        assert one.metrics[TIMES[preset]] > same.metrics[TIMES[preset]]
    full = own.estimate(one.plan)
    for name, value in one.metrics.items():
        assert full.metrics[name].value == pytest.approx(value, rel=1e-9), name
    others = {c.machine.instance.id: c for c in before}
    for found in after:
        if found.own is None and found.machine.instance.id in others:
            assert found.metrics == others[found.machine.instance.id].metrics


def offer_of(workspace, name):
    try:
        return workspace.machine(MachineChoice(instance_id=name))
    except (InputError, MissingFactError):
        return None


def test_its_drives_are_read_as_they_were_measured(workspace, plan, parts):
    slow = replace(parts, rates={DISK: 2e8})
    asked = plan("vision-resnet50-training", data_storage="local")
    before, after = workspace.estimate(asked), measured(workspace, slow).estimate(asked)
    assert seconds(after, Limit.STORAGE) > seconds(before, Limit.STORAGE)
    assert any(remark.id == "own.parts.disk_applied" for remark in after.remarks)
    stated = plan("vision-resnet50-training", data_storage="local", storage_bytes_per_s=5e9)
    said, unmeasured = measured(workspace, slow).estimate(stated), workspace.estimate(stated)
    assert (said.metrics, said.time, said.host, said.remarks) == (
        unmeasured.metrics, unmeasured.time, unmeasured.host, unmeasured.remarks,
    )  # fmt: skip


def test_the_link_to_the_host_counts_where_something_crosses_it(workspace, plan, parts):
    host = replace(parts, rates={HOST_LINK: 20e9})
    own = measured(workspace, host)
    offloaded = plan(tensor_parallel=8, pipeline_parallel=1, cpu_offload_bytes=4_000_000_000)
    before, after = (
        {part.id: part.figure.value for part in each.estimate(offloaded).time}["fetch"] for each in (workspace, own)
    )
    factor = host.factors(workspace.catalog.gpus[EIGHT.gpu_id], workspace.efficiencies)[HOST_LINK]
    assert after == pytest.approx(before / factor)
    assert own.estimate(plan()).metrics == workspace.estimate(plan()).metrics


@pytest.mark.parametrize(
    "rates", [{MEMORY: 9e12}, {MEMORY: 1e10}, {PRODUCT: 5e15}, {HOST_LINK: 1e308}, {PRODUCT: 5e-324}]
)
def test_what_no_such_gpu_can_reach_is_refused_and_passed_over(workspace, plan, parts, rates):
    wrong = replace(parts, rates=rates)
    with pytest.raises(InputError) as refused:
        wrong.factors(workspace.catalog.gpus[EIGHT.gpu_id], workspace.efficiencies)
    assert refused.value.message.id == "own.parts.too_far"
    made = measured(workspace, wrong).estimate(plan())
    assert [remark.values["why"].id for remark in made.remarks if remark.id == PASSED_OVER] == ["own.parts.too_far"]
    assert replace(made, remarks=()) == replace(workspace.estimate(plan()), remarks=())
    assert made.own is None
    # The one before it counts.
    both = measured(workspace, wrong, replace(parts, id="89abcdef", date="2026-01-01"))
    assert any(remark.id == "own.parts.applied" for remark in both.estimate(plan()).remarks)


def test_drives_quicker_than_any_and_products_of_no_size_do_not_count(workspace, plan, parts):
    made = measured(workspace, replace(parts, rates={DISK: 1e308})).estimate(plan())
    assert [r.values["why"].id for r in made.remarks if r.id == PASSED_OVER] == ["own.parts.disk_too_quick"]
    gpu = workspace.catalog.gpus[EIGHT.gpu_id]
    whole = parts.factors(gpu, workspace.efficiencies)[PRODUCT]
    for side in (5e-324, 1e308):
        odd = replace(parts, rates={PRODUCT: 500e12, "product_rows": side, "product_depth": side})
        assert 0.2 * whole < odd.factors(gpu, workspace.efficiencies)[PRODUCT] < 5 * whole
