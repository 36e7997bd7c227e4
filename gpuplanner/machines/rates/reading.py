"""All charts of a machine, with what the catalog, the rules and a plan say of them. Draws and prints nothing."""

from collections.abc import Mapping

from gpuplanner.acceptance.promised import Promised
from gpuplanner.acceptance.rules import read_rules
from gpuplanner.catalog.entries import Gpu
from gpuplanner.engine.estimate import Estimate
from gpuplanner.machines.rates.chart import RateChart, Rates, drawable
from gpuplanner.machines.rates.collectives import all_reduces
from gpuplanner.machines.rates.copies import host_copies, memory_copies, peer_copies
from gpuplanner.machines.rates.disks import disks
from gpuplanner.machines.rates.known import Known
from gpuplanner.machines.rates.products import products
from gpuplanner.machines.rates.roofline import roofline
from gpuplanner.machines.rates.utilization import Seen, of_samples, utilization
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.paths import shipped
from gpuplanner.probe.evidence import Evidence
from gpuplanner.workload.plan import MachineChoice, Plan
from gpuplanner.workspace import Workspace


def known_of(workspace: Workspace, evidence: Evidence, promised: Promised, plan: Plan | None = None) -> Known:
    """What the rates are held against. `promised`: as the checks take it; `plan`: whose operators are drawn, on the
    machine at hand where it names none.
    """
    gpus = workspace.catalog.gpus
    gpu = gpus.get(promised.gpu.id) if promised.gpu is not None else None
    if gpu is None:
        # A table of nccl-tests alone names the GPUs, too.
        named = {name for run in evidence.collectives for name in run.gpu_names}
        found = workspace.resolve(named.pop(), "gpu") if len(named) == 1 else None
        gpu = gpus.get(found.id or "") if found is not None else None
    planned: Estimate | None = None
    no_plan: Message | None = None
    if plan is not None:
        try:
            planned = workspace.explained(on_machine(plan, gpu, promised.gpu_count or len(evidence.gpus)))
        except InputError as fault:
            no_plan = msg("rates.absent.no_estimate", why=fault.message)
    rules = read_rules(shipped("catalogs") / "checks")
    return Known(promised, rules, workspace.efficiencies, gpu, planned, no_plan)


def on_machine(plan: Plan, gpu: Gpu | None, count: int) -> Plan:
    """The plan, on the machine at hand where it names none. `count`: GPUs of it; 0 where nobody counted them."""
    if plan.machine is not None or gpu is None:
        return plan
    choice = MachineChoice(gpu_id=gpu.id, gpus=max(1, count), per_node=max(1, count))
    return plan.model_copy(update={"machine": choice})


def rates_of(evidence: Evidence, known: Known, watched: Mapping[int, Seen] | None = None) -> Rates:
    """The charts of a machine. `watched`: what was seen live, where it was; else the samples among the evidence."""
    made: tuple[RateChart | None, ...] = (
        *all_reduces(evidence, known),
        host_copies(evidence, known),
        *peer_copies(evidence, known),
        memory_copies(evidence, known),
        products(evidence, known),
        disks(evidence, known),
        roofline(evidence, known),
        utilization(watched or of_samples(evidence), known),
    )
    drawn = [drawable(chart) for chart in made if chart is not None]
    charts = [chart for chart in drawn if chart.lines or chart.absent]
    return Rates(tuple(charts), tuple(_lacking(evidence, {chart.id for chart in charts})))


def _lacking(evidence: Evidence, there: set[str]) -> list[Message]:
    """What nobody measured, in the order of the charts. Of one GPU nothing is exchanged."""
    wanted = ["host_copies", "memory_copies", "products", "disks"]
    if len(evidence.gpus) != 1:
        wanted[1:1] = ["peer_copies", "all_reduce"]
    return [msg(f"rates.lacking.{name}") for name in wanted if not any(chart_id.startswith(name) for chart_id in there)]
