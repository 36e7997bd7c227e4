"""The numbers of a machine that training depends on: memory, rates, and what collectives reach on its links."""

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.links import (
    NETWORK,
    Collective,
    network_bytes_per_s_per_gpu,
    pcie_bytes_per_s,
    reach,
)
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.training_inputs import HardwareNumbers
from gpuplanner.facts import MissingFactError

USABLE_SHARE = 0.985
"""Of the nominal memory what a program can allocate, where the catalog knows neither the reported nor the usable size:
NVIDIA cards report 0.96–0.995 of it."""
NOT_USED = 1e30


def usable_bytes(gpu: Gpu) -> float:
    """What a program can allocate on one GPU. Raises MissingFactError when no memory size is known."""
    for name in (GpuProperty.MEMORY_USABLE_BYTES, GpuProperty.MEMORY_REPORTED_BYTES):
        known = gpu.known(name)
        if known is not None:
            return known.value
    return gpu.value(GpuProperty.MEMORY_BYTES) * USABLE_SHARE


def hardware_numbers(machine: Machine, efficiencies: Efficiencies) -> HardwareNumbers:
    """The numbers of `machine`.

    Raises MissingFactError when memory size or bandwidth, a link that is used, or the network between several nodes is
    not known.
    """
    gpu = machine.gpu
    fraction = float(machine.gpu_fraction)
    kind = machine.topology
    network = network_bytes_per_s_per_gpu(machine) if machine.nodes > 1 else NOT_USED
    try:
        pcie = pcie_bytes_per_s(gpu)
    except MissingFactError:
        pcie = machine.link_bytes_per_s
    return HardwareNumbers(
        gpus=float(machine.gpus),
        gpus_per_node=float(machine.gpus_per_node),
        usable_bytes=usable_bytes(gpu) * fraction,
        hbm_bytes_per_s=gpu.value(GpuProperty.HBM_BYTES_PER_S) * fraction,
        link_bytes_per_s=machine.link_bytes_per_s,
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
    )
