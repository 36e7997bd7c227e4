"""Names as tools and clouds print them: each to its entry, to several, or to none."""

import csv
from fractions import Fraction
from pathlib import Path

import pytest

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.names import Kind, Names, Technology, names_of, read_name_tables, resolve
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.messages import Language, Translator
from gpuplanner.paths import shipped
from gpuplanner.units import MIB

QUERIES = Path(__file__).parents[1] / "data" / "names" / "queries.csv"


def rows() -> list[dict[str, str]]:
    with QUERIES.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(shipped("catalogs"))


@pytest.fixture(scope="module")
def names(catalog) -> Names:
    return names_of(catalog)


@pytest.fixture(scope="module")
def tables():
    return read_name_tables(shipped("catalogs") / "names")


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["id"])
def test_a_printed_name_means_what_it_means(names, row):
    measured = float(row["memory_mib"]) * MIB if row["memory_mib"] else None
    found = names.resolve(row["query"], memory_bytes=measured)
    assert found.id == (row["expected"] or None)
    assert (found.kind or "") == row["kind"]
    if row["expected"]:
        assert found.candidates == ()
    if row["candidates"]:
        assert {candidate.id for candidate in found.candidates} == set(row["candidates"].split(";"))
    if row["compute"] or row["memory"]:
        assert found.fraction is not None
        assert found.fraction.compute == (Fraction(row["compute"]) if row["compute"] else None)
        assert found.fraction.memory == Fraction(row["memory"])
    else:
        assert found.fraction is None


@pytest.mark.parametrize("language", list(Language))
def test_every_answer_says_why(names, language):
    translator = Translator(language)
    for row in rows():
        measured = float(row["memory_mib"]) * MIB if row["memory_mib"] else None
        assert translator.text(names.resolve(row["query"], memory_bytes=measured).reason)


def test_every_shared_name_is_covered(shared_dir):
    """Each row of the shared list is one of ours, under the same id and as it is printed there."""
    ours = {row["id"]: row["query"] for row in rows()}
    with (shared_dir / "facts" / "names.csv").open(encoding="utf-8", newline="") as file:
        listed = {row["id"]: row["query_as_printed"] for row in csv.DictReader(file)}
    apart = {"T39"}  # printed as a list of two, both of which we ask for
    assert {i: text for i, text in listed.items() if i not in apart and ours.get(i) != text} == {}
    assert all(name in ours.values() for name in listed["T39"].split(" / "))


def test_the_answer_as_the_command_line_prints_it(names):
    assert names.resolve("NVIDIA H100 80GB HBM3 MIG 1g.10gb").as_data() == {
        "query": "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
        "kind": "gpu",
        "id": "nvidia-h100-sxm5-80gb",
        "name": "H100 SXM5 80GB",
        "fraction": {"compute": pytest.approx(1 / 7), "memory": 0.125},
        "candidates": [],
    }
    vgpu = names.resolve("GRID A100D-10C").as_data()
    assert vgpu["fraction"] == {"compute": None, "memory": 0.125}
    refused = names.resolve("A100").as_data()
    assert (refused["id"], refused["name"], refused["fraction"]) == (None, None, None)
    assert refused["candidates"] == [
        "nvidia-a100-pcie-40gb", "nvidia-a100-pcie-80gb", "nvidia-a100-sxm4-40gb", "nvidia-a100-sxm4-80gb",
    ]  # fmt: skip


def test_a_count_is_told(names):
    assert names.resolve("8x H100 SXM").count == 8
    assert names.resolve("B200 x8").count == 8
    assert names.resolve("两张 RTX 4090").count == 2
    assert names.resolve("TPU v5e-8").count == 8
    assert names.resolve("H100 SXM").count is None


@pytest.mark.parametrize("text", ["2x4090", "2 x 4090", "2×4090", "2*4090", "2x RTX 4090"])
def test_a_count_may_stand_before_a_name_of_digits(names, text):
    found = names.resolve(text)
    assert (found.id, found.count) == ("nvidia-rtx-4090", 2)
    assert names.resolve("4090").count is None
    assert names.resolve("1024x1024").id is None


def test_the_series_of_a_vgpu_is_read(names):
    slices = {
        text: names.resolve(text).slice for text in ("GRID T4-16Q", "NVIDIA A40-1B", "GRID P4-8A", "NVIDIA A100-4C")
    }
    assert {text: s.series for text, s in slices.items() if s} == {
        "GRID T4-16Q": "Q",
        "NVIDIA A40-1B": "B",
        "GRID P4-8A": "A",
        "NVIDIA A100-4C": "C",
    }
    assert all(s.technology is Technology.VGPU for s in slices.values() if s)
    on_mig = names.resolve("GRID A100D-1-10C").slice
    assert on_mig is not None
    assert on_mig.technology is Technology.VGPU_ON_MIG


