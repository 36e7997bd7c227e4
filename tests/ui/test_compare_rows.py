"""Pins as they are kept, and what stands side by side, without a window."""

from dataclasses import replace

import pytest

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.entries import GpuProperty
from gpuplanner.engine.kinds import KINDS
from gpuplanner.messages import msg
from gpuplanner.store.settings import CURRENCY, LANGUAGE, Settings
from gpuplanner.store.store import open_store
from gpuplanner.ui.catalog_place.catalog_words import TRANSLATED, in_words
from gpuplanner.ui.compare_place.comparison import compare
from gpuplanner.ui.compare_place.properties import METRICS, property_groups
from gpuplanner.ui.compare_place.subjects import SubjectReader
from gpuplanner.ui.compare_place.wording import about, as_csv, as_markdown, as_table, cell_words, copied
from gpuplanner.ui.pins import MOST_PINS, Pin, PinKind, PinnedCandidate, Pins, candidate_id, candidate_pin
from gpuplanner.ui.plan_titles import Titles
from gpuplanner.ui.settings import MemorySettings
from gpuplanner.workload.plan import MachineChoice
from tests.ui.catalog_workspaces import A100, H100, H200, L4

CANDIDATE = PinnedCandidate(
    "2 × H100 SXM5 80GB",
    "Chat",
    H100,
    2,
    fit="fits",
    metrics={"tpot_s": 0.02, "usd_per_hour": 8.0, "ttft_s": 0.5},
    kind="serving",
    topology="switched",
    link_bytes_per_s=450e9,
    ranges={"tpot_s": (0.016, 0.026)},
)


def gpu(gpu_id):
    return Pin(PinKind.GPU, gpu_id)


@pytest.fixture(scope="module")
def reader(shipped_catalog):
    return SubjectReader(shipped_catalog)


@pytest.fixture
def pins():
    return Pins(MemorySettings())


def side_by_side(reader, *pins, **how):
    subjects = [reader.subject(pin) for pin in pins]
    return {row.property.id: row for group in compare(subjects, **how) for row in group.rows}


# --- Pins -------------------------------------------------------------------------------------------------------------


def test_pins_are_kept_in_order_and_survive_a_restart(tmp_path):
    store = open_store(tmp_path)
    pins = Pins(Settings(store))
    candidate = Pin(PinKind.CANDIDATE, "Chat/x/1", CANDIDATE)
    for pin in (gpu(A100), Pin(PinKind.MODEL, "Qwen/Qwen3-8B"), candidate):
        assert pins.add(pin)
    store.close()
    again = open_store(tmp_path)
    assert Pins(Settings(again)).all() == (gpu(A100), Pin(PinKind.MODEL, "Qwen/Qwen3-8B"), candidate)
    again.close()


def test_resetting_the_layout_keeps_the_pins():
    settings = MemorySettings()
    Pins(settings).add(gpu(A100))
    settings.forget("window.")
    assert Pins(settings).has(PinKind.GPU, A100)


def test_toggling_moving_and_clearing(pins):
    for pin_id in (A100, H100, L4):
        assert pins.toggle(gpu(pin_id))
    pins.move(gpu(L4), -5)
    assert [pin.id for pin in pins.all()] == [L4, A100, H100]
    pins.move(gpu(L4), 1)
    pins.move(gpu("not there"), 1)
    assert [pin.id for pin in pins.all()] == [A100, L4, H100]
    assert pins.toggle(gpu(L4))
    assert [pin.id for pin in pins.all()] == [A100, H100]
    pins.clear()
    assert pins.all() == ()


def test_there_is_room_for_six(pins):
    for number in range(MOST_PINS):
        assert pins.add(gpu(f"gpu-{number}"))
    assert not pins.add(gpu("one-more"))
    assert not pins.toggle(gpu("one-more"))
    assert pins.add(gpu("gpu-3")), "what is pinned already may be pinned anew"
    assert len(pins.all()) == MOST_PINS


def test_pinning_anew_takes_the_new_numbers(pins):
    pins.add(Pin(PinKind.CANDIDATE, "Chat/x/1", CANDIDATE))
    faster = replace(CANDIDATE, metrics={"tpot_s": 0.01})
    pins.add(Pin(PinKind.CANDIDATE, "Chat/x/1", faster))
    assert [pin.candidate for pin in pins.all()] == [faster]


