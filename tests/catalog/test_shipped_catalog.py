"""The catalog that comes with the app: complete, each fact with its source and basis, nothing misleading as plain."""

import re
import time

import pytest
import yaml

from gpuplanner.catalog.entries import GpuProperty, InstanceProperty, PriceKind
from gpuplanner.catalog.gpu_fields import GPU_NUMBERS
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.facts import Accumulate, Density, Direction, MemoryKind, Per, Pipe
from gpuplanner.messages import Language, Translator
from gpuplanner.paths import shipped
from gpuplanner.units import GIB, MIB, Unit

P = GpuProperty
RATES = [p for p in P if p.value.endswith("flop_per_s")]
PLAIN = {field.property: field for field in GPU_NUMBERS.values() if field.basis.direction is not Direction.BOTH_WAYS}
DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")


@pytest.fixture(scope="module")
def catalog():
    return load_catalog(shipped("catalogs"))


def facts(catalog):
    for gpu in catalog.gpus.values():
        for name, known in gpu.properties.items():
            for fact in (known.fact, *known.others):
                yield gpu, name, fact


def test_everything_is_there_and_nothing_is_wrong_with_it(catalog):
    english = Translator(Language.ENGLISH)
    assert [english.text(problem.message) for problem in catalog.problems] == []
    assert len(catalog.gpus) == 171
    assert len(catalog.instances) == 546
    assert len(catalog.models) >= 155
    sizes = {name: len(table.rows) for name, table in catalog.compatibility.items()}
    assert sizes == {
        "cuda-driver": 60,
        "dcgm-skus": 138,
        "pytorch": 14,
        "pytorch-architectures": 6,
        "software": 16,
        "training-precisions": 4,
        "weight-formats": 7,
    }
    assert {"USD", "CNY", "EUR", "GBP", "JPY"} <= set(catalog.currencies)
    assert len(catalog.rules) >= 124


