"""Every figure of every answer explains itself: its formula, and where each input comes from, in both languages."""

import inspect
from fractions import Fraction

import pytest

from gpuplanner.engine.answers.answer import Answer
from gpuplanner.engine.answers.day import Day
from gpuplanner.engine.answers.energy import Energy
from gpuplanner.engine.answers.failures import Failures
from gpuplanner.engine.answers.job_cost import JobCost
from gpuplanner.engine.answers.linking import Linking
from gpuplanner.engine.answers.loading import Loading
from gpuplanner.engine.answers.slicing import Slicing
from gpuplanner.engine.answers.splitting import Splitting
from gpuplanner.engine.explaining import explanation, explanation_lines
from gpuplanner.engine.formulas import answers_cost, answers_time
from gpuplanner.figures import Figure
from gpuplanner.messages import Language, Message, Translator
from gpuplanner.units import Display

A100, H100 = "nvidia-a100-sxm4-80gb", "nvidia-h100-sxm5-80gb"
SLICES = {"3g.40gb": (Fraction(3, 7), Fraction(1, 2)), "7g.80gb": (Fraction(1), Fraction(1))}
SERVING = {
    "load": Loading(),
    "energy": Energy(1.3, 500.0, 0.1),
    "cost": JobCost(usd_per_hour=2.0, idle_share=0.1, usd_per_gb_month=0.1, egress_bytes=1e9, usd_per_gb_out=0.1),
    "nvlink": Linking(),
    "day": Day(peak=20.0, usd_per_hour=2.0),
    "split": Splitting(usd_per_hour=2.0),
    "slice": Slicing(SLICES, ("A100DX",), usd_per_hour=2.0),
}
TRAINING = {"checkpoints": Failures(), "energy": Energy(), "cost": JobCost(usd_per_hour=2.0), "nvlink": Linking()}
CASES = [("server", name, question) for name, question in SERVING.items()] + [
    ("trainer", name, question) for name, question in TRAINING.items()
]

OWN_TERMS = {
    name
    for module in (answers_cost, answers_time)
    for function in vars(module).values()
    if hasattr(function, "formula") and function.__module__ == module.__name__
    for name in inspect.signature(function).parameters
}
"""What the formulas of answers take; the origins of all other terms are the concern of the estimate's own tests."""


def figures(answer: Answer) -> list[tuple[str, Figure]]:
    found = [(line.id, line.figure) for line in answer.lines if line.figure]
    rows = answer.table.rows if answer.table else ()
    return found + [(row.name.id, cell) for row in rows for cell in row.cells if isinstance(cell, Figure)]


def texts(answer: Answer) -> list[Message]:
    rows = answer.table.rows if answer.table else ()
    cells = [cell for row in rows for cell in row.cells if isinstance(cell, Message)]
    names = [line.name or Message(f"answers.line.{line.id}") for line in answer.lines]
    whys = [figure.why for _, figure in figures(answer) if figure.why]
    return [answer.says, *answer.unknown, *answer.remarks, *(row.name for row in rows), *cells, *names, *whys]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]} {case[1]}")
def answer(request, ask):
    kind, _, question = request.param
    workload = request.getfixturevalue(kind)()
    gpus = {"gpu_id": A100, "gpus": 4} if kind == "server" else {"gpu_id": H100, "gpus": 8}
    return ask(question, workload, explained=True, **gpus)


@pytest.mark.parametrize("language", Language)
def test_every_sentence_and_name_reads(answer, language):
    translator = Translator(language)
    assert all(translator.text(message).strip() for message in texts(answer))


def test_every_figure_has_its_range_and_a_derivation_without_a_gap(answer):
    gaps = set()
    for name, figure in figures(answer):
        assert figure.low <= figure.value <= figure.high, name
        if figure.derivation is None:
            gaps.add((name, "no derivation"))
        gaps |= {
            (name, row.term)
            for row in explanation(figure)
            if row.formula is None and row.origin is None and not row.repeated and row.term in OWN_TERMS
        }
    assert not gaps


@pytest.mark.parametrize("language", Language)
def test_a_derivation_reads_as_text(answer, language):
    translator = Translator(language)
    for _, figure in figures(answer):
        assert all(explanation_lines(figure, translator, Display(), 3))