@pytest.mark.parametrize(
    "kept",
    [
        None,
        "x",
        {"kind": "gpu"},
        [1, None, "x", []],
        [{"kind": "gpu"}],
        [{"kind": "no kind", "id": "x"}],
        [{"kind": "gpu", "id": 7}],
        [{"kind": "gpu", "id": ""}],
        [{"kind": "gpu", "id": "x" * 10_000}],
        [{"kind": "candidate", "id": "x"}],
        [{"kind": "candidate", "id": "x", "candidate": {"title": 3}}],
        [{"kind": "candidate", "id": "x", "candidate": {"title": "t", "gpus": 0, "metrics": {}}}],
        [{"kind": "candidate", "id": "x", "candidate": {"title": "t", "gpus": 1, "metrics": []}}],
        [{"kind": ["gpu"], "id": "x"}],
    ],
)
def test_what_cannot_be_read_is_no_pin(kept):
    assert Pins(MemorySettings({"compare.pins": kept})).all() == ()


def test_a_machine_under_two_plans_is_two_pins(sample_candidate):
    candidate, plan = sample_candidate
    one, other = candidate_pin(candidate, plan), candidate_pin(candidate, plan.model_copy(update={"name": "B"}))
    assert one.key != other.key
    assert one.candidate is not None
    assert one.candidate.metrics == dict(candidate.metrics)
    assert one.candidate.gpus == candidate.machine.gpus
    assert one.candidate.kind == plan.workload.kind
    assert one.candidate.ranges == {}
    assert one.id == candidate_id(MachineChoice(gpu_id=H100, gpus=2, per_node=2), plan)


@pytest.fixture
def sample_candidate(shipped_catalog):
    from gpuplanner.engine.estimate import Fit, Way
    from gpuplanner.engine.machines import bare
    from gpuplanner.engine.search.result import Candidate
    from gpuplanner.paths import shipped
    from gpuplanner.store.plan_files import read_plan

    plan = read_plan(next(iter((shipped("resources") / "presets").glob("*.gpuplan"))))
    plan = plan.model_copy(update={"name": "A"})
    machine = bare(shipped_catalog.gpus[H100], 2)
    return Candidate(machine, Way(), plan, Fit.FITS, 1e9, {"tpot_s": 0.02}), plan


# --- Side by side -----------------------------------------------------------------------------------------------------


def test_the_best_of_what_is_known_is_marked(reader, shipped_catalog):
    rows = side_by_side(reader, gpu(A100), gpu(H100), gpu(H200))
    assert [cell.best for cell in rows["memory_bytes"].cells] == [False, False, True]
    assert [cell.best for cell in rows["bf16_flop_per_s"].cells] == [False, True, True]
    assert [cell.best for cell in rows["power_w"].cells] == [True, False, False], "less is better"
    prices = [cell.value for cell in rows["gpu_price"].cells]
    known = [price for price in prices if price is not None]
    assert [cell.best for cell in rows["gpu_price"].cells] == [price == min(known) for price in prices]


def test_a_single_known_value_is_not_best(reader):
    rows = side_by_side(reader, gpu(A100), gpu(H100))
    assert rows["fp8_flop_per_s"].cells[0].value is None
    assert not any(cell.best for cell in rows["fp8_flop_per_s"].cells)


def test_equal_values_are_neither_best_nor_different(reader, shipped_catalog):
    catalog: Catalog = replace(shipped_catalog, gpus={**shipped_catalog.gpus, "twin": shipped_catalog.gpus[A100]})
    rows = side_by_side(SubjectReader(catalog), gpu(A100), gpu("twin"))
    memory = rows["memory_bytes"]
    assert not memory.differs
    assert not any(cell.best for cell in memory.cells)


def test_only_differences(reader):
    everything = side_by_side(reader, gpu(H100), gpu(H200))
    different = side_by_side(reader, gpu(H100), gpu(H200), only_differences=True)
    assert set(different) == {row_id for row_id, row in everything.items() if row.differs}
    assert "architecture" not in different
    assert "memory_bytes" in different


def test_a_missing_value_differs_from_a_known_one(reader):
    assert side_by_side(reader, gpu(A100), gpu(H100))["fp8_flop_per_s"].differs


