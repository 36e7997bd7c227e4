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
PREFILL_SHARES = (1 / 8, 1 / 4, 1 / 2, 3 / 4)
"""Which shares of the replicas are tried to read prompts only, where prompts and answers have workers of their own."""
NODES_OF_A_REPLICA = (2, 4, 8)
"""Over how many nodes the stages of one replica are spread when it does not fit into one."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a model decides how it can be laid out. `heads`: ranks that the query heads of all layers divide into (0:
    any); `experts`: of one layer, 0 for a dense model.
    """

    heads: int
    layers: int
    experts: int = 0


@dataclass(frozen=True, slots=True)
class Degrees:
    """What a plan fixes, None what is tried. `spreads_experts`: whether whole experts are spread over the ranks.

    `apart`: prompts and answers have workers of their own, `prefill_workers` of them the first, each of
    `prefill_tensor` ranks.
    A plan that fixes the tensor-parallel degree and says nothing of experts or attention has neither spread.
    """

    tensor: int | None = None
    pipeline: int | None = None
    attention: int | None = None
    spreads_experts: bool | None = None
    apart: bool = False
    prefill_workers: int | None = None
    prefill_tensor: int | None = None


@dataclass(frozen=True, slots=True)
class ServingWays:
    """Ways of one machine, a row a layout and a column a number of copies. `nodes` and `replicas` are totals.

    `prefill_workers`: replicas that only read prompts, in rows of their own for each share of them; 0 in all where each
    replica does all, and where there are too few to divide. `plain`: in none of them attention is split by requests or
    whole experts are spread.
    """

    tensor_parallel: Array
    pipeline_parallel: Array
    nodes_of_replica: Array
    nodes: Array
    replicas: Array
    attention_ranks: Array
    expert_parallel: Array
    prefill_workers: Array
    plain: bool


def serving_ways(gpus_per_node: int, shape: Shape, degrees: Degrees, spanning: bool) -> ServingWays | None:
    """The ways of serving on nodes of `gpus_per_node` GPUs, None when no layout is possible.

    `spanning`: whether replicas may be spread over nodes (the network is known).
    """
    layouts = layouts_on(gpus_per_node, shape, degrees, spanning)
    if not layouts:
        return None
    shares = PREFILL_SHARES if degrees.apart and degrees.prefill_workers is None else (0.0,)
    share = np.repeat(np.array(shares), len(layouts))[:, None]
    layouts = layouts * len(shares)
    tp, pp, nodes, groups, experts = (
        np.array(column, dtype=np.float64)[:, None] for column in zip(*layouts, strict=True)
    )
    copies = np.array(COPIES, dtype=np.float64)[None, :]
    beside = np.maximum(np.floor(gpus_per_node / (tp * pp)), 1.0)
    full = (len(layouts), len(COPIES))
    replicas = beside * copies
    readers = np.zeros(full)
    if degrees.apart and degrees.prefill_tensor is None:
        readers = readers_of(replicas, share, degrees.prefill_workers)
    elif degrees.apart:
        replicas, readers = divided(nodes * copies * gpus_per_node, tp * pp, pp, share, degrees)
    return ServingWays(
        np.broadcast_to(tp, full).ravel(),
        np.broadcast_to(pp, full).ravel(),
        np.broadcast_to(nodes, full).ravel(),
        (nodes * copies).ravel(),
        replicas.ravel(),
        np.broadcast_to(groups, full).ravel(),
        np.broadcast_to(experts, full).ravel(),
        np.broadcast_to(readers, full).ravel(),
        bool(np.all(groups == 1) and np.all(experts == 1)),
    )


def readers_of(replicas: Array, share: Array | float, stated: int | None) -> Array:
    """How many replicas read prompts: as many as stated, else a share of them; 0 where none would be left to answer."""
    wanted = np.maximum(np.round(replicas * share), 1.0) if stated is None else np.full_like(replicas, float(stated))
    readers: Array = np.where(wanted < replicas, wanted, 0.0)
    return readers


def divided(gpus: Array, answering: Array, stages: Array, share: Array, degrees: Degrees) -> tuple[Array, Array]:
    """All replicas and those that read, where one that answers takes `answering` GPUs and one that reads others."""
    reading = (degrees.prefill_tensor or 1) * stages
    if degrees.prefill_workers is None:
        readers = np.maximum(np.round(gpus * share / reading), 1.0)
    else:
        readers = np.full_like(gpus, float(degrees.prefill_workers))
    left = np.floor((gpus - readers * reading) / answering)
    possible = left >= 1
    return np.where(possible, readers + left, 1.0), np.where(possible, readers, 0.0)


Layout = tuple[int, int, int, int, int]
"""Tensor-parallel degree, pipeline stages, nodes of one replica, attention groups, ranks that share out experts."""


def layouts_on(gpus_per_node: int, shape: Shape, asked: Degrees, spanning: bool) -> list[Layout]:
    """The layouts of one replica on nodes of `gpus_per_node` GPUs; see `serving_ways`."""
    return list(dict.fromkeys(_layouts(gpus_per_node, shape, asked, spanning)))


def _layouts(gpus_per_node: int, shape: Shape, asked: Degrees, spanning: bool) -> Iterator[Layout]:
    divisors = [d for d in range(1, gpus_per_node + 1) if gpus_per_node % d == 0]
    for tp in divisors:
        for pp in (p for p in range(1, gpus_per_node // tp + 1) if gpus_per_node % (tp * p) == 0 and p <= shape.layers):
            if asked.tensor in {None, tp} and asked.pipeline in {None, pp}:
                yield from ((tp, pp, 1, *split) for split in splits(tp, shape, asked))
    for nodes in NODES_OF_A_REPLICA if spanning else ():
        for tp in divisors:
            stages = gpus_per_node // tp * nodes
            if stages <= shape.layers and asked.tensor in {None, tp} and asked.pipeline in {None, stages}:
                yield from ((tp, stages, nodes, *split) for split in splits(tp, shape, asked))
        tp = gpus_per_node * nodes
        if asked.tensor in {None, tp} and asked.pipeline in {None, 1}:
            wide = (split for split in splits(tp, shape, asked) if split[0] == tp)
            yield from ((tp, 1, nodes, *split) for split in wide)


def splits(tensor: int, shape: Shape, asked: Degrees) -> Iterator[tuple[int, int]]:
    """Attention groups and ranks that experts are spread over, for so many ranks of a stage.

    Of what is left open only attention split by requests together with whole experts is tried: either alone gives less.
    """
    silent = asked.attention is None and asked.spreads_experts is None
    open_groups = (1, tensor) if shape.experts and asked.spreads_experts is not False else (1,)
    if silent and asked.tensor is not None:
        open_groups = (1,)
    for groups in dict.fromkeys((asked.attention,) if asked.attention else open_groups):
        if tensor % groups or not _divides(tensor // groups, shape.heads):
            continue
        spread = groups > 1 if asked.spreads_experts is None else asked.spreads_experts
        if not (spread and shape.experts) or tensor == 1:
            yield groups, 1
        elif shape.experts >= tensor and (asked.spreads_experts or shape.experts % tensor == 0):
            yield groups, tensor


def _divides(degree: int, heads: int) -> bool:
    return not heads or heads % degree == 0
