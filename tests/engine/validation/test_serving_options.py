"""What notes of a row say of drafting and of divided work: taken as said, refused where it is not told how."""

from typing import Any

import pytest

from gpuplanner.catalog.catalog import Catalog
from gpuplanner.catalog.efficiency import Efficiencies
from gpuplanner.catalog.names import names_of
from gpuplanner.engine.validation.names import ResolvedNames
from gpuplanner.engine.validation.rows import Outcome, Row, ValidationContext
from gpuplanner.engine.validation.serving import ServingRows
from gpuplanner.engine.validation.serving_options import Workers, drafting_of, may_have_drafted, workers_of
from gpuplanner.engine.validation.serving_rows import placed
from gpuplanner.messages import InputError
from gpuplanner.workload.serving import Speculation

CELLS = {
    "engine": "vLLM", "model": "llama3.1-8b", "gpu": "H100 SXM", "gpu_mem_gb": "80", "n_gpus": "4", "tp": "1",
    "weight_precision": "bf16", "mode": "online", "concurrency_or_batch": "8", "isl": "1000", "osl": "200",
}  # fmt: skip


def row(notes: str, **cells: str) -> Row:
    return Row("rows.csv", 2, {**CELLS, "notes": notes, **cells})


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        ("speculative/MTP use not recorded; TTFT/TPOT statistic not stated", {}),
        ("without speculative decoding", {}),
        ("mtp=0; agg", {}),
        ("EAGLE disabled", {}),
        ("EAGLE-3, num_speculative_tokens=4", {"speculation": Speculation.EAGLE, "draft_tokens": 4}),
        ("mtp=2; acceptance rate 0.83", {"speculation": Speculation.MTP, "draft_tokens": 2, "acceptance_rate": 0.83}),
        ("n-gram drafts, accepted 35 %", {"speculation": Speculation.NGRAM, "acceptance_rate": 0.35}),
        (
            "draft_model=llama3.2-1b; draft_tokens=5",
            {"speculation": Speculation.MODEL, "draft_model": "llama3.2-1b", "draft_tokens": 5},
        ),
    ],
)
def test_drafting_is_taken_as_it_is_said(notes: str, expected: dict[str, Any]) -> None:
    assert drafting_of(row(notes)) == expected


@pytest.mark.parametrize(
    ("notes", "model", "open_"),
    [
        ("speculative/MTP use not recorded; TTFT/TPOT statistic not stated", "deepseek-r1", True),
        ("", "deepseek-r1", True),
        ("without MTP", "deepseek-r1", False),
        ("mtp=2", "deepseek-r1", False),
        ("speculative/MTP use not recorded", "llama3.1-8b", False),
    ],
)
def test_a_row_of_a_model_that_predicts_further_tokens_may_leave_open_if_it_did(
    notes: str, model: str, open_: bool, shipped_catalog: Catalog, shipped_efficiencies: Efficiencies
) -> None:
    """Then a step may have given two tokens, and only the low end of a token's time moves."""
    names = ResolvedNames(shipped_catalog, names_of(shipped_catalog))
    context = ValidationContext(names, shipped_efficiencies, shipped_catalog.gpus, shipped_catalog.models)
    cells = {"model": model, "n_gpus": "8", "tp": "8", "weight_precision": "fp8", "tpot_ms": "10", "ttft_ms": "100"}
    open_row = row(notes, **cells)
    architecture = context.names.model(model).architecture
    assert architecture is not None
    assert may_have_drafted(open_row, architecture) is open_
    told = {o.metric: o for o in ServingRows().predict(open_row, context)}
    token, first = told["tpot_ms"], told["ttft_ms"]
    assert (reach(token) == pytest.approx(0.5)) is open_
    assert reach(first) != pytest.approx(0.5)


def reach(outcome: Outcome) -> float:
    """The low end of a range as a factor."""
    assert isinstance(outcome.predicted, float)
    assert outcome.low is not None
    return outcome.low / outcome.predicted


@pytest.mark.parametrize("notes", ["speculative decoding", "with a draft model"])
def test_drafting_with_nobody_says_what_is_refused(notes: str) -> None:
    with pytest.raises(InputError) as fault:
        drafting_of(row(notes))
    assert fault.value.message.id == "validation.drafting_not_told"


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        ("agg; TTFT mean", None),
        ("disagg not used", None),
        ("disagg; 1P3D", Workers(1, 3)),
        ("disagg; prefill workers 8x tp1 dp1 bs1; decode workers 2x tp4 dp1 bs256", Workers(8, 2, 1, 4)),
        ("disagg; prefill workers 5x tp1 dp1 bs1; decode workers 11x tp1 dp1 bs48", Workers(5, 11, 1, 1)),
    ],
)
def test_workers_are_taken_as_they_are_said(notes: str, expected: Workers | None) -> None:
    assert workers_of(row(notes)) == expected


@pytest.mark.parametrize(
    "notes", ["disaggregated serving", "disagg; prefill workers 0x tp1 dp1 bs1; decode workers 2x tp4 dp1 bs256"]
)
def test_workers_that_are_not_told_are_refused(notes: str) -> None:
    with pytest.raises(InputError) as fault:
        workers_of(row(notes))
    assert fault.value.message.id == "validation.workers_not_told"


def test_a_row_is_placed_with_its_drafts_and_its_workers(
    shipped_catalog: Catalog, shipped_efficiencies: Efficiencies
) -> None:
    names = ResolvedNames(shipped_catalog, names_of(shipped_catalog))
    context = ValidationContext(names, shipped_efficiencies, shipped_catalog.gpus, shipped_catalog.models)
    plain = placed(row(""), context)
    drafted = placed(row("EAGLE, num_speculative_tokens=3; acceptance rate 0.7"), context)
    small = placed(row("draft_model=llama3.2-1b; draft_tokens=4"), context)
    apart = placed(row("disagg; 1P3D", tp="1"), context)
    assert float(drafted.result().tpot_s) < float(plain.result().tpot_s)
    assert small.numbers.draft is not None
    assert small.numbers.draft.runs is not None
    assert apart.result().apart is not None
    assert (apart.way.replicas, apart.way.prefill_workers) == (4.0, 1.0)
    unlike = placed(
        row("disagg; prefill workers 8x tp1 dp1 bs1; decode workers 2x tp4 dp1 bs256", n_gpus="16", tp=""), context
    )
    assert unlike.way.gpus == 16
    assert unlike.result().apart is not None