def test_rows_without_any_value_are_left_out(reader):
    rows = side_by_side(reader, gpu(A100), gpu(H100))
    assert "vcpus" not in rows
    assert "parameters" not in rows
    assert "gpu" not in rows, "would say the titles again"


def test_an_instance_counts_all_its_gpus(reader, shipped_catalog):
    instance = next(i for i in shipped_catalog.instances.values() if i.gpu_id == H100 and i.gpu_count == 8)
    rows = side_by_side(reader, gpu(H100), Pin(PinKind.INSTANCE, instance.id))
    one, eight = rows["memory_total"].cells
    assert one.value is None
    assert eight.value == 8 * shipped_catalog.gpus[H100].value(GpuProperty.MEMORY_BYTES)
    assert [cell.value for cell in rows["gpu"].cells] == ["H100 SXM5 80GB", "H100 SXM5 80GB"]


def test_candidates_bring_the_results_of_their_plans(reader):
    slower = replace(CANDIDATE, plan="Other", metrics={"tpot_s": 0.05, "usd_per_hour": 4.0})
    rows = side_by_side(reader, Pin(PinKind.CANDIDATE, "a", CANDIDATE), Pin(PinKind.CANDIDATE, "b", slower))
    assert [cell.best for cell in rows["tpot_s"].cells] == [True, False]
    assert [cell.best for cell in rows["usd_per_hour"].cells] == [False, True]
    assert [cell.value for cell in rows["plan"].cells] == ["Chat", "Other"]
    assert rows["ttft_s"].cells[1].value is None
    assert "price" not in rows, "the cost stands among the results"
    assert [cell.value for cell in rows["gpu_price"].cells] == [4.0, 2.0]


def candidates(reader, *others):
    return side_by_side(
        reader, *(Pin(PinKind.CANDIDATE, str(at), other) for at, other in enumerate((CANDIDATE, *others)))
    )


def test_each_figure_that_is_not_exact_has_its_range(reader, appearance):
    slower = replace(CANDIDATE, metrics={"tpot_s": 0.05, "usd_per_hour": 4.0}, ranges={"tpot_s": (0.04, 0.062)})
    row = candidates(reader, slower)["tpot_s"]
    words = [cell_words(row, cell, appearance) for cell in row.cells]
    assert [word.note for word in words] == ["16.0 – 26.0", "40.0 – 62.0"]
    assert "16.0 – 26.0" in words[0].tip
    assert copied(words[0], appearance) == "20.0 ms (16.0 – 26.0) best"
    exact = candidates(reader, slower)["usd_per_hour"]
    assert [cell_words(exact, cell, appearance).note for cell in exact.cells] == ["", ""]


def test_what_lies_within_the_range_of_another_is_hardly_best(reader, appearance):
    near = replace(CANDIDATE, title="4 × L40S", metrics={"tpot_s": 0.022}, ranges={"tpot_s": (0.018, 0.028)})
    row = candidates(reader, near)["tpot_s"]
    assert [cell.within for cell in row.cells] == [1, None]
    subjects = [reader.subject(Pin(PinKind.CANDIDATE, str(at), pin)) for at, pin in enumerate((CANDIDATE, near))]
    words = cell_words(row, row.cells[0], appearance, subjects)
    assert words.best
    assert words.unsure
    assert "within the range of 4 × L40S" in words.tip
    assert copied(words, appearance).endswith("best?")


def test_where_the_estimate_is_the_same_the_cheaper_one_is_better(reader):
    """The same GPUs at another price: what the time is off by, it is off by in both."""
    metrics, ranges = {"tpot_s": 0.02, "usd_per_mtoken": 0.5}, {"usd_per_mtoken": (0.4, 0.65)}
    cheap = replace(CANDIDATE, metrics=metrics, ranges=ranges)
    dear = replace(cheap, metrics={**metrics, "usd_per_mtoken": 0.6}, ranges={"usd_per_mtoken": (0.48, 0.78)})
    rows = side_by_side(reader, *(Pin(PinKind.CANDIDATE, str(at), p) for at, p in enumerate((cheap, dear))))
    assert [(cell.best, cell.within) for cell in rows["usd_per_mtoken"].cells] == [(True, None), (False, None)]
    other = replace(dear, metrics={**dear.metrics, "tpot_s": 0.021})
    rows = side_by_side(reader, *(Pin(PinKind.CANDIDATE, str(at), p) for at, p in enumerate((cheap, other))))
    assert rows["usd_per_mtoken"].cells[0].within == 1, "estimated apart, they are off apart"


