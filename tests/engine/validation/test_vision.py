"""Rows of networks that see images, and of other training benchmarks: placed as plans, or refused with a reason."""

from collections.abc import Mapping
from typing import Any

import pytest

from gpuplanner.engine.validation.families import recognise, validate_rows
from gpuplanner.engine.validation.rows import Outcome, ValidationContext
from gpuplanner.figures import Rung
from gpuplanner.workspace import Workspace

INFERENCE = {
    "id": "a", "source": "who/what", "model": "resnet50.tv_in1k", "params_m": "25.56", "gmacs": "4.11",
    "macts": "11.11", "img_size": "224", "gpu": "RTX 3090", "precision": "amp", "compile": "0", "torch": "pt240",
    "batch": "1024", "measured_img_per_s": "3219",
}  # fmt: skip
TRAINING = {
    "id": "b", "source": "who/what", "model": "resnet50", "params_m": "25.56", "gmacs": "4.11", "img_size": "224",
    "gpu": "LambdaCloud 2x V100 16GB", "n_gpus": "2", "precision": "amp", "compile": "0", "torch": "", "batch": "512",
    "measured_img_per_s": "1571", "measured_peak_mem_gb": "14",
}  # fmt: skip
OTHER = {
    "id": "c", "source": "who/what", "task": "bert_base_squad", "gpu": "A100 80GB SXM4", "system": "A100 80GB SXM4",
    "n_gpus": "1", "precision": "amp", "batch": "320", "measured_throughput": "443", "unit": "sequences/s",
}  # fmt: skip


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> ValidationContext:
    return Workspace(tmp_path_factory.mktemp("home")).validation_context()


def outcome(row: Mapping[str, Any], context: ValidationContext, **changed: str) -> Outcome:
    return validate_rows("rows.csv", [{**row, **changed}], context)[0]


def test_files_are_recognised_by_their_columns() -> None:
    assert [recognise("x", row).name for row in (INFERENCE, TRAINING, OTHER)] == [
        "inference_vision",
        "training_vision",
        "training_other",
    ]


def test_public_rows_come_out_as_measured(context: ValidationContext) -> None:
    for row in (INFERENCE, TRAINING, OTHER):
        found = outcome(row, context)
        assert found.refused is None
        assert found.log_ratio is not None
        assert abs(found.log_ratio) < 0.2
        assert row is OTHER or found.rung is Rung.SAME_GPU


def test_memory_of_a_training_row_is_predicted(context: ValidationContext) -> None:
    found = validate_rows("rows.csv", [TRAINING], context)
    memory = next(o for o in found if o.metric == "measured_peak_mem_gb")
    assert isinstance(memory.predicted, float)
    assert 8 < memory.predicted < 22


def test_what_a_row_lacks_comes_from_the_catalog_or_its_relatives(context: ValidationContext) -> None:
    known = outcome(TRAINING, context, params_m="", gmacs="")
    given = outcome(TRAINING, context)
    assert known.predicted == pytest.approx(given.predicted, rel=0.02)
    unseen = outcome(TRAINING, context, model="resnet77x")
    assert unseen.predicted == pytest.approx(given.predicted, rel=0.3)
    assert outcome(INFERENCE, context, model="madeupnet", macts="").rung is Rung.OTHER_ARCHITECTURE


def test_fused_and_wide_rows_differ_as_they_do(context: ValidationContext) -> None:
    plain, fused, wide = (
        outcome(INFERENCE, context, **changed).predicted
        for changed in ({}, {"compile": "1"}, {"precision": "fp32/tf32"})
    )
    assert isinstance(plain, float)
    assert isinstance(fused, float)
    assert isinstance(wide, float)
    assert wide < plain < fused


@pytest.mark.parametrize(
    ("row", "changed", "said"),
    [
        (INFERENCE, {"gmacs": "", "model": "madeupnet"}, "validation.empty_cell"),
        (INFERENCE, {"params_m": "", "model": "madeupnet"}, "validation.empty_cell"),
        (INFERENCE, {"precision": "int3"}, "validation.unknown_value"),
        (INFERENCE, {"gmacs": "-4"}, "validation.beyond"),
        (INFERENCE, {"gmacs": "0"}, "validation.unknown_value"),
        (INFERENCE, {"img_size": "9999999"}, "validation.beyond"),
        (TRAINING, {"n_gpus": "8", "batch": "4"}, "validation.shared_samples"),
        (OTHER, {"task": "alphafold"}, "validation.benchmark_not_modelled"),
        (OTHER, {"gpu": ""}, "validation.empty_cell"),
    ],
)
def test_a_row_that_cannot_be_placed_says_why(
    context: ValidationContext, row: Mapping[str, Any], changed: dict[str, str], said: str
) -> None:
    found = outcome(row, context, **changed)
    assert found.refused is not None
    assert found.refused.id == said


def test_longer_sequences_take_longer(context: ValidationContext) -> None:
    short, long = (
        outcome(OTHER, context, task="bert_large pretraining", unit=f"sequences/s; seq {n}").predicted
        for n in (128, 512)
    )
    assert isinstance(short, float)
    assert isinstance(long, float)
    assert short > 3.5 * long
