"""The numbers of a machine that training depends on: memory, rates, and what collectives reach on its links."""

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.engine.formulas.gpu_memory import slice_memory_bytes
from gpuplanner.engine.links import (
    NETWORK,
    Collective,
    host_link_bytes_per_s,
    network_bytes_per_s_per_gpu,
    reach,
)
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.serving_machine import usable_bytes
from gpuplanner.engine.training_inputs import HardwareNumbers
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import kept

NOT_USED = 1e30


@kept(2048)
def hardware_numbers(machine: Machine, efficiencies: Efficiencies) -> HardwareNumbers:
    """The numbers of `machine`.

    Raises MissingFactError when memory size or bandwidth, a link that is used, or the network between several nodes is
    not known.
    """
    gpu = machine.gpu
    fraction = float(machine.gpu_fraction)
    kind = machine.topology
    link = NOT_USED if machine.link_bytes_per_s is None else machine.link_bytes_per_s
    network = network_bytes_per_s_per_gpu(machine) if machine.nodes > 1 else NOT_USED
    try:
        pcie = host_link_bytes_per_s(gpu)
    except MissingFactError:
        # `software_numbers` refuses what would have to cross it.
        pcie = NOT_USED
    return HardwareNumbers(
        gpus=float(machine.gpus),
        gpus_per_node=float(machine.gpus_per_node),
        usable_bytes=slice_memory_bytes(usable_bytes(gpu, efficiencies), fraction),
        hbm_bytes_per_s=gpu.value(GpuProperty.HBM_BYTES_PER_S) * fraction,
        link_bytes_per_s=link,
        network_bytes_per_s=network,
        pcie_bytes_per_s=pcie,
        all_reduce=reach(efficiencies, gpu, Collective.ALL_REDUCE, kind),
        all_gather=reach(efficiencies, gpu, Collective.ALL_GATHER, kind),
        reduce_scatter=reach(efficiencies, gpu, Collective.REDUCE_SCATTER, kind),
        all_to_all=reach(efficiencies, gpu, Collective.ALL_TO_ALL, kind),
        send=reach(efficiencies, gpu, Collective.SEND, kind),
        network_all_reduce=reach(efficiencies, gpu, Collective.ALL_REDUCE, NETWORK),
        network_all_gather=reach(efficiencies, gpu, Collective.ALL_GATHER, NETWORK),
        network_all_to_all=reach(efficiencies, gpu, Collective.ALL_TO_ALL, NETWORK),
        network_send=reach(efficiencies, gpu, Collective.SEND, NETWORK),
    )
