"""The cache of a GPU by layout: pipeline stages of alternating layers, drafting layers, pages shared with states."""

from dataclasses import replace

import pytest

from gpuplanner.catalog.names import names_of
from gpuplanner.engine.formulas.hybrid_pool import longest_in_pages, page_bytes, page_tokens, request_pages
from gpuplanner.engine.serving_machine import server_numbers
from gpuplanner.engine.validation.families import row_outcomes, with_siblings
from gpuplanner.engine.validation.kv_layouts import Layout, kept_by, possible_layouts, stages_of
from gpuplanner.engine.validation.kv_pools import LONGEST, NEED, PER_TOKEN, KvPools
from gpuplanner.engine.validation.names import ResolvedNames
from gpuplanner.engine.validation.rows import Row, ValidationContext
from gpuplanner.units import GIB
from gpuplanner.workload.model_choice import ModelChoice
from gpuplanner.workload.serving import Serving

KIMI = "moonshotai/Kimi-K3"
LATENT_BYTES = 2 * (512 + 64)
"""Kimi-K3's config: kv_lora_rank 512 and qk_rope_head_dim 64, in 16 bits."""


@pytest.fixture(scope="module")
def context(shipped_catalog, shipped_efficiencies):
    names = ResolvedNames(shipped_catalog, names_of(shipped_catalog))
    return ValidationContext(names, shipped_efficiencies, shipped_catalog.gpus, shipped_catalog.models)


@pytest.fixture
def server(shipped_catalog, shipped_efficiencies):
    workload = Serving(model=ModelChoice(catalog_id="any"))
    found = server_numbers(workload, shipped_catalog.gpus["nvidia-h100-sxm5-80gb"], shipped_efficiencies)
    return replace(found, max_batched_tokens=2048.0)


def shape(catalog, model):
    found = catalog.models[model].architecture
    assert found is not None
    return found


def attending(stage):
    return sum(group.count for group in stage.groups if group.attention.cache_elements_per_token)


@pytest.mark.parametrize(
    ("stages", "layers", "latent"),
    [(1, [93], [24]), (2, [47, 46], [11, 13]), (3, [31, 31, 31], [7, 8, 9]), (4, [23, 23, 24, 23], [5, 6, 6, 7])],
)
def test_stages_hold_the_layers_that_stand_in_them(shipped_catalog, stages, layers, latent):
    """Kimi-K3 attends in every fourth layer and in the last two, so its last stage keeps the most cache."""
    made = list(stages_of(shape(shipped_catalog, KIMI), Layout(8, stages)))
    assert [stage.layers for stage in made] == layers
    assert [attending(stage) for stage in made] == latent


def test_stages_of_any_model_together_are_the_model(shipped_catalog):
    tried = 0
    for model in shipped_catalog.models.values():
        whole = model.architecture
        if whole is None or whole.layers < 8 or any(g.encoder or g.cross_attention for g in whole.groups):
            continue
        for stages in (2, 3, 5):
            made = list(stages_of(whole, Layout(1, stages)))
            assert sum(stage.layers for stage in made) == whole.layers, model.id
            assert sum(map(attending, made)) == attending(whole), model.id
            tried += 1
    assert tried > 200


def test_the_fullest_stage_decides(shipped_catalog, shipped_efficiencies, server):
    def kept(layout):
        return kept_by(shape(shipped_catalog, KIMI), layout, (None, "bf16"), server, shipped_efficiencies)

    assert kept(Layout(8, 1)).bytes_per_token == 24 * LATENT_BYTES
    assert kept(Layout(8, 4)).bytes_per_token == 7 * LATENT_BYTES
    assert kept(Layout(8, 4, 1)).bytes_per_token == 8 * LATENT_BYTES
    assert kept(Layout(8, 4)).request_bytes(1_048_576) == pytest.approx(7.89 * GIB, abs=0.005 * GIB)
    assert kept(Layout(8, 4)).longest_tokens(4.0 * GIB) == pytest.approx(530_432, abs=1100)


def test_no_other_stage_count_without_drafting_reserves_what_the_log_of_kv19_prints(
    shipped_catalog, shipped_efficiencies, server
):
    model = shape(shipped_catalog, KIMI)
    found = set()
    for layout in possible_layouts(model):
        kept = kept_by(model, layout, (None, "bf16"), server, shipped_efficiencies)
        if not layout.draft_layers and abs(kept.request_bytes(1_048_576) / GIB - 7.89) < 0.0051:
            found.add(layout.stages)
    assert found == {4}


def told(context, *rows):
    plain = [Row("kv.csv", line, {"id": f"Z1{letter}", **cells}) for line, (letter, cells) in enumerate(rows, 2)]
    return {(o.id, o.metric): o for row in with_siblings(plain) for o in row_outcomes(row, KvPools(), context)}


K3 = {"model": "Kimi-K3", "max_len": "1048576", NEED: "7.89", "avail_gib": "4.0", LONGEST: "530432", PER_TOKEN: "8079"}