def test_each_name_of_a_list_is_answered(names):
    found = names.resolve("A100-80GB / A100-80GB-SXM (SkyPilot RunPod)")
    assert [part.id for part in found.parts] == [None, "nvidia-a100-sxm4-80gb"]
    assert names.resolve("NVIDIA L4 / L4").id == "nvidia-l4"


def test_an_unknown_board_asks_for_what_would_tell(names):
    reason = Translator(Language.ENGLISH).text(names.resolve("NVIDIA Graphics Device").reason)
    assert "PCI" in reason
    assert "memory" in reason


def test_an_attachable_accelerator_says_that_the_host_is_extra(names):
    assert names.resolve("n1 + nvidia-tesla-t4").reason.id == "names.instance.accelerator"


def test_a_kind_limits_the_answer(names):
    assert names.resolve("8x A100 (80 GB)").kind is Kind.GPU
    offers = names.resolve("8x A100 (80 GB)", kind="instance")
    assert offers.id is None
    assert {"lambda/8x-a100-80-gb", "runpod/8x-a100-80-gb"} <= {candidate.id for candidate in offers.candidates}
    assert names.resolve("T4", kind=Kind.MODEL).id is None
    with pytest.raises(ValueError, match="planet"):
        names.resolve("T4", kind="planet")


def test_a_single_question_is_answered_as_well(catalog):
    assert resolve(catalog, "NVIDIA L4").id == "nvidia-l4"


CONFUSED = """
H20|H200
H20|H20 0
H200|H20
H2O0|H200
L4|L40
L40|L40S
L40G|L40S
L4O|L40
L2|L20
A10|A100
A10|A10G
A100X|A100
T4|T4G
RTX A6000|RTX 6000 Ada
RTX 6000 Ada|Quadro RTX 6000
Quadro RTX 6000|RTX A6000
RTX 4070 Ti|RTX 4070 Ti SUPER
RTX 4070 Ti|RTX 4070
RTX 4060|RTX 4060 Ti 16GB
RTX 3070 Ti|RTX 3070
RTX 4090 D|RTX 4090
RTX 4090 Laptop|RTX 4090
V100S|V100-PCIE-32GB
MI250|MI250X
MI300A|MI300X
B300|B200
GB200|B200
GB10|GB200
Gaudi|Gaudi2
Gaudi 2|Gaudi 3
910A|910B1
A800|A100
H800|H100
RTX 6000D|RTX PRO 6000 Blackwell Server
RTX 5000 Ada|RTX 5880 Ada
Llama-3.1-8B|Llama-3-8B
Llama-2-7b|Llama-7b
Qwen2.5-7B|Qwen2-7B
qwen-7b|Qwen2-7B
DeepSeek-V9|DeepSeek-V3
DeepSeek-V3|DeepSeek-V3.2
whisper-small|whisper-base
bloom|bloom-3b
Mistral-7B-v0.4|Mistral-7B-v0.1
Qwen3-Coder-30B-A3B-Instruct|Qwen3-30B-A3B
gemma-2-9b|gemma-3-12b-it
p5.48xlarge|p5e.48xlarge
g6.xlarge|g6e.xlarge
"""


@pytest.mark.parametrize("pair", CONFUSED.split("\n")[1:-1])
def test_likeness_decides_nothing(names, pair):
    first, second = (names.resolve(name) for name in pair.split("|"))
    assert first.id is None or first.id != second.id
    if first.id is None and first.reason.id.startswith("names.ambiguous"):
        assert second.id not in {candidate.id for candidate in first.candidates}


def test_the_nearest_are_candidates(names):
    assert "nvidia-rtx-4070-ti" in {c.id for c in names.resolve("RTX 4075 Ti").candidates}
    assert "nvidia-h20-96gb" in {c.id for c in names.resolve("H2O").candidates}
    assert names.resolve("Standard_NC24ads_A100_v5").candidates[0].id == "azure/standard_nc24ads_a100_v4"
    assert names.resolve("deepseek-v9").candidates[0].id.startswith("deepseek-ai/DeepSeek-V")
    assert names.resolve("zzzzqqqq").candidates == ()


def test_every_id_is_its_own_name(catalog, names):
    for kind, entries in (("gpu", catalog.gpus), ("model", catalog.models), ("instance", catalog.instances)):
        for entry_id in entries:
            found = names.resolve(entry_id)
            assert (found.id, found.kind) == (entry_id, kind)


