"""Which way of serving a plan comes to on one machine: degrees that the person left open are chosen here.

Of the ways in which the server starts, those that hold all requests and keep the goals come first; among equal ones
the way that gives the most tokens a second, which for a given number of clients is also the quickest.
"""

from math import gcd, inf

import numpy as np

from gpuplanner.catalog.architecture import ModelArchitecture
from gpuplanner.engine.machine import Machine
from gpuplanner.engine.serving_inputs import GpuNumbers, LoadNumbers, ModelNumbers, ServerNumbers, WayNumbers
from gpuplanner.engine.serving_numbers import serving_numbers
from gpuplanner.engine.serving_ways import COPIES, serving_ways
from gpuplanner.messages import InputError, msg
from gpuplanner.workload.serving import Server, Serving

LAYERS_ONLY = frozenset({Server.LLAMA_CPP, Server.TRANSFORMERS})
"""Servers that spread a model over GPUs by layers, not by splitting matrices."""


def heads_in_common(model: ModelArchitecture) -> int:
    """The largest number of ranks that the query heads of all layers divide into; 0 where no layer has heads."""
    return gcd(*(group.attention.heads for group in model.groups))


def ways_on(machine: Machine, model: ModelArchitecture, workload: Serving) -> list[WayNumbers]:
    """The ways of serving on this machine, all its GPUs used. Raises InputError when there is none."""
    tensor, pipeline = workload.tensor_parallel, workload.pipeline_parallel
    if workload.server in LAYERS_ONLY:
        tensor = tensor or 1
    spanning = machine.nodes > 1 and machine.host.network_bytes_per_s is not None
    found = serving_ways(machine.gpus_per_node, heads_in_common(model), model.layers, tensor, pipeline, spanning)
    ways = []
    if found is not None:
        for row in range(0, len(found.nodes), len(COPIES)):
            groups = machine.nodes // int(found.nodes_of_replica[row])
            degrees = float(found.tensor_parallel[row]), float(found.pipeline_parallel[row])
            beside = max(machine.gpus_per_node // int(degrees[0] * degrees[1]), 1)
            if groups:
                ways.append(WayNumbers(*degrees, float(groups * beside)))
    if not ways:
        ways = _partial(machine, model, workload)
    if not ways:
        raise InputError(
            msg("serving.no_layout", tensor=tensor or 1, pipeline=pipeline or 1, gpus=machine.gpus_per_node)
        )
    return ways


def _partial(machine: Machine, model: ModelArchitecture, workload: Serving) -> list[WayNumbers]:
    """A way that the person asked for although it leaves GPUs of a node unused."""
    tensor, pipeline = workload.tensor_parallel or 1, workload.pipeline_parallel or 1
    asked = workload.tensor_parallel or workload.pipeline_parallel
    divided = heads_in_common(model) % tensor == 0 and pipeline <= model.layers
    if not asked or not divided or tensor * pipeline > machine.gpus_per_node:
        return []
    return [
        WayNumbers(float(tensor), float(pipeline), float(machine.gpus_per_node // (tensor * pipeline) * machine.nodes))
    ]


def best_way(
    ways: list[WayNumbers],
    workload: Serving,
    model: ModelNumbers,
    gpu: GpuNumbers,
    server: ServerNumbers,
    load: LoadNumbers,
) -> WayNumbers:
    """The way to take: it starts, holds all requests, keeps the goals, and gives most; else what comes nearest."""
    if len(ways) == 1:
        return ways[0]
    tensor, pipeline, replicas = (
        np.array([getattr(way, name) for way in ways]) for name in ("tensor_parallel", "pipeline_parallel", "replicas")
    )
    numbers = serving_numbers(model, gpu, server, load, WayNumbers(tensor, pipeline, replicas))
    starts = np.broadcast_to(numbers.memory.starts, tensor.shape)
    waits = load.concurrency / replicas > np.asarray(numbers.places)
    queues = np.asarray(numbers.saturated) | waits if load.request_per_s is None else np.asarray(numbers.saturated)
    late = np.asarray(numbers.ttft_s) > (workload.ttft_goal_s or inf)
    slow = np.asarray(numbers.tpot_s) > (workload.tpot_goal_s or inf)
    rate = np.asarray(numbers.output_tokens_per_s)
    pool = np.asarray(numbers.memory.pool_bytes)
    order = np.lexsort((pool, np.where(starts, rate, 0.0), -(late.astype(int) + slow), -queues.astype(int), starts))
    return ways[int(order[-1])]
