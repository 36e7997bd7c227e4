"""`ask`: questions about a plan from the command line, in both languages, as text and as JSON, wrong input told."""

import json
from typing import Any

import pytest

from gpuplanner.cli.main import main

ONE = ["--gpu", "L40S"]
EIGHT = ["--gpu", "H100 SXM5 80GB", "--gpus", "8"]
QUESTIONS = {
    "load": ["chat-8b", *ONE, "--storage", "network"],
    "checkpoints": ["pretrain-7b", *EIGHT],
    "energy": ["chat-8b", *ONE, "--pue", "1.2", "--host-watts", "400", "--usd-per-kwh", "0.1"],
    "cost": ["pretrain-7b", *EIGHT, "--usd-per-hour", "20", "--idle", "10"],
    "nvlink": ["finetune-8b", *EIGHT],
    "day": ["chat-8b", *ONE, "--peak", "9", "--shape", "evening"],
    "split": ["chat-8b", "--gpu", "L40S", "--gpus", "2"],
    "slice": ["chat-8b", "--gpu", "A100 SXM4 80GB"],
}


def asked(capsys: pytest.CaptureFixture[str], question: str, *arguments: str) -> Any:
    code = main(["ask", question, *arguments, "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert code == 0, answer
    return answer


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_json_has_its_fixed_shape(question: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = asked(capsys, question, *QUESTIONS[question])
    assert set(answer) == {"question", "answer", "figures", "table", "unknown", "remarks"}
    assert answer["question"] == question
    assert answer["answer"]["text"]
    for figure in answer["figures"].values():
        assert figure is None or figure["low"] <= figure["value"] <= figure["high"]
    for row in answer["table"]["rows"] if answer["table"] else ():
        assert len(row["cells"]) == len(answer["table"]["columns"]) - 1


@pytest.mark.parametrize(("question", "language"), [*((question, "zh") for question in QUESTIONS), ("load", "en")])
def test_the_text_begins_with_the_answer(question: str, language: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", question, *QUESTIONS[question], "--lang", language]) == 0
    said = capsys.readouterr().out
    first = said.splitlines()[0]
    assert len(first) > 15
    assert any("\u4e00" <= letter <= "\u9fff" for letter in first) is (language == "zh")
    assert "{" not in said


@pytest.mark.parametrize("question", QUESTIONS)
def test_help_has_examples_that_name_the_command(question: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", question, "--help"]) == 0
    assert f"gpuplanner ask {question} " in capsys.readouterr().out


def test_what_was_typed_in_is_what_is_computed_with(capsys: pytest.CaptureFixture[str]) -> None:
    answer = asked(
        capsys, "load", "chat-8b", *ONE, "--storage-rate", "4", "--process-start", "0", "--engine-start", "0"
    )
    figures = answer["figures"]
    assert figures["load.rate"] == figures["load.rate"] | {"value": 4e9, "low": 4e9, "high": 4e9, "certainty": "user"}
    assert figures["load.read"]["value"] == pytest.approx(figures["load.weights"]["value"] / 4e9)
    assert figures["load.cold_start"]["value"] == pytest.approx(figures["load.load"]["value"])


def test_processes_that_read_all_files_themselves_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    figures = asked(capsys, "load", "chat-8b", *ONE, "--storage", "shared", "--storage-rate", "1", "--readers", "3")[
        "figures"
    ]
    assert figures["load.read_bytes"]["value"] == pytest.approx(3 * figures["load.weights"]["value"])
    assert figures["load.read"]["value"] == pytest.approx(figures["load.read_bytes"]["value"] / 1e9)


def test_an_unknown_part_is_null_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    answer = asked(capsys, "cost", *QUESTIONS["cost"])
    assert answer["figures"]["cost.storage"] is None
    assert answer["figures"]["cost.idle"]["value"] > 0
    assert {one["id"].rpartition(".")[2] for one in answer["unknown"]} == {"storage", "egress"}


def test_explain_shows_formulas_and_their_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "load", "chat-8b", *ONE, "--explain"]) == 0
    said = capsys.readouterr().out
    assert "Reading the weights = " in said
    assert "weights as files ÷ storage rate" in said
    derivation = asked(capsys, "load", "chat-8b", *ONE, "--explain")["figures"]["load.read"]["derivation"]
    assert derivation[0]["formula"] == "weight_read_seconds"
    assert {row["term"] for row in derivation[1:3]} == {"weight_file_bytes", "storage_bytes_per_s"}


def test_a_typed_price_of_24_rates(capsys: pytest.CaptureFixture[str]) -> None:
    rates = ",".join(["0.5"] * 12 + ["12"] * 12)
    answer = asked(capsys, "day", "chat-8b", *ONE, "--rates", rates, "--start", "0", "--usd-per-hour", "3")
    low, high = (row["cells"][1]["value"] for row in answer["table"]["rows"])
    figures = answer["figures"]
    assert figures["day.elastic_hours"]["value"] == 12 * (low + high)
    assert figures["day.elastic_usd_day"]["value"] == pytest.approx(36 * (low + high))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["load", "chat-8b", *ONE, "--storage-rate", "fast"], "answers.option.not_a_number"),
        (["energy", "chat-8b", *ONE, "--pue", "0.5"], "answers.option.not_a_number"),
        (["load", "chat-8b", *ONE, "--storage", "tape"], "cli.parser.bad_choice"),
        (["checkpoints", "chat-8b", *ONE], "answers.failures.training_only"),
        (["day", "chat-8b", *ONE], "answers.day.no_rates"),
        (["day", "chat-8b", *ONE, "--rates", "1,2,3"], "answers.day.not_24"),
        (["split", "chat-8b", *ONE], "answers.split.one_gpu"),
        (["slice", "chat-8b", "--gpu", "RTX 4090"], "answers.slice.cannot"),
        (["price", "chat-8b"], "cli.parser.no_such_command"),
    ],
)
def test_wrong_input_is_one_sentence(arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", *arguments, "--json"]) == 2
    told = capsys.readouterr()
    error = json.loads(told.out)["error"]
    assert error["id"] == problem or problem in str(error) or error["id"] == "cli.parser.bad_value"
    assert "Traceback" not in told.err


def test_what_no_slice_carries_ends_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "slice", "chat-70b", "--gpu", "A100 SXM4 80GB"]) == 1
    assert "No slice of" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("question", "option", "given"),
    [("load", "--readers", "1.5"), ("day", "--least", "0.5"), ("day", "--readers", "2.5"), ("load", "--depth", "1.5")],
)
def test_a_count_is_a_whole_number(question: str, option: str, given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", question, *QUESTIONS[question], option, given]) == 2
    assert f"{given} is not a whole number" in capsys.readouterr().err


def test_the_largest_repair_time_and_the_most_failures_have_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    often = ["--repair-hours", "1e12", "--failure-days", "1", "--stall", "1"]
    answer = asked(capsys, "checkpoints", *QUESTIONS["checkpoints"], *often)
    waiting = 1e12 / 24
    shown = answer["figures"]["failures.spares"]["value"]
    assert shown == pytest.approx(waiting, rel=1e-3)
    assert shown > waiting