def test_ids_are_stable_slugs(catalog):
    assert [i for i in catalog.gpus if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", i)] == []
    assert [i for i in catalog.instances if not re.fullmatch(r"[a-z0-9]+/[a-z0-9._-]+", i)] == []
    assert {"nvidia-h100-sxm5-80gb", "amd-mi300x", "huawei-ascend-910b2"} <= set(catalog.gpus)
    assert {"aws/p5.48xlarge", "azure/standard_nd96isr_h100_v5", "lambda/8x-a100-80-gb"} <= set(catalog.instances)
    assert len({gpu.name.casefold() for gpu in catalog.gpus.values()}) == len(catalog.gpus)


def test_every_fact_has_a_source_with_a_date_and_the_unit_of_its_property(catalog):
    for gpu, name, fact in facts(catalog):
        assert fact.source.citation, (gpu.id, name)
        assert DATE.fullmatch(fact.source.date or fact.source.accessed), (gpu.id, name, fact.source)
        assert fact.unit is PLAIN[name].unit, (gpu.id, name)
        assert bool(fact.note) == bool(fact.note_zh), (gpu.id, name)


def test_every_fact_says_its_basis(catalog):
    for gpu, name, fact in facts(catalog):
        where = (gpu.id, name)
        assert fact.basis.per is not None, where
        if name in RATES:
            assert fact.basis.density is not None, where
            assert fact.basis.pipe is not None, where
        if name in {P.BF16_FLOP_PER_S, P.FP16_FLOP_PER_S, P.FP16_ACC16_FLOP_PER_S, P.FP8_FLOP_PER_S, P.TF32_FLOP_PER_S}:
            assert fact.basis.accumulate is not None, where
        if name in {P.LINK_BYTES_PER_S, P.PCIE_BYTES_PER_S}:
            assert fact.basis.direction is not None, where
        if name in {P.MEMORY_BYTES, P.MEMORY_REPORTED_BYTES, P.MEMORY_USABLE_BYTES}:
            assert fact.basis.memory is not None, where


def test_the_plain_figure_is_dense_one_way_for_one_gpu(catalog):
    for gpu in catalog.gpus.values():
        for name, known in gpu.properties.items():
            basis = known.fact.basis
            where = (gpu.id, name)
            assert basis.per is Per.GPU, where
            assert basis.density is not Density.SPARSE, where
            assert basis.direction is not Direction.BOTH_WAYS, where
            # Vector units add up in the format that they multiply.
            half = name is P.FP16_ACC16_FLOP_PER_S or (name is P.FP16_FLOP_PER_S and basis.pipe is Pipe.VECTOR)
            wanted = Accumulate.FP16 if half else Accumulate.FP32
            assert basis.accumulate in {None, wanted}, where
    assert catalog.gpus["nvidia-p100-sxm2-16gb"].known(P.FP16_FLOP_PER_S).fact.basis.pipe is Pipe.VECTOR


def test_a_sparse_figure_is_above_the_dense_one_and_both_ways_are_twice_one_way(catalog):
    for gpu in catalog.gpus.values():
        for name, known in gpu.properties.items():
            for other in known.others:
                # The version for China is cut, while its dense figure is that of the full card: a remark says so.
                if other.basis.density is Density.SPARSE and gpu.id != "nvidia-rtx-5090-d":
                    assert 1.5 < other.value / known.value < 2.1, (gpu.id, name)
                if other.basis.direction is Direction.BOTH_WAYS:
                    assert other.value == 2 * known.value, (gpu.id, name)


def test_memory_shrinks_from_sold_to_reported_to_usable(catalog):
    seen = 0
    for gpu in catalog.gpus.values():
        sizes = [gpu.known(p) for p in (P.MEMORY_BYTES, P.MEMORY_REPORTED_BYTES, P.MEMORY_USABLE_BYTES)]
        values = [known.value for known in sizes if known]
        assert values == sorted(values, reverse=True), gpu.id
        assert all(value > 0.9 * values[0] for value in values), gpu.id
        seen += len(values) == 3
        kinds = [known.fact.basis.memory for known in sizes if known]
        assert kinds == [k for k, s in zip(MemoryKind, sizes, strict=True) if s], gpu.id
    assert seen >= 10


@pytest.mark.parametrize(
    ("gpu_id", "name", "value"),
    [
        ("nvidia-rtx-3090", P.MEMORY_USABLE_BYTES, 24154 * MIB),
        ("nvidia-a10g", P.MEMORY_REPORTED_BYTES, 23028 * MIB),
        ("nvidia-l40s", P.MEMORY_REPORTED_BYTES, 46068 * MIB),
        ("nvidia-b200-180gb", P.MEMORY_REPORTED_BYTES, 183359 * MIB),
        ("nvidia-t4", P.MEMORY_REPORTED_BYTES, 15360 * MIB),
        ("nvidia-h100-sxm5-80gb", P.MEMORY_BYTES, 80 * GIB),
        ("nvidia-h100-sxm5-80gb", P.BF16_FLOP_PER_S, 989e12),
        ("nvidia-h100-sxm5-80gb", P.LINK_BYTES_PER_S, 450e9),
        ("nvidia-h100-sxm5-80gb", P.PCIE_BYTES_PER_S, 63e9),
        ("nvidia-a100-sxm4-80gb", P.PCIE_BYTES_PER_S, 31.5e9),
        ("nvidia-t4", P.PCIE_BYTES_PER_S, 15.75e9),
        ("nvidia-a2", P.PCIE_BYTES_PER_S, 15.75e9),
        ("nvidia-rtx-4090", P.FP16_FLOP_PER_S, 165.2e12),
        ("nvidia-rtx-4090", P.FP16_ACC16_FLOP_PER_S, 330.3e12),
        ("nvidia-k80", P.POWER_W, 150.0),
        ("nvidia-p40", P.HBM_BYTES_PER_S, 347.1e9),
        ("nvidia-b200-180gb", P.HBM_BYTES_PER_S, 7.7e12),
    ],
)
def test_plain_values(catalog, gpu_id, name, value):
    assert catalog.gpus[gpu_id].value(name) == pytest.approx(value)


@pytest.mark.parametrize(
    ("gpu_id", "name", "value", "source", "part"),
    [
        ("nvidia-b200-180gb", P.MEMORY_BYTES, 90 * GIB, "techpowerup", Per.DIE),
        ("nvidia-b200-180gb", P.HBM_BYTES_PER_S, 4.1e12, "techpowerup", Per.DIE),
        ("nvidia-b300", P.MEMORY_BYTES, 144 * GIB, "techpowerup", Per.DIE),
        ("nvidia-p40", P.HBM_BYTES_PER_S, 694.3e9, "epoch", None),
        ("nvidia-k80", P.MEMORY_BYTES, 24 * GIB, "epoch", Per.BOARD),
        ("nvidia-k80", P.POWER_W, 300.0, "techpowerup", Per.BOARD),
        ("nvidia-m60", P.MEMORY_BYTES, 16 * GIB, "epoch", Per.BOARD),
        ("nvidia-a16", P.POWER_W, 250.0, "techpowerup", Per.BOARD),
        ("nvidia-h100-nvl-94gb", P.MEMORY_BYTES, 188 * GIB, "stas00-note-15", Per.PAIR),
        ("nvidia-h200-sxm-141gb", P.HBM_BYTES_PER_S, 4.89e12, "techpowerup", None),
        ("nvidia-h800-sxm5-80gb", P.FP64_FLOP_PER_S, 29.65e12, "epoch", None),
        ("amd-mi300x", P.HBM_BYTES_PER_S, 10.3e12, "techpowerup", None),
        ("amd-mi325x", P.MEMORY_BYTES, 288 * GIB, "gpuhunt", None),
        ("nvidia-b300", P.INT8_FLOP_PER_S, 4500e12, "stas00-accelerators", None),
        ("nvidia-rtx-4090", P.FP16_FLOP_PER_S, 330.3e12, "hmc-tech", Density.SPARSE),
        ("nvidia-rtx-4090", P.FP16_FLOP_PER_S, 330e12, "epoch", Accumulate.FP16),
        ("nvidia-a100-sxm4-80gb", P.BF16_FLOP_PER_S, 624e12, "stas00-accelerators", Density.SPARSE),
        ("nvidia-v100-pcie-32gb", P.POWER_W, 300.0, "techpowerup", None),
        ("huawei-ascend-910b4", P.BF16_FLOP_PER_S, 280e12, "gitee-ascend", None),
    ],
)
def test_what_another_source_says_is_kept_beside_with_its_basis(catalog, gpu_id, name, value, source, part):
    others = catalog.gpus[gpu_id].known(name).others
    found = [o for o in others if o.value == pytest.approx(value) and o.source.id.partition("#")[0] == source]
    assert found, others
    assert part is None or any(part in set(fact.basis) for fact in found)


@pytest.mark.parametrize(
    "gpu_id", ["nvidia-t4", "nvidia-v100-sxm2-32gb", "nvidia-rtx-2080-ti", "nvidia-p100-pcie-16gb", "nvidia-k80"]
)
def test_what_a_gpu_does_not_have_is_absent_and_never_zero(catalog, gpu_id):
    gpu = catalog.gpus[gpu_id]
    assert gpu.known(P.BF16_FLOP_PER_S) is None
    assert gpu.known(P.FP8_FLOP_PER_S) is None
    counts = {P.MIG_SLICES, P.NVENC, P.NVDEC}
    assert [(g.id, n) for g, n, fact in facts(catalog) if fact.value == 0 and n not in counts] == []


def test_links_say_their_kind_and_whether_a_bridge_makes_them(catalog):
    gpus = catalog.gpus
    assert (gpus["nvidia-h100-sxm5-80gb"].link_kind, gpus["nvidia-h100-sxm5-80gb"].link_is_bridge) == (
        "NVLink 4",
        False,
    )
    assert gpus["nvidia-a100-pcie-80gb"].link_is_bridge
    assert gpus["amd-mi300x"].link_kind == "Infinity Fabric"
    assert gpus["nvidia-l40s"].known(P.LINK_BYTES_PER_S) is None
    for gpu in gpus.values():
        assert (gpu.known(P.LINK_BYTES_PER_S) is not None) <= bool(gpu.link_kind), gpu.id


def test_rates_go_with_each_other_within_one_gpu(catalog):
    """FP16 and BF16 are equal on tensor cores; FP8 and INT8 once to four times as fast; TF32 half as fast."""
    # FP16 without tensor cores; INT8 cut away; FP16 in the vector units only.
    exceptions = {"moore-threads-mtt-s4000", "nvidia-b300", "nvidia-gb300", "intel-gaudi3"}
    for gpu in catalog.gpus.values():
        known = {p: k.value for p, k in gpu.properties.items()}
        bf16, fp16 = known.get(P.BF16_FLOP_PER_S), known.get(P.FP16_FLOP_PER_S)
        if gpu.id in exceptions or not bf16:
            continue
        if fp16 and gpu.id != "amd-mi100":
            assert fp16 == bf16, gpu.id
        for name in (P.FP8_FLOP_PER_S, P.INT8_FLOP_PER_S):
            if name in known and gpu.id != "amd-mi100":
                assert 0.95 <= known[name] / bf16 <= 4.05, (gpu.id, name)
        if P.TF32_FLOP_PER_S in known and gpu.vendor == "NVIDIA":
            assert known[P.TF32_FLOP_PER_S] == pytest.approx(bf16 / 2, rel=0.02), gpu.id


def test_every_instance_names_a_gpu_of_the_catalog_or_says_why_not(catalog):
    for instance in catalog.instances.values():
        assert instance.gpu_text, instance.id
        for gpu_id in (instance.gpu_id, *instance.gpu_may_be):
            assert gpu_id is None or gpu_id in catalog.gpus, instance.id
    planned = [i for i in catalog.instances.values() if i.planning_gpu_id]
    assert len(planned) >= 500


def test_an_ambiguous_offer_is_planned_with_the_slowest_gpu_it_may_be(catalog):
    offer = catalog.instances["lambda/8x-a100-80-gb"]
    assert offer.gpu_id is None
    assert offer.gpu_may_be == ("nvidia-a100-pcie-80gb", "nvidia-a100-sxm4-80gb")
    for instance in catalog.instances.values():
        rates = [catalog.gpus[i].value(P.HBM_BYTES_PER_S) for i in instance.gpu_may_be]
        assert rates == sorted(rates), instance.id


def test_a_price_has_currency_and_source_and_is_never_zero(catalog):
    english = Translator(Language.ENGLISH)
    prices = [(i, price) for i in catalog.instances.values() for price in i.prices]
    assert len(prices) > 450
    for instance, price in prices:
        assert price.per_hour > 0, instance.id
        assert price.currency in catalog.currencies, instance.id
        assert price.source.citation, instance.id
        assert not price.date or DATE.fullmatch(price.date), instance.id
    assert english.has("overlay.price.zero")


def test_chinese_prices_stay_in_yuan_and_stand_beside_those_of_other_regions(catalog):
    g5 = catalog.instances["aws/g5.xlarge"]
    assert [(p.per_hour, p.currency, p.region, p.date) for p in g5.prices] == [
        (1.006, "USD", "us-east-1", "2026-07-20"),
        (9.51389, "CNY", "cn-north-1", "2024-11-06"),
    ]
    alibaba = catalog.instances["alibaba/ecs.gn7i-c8g1.2xlarge"].price()
    assert (alibaba.currency, alibaba.date) == ("CNY", "2024-10-10")


def test_spot_prices_and_fractions_are_told_apart(catalog):
    assert sum(1 for i in catalog.instances.values() if i.price(PriceKind.SPOT)) == 53
    assert float(catalog.instances["aws/g6f.2xlarge"].gpu_fraction) == 0.25
    open_shares = [i for i in catalog.instances.values() if i.gpu_fraction is None]
    assert len(open_shares) == 7
    assert all(i.note and i.note_zh for i in open_shares)
    assert sum(1 for i in catalog.instances.values() if i.gpu_count is None) == 4


def test_what_is_from_memory_says_so(catalog):
    h100 = catalog.gpus["nvidia-h100-sxm5-80gb"]
    assert h100.known(P.NVDEC).fact.source.from_memory
    assert not h100.known(P.BF16_FLOP_PER_S).fact.source.from_memory
    assert "vgpu" in h100.from_memory
    p5 = catalog.instances["aws/p5.48xlarge"]
    assert p5.from_memory == ("interconnect", "virtualization")
    size = catalog.instances["alibaba/ecs.gn7i-c8g1.2xlarge"].properties[InstanceProperty.VCPUS]
    assert size.fact.source.from_memory
    assert all(rate.source.from_memory for code, rate in catalog.currencies.items() if code != "USD")


def test_instance_sizes_are_for_the_whole_machine_and_memory_for_each_gpu(catalog):
    p5 = catalog.instances["aws/p5.48xlarge"]
    assert p5.value(InstanceProperty.RAM_BYTES) == 2048 * GIB
    assert p5.value(InstanceProperty.NETWORK_BIT_PER_S) == 3.2e12
    assert p5.value(InstanceProperty.GPU_MEMORY_BYTES_EACH) == 80 * GIB
    assert p5.properties[InstanceProperty.RAM_BYTES].fact.unit is Unit.BYTE
    assert p5.properties[InstanceProperty.RAM_BYTES].fact.basis.per is Per.NODE
    assert p5.properties[InstanceProperty.GPU_MEMORY_BYTES_EACH].fact.basis.per is Per.GPU


def test_compatibility_rows_end_with_their_source(catalog):
    for table in catalog.compatibility.values():
        assert table.columns[-1] == "source"
        for row in table.rows:
            assert len(row) == len(table.columns)
            assert len(row[-1]) > 20
    drivers = {row[0]: row for row in catalog.compatibility["cuda-driver"].rows}
    assert drivers["11.7 GA"][1] == "515.43.04"


def test_the_hash_is_the_same_each_time_and_the_date_is_that_of_the_edition(catalog):
    again = load_catalog(shipped("catalogs"))
    assert again.hash == catalog.hash
    assert re.fullmatch(r"[0-9a-f]{64}", catalog.hash)
    dates = [fact.source.date for _, _, fact in facts(catalog)]
    dates += [price.date for i in catalog.instances.values() for price in i.prices]
    assert catalog.date >= max(dates)


@pytest.mark.alone
def test_loading_is_quick():
    load_catalog(shipped("catalogs"))
    times = []
    for _ in range(3):
        start = time.process_time()
        load_catalog(shipped("catalogs"))
        times.append(time.process_time() - start)
    assert min(times) < 0.5


def test_every_source_of_every_file_has_a_date_or_the_day_it_was_read():
    undated = []
    for path in sorted(shipped("catalogs").rglob("*.yaml")):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        listed = content.get("sources") if isinstance(content, dict) else None
        for key, source in (listed if isinstance(listed, dict) else {}).items():
            assert source["citation"]
            if not source.get("date") and not source.get("accessed"):
                undated.append((path.name, key))
    assert undated == []


def test_a_table_of_software_says_which_rows_no_document_confirms(catalog):
    cited = [row[-1] for row in catalog.compatibility["software"].rows]
    assert sum(text.endswith("(from memory)") for text in cited) == len(cited) - 1
    assert not any("from memory" in row[-1] for row in catalog.compatibility["cuda-driver"].rows)


def test_what_is_from_memory_says_so_and_has_the_rates_of_its_kind(catalog):
    """Cards that no document at hand lists: their sizes from memory, their tensor rates by the chip's ratio."""
    for name, fp32 in (
        ("nvidia-rtx-4070-ti", 40.09e12),
        ("nvidia-rtx-3060-ti", 16.2e12),
        ("nvidia-rtx-2080", 10.07e12),
    ):
        gpu = catalog.gpus[name]
        assert gpu.known(GpuProperty.MEMORY_BYTES).fact.source.from_memory
        assert gpu.value(GpuProperty.FP32_FLOP_PER_S) == pytest.approx(fp32)
        ratio = gpu.value(GpuProperty.FP16_FLOP_PER_S) / fp32
        assert ratio == pytest.approx(4 if gpu.architecture == "Turing" else 2, rel=1e-3)
