"""Which statements of the catalog bear on an estimate, to stand beside its own numbers. Judges none of them."""

from collections.abc import Iterable

from gpuplanner.catalog.entries import Rule
from gpuplanner.catalog.rules import bearing_on
from gpuplanner.engine.estimate import Estimate
from gpuplanner.engine.machine import Machine

ADVISING = frozenset({"rule", "answer", "principle", "tier", "specification"})
"""The kinds that advise on a plan; the others are about checks of a machine and about errors of other catalogs."""
ALWAYS = frozenset({
    "memory", "memory_headroom", "weight_bytes", "model_size", "gpu_choice", "precision", "workload", "utilisation",
    "time", "cost", "power", "driver", "cuda", "framework",
})  # fmt: skip
"""What every plan is about."""
OF_SOME_MACHINES = frozenset({"link", "pcie", "network", "virtualization"})
"""What is said of these does not bear on a plan whose machine has none of it, whatever else it is about."""


def advice_for(estimate: Estimate, rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """The statements about this plan, those about its very GPU first; without those beside the host's needs."""
    known = tuple(rules)
    gpu_id = estimate.machine.gpu.id
    beside = {rule_id for need in estimate.host for rule_id, _ in need.rules}
    has = _of_machine(estimate.machine)
    topics = {*ALWAYS, *has, estimate.plan.workload.kind, *(need.id for need in estimate.host)}
    own = tuple(rule for rule in known if gpu_id in rule.applies_to)
    general = (
        rule for rule in bearing_on(known, topics, gpu_id) if not (OF_SOME_MACHINES - has).intersection(rule.bears_on)
    )
    found = dict.fromkeys((*own, *general))
    return tuple(rule for rule in found if rule.kind in ADVISING and rule.id not in beside)


def _of_machine(machine: Machine) -> frozenset[str]:
    has = set()
    if machine.gpus_per_node > 1:
        has |= {"link", "pcie"}
    if machine.nodes > 1:
        has.add("network")
    if machine.instance is not None:
        has.add("virtualization")
    return frozenset(has)