def test_none_is_best_across_kinds_of_work_nor_across_jobs(reader, appearance):
    training = replace(CANDIDATE, plan="Train", kind="training", metrics={"usd_per_mtoken": 0.2, "job_s": 10.0})
    serving = replace(CANDIDATE, metrics={"usd_per_mtoken": 0.9})
    row = side_by_side(reader, *(Pin(PinKind.CANDIDATE, p.kind, p) for p in (training, serving)))["usd_per_mtoken"]
    assert not any(cell.best for cell in row.cells)
    assert row.mixed
    assert "none of these values is best" in cell_words(row, row.cells[0], appearance).tip
    other = replace(training, plan="Other", metrics={"usd_per_mtoken": 0.4, "job_s": 20.0})
    rows = side_by_side(reader, *(Pin(PinKind.CANDIDATE, p.plan, p) for p in (training, other)))
    assert [cell.best for cell in rows["usd_per_mtoken"].cells] == [True, False]
    assert not any(cell.best for cell in rows["job_s"].cells), "their jobs are not the same"
    unknown = [replace(serving, kind="", metrics={"usd_per_mtoken": value}) for value in (0.1, 0.2)]
    rows = side_by_side(reader, *(Pin(PinKind.CANDIDATE, str(at), p) for at, p in enumerate(unknown)))
    assert rows["usd_per_mtoken"].mixed, "pinned by an earlier version, nobody knows under what"


def test_the_link_of_the_estimate_is_told_from_what_the_gpu_could_have(reader, appearance):
    bridged = replace(CANDIDATE, gpu_id="nvidia-h100-nvl-94gb", topology="pcie", link_bytes_per_s=64e9)
    one = replace(CANDIDATE, gpus=1, topology="single", link_bytes_per_s=None)
    rows = candidates(reader, bridged, one)
    row = rows["link_used"]
    assert [cell_words(row, cell, appearance).text for cell in row.cells] == [
        "NVLink 4",
        "PCIe",
        "none, one GPU to a node",
    ]
    assert [cell.value for cell in rows["link_used_rate"].cells] == [450e9, 64e9, None]


def test_what_is_of_one_node_says_so(reader, appearance):
    two = replace(CANDIDATE, gpus=16, nodes=2)
    assert [cell.value for cell in candidates(reader, two)["nodes"].cells] == [1.0, 2.0]
    titles = {group.properties[0].id: appearance.text(group.title) for group in property_groups()}
    assert titles["vcpus"] == "Host and network, one node"


def test_every_metric_by_which_a_kind_is_ranked_is_compared():
    for kind in KINDS.values():
        assert {name: METRICS[name][0] for name, _unit in kind.columns} == dict(kind.columns)


def test_words_of_the_catalog_are_said_in_the_language(appearance, shipped_catalog):
    appearance.choose(LANGUAGE, "zh_CN")
    assert in_words("NVLink 4 bridge", appearance) == "NVLink 4 桥接"
    entries = [*shipped_catalog.instances.values(), *shipped_catalog.gpus.values()]
    texts = {getattr(entry, name, "") for entry in entries for name in TRANSLATED}
    said = " ".join(in_words(text, appearance) for text in texts)
    for word in ("single GPU", "bridge", "passthrough", "bare-metal", "none", "pairs", "mobile", "fractional"):
        assert word not in said
    appearance.choose(LANGUAGE, "en")
    assert all(in_words(text, appearance) == text for text in texts)


def test_our_names_of_plans_are_said_in_the_language(shipped_catalog, appearance):
    reader = SubjectReader(shipped_catalog, Titles(appearance, ["sample"]).of)
    subject = reader.subject(Pin(PinKind.CANDIDATE, "x", replace(CANDIDATE, plan=appearance.text("preset.sample"))))
    english = about(subject, appearance)
    appearance.choose(LANGUAGE, "zh_CN")
    assert appearance.text("preset.sample") in about(subject, appearance) != english


