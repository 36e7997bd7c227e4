"""GPU entries: which statement stands as the plain figure, and what is worked out from what a source adds up."""

from itertools import pairwise
from pathlib import Path

import pytest

from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.catalog.files.yaml_file import parse_yaml
from gpuplanner.catalog.gpu_fields import BASIS_WORDS, GPU_NUMBERS, PCIE_X16_BYTES_PER_S, with_words
from gpuplanner.catalog.gpus import read_gpu, slug
from gpuplanner.catalog.problems import Problem
from gpuplanner.facts import Accumulate, Density, Direction, Per, Source

P = GpuProperty
SOURCES = {name: Source(name, f"Source {name}") for name in ("a", "b", "c", "pcie")}


def read(fields):
    problems: list[Problem] = []
    entry = parse_yaml(f"name: X 1\nvendor: V\nsource: a\n{fields}", Path("f.yaml"))
    gpu = read_gpu(entry, SOURCES.__getitem__, SOURCES["pcie"], problems)
    return gpu, [(p.line, p.field, p.what.id) for p in problems]


def values(known):
    return [(fact.value, fact.source.id) for fact in (known.fact, *known.others)]


def test_the_first_source_that_says_it_plainly_stands_first():
    gpu, problems = read("also: [{source: b, power_w: 300}, {source: c, power_w: 350}]\npower_w: 320\n")
    assert problems == []
    assert values(gpu.known(P.POWER_W)) == [(320, "a"), (300, "b"), (350, "c")]
    assert gpu.known(P.POWER_W).disputed


@pytest.mark.parametrize(
    ("field", "word"),
    [
        ("bf16_tflops", "sparse"), ("bf16_tflops", "fp16"), ("memory_gb", "board"), ("memory_gb", "die"),
        ("memory_gb", "pair"), ("memory_bandwidth_gb_per_s", "node"), ("memory_gb", "usable"), ("power_w", "board"),
        ("link_gb_per_s", "both ways"), ("pcie_gb_per_s", "both ways"),
    ],
)  # fmt: skip
def test_what_is_on_another_basis_never_stands_as_plain(field, word):
    alone, _ = read(f"also: [{{basis: [{word}], {field}: 200}}]\n")
    known = alone.known(GPU_NUMBERS[field].property)
    assert known is None or (word == "both ways" and known.value == 100 * GPU_NUMBERS[field].factor)
    gpu, _ = read(f"also: [{{source: b, basis: [{word}], {field}: 200}}, {{source: c, {field}: 100}}]\n")
    known = gpu.known(GPU_NUMBERS[field].property)
    assert known.fact.source.id == "c"
    assert 200 * GPU_NUMBERS[field].factor in {fact.value for fact in known.others}


def test_a_rate_without_tensor_cores_stands_only_where_there_is_none_with_them():
    gpu, _ = read("also: [{basis: [vector], fp16_tflops: 78}, {fp16_tflops: 312}]\n")
    assert [fact.value for fact in gpu.known(P.FP16_FLOP_PER_S).others] == [78e12]
    gpu, _ = read("also: [{basis: [vector], fp16_tflops: 19}]\n")
    assert gpu.value(P.FP16_FLOP_PER_S) == 19e12


def test_one_way_is_half_of_both_ways_unless_a_source_says_it():
    gpu, _ = read("link_both_ways_gb_per_s: 900\n")
    known = gpu.known(P.LINK_BYTES_PER_S)
    assert (known.value, known.fact.basis.direction) == (450e9, Direction.ONE_WAY)
    assert [(f.value, f.basis.direction) for f in known.others] == [(900e9, Direction.BOTH_WAYS)]
    gpu, _ = read("link_gb_per_s: 400\nalso: [{source: b, link_both_ways_gb_per_s: 900}]\n")
    assert gpu.value(P.LINK_BYTES_PER_S) == 400e9


@pytest.mark.parametrize(
    ("generation", "lanes", "rate"), [(3, 16, 15.75e9), (4, 16, 31.5e9), (5, 16, 63e9), (4, 8, 15.75e9), (6, 16, 121e9)]
)
def test_pcie_follows_from_generation_and_lanes(generation, lanes, rate):
    gpu, _ = read(f"pcie_generation: {generation}\npcie_lanes: {lanes}\n")
    known = gpu.known(P.PCIE_BYTES_PER_S)
    assert known.value == pytest.approx(rate)
    assert (known.fact.source.id, known.fact.basis.direction) == ("pcie", Direction.ONE_WAY)


def test_pcie_is_unknown_without_lanes_and_as_stated_where_it_is():
    assert read("pcie_generation: 4\n")[0].known(P.PCIE_BYTES_PER_S) is None
    gpu, _ = read("pcie_generation: 4\npcie_lanes: 16\npcie_gb_per_s: 25\n")
    assert values(gpu.known(P.PCIE_BYTES_PER_S)) == [(25e9, "a"), (31.5e9, "pcie")]


def test_each_generation_is_about_twice_the_one_before():
    rates = [PCIE_X16_BYTES_PER_S[g] for g in sorted(PCIE_X16_BYTES_PER_S)]
    assert all(1.9 < b / a < 2.05 for a, b in pairwise(rates))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ("source: nobody\n", (3, "source", "overlay.value.unknown_source")),
        ("memory_gb: 5000\n", (4, "memory_gb", "overlay.value.out_of_range")),
        ("memory_bandwidth_gb_per_s: 3.35\n", (4, "memory_bandwidth_gb_per_s", "overlay.value.out_of_range")),
        ("sparsity: perhaps\n", (4, "sparsity", "overlay.value.not_flag")),
        ("aliases: {a: 1}\n", (4, "aliases", "overlay.value.not_list")),
        ("also: [text]\n", (4, "also", "overlay.value.not_mapping")),
        ("remarks: [{kind: note}]\n", (4, "en", "overlay.value.required")),
    ],
)
def test_a_fault_makes_no_gpu(fields, problem):
    text = fields if not fields.startswith("source") else ""
    problems: list[Problem] = []
    source = "nobody" if not text else "a"
    entry = parse_yaml(f"name: X 1\nvendor: V\nsource: {source}\n{text}", Path("f.yaml"))
    assert read_gpu(entry, SOURCES.__getitem__, SOURCES["pcie"], problems) is None
    assert [(p.line, p.field, p.what.id) for p in problems] == [problem]


def test_every_word_of_a_basis_changes_one_part_of_it():
    plain = GPU_NUMBERS["bf16_tflops"].basis
    assert with_words(plain, ["Sparse", "board"]).density is Density.SPARSE
    assert with_words(plain, ["Sparse", "board"]).per is Per.BOARD
    assert len(BASIS_WORDS) == len(set(BASIS_WORDS)) == 2 + 2 + 2 + 2 + 5 + 3
    with pytest.raises(KeyError):
        with_words(plain, ["dens"])


def test_ids_are_slugs():
    assert slug("NVIDIA H100 SXM5 (80 GB)") == "nvidia-h100-sxm5-80-gb"
    assert slug("华为 昇腾 910B") == "华为-昇腾-910b"


def test_vector_units_have_no_fp32_accumulation_unless_it_is_said():
    gpu, _ = read("also: [{basis: [vector], fp16_tflops: 78}, {basis: [vector, fp16], fp16_tflops: 79}]\n")
    known = gpu.known(P.FP16_FLOP_PER_S)
    said = {fact.value: fact.basis.accumulate for fact in (known.fact, *known.others)}
    assert said == {78e12: None, 79e12: Accumulate.FP16}
