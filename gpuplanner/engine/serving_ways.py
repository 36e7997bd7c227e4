"""The ways of serving that are worth trying on one machine, as arrays. Combinatorics only: nothing is estimated.

Degrees that the plan fixes are tried alone. A way that cannot be laid out (heads that do not divide, more stages than
layers) is not made.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

COPIES = (*range(1, 17), 18, 20, 22, 24, 28, 32, 36, 40, 48, 56, 64, 72, 80, 96, 112, 128, 160, 192, 224, 256)
"""How many machines (or groups of machines that hold one replica) are tried to carry a serving load."""
NODES_OF_A_REPLICA = (2, 4, 8)
"""Over how many nodes the stages of one replica are spread when it does not fit into one."""


@dataclass(frozen=True, slots=True)
class ServingWays:
    """Ways of one machine, a row a layout and a column a number of copies. `nodes` and `replicas` are totals."""

    tensor_parallel: Array
    pipeline_parallel: Array
    nodes_of_replica: Array
    nodes: Array
    replicas: Array


def serving_ways(
    gpus_per_node: int, heads: int, layers: int, tensor: int | None, pipeline: int | None, spanning: bool
) -> ServingWays | None:
    """The ways of serving on nodes of `gpus_per_node` GPUs, None when no layout is possible.

    `spanning`: whether replicas may be spread over nodes (the network is known).
    """
    layouts = list(_serving_layouts(gpus_per_node, heads, layers, tensor, pipeline, spanning))
    if not layouts:
        return None
    tp, pp, nodes = (np.array(column, dtype=np.float64)[:, None] for column in zip(*layouts, strict=True))
    copies = np.array(COPIES, dtype=np.float64)[None, :]
    beside = np.maximum(np.floor(gpus_per_node / (tp * pp)), 1.0)
    shape = (len(layouts), len(COPIES))
    return ServingWays(
        np.broadcast_to(tp, shape).ravel(),
        np.broadcast_to(pp, shape).ravel(),
        np.broadcast_to(nodes, shape).ravel(),
        (nodes * copies).ravel(),
        (beside * copies).ravel(),
    )


def _serving_layouts(
    gpus_per_node: int, heads: int, layers: int, tensor: int | None, pipeline: int | None, spanning: bool
) -> Iterator[tuple[int, int, int]]:
    """Tensor-parallel degree, pipeline stages, nodes of one replica."""
    degrees = [d for d in range(1, gpus_per_node + 1) if gpus_per_node % d == 0 and _divides(d, heads)]
    for tp in degrees:
        for pp in (p for p in range(1, gpus_per_node // tp + 1) if gpus_per_node % (tp * p) == 0 and p <= layers):
            if tensor in {None, tp} and pipeline in {None, pp}:
                yield tp, pp, 1
    for nodes in NODES_OF_A_REPLICA if spanning else ():
        for tp in degrees:
            stages = gpus_per_node // tp * nodes
            if stages <= layers and tensor in {None, tp} and pipeline in {None, stages}:
                yield tp, stages, nodes


def _divides(degree: int, heads: int) -> bool:
    return not heads or heads % degree == 0
