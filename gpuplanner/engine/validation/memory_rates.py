"""Rows of how quick a GPU reads its own memory and the host's, predicted by the formulas that an estimate uses. Pure.

One row of a matrix multiplication with one vector is the reading of weights in a decode step, with its kernel's floor.
A stream over the memory is the reading of weights in the format that they are multiplied in: one after the other, where
a cache is read in pages.
"""

import re
from contextlib import suppress

from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.entries import Gpu, GpuProperty
from gpuplanner.engine.formulas.gemm import matrix_flop_per_s, read_seconds
from gpuplanner.engine.formulas.serving_time import fetch_seconds
from gpuplanner.engine.links import pcie_bytes_per_s
from gpuplanner.engine.ranges import Spread
from gpuplanner.engine.serving_figures import spread_of
from gpuplanner.engine.validation.matrices import kind_of
from gpuplanner.engine.validation.rows import Row
from gpuplanner.facts import MissingFactError
from gpuplanner.figures import Rung
from gpuplanner.messages import InputError, msg
from gpuplanner.units import GB

VECTOR = "hbm (gemv"
STREAMS = ("hbm (init)", "hbm (read)", "hbm (scale)", "hbm (triad)", "hbm (device-local copy)")
HOST = ("pcie h2d", "pcie d2h")
LARGE_BYTES = 16 * GB
"""The size does not matter where a rate has no latency."""
PEAKS = {
    "bf16": GpuProperty.BF16_FLOP_PER_S,
    "tf32": GpuProperty.TF32_FLOP_PER_S,
    "fp8": GpuProperty.FP8_FLOP_PER_S,
    "fp4": GpuProperty.FP4_FLOP_PER_S,
    "int8": GpuProperty.INT8_FLOP_PER_S,
    "weight only": GpuProperty.BF16_FLOP_PER_S,
}
ONE_REQUEST = "time per token of one request"
"""The spread of a step that does nothing but read."""
OTHER_HOSTS = Spread(0.75, 1.1, Rung.OTHER_ARCHITECTURE, msg("validation.why.one_host"))
"""One host was measured; others share their lanes with switches, and none is quicker than its lanes."""


def memory_rate(row: Row, gpu: Gpu, efficiencies: Efficiencies) -> tuple[float, Spread] | None:
    """Bytes a second that a row measured, and the spread of it; None where the row is of another kind.

    Raises InputError for a shape or a format that is not known, MissingFactError for a rate that the catalog lacks.
    """
    what = row.text("what").lower()
    if what.startswith(VECTOR):
        return _weights(row, gpu, efficiencies)
    if what in STREAMS:
        found = efficiencies.find("hbm", gpu)
        seconds = read_seconds(LARGE_BYTES, gpu.value(GpuProperty.HBM_BYTES_PER_S), found["share"])
        return LARGE_BYTES / float(seconds), _of_rate(spread_of(efficiencies, ONE_REQUEST, found.rung))
    if what in HOST:
        share = efficiencies.constants("servers", "host link")["pcie_efficiency"]
        return LARGE_BYTES / float(fetch_seconds(1.0, 1.0, LARGE_BYTES, pcie_bytes_per_s(gpu), share)), OTHER_HOSTS
    return None


def _weights(row: Row, gpu: Gpu, efficiencies: Efficiencies) -> tuple[float, Spread]:
    printed = re.fullmatch(r"1x(\d{1,9})x(\d{1,9})", row.text("message_size"))
    if printed is None or "0" in printed.groups():
        raise InputError(msg("validation.unknown_value", column="message_size", text=row.text("message_size")[:40]))
    columns, depth = map(float, printed.groups())
    kind, bits = kind_of(row.text("notes").partition(";")[0].strip(), "notes")
    found, hbm = efficiencies.find("gemm", gpu, f"kernel {kind}"), efficiencies.find("hbm", gpu)
    flop_per_s = matrix_flop_per_s(
        1.0, columns, depth, bits, _peak(gpu, kind), found["utilisation"], found["padding_tokens"],
        gpu.value(GpuProperty.HBM_BYTES_PER_S), hbm["share"], found["overlap_loss"], found["floor_s"],
    )  # fmt: skip
    seconds = 2.0 * columns * depth / float(flop_per_s)
    return columns * depth * bits / 8.0 / seconds, _of_rate(
        spread_of(efficiencies, "matrix multiplication", found.rung)
    )


def _peak(gpu: Gpu, kind: str) -> float:
    """The rate of this arithmetic; of 16 bits where the GPU has none of its own for it and converts."""
    with suppress(MissingFactError):
        return gpu.value(PEAKS[kind])
    return gpu.value(GpuProperty.BF16_FLOP_PER_S)


def _of_rate(time: Spread) -> Spread:
    """The spread of a rate whose time has this one."""
    return Spread(1.0 / time.high, 1.0 / time.low, time.rung, time.why)
