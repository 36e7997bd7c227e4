"""Which way of serving a plan comes to on one machine: degrees that the person left open are chosen here.

Of the ways in which the server starts, those that hold all requests and keep the goals come first; among equal ones
the way that gives the most tokens a second, which for a given number of clients is also the quickest.
"""

from dataclasses import replace
from functools import lru_cache
from math import gcd, inf
from typing import NamedTuple

import numpy as np

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.engine.formulas.elementwise import Condition, where
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.serving_apart import SERVED
from gpuplanner.engine.serving_flags import heeded
from gpuplanner.engine.serving_inputs import GpuNumbers, LoadNumbers, ModelNumbers, ServerNumbers, WayNumbers, stack
from gpuplanner.engine.serving_numbers import serving_numbers
from gpuplanner.engine.serving_ways import Degrees, Shape, layouts_on, splits
from gpuplanner.figures import kept, unrecorded
from gpuplanner.messages import InputError, Message, msg
from gpuplanner.workload.serving import Server, Serving

LAYERS_ONLY = frozenset({Server.LLAMA_CPP, Server.TRANSFORMERS, Server.EXLLAMA})
"""Servers that spread a model over GPUs by layers, not by splitting matrices."""
MOST_SPLITS = 32
"""How many ways to divide replicas into those that read and those that answer are tried on one machine."""
TENSORS_ONLY = frozenset({Server.LMDEPLOY})
"""Servers that split matrices and nothing else: TurboMind has no pipeline stages and spreads no experts."""


def heads_in_common(model: ModelArchitecture) -> int:
    """The largest number of ranks that the query heads of all layers divide into; 0 where no layer has heads."""
    return gcd(*(group.attention.heads for group in model.groups))


def shape_of(model: ModelArchitecture) -> Shape:
    """What of a model decides how it can be laid out."""
    return Shape(heads_in_common(model), model.layers, max(group.mlp.experts for group in model.groups))


def degrees_of(workload: Serving) -> Degrees:
    """The parallel degrees that a plan fixes for its server."""
    tensor, attention, spread = workload.tensor_parallel, workload.attention_ranks, workload.expert_parallel
    understood = heeded(workload)
    apart = understood.disaggregated, understood.prefill_workers, understood.prefill_tensor_parallel
    if workload.server in LAYERS_ONLY:
        tensor, attention, spread = tensor or 1, 1, False
    if workload.server in TENSORS_ONLY:
        return Degrees(tensor, 1, 1, False, *apart)
    return Degrees(tensor, workload.pipeline_parallel, attention, spread, *apart)


def ways_on(machine: Machine, model: ModelArchitecture, workload: Serving) -> list[WayNumbers]:
    """The ways of serving on this machine, all its GPUs used. Raises InputError when there is none."""
    return list(_ways_on(_nodes_of(machine), shape_of(model), degrees_of(workload)).ways)


class _Ways(NamedTuple):
    """Ways of serving, and the same as arrays."""

    ways: list[WayNumbers]
    columns: WayNumbers

    @classmethod
    def of(cls, ways: list[WayNumbers]) -> "_Ways":
        return cls(ways, stack(ways, equal_as_floats=True))


class _Nodes(NamedTuple):
    """What of a machine decides how a model can be laid out on it."""

    gpus_per_node: int
    nodes: int
    networked: bool


def _nodes_of(machine: Machine) -> _Nodes:
    return _Nodes(machine.gpus_per_node, machine.nodes, machine.host.network_bytes_per_s is not None)


