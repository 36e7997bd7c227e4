"""Machines out of the catalog: topology, link, host and price of an instance or of bare GPUs. Nothing is estimated.

What the source of an offer leaves open is taken from the GPU's form factor and said in the machine's remarks; what it
does not say at all makes the offer one that cannot be planned with, never one with a default.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from gpuplanner.catalog.catalog import Catalog, Rate
from gpuplanner.catalog.entries import Gpu, GpuProperty, Instance, InstanceProperty, Price, PriceKind
from gpuplanner.catalog.names import Kind, Resolution, Technology
from gpuplanner.engine.formulas.cost import usd_per_hour
from gpuplanner.engine.links import pcie_bytes_per_s
from gpuplanner.engine.machine import Host, Machine, Topology
from gpuplanner.engine.slices import sliced, slices_per_gpu
from gpuplanner.facts import MissingFactError
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.units import Display, Unit, show
from gpuplanner.workload.machine_counts import MOST_GPUS, MOST_NODES, MOST_PER_NODE
from gpuplanner.workload.plan import GpuSlice, MachineChoice

BARE_COUNTS = (1, 2, 4, 8)
"""How many bare GPUs of one type are ranked: what fits on one mainboard."""
MORE_NODES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""How many times the nodes are tried where they are too few."""
PRICE_ORDER = (PriceKind.QUOTED, PriceKind.ON_DEMAND, PriceKind.MONTHLY)
"""Which price counts: a person's own quote first. Spot capacity can be taken away, so it never stands for a price."""
MODULE_FORM_FACTORS = ("SXM", "OAM", "superchip")
"""GPUs on a board that links all of them."""
ALL_TO_ALL = ("nvswitch", "nvl72", "infinity fabric", "neuronlink", "nvlink")
BRIDGES = "bridge"


@dataclass(frozen=True, slots=True)
class Unplannable:
    """An offer of the catalog that says too little to be planned with, and what it lacks."""

    instance: Instance | None
    gpu: Gpu | None
    reason: Message


def machine_of(
    choice: MachineChoice,
    catalog: Catalog,
    rates: Mapping[str, Rate],
    regions: Collection[str] = (),
    network_bits_per_s: float | None = None,
) -> Machine:
    """The machine that a plan names. `regions`: whose prices count first, as in the search.

    `network_bits_per_s`: what the network of a node is taken to be where neither the choice nor the catalog says it.

    Raises InputError when the catalog does not have it, when it says too little (how many GPUs, which ones), or when
    the GPUs do not fill whole nodes.
    """
    machine = _chosen(choice, catalog, rates, regions)
    if choice.network_bits_per_s is not None:
        return networked(machine, choice.network_bits_per_s)
    return with_assumed_network(machine, network_bits_per_s)


def networked(machine: Machine, bits_per_s: float) -> Machine:
    """The machine with the network of a node as the plan states it for this machine."""
    return replace(_on_network(machine, bits_per_s), network_bits_per_s=bits_per_s)


def with_assumed_network(machine: Machine, bits_per_s: float | None) -> Machine:
    """The machine with a network that the plan assumes where the catalog has none."""
    known = machine.host.network_bytes_per_s is not None or machine.gpu_fraction != 1 or machine.slice is not None
    return machine if bits_per_s is None or known else _on_network(machine, bits_per_s)


def _on_network(machine: Machine, bits_per_s: float) -> Machine:
    said = msg("machines.network_stated", rate=str(show(bits_per_s, Unit.BIT_PER_S, Display())))
    host = replace(machine.host, network_bytes_per_s=bits_per_s / 8.0)
    return replace(machine, host=host, remarks=(*machine.remarks, said))


def _chosen(choice: MachineChoice, catalog: Catalog, rates: Mapping[str, Rate], regions: Collection[str]) -> Machine:
    if choice.instance_id is not None:
        instance = catalog.instances.get(choice.instance_id)
        if instance is None:
            raise InputError(msg("machines.unknown_instance", id=choice.instance_id))
        return rented(instance, choice.nodes, catalog.gpus, rates, regions)
    if choice.gpu_id is None:
        raise InputError(msg("machines.nothing_chosen"))
    gpu = catalog.gpus.get(choice.gpu_id)
    if gpu is None:
        raise InputError(msg("machines.unknown_gpu", id=choice.gpu_id))
    if choice.slice is not None:
        return in_slices(gpu, choice.slice, choice.gpus)
    per_node = min(choice.gpus, choice.per_node)
    nodes, left = divmod(choice.gpus, per_node)
    if left:
        raise InputError(msg("machines.nodes_not_filled", gpus=choice.gpus, per_node=per_node))
    return bare(gpu, per_node, nodes)


