"""The layouts of a training run that are worth trying on so many nodes. Combinatorics only: nothing is estimated.

Degrees that the plan fixes are tried alone. A layout that does not divide (heads, layers, experts, the batch) is not
made.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, SupportsIndex, overload

import numpy as np

from gpuplanner.engine.formulas.elementwise import Number
from gpuplanner.engine.training_rollout import trainer_shape
from gpuplanner.workload.training import Framework, Method, Recomputation, Sharding, Training

NODES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
"""How many nodes are tried for training."""
MICRO_BATCHES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
STAGES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)
CONTEXT_RANKS = (1, 2, 4, 8)
PARTS_RECOMPUTED = (0.25, 0.5)
"""Shares of the layers that Megatron is told to recompute where not all of them have to be."""
CONTEXT_FROM_TOKENS = 16_384
"""Sequences shorter than this are not split over GPUs: nothing is gained."""
DEFAULT_MAX_GPUS = 1024

SHARDINGS = {
    Framework.MEGATRON: (Sharding.ZERO1,),
    Framework.FSDP: (Sharding.FSDP, Sharding.HSDP, Sharding.ZERO2),
    Framework.DEEPSPEED: (Sharding.ZERO1, Sharding.ZERO2, Sharding.ZERO3),
    Framework.HUGGING_FACE: (Sharding.DDP, Sharding.FSDP),
}
"""What each framework can shard; a plan that names another is tried as it is."""
TENSOR_PARALLEL = frozenset({Framework.MEGATRON, Framework.FSDP})
PIPELINE_PARALLEL = frozenset({Framework.MEGATRON})
EXPERT_PARALLEL = frozenset({Framework.MEGATRON})
CONTEXT_PARALLEL = frozenset({Framework.MEGATRON, Framework.FSDP})
SHARDING_PLACES = tuple(Sharding)
RECOMPUTATION_PLACES = tuple(Recomputation)
"""Shardings and recomputations by the number that stands for each in a column."""


class TrainingWay(NamedTuple):
    """One layout of a training run on a given number of GPUs.

    `recomputed_share`: of the layers those that full recomputation computes again, the others keep everything.
    """

    tensor_parallel: int
    pipeline_parallel: int
    context_parallel: int
    expert_parallel: int
    micro_batch: int
    sharding: Sharding
    recomputation: Recomputation
    nodes: int
    recomputed_share: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class TrainingWays(Sequence[TrainingWay]):
    """Many layouts as columns, since a search tries many thousands: what all have in common is one float, the rest an
    array. `sharding` and `recomputation` are places in `SHARDING_PLACES` and `RECOMPUTATION_PLACES`.
    """

    rows: int
    tensor_parallel: Number
    pipeline_parallel: Number
    context_parallel: Number
    expert_parallel: Number
    micro_batch: Number
    sharding: Number
    recomputation: Number
    nodes: Number
    recomputed_share: Number

    @classmethod
    def of(cls, ways: Sequence[TrainingWay]) -> "TrainingWays":
        """The same ways as columns."""
        if isinstance(ways, TrainingWays):
            return ways
        if not ways:
            return cls(0, *(np.zeros(0) for _ in range(9)))
        tp, pp, cp, ep, micro, shardings, recomputations, nodes, shares = zip(*ways, strict=True)
        places = [SHARDING_PLACES.index(each) for each in shardings]
        again = [RECOMPUTATION_PLACES.index(each) for each in recomputations]
        columns = (tp, pp, cp, ep, micro, places, again, nodes, shares)
        return cls(len(ways), *(_column(column, 1) for column in columns))

    def __len__(self) -> int:
        return self.rows

    @overload
    def __getitem__(self, row: SupportsIndex) -> TrainingWay: ...

    @overload
    def __getitem__(self, row: slice) -> Sequence[TrainingWay]: ...

    def __getitem__(self, row: SupportsIndex | slice) -> TrainingWay | Sequence[TrainingWay]:
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(self.rows))]
        place = range(self.rows)[row]
        return TrainingWay(
            int(_at(self.tensor_parallel, place)),
            int(_at(self.pipeline_parallel, place)),
            int(_at(self.context_parallel, place)),
            int(_at(self.expert_parallel, place)),
            int(_at(self.micro_batch, place)),
            SHARDING_PLACES[int(_at(self.sharding, place))],
            RECOMPUTATION_PLACES[int(_at(self.recomputation, place))],
            int(_at(self.nodes, place)),
            _at(self.recomputed_share, place),
        )


def _at(column: Number, row: int) -> float:
    return float(column[row]) if isinstance(column, np.ndarray) else column


def _column(values: Sequence[float], times: int | Sequence[int]) -> Number:
    """A column in which each value stands so many times; one float where all are the same."""
    if values.count(values[0]) == len(values):
        return float(values[0])
    return np.repeat(np.array(values, dtype=np.float64), times)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a model allows: heads and layers that are divided, and experts that are spread (0: none)."""

    heads: int
    layers: int
    experts: int

    def experts_divide(self, degree: int) -> bool:
        """Whether the experts of a layer can be spread evenly over `degree` ranks; a dense model has none."""
        return self.experts > 0 and self.experts % degree == 0


def training_ways(gpus_per_node: int, shape: Shape, workload: Training, max_gpus: int) -> TrainingWays:
    """The layouts of a training run on nodes of `gpus_per_node` GPUs."""
    trainers = (
        (*trained, nodes)
        for nodes in NODES
        if nodes == 1 or nodes * gpus_per_node <= max_gpus
        if (trained := trainer_shape(workload, gpus_per_node, nodes)) is not None
    )
    return _laid_out(trainers, shape, workload, _recomputations(workload, in_part=False))


