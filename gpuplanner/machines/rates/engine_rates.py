"""What the engine expects of single products, memories and all-reduces, by what it is calibrated on. Draws nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine import serving_figures, training_ranges
from gpuplanner.engine.links import Collective, all_reduce_seconds_on, reach
from gpuplanner.engine.machines import bare, networked
from gpuplanner.engine.ranges import Spread
from gpuplanner.engine.validation.matrices import Shape, kind_of
from gpuplanner.facts import MissingFactError
from gpuplanner.machines.rates.chart import foreign
from gpuplanner.messages import InputError, Message, msg

USUAL_SIDE = 8192
"""Rows, columns and depth of a product whose shape is not told."""
_ONE_REQUEST, _PRODUCTS, _COLLECTIVES = "time per token of one request", "matrix multiplication", "collectives"


@dataclass(frozen=True, slots=True)
class Ranged:
    """A rate with its nominal 80 % range, in 10⁹ bytes/s or 10¹² FLOP/s, and why the range is as wide."""

    rate: float
    low: float
    high: float
    why: Message


def product(
    gpu: Gpu, efficiencies: Efficiencies, dtype: str, peak_tflop_per_s: float, sides: tuple[int, int, int] | None
) -> Ranged | Message:
    """What one product of a format reaches, or why the engine cannot tell. `sides`: rows, columns, depth."""
    uncalibrated = msg("rates.absent.no_calibration", dtype=foreign(dtype.upper()))
    # The calibration of 32 bits is of the tensor cores, which multiply in TF32.
    if dtype in {"fp32", "fp64"}:
        return uncalibrated
    try:
        kind, bits = kind_of(dtype, "dtype")
        found, hbm = efficiencies.find("gemm", gpu, f"kernel {kind}"), efficiencies.find("hbm", gpu)
        rows, columns, depth = sides or (USUAL_SIDE,) * 3
        shape = Shape(gpu, kind, bits, peak_tflop_per_s * 1e12, float(rows), float(columns), float(depth))
        rate = float(
            shape.flop_per_s(
                found["utilisation"], found["padding_tokens"], hbm["share"], found["overlap_loss"], found["floor_s"]
            )
        )
    except (InputError, MissingFactError):
        return uncalibrated
    return _of_time(rate / 1e12, serving_figures.spread_of(efficiencies, _PRODUCTS, found.rung))


def memory(gpu: Gpu, efficiencies: Efficiencies) -> Ranged | None:
    """What kernels reach of a GPU's own memory; None where its rate is not known."""
    rate = gpu.known(GpuProperty.HBM_BYTES_PER_S)
    if rate is None:
        return None
    found = efficiencies.find("hbm", gpu)
    spread = serving_figures.spread_of(efficiencies, _ONE_REQUEST, found.rung)
    return _of_time(rate.value / 1e9 * found["share"], spread)


def all_reduce(
    gpu: Gpu,
    efficiencies: Efficiencies,
    ranks: int,
    nodes: int,
    network_bit_per_s: float | None,
    sizes: Sequence[float],
) -> list[Ranged] | Message:
    """Bus bandwidth of an all-reduce of each size, as nccl-tests counts it, or why the engine cannot tell."""
    if ranks < 2 or ranks % nodes:
        return msg("rates.absent.ranks")
    try:
        machine = bare(gpu, ranks // nodes, nodes)
        if network_bit_per_s is not None:
            machine = networked(machine, network_bit_per_s)
        seconds = [float(all_reduce_seconds_on(machine, size, efficiencies)) for size in sizes]
        found = reach(efficiencies, gpu, Collective.ALL_REDUCE, machine.topology)
    except InputError as fault:
        return fault.message
    except MissingFactError:
        return msg("rates.absent.no_link", gpu=gpu.name)
    spread = training_ranges.spread_of(efficiencies, _COLLECTIVES, found.rung)
    rates = [2 * (ranks - 1) / ranks * size / each / 1e9 for size, each in zip(sizes, seconds, strict=True)]
    return [Ranged(rate, rate * spread.low, rate * spread.high, spread.why) for rate in rates]


def _of_time(rate: float, time: Spread) -> Ranged:
    """A rate whose time has this spread."""
    return Ranged(rate, rate / time.high, rate / time.low, time.why)
