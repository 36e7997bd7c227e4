"""Rows of a GPU's own memory and of its host's, predicted by the formulas and shares that an estimate uses."""

import csv
from math import log
from statistics import median

import pytest

from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.catalog.names import names_of
from gpuplanner.engine.formulas.gemm import read_seconds
from gpuplanner.engine.validation.collectives import BANDWIDTHS, MEASURED
from gpuplanner.engine.validation.families import row_outcomes, validate_rows
from gpuplanner.engine.validation.names import ResolvedNames
from gpuplanner.engine.validation.rows import Row, ValidationContext
from gpuplanner.units import GB


@pytest.fixture(scope="module")
def context(shipped_catalog, shipped_efficiencies):
    names = ResolvedNames(shipped_catalog, names_of(shipped_catalog))
    return ValidationContext(names, shipped_efficiencies, shipped_catalog.gpus, shipped_catalog.models)


def told(context, what, gpu, **cells):
    row = {"what": what, "gpu_or_system": gpu, "n_gpus": "1", "n_nodes": "1", MEASURED: "1000", **cells}
    (outcome,) = row_outcomes(Row("bandwidth.csv", 2, row), BANDWIDTHS, context)
    return outcome


@pytest.mark.parametrize("what", ["HBM (init)", "HBM (read)", "HBM (scale)", "HBM (triad)", "HBM (device-local copy)"])
def test_a_stream_reads_as_weights_are_read(context, what):
    found = told(context, what, "A100 80GB (bandwidth class 2 TB/s)")
    gpu = context.gpus["nvidia-a100-sxm4-80gb"]
    share = context.efficiencies.find("hbm", gpu)["share"]
    rate = 1.0 / float(read_seconds(1.0, gpu.value(GpuProperty.HBM_BYTES_PER_S), share))
    assert found.predicted == pytest.approx(rate / GB)
    assert found.low < found.predicted < found.high


def test_a_vector_times_a_matrix_pays_for_its_kernel(context):
    small = told(context, "HBM (GEMV m=1 weight read, derived)", "H100 SXM", message_size="1x1024x1024", notes="fp8; x")
    large = told(context, "HBM (GEMV m=1 weight read, derived)", "H100 SXM", message_size="1x8192x8192", notes="fp8; x")
    wide = told(context, "HBM (GEMV m=1 weight read, derived)", "H100 SXM", message_size="1x8192x8192", notes="fp16")
    assert small.predicted < 0.3 * large.predicted
    assert large.predicted < wide.predicted < 3350
    for cells in ({"message_size": "2x8x8", "notes": "fp8"}, {"message_size": "1x8192x8192", "notes": "ternary"}):
        assert told(context, "HBM (GEMV m=1 weight read, derived)", "H100 SXM", **cells).refused is not None


def test_the_host_is_read_at_the_share_of_pcie_that_offloaded_weights_are(context):
    share = context.efficiencies.constants("servers", "host link")["pcie_efficiency"]
    pcie = context.gpus["nvidia-h200-sxm-141gb"].value(GpuProperty.PCIE_BYTES_PER_S)
    for what in ("PCIe H2D", "PCIe D2H"):
        assert told(context, what, "8x H200 SXM node").predicted == pytest.approx(pcie * share / GB)


def test_both_ways_of_a_link_are_twice_one_way(context):
    one, both = (told(context, f"NVLink P2P {way}", "8x H200 SXM node") for way in ("unidir", "bidir total"))
    assert both.predicted == pytest.approx(2 * one.predicted)


def test_every_public_row_of_a_memory_or_a_link_is_placed_and_near(context, shared_dir):
    with (shared_dir / "validation" / "achievable_bandwidth.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    memory = [line for line in lines if "busbw" not in line["what"]]
    found = validate_rows("achievable_bandwidth.csv", memory, context)
    assert len(found) == len(memory) == 57
    assert [o.refused for o in found if o.refused] == []
    predicted = [o for o in found if isinstance(o.predicted, float) and isinstance(o.measured, float)]
    assert len(predicted) == len(found)
    assert median(abs(log(float(o.predicted or 0) / float(o.measured or 0))) for o in predicted) < 0.09
    inside = [(o.low or 0.0) <= float(o.measured or 0) <= (o.high or 0.0) for o in predicted]
    assert sum(inside) / len(found) > 0.75