def test_models_side_by_side(reader):
    rows = side_by_side(reader, Pin(PinKind.MODEL, "Qwen/Qwen3-8B"), Pin(PinKind.MODEL, "Qwen/Qwen3-32B"))
    assert [cell.value for cell in rows["kv"].cells] == [36 * 2 * 8 * 128 * 2, 64 * 2 * 8 * 128 * 2]
    assert [cell.best for cell in rows["kv"].cells] == [True, False]
    assert not any(cell.best for cell in rows["parameters"].cells), "neither more nor less is better"


def test_what_the_catalog_has_no_more_says_so(reader, appearance):
    for kind in (PinKind.GPU, PinKind.INSTANCE, PinKind.MODEL):
        subject = reader.subject(Pin(kind, "gone"))
        assert subject.title == "gone"
        assert [appearance.said(part) for part in subject.about] == ["not in the catalog any more"]


def test_every_row_and_metric_has_a_name_in_both_languages(appearance):
    for language in ("en", "zh_CN"):
        appearance.choose(LANGUAGE, language)
        titles = [appearance.text(p.title) for g in property_groups() for p in g.properties]
        assert all(titles)
        assert all(appearance.text(msg(f"metric.{name}")) for name in METRICS)


# --- In words ---------------------------------------------------------------------------------------------------------


def test_cells_in_words(reader, appearance):
    rows = side_by_side(reader, gpu(A100), gpu(H100))
    words = [cell_words(rows["bf16_flop_per_s"], cell, appearance) for cell in rows["bf16_flop_per_s"].cells]
    assert [w.text for w in words] == ["312 TFLOPS", "989 TFLOPS"]
    assert cell_words(rows["int8_flop_per_s"], rows["int8_flop_per_s"].cells[0], appearance).text == "624 TOPS"
    assert words[1].mark == "◐", "another source gives another value"
    assert "989" in words[1].tip or words[1].tip
    missing = cell_words(rows["fp8_flop_per_s"], rows["fp8_flop_per_s"].cells[0], appearance)
    assert (missing.text, missing.missing) == ("—", True)


def test_prices_follow_the_currency(reader, appearance, shipped_catalog):
    rows = side_by_side(reader, Pin(PinKind.CANDIDATE, "a", CANDIDATE), gpu(L4))
    row = rows["gpu_price"]
    assert cell_words(row, row.cells[0], appearance).text == "4.00 USD/h"
    appearance.learn_rates(lambda: shipped_catalog.currencies)
    appearance.choose(CURRENCY, "CNY")
    assert cell_words(row, row.cells[0], appearance).text == "28.80 CNY/h"


def test_the_whole_as_markdown_and_csv(reader, appearance):
    subjects = [reader.subject(gpu(A100)), reader.subject(gpu(H100))]
    groups = compare(subjects)
    lines = as_table(subjects, groups, appearance)
    markdown = as_markdown(lines, [appearance.text(group.title) for group in groups])
    assert markdown.startswith(
        "|  | A100 SXM4 80GB (GPU · NVIDIA) | H100 SXM5 80GB (GPU · NVIDIA) |\n| --- | ---: | ---: |"
    )
    assert "| **One GPU** |  |  |" in markdown
    assert "| ≠ FP16 dense | 312 TFLOPS | 989 TFLOPS best |" in markdown
    text = as_csv(lines)
    assert "≠ FP16 dense,312 TFLOPS,989 TFLOPS best" in text


def test_a_title_that_a_spreadsheet_would_run_is_text():
    assert as_csv([["", "=1+1"], ["@x", "-2"]]) == ",'=1+1\n'@x,'-2\n"


def test_a_bar_in_a_title_stays_one_cell():
    assert as_markdown([["", "a|b"]], []).splitlines()[0] == "|  | a\\|b |"


def test_numbers_that_the_person_measured_say_from_which_file(reader, pins):
    measured = Pin(PinKind.CANDIDATE, "Chat/y/1", replace(CANDIDATE, own="bench.json"))
    assert pins.add(measured)
    assert pins.all() == (measured,)
    row = side_by_side(reader, measured, Pin(PinKind.CANDIDATE, "Chat/x/1", CANDIDATE))["measured"]
    assert [cell.value for cell in row.cells] == ["bench.json", None]
    assert "measured" not in side_by_side(reader, Pin(PinKind.CANDIDATE, "Chat/x/1", CANDIDATE), gpu(A100))
