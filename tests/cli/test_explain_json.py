"""`explain --json`: each input says where it is from, or what it follows from, in the language that was asked for."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpuplanner.cli.main import main


def derivation(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    assert main(["explain", *words, "--json"]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["derivation"]
    return rows


@pytest.mark.parametrize("figure", ["step_s", "memory.needed", "power_w", "hfu"])
def test_an_input_has_a_source_with_its_date_or_a_note(
    figure: str, user_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = derivation(capsys, "lora-70b", figure, "--gpu", "H200 SXM", "--gpus", "8")
    given = [row for row in rows if row["formula"] is None and row["value"] not in {0, 1}]
    assert given
    for row in given:
        assert row["source"] or row["note"], row["term"]
        assert bool(row["date"]) <= bool(row["source"]), row["term"]


def test_the_note_is_in_the_language_that_was_asked_for(user_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notes = [
        {row["note"] for row in derivation(capsys, "lora-70b", "step_s", "--gpu", "H200 SXM", "--lang", language)}
        for language in ("en", "zh")
    ]
    assert notes[0] != notes[1]


def test_a_long_source_is_printed_once(capsys):
    main(["explain", "chat-8b", "memory.needed", "--gpu", "L4", "--depth", "99"])
    out = capsys.readouterr().out
    assert out.count("engine/arg_utils.py") == 1
    assert "vLLM, as above" in out