def catalog_machines(
    catalog: Catalog, rates: Mapping[str, Rate], *, bare_gpus: bool = False, regions: Collection[str] = ()
) -> Iterator[Machine | Unplannable]:
    """Every offer of the catalog as one node: its instances, or its GPUs as they are bought, one to eight of a kind.

    The two never stand in one list, so that no GPU appears twice. `regions`: whose prices count first.
    """
    if bare_gpus:
        for gpu in catalog.gpus.values():
            for count in BARE_COUNTS:
                try:
                    yield bare(gpu, count)
                except InputError as error:
                    yield Unplannable(None, gpu, error.message)
                    break
        return
    for instance in catalog.instances.values():
        try:
            yield rented(instance, 1, catalog.gpus, rates, regions)
        except InputError as error:
            yield Unplannable(instance, catalog.gpus.get(instance.planning_gpu_id or ""), error.message)


def rented(
    instance: Instance,
    nodes: int,
    gpus: Mapping[str, Gpu],
    rates: Mapping[str, Rate],
    regions: Collection[str] = (),
) -> Machine:
    """`nodes` of an instance. Raises InputError when its source does not say which GPU, how many, or which share."""
    name = f"{instance.provider} {instance.name}"
    gpu = gpus.get(instance.planning_gpu_id or "")
    if gpu is None:
        raise InputError(msg("machines.gpu_not_named", machine=name, text=instance.gpu_text))
    if instance.gpu_count is None:
        raise InputError(msg("machines.count_not_stated", machine=name))
    if instance.gpu_fraction is None:
        raise InputError(msg("machines.share_not_stated", machine=name))
    topology, link, remarks = _links(gpu, instance.gpu_count, instance.interconnect, name)
    if instance.gpu_id is None:
        others = ", ".join(gpus[i].name for i in instance.gpu_may_be[1:] if i in gpus)
        remarks += (msg("machines.slower_assumed", machine=name, text=instance.gpu_text, gpu=gpu.name, others=others),)
    if instance.is_attachable:
        remarks += (msg("machines.accelerator_only", machine=name),)
    price = None if instance.is_attachable else price_of(instance, regions)
    rate = rates.get(price.currency) if price and price.currency != "USD" else None
    return Machine(
        gpu=gpu,
        gpus_per_node=instance.gpu_count,
        nodes=nodes,
        topology=topology,
        link_bytes_per_s=link,
        host=_host(instance),
        gpu_fraction=instance.gpu_fraction,
        instance=instance,
        price=price,
        usd_per_hour=_in_usd(price, rate, nodes),
        rate=rate,
        remarks=remarks,
    )


def bare(gpu: Gpu, per_node: int, nodes: int = 1) -> Machine:
    """`nodes` nodes of `per_node` GPUs as they are bought: host and price are not known.

    Raises InputError when several are to work together and neither a link nor a PCIe rate is known.
    """
    topology, link, remarks = _links(gpu, per_node, "", f"{per_node} × {gpu.name}")
    return Machine(gpu, per_node, nodes, topology, link, Host(), Fraction(1), remarks=remarks)


