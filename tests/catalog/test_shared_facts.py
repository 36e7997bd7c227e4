"""The catalog beside the facts that it was made from, row by row and cell by cell, where those lie beside."""

import csv
import re
from fractions import Fraction

import pytest

from gpuplanner.catalog.entries import GpuProperty, InstanceProperty, PriceKind
from gpuplanner.catalog.gpu_fields import GPU_NUMBERS
from gpuplanner.catalog.instances import INSTANCE_NUMBERS
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.facts import Direction
from gpuplanner.paths import shipped

GPU_CELLS = {
    "mem_gb": "memory_gb", "mem_bw_gbps": "memory_bandwidth_gb_per_s", "fp64": "fp64_tflops",
    "fp64_tensor": "fp64_tensor_tflops", "fp32": "fp32_tflops", "tf32_dense": "tf32_tflops",
    "bf16_dense": "bf16_tflops", "fp16_dense": "fp16_tflops", "fp16_acc16_dense": "fp16_acc16_tflops",
    "fp8_dense": "fp8_tflops", "fp4_dense": "fp4_tflops", "int8_dense": "int8_tops", "sms": "sms", "l2_mb": "l2_mb",
    "tdp_w": "power_w", "pcie_gen": "pcie_generation", "pcie_lanes": "pcie_lanes", "mig": "mig_slices",
    "nvenc": "nvenc", "nvdec": "nvdec",
}  # fmt: skip
GPU_WORDS = {
    "vendor": "vendor", "architecture": "architecture", "chip": "chip", "compute_capability": "compute_capability",
    "release_date": "release_date", "form_factor": "form_factor", "mem_type": "memory_type", "ecc": "ecc",
    "vgpu_support": "vgpu",
}  # fmt: skip
# What the file prints is for a board, a range, or plainly wrong; the remarks of the GPU say so.
NOT_PLAIN = {
    ("Tesla K80", "tdp_w"), ("Tesla M60", "tdp_w"), ("A16 (per GPU)", "tdp_w"), ("C500 (OAM)", "mem_bw_gbps"),
    ("Ascend 310P (Atlas 300I Duo: 2 chips)", "mem_gb"), ("Ascend 310P (Atlas 300I Duo: 2 chips)", "fp16_dense"),
    ("Ascend 310P (Atlas 300I Duo: 2 chips)", "int8_dense"), ("Ascend 910B4", "bf16_dense"),
    ("Ascend 910B4", "fp16_dense"),
}  # fmt: skip
# Left empty there because two sources disagree; here both stand, on their bases.
FILLED = {("Gaudi3", "fp32")}
INSTANCE_CELLS = {
    "gpu_mem_gb_each": "gpu_memory_gb", "vcpus": "vcpus", "ram_gib": "ram_gib", "local_nvme_gb": "local_storage_gb",
    "network_gbps": "network_gbit_per_s",
}  # fmt: skip


@pytest.fixture(scope="module")
def catalog():
    return load_catalog(shipped("catalogs"))


