"""Search as one types: what is found, in which order, in both languages."""

import threading

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.entries import CompatibilityTable, Gpu, Instance, Rule
from gpuplanner.catalog.reading import load_catalog
from gpuplanner.catalog.search import CatalogIndex, EntryKind
from gpuplanner.catalog.synonyms import Synonyms
from gpuplanner.facts import Source
from gpuplanner.messages import Language
from gpuplanner.paths import shipped

SOURCE = Source("test", "a test")


@pytest.fixture(scope="module")
def index():
    return CatalogIndex(load_catalog(shipped("catalogs")))


def gpu(name: str, vendor: str = "NVIDIA", *aliases: str) -> Gpu:
    return Gpu(name.casefold().replace(" ", "-"), name, vendor, {}, aliases)


def instance(number: int, name: str, provider: str = "AWS") -> Instance:
    return Instance(f"{provider}/{number}", provider, name, "L4", None, 1, None, {})


def rule(rule_id: str, en: str, zh: str) -> Rule:
    return Rule(rule_id, "rule of thumb", en, zh, "wrong", "", "", (), SOURCE)


def small(**parts: object) -> CatalogIndex:
    base: dict[str, object] = {"gpus": {}, "instances": {}}
    return CatalogIndex(Catalog(**(base | parts)))  # type: ignore[arg-type]  # parts of a catalog by name


def names(index: CatalogIndex, text: str, **options: object) -> list[str]:
    return [hit.name for hit in index.search(text, **options)]  # type: ignore[arg-type]  # options by name


def test_exact_before_beginning_before_word_before_inside():
    entries = [gpu("XL4"), gpu("Card L4x"), gpu("L40"), gpu("L4"), gpu("Board", "NVIDIA", "L4 board")]
    index = small(gpus={g.id: g for g in entries})
    assert names(index, "L4") == ["L4", "L40", "Board", "Card L4x", "XL4"]


def test_equally_good_hits_stand_by_kind_and_then_by_length():
    index = small(gpus={g.id: g for g in (gpu("A100 SXM4"), gpu("A100"))}, instances={"1": instance(1, "A100 box")})
    assert names(index, "a10") == ["A100", "A100 SXM4", "A100 box"]


def test_every_word_must_be_there_in_any_order(index):
    assert index.search("sxm a100 80gb")[0].id == "nvidia-a100-sxm4-80gb"
    assert "nvidia-a100-sxm4-40gb" not in {hit.id for hit in index.search("sxm a100 80gb", limit=50)}
    assert index.search("a100 gaudi") == ()


@pytest.mark.parametrize("text", ["RTX 4090", "rtx4090", "rtx-4090", "ＲＴＸ４０９０", "  rtx   4090 "])
def test_spelling_does_not_matter(index, text):
    assert index.search(text)[0].id == "nvidia-rtx-4090"


@pytest.mark.parametrize("text", ["g6.4", "G6.48XL", "48xlarge"])
def test_instances_are_found_by_any_part(index, text):
    assert any(hit.id == "aws/g6.48xlarge" for hit in index.search(text, limit=50))


def test_a_chinese_word_finds_what_an_english_one_does(index):
    assert index.search("显存")[0].id == "gpus/memory_bytes"
    assert index.search("vram", kinds=["column"])[0].id == "gpus/memory_bytes"
    assert {hit.detail for hit in index.search("英伟达", kinds=["gpu"], limit=200)} == {"NVIDIA"}
    assert {hit.id for hit in index.search("昇腾")} == {hit.id for hit in index.search("ascend")}
    assert "moore-threads-mtt-s4000" in {hit.id for hit in index.search("摩尔线程")}
    assert index.search("阿里云", kinds=["instance"])[0].detail == "Alibaba Cloud"


def test_a_rule_of_the_catalog_is_found_by_its_subject(index):
    for text in ("推理", "inference", "serving", "直通", "passthrough"):
        assert index.search(text, kinds=["rule"]), text
    chinese, english = (index.search(text, kinds=["rule"], limit=100) for text in ("推理", "inference"))
    assert {hit.id for hit in chinese} & {hit.id for hit in english}


def test_chinese_words_need_no_space(index):
    assert index.search("英伟达显卡A100") == index.search("英伟达 显卡 a100")
    assert all("A100" in hit.name for hit in index.search("英伟达显卡A100", limit=4))


