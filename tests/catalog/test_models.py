import csv
import time
from pathlib import Path

import pytest

from gpuplanner.catalog.architecture import AttentionKind
from gpuplanner.catalog.entries import Model
from gpuplanner.catalog.models import KINDS, model_from_entry, read_models
from gpuplanner.catalog.parameters import active_parameters, total_parameters
from gpuplanner.facts import Source
from gpuplanner.messages import InputError, Language, Message, Translator

ROUNDED = 0.035
"""A count that its source has rounded may be as far off."""
WITH_MORE = {
    # Published totals that hold what a server need not load: prediction layers, copies of tables, scales of FP8 blocks.
    "Qwen/Qwen3-Next-80B-A3B": 1_650_471_424,
    "XiaomiMiMo/MiMo-7B-Base": 210_790_400,
    "deepseek-ai/DeepSeek-V3.2": 13_518_977_312,
}


@pytest.fixture(scope="module")
def models(project_root: Path) -> dict[str, Model]:
    return read_models(project_root / "catalogs" / "models")


def test_there_are_all_models_of_the_facts(models, shared_dir):
    with (shared_dir / "facts" / "models.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = {name for model in models.values() for name in (model.id, *model.aliases)}
    assert [row["model"] for row in rows if row["model"] not in names] == []
    assert len(models) >= len(rows) == 155


def test_published_counts_are_those_of_the_facts(models, shared_dir):
    with (shared_dir / "facts" / "models.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["model"]: row for row in csv.DictReader(file)}
    for name, row in rows.items():
        if name == "mistralai/Mixtral-8x22B-v0.1":  # the row mixes two vocabularies; ours are two entries
            continue
        model = models.get(name) or next(m for m in models.values() if name in m.aliases)
        known = {fact.value for fact in (model.parameters.fact, *model.parameters.others)}
        assert float(row["published_params"]) in known, name


def test_counts_from_the_sizes_equal_the_published_ones(models):
    exact = 0
    for model in models.values():
        if model.architecture is None:
            continue
        counted = total_parameters(model.architecture) + WITH_MORE.get(model.id, 0)
        if model.parameters_exact:
            assert counted == model.parameters.value, model.id
            exact += model.parameters.fact.source.id != "computed"
        else:
            assert counted == pytest.approx(model.parameters.value, rel=ROUNDED), model.id
    assert exact >= 140


def test_counts_equal_the_facts_wherever_they_are_exact(models, shared_dir):
    with (shared_dir / "facts" / "models.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["layers"]]
    checked = 0
    for row in rows:
        if row["published_exact"] != "yes" or float(row["rel_err_pct"]) != 0:
            continue
        architecture = models[row["model"].removesuffix(" (HF 32000 vocab)")].architecture
        assert architecture is not None
        assert total_parameters(architecture) == int(row["published_params"]), row["model"]
        if row["computed_active_params"]:
            assert active_parameters(architecture) == int(row["computed_active_params"]), row["model"]
        checked += 1
    assert checked == 89


@pytest.mark.parametrize(
    ("model_id", "total", "active"),
    [
        ("Qwen/Qwen2.5-7B", 7_615_616_512, 7_615_616_512),
        ("mistralai/Mixtral-8x7B-v0.1", 46_702_792_704, 12_879_925_248),
        ("deepseek-ai/DeepSeek-V3", 671_026_419_200, 37_552_297_472),
        ("openai/gpt-oss-120b", 116_829_156_672, 5_711_982_912),
        ("microsoft/phi-2", 2_779_683_840, 2_779_683_840),
        ("google/gemma-2-9b", 9_241_705_984, 9_241_705_984),
        ("gpt2", 124_439_808, 124_439_808),
        ("openai/whisper-large-v3", 1_543_490_560, 1_543_490_560),
        ("nvidia/Llama-3_3-Nemotron-Super-49B-v1", 49_867_145_216, 49_867_145_216),
    ],
)
def test_known_traps(models, model_id, total, active):
    architecture = models[model_id].architecture
    assert (total_parameters(architecture), active_parameters(architecture)) == (total, active)


def test_a_wrong_published_count_stands_beside_the_right_one(models):
    known = models["Qwen/Qwen2.5-7B"].parameters
    assert known.value == 7_615_616_512
    assert [(fact.value, "output projection" in fact.note) for fact in known.others] == [(6_993_420_288, True)]
    assert known.disputed


def test_what_came_from_memory_says_so(models):
    assert models["meta-llama/Llama-2-13b-hf"].parameters.fact.source.from_memory
    assert not models["meta-llama/Llama-2-7b-hf"].parameters.fact.source.from_memory


def test_every_model_has_a_kind_with_a_text_and_notes_in_both_languages(models):
    for language in Language:
        translator = Translator(language)
        assert all(translator.has(f"model.kind.{kind}") for kind in KINDS)
        noted = {note for m in models.values() if m.architecture for note in m.architecture.notes}
        assert all(translator.has(note) for note in noted)
    assert all(bool(model.note) == bool(model.note_zh) for model in models.values())
    facts = [fact for m in models.values() for fact in (m.parameters.fact, *m.parameters.others)]
    assert [f.note for f in facts if f.note and not f.note_zh and not f.note.startswith("preset ")] == []


def test_names_are_not_used_twice(models):
    seen: dict[str, str] = {}
    for model in models.values():
        for name in {model.id.lower(), model.name.lower(), *(a.lower() for a in model.aliases)}:
            assert seen.setdefault(name, model.id) == model.id, name


def test_models_without_a_formula_carry_figures_only(models):
    without = {model.kind for model in models.values() if model.architecture is None}
    assert without == {"vision", "detector", "segmentation", "diffusion", "encoder"}
    assert [m.id for m in models.values() if m.architecture is None and m.kind == "encoder"] == [
        "microsoft/deberta-v3-large"
    ]


def test_networks_that_outline_are_not_said_to_classify(models):
    families = {m.family for m in models.values() if m.kind == "segmentation"}
    assert {"3D U-Net", "DeepLabV3"} <= families
    assert not families & {m.family for m in models.values() if m.kind == "vision"}


def test_a_quantised_model_says_which_parts_are_wide(models):
    shape = models["openai/gpt-oss-120b"].architecture
    assert shape.weight_quantisation == "mxfp4"
    assert {part.part.value for part in shape.stored_parts} == {"attention", "embedding", "head", "unquantised"}


@pytest.mark.alone
def test_reading_is_quick(project_root):
    best = min(_timed(project_root / "catalogs" / "models") for _ in range(5))
    assert best < 0.25  # 0.05 s on one idle core


def _timed(folder: Path) -> float:
    start = time.perf_counter()
    read_models(folder)
    return time.perf_counter() - start


def test_the_nas_model_of_the_catalog_is_the_real_one(models):
    shape = models["nvidia/Llama-3_3-Nemotron-Super-49B-v1"].architecture
    assert shape.layers == 80
    assert sum(g.count for g in shape.groups if g.attention.kind is AttentionKind.NONE) == 31


SOURCES = {"here": Source("here", "a test")}
ENTRY = {
    "id": "x/tiny",
    "name": "Tiny",
    "family": "Llama",
    "kind": "decoder",
    "parameters": {"count": 1000, "source": "here"},
}


def test_an_entry_is_a_model():
    model = model_from_entry(ENTRY, SOURCES, user=True)
    assert (model.id, model.parameters.value, model.user) == ("x/tiny", 1000, True)


@pytest.mark.parametrize(
    ("change", "message_id"),
    [
        ({"id": ""}, "model.entry.missing"),
        ({"name": 7}, "model.entry.missing"),
        ({"parametres": 7}, "model.entry.unknown_field"),
        ({"kind": "poem"}, "model.entry.kind"),
        ({"config": "llama"}, "model.entry.config"),
        ({"config": {"model_type": "llama"}}, "model.field.missing"),
        ({"parameters": 7}, "model.entry.parameters"),
        ({"parameters": {"count": True, "source": "here"}}, "model.entry.parameters"),
        ({"parameters": {"count": 10**40, "source": "here"}}, "model.entry.parameters"),
        ({"parameters": {"count": 5, "source": "there"}}, "model.entry.source"),
        ({"aliases": "tiny"}, "model.entry.list"),
    ],
)
def test_a_wrong_entry_is_refused(change, message_id):
    with pytest.raises(InputError) as caught:
        model_from_entry({**ENTRY, **change}, SOURCES)
    assert caught.value.message.id == message_id
    assert Translator(Language.CHINESE).text(caught.value.message)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("models: [", "model.entry.not_yaml"),
        ("- 1", "model.entry.mapping"),
        ("models: 5", "model.entry.no_list"),
        ("models: [5]", "model.entry.mapping"),
    ],
)
def test_a_wrong_file_is_refused_by_its_name(tmp_path, text, reason):
    (tmp_path / "sources.yaml").write_text("sources: {here: {citation: a test}}", encoding="utf-8")
    (tmp_path / "bad.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_models(tmp_path)
    assert caught.value.message.values["file"] == "bad.yaml"
    why = caught.value.message.values["why"]
    assert isinstance(why, Message)
    assert why.id == reason