def rows(shared_dir, name):
    with (shared_dir / "facts" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_cell_of_every_gpu(shared_dir, catalog):
    by_name = {gpu.name: gpu for gpu in catalog.gpus.values()}
    listed = rows(shared_dir, "gpus.csv")
    assert len(listed) <= len(by_name)
    for row in listed:
        gpu = by_name[row["name"]]
        for column, field_name in GPU_CELLS.items():
            field = GPU_NUMBERS[field_name]
            known = gpu.known(field.property)
            if not row[column]:
                assert known is None or (gpu.name, column) in FILLED, (gpu.name, column)
            elif (gpu.name, column) in NOT_PLAIN:
                first = float(re.split(r"[^\d.]", row[column])[0])
                values = [fact.value / field.factor for fact in (known.fact, *known.others)]
                assert any(value == pytest.approx(first) for value in values), (gpu.name, column)
            else:
                assert known is not None, (gpu.name, column)
                printed = float(row[column].partition(" ")[0])
                assert known.value / field.factor == pytest.approx(printed), (gpu.name, column)
        printed_words = {c: row[c] for c in GPU_WORDS}
        if len(gpu.release_date) == len("2024"):  # the first of January stands for a year of which no more is known
            printed_words["release_date"] = printed_words["release_date"].removesuffix("-01-01")
        assert {c: getattr(gpu, a) for c, a in GPU_WORDS.items()} == printed_words
        assert gpu.sparsity == (row["sparsity_supported"] == "yes")


def test_the_link_of_every_gpu_one_way_with_the_printed_figure_beside(shared_dir, catalog):
    by_name = {gpu.name: gpu for gpu in catalog.gpus.values()}
    for row in rows(shared_dir, "gpus.csv"):
        known = by_name[row["name"]].known(GpuProperty.LINK_BYTES_PER_S)
        printed = float(row["nvlink_gbps_bidir"] or 0)
        if not printed:
            assert known is None, row["name"]
            continue
        assert known.value == pytest.approx(printed * 1e9 / 2)
        both = [fact.value for fact in known.others if fact.basis.direction is Direction.BOTH_WAYS]
        assert both == [pytest.approx(printed * 1e9)]
        assert by_name[row["name"]].link_is_bridge == ("bridge" in row["nvlink_gen"])


def test_every_memory_size_that_a_tool_printed(shared_dir, catalog):
    by_name = {gpu.name: gpu for gpu in catalog.gpus.values()}
    for row in rows(shared_dir, "gpus.csv"):
        printed = {int(n) for n in re.findall(r"\b(\d{5,6})\b(?! B)", row["mem_mib_reported"])}
        known = by_name[row["name"]].known(GpuProperty.MEMORY_REPORTED_BYTES)
        if printed:
            kept = {round(fact.value / 2**20) for fact in (known.fact, *known.others)}
            assert printed <= kept, row["name"]


def test_what_is_from_memory_in_the_file_is_from_memory_here(shared_dir, catalog):
    by_name = {gpu.name: gpu for gpu in catalog.gpus.values()}
    fields = {
        "nvenc": "nvenc", "nvdec": "nvdec", "tdp_w": "power_w", "mig": "mig_slices", "sms": "sms", "l2_mb": "l2_mb",
        "fp64": "fp64_tflops", "fp64_tensor": "fp64_tensor_tflops", "fp32": "fp32_tflops", "bf16_dense": "bf16_tflops",
        "fp16_dense": "fp16_tflops", "int8_dense": "int8_tops", "mem_bw_gbps": "memory_bandwidth_gb_per_s",
    }  # fmt: skip
    words = {"ecc": "ecc", "vgpu_support": "vgpu", "mem_type": "memory_type", "chip": "chip"}
    for row in rows(shared_dir, "gpus.csv"):
        gpu = by_name[row["name"]]
        named = [re.sub(r"\(.*", "", name).strip() for name in row["fields_from_memory"].split(";")]
        for name in named:
            if name in fields and row[name] and "MIG doc" not in row["fields_from_memory"]:
                known = gpu.known(GPU_NUMBERS[fields[name]].property)
                assert known.fact.source.from_memory, (gpu.name, name)
            if name in words and row[name]:
                assert words[name] in gpu.from_memory, (gpu.name, name)


def test_every_cell_of_every_instance(shared_dir, catalog):
    by_name = {(i.provider, i.name): i for i in catalog.instances.values()}
    listed = rows(shared_dir, "instances.csv")
    assert len(listed) == len(by_name)
    for row in listed:
        instance = by_name[row["provider"], row["instance"]]
        where = instance.id
        assert instance.gpu_text == row["gpu"], where
        assert instance.gpu_count == (int(row["gpu_count"]) if row["gpu_count"] else None), where
        share = row["gpu_share"].partition(" ")[0]
        assert instance.gpu_fraction == (None if ".." in share else Fraction(share)), where
        for column, field_name in INSTANCE_CELLS.items():
            field = INSTANCE_NUMBERS[field_name]
            known = instance.properties.get(field.property)
            if not row[column]:
                assert known is None, (where, column)
            else:
                assert known.value / field.factor == pytest.approx(float(row[column])), (where, column)
        for column, attribute in (("rdma", "rdma"), ("gpu_interconnect", "interconnect"), ("cpu_model", "cpu")):
            assert getattr(instance, attribute) == row[column].replace("unknown", ""), (where, column)
        price, spot = instance.price(), instance.price(PriceKind.SPOT)
        assert (price.per_hour if price else None) == (float(row["on_demand_h"]) if row["on_demand_h"] else None), where
        assert (spot.per_hour if spot else None) == (float(row["spot_usd_h"]) if row["spot_usd_h"] else None), where
        if price:
            assert price.currency == row["currency"], where
            assert price.region == row["price_region"], where
            assert price.date == (row["price_date"][:10] if row["price_date"][:1] == "2" else ""), where


def test_every_instance_that_one_gpu_fits_names_it(shared_dir, catalog):
    """Where the file prints a name of the catalog's table, the instance has that GPU and no other."""
    by_name = {gpu.name: gpu.id for gpu in catalog.gpus.values()}
    checked = 0
    for instance in catalog.instances.values():
        if instance.gpu_text in by_name:
            assert instance.gpu_id == by_name[instance.gpu_text], instance.id
            checked += 1
    assert checked > 150


def test_the_memory_that_an_instance_prints_is_its_gpus(shared_dir, catalog):
    for instance in catalog.instances.values():
        stated = instance.properties.get(InstanceProperty.GPU_MEMORY_BYTES_EACH)
        gpu = catalog.gpus.get(instance.planning_gpu_id or "")
        if stated is None or gpu is None or instance.gpu_fraction is None:
            continue
        sold = gpu.known(GpuProperty.MEMORY_BYTES)
        sizes = [fact.value for fact in (sold.fact, *sold.others)] if sold else [stated.value]
        whole = stated.value in sizes
        assert whole or stated.value == pytest.approx(sizes[0], rel=0.16), (instance.id, stated.value / 2**30)


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("compat_cuda_driver.csv", "cuda-driver"),
        ("compat_pytorch.csv", "pytorch"),
        ("compat_pytorch_sm.csv", "pytorch-architectures"),
        ("dcgm_sku_thresholds.csv", "dcgm-skus"),
    ],
)
def test_every_cell_of_every_compatibility_table(shared_dir, catalog, name, table):
    cells = [[v for k, v in row.items() if k != "source"] for row in rows(shared_dir, name)]
    assert [list(row[:-1]) for row in catalog.compatibility[table].rows] == cells
