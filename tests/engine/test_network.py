"""The network of a node that a plan states: for its machine, and where the catalog has none."""

import pytest

from gpuplanner.engine.estimate import Outcome
from gpuplanner.engine.machines import choice_of, with_assumed_network
from gpuplanner.engine.proposals import machine_proposals
from gpuplanner.engine.search.result import Broken, SearchResult
from gpuplanner.messages import Language, Translator
from gpuplanner.quantities import bit_rate, written
from gpuplanner.ui.plan_place.wizard.fields import limit_fields
from gpuplanner.units import Display, Unit
from gpuplanner.workload.plan import Constraints, MachineChoice, Plan
from gpuplanner.workspace import Workspace

SXM5 = "nvidia-h100-sxm5-80gb"
BOUGHT = MachineChoice(gpu_id=SXM5, gpus=64, per_node=8)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def plan(workspace: Workspace) -> Plan:
    return workspace.presets["pretrain-7b"]


def _found(workspace: Workspace, plan: Plan, **limits: object) -> SearchResult:
    asked = {"gpus": (SXM5,), "providers": ("Hyperstack",), **limits}
    return workspace.search(plan.model_copy(update={"constraints": plan.constraints.model_copy(update=asked)}))


def test_bought_gpus_with_a_stated_network_are_timed(workspace, plan):
    stated = BOUGHT.model_copy(update={"network_bits_per_s": 400e9})
    made = workspace.estimate(plan.model_copy(update={"machine": stated}))
    assert made.machine.host.network_bytes_per_s == 50e9
    assert made.outcome is Outcome.FITS
    assert choice_of(made.machine) == stated
    slow = workspace.estimate(
        plan.model_copy(update={"machine": BOUGHT.model_copy(update={"network_bits_per_s": 1e9})})
    )
    assert slow.metrics["job_s"].value > made.metrics["job_s"].value
    assert "machines.network_stated" in {said.id for said in made.remarks}


def test_an_assumed_network_counts_only_where_the_catalog_has_none(workspace, plan):
    limits = plan.constraints.model_copy(update={"network_bits_per_s": 400e9})
    made = workspace.estimate(plan.model_copy(update={"machine": BOUGHT, "constraints": limits}))
    assert made.machine.host.network_bytes_per_s == 50e9
    assert choice_of(made.machine) == BOUGHT
    known = next(
        c.machine for c in workspace.search(plan).candidates if c.machine.host.network_bytes_per_s not in {None, 50e9}
    )
    assert with_assumed_network(known, 400e9) is known
    stated = choice_of(known).model_copy(update={"network_bits_per_s": 8e9})
    assert workspace.machine(stated).host.network_bytes_per_s == 1e9


def test_another_number_of_gpus_keeps_the_stated_network(workspace, plan):
    few = MachineChoice(gpu_id=SXM5, gpus=2, per_node=2, network_bits_per_s=400e9)
    made = workspace.estimate(plan.model_copy(update={"machine": few}))
    more = next(next(iter(machine_proposals(made, workspace.catalog.gpus))))
    assert more.plan.machine is not None
    assert (more.plan.machine.gpus, more.plan.machine.network_bits_per_s) == (3, 400e9)


def test_where_more_nodes_were_not_tried_the_reason_says_so(workspace, plan):
    said = _found(workspace, plan).rejections
    late = [r for r in said if r.broken is Broken.DEADLINE and r.machine is not None]
    alone = [r.reason for r in late if r.machine is not None and r.machine.host.network_bytes_per_s is None]
    assert alone
    assert {reason.id for reason in alone} == {"limits.only_one_node"}
    assert sum(r.reason.id == "limits.only_one_node" for r in late) == len(alone)
    for language in Language:
        assert Translator(language).text(alone[0])
    assumed = _found(workspace, plan, network_bits_per_s=400e9)
    assert assumed.candidates[0].machine.nodes > 1
    assert all(r.reason.id != "limits.only_one_node" for r in assumed.rejections)
    few = _found(workspace, plan, max_gpus=1).rejections
    assert all(r.reason.id != "limits.only_one_node" for r in few)


def test_a_model_that_one_node_does_not_hold_says_so_too(workspace):
    """Replicas need no network, one model over several nodes does."""
    asked = {"providers": ("Hyperstack",)}
    found = {}
    for network in (None, 100e9):
        plan = workspace.presets["chat-70b"].model_copy(update={"constraints": Constraints()})
        goals = {"ttft_goal_s": None, "tpot_goal_s": None}
        plan = plan.model_copy(update={"workload": plan.workload.model_copy(update=goals)})
        limits = plan.constraints.model_copy(update=asked | {"network_bits_per_s": network})
        found[network] = workspace.search(plan.model_copy(update={"constraints": limits}))
    broke = [r for r in found[None].rejections if r.broken is Broken.MEMORY and r.machine is not None]
    whole = [r for r in broke if r.machine is not None and r.machine.gpu_fraction == 1]
    short = [r for r in whole if r.machine is not None and r.machine.host.network_bytes_per_s is None]
    assert short
    assert {r.reason.id for r in short} == {"limits.no_model_over_nodes"}, "replicas on more nodes were tried"
    assert all(Translator(language).text(short[0].reason) for language in Language)
    carried = {c.machine.instance.id for c in found[100e9].candidates if c.machine.instance is not None}
    assert carried & {r.instance.id for r in short if r.instance is not None}


def test_the_origin_of_a_stated_network_is_the_person(workspace, plan):
    stated = BOUGHT.model_copy(update={"network_bits_per_s": 400e9})
    made = workspace.explained(plan.model_copy(update={"machine": stated}))
    assert made.metrics["job_s"].derivation is not None


@pytest.mark.parametrize("text", ["400 Gbit/s", "0.4 Tbit/s", "400Gbps", "400000 Mbit/s"])
def test_networks_are_written_as_they_are_sold(text):
    assert written(text, Unit.BIT_PER_S) == pytest.approx(400e9)
    assert bit_rate().parse(text, Display()) == pytest.approx(400e9)


def test_the_wizard_asks_for_it_in_gbit_per_s():
    field = next(field for field in limit_fields() if field.name == "network_bits_per_s")
    assert field.quantity is not None
    assert field.quantity.suffix(Display()) == "Gbit/s"
    assert field.quantity.show(400e9, Display()) == "400"