def test_every_name_is_its_own_or_honestly_ambiguous(catalog, names, tables):
    """No name or alias of an entry means another entry, except where the names data says so with its source."""
    told = {name.casefold() for name in (*tables.exact, *tables.verbatim)}
    for kind, entries in (("gpu", catalog.gpus), ("model", catalog.models)):
        for entry in entries.values():
            for name in {entry.name, *entry.aliases}:
                found = names.resolve(name, kind=kind)
                meant = [found.id] if found.id else [candidate.id for candidate in found.candidates]
                assert entry.id in meant or name.casefold() in told, (entry.id, name, found)
    for instance in catalog.instances.values():
        found = names.resolve(instance.name, kind="instance")
        assert instance.id in {found.id, *(candidate.id for candidate in found.candidates)}
        assert names.resolve(f"{instance.provider} {instance.name}", kind="instance").id == instance.id


def test_a_full_name_is_not_ambiguous(catalog, names, tables):
    """Names of the catalog itself tell apart, but for products of several sizes that they do not state."""
    unsure = {gpu.id for gpu in catalog.gpus.values() if names.resolve(gpu.name).id != gpu.id}
    assert unsure <= set(tables.sizes_gb)
    assert {
        model.id for model in catalog.models.values() if names.resolve(model.name, kind="model").id != model.id
    } == set()


def test_the_names_data_names_only_what_exists(catalog, tables):
    gpus = {*tables.exact.values(), *tables.verbatim.values(), *tables.sizes_gb, *tables.announced_gb, *tables.mig}
    gpus |= {gpu for _, gpu in tables.also} | {gpu for several in tables.several.values() for gpu in several}
    gpus |= {part.gpu for part in tables.parts} | set(tables.vgpu_boards.values()) | tables.seldom
    assert gpus - set(catalog.gpus) == set()
    named = set(catalog.models) | {model.name for model in catalog.models.values()}
    assert {model for _, model in tables.models} - named == set()
    assert set(tables.providers) <= {instance.provider for instance in catalog.instances.values()}


def test_every_mig_gpu_has_its_profiles(catalog, names, tables):
    for gpu_id, profiles in tables.mig.items():
        for profile, (compute, memory) in profiles.shares.items():
            found = names.resolve(f"{catalog.gpus[gpu_id].name} MIG {profile}")
            assert found.id == gpu_id
            assert found.fraction is not None
            assert (found.fraction.compute, found.fraction.memory) == (compute, memory)
        whole = [profile for profile, share in profiles.shares.items() if share == (1, 1)]
        assert whole
    divisible = {
        i for i, gpu in catalog.gpus.items() if any(k.value > 0 for n, k in gpu.properties.items() if n == "mig_slices")
    }
    without_published_profiles = {"nvidia-b100", "nvidia-a800-pcie-40gb-active"}
    assert divisible - set(tables.mig) <= without_published_profiles


def test_shares_of_memory_follow_the_profile_names(tables, catalog):
    """A profile's GB, divided by the size of the GPU, is its share of memory to within the rounding of its name."""
    for gpu_id, profiles in tables.mig.items():
        sold = catalog.gpus[gpu_id].value("memory_bytes") / 2**30
        for profile, (_, memory) in profiles.shares.items():
            size = int(profile.partition("g.")[2].removesuffix("gb"))
            assert size == pytest.approx(float(memory) * sold, rel=0.16), (gpu_id, profile)


@pytest.mark.parametrize(
    ("text", "gpu", "count", "profile"),
    [
        ("2x A100-SXM4-80GB MIG 3g.40gb", "nvidia-a100-sxm4-80gb", 2, "3g.40gb"),
        ("H100 SXM5 80GB 2g.20gb x3", "nvidia-h100-sxm5-80gb", 3, "2g.20gb"),
        ("4x GRID A100-10C", "nvidia-a100-pcie-40gb", 4, "A100-10C"),
        ("4 × NVIDIA A100-10C", "nvidia-a100-pcie-40gb", 4, "A100-10C"),
        ("GRID A100-10C", "nvidia-a100-pcie-40gb", None, "A100-10C"),
    ],
)
def test_a_slice_says_how_many(names, text, gpu, count, profile):
    found = names.resolve(text)
    assert (found.id, found.count, found.slice.profile) == (gpu, count, profile)


def test_a_slice_of_several_gpus_keeps_its_count(names):
    found = names.resolve("2x A100 3g.40gb")
    assert found.id is None
    assert found.count == 2
    assert {candidate.id for candidate in found.candidates} == {"nvidia-a100-pcie-80gb", "nvidia-a100-sxm4-80gb"}