def test_rules_are_found_in_both_languages():
    rules = (rule("r1", "Inference needs memory", "推理需要显存"), rule("r2", "Cool the room", "机房要冷却"))
    index = small(rules=rules)
    for text in ("inference", "推理", "serving", "vram"):
        assert [hit.id for hit in index.search(text, kinds=["rule"])] == ["r1"]
    assert index.search("机房")[0].title(Language.CHINESE) == "机房要冷却"
    assert index.search("机房")[0].title(Language.ENGLISH) == "Cool the room"


def test_rows_of_compatibility_are_found():
    table = CompatibilityTable(
        "cuda-driver", ("cuda", "driver", "source"), (("12.4", "550.54", "x"), ("13.0", "580", "x"))
    )
    index = small(compatibility={"cuda-driver": table})
    assert [hit.id for hit in index.search("cuda 12.4", kinds=["compatibility"])] == ["cuda-driver/0"]
    assert index.search("580", kinds=["compatibility"])[0].detail == "driver 580"


def test_everything_has_kinds(index):
    kinds = {hit.kind for text in ("a", "1", "显存", "12") for hit in index.search(text, limit=1000)}
    assert kinds == set(EntryKind)
    assert {hit.kind for hit in index.search("a100", kinds=["instance"], limit=50)} == {EntryKind.INSTANCE}


def test_nothing_finds_nothing(index):
    for text in ("", "   ", "\x00", "-", "()", "zzzzzz"):
        assert index.search(text) == ()
    assert index.search("a100", limit=0) == ()
    assert index.search("a100", kinds=[]) == ()


def test_the_limit_is_kept_without_doubles(index):
    hits = index.search("nvidia", limit=30)
    assert len(hits) == len({(hit.kind, hit.id) for hit in hits}) == 30


@given(st.text(max_size=60))
@example("%_\\")
@example("'; DROP TABLE gpus; --")
@example('"')
@example("\U0010ffff")
@example("\ud800")
@example("x" * 100_000)
def test_no_text_makes_it_raise(shared_index, text):
    assert len(shared_index.search(text, limit=5)) <= 5


@pytest.fixture(scope="module")
def shared_index(index):
    return index


def test_it_is_built_in_one_thread_and_asked_in_others():
    built: list[CatalogIndex] = []
    catalog = load_catalog(shipped("catalogs"))
    thread = threading.Thread(target=lambda: built.append(CatalogIndex(catalog)))
    thread.start()
    thread.join()
    answers: list[int] = []

    def ask() -> None:
        answers.extend(len(built[0].search("a100")) + built[0].page("gpus", {"name": "A100"}).total for _ in range(20))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(answers) == 80
    assert len(set(answers)) == 1


class TestSynonyms:
    def test_a_word_comes_first_and_its_synonyms_after(self):
        synonyms = Synonyms([["显存", "VRAM", "memory"], ["显卡", "GPU"]])
        assert synonyms.expand("VRAM") == (("vram", "显存", "memory"),)
        assert synonyms.expand("英伟达 a100") == (("英伟达",), ("a100",))

    def test_a_known_word_is_cut_out_of_chinese_but_not_out_of_latin(self):
        synonyms = Synonyms([["显存", "vram"], ["ram", "内存"]])
        assert [group[0] for group in synonyms.expand("大显存卡")] == ["大", "显存", "卡"]
        assert [group[0] for group in synonyms.expand("params")] == ["params"]
        assert [group[0] for group in synonyms.expand("80gb显存")] == ["80gb", "显存"]

    def test_the_longest_known_word_wins(self):
        synonyms = Synonyms([["显存带宽", "memory bandwidth"], ["显存", "memory"]])
        assert [group[0] for group in synonyms.expand("显存带宽")] == ["显存带宽"]
        assert [group[0] for group in synonyms.expand("memory bandwidth")] == ["memory bandwidth"]

    def test_both_languages_are_in_every_shipped_group(self):
        for group in yaml.safe_load((shipped("catalogs") / "names" / "synonyms.yaml").read_text(encoding="utf-8")):
            assert any(word.isascii() for word in group), group
            assert any(not word.isascii() for word in group), group


@pytest.mark.parametrize("text", ["image classification", "图像分类", "resnet 图像"])
def test_models_are_found_by_what_they_are_for_in_both_languages(index, text):
    assert "torchvision/resnet50" in {hit.id for hit in index.search(text, [EntryKind.MODEL], 300)}