def test_a_layout_that_is_not_told_is_found_and_what_it_was_found_by_is_not_scored(context):
    found = told(context, ("", K3))
    per_token = found["Z1", PER_TOKEN]
    assert per_token.predicted == 7 * LATENT_BYTES
    assert per_token.low <= 8079 <= per_token.high < 8090
    for metric in (NEED, LONGEST):
        refused = found["Z1", metric].refused
        assert refused is not None
        assert refused.values["stages"] == 4


def test_a_layout_that_nothing_shows_is_refused(context):
    for change in ({NEED: ""}, {NEED: "7.00"}, {LONGEST: "9000"}):
        assert told(context, ("", K3 | change))["Z1", PER_TOKEN].refused.id == "validation.kv.layout_unknown"


def test_a_layout_is_found_by_what_a_pool_holds_too(context):
    """Two ranks halve the cache of a Llama 8B: 4 GiB hold 65,536 tokens."""
    row = {"model": "Llama-3.1-8B", "avail_gib": "4.00", "tokens": "65536", PER_TOKEN: "65536"}
    found = told(context, ("", row))
    assert found["Z1", PER_TOKEN].predicted == 65_536
    assert found["Z1", "tokens"].refused.values["tensor"] * found["Z1", "tokens"].refused.values["stages"] == 2
    assert told(context, ("", row | {"tokens": "50000"}))["Z1", PER_TOKEN].refused is not None
    whole = told(context, ("", row | {"n_gpu": "1", PER_TOKEN: "131072", "tokens": "32768"}))
    assert whole["Z1", "tokens"].predicted == 32_768


def test_a_drafting_layer_keeps_a_cache_too(context):
    row = {"model": "cosmos-reason2-2b", "n_gpu": "1", "max_len": "262144", "avail_gib": "12.33", PER_TOKEN: "118784"}
    found = told(context, ("", row | {NEED: "29.0", LONGEST: "111440"}))
    assert found["Z1", PER_TOKEN].predicted == 29 * 2 * 8 * 128 * 2
    assert found["Z1", NEED].refused.values["drafts"] == 1
    plain = told(context, ("", row | {NEED: "28.0", LONGEST: "115392"}))
    assert plain["Z1", PER_TOKEN].predicted == 28 * 2 * 8 * 128 * 2
    assert plain["Z1", NEED].predicted == 28.0


def test_rows_of_one_run_share_the_shape_that_one_of_them_tells(context):
    run = {"model": "mine", "gpu": "L40S", "n_gpu": "1", "avail_gib": "7.25"}
    told_shape = {"arch(memory)": "10 global 4x512 + 50 window 16x256 w1024 chunk8192"}
    first, second = run | told_shape | {"max_len": "8192", NEED: "6.89"}, run | {"max_len": "32768", NEED: "9.54"}
    found = told(context, ("a", first), ("b", second), ("c", second | {"gpu": "H100"}))
    assert found["Z1b", NEED].predicted == pytest.approx(9.543, abs=0.001)
    assert found["Z1c", NEED].refused is not None


def test_a_cache_of_which_only_a_need_is_told_is_read_from_it(context):
    row = {"model": "(not named)", "max_len": "1048576", NEED: "24.0", "avail_gib": "9.97", PER_TOKEN: "24576"}
    found = told(context, ("", row))
    assert found["Z1", PER_TOKEN].predicted == pytest.approx(24_576)
    assert found["Z1", PER_TOKEN].low < 24_576 < found["Z1", PER_TOKEN].high
    assert found["Z1", NEED].refused.id == "validation.kv.read_from"


def test_a_window_whose_chunk_is_not_told_leaves_the_need_open(context):
    row = {"model": "gpt-oss-120b", "gpu": "H100-80", "n_gpu": "1", "max_len": "131072", NEED: "4.54"}
    row["arch(memory)"] = "18 full + 18 window(128) 8kv 64"
    need = told(context, ("", row))["Z1", NEED]
    assert need.low < 4.54 < need.predicted < need.high
    exact = told(context, ("", row | {"arch(memory)": row["arch(memory)"] + " chunk1024"}))["Z1", NEED]
    assert exact.predicted == pytest.approx(4.54, abs=0.005)
    assert exact.high - exact.low < 0.011


def test_a_page_of_attention_is_no_smaller_than_a_state():
    assert page_tokens(4_292_608, 1024, 16) == 4192
    assert page_tokens(4_292_609, 1024, 16) == 4208
    assert page_bytes(4192, 1024, 13) == 13 * 4_292_608
    assert request_pages(262_144, 4192, 1, 3, 3) == 63 + 9
    assert longest_in_pages(72 * 100.0, 100.0, 4192, 1, 3, 3) == 63 * 4192
    assert longest_in_pages(5 * 100.0, 100.0, 4192, 1, 3, 3) == 0