def layouts_on(gpus_per_node: int, nodes: int, shape: Shape, workload: Training, whole_nodes: int) -> TrainingWays:
    """The layouts of a training run on exactly so many nodes of a machine of `whole_nodes`.

    Where recomputation is left open, also that of a quarter and of half of the layers, where the framework can do that.
    """
    trainers = ((gpus_per_node, nodes, whole_nodes),)
    return _laid_out(trainers, shape, workload, _recomputations(workload, in_part=True))


def _laid_out(
    trainers: Iterable[tuple[int, int, int]],
    shape: Shape,
    workload: Training,
    recomputations: Sequence[tuple[Recomputation, float]],
) -> TrainingWays:
    """The layouts on each of these: GPUs of a node and nodes that train, and the nodes of the whole machine.

    Of what a degree allows, every sharding stands with every recomputation: these are laid out once.
    """
    degrees: list[tuple[int, ...]] = []
    below: list[np.ndarray[tuple[int, int], np.dtype[np.float64]]] = []
    pairs = {}
    for per_node, nodes, whole_nodes in trainers:
        gpus = per_node * nodes
        stages, context = _stages(shape, workload), _context_ranks(workload)
        for tp, pp, cp in product(_tensor_degrees(per_node, shape, workload), stages, context):
            ranks, left = divmod(gpus, tp * pp * cp)
            if left or not ranks or workload.global_batch % ranks:
                continue
            micro_batches = _micro_batches(workload, ranks)
            shardings = tuple(_shardings(workload, ranks, nodes))
            if shardings not in pairs:
                pairs[shardings] = _pairs(shardings, recomputations)
            for ep in _expert_degrees(ranks * cp, tp, shape, workload):
                degrees += [(tp, pp, cp, ep, micro, whole_nodes) for micro in micro_batches]
                below += [pairs[shardings]] * len(micro_batches)
    if not degrees:
        return TrainingWays.of(())
    times = [each.shape[1] for each in below]
    tensor, pipeline, contexts, experts, micro, all_nodes = (_column(c, times) for c in zip(*degrees, strict=True))
    sharding, recomputation, share = (_common(column) for column in np.concatenate(below, axis=1))
    return TrainingWays(
        sum(times), tensor, pipeline, contexts, experts, micro, sharding, recomputation, all_nodes, share
    )


def _pairs(
    shardings: Sequence[Sharding], recomputations: Sequence[tuple[Recomputation, float]]
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Every sharding with every recomputation: three columns, of places of both and of shares."""
    found = [
        (SHARDING_PLACES.index(sharding), RECOMPUTATION_PLACES.index(again), share)
        for sharding, (again, share) in product(shardings, recomputations)
    ]
    return np.array(found, dtype=np.float64).T


def _common(column: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Number:
    """A column, or the float that stands in all of it."""
    return float(column[0]) if (column == column[0]).all() else column


def _tensor_degrees(gpus_per_node: int, shape: Shape, workload: Training) -> list[int]:
    if workload.tensor_parallel is not None:
        return [workload.tensor_parallel]
    adapters = workload.method in {Method.LORA, Method.QLORA}
    if workload.framework not in TENSOR_PARALLEL or (adapters and workload.framework is not Framework.MEGATRON):
        return [1]
    return [
        d for d in range(1, gpus_per_node + 1) if gpus_per_node % d == 0 and (not shape.heads or shape.heads % d == 0)
    ]


def _stages(shape: Shape, workload: Training) -> list[int]:
    if workload.pipeline_parallel is not None:
        return [workload.pipeline_parallel]
    if workload.framework not in PIPELINE_PARALLEL:
        return [1]
    return [p for p in STAGES if p * workload.virtual_pipeline <= shape.layers]


def _context_ranks(workload: Training) -> list[int]:
    if workload.context_parallel is not None:
        return [workload.context_parallel]
    if workload.framework not in CONTEXT_PARALLEL or workload.sequence_length < CONTEXT_FROM_TOKENS:
        return [1]
    return list(CONTEXT_RANKS)


def _expert_degrees(ranks: int, tensor: int, shape: Shape, workload: Training) -> list[int]:
    """Degrees that divide experts and ranks; one that the person asks for may span tensor-parallel ranks too."""
    asked = workload.expert_parallel
    if asked is not None:
        return [asked] if ranks * tensor % asked == 0 and (asked == 1 or shape.experts_divide(asked)) else []
    if not shape.experts or workload.framework not in EXPERT_PARALLEL:
        return [1]
    return [e for e in (1, 2, 4, 8, 16, 32, 64) if e <= ranks and ranks % e == 0 and shape.experts_divide(e)]


def _micro_batches(workload: Training, ranks: int) -> list[int]:
    each = workload.global_batch // ranks
    if workload.micro_batch is not None:
        return [workload.micro_batch] if each % workload.micro_batch == 0 else []
    return [m for m in MICRO_BATCHES if each % m == 0]


def _shardings(workload: Training, ranks: int, nodes: int) -> list[Sharding]:
    if workload.sharding is not None:
        return [workload.sharding]
    if ranks == 1:
        return [SHARDINGS[workload.framework][0]]
    return [s for s in SHARDINGS[workload.framework] if s is not Sharding.HSDP or nodes > 1]


def _recomputations(workload: Training, in_part: bool) -> list[tuple[Recomputation, float]]:
    """What is computed again, and of how many of the layers where all of a layer is."""
    if workload.recomputation is not None:
        return [(workload.recomputation, 1.0)]
    shares = PARTS_RECOMPUTED if in_part and workload.framework in PIPELINE_PARALLEL else ()
    return [(kind, share) for kind in Recomputation for share in (1.0, *(shares if kind is Recomputation.FULL else ()))]