def in_slices(gpu: Gpu, part: GpuSlice, count: int = 1) -> Machine:
    """`count` MIG slices of GPUs of one type: each works alone, without NVLink or peer-to-peer.

    Raises InputError for a GPU that cannot be divided so.
    """
    known = gpu.known(GpuProperty.MIG_SLICES)
    if known is not None and known.value < 1:
        raise InputError(msg("machines.no_slices", gpu=gpu.name))
    whole = -(-count // slices_per_gpu(part))
    said = msg("machines.slices", count=count, profile=part.profile, gpus=whole, gpu=gpu.name)
    made = bare(sliced(gpu, part), 1, count)
    return replace(made, slice=part, remarks=(said,))


def named_choice(found: Resolution, count: int | None = None) -> MachineChoice:
    """The choice that a resolved name stands for: GPUs, MIG slices of one, or an instance; as many as the name says.

    `count`: how many instead. Raises InputError where the name is no machine, and for shares of time, of which nobody
    says how much compute they have.
    """
    if found.id is None or found.kind is Kind.MODEL:
        raise InputError(found.reason)
    if found.kind is Kind.INSTANCE:
        return MachineChoice(instance_id=found.id, nodes=count or found.count or 1)
    many = count or found.count or 1
    if found.fraction is None:
        return MachineChoice(gpu_id=found.id, gpus=many, per_node=min(many, BARE_COUNTS[-1]))
    shares, part = found.fraction, found.slice
    if part is None or part.technology is not Technology.MIG or shares.compute is None:
        raise InputError(msg("machines.share_of_time", name=found.query))
    profile = GpuSlice(profile=part.profile, compute=str(shares.compute), memory=str(shares.memory))
    return MachineChoice(gpu_id=found.id, gpus=many, slice=profile)


def with_nodes(machine: Machine, nodes: int) -> Machine:
    """The same machine with another number of nodes."""
    if nodes == machine.nodes:
        return machine
    return replace(machine, nodes=nodes, usd_per_hour=_in_usd(machine.price, machine.rate, nodes))


def within_limits(machine: Machine) -> bool:
    """Whether a plan can name this machine."""
    if machine.instance is not None:
        return machine.nodes <= MOST_NODES
    return machine.gpus <= MOST_GPUS and machine.gpus_per_node <= MOST_PER_NODE


def choice_of(machine: Machine) -> MachineChoice:
    """The choice that a plan keeps for this machine."""
    if machine.instance is not None:
        network = machine.network_bits_per_s
        return MachineChoice(instance_id=machine.instance.id, nodes=machine.nodes, network_bits_per_s=network)
    return MachineChoice(
        gpu_id=machine.gpu.id,
        gpus=machine.gpus,
        per_node=MachineChoice.model_fields["per_node"].default if machine.slice else machine.gpus_per_node,
        slice=machine.slice,
        network_bits_per_s=machine.network_bits_per_s,
    )


def price_of(instance: Instance, regions: Collection[str] = ()) -> Price | None:
    """The price that counts: of these regions first, then by its terms, then the latest; None when there is none.

    A price of nothing is an unknown one.
    """
    counted = [price for price in instance.prices if price.kind in PRICE_ORDER and price.per_hour > 0]

    def first(price: Price) -> tuple[bool, int]:
        return price.region not in regions, PRICE_ORDER.index(price.kind)

    latest = sorted(counted, key=lambda price: price.date, reverse=True)
    return min(latest, key=first, default=None)


def _in_usd(price: Price | None, rate: Rate | None, nodes: int) -> float | None:
    if price is None or (rate is None and price.currency != "USD"):
        return None
    return float(usd_per_hour(price.per_hour, rate.per_usd if rate else 1.0, nodes))


def _host(instance: Instance) -> Host:
    values = {name: known.value for name, known in instance.properties.items()}
    network = values.get(InstanceProperty.NETWORK_BIT_PER_S)
    return Host(
        values.get(InstanceProperty.VCPUS),
        values.get(InstanceProperty.RAM_BYTES),
        values.get(InstanceProperty.LOCAL_STORAGE_BYTES),
        None if network is None else network / 8.0,
        values.get(InstanceProperty.LOCAL_STORAGE_BYTES_PER_S),
    )


def _links(gpu: Gpu, count: int, printed: str, name: str) -> tuple[Topology, float | None, tuple[Message, ...]]:
    """How the GPUs of one node meet, one GPU's rate one way, and what was assumed."""
    own = gpu.known(GpuProperty.LINK_BYTES_PER_S)
    link = printed.lower()
    if count == 1:
        return Topology.SINGLE, _pcie_or(gpu, own.value if own else None), ()
    if not link:
        if gpu.form_factor.startswith(MODULE_FORM_FACTORS) and own is not None:
            return Topology.SWITCHED, own.value, (msg("machines.link_assumed", machine=name, link=gpu.link_kind),)
        return Topology.PCIE, _pcie(gpu, name), (msg("machines.pcie_assumed", machine=name),)
    if own is not None and (BRIDGES in link or (gpu.link_is_bridge and "nvlink" in link)):
        return Topology.BRIDGED_PAIRS, own.value, ()
    if any(kind in link for kind in ALL_TO_ALL):
        if own is not None:
            return Topology.SWITCHED, own.value, ()
        return Topology.PCIE, _pcie(gpu, name), (msg("machines.link_rate_unknown", machine=name, link=printed),)
    return Topology.PCIE, _pcie(gpu, name), ()


def _pcie(gpu: Gpu, name: str) -> float:
    try:
        return pcie_bytes_per_s(gpu)
    except MissingFactError:
        raise InputError(msg("machines.no_link_known", machine=name, gpu=gpu.name)) from None


def _pcie_or(gpu: Gpu, otherwise: float | None) -> float | None:
    """A single GPU exchanges nothing with others: without a known rate to its host it can still be planned with."""
    try:
        return pcie_bytes_per_s(gpu)
    except MissingFactError:
        return otherwise