@kept(64)
def _ways_on(machine: _Nodes, shape: Shape, degrees: Degrees) -> _Ways:
    spanning = machine.nodes > 1 and machine.networked
    ways = [
        WayNumbers(float(tensor), float(pipeline), float(groups * beside), float(attention), float(experts))
        for tensor, pipeline, nodes, attention, experts in layouts_on(machine.gpus_per_node, shape, degrees, spanning)
        if (groups := machine.nodes // nodes)
        if (beside := max(machine.gpus_per_node // (tensor * pipeline), 1))
    ]
    if not ways:
        ways = _partial(machine, shape, degrees)
    if degrees.apart and ways:
        return _Ways.of(_apart(machine, list(dict.fromkeys(ways)), degrees))
    if not ways:
        raise InputError(
            msg(
                "serving.no_layout",
                tensor=degrees.tensor or 1,
                pipeline=degrees.pipeline or 1,
                groups=degrees.attention or 1,
                gpus=machine.gpus_per_node,
            )
        )
    return _Ways.of(ways)


def _apart(machine: _Nodes, ways: list[WayNumbers], asked: Degrees) -> list[WayNumbers]:
    """The same ways, each with every number of workers that read prompts (some of many), or the one asked for."""
    if machine.nodes > 1 and not machine.networked:
        raise InputError(msg("serving.transfer_unknown", nodes=machine.nodes))
    if asked.prefill_tensor is not None:
        return _unlike(machine, ways, asked, asked.prefill_tensor)
    found = []
    for way in ways:
        most = int(way.replicas) - 1
        if asked.prefill_workers is not None:
            counts = [asked.prefill_workers] if asked.prefill_workers <= most else []
        else:
            counts = list(range(1, most + 1, max(most // MOST_SPLITS, 1)))
        found += [replace(way, prefill_workers=float(count)) for count in counts]
    if not found:
        raise InputError(_too_few(machine, ways, asked))
    return found


def _too_few(machine: _Nodes, ways: list[WayNumbers], asked: Degrees) -> Message:
    """That the machine does not hold workers of both kinds, with what can be changed on it."""
    if machine.nodes * machine.gpus_per_node == 1:
        return msg("serving.too_few_workers_one_gpu")
    smaller = max(asked.tensor or 1, asked.pipeline or 1, asked.prefill_tensor or 1) > 1
    said = "serving.too_few_workers" if smaller else "serving.too_few_workers_smallest"
    return msg(said, replicas=max(int(way.replicas) for way in ways), readers=asked.prefill_workers or 1)


def _unlike(machine: _Nodes, ways: list[WayNumbers], asked: Degrees, tensor: int) -> list[WayNumbers]:
    """The same ways, beside workers of `tensor` ranks that read prompts, all GPUs shared out between both kinds."""
    gpus = machine.nodes * machine.gpus_per_node
    found = []
    for way in ways:
        answering, reading = int(way.tensor_parallel * way.pipeline_parallel), int(tensor * way.pipeline_parallel)
        most = max(gpus - answering, 0) // reading
        counts = range(1, most + 1, max(most // MOST_SPLITS, 1))
        if asked.prefill_workers is not None:
            counts = range(asked.prefill_workers, min(asked.prefill_workers, most) + 1)
        for count in counts:
            others = (gpus - count * reading) // answering
            found.append(
                replace(
                    way,
                    replicas=float(count + others),
                    prefill_workers=float(count),
                    prefill_tensor_parallel=float(tensor),
                )
            )
    if not found or tensor > machine.gpus_per_node:
        raise InputError(_too_few(machine, ways, asked))
    return found


def _partial(machine: _Nodes, shape: Shape, asked: Degrees) -> list[WayNumbers]:
    """A way that the person asked for although it leaves GPUs of a node unused."""
    tensor, pipeline = asked.tensor or 1, asked.pipeline or 1
    stated = asked.tensor or asked.pipeline
    if not stated or pipeline > shape.layers or tensor * pipeline > machine.gpus_per_node:
        return []
    replicas = float(machine.gpus_per_node // (tensor * pipeline) * machine.nodes)
    return [
        WayNumbers(float(tensor), float(pipeline), replicas, float(groups), float(experts))
        for groups, experts in splits(tensor, shape, asked)
    ]


def chosen_way(
    machine: Machine,
    architecture: ModelArchitecture,
    workload: Serving,
    model: ModelNumbers,
    gpu: GpuNumbers,
    server: ServerNumbers,
    load: LoadNumbers,
) -> WayNumbers:
    """The best of all ways on this machine; see `ways_on` and `best_way`.

    It is kept for plans that differ only in what no choice depends on, as one does from key to key.
    """
    shape, degrees = shape_of(architecture), degrees_of(workload)
    return _chosen(_nodes_of(machine), shape, degrees, _goals_of(workload), model, gpu, server, load)


@lru_cache(maxsize=256)
def _chosen(
    machine: _Nodes,
    shape: Shape,
    degrees: Degrees,
    goals: tuple[float, float],
    model: ModelNumbers,
    gpu: GpuNumbers,
    server: ServerNumbers,
    load: LoadNumbers,
) -> WayNumbers:
    return _best(_ways_on(machine, shape, degrees), goals, model, gpu, server, load)


def _goals_of(workload: Serving) -> tuple[float, float]:
    return workload.ttft_goal_s or inf, workload.tpot_goal_s or inf


def best_way(
    ways: list[WayNumbers],
    workload: Serving,
    model: ModelNumbers,
    gpu: GpuNumbers,
    server: ServerNumbers,
    load: LoadNumbers,
) -> WayNumbers:
    """The way to take: it starts, holds all requests, keeps the goals, and gives most; else what comes nearest."""
    return _best(_Ways.of(ways), _goals_of(workload), model, gpu, server, load)


def _best(
    tried: _Ways,
    goals: tuple[float, float],
    model: ModelNumbers,
    gpu: GpuNumbers,
    server: ServerNumbers,
    load: LoadNumbers,
) -> WayNumbers:
    ways, columns = tried
    if len(ways) == 1:
        return ways[0]
    with unrecorded():
        numbers = serving_numbers(model, gpu, server, load, columns)
    waits: Condition = load.concurrency / columns.replicas > numbers.places
    if numbers.apart is not None:
        waits = numbers.at_work < load.concurrency * SERVED
    queues = numbers.saturated | waits if load.request_per_s is None else numbers.saturated
    late, slow = where(numbers.ttft_s > goals[0], 1.0, 0.0), where(numbers.tpot_s > goals[1], 1.0, 0.0)
    keys = np.empty((5, len(ways)))
    keys[0] = numbers.memory.pool_bytes - numbers.memory.shortfall_bytes
    keys[1] = where(numbers.memory.starts, numbers.output_tokens_per_s, 0.0)
    keys[2] = -(late + slow)
    keys[3] = where(queues, -1.0, 0.0)
    keys[4] = numbers.memory.starts
    return ways[int(np.lexsort(keys)[-1])]
